// ask_data.c - questions about lanes, objects and workers.
#include "core/core.h"

bool rota_lane_is_paused(const struct rota *rota, uint32_t lane)
{
    lane_row row = map_find(&rota->lane_by_number, lane);
    return row && LANE(rota, row)->flags & ROTA_LANE_PAUSED;
}

bool rota_lane_counter(const struct rota *rota, uint32_t lane, int32_t *counter)
{
    lane_row row = map_find(&rota->lane_by_number, lane);
    *counter = row ? LANE(rota, row)->counter : 0;
    return row != 0;
}

uint32_t rota_lane_groups(const struct rota *rota, uint32_t lane, uint32_t *out, uint32_t max)
{
    assert(out || !max);
    lane_row at = map_find(&rota->lane_by_number, lane);
    uint32_t count = 0;
    for (group_row row = 1; at && row < rota->groups.count; row++) {
        const struct group *group = GROUP(rota, row);
        if (group->lane != at || !group->uses || !group->holder) continue;
        if (count < max) out[count] = group->number;
        count++;
    }
    return count;
}

enum rota_object_state rota_object_state(const struct rota *rota, rota_object_id id)
{
    object_row row = object_find(rota, id);
    if (!row) return ROTA_OBJECT_NONE;
    const struct object *object = OBJECT(rota, row);
    if (!object->job) return object->located ? ROTA_OBJECT_FINISHED : ROTA_OBJECT_UNFINISHED;
    if (object->flags & OBJECT_REMOVED) return ROTA_OBJECT_REMOVED;
    return object->flags & OBJECT_FINISHED ? ROTA_OBJECT_FINISHED : ROTA_OBJECT_UNFINISHED;
}

uint64_t rota_object_bytes(const struct rota *rota, rota_object_id id)
{
    object_row row = object_find(rota, id);
    return row ? OBJECT(rota, row)->bytes : 0;
}

bool rota_object_content(const struct rota *rota, rota_object_id id, struct rota_content *content)
{
    object_row row = object_find(rota, id);
    if (!row || !OBJECT(rota, row)->content.kind) return false;
    *content = OBJECT(rota, row)->content;
    return true;
}

static bool in_set(const struct replica *replica, enum rota_object_set set)
{
    assert(replica->object);
    switch (set) {
    case ROTA_SET_SCHEDULED: return replica->flags & REPLICA_PRIMARY || replica->users > 0;
    case ROTA_SET_LOCATED: return replica->flags & REPLICA_LOCATED;
    default: return true;
    }
}

uint32_t rota_object_workers(const struct rota *rota, rota_object_id id, enum rota_object_set set,
                             rota_worker_id *out, uint32_t max)
{
    assert(out || !max);
    object_row object = object_find(rota, id);
    uint32_t count = 0;
    if (!object) return 0;
    for (replica_row row = OBJECT(rota, object)->replicas; row;
         row = REPLICA(rota, row)->next_of_object) {
        if (!in_set(REPLICA(rota, row), set)) continue;
        if (count < max) out[count].number = WORKER(rota, REPLICA(rota, row)->worker)->id;
        count++;
    }
    return count;
}

rota_worker_id rota_locate(const struct rota *rota, rota_object_id id)
{
    object_row object = object_find(rota, id);
    worker_row row = object ? replica_source(rota, object, 0, 0) : 0;
    return (rota_worker_id){row ? WORKER(rota, row)->id : 0};
}

bool rota_worker_look(const struct rota *rota, rota_worker_id id, struct rota_worker_view *view)
{
    worker_row row = worker_find(rota, id);
    *view = (struct rota_worker_view){0};
    if (!row) return false;
    const struct worker *worker = WORKER(rota, row);
    view->cores = worker->cores;
    view->memory_mib = worker->memory_mib;
    if (worker->cores_used < worker->cores)
        view->cores_free = (uint32_t)(worker->cores - worker->cores_used);
    if (worker->memory_used < worker->memory_mib)
        view->memory_mib_free = (uint32_t)(worker->memory_mib - worker->memory_used);
    view->tasks = worker->tasks;
    view->asks = worker->asks;
    view->silent = worker->silent_since != ROTA_NEVER;
    view->paused = worker->paused & PAUSE_ORDERED;
    view->leaves = worker->paused & PAUSE_LEAVING;
    return true;
}

uint64_t rota_plans(const struct rota *rota)
{
    return rota->plans;
}
