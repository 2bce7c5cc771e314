// lost_objects.c - objects that the worker has lost: runs the tasks again that produce them.
//
// Reused tasks belong to a machine without a worker, so that they do not run. If an object of such
// a task is lost, the worker of this run joins a second time, for that machine.
#include "run/run.h"

#include <stdlib.h>

// ---- Workers ------------------------------------------------------------------------------

void run_worker_join(struct run *run, rota_worker_id id, uint32_t machine)
{
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
    event.worker.id = id;
    event.worker.cores = run->cores;
    event.worker.memory_mib = run->memory_mib;
    event.worker.machine = machine;
    server_step(run->server, &event);
}

static void worker_leave(struct run *run, rota_worker_id id)
{
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_LEFT};
    event.worker.id = id;
    server_step(run->server, &event);
}

void run_replace_worker(struct run *run)
{
    worker_leave(run, run->worker_before);
    worker_leave(run, (rota_worker_id){RUN_WORKER_CARRIED + run->machine_carried});
}

rota_worker_id run_worker_of(const struct run *run, uint32_t task)
{
    return run->tasks[task].again ? run->worker_again : run->worker;
}

bool run_worker_is_ours(const struct run *run, rota_worker_id id)
{
    return id.number == run->worker.number
           || (run->worker_again.number && id.number == run->worker_again.number);
}

// ---- Objects ------------------------------------------------------------------------------

static void replica_step(struct run *run, enum rota_event_kind kind, rota_worker_id worker,
                         rota_object_id object, uint64_t bytes)
{
    struct rota_event event = {.kind = kind};
    event.replica.worker = worker;
    event.replica.object = object;
    event.replica.bytes = bytes;
    server_step(run->server, &event);
}

// The core revokes attempts that were about to read the object, and runs its producer again.
static void object_lost(struct run *run, rota_object_id object)
{
    replica_step(run, ROTA_EVENT_OBJECT_LOST, run->worker, object, 0);
    if (run->worker_again.number)
        replica_step(run, ROTA_EVENT_OBJECT_LOST, run->worker_again, object, 0);
}

static void name_lost(struct run *run, rota_object_id name)
{
    for (uint32_t at = 0; at < run->file->task_count; at++) {
        if (run->tasks[at].signature != name.high) continue;
        for (uint32_t i = 0; i < run->file->tasks[at].output_count; i++)
            if (run_output_name(run, at, i).low == name.low)
                object_lost(run, run_object(run, at, i));
    }
}

void run_lost(struct run *run, const wire_files *objects)
{
    uint64_t count = (uint64_t)run->lost_count + objects->count;
    void *lost = realloc(run->lost, count * sizeof *run->lost + 1);
    if (!lost || count > UINT32_MAX) os_out_of_memory();
    run->lost = lost;
    for (uint32_t i = 0; i < objects->count; i++)
        run->lost[run->lost_count++] = objects->items[i].object;
}

void run_lost_settle(struct run *run)
{
    if (!run->lost_count) return;
    for (uint32_t i = 0; i < run->lost_count; i++) name_lost(run, run->lost[i]);
    run->lost_count = 0;
    if (run->worker_again.number) return;
    run->worker_again.number = RUN_WORKER_CARRIED + run->machine_carried;
    run_worker_join(run, run->worker_again, run->machine_carried);
}

void run_made_again(struct run *run, uint32_t task, const struct wire_finished *finished)
{
    if (!run->tasks[task].again) return;
    for (uint32_t i = 0; i < finished->outputs.count; i++)
        replica_step(run, ROTA_EVENT_OBJECT_HELD, run->worker, run_object(run, task, i),
                     finished->outputs.items[i].bytes);
}
