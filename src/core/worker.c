// worker.c - workers: their capacity, attempts and copies, and the loss of a worker.
#include "base/planted.h"
#include "core/core.h"

enum { EXCUSED_MAX = 1000 };  // attempts; above this the end of a leaving worker counts as a try

worker_row worker_find(const struct rota *rota, rota_worker_id id)
{
    return map_find(&rota->worker_by_id, id.number);
}

bool worker_reserve(struct rota *rota)
{
    return pool_reserve(&rota->memory, &rota->workers, 1)
           && map_reserve(&rota->memory, &rota->worker_by_id, 1)
           && heap_reserve(&rota->memory, &rota->leases, rota->workers.capacity)
           && room_reserve(rota, rota->workers.capacity);
}

worker_row worker_add(struct rota *rota, rota_worker_id id)
{
    assert(!worker_find(rota, id));
    worker_row row = pool_take(&rota->workers);
    WORKER(rota, row)->id = id.number;
    WORKER(rota, row)->silent_since = ROTA_NEVER;
    map_put(&rota->worker_by_id, id.number, row);
    return row;
}

// A worker reports without having joined: it has one core until it joins.
worker_row worker_meet(struct rota *rota, rota_worker_id id)
{
    assert(id.number);
    worker_row row = worker_find(rota, id);
    if (row) return row;
    row = worker_add(rota, id);
    WORKER(rota, row)->cores = 1;
    WORKER(rota, row)->memory_mib = UINT32_MAX;
    worker_mark(rota, row);
    room_update(rota, row);
    if (rota->plan_unplaced) plan_news(rota, 1);
    return row;
}

void worker_mark(struct rota *rota, worker_row row)
{
    assert(IS_ROW(rota->workers, row));
    if (WORKER(rota, row)->marked) return;
    WORKER(rota, row)->marked = true;
    effect_mark(rota, ROTA_RECORD_WORKER, row);
}

void worker_charge(struct rota *rota, worker_row row, task_row at)
{
    assert(row);
    struct worker *worker = WORKER(rota, row);
    struct task *task = &rota->task[at];
    const struct profile *profile = PROFILE(rota, task->profile);
    if (!PLANTED(ROOM_FREE)) worker->cores_used += profile->wants.cores;
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

// The room of a worker goes to its running attempts, then to the assigned ones in order.
struct room_left {
    uint64_t cores, memory;
    uint32_t slots;
};

static bool takes_room(struct room_left *room, const struct profile *profile)
{
    if (profile->wants.cores > room->cores || profile->wants.memory_mib > room->memory
        || !room->slots)
        return false;
    room->cores -= profile->wants.cores;
    room->memory -= profile->wants.memory_mib;
    room->slots--;
    return true;
}

static uint32_t mark_beyond(struct rota *rota, task_row last, uint8_t state, struct room_left *room)
{
    assert(state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING);
    uint32_t beyond = 0;
    for (task_row at = last; at; at = rota->task[at].previous) {
        struct task *task = &rota->task[at];
        if (task->state != state) continue;
        bool over = !takes_room(room, PROFILE(rota, task->profile));
        beyond += over;
        if (over == ((task->flags & TASK_OVERBOOKED) != 0)) continue;
        task->flags ^= TASK_OVERBOOKED;
        effect_mark_task(rota, at);
    }
    return beyond;
}

void worker_settle_overbooked(struct rota *rota, worker_row row)
{
    assert(IS_ROW(rota->workers, row));
    struct worker *worker = WORKER(rota, row);
    struct room_left room
        = {worker->cores, worker->memory_mib, worker->slots ? worker->slots : UINT32_MAX};
    task_row last = worker->first;
    while (last && rota->task[last].next) last = rota->task[last].next;
    rota->overbooked -= worker->overbooked;
    worker->overbooked = mark_beyond(rota, last, ROTA_TASK_RUNNING, &room);
    worker->overbooked += mark_beyond(rota, last, ROTA_TASK_ASSIGNED, &room);
    rota->overbooked += worker->overbooked;
}

// Which attempts are overbooked changes with every start and end there, and many happen in one
// turn: so it is computed once for all.
void worker_unsettle(struct rota *rota, worker_row row)
{
    struct worker *worker = WORKER(rota, row);
    if (worker->unsettled || !worker->overbooked) return;
    worker->unsettled = true;
    worker->unsettled_next = rota->unsettled;
    rota->unsettled = row;
}

void workers_settle(struct rota *rota)
{
    while (rota->unsettled) {
        struct worker *worker = WORKER(rota, rota->unsettled);
        worker_settle_overbooked(rota, rota->unsettled);
        worker->unsettled = false;
        rota->unsettled = worker->unsettled_next;
    }
    assert(!rota->unsettled);
}

void worker_refund(struct rota *rota, worker_row row, task_row at)
{
    struct worker *worker = WORKER(rota, row);
    struct task *task = &rota->task[at];
    const struct profile *profile = PROFILE(rota, task->profile);
    if (!PLANTED(ROOM_KEPT)) worker->cores_used -= profile->wants.cores;
    worker->memory_used -= profile->wants.memory_mib;
    worker->tasks--;
    bool over = (task->flags & TASK_OVERBOOKED) != 0;
    worker->overbooked -= over;
    rota->overbooked -= over;
    rota->out--;
    JOB(rota, task_job(rota, at))->out--;
    job_look_at(rota, task_job(rota, at));
    if (task->next) rota->task[task->next].previous = task->previous;
    if (task->previous)
        rota->task[task->previous].next = task->next;
    else
        worker->first = task->next;
    task->next = task->previous = 0;
    task->flags &= (uint16_t)~TASK_OVERBOOKED;
    worker_unsettle(rota, row);
    if (rota->plan_unplaced) plan_news(rota, 1);
    room_update(rota, row);
}

// The worker gets no messages any more. One of its attempts may read a stream that another one
// writes: the end of one must not recall the other.
static void mark_lost(struct rota *rota, worker_row row)
{
    assert(!WORKER(rota, row)->lost);
    struct worker *worker = WORKER(rota, row);
    trace_say(rota, "worker %u is lost -> its %u attempts end", worker->id, worker->tasks);
    worker->silent_since = rota->now;  // it gets no new tasks from here on
    worker->lost = true;
    room_update(rota, row);
    for (task_row at = PLANTED(LOST_KEPT) ? 0 : worker->first; at; at = rota->task[at].next)
        rota->task[at].flags |= TASK_DECIDED;
}

// A worker that announced its leave was ended from outside. Its tasks do not lose a try, unless
// that happens again and again.
static void excuse(struct rota *rota, task_row row)
{
    assert(rota->task[row].worker);
    struct task *task = &rota->task[row];
    bool counts = task->flags & TASK_DISCARDED || task->attempt >= EXCUSED_MAX;
    if (task->tries && !counts) task->tries--;
}

static void lose_attempts(struct rota *rota, worker_row row)
{
    const struct worker *worker = WORKER(rota, row);
    while (worker->first && !PLANTED(LOST_KEPT)) {
        if (worker->paused & PAUSE_LEAVING) excuse(rota, worker->first);
        outcome_finish(rota, worker->first, row, ROTA_OUTCOME_LOST, 0);
    }
    assert(!WORKER(rota, row)->first);
}

static void lose_copies(struct rota *rota, worker_row row)
{
    assert(!WORKER(rota, row)->first);
    while (WORKER(rota, row)->replicas) {
        object_row object = REPLICA(rota, WORKER(rota, row)->replicas)->object;
        replica_remove(rota, WORKER(rota, row)->replicas);
        object_shown(rota, object, 0);
        object_refresh(rota, object);
        object_drop_unused_artifact(rota, object);
    }
}

static void forget(struct rota *rota, worker_row row)
{
    assert(WORKER(rota, row)->lost);
    struct worker *worker = WORKER(rota, row);
    lose_copies(rota, row);
    workers_settle(rota);
    pull_worker_gone(rota, row);
    rota->asking -= worker->asks != 0;
    struct rota_record tomb = {.kind = ROTA_RECORD_WORKER, .gone = true};
    tomb.worker.id.number = worker->id;
    effect_tomb(rota, tomb);
    if (worker->marked) effect_forget_marks(rota, ROTA_RECORD_WORKER, row);
    heap_remove(&rota->leases, row);
    map_remove(&rota->worker_by_id, worker->id);
    worker->id = 0;
    room_update(rota, row);
    pool_give(&rota->workers, row);
}

// Attempts end first, while the copies still exist but are available to no task: a consumer that
// lost its worker looks for its inputs after they are removed.
void worker_lose(struct rota *rota, worker_row row)
{
    mark_lost(rota, row);
    lose_attempts(rota, row);
    forget(rota, row);
}

// Workers that are lost at the same time are removed together: the attempts of all end before a
// copy of any is removed, so their order does not matter.
void workers_lose(struct rota *rota)
{
    const struct heap *leases = &rota->leases;
    for (uint32_t i = 0; i < leases->count; i++)
        if (leases->entries[i].due <= rota->now) mark_lost(rota, (uint32_t)leases->entries[i].tag);
    for (uint32_t i = 0; i < leases->count; i++)
        if (leases->entries[i].due <= rota->now)
            lose_attempts(rota, (uint32_t)leases->entries[i].tag);
    while (leases->count && leases->entries[0].due <= rota->now)
        forget(rota, (uint32_t)leases->entries[0].tag);
}
