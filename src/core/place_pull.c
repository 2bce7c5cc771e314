// place_pull.c - the policy pull: near queues, then input queues, then a global one.
//
// Which queues a task is in depends only on the locations of its objects and on its phase, so the
// order in which tasks and cache reports arrive does not matter. An offer row puts a task into one
// queue; queues are ordered by the time of the offer. Changed tasks and objects wait in two lists
// until the turn ends: only then is memory for offers reserved.
#include "core/core.h"

enum { NEAR, INPUT };

static rota_time wait_of(const struct rota *rota, task_row row, rota_time configured)
{
    lane_row lane = task_extra(rota, row)->lane;
    if (!lane || LANE(rota, lane)->patience >= configured) return configured;
    return LANE(rota, lane)->patience;
}

rota_time pull_due(const struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    if (extra->phase != PHASE_NEAR && extra->phase != PHASE_INPUT) return ROTA_NEVER;
    rota_time wait
        = wait_of(rota, row,
                  extra->phase == PHASE_NEAR ? rota->config.cached_wait : rota->config.inputs_wait);
    return extra->since > ROTA_NEVER - wait ? ROTA_NEVER : extra->since + wait;
}

// ---- Objects that a worker holds ------------------------------------------------------------

static bool holds(const struct rota *rota, object_row object, worker_row worker)
{
    replica_row row = replica_find(rota, object, worker);
    return row && REPLICA(rota, row)->flags & REPLICA_LOCATED;
}

// The objects that decide about one kind of queue: the results of the task, or its inputs.
static uint32_t object_count(const struct extra *extra, uint32_t kind)
{
    assert(kind < 2);
    return kind == INPUT ? extra->input_count : extra->output_count + (extra->key != 0);
}

static object_row object_at(const struct rota *rota, const struct extra *extra, uint32_t kind,
                            uint32_t i)
{
    assert(i < object_count(extra, kind));
    if (kind == INPUT) return rota->use[extra->use_first + i].object;
    if (i == extra->output_count) return extra->key;
    return rota->use[extra->use_first + extra->input_count + i].object;
}

// The copies of a lost worker still exist while its attempts end.
static bool is_located(const struct rota *rota, const struct object *object)
{
    for (replica_row at = object->located ? object->replicas : 0; at;
         at = REPLICA(rota, at)->next_of_object)
        if (REPLICA(rota, at)->flags & REPLICA_LOCATED
            && !WORKER(rota, REPLICA(rota, at)->worker)->lost)
            return true;
    return false;
}

static bool pull_own_located(const struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < object_count(extra, NEAR); i++)
        if (is_located(rota, OBJECT(rota, object_at(rota, extra, NEAR, i)))) return true;
    return false;
}

bool pull_offers(const struct rota *rota, task_row row, worker_row worker, uint32_t kind)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    if (!worker) return extra->phase == PHASE_GLOBAL;
    if (kind == INPUT && extra->phase < PHASE_INPUT) return false;
    for (uint32_t i = 0; i < object_count(extra, kind); i++)
        if (holds(rota, object_at(rota, extra, kind, i), worker)) return true;
    return false;
}

// ---- Queues of offers ----------------------------------------------------------------

static offer_row *queue_end(struct rota *rota, const struct offer *offer, bool first)
{
    if (!offer->worker) return first ? &rota->global_first : &rota->global_last;
    struct worker *worker = WORKER(rota, offer->worker);
    return first ? &worker->queue_first[offer->kind] : &worker->queue_last[offer->kind];
}

static bool offered_before(const struct rota *rota, task_row a, task_row b)
{
    uint32_t rank = rota->task[a].rank, other_rank = rota->task[b].rank;
    if (rota->config.pull_by_rank && rank != other_rank) return rank > other_rank;
    uint64_t one = task_extra(rota, a)->asked, other = task_extra(rota, b)->asked;
    return one != other ? one < other : task_older(rota, a, b);
}

static void offer_add(struct rota *rota, task_row row, worker_row worker, uint32_t kind)
{
    assert(kind < 2);
    offer_row at = pool_take(&rota->offers);
    struct offer *offer = OFFER(rota, at);
    *offer = (struct offer){.task = row, .worker = worker, .kind = kind};
    offer->next_of_task = rota->task[row].child;
    rota->task[row].child = at;
    offer_row previous = *queue_end(rota, offer, false), next = 0;
    while (previous && offered_before(rota, row, OFFER(rota, previous)->task)) {
        next = previous;
        previous = OFFER(rota, previous)->previous;
    }
    offer->previous = previous;
    offer->next = next;
    if (previous)
        OFFER(rota, previous)->next = at;
    else
        *queue_end(rota, offer, true) = at;
    if (next)
        OFFER(rota, next)->previous = at;
    else
        *queue_end(rota, offer, false) = at;
}

static void offer_remove(struct rota *rota, offer_row at)
{
    assert(IS_ROW(rota->offers, at));
    struct offer *offer = OFFER(rota, at);
    if (offer->next)
        OFFER(rota, offer->next)->previous = offer->previous;
    else
        *queue_end(rota, offer, false) = offer->previous;
    if (offer->previous)
        OFFER(rota, offer->previous)->next = offer->next;
    else
        *queue_end(rota, offer, true) = offer->next;
    offer_row *link = &rota->task[offer->task].child;
    while (*link != at) link = &OFFER(rota, *link)->next_of_task;
    *link = offer->next_of_task;
    pool_give(&rota->offers, at);
}

static bool has_offer(const struct rota *rota, task_row row, worker_row worker, uint32_t kind)
{
    for (offer_row at = rota->task[row].child; at; at = OFFER(rota, at)->next_of_task)
        if (OFFER(rota, at)->worker == worker && OFFER(rota, at)->kind == kind) return true;
    return false;
}

static void drop_stale(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    offer_row next;
    for (offer_row at = rota->task[row].child; at; at = next) {
        const struct offer *offer = OFFER(rota, at);
        next = offer->next_of_task;
        if (!pull_offers(rota, row, offer->worker, offer->kind)) offer_remove(rota, at);
    }
}

static void add_holders(struct rota *rota, task_row row, uint32_t kind)
{
    assert(kind < 2);
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < object_count(extra, kind); i++) {
        object_row object = object_at(rota, extra, kind, i);
        for (replica_row at = OBJECT(rota, object)->replicas; at;
             at = REPLICA(rota, at)->next_of_object) {
            const struct replica *replica = REPLICA(rota, at);
            if (!(replica->flags & REPLICA_LOCATED)) continue;
            if (!has_offer(rota, row, replica->worker, kind))
                offer_add(rota, row, replica->worker, kind);
        }
    }
}

static bool reserve_offers(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    uint32_t most = 1;
    for (uint32_t kind = NEAR; kind <= INPUT; kind++)
        for (uint32_t i = 0; i < object_count(extra, kind); i++)
            most += OBJECT(rota, object_at(rota, extra, kind, i))->located;
    return pool_reserve(&rota->memory, &rota->offers, most);
}

// ---- Phases ----------------------------------------------------------------------------

static void set_timer(struct rota *rota, task_row row)
{
    rota_time due = pull_due(rota, row);
    if (due == ROTA_NEVER)
        heap_remove(&rota->phases, rota->task[row].extra);
    else
        heap_set(&rota->phases, rota->task[row].extra, due);
}

// A phase that ended is followed by the next, which began at the moment when the previous one
// ended.
static void advance_phase(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    struct extra *extra = task_extra(rota, row);
    uint8_t before = extra->phase;
    if (extra->phase == PHASE_NONE) extra->phase = extra->resume;
    extra->resume = PHASE_NONE;
    if (extra->phase == PHASE_NEAR && !pull_own_located(rota, row)) {
        extra->phase = PHASE_INPUT;
        extra->since = rota->now;
    }
    while (pull_due(rota, row) <= rota->now) {
        rota_time due = pull_due(rota, row);
        extra->phase++;
        extra->since = due;
    }
    if (extra->phase != before) effect_mark_task(rota, row);
    set_timer(rota, row);
}

static bool sync(struct rota *rota, task_row row)
{
    if (!reserve_offers(rota, row)) return false;
    advance_phase(rota, row);
    drop_stale(rota, row);
    add_holders(rota, row, NEAR);
    if (task_extra(rota, row)->phase >= PHASE_INPUT) add_holders(rota, row, INPUT);
    if (task_extra(rota, row)->phase == PHASE_GLOBAL && !has_offer(rota, row, 0, NEAR))
        offer_add(rota, row, 0, NEAR);
    return true;
}

static bool is_queued(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    return task->state == ROTA_TASK_OFFERED && task->extra
           && task_extra(rota, row)->phase != PHASE_NONE && lane_is_next(rota, row);
}

void pull_patience_changed(struct rota *rota, task_row row)
{
    if (is_queued(rota, row)) set_timer(rota, row);
}

void pull_add(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    struct task *task = &rota->task[row];
    struct extra *extra = task_extra(rota, row);
    if (!extra->resume) {
        extra->since = rota->now;
        extra->resume = pull_own_located(rota, row) ? PHASE_NEAR : PHASE_INPUT;
    }
    extra->phase = PHASE_NONE;
    if (!extra->asked) extra->asked = rota->turn;
    effect_mark_task(rota, row);
    task->child = 0;
    list_insert(rota, row, rota->fresh_last, 0, &rota->fresh_first, &rota->fresh_last);
}

static void leave_fresh(struct rota *rota, task_row row)
{
    list_unlink(rota, row, &rota->fresh_first, &rota->fresh_last);
}

// Restored from the store: the phase resumes where it was.
bool pull_restore(struct rota *rota, task_row row, uint32_t phase, rota_time since)
{
    assert(rota->task[row].extra);
    struct extra *extra = task_extra(rota, row);
    extra->since = since;
    if (phase == PHASE_NONE) return true;
    leave_fresh(rota, row);
    extra->phase = phase & 15u;
    return sync(rota, row);
}

void pull_remove(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    struct extra *extra = task_extra(rota, row);
    if (extra->phase == PHASE_NONE) leave_fresh(rota, row);
    while (rota->task[row].child) offer_remove(rota, rota->task[row].child);
    heap_remove(&rota->phases, rota->task[row].extra);
    extra->phase = extra->resume = PHASE_NONE;
    extra->since = 0;
}

void pull_news(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    if (object->flags & OBJECT_CHANGED) return;
    object->flags |= OBJECT_CHANGED;
    object->next_changed = rota->changed_objects;
    object->previous_changed = 0;
    if (rota->changed_objects) OBJECT(rota, rota->changed_objects)->previous_changed = row;
    rota->changed_objects = row;
}

void pull_object_seen(struct rota *rota, object_row row)
{
    struct object *object = OBJECT(rota, row);
    object->flags &= ~(uint32_t)OBJECT_CHANGED;
    if (object->next_changed)
        OBJECT(rota, object->next_changed)->previous_changed = object->previous_changed;
    if (object->previous_changed)
        OBJECT(rota, object->previous_changed)->next_changed = object->next_changed;
    else
        rota->changed_objects = object->next_changed;
}

void pull_worker_gone(struct rota *rota, worker_row row)
{
    assert(IS_ROW(rota->workers, row));
    for (uint32_t kind = NEAR; kind <= INPUT; kind++)
        while (WORKER(rota, row)->queue_first[kind])
            offer_remove(rota, WORKER(rota, row)->queue_first[kind]);
}

static bool sync_object(struct rota *rota, object_row row)
{
    task_row own
        = OBJECT(rota, row)->producer ? OBJECT(rota, row)->producer : OBJECT(rota, row)->runner;
    if (own && is_queued(rota, own) && !sync(rota, own)) return false;
    for (uint32_t use = OBJECT(rota, row)->uses; use; use = rota->use[use].next)
        if (is_queued(rota, rota->use[use].task) && !sync(rota, rota->use[use].task)) return false;
    return true;
}

// Processes all changes since the last turn, and all phases that ended. False: out of memory.
static bool catch_up(struct rota *rota)
{
    while (rota->fresh_first) {
        task_row row = rota->fresh_first;
        if (!reserve_offers(rota, row)) return false;
        leave_fresh(rota, row);
        sync(rota, row);
    }
    while (rota->changed_objects) {
        object_row row = rota->changed_objects;
        if (!sync_object(rota, row)) return false;
        pull_object_seen(rota, row);
        object_drop_unused_artifact(rota, row);
    }
    while (rota->phases.count && rota->phases.entries[0].due <= rota->now) {
        extra_row extra = (uint32_t)rota->phases.entries[0].tag;
        if (!sync(rota, EXTRA(rota, extra)->task)) return false;
    }
    return true;
}

// ---- Serving workers that ask ---------------------------------------------------------------

static bool may_take(const struct rota *rota, const struct worker *worker, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct profile *profile = PROFILE(rota, rota->task[row].profile);
    if (worker->asks == ROTA_ASK_ALWAYS) return place_has_room(worker, profile);
    return place_fits(worker, profile) && !worker->paused
           && (!worker->slots || worker->tasks < worker->slots);
}

static task_row first_for(const struct rota *rota, const struct worker *worker, offer_row at)
{
    while (at && !may_take(rota, worker, OFFER(rota, at)->task)) at = OFFER(rota, at)->next;
    return at ? OFFER(rota, at)->task : 0;
}

static void queues_of(const struct rota *rota, const struct worker *worker, offer_row queues[3])
{
    queues[0] = worker->queue_first[NEAR];
    queues[1] = worker->queue_first[INPUT];
    queues[2] = rota->global_first;
}

// The task of highest rank that could ever run on the worker. If it is wide and there is no room
// for it yet, no other task gets the free room: narrow tasks of lower rank would block it forever.
static task_row choose_by_rank(const struct rota *rota, const struct worker *worker)
{
    task_row best = 0;
    offer_row queues[3];
    queues_of(rota, worker, queues);
    for (uint32_t i = 0; i < 3; i++) {
        offer_row at = queues[i];
        while (at && !place_fits(worker, PROFILE(rota, rota->task[OFFER(rota, at)->task].profile)))
            at = OFFER(rota, at)->next;
        task_row row = at ? OFFER(rota, at)->task : 0;
        if (row && (!best || rota->task[row].rank > rota->task[best].rank)) best = row;
    }
    return best && may_take(rota, worker, best) ? best : 0;
}

// A random one of the worker's queues that have a task for it, and the oldest task of that queue.
// Or the task of highest rank.
static task_row choose(struct rota *rota, const struct worker *worker)
{
    if (rota->config.pull_by_rank) return choose_by_rank(rota, worker);
    task_row found[3];
    uint32_t count = 0;
    offer_row queues[3];
    queues_of(rota, worker, queues);
    for (uint32_t i = 0; i < 3; i++) {
        task_row row = first_for(rota, worker, queues[i]);
        if (row) found[count++] = row;
    }
    if (count < 2) return count ? found[0] : 0;
    effect_core(rota);
    return found[random_below(&rota->random, count)];
}

static bool serve(struct rota *rota, worker_row at)
{
    assert(IS_ROW(rota->workers, at));
    struct worker *worker = WORKER(rota, at);
    if (!worker->id || !worker->asks || worker->silent_since != ROTA_NEVER) return false;
    task_row row = choose(rota, worker);
    if (!row) return false;
    if (!place_reserve(rota, row)) {
        rota->pull_more = true;
        return false;
    }
    worker = WORKER(rota, at);
    if (worker->asks != ROTA_ASK_ALWAYS) {
        worker->asks--;
        rota->asking -= worker->asks == 0;
        worker_mark(rota, at);
    }
    pull_remove(rota, row);
    attempt_assign(rota, row, at, 0);
    worker = WORKER(rota, at);
    bool beyond = worker->cores_used > worker->cores || worker->memory_used > worker->memory_mib;
    if (beyond) worker_settle_overbooked(rota, at);
    graph_settle(rota);
    return true;
}

// Every worker that asks gets one task in turn, in order of joining, until none is left.
void pull_turn(struct rota *rota)
{
    rota->pull_more = false;
    bool served = catch_up(rota) && rota->asking > 0;
    while (served) {
        served = false;
        for (worker_row at = 1; at < rota->workers.count; at++) served = serve(rota, at) || served;
        if (served && !catch_up(rota)) return;
    }
}
