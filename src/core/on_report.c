// on_report.c - reports of workers about tasks and objects.
#include "base/planted.h"
#include "core/core.h"

static enum rota_error no_memory(struct rota *rota)
{
    return refuse(rota, ROTA_NO_MEMORY, "out of memory for the report");
}

// A report counts only if it comes from the current worker and is about the current attempt.
static enum rota_error find_attempt(struct rota *rota, const struct rota_event *event,
                                    task_row *row)
{
    *row = attempt_find(rota, event->report.task);
    if (!*row) return refuse(rota, ROTA_NOT_FOUND, "no such task");
    const struct task *task = &rota->task[*row];
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    bool same = task->attempt == event->report.attempt || PLANTED(STALE_ATTEMPT);
    bool current = out && task->worker && same
                   && WORKER(rota, task->worker)->id == event->report.worker.number;
    if (current && map_find(&rota->run_as, *row)) {
        rota_task_id name = attempt_name(rota, *row);
        current = SAME_TASK(name, event->report.task);
    }
    return current ? ROTA_OK : refuse(rota, ROTA_STALE, "the attempt is not the current one");
}

static void plan_report(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (PROFILE(rota, rota->task[row].profile)->wants.policy == ROTA_POLICY_PLAN)
        plan_news(rota, 1);
}

enum rota_error on_task_started(struct rota *rota, const struct rota_event *event)
{
    task_row row;
    enum rota_error error = find_attempt(rota, event, &row);
    if (error) return error;
    struct task *task = &rota->task[row];
    if (task->state == ROTA_TASK_RUNNING)
        return refuse(rota, ROTA_STALE, "the task has already started");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    plan_report(rota, row);
    attempt_begun(rota, row);
    return ROTA_OK;
}

// Only a task that will be attempted again gets a backoff.
static void backoff_after(struct rota *rota, task_row row, rota_time rest)
{
    assert(rest >= 0);
    uint8_t state = rota->task[row].state;
    bool back = state >= ROTA_TASK_WAITING && state <= ROTA_TASK_OFFERED;
    rota_time until = rest < ROTA_NEVER - rota->now ? rota->now + rest : ROTA_NEVER - 1;
    if (back) backoff_begin(rota, row, until);
}

enum rota_error on_task_finished(struct rota *rota, const struct rota_event *event)
{
    task_row row;
    enum rota_error error = find_attempt(rota, event, &row);
    if (error) return error;
    enum rota_outcome outcome = event->report.outcome;
    if (outcome < ROTA_OUTCOME_OK || outcome > ROTA_OUTCOME_LOST)
        return refuse(rota, ROTA_BAD_EVENT, "a report must say how the attempt ended");
    if (event->report.rest < 0)
        return refuse(rota, ROTA_BAD_EVENT, "the backoff must not be negative");
    uint32_t copies = rota->task[row].extra ? shared_key_outputs(rota, row) + 1 : 0;
    if (!pool_reserve(&rota->memory, &rota->replicas, copies) || (copies && !effect_cover(rota))
        || !effect_reserve(rota, 2) || (event->report.rest > 0 && !backoff_reserve(rota)))
        return no_memory(rota);
    plan_report(rota, row);
    bool in_vain = outcome != ROTA_OUTCOME_OK || rota->task[row].flags & TASK_STOPPING
                   || event->report.missing.high || event->report.missing.low;
    content_note(rota, row, in_vain ? 0 : rota->task[row].worker, event->report.sizes,
                 event->report.size_count);
    bool missing = event->report.missing.high || event->report.missing.low;
    if (outcome == ROTA_OUTCOME_OK && missing) {
        trace_say(rota, "an output is missing -> the task failed");
        outcome = ROTA_OUTCOME_ERROR;
    }
    bool unstarted = event->report.unstarted && outcome == ROTA_OUTCOME_LOST;
    bool failed = outcome == ROTA_OUTCOME_EXIT || outcome == ROTA_OUTCOME_ERROR;
    bool unread = failed && rota->task[row].extra && streams_lost_reader(rota, row);
    bool discarded = rota->task[row].flags & TASK_DISCARDED;
    bool blameless = (unstarted || unread) && !discarded;  // it had no chance to run
    if (blameless && rota->task[row].tries) rota->task[row].tries--;
    if (event->report.final && !unread && !discarded) rota->task[row].tries = TASK_TRIES_MAX;
    outcome_finish(rota, row, rota->task[row].worker, outcome, event->report.status);
    if (event->report.rest > 0 && !discarded) backoff_after(rota, row, event->report.rest);
    return ROTA_OK;
}

// ---- Changes of caches ----------------------------------------------------------------------

// The report may name a worker or a content key for the first time.
static bool reserve_news(struct rota *rota)
{
    return worker_reserve(rota) && object_reserve(rota, 1)
           && pool_reserve(&rota->memory, &rota->replicas, 2) && effect_cover(rota)
           && effect_reserve(rota, 4);
}

static enum rota_error check_news(struct rota *rota, rota_worker_id worker, rota_object_id object)
{
    if (!worker.number || (!object.high && !object.low))
        return refuse(rota, ROTA_BAD_EVENT, "a cache report must name a worker and an object");
    bool many
        = (!worker_find(rota, worker) && pool_used(&rota->workers) >= rota->config.workers_max)
          || (!object_find(rota, object) && pool_used(&rota->objects) >= rota->config.objects_max);
    return many
               ? refuse(rota, ROTA_TOO_MANY, "too many workers or objects for the configured limit")
               : ROTA_OK;
}

static object_row object_met(struct rota *rota, rota_object_id id)
{
    object_row row = object_find(rota, id);
    if (row) return row;
    row = object_add(rota, id);
    assert(IS_ROW(rota->objects, row));
    OBJECT(rota, row)->flags = ROTA_OBJECT_ARTIFACT;
    return row;
}

static void locate(struct rota *rota, object_row object, worker_row worker)
{
    assert(IS_ROW(rota->workers, worker));
    replica_row at = replica_find(rota, object, worker);
    if (!at) at = replica_add(rota, object, worker);
    // The first worker that reports an upload becomes its location.
    bool first = OBJECT(rota, object)->flags & ROTA_OBJECT_AWAY && !OBJECT(rota, object)->producer;
    if (first && OBJECT(rota, object)->need == 0 && !(OBJECT(rota, object)->flags & OBJECT_USED))
        REPLICA(rota, at)->flags |= REPLICA_PRIMARY;
    replica_locate(rota, at);
}

// Until its producer has ended, only the worker of the producer can have an object.
static bool may_hold(const struct rota *rota, const struct object *object, worker_row worker)
{
    if (object->flags & (OBJECT_REMOVED | ROTA_OBJECT_STREAM)) return false;
    if (object->job && JOB(rota, object->job)->state == ROTA_JOB_CLOSED) return false;
    if (!object->producer || object->flags & OBJECT_FINISHED) return true;
    const struct task *producer = &rota->task[object->producer];
    bool runs = producer->state == ROTA_TASK_RUNNING && !(producer->flags & TASK_STOPPING);
    return runs && worker && producer->worker == worker;
}

enum rota_error on_object_held(struct rota *rota, const struct rota_event *event)
{
    enum rota_error error = check_news(rota, event->replica.worker, event->replica.object);
    if (error) return error;
    object_row object = object_find(rota, event->replica.object);
    worker_row worker = worker_find(rota, event->replica.worker);
    if (object && !may_hold(rota, OBJECT(rota, object), worker))
        return refuse(rota, ROTA_NOT_NOW,
                      "the object is not finished, was removed, or is a stream");
    if (object && content_is_false(OBJECT(rota, object), &event->replica.content))
        return refuse(rota, ROTA_NOT_NOW, "the content differs from the one its producer reported");
    if (!reserve_news(rota)) return no_memory(rota);
    worker = worker_meet(rota, event->replica.worker);
    object = object_met(rota, event->replica.object);
    bool early = OBJECT(rota, object)->producer && !(OBJECT(rota, object)->flags & OBJECT_FINISHED);
    if (event->replica.bytes && !OBJECT(rota, object)->content.kind)
        OBJECT(rota, object)->bytes = event->replica.bytes;
    if (early) OBJECT(rota, object)->content = event->replica.content;  // reported by its producer
    if (OBJECT(rota, object)->job)
        OBJECT(rota, object)->flags |= OBJECT_FINISHED | (early ? (uint32_t)OBJECT_EARLY : 0);
    object_mark(rota, object);
    locate(rota, object, worker);
    object_shown(rota, object, worker);
    object_refresh(rota, object);
    if (rota->plan_unplaced) plan_news(rota, 1);
    return ROTA_OK;
}

enum rota_error on_object_lost(struct rota *rota, const struct rota_event *event)
{
    worker_row worker = worker_find(rota, event->replica.worker);
    object_row object = object_find(rota, event->replica.object);
    replica_row row = worker && object ? replica_find(rota, object, worker) : 0;
    if (!row || !(REPLICA(rota, row)->flags & REPLICA_LOCATED))
        return refuse(rota, ROTA_NOT_FOUND, "the worker is not known to hold that object");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    replica_lose(rota, row);
    if (rota->plan_unplaced) plan_news(rota, 1);
    return ROTA_OK;
}

static int compare(rota_object_id one, rota_object_id other)
{
    if (one.high != other.high) return one.high < other.high ? -1 : 1;
    return one.low < other.low ? -1 : one.low > other.low;
}

static bool names(const struct rota_event *event, rota_object_id object)
{
    uint32_t first = 0, count = event->held_all.count;
    while (count) {
        uint32_t middle = first + count / 2;
        int order = compare(event->held_all.objects[middle], object);
        if (order == 0) return true;
        if (order < 0) first = middle + 1;
        count = order < 0 ? count - count / 2 - 1 : count / 2;
    }
    return false;
}

// Objects that a worker was known to hold and does not list are lost. A content key only says where
// to ask for a result.
enum rota_error on_held_all(struct rota *rota, const struct rota_event *event)
{
    worker_row worker = worker_find(rota, event->held_all.worker);
    if (!worker) return refuse(rota, ROTA_NOT_FOUND, "no such worker");
    for (uint32_t i = 1; i < event->held_all.count; i++)
        if (compare(event->held_all.objects[i - 1], event->held_all.objects[i]) > 0)
            return refuse(rota, ROTA_BAD_EVENT, "a list of objects is not sorted");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    replica_row next;
    for (replica_row row = WORKER(rota, worker)->replicas; row; row = next) {
        const struct replica *replica = REPLICA(rota, row);
        next = replica->next_of_worker;
        const struct object *object = OBJECT(rota, replica->object);
        bool told = object->flags & ROTA_OBJECT_ARTIFACT || names(event, object->id);
        if (replica->flags & REPLICA_LOCATED && !told) replica_lose(rota, row);
    }
    if (rota->plan_unplaced) plan_news(rota, 1);
    return ROTA_OK;
}

enum rota_error on_streamed(struct rota *rota, const struct rota_event *event)
{
    object_row row = object_find(rota, event->replica.object);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such object");
    struct object *object = OBJECT(rota, row);
    const struct task *producer = &rota->task[object->producer];
    worker_row worker = worker_find(rota, event->replica.worker);
    bool flows = object->flags & ROTA_OBJECT_STREAM && !(object->flags & OBJECT_REMOVED)
                 && producer->state == ROTA_TASK_RUNNING && worker && producer->worker == worker;
    if (!flows)
        return refuse(rota, ROTA_NOT_NOW, "the object is not a stream that is being written");
    if (object->bytes == event->replica.bytes) return ROTA_OK;
    object->bytes = event->replica.bytes;
    object_mark(rota, row);
    return ROTA_OK;
}

// ---- Results for a content key --------------------------------------------------------------

static bool may_complete(const struct rota *rota, task_row row, worker_row worker)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    if (task->state == ROTA_TASK_OFFERED) return true;
    if (!out || task->flags & TASK_STOPPING) return false;
    return task->worker == worker || !(task->flags & TASK_HAS_LANE);
}

static void complete(struct rota *rota, task_row row, worker_row worker,
                     const struct rota_event *event)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    bool out = task->state != ROTA_TASK_OFFERED;
    if (out && task->worker && task->worker != worker) {
        attempt_stop(rota, row);
        attempt_end(rota, row);
    }
    task->tries = TASK_TRIES_MAX;  // a result is final
    outcome_finish(rota, row, worker, event->completed.outcome, event->completed.status);
}

enum rota_error on_key_completed(struct rota *rota, const struct rota_event *event)
{
    enum rota_error error = check_news(rota, event->completed.worker, event->completed.key);
    if (error) return error;
    enum rota_outcome outcome = event->completed.outcome;
    if (outcome < ROTA_OUTCOME_OK || outcome > ROTA_OUTCOME_ERROR)
        return refuse(rota, ROTA_BAD_EVENT, "a result is ok, an exit status or an error");
    object_row known = object_find(rota, event->completed.key);
    if (known && OBJECT(rota, known)->job)
        return refuse(rota, ROTA_BAD_EVENT, "the object is not a content key");
    task_row runner = known ? OBJECT(rota, known)->runner : 0;
    uint32_t copies = runner ? shared_key_outputs(rota, runner) : 0;
    if (!reserve_news(rota) || !pool_reserve(&rota->memory, &rota->replicas, copies + 2)
        || !effect_cover(rota))
        return no_memory(rota);
    worker_row worker = worker_meet(rota, event->completed.worker);
    object_row object = object_met(rota, event->completed.key);
    bool pending = runner && may_complete(rota, runner, worker);
    if (outcome != ROTA_OUTCOME_ERROR) locate(rota, object, worker);
    if (pending) {
        plan_report(rota, runner);
        content_note(rota, runner, worker, event->completed.sizes, event->completed.size_count);
        complete(rota, runner, worker, event);
    }
    struct rota_action *action = effect_action(rota, ROTA_ACTION_COMPLETED);
    action->completed.key = event->completed.key;
    action->completed.worker = event->completed.worker;
    action->completed.pending = pending;
    object = object_find(rota, event->completed.key);
    if (object) object_drop_unused_artifact(rota, object);
    return ROTA_OK;
}
