// on_worker.c - workers join, report, become silent, ask for tasks, and leave.
#include "base/planted.h"
#include "core/core.h"

static enum rota_error find_worker(struct rota *rota, rota_worker_id id, worker_row *row)
{
    *row = worker_find(rota, id);
    return *row ? ROTA_OK : refuse(rota, ROTA_NOT_FOUND, "no such worker");
}

static enum rota_error no_memory(struct rota *rota)
{
    return refuse(rota, ROTA_NO_MEMORY, "out of memory for the worker");
}

static void hear(struct rota *rota, worker_row row)
{
    assert(IS_ROW(rota->workers, row));
    WORKER(rota, row)->silent_since = ROTA_NEVER;
    WORKER(rota, row)->lost = false;
    heap_remove(&rota->leases, row);
    worker_mark(rota, row);
    room_update(rota, row);
    if (rota->plan_unplaced || rota->overbooked) plan_news(rota, 1);
}

enum rota_error on_worker_joined(struct rota *rota, const struct rota_event *event)
{
    worker_row row = worker_find(rota, event->worker.id);
    if (!event->worker.id.number) return refuse(rota, ROTA_BAD_EVENT, "a worker has no id");
    if (!row && pool_used(&rota->workers) >= rota->config.workers_max)
        return refuse(rota, ROTA_TOO_MANY, "too many workers: the limit is workers_max");
    if (!worker_reserve(rota) || !effect_cover(rota) || !effect_reserve(rota, 0))
        return no_memory(rota);
    if (!row) row = worker_add(rota, event->worker.id);
    struct worker *worker = WORKER(rota, row);
    worker->cores = event->worker.cores;
    worker->memory_mib = event->worker.memory_mib;
    worker->slots = event->worker.slots;
    worker->machine = event->worker.machine;
    worker->paused &= PAUSE_ORDERED;
    trace_say(rota, "worker %u joins with %u cores", worker->id, worker->cores);
    if (worker->tasks) worker_settle_overbooked(rota, row);
    hear(rota, row);
    return ROTA_OK;
}

enum rota_error on_worker_heard(struct rota *rota, const struct rota_event *event)
{
    worker_row row;
    enum rota_error error = find_worker(rota, event->worker.id, &row);
    if (error) return error;
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    hear(rota, row);
    return ROTA_OK;
}

enum rota_error on_worker_silent(struct rota *rota, const struct rota_event *event)
{
    worker_row row;
    enum rota_error error = find_worker(rota, event->worker.id, &row);
    if (error) return error;
    struct worker *worker = WORKER(rota, row);
    if (worker->silent_since != ROTA_NEVER)
        return refuse(rota, ROTA_NOT_NOW, "the worker is already silent");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    worker->silent_since = rota->now;
    rota_time lease = rota->config.lease / (PLANTED(LEASE_SHORT) ? 2 : 1);
    heap_set(&rota->leases, row, rota->now > ROTA_NEVER - lease ? ROTA_NEVER : rota->now + lease);
    worker_mark(rota, row);
    room_update(rota, row);
    trace_say(rota, "worker %u is silent -> gets no new tasks", worker->id);
    return ROTA_OK;
}

enum rota_error on_worker_left(struct rota *rota, const struct rota_event *event)
{
    worker_row row;
    enum rota_error error = find_worker(rota, event->worker.id, &row);
    if (error) return error;
    if (!effect_reserve(rota, 8 * (uint64_t)WORKER(rota, row)->tasks)) return no_memory(rota);
    worker_lose(rota, row);
    if (rota->plan_active) plan_news(rota, 1);
    return ROTA_OK;
}

enum rota_error on_worker_asks(struct rota *rota, const struct rota_event *event)
{
    worker_row row = worker_find(rota, event->asks.id);
    if (!event->asks.id.number || !event->asks.count)
        return refuse(rota, ROTA_BAD_EVENT, "a worker must ask for at least one task");
    if (!row && pool_used(&rota->workers) >= rota->config.workers_max)
        return refuse(rota, ROTA_TOO_MANY, "too many workers: the limit is workers_max");
    if (!worker_reserve(rota) || !effect_cover(rota) || !effect_reserve(rota, 0))
        return no_memory(rota);
    if (!row) row = worker_meet(rota, event->asks.id);
    struct worker *worker = WORKER(rota, row);
    rota->asking += worker->asks == 0;
    bool always = event->asks.count == ROTA_ASK_ALWAYS || worker->asks == ROTA_ASK_ALWAYS
                  || event->asks.count > ROTA_ASK_ALWAYS - 1 - worker->asks;
    worker->asks = always ? ROTA_ASK_ALWAYS : worker->asks + event->asks.count;
    worker_mark(rota, row);
    return ROTA_OK;
}
