// stream.c - streams: each is read once, from its beginning, by an attempt that reads to its end.
//
// Data that was read is not kept. So a stream whose reader gave up is REMOVED, even while it is
// still written, and becomes available again when its producer has started again. It is not REMOVED
// when its producer has failed, because then it was never made.
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
    assert(number < extra->output_count);
    return input_at(rota, extra, extra->input_count + number);
}

// A failed reader may be retried, but a command that writes cannot wait for that.
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

// Data of an earlier attempt is dropped; the assigned attempt will write it again.
static void leave_to_next(struct rota *rota, object_row row, worker_row worker)
{
    assert(is_stream(OBJECT(rota, row)));
    replica_surplus_drop_others(rota, row, worker);
    replica_row replica = replica_find(rota, row, worker);
    REPLICA(rota, replica)->flags &= ~(uint32_t)REPLICA_KEPT;
    replica_mark(rota, replica);
}

// The worker that writes it is told that no reader is left.
static void break_off(struct rota *rota, object_row row)
{
    assert(is_stream(OBJECT(rota, row)));
    const struct task *producer = &rota->task[OBJECT(rota, row)->producer];
    trace_say(rota, "stream %llx has no reader any more -> removed",
              (unsigned long long)OBJECT(rota, row)->id.low);
    OBJECT(rota, row)->flags &= ~(uint32_t)OBJECT_SERVED;
    bool soon = producer->state == ROTA_TASK_ASSIGNED && !WORKER(rota, producer->worker)->lost;
    if (soon) {
        leave_to_next(rota, row, producer->worker);
    } else {
        replica_surplus_drop_all(rota, row);
        OBJECT(rota, row)->flags |= OBJECT_REMOVED;
    }
    object_mark(rota, row);
    object_refresh(rota, row);
}

// A stream that is lost with its worker, or ends in this step, needs no order to stop.
static bool is_written(const struct rota *rota, const struct object *object)
{
    assert(is_stream(object));
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

// A task that reads the rest of a stream would lose it if the producer started again.
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
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        object_row at = output_at(rota, extra, i);
        if (!is_stream(OBJECT(rota, at)) || !(OBJECT(rota, at)->flags & OBJECT_REMOVED)) continue;
        OBJECT(rota, at)->flags &= ~(uint32_t)OBJECT_REMOVED;
        object_mark(rota, at);
    }
}

// There may be no reader, for example when the task runs again for another of its results.
void streams_begun(struct rota *rota, task_row row)
{
    const struct extra *extra = task_extra(rota, row);
    streams_renew(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) look(rota, output_at(rota, extra, i));
}

void streams_unread(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
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
    replica_surplus_drop_all(rota, row);
    OBJECT(rota, row)->flags &= ~left;
    object_mark(rota, row);
}

// A writer has not succeeded. Its readers may have received half of the data, so they run again
// with it: all read what the next attempt writes, none the rest of an earlier attempt.
void streams_failed(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        const struct object *object = OBJECT(rota, output_at(rota, extra, i));
        for (uint32_t use = is_stream(object) ? object->uses : 0; use; use = rota->use[use].next)
            outcome_discard(rota, rota->use[use].task);
    }
    for (uint32_t i = 0; i < extra->output_count; i++)
        drop_left(rota, output_at(rota, extra, i));
}

// An attempt ended without success. It may have started without a report; the task still has its
// state, and must not be recalled for what it loses here. A discarded attempt gave up its streams
// earlier; they may have been written again since.
void streams_give_up(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
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

// Its writer may have failed because it had no reader; the reader will return.
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
