// replica.c - the index of locations: which worker holds, makes or expects a copy of an object.
#include "core/core.h"

replica_row replica_find(const struct rota *rota, object_row object, worker_row worker)
{
    replica_row row = OBJECT(rota, object)->replicas;
    while (row && REPLICA(rota, row)->worker != worker) row = REPLICA(rota, row)->next_of_object;
    return row;
}

void replica_mark(struct rota *rota, replica_row row)
{
    assert(IS_ROW(rota->replicas, row));
    if (REPLICA(rota, row)->flags & REPLICA_MARKED) return;
    REPLICA(rota, row)->flags |= REPLICA_MARKED;
    effect_mark(rota, ROTA_RECORD_REPLICA, row);
}

replica_row replica_add(struct rota *rota, object_row object, worker_row worker)
{
    assert(!replica_find(rota, object, worker));
    replica_row row = pool_take(&rota->replicas);
    struct replica *replica = REPLICA(rota, row);
    replica->object = object;
    replica->worker = worker;
    replica_row *link = &OBJECT(rota, object)->replicas;
    while (*link && REPLICA(rota, *link)->worker < worker)
        link = &REPLICA(rota, *link)->next_of_object;
    replica->next_of_object = *link;
    *link = row;
    replica->next_of_worker = WORKER(rota, worker)->replicas;
    if (replica->next_of_worker) REPLICA(rota, replica->next_of_worker)->previous_of_worker = row;
    WORKER(rota, worker)->replicas = row;
    replica_mark(rota, row);
    return row;
}

void replica_locate(struct rota *rota, replica_row row)
{
    assert(IS_ROW(rota->replicas, row));
    struct replica *replica = REPLICA(rota, row);
    replica_mark(rota, row);
    if (replica->flags & REPLICA_LOCATED) return;
    replica->flags |= REPLICA_LOCATED;
    OBJECT(rota, replica->object)->located++;
    pull_news(rota, replica->object);
    assert(REPLICA(rota, row)->flags & REPLICA_LOCATED);
}

static void unlink_from_object(struct rota *rota, replica_row row)
{
    assert(REPLICA(rota, row)->object);
    struct object *object = OBJECT(rota, REPLICA(rota, row)->object);
    replica_row *at = &object->replicas;
    while (*at != row) at = &REPLICA(rota, *at)->next_of_object;
    *at = REPLICA(rota, row)->next_of_object;
}

static void unlink_from_worker(struct rota *rota, replica_row row)
{
    assert(REPLICA(rota, row)->worker);
    struct replica *replica = REPLICA(rota, row);
    if (replica->next_of_worker)
        REPLICA(rota, replica->next_of_worker)->previous_of_worker = replica->previous_of_worker;
    if (replica->previous_of_worker)
        REPLICA(rota, replica->previous_of_worker)->next_of_worker = replica->next_of_worker;
    else
        WORKER(rota, replica->worker)->replicas = replica->next_of_worker;
}

void replica_remove(struct rota *rota, replica_row row)
{
    struct replica *replica = REPLICA(rota, row);
    struct rota_record tomb = {.kind = ROTA_RECORD_REPLICA, .gone = true};
    tomb.replica.object = OBJECT(rota, replica->object)->id;
    tomb.replica.worker.number = WORKER(rota, replica->worker)->id;
    effect_tomb(rota, tomb);
    if (replica->flags & REPLICA_MARKED) effect_forget_marks(rota, ROTA_RECORD_REPLICA, row);
    if (replica->flags & REPLICA_LOCATED) {
        OBJECT(rota, replica->object)->located--;
        pull_news(rota, replica->object);
    }
    unlink_from_object(rota, row);
    unlink_from_worker(rota, row);
    pool_give(&rota->replicas, row);
}

// Attempts that run there keep their use of the copy.
void replica_lose(struct rota *rota, replica_row row)
{
    assert(IS_ROW(rota->replicas, row));
    object_row object = REPLICA(rota, row)->object;
    worker_row worker = REPLICA(rota, row)->worker;
    uint32_t users = REPLICA(rota, row)->users;
    replica_remove(rota, row);
    if (users && OBJECT(rota, object)->job) {
        row = replica_add(rota, object, worker);
        REPLICA(rota, row)->users = users;
    }
    object_shown(rota, object, 0);
    object_refresh(rota, object);
    object_drop_unused_artifact(rota, object);
}

void replica_use(struct rota *rota, object_row object, worker_row worker)
{
    assert(IS_ROW(rota->workers, worker));
    replica_row row = replica_find(rota, object, worker);
    if (!row) row = replica_add(rota, object, worker);
    REPLICA(rota, row)->users++;
}

// A copy that never arrived is removed with its last user.
void replica_unuse(struct rota *rota, object_row object, worker_row worker)
{
    assert(IS_ROW(rota->workers, worker));
    replica_row row = replica_find(rota, object, worker);
    if (!row) return;
    struct replica *replica = REPLICA(rota, row);
    if (replica->users > 0) replica->users--;
    if (replica->users == 0 && !(replica->flags & (REPLICA_LOCATED | REPLICA_PRIMARY)))
        replica_remove(rota, row);
}

static bool is_source(const struct replica *replica, worker_row except)
{
    return replica->flags & REPLICA_LOCATED && replica->worker != except;
}

worker_row replica_source(const struct rota *rota, object_row object, worker_row except,
                          uint64_t reader)
{
    uint32_t count = 0;
    replica_row first = OBJECT(rota, object)->replicas;
    for (replica_row row = first; row; row = REPLICA(rota, row)->next_of_object)
        count += is_source(REPLICA(rota, row), except);
    if (!count) return 0;
    uint64_t skip = (reader + OBJECT(rota, object)->id.low) % count;
    replica_row row = first;
    while (!is_source(REPLICA(rota, row), except) || skip--)
        row = REPLICA(rota, row)->next_of_object;
    return REPLICA(rota, row)->worker;
}
