// on_time.c - the end of a turn: expired leases, then placement by pull and by plan.
#include "core/core.h"

static enum rota_error end_leases(struct rota *rota)
{
    uint64_t more = 0;
    if (!rota->leases.count || rota->leases.entries[0].due > rota->now) return ROTA_OK;
    for (uint32_t i = 0; i < rota->leases.count; i++)
        if (rota->leases.entries[i].due <= rota->now)
            more += 1 + 8 * (uint64_t)WORKER(rota, (uint32_t)rota->leases.entries[i].tag)->tasks;
    if (!effect_reserve(rota, more))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the end of a lease");
    workers_lose(rota);  // consequences are settled after all workers are removed
    if (rota->plan_active) plan_news(rota, 1);
    return ROTA_OK;
}

enum rota_error on_time(struct rota *rota, const struct rota_event *event)
{
    if (event->time.plan_took < 0)
        return refuse(rota, ROTA_BAD_EVENT, "the duration of a plan must not be negative");
    bool due = rota->backoffs.count && rota->backoffs.entries[0].due <= rota->now;
    if (due && !effect_reserve(rota, 0))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the end of a backoff");
    enum rota_error error = end_leases(rota);
    if (error) return error;
    if (due) backoffs_end(rota);
    if (event->time.plan_took > 0 && rota->planned) {
        rota->plan_end = rota->plan_start + event->time.plan_took;
        effect_core(rota);
    }
    graph_settle(rota);
    pull_turn(rota);
    planned_turn(rota);
    plan_turn(rota);
    pull_turn(rota);  // a plan that recalled attempts has made room
    return ROTA_OK;
}
