// on_pause.c - pauses and resumes a lane, a worker or a job.
#include "core/core.h"

// Rejects a change that would change nothing.
static enum rota_error check_change(struct rota *rota, bool is, bool pause)
{
    if (is != pause) return ROTA_OK;
    return refuse(rota, ROTA_NOT_NOW, pause ? "already paused" : "not paused");
}

static enum rota_error lane_change(struct rota *rota, uint32_t number, bool pause)
{
    lane_row row = map_find(&rota->lane_by_number, number);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such lane");
    struct lane *lane = LANE(rota, row);
    enum rota_error error = check_change(rota, lane->flags & ROTA_LANE_PAUSED, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "out of memory for the lane");
    trace_say(rota, "lane %u %s", number, pause ? "is paused -> admits no task" : "is resumed");
    lane_pause(rota, row, pause);
    if (!lane->marked) effect_mark(rota, ROTA_RECORD_LANE, row);
    lane->marked = true;
    return ROTA_OK;
}

// Attempts beyond its room are recalled by the next plan, if another worker has room.
static enum rota_error worker_change(struct rota *rota, rota_worker_id id, bool pause, uint8_t bit)
{
    assert(bit);
    worker_row row = worker_find(rota, id);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such worker");
    struct worker *worker = WORKER(rota, row);
    enum rota_error error = check_change(rota, worker->paused & bit, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the worker");
    trace_say(rota, "worker %u %s", worker->id,
              !pause                 ? "is resumed"
              : bit == PAUSE_LEAVING ? "is leaving -> gets no new tasks"
                                     : "is paused -> gets no new tasks");
    worker->paused ^= bit;
    worker_mark(rota, row);
    room_update(rota, row);
    if (rota->plan_unplaced || rota->overbooked) plan_news(rota, 1);
    return ROTA_OK;
}

// A task that waits to be handed out leaves its queue.
static void task_withdraw(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    place_remove(rota, row);
    shared_key_release(rota, row);
}

// In a lane the task keeps its place, so that the order stays: the tasks after it wait, too.
static void tasks_change(struct rota *rota, job_row job, bool pause)
{
    assert(IS_ROW(rota->jobs, job));
    for (task_row row = job_next_task(rota, job, 0); row; row = job_next_task(rota, job, row)) {
        if (rota->task[row].state != ROTA_TASK_OFFERED || !lane_is_next(rota, row)) continue;
        effect_mark_task(rota, row);
        if (pause)
            task_withdraw(rota, row);
        else
            place_add(rota, row);
    }
}

static enum rota_error job_change(struct rota *rota, rota_job_id id, bool pause)
{
    job_row row = job_find(rota, id);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such job");
    struct job *job = JOB(rota, row);
    if (job->state > ROTA_JOB_LAST) return refuse(rota, ROTA_NOT_NOW, "the job has ended");
    enum rota_error error = check_change(rota, job->paused, pause);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "out of memory for the job");
    trace_say(rota, "job %u %s", job->id,
              pause ? "is paused -> starts no new tasks" : "is resumed");
    if (pause) tasks_change(rota, row, true);
    job->paused = pause;
    rota->paused_jobs += pause ? 1 : -1u;
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
        return refuse(rota, ROTA_BAD_EVENT, "only a lane, a worker or a job can be paused");
    if (job) return job_change(rota, event->pause.job, pause);
    if (lane) return lane_change(rota, event->pause.lane, pause);
    uint8_t bit = pause && event->pause.leaves ? PAUSE_LEAVING : PAUSE_ORDERED;
    return worker_change(rota, event->pause.worker, pause, bit);
}
