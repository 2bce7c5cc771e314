// run.c - the state of each task of a run, and when the run is finished.
#include "run/run.h"
#include "turn/attempt_end.h"

#include <stdlib.h>
#include <string.h>

void run_open(struct run *run, const struct jobfile *file, const char *folder)
{
    *run = (struct run){.file = file, .folder = folder};
    run->keep_going = run_has_handlers(file);
    run->tasks = os_allocate(file->task_count, sizeof *run->tasks);
    run->order = os_allocate(file->task_count, sizeof *run->order);
    for (uint32_t i = 0; i < file->task_count; i++)
        run->count[RUN_WAITING] += !file->tasks[i].is_bundle;
}

void run_release(struct run *run)
{
    for (uint32_t i = 0; run->tasks && i < run->file->task_count; i++) free(run->tasks[i].reason);
    free(run->tasks);
    free(run->order);
    free(run->wanted);
    run_ends_drop(run);
    free(run->ends);
    free(run->lost);
    if (run->server) catalog_close(&run->catalog);
    *run = (struct run){0};
}

uint32_t run_left(const struct run *run)
{
    return run->count[RUN_WAITING] + run->count[RUN_GIVEN] + run->count[RUN_RUNNING];
}

void run_sort_out(struct run *run)
{
    const struct rota *rota = run->server->rota;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        rota_task_id id = {run->job.number, i + 1}, blocker;
        bool blocked
            = run->tasks[i].phase == RUN_WAITING && rota_task_state(rota, id) == ROTA_TASK_BLOCKED;
        if (blocked && !rota_blockers(rota, id, &blocker, 1)) run_phase_set(run, i, RUN_NOT_NEEDED);
    }
}

void run_phase_set(struct run *run, uint32_t task, enum run_phase phase)
{
    if (run->file->tasks[task].is_bundle) return;
    run->count[run->tasks[task].phase]--;
    run->count[phase]++;
    run->tasks[task].phase = (uint8_t)phase;
}

void run_end_add(struct run *run, uint32_t task)
{
    if (!ARRAY_MORE_RAW(&memory_heap, run->ends, run->end_count, run->end_capacity))
        os_out_of_memory();
    const struct run_task *it = &run->tasks[task];
    struct run_end *end = &run->ends[run->end_count++];
    *end = (struct run_end){.task = task, .attempt = it->attempt, .as = *it};
    if (it->reason) end->as.reason = strdup(it->reason);
}

void run_ends_drop(struct run *run)
{
    for (uint32_t i = 0; i < run->end_count; i++) free(run->ends[i].as.reason);
    run->end_count = run->end_seen = 0;
}

static enum run_phase phase_of(enum rota_task_state state)
{
    switch (state) {
    case ROTA_TASK_SUCCEEDED: return RUN_OK;
    case ROTA_TASK_FAILED: return RUN_FAILED;
    case ROTA_TASK_ABORTED: return RUN_ABORTED;
    case ROTA_TASK_RUNNING: return RUN_RUNNING;
    default: return RUN_WAITING;
    }
}

// After an attempt ended, its task is finished or is tried again: the core decides.
void run_phase_look(struct run *run, uint32_t task)
{
    rota_task_id id = {run->job.number, task + 1};
    run_phase_set(run, task, phase_of(rota_task_state(run->server->rota, id)));
}

void run_ends_look(struct run *run)
{
    for (; run->end_seen < run->end_count; run->end_seen++) {
        struct run_end *end = &run->ends[run->end_seen];
        run_phase_look(run, end->task);
        end->phase = (enum run_phase)run->tasks[end->task].phase;
    }
}

// ---- The end ------------------------------------------------------------------------------

rota_time run_deadline(const struct run *run)
{
    return rota_deadline(run->server->rota);
}

bool run_is_over(const struct run *run)
{
    bool idle = !run->count[RUN_RUNNING] && (run->draining || !run->count[RUN_GIVEN]);
    if (run->draining) return idle;
    return !run_left(run) || (idle && run_deadline(run) == ROTA_NEVER);
}

const char *run_end_text(const struct run_task *task, char out[RUN_END_TEXT])
{
    struct store_attempt_end end
        = {attempt_end_word(task->end), task->status, task->end_flags, task->reason, ""};
    store_attempt_text(&end, out, RUN_END_TEXT);
    return out;
}
