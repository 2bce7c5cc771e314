// replica_surplus.c - drops copies: all of an object that is not needed, all but one of a kept one.
//
// A copy may be lost without notice: a file was removed, a disk was wiped. So a copy is never
// dropped because another worker once reported one. The worker whose copy stays is asked to verify
// it; only when it confirms are the others dropped.
#include "core/core.h"

static void drop(struct rota *rota, replica_row row)
{
    assert(IS_ROW(rota->replicas, row));
    const struct replica *replica = REPLICA(rota, row);
    if (!WORKER(rota, replica->worker)->lost) {
        struct rota_action *action = effect_action(rota, ROTA_ACTION_DROP);
        action->drop.object = OBJECT(rota, replica->object)->id;
        action->drop.worker.number = WORKER(rota, replica->worker)->id;
    }
    replica_remove(rota, row);
}

void replica_surplus_drop_all(struct rota *rota, object_row row)
{
    while (OBJECT(rota, row)->replicas) drop(rota, OBJECT(rota, row)->replicas);
}

void replica_surplus_drop_others(struct rota *rota, object_row row, worker_row stays)
{
    replica_row next;
    for (replica_row at = OBJECT(rota, row)->replicas; at; at = next) {
        next = REPLICA(rota, at)->next_of_object;
        if (REPLICA(rota, at)->worker != stays) drop(rota, at);
    }
}

static bool is_safe(const struct rota *rota, const struct replica *replica)
{
    bool silent = WORKER(rota, replica->worker)->silent_since != ROTA_NEVER;
    return replica->flags & REPLICA_LOCATED && !silent;
}

// The copy that stays does not depend on the order of reports: two workers that are each told that
// the other one keeps it would both drop theirs.
static replica_row staying(const struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    replica_row first = 0;
    for (replica_row at = OBJECT(rota, row)->replicas; at; at = REPLICA(rota, at)->next_of_object) {
        const struct replica *replica = REPLICA(rota, at);
        if (!is_safe(rota, replica)) continue;
        if (replica->flags & REPLICA_PRIMARY) return at;
        if (!first) first = at;
    }
    return first;
}

static bool may_go(const struct replica *replica)
{
    return !(replica->flags & REPLICA_PRIMARY) && !replica->users;
}

void replica_surplus_ask(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    replica_row stays = staying(rota, row), at = OBJECT(rota, row)->replicas;
    while (at && (at == stays || !may_go(REPLICA(rota, at))))
        at = REPLICA(rota, at)->next_of_object;
    if (!stays || !at) return;
    struct rota_action *action = effect_action(rota, ROTA_ACTION_SHOW);
    action->show.object = OBJECT(rota, row)->id;
    action->show.worker.number = WORKER(rota, REPLICA(rota, stays)->worker)->id;
}

void replica_surplus_drop(struct rota *rota, object_row row, worker_row worker)
{
    assert(IS_ROW(rota->objects, row));
    replica_row stays = staying(rota, row), next;
    if (!stays || REPLICA(rota, stays)->worker != worker) {
        replica_surplus_ask(rota, row);
        return;
    }
    for (replica_row at = OBJECT(rota, row)->replicas; at; at = next) {
        next = REPLICA(rota, at)->next_of_object;
        if (at != stays && may_go(REPLICA(rota, at))) drop(rota, at);
    }
}
