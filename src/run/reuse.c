// reuse.c - finds tasks that need not run again: they were finished in an earlier job of the file,
// or in an earlier run of this job.
#include "run/run.h"

#include <stdlib.h>

enum { DROP_AT_ONCE = 256 };

// ---- Objects that the worker holds --------------------------------------------------------

void run_held_add(struct run_held *held, const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        bool there = ARRAY_MORE(&memory_heap, held->items, held->count, held->capacity);
        if (!there || !map_reserve(&memory_heap, &held->by_name, 1)) os_out_of_memory();
        held->items[held->count].name = files->items[i].object;
        held->items[held->count++].bytes = files->items[i].bytes;
        *map_place(&held->by_name, ID_HASH(files->items[i].object)) = held->count;
    }
}

static bool run_held_has(const struct run_held *held, rota_object_id name, uint64_t *bytes)
{
    uint32_t at = map_find(&held->by_name, ID_HASH(name));
    if (!at) return false;
    const struct run_held_object *object = &held->items[at - 1];
    *bytes = object->bytes;
    return SAME_ID(object->name, name);
}

void run_held_release(struct run_held *held)
{
    map_release(&memory_heap, &held->by_name);
    free(held->items);
    *held = (struct run_held){0};
}

// ---- The previous job ----------------------------------------------------------------------

// Signatures of the tasks that succeeded in it. A signature includes the name of the task.
static void succeeded_add(struct run *run, rota_job_id old, struct map *succeeded)
{
    struct store_text text;
    rota_task_id id = {old.number, 1};
    for (; store_text_find(run->server->store, id, &text); id.task++) {
        if (rota_task_state(run->server->rota, id) != ROTA_TASK_SUCCEEDED) continue;
        if (!map_reserve(&memory_heap, succeeded, 1)) os_out_of_memory();
        *map_place(succeeded, text.body) = 1;
    }
}

static bool kept_are_there(const struct run *run, uint32_t at, run_stamp_fn *stamp)
{
    const struct jobfile_task *task = &run->file->tasks[at];
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        if (output->keep && !stamp(run->file->folder, output->name)) return false;
    }
    return true;
}

// A task that has not succeeded yet has delivered nothing that could be missing.
bool run_kept_are_there(const struct run *run, rota_job_id job, run_stamp_fn *stamp)
{
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        if (kept_are_there(run, i, stamp)) continue;
        rota_task_id id = {job.number, i + 1};
        if (rota_task_state(run->server->rota, id) == ROTA_TASK_SUCCEEDED) return false;
    }
    return true;
}

// Its outputs must still exist, for the tasks that read them and for the user.
static bool outputs_are_there(const struct run *run, uint32_t at, const struct run_held *held,
                              run_stamp_fn *stamp)
{
    const struct jobfile_task *task = &run->file->tasks[at];
    uint64_t bytes;
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        if (output->kind == JOBFILE_STREAM) return false;
        if (held && !run_held_has(held, run_output_name(run, at, i), &bytes)) return false;
    }
    return kept_are_there(run, at, stamp);
}

static bool needs_are_carried(const struct run *run, uint32_t at, const bool *carried)
{
    const struct jobfile_task *task = &run->file->tasks[at];
    uint32_t other;
    for (uint32_t i = 0; (i = jobfile_waits(task, i, &other)) != 0;)
        if (!carried[other]) return false;
    return true;
}

// All tasks that the condition names have succeeded, so it is true unless it tests for a failure.
static bool condition_is_true(const struct jobfile_task *task)
{
    for (uint32_t i = 0; i < task->clause_count; i++)
        if (task->clauses[i].kind == ROTA_CLAUSE_FAILED) return false;
    return true;
}

void run_carry(struct run *run, rota_job_id old, const struct run_held *held, run_stamp_fn *stamp,
               bool *carried)
{
    struct map succeeded = {0};
    if (old.number) succeeded_add(run, old, &succeeded);
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        uint32_t at = run->order[i];
        const struct jobfile_task *task = &run->file->tasks[at];
        carried[at] = condition_is_true(task) && needs_are_carried(run, at, carried)
                      && (task->is_bundle || map_find(&succeeded, run->tasks[at].signature))
                      && outputs_are_there(run, at, held, stamp);
    }
    map_release(&memory_heap, &succeeded);
}

// Signatures of tasks that the file no longer has. Their outputs are not needed any more.
static void stale_add(struct run *run, rota_job_id old, struct map *stale)
{
    struct store_text text;
    rota_task_id id = {old.number, 1};
    for (; store_text_find(run->server->store, id, &text); id.task++) {
        if (!map_reserve(&memory_heap, stale, 1)) os_out_of_memory();
        *map_place(stale, text.body) = 1;
    }
    for (uint32_t i = 0; i < run->file->task_count; i++)
        if (map_find(stale, run->tasks[i].signature)) map_remove(stale, run->tasks[i].signature);
}

void run_drop(struct run *run, rota_job_id old, const struct run_held *held, struct wire_out *out)
{
    struct map stale = {0};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    struct wire_file items[DROP_AT_ONCE] = {0};
    if (!held->count) return;
    stale_add(run, old, &stale);
    message.drop.objects.items = items;
    for (uint32_t i = 0; i < held->count; i++) {
        if (map_find(&stale, held->items[i].name.high))
            items[message.drop.objects.count++].object = held->items[i].name;
        bool is_full = message.drop.objects.count == DROP_AT_ONCE;
        if (message.drop.objects.count && (is_full || i + 1 == held->count)) {
            wire_put(out, &message);
            message.drop.objects.count = 0;
        }
    }
    map_release(&memory_heap, &stale);
}

// ---- Events for the core ------------------------------------------------------------------

static void step(struct run *run, struct rota_event event)
{
    server_step(run->server, &event);
}

static void worker_step(struct run *run, enum rota_event_kind kind, rota_worker_id id,
                        uint32_t machine)
{
    struct rota_event event = {.kind = kind};
    event.worker.id = id;
    event.worker.cores = event.worker.memory_mib = 1u << 30;
    event.worker.machine = machine;
    step(run, event);
}

// The worker of this run holds the objects of tasks that have succeeded.
static void outputs_locate(struct run *run, uint32_t at, const struct run_held *held)
{
    const struct jobfile_task *task = &run->file->tasks[at];
    for (uint32_t i = 0; i < task->output_count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_OBJECT_HELD};
        event.replica.worker = run->worker;
        event.replica.object = run_object(run, at, i);
        if (run_held_has(held, run_output_name(run, at, i), &event.replica.bytes)) step(run, event);
    }
}

static void carried_end(struct run *run, const struct rota_action *action,
                        const struct run_held *held)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    event.report.worker = action->run.worker;
    event.report.task = action->run.task;
    event.report.attempt = action->run.attempt;
    step(run, event);
    event.kind = ROTA_EVENT_TASK_FINISHED;
    event.report.outcome = ROTA_OUTCOME_OK;
    step(run, event);
    uint32_t at = action->run.task.task - 1;
    outputs_locate(run, at, held);
    if (run_wants(run, at)) run_phase_set(run, at, RUN_DONE);
}

static void task_step(struct run *run, enum rota_event_kind kind, rota_task_id id)
{
    struct rota_event event = {.kind = kind, .task = {id}};
    step(run, event);
}

// After the reused tasks. In this order a bundle is running before the core looks at its
// dependents.
static void others_stage(struct run *run)
{
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        uint32_t at = run->order[i];
        rota_task_id id = {run->job.number, at + 1};
        bool idle = rota_task_state(run->server->rota, id) == ROTA_TASK_IDLE;
        if (idle && run_wants(run, at) && !run->file->tasks[at].is_bundle)
            task_step(run, ROTA_EVENT_STAGE, id);
    }
}

// Reused tasks pass through all states like other tasks, on a worker that runs nothing, in one
// turn.
void run_carry_out(struct run *run, const bool *carried, const struct run_held *held)
{
    rota_worker_id nobody = {RUN_WORKER_CARRIED + run->machine_carried};
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->file->task_count; i++)
        count += carried[i] && !run->file->tasks[i].is_bundle;
    run->carried = count;
    if (!count) return;
    worker_step(run, ROTA_EVENT_WORKER_JOINED, nobody, run->machine_carried);
    uint32_t seen = 0, before;
    do {
        before = seen;
        if (!server_advance(run->server)) break;
        for (; seen < run->server->action_count; seen++) {
            struct rota_action action = run->server->actions[seen];
            bool ours = action.kind == ROTA_ACTION_RUN;
            if (ours && action.run.worker.number == nobody.number) carried_end(run, &action, held);
        }
    } while (seen > before);
    worker_step(run, ROTA_EVENT_WORKER_LEFT, nobody, run->machine_carried);
    others_stage(run);
}

static void task_resume(struct run *run, uint32_t at)
{
    rota_task_id id = {run->job.number, at + 1};
    enum rota_task_state state = rota_task_state(run->server->rota, id);
    bool ended = state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
    if (!run_wants(run, at)) {
        if (state >= ROTA_TASK_STAGED && state <= ROTA_TASK_OFFERED)
            task_step(run, ROTA_EVENT_CANCEL, id);
    } else if (ended) {
        task_step(run, ROTA_EVENT_RETRY, id);
    } else if (state == ROTA_TASK_IDLE) {
        task_step(run, ROTA_EVENT_STAGE, id);
    }
}

// The new worker takes over the objects of the old one. Then the old one leaves, and its attempts
// are lost.
void run_resume(struct run *run, const struct run_held *held)
{
    const struct rota *rota = run->server->rota;
    for (uint32_t i = 0; i < run->file->task_count; i++) {
        rota_task_id id = {run->job.number, i + 1};
        if (rota_task_state(rota, id) != ROTA_TASK_SUCCEEDED) continue;
        outputs_locate(run, i, held);
        if (run_wants(run, i)) run_phase_set(run, i, RUN_DONE);
    }
    run_replace_worker(run);
    for (uint32_t i = 0; i < run->file->task_count; i++)
        if (!run->file->tasks[run->order[i]].is_bundle) task_resume(run, run->order[i]);
}
