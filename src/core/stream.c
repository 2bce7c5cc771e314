// stream.c - streams: each is read once, from its beginning, by an attempt that gets to its end.
//
// Nobody keeps what has flowed. So a stream whose reader gave up is REMOVED, also while it is
// still written, and is there again when its producer has begun once more. It is not REMOVED when
// its producer has failed: what was not made cannot be gone.
#include "base/planted.h"
#include "core/core.h"

static bool is_stream(const struct object *object)
{
    return object->job && object->flags & ROTA_OBJECT_STREAM;
}

static object_row input_at(const struct rota *rota, const struct extra *extra, uint32_t number)
{
    return rota->use[extra->use_first + number].object;
}

static object_row output_at(const struct rota *rota, const struct extra *extra, uint32_t number)
{
    return input_at(rota, extra, extra->input_count + number);
}

// Who failed may be retried, but nobody can wait for that with a command that writes.
static bool has_reader(enum rota_task_state state)
{
    return object_holds_inputs(state) && state != ROTA_TASK_FAILED;
}

static bool is_expected(const struct rota *rota, const struct object *object)
{
    for (uint32_t use = object->uses; use; use = rota->use[use].next)
        if (has_reader((enum rota_task_state)rota->task[rota->use[use].task].state))
            return true;
    return false;
}

// What an earlier attempt has left goes; the one that was handed out will write it.
static void leave_to_next(struct rota *rota, object_row row, worker_row worker)
{
    surplus_drop_others(rota, row, worker);
    replica_row replica = replica_find(rota, row, worker);
    REPLICA(rota, replica)->flags &= ~(uint32_t)REPLICA_KEPT;
    replica_mark(rota, replica);
}

// Whoever writes it is told that nobody reads on.
static void break_off(struct rota *rota, object_row row)
{
    const struct task *producer = &rota->task[OBJECT(rota, row)->producer];
    trace_say(rota, "stream %llx is read no further -> it is gone",
              (unsigned long long)OBJECT(rota, row)->id.low);
    OBJECT(rota, row)->flags &= ~(uint32_t)OBJECT_SERVED;
    bool soon = producer->state == ROTA_TASK_ASSIGNED && !WORKER(rota, producer->worker)->lost;
    if (soon) {
        leave_to_next(rota, row, producer->worker);
    } else {
        surplus_drop_all(rota, row);
        OBJECT(rota, row)->flags |= OBJECT_REMOVED;
    }
    object_mark(rota, row);
    object_refresh(rota, row);
}

// What goes with a lost worker, or ends in this moment, needs nobody's word.
static bool is_written(const struct rota *rota, const struct object *object)
{
    const struct task *producer = &rota->task[object->producer];
    if (producer->state != ROTA_TASK_RUNNING || producer->flags & TASK_DECIDED) return false;
    return !producer->worker || !WORKER(rota, producer->worker)->lost;
}

static void look(struct rota *rota, object_row row)
{
    const struct object *object = OBJECT(rota, row);
    bool flows = is_stream(object) && is_written(rota, object)
                 && !(object->flags & OBJECT_REMOVED);
    if (flows && !is_expected(rota, object)) break_off(rota, row);
}

static bool is_out(enum rota_task_state state)
{
    return state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING;
}

// Who reads the rest of one would lose it if its producer began again.
bool streams_are_read(const struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        const struct object *object = OBJECT(rota, output_at(rota, extra, i));
        for (uint32_t use = is_stream(object) ? object->uses : 0; use; use = rota->use[use].next)
            if (is_out((enum rota_task_state)rota->task[rota->use[use].task].state)) return true;
    }
    return false;
}

void streams_reader_moved(struct rota *rota, task_row row, enum rota_task_state from)
{
    const struct extra *extra = task_extra(rota, row);
    enum rota_task_state to = (enum rota_task_state)rota->task[row].state;
    bool left = has_reader(from) && !has_reader(to);
    bool ended = is_out(from) && !is_out(to);
    for (uint32_t i = 0; (left || ended) && i < extra->input_count; i++) {
        object_row at = input_at(rota, extra, i);
        if (!is_stream(OBJECT(rota, at))) continue;
        if (left) look(rota, at);
        task_row producer = OBJECT(rota, at)->producer;
        if (rota->task[producer].state == ROTA_TASK_SUCCEEDED) graph_look_at(rota, producer);
    }
}

// A new attempt writes them from the beginning.
void streams_renew(struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        object_row at = output_at(rota, extra, i);
        if (!is_stream(OBJECT(rota, at)) || !(OBJECT(rota, at)->flags & OBJECT_REMOVED)) continue;
        OBJECT(rota, at)->flags &= ~(uint32_t)OBJECT_REMOVED;
        object_mark(rota, at);
    }
}

// Nobody may be there to read, as when it runs again for another of its results.
void streams_begun(struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    streams_renew(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) look(rota, output_at(rota, extra, i));
}

void streams_unread(struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    if (PLANTED(STREAM_KEPT)) return;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = input_at(rota, extra, i);
        const struct object *object = OBJECT(rota, at);
        uint8_t state = rota->task[object->producer].state;
        if (!is_stream(object) || !object_is_present(rota, object)) continue;
        if (state != ROTA_TASK_RUNNING || is_written(rota, object)) break_off(rota, at);
    }
}

static void drop_left(struct rota *rota, object_row row)
{
    const struct object *object = OBJECT(rota, row);
    uint32_t left = object->flags & (OBJECT_REMOVED | OBJECT_SERVED);
    if (!is_stream(object) || !(left || object->replicas)) return;
    surplus_drop_all(rota, row);
    OBJECT(rota, row)->flags &= ~left;
    object_mark(rota, row);
}

// A writer has not succeeded. What its readers have got may be half of it, so they run again with
// it: all read what the next attempt writes, nobody what an earlier one has left.
void streams_failed(struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        const struct object *object = OBJECT(rota, output_at(rota, extra, i));
        for (uint32_t use = is_stream(object) ? object->uses : 0; use; use = rota->use[use].next)
            outcome_discard(rota, rota->use[use].task);
    }
    for (uint32_t i = 0; i < extra->output_count; i++)
        drop_left(rota, output_at(rota, extra, i));
}

// An attempt ended before it was done. It may have begun, although nobody has heard of that; the
// task is still in its state, and is not to be called back for what it loses here. One that was
// discarded gave up its streams then; they may have been written anew since.
void streams_give_up(struct rota *rota, task_row row)
{
    uint16_t decided = rota->task[row].flags & TASK_DECIDED;
    if (rota->task[row].flags & TASK_DISCARDED) return;
    rota->task[row].flags |= TASK_DECIDED;
    streams_unread(rota, row);
    rota->task[row].flags = (uint16_t)((rota->task[row].flags & ~TASK_DECIDED) | decided);
}

static bool is_discarded(const struct rota *rota, const struct object *object)
{
    for (uint32_t use = object->uses; use; use = rota->use[use].next)
        if (rota->task[rota->use[use].task].flags & TASK_DISCARDED) return true;
    return false;
}

// Its writer may have failed for want of a reader, who will be back.
bool streams_lost_reader(const struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        const struct object *object = OBJECT(rota, output_at(rota, extra, i));
        if (!is_stream(object) || !(object->flags & OBJECT_REMOVED)) continue;
        if (object_is_wanted(rota, object) || is_discarded(rota, object)) return true;
    }
    return false;
}
