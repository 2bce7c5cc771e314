// worker.c - workers: who is there, what they have to give, and what goes with them.
#include "core/core.h"

worker_row worker_find(const struct rota *rota, rota_worker_id id)
{
    return map_find(&rota->worker_by_id, id.number);
}

bool worker_reserve(struct rota *rota)
{
    return pool_reserve(&rota->memory, &rota->workers, 1) &&
           map_reserve(&rota->memory, &rota->worker_by_id, 1) && heap_reserve(&rota->memory, &rota->leases, rota->workers.capacity) &&
           room_reserve(rota, rota->workers.capacity);
}

worker_row worker_add(struct rota *rota, rota_worker_id id)
{
    worker_row row = pool_take(&rota->workers);
    WORKER(rota, row)->id = id.number;
    WORKER(rota, row)->silent_since = ROTA_NEVER;
    map_put(&rota->worker_by_id, id.number, row);
    return row;
}

void worker_mark(struct rota *rota, worker_row row)
{
    if (WORKER(rota, row)->marked) return;
    WORKER(rota, row)->marked = true;
    effect_mark(rota, ROTA_RECORD_WORKER, row);
}

void worker_charge(struct rota *rota, worker_row row, task_row at)
{
    struct worker *worker = WORKER(rota, row);
    struct task *task = &rota->task[at];
    const struct profile *profile = PROFILE(rota, task->profile);
    worker->cores_used += profile->wants.cores;
    worker->memory_used += profile->wants.memory_mib;
    worker->tasks++;
    bool over = (task->flags & TASK_OVERBOOKED) != 0;
    worker->overbooked += over;
    rota->overbooked += over;
    rota->out++;
    JOB(rota, task_job(rota, at))->out++;
    task->previous = 0;
    task->next = worker->first;
    if (worker->first) rota->task[worker->first].previous = at;
    worker->first = at;
    room_update(rota, row);
}

// Once everything fits again, nobody there is beyond the room any more.
static void settle_overbooked(struct rota *rota, struct worker *worker)
{
    if (worker->cores_used > worker->cores || worker->memory_used > worker->memory_mib) return;
    if (worker->slots && worker->tasks > worker->slots) return;
    for (task_row at = worker->first; at; at = rota->task[at].next) {
        if (!(rota->task[at].flags & TASK_OVERBOOKED)) continue;
        rota->task[at].flags &= (uint16_t)~TASK_OVERBOOKED;
        effect_mark_task(rota, at);
    }
    rota->overbooked -= worker->overbooked;
    worker->overbooked = 0;
}

void worker_refund(struct rota *rota, worker_row row, task_row at)
{
    struct worker *worker = WORKER(rota, row);
    struct task *task = &rota->task[at];
    const struct profile *profile = PROFILE(rota, task->profile);
    worker->cores_used -= profile->wants.cores;
    worker->memory_used -= profile->wants.memory_mib;
    worker->tasks--;
    bool over = (task->flags & TASK_OVERBOOKED) != 0;
    worker->overbooked -= over;
    rota->overbooked -= over;
    rota->out--;
    JOB(rota, task_job(rota, at))->out--;
    job_look_at(rota, task_job(rota, at));
    if (task->next) rota->task[task->next].previous = task->previous;
    if (task->previous) rota->task[task->previous].next = task->next;
    else worker->first = task->next;
    task->next = task->previous = 0;
    if (worker->overbooked) settle_overbooked(rota, worker);
    if (rota->plan_unplaced) plan_news(rota, 1);
    room_update(rota, row);
}

// Attempts first, so that what they leave behind is seen with the copies still in place
// for nobody: a consumer that lost its worker looks for its inputs after they are gone.
void worker_lose(struct rota *rota, worker_row row)
{
    struct worker *worker = WORKER(rota, row);
    trace_say(rota, "worker %u is lost -> its %u attempts end", worker->id, worker->tasks);
    worker->silent_since = rota->now;  // nothing new goes there from here on
    room_update(rota, row);
    while (worker->first) outcome_finish(rota, worker->first, ROTA_OUTCOME_LOST, 0);
    while (worker->replicas) {
        object_row object = REPLICA(rota, worker->replicas)->object;
        replica_remove(rota, worker->replicas);
        object_refresh(rota, object);
        object_drop_unused_artifact(rota, object);
    }
    pull_worker_gone(rota, row);
    rota->asking -= worker->asks != 0;
    struct rota_record tomb = { .kind = ROTA_RECORD_WORKER, .gone = true };
    tomb.worker.id.number = worker->id;
    effect_tomb(rota, tomb);
    if (worker->marked) effect_forget_marks(rota, ROTA_RECORD_WORKER, row);
    heap_remove(&rota->leases, row);
    map_remove(&rota->worker_by_id, worker->id);
    worker->id = 0;
    room_update(rota, row);
    pool_give(&rota->workers, row);
}
