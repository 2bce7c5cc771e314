// object.c - objects: whether they are available, which task makes them, which tasks need them.
//
// For its consumers an object is a dependency: met while it is present, dead when its producer
// cannot make it without a retry. `view` holds what they were last told; object_refresh() compares
// it with the current state and tells them about a change.
#include "base/planted.h"
#include "core/core.h"

static uint64_t hash_of(rota_object_id id)
{
    return hash_mix(hash_mix(1, id.high), id.low);
}

object_row object_find(const struct rota *rota, rota_object_id id)
{
    object_row row = map_find(&rota->object_by_id, hash_of(id));
    while (row && (OBJECT(rota, row)->id.high != id.high || OBJECT(rota, row)->id.low != id.low))
        row = OBJECT(rota, row)->same;
    return row;
}

bool object_reserve(struct rota *rota, uint32_t more)
{
    return pool_reserve(&rota->memory, &rota->objects, more)
           && map_reserve(&rota->memory, &rota->object_by_id, more);
}

object_row object_add(struct rota *rota, rota_object_id id)
{
    assert(!object_find(rota, id));
    object_row row = pool_take(&rota->objects);
    OBJECT(rota, row)->id = id;
    OBJECT(rota, row)->same = map_find(&rota->object_by_id, hash_of(id));
    map_put(&rota->object_by_id, hash_of(id), row);
    return row;
}

void object_forget(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    uint64_t hash = hash_of(object->id);
    if (object->flags & OBJECT_CHANGED) pull_object_seen(rota, row);
    planned_object_gone(rota, row);
    object_row first = map_find(&rota->object_by_id, hash);
    if (first != row) {
        while (OBJECT(rota, first)->same != row) first = OBJECT(rota, first)->same;
        OBJECT(rota, first)->same = object->same;
    } else if (object->same) {
        map_put(&rota->object_by_id, hash, object->same);
    } else {
        map_remove(&rota->object_by_id, hash);
    }
    effect_forget_marks(rota, ROTA_RECORD_OBJECT, row);
    pool_give(&rota->objects, row);
}

// An artifact is kept while a task names it or a worker holds it.
void object_drop_unused_artifact(struct rota *rota, object_row row)
{
    const struct object *object = OBJECT(rota, row);
    if (object->job || object->named || object->replicas) return;
    object_forget(rota, row);
}

void object_mark(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    if (!object->job || object->flags & OBJECT_MARKED) return;
    object->flags |= OBJECT_MARKED;
    effect_mark(rota, ROTA_RECORD_OBJECT, row);
}

// The worker of a finished producer holds the rest of a stream until all readers have read it.
static bool stream_is_kept(const struct rota *rota, const struct object *object)
{
    assert(object->flags & ROTA_OBJECT_STREAM);
    for (replica_row at = object->replicas; at; at = REPLICA(rota, at)->next_of_object)
        if (REPLICA(rota, at)->flags & REPLICA_KEPT
            && !WORKER(rota, REPLICA(rota, at)->worker)->lost)
            return true;
    return false;
}

bool object_is_present(const struct rota *rota, const struct object *object)
{
    bool stream = object->flags & ROTA_OBJECT_STREAM;
    if (object->flags & OBJECT_REMOVED) return false;
    if (stream && rota->task[object->producer].state == ROTA_TASK_RUNNING) return true;
    if (stream) return object->flags & OBJECT_SERVED || stream_is_kept(rota, object);
    return object->flags & OBJECT_FINISHED
           && (object->flags & OBJECT_SERVED || object->located > 0);
}

uint32_t object_view(const struct rota *rota, const struct object *object)
{
    const struct task *producer = &rota->task[object->producer];
    // A worker may report an output before its task is cancelled. After the cancel the output no
    // longer counts, because the task cannot succeed any more.
    bool cancelled = (producer->flags & (TASK_STOPPING | TASK_DISCARDED)) == TASK_STOPPING;
    bool in_vain = object->flags & OBJECT_EARLY
                   && (producer->state == ROTA_TASK_FAILED || producer->state == ROTA_TASK_ABORTED
                       || cancelled);
    if (object_is_present(rota, object) && !in_vain) return NEED_MET;
    if (!object->producer) return 0;
    // A producer that cannot make a lost object again still counts as succeeded, but not to its
    // readers.
    bool doomed = producer->flags & TASK_AGAIN && producer->state == ROTA_TASK_BLOCKED;
    if (doomed && !PLANTED(REMAKE_WAITS))
        return producer->flags & TASK_UNFAILED ? NEED_DEAD : NEED_DEAD | NEED_REAL;
    return graph_view(producer) & (NEED_DEAD | NEED_REAL);
}

// A lost object is made again only for a consumer that is about to run or a client that waits for
// it.
bool object_is_wanted(const struct rota *rota, const struct object *object)
{
    if (object->reads) return true;
    for (uint32_t use = object->uses; use; use = rota->use[use].next) {
        uint8_t state = rota->task[rota->use[use].task].state;
        if (state >= ROTA_TASK_QUEUED && state < ROTA_TASK_ASSIGNED) return true;
    }
    return false;
}

static bool must_be_made_again(const struct rota *rota, const struct object *object)
{
    assert(object->producer);
    bool existed = object->flags & (OBJECT_FINISHED | OBJECT_REMOVED | ROTA_OBJECT_STREAM);
    bool runs = rota->task[object->producer].state == ROTA_TASK_RUNNING;
    if (object->flags & ROTA_OBJECT_STREAM && runs) return false;  // only after the reader ended
    return existed && !object_is_present(rota, object) && object_is_wanted(rota, object)
           && JOB(rota, object->job)->state < ROTA_JOB_FAILED;
}

// The report of its next producer will count.
static void expect_again(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    OBJECT(rota, row)->content = (struct rota_content){.kind = 0};
    OBJECT(rota, row)->flags
        &= ~(uint32_t)(OBJECT_FINISHED | OBJECT_EARLY | OBJECT_REMOVED | OBJECT_SERVED);
    object_mark(rota, row);
}

// Called for a producer that succeeded, because one of its objects may be lost.
void object_look_producer(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    bool again = false;
    if (streams_are_read(rota, row)) return;
    for (uint32_t i = 0; i < extra->output_count; i++) {
        object_row at = rota->use[extra->use_first + extra->input_count + i].object;
        if (!must_be_made_again(rota, OBJECT(rota, at))) continue;
        expect_again(rota, at);
        again = true;
    }
    if (again) outcome_again(rota, row);
}

// Other tasks see a result that is made again as present, even while its producer is blocked; its
// readers do not.
static bool is_hopeless(const struct rota *rota, const struct object *object)
{
    bool blocked = rota->task[object->producer].state == ROTA_TASK_BLOCKED;
    return object->view & NEED_DEAD || (object->producer && blocked && !(object->view & NEED_MET));
}

// The object is missing. A producer that has succeeded may have to make it again.
static void look_for_maker(struct rota *rota, object_row row)
{
    assert(OBJECT(rota, row)->producer);
    const struct object *object = OBJECT(rota, row);
    const struct task *producer = &rota->task[object->producer];
    if (producer->state == ROTA_TASK_SUCCEEDED)
        graph_look_at(rota, object->producer);
    else if (producer->flags & TASK_AGAIN && must_be_made_again(rota, object))
        expect_again(rota, row);
}

void object_refresh(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    if (!object->job) return;
    uint32_t before = object->view, after = object_view(rota, object);
    object->view = after;
    for (uint32_t use = object->uses; use && before != after; use = rota->use[use].next) {
        graph_need(rota, rota->use[use].task, before, after);
    }
    // Before its reads end, because even a read that fails requests that the object be made again.
    if (object->producer && !(after & NEED_MET)) look_for_maker(rota, row);
    bool decided = after & NEED_MET || is_hopeless(rota, object);
    if (object->reads && decided) wait_object_over(rota, row);
}

void object_producer_changed(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++)
        object_refresh(rota, rota->use[extra->use_first + extra->input_count + i].object);
}

bool object_holds_inputs(enum rota_task_state state)
{
    return state != ROTA_TASK_NONE && state != ROTA_TASK_SUCCEEDED && state != ROTA_TASK_ABORTED;
}

void object_inputs_held(struct rota *rota, task_row row, int change)
{
    assert(IS_TASK(rota, row));
    if (change == 0) return;
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        struct object *object = OBJECT(rota, at);
        if (!object->job) continue;
        object->need += (uint32_t)change;
        if (change > 0) continue;
        object->flags |= OBJECT_USED;
        object_mark(rota, at);
        object_purge(rota, at);
    }
}

// A consumer keeps its copy while it runs, so an object in use is never removed, nor is one that
// its producer may be writing.
static bool is_idle(const struct rota *rota, const struct object *object)
{
    const struct task *producer = &rota->task[object->producer];
    bool making = object->producer && producer->state >= ROTA_TASK_STAGED
                  && producer->state <= ROTA_TASK_RUNNING;
    bool flowed = object->flags & ROTA_OBJECT_STREAM && object_is_present(rota, object);
    bool made = object->flags & OBJECT_FINISHED || flowed;
    return object->job && !object->need && made && !making && !(object->flags & OBJECT_REMOVED);
}

void object_shown(struct rota *rota, object_row row, worker_row worker)
{
    const struct object *object = OBJECT(rota, row);
    if (object->flags & ROTA_OBJECT_KEEP && is_idle(rota, object))
        replica_surplus_drop(rota, row, worker);
}

void object_purge(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    if (!is_idle(rota, object)) return;
    if (object->flags & ROTA_OBJECT_KEEP) {
        replica_surplus_ask(rota, row);
        return;
    }
    if (!object->producer && !(object->flags & OBJECT_USED)) return;
    replica_surplus_drop_all(rota, row);
    OBJECT(rota, row)->flags |= OBJECT_REMOVED;
    OBJECT(rota, row)->flags &= ~(uint32_t)(OBJECT_FINISHED | OBJECT_EARLY | OBJECT_SERVED);
    trace_say(rota, "object %llx is no longer needed -> removed",
              (unsigned long long)OBJECT(rota, row)->id.low);
    object_mark(rota, row);
    wait_object_over(rota, row);
    object_refresh(rota, row);
}

void object_finish(struct rota *rota, object_row row, worker_row worker)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    bool stream = object->flags & ROTA_OBJECT_STREAM;
    if (stream && object->flags & OBJECT_REMOVED) return;  // it was given up while it was written
    object->flags &= ~(uint32_t)(OBJECT_REMOVED | OBJECT_EARLY);
    if (!stream) object->flags |= OBJECT_FINISHED;
    if (worker) {
        replica_row replica = replica_find(rota, row, worker);
        if (!replica) replica = replica_add(rota, row, worker);
        REPLICA(rota, replica)->flags |= REPLICA_PRIMARY | (stream ? REPLICA_KEPT : 0);
        replica_mark(rota, replica);
        if (!stream) replica_locate(rota, replica);
    } else {
        object->flags |= OBJECT_SERVED;
    }
    object_mark(rota, row);
    if (stream) return;  // consumers are told when its producer has ended
    planned_object_made(rota, row);
    wait_object_over(rota, row);
    if (worker && object->flags & ROTA_OBJECT_KEEP)
        object_shown(rota, row, worker);
    else
        object_purge(rota, row);
    object_refresh(rota, row);
}
