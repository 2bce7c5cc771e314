// on_pause.c - a lane, a worker or a job is to rest, and to go on.
#include "core/core.h"

// It is as it should be already.
static enum rota_error check_change(struct rota *rota, bool is, bool pause)
{
    if (is != pause) return ROTA_OK;
    return refuse(rota, ROTA_NOT_NOW, pause ? "it is paused already" : "it is not paused");
}

static enum rota_error lane_change(struct rota *rota, uint32_t number, bool pause)
{
    lane_row row = map_find(&rota->lane_by_number, number);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "there is no such lane");
    struct lane *lane = LANE(rota, row);
    enum rota_error error = check_change(rota, lane->flags & ROTA_LANE_PAUSED, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "no memory for the lane");
    trace_say(rota, "lane %u %s", number, pause ? "is paused -> lets nobody in" : "goes on");
    gate_pause(rota, row, pause);
    if (!lane->marked) effect_mark(rota, ROTA_RECORD_LANE, row);
    lane->marked = true;
    return ROTA_OK;
}

// What is beyond its room is taken back by the next plan, if there is room elsewhere.
static enum rota_error worker_change(struct rota *rota, rota_worker_id id, bool pause, uint8_t bit)
{
    worker_row row = worker_find(rota, id);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "there is no such worker");
    struct worker *worker = WORKER(rota, row);
    enum rota_error error = check_change(rota, worker->paused & bit, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "no memory for the worker");
    trace_say(rota, "worker %u %s", worker->id,
              !pause                 ? "goes on"
              : bit == PAUSE_LEAVING ? "wants to leave -> gets nothing new"
                                     : "is paused -> gets nothing new");
    worker->paused ^= bit;
    worker_mark(rota, row);
    room_update(rota, row);
    if (rota->plan_unplaced || rota->overbooked) plan_news(rota, 1);
    return ROTA_OK;
}

// What waits to be handed out leaves its queue.
static void task_rest(struct rota *rota, task_row row)
{
    place_remove(rota, row);
    share_release(rota, row);
}

// In a lane it keeps its place, so that the order stays: who is behind it waits too.
static void tasks_change(struct rota *rota, job_row job, bool pause)
{
    for (task_row row = job_next_task(rota, job, 0); row; row = job_next_task(rota, job, row)) {
        if (rota->task[row].state != ROTA_TASK_OFFERED || !gate_is_next(rota, row)) continue;
        effect_mark_task(rota, row);
        if (pause)
            task_rest(rota, row);
        else
            place_add(rota, row);
    }
}

static enum rota_error job_change(struct rota *rota, rota_job_id id, bool pause)
{
    job_row row = job_find(rota, id);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "there is no such job");
    struct job *job = JOB(rota, row);
    if (job->state > ROTA_JOB_LAST) return refuse(rota, ROTA_NOT_NOW, "the job has ended");
    enum rota_error error = check_change(rota, job->paused, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "no memory for the job");
    trace_say(rota, "job %u %s", job->id,
              pause ? "is paused -> nothing new of it starts" : "goes on");
    if (pause) tasks_change(rota, row, true);
    job->paused = pause;
    rota->resting += pause ? 1 : -1u;
    if (!pause) tasks_change(rota, row, false);
    job_mark(rota, row);
    return ROTA_OK;
}

enum rota_error on_pause(struct rota *rota, const struct rota_event *event)
{
    bool pause = event->kind == ROTA_EVENT_PAUSE;
    bool lane = event->pause.lane, worker = event->pause.worker.number;
    bool job = event->pause.job.number;
    if (lane + worker + job != 1)
        return refuse(rota, ROTA_BAD_EVENT, "a lane, a worker or a job can be paused");
    if (job) return job_change(rota, event->pause.job, pause);
    if (lane) return lane_change(rota, event->pause.lane, pause);
    uint8_t bit = pause && event->pause.leaves ? PAUSE_LEAVING : PAUSE_ORDERED;
    return worker_change(rota, event->pause.worker, pause, bit);
}
