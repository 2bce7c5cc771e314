// attempt.c - starts and ends attempts: room on the worker, a place in the lane, copies of inputs.
//
// A worker knows an attempt by the task id and attempt number it was told. If that task is removed
// and another task takes over the execution, the attempt keeps the old name.
#include "base/planted.h"
#include "core/prefetch.h"

rota_task_id attempt_name(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    uint32_t packed = map_find(&rota->run_as, row);
    if (!packed) return task_id(rota, row);
    const struct late *name = LATE(rota, packed);
    return (rota_task_id){name->kind, name->target};
}

// The worker that writes the stream, or that holds the rest of it for its readers.
static worker_row stream_worker(const struct rota *rota, const struct object *object)
{
    assert(object->flags & ROTA_OBJECT_STREAM);
    const struct task *producer = &rota->task[object->producer];
    if (producer->state == ROTA_TASK_ASSIGNED || producer->state == ROTA_TASK_RUNNING)
        return producer->worker;
    for (replica_row at = object->replicas; at; at = REPLICA(rota, at)->next_of_object)
        if (REPLICA(rota, at)->flags & REPLICA_KEPT) return REPLICA(rota, at)->worker;
    return 0;
}

static void tell_stream(struct rota *rota, object_row at, worker_row to, task_row consumer)
{
    assert(IS_ROW(rota->objects, at));
    const struct object *object = OBJECT(rota, at);
    worker_row from = stream_worker(rota, object);
    if (!from) return;
    struct rota_action *action = effect_action(rota, ROTA_ACTION_STREAM);
    action->stream.object = object->id;
    action->stream.worker.number = WORKER(rota, from)->id;
    action->stream.to.number = to ? WORKER(rota, to)->id : 0;
    action->stream.consumer = task_id(rota, consumer);
}

static void fetch(struct rota *rota, object_row object, worker_row worker, task_row row)
{
    assert(IS_ROW(rota->workers, worker));
    replica_row there = replica_find(rota, object, worker);
    worker_row source = replica_source(rota, object, worker, WORKER(rota, worker)->id);
    if (there && REPLICA(rota, there)->flags & REPLICA_LOCATED) return;
    if (!source && !(OBJECT(rota, object)->flags & OBJECT_SERVED)) return;
    struct rota_action *action = effect_action(rota, ROTA_ACTION_FETCH);
    action->fetch.object = OBJECT(rota, object)->id;
    action->fetch.worker.number = WORKER(rota, worker)->id;
    action->fetch.from.number = source ? WORKER(rota, source)->id : 0;
    action->fetch.order = planned_order(rota, row);
    action->fetch.soon = true;
    action->fetch.again = planned_worker(rota, row) == worker;
}

static void ship_inputs(struct rota *rota, task_row row, worker_row worker)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        if (OBJECT(rota, at)->flags & ROTA_OBJECT_STREAM) {
            tell_stream(rota, at, worker, row);
            continue;
        }
        fetch(rota, at, worker, row);
        if (OBJECT(rota, at)->job) replica_use(rota, at, worker);
    }
}

static void expect_outputs(struct rota *rota, task_row row, worker_row worker)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    streams_renew(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++) {
        object_row at = rota->use[extra->use_first + extra->input_count + i].object;
        if (OBJECT(rota, at)->flags & OBJECT_REMOVED) continue;  // no task needs it
        replica_row replica = replica_find(rota, at, worker);
        if (!replica) replica = replica_add(rota, at, worker);
        REPLICA(rota, replica)->flags |= REPLICA_PRIMARY;
        replica_mark(rota, replica);
        if (!(OBJECT(rota, at)->flags & ROTA_OBJECT_STREAM)) continue;
        for (uint32_t use = OBJECT(rota, at)->uses; use; use = rota->use[use].next)
            tell_stream(rota, at, 0, rota->use[use].task);
    }
}

static void count_attempt(struct task *task)
{
    if (!PLANTED(ATTEMPT_SAME) || !task->attempt) task->attempt++;
    if (task->tries < TASK_TRIES_MAX) task->tries++;
}

// The caller has already removed the task from the queues.
void attempt_assign(struct rota *rota, task_row row, worker_row worker, uint32_t flags)
{
    assert(worker);
    struct task *task = &rota->task[row];
    task->flags |= (uint16_t)flags;
    task->worker = worker;
    count_attempt(task);
    task_move(rota, row, CAUSE_ASSIGNED);
    if (task->flags & TASK_HAS_LANE) lane_handed_out(rota, row);
    worker_charge(rota, worker, row);
    struct rota_action *action = effect_action(rota, ROTA_ACTION_RUN);
    action->run.body = task->body;
    action->run.task = task_id(rota, row);
    action->run.attempt = task->attempt;
    action->run.order = planned_order(rota, row);
    action->run.worker.number = WORKER(rota, worker)->id;
    if (!task->extra) return;
    ship_inputs(rota, row, worker);
    expect_outputs(rota, row, worker);
    assert(task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING);
}

// ---- Handlers that hold tasks ---------------------------------------------------------------

// The handler that claimed last has a row as long as it holds a task.
static bool handler_is_last(const struct rota *rota, uint64_t id)
{
    return HANDLER(rota, rota->last_handler)->id == id;
}

bool handler_reserve(struct rota *rota, uint64_t id)
{
    if (handler_is_last(rota, id)) return true;
    return pool_reserve(&rota->memory, &rota->handlers, 1)
           && map_reserve(&rota->memory, &rota->handler_by_id, 1);
}

static __attribute__((noinline)) uint32_t handler_get(struct rota *rota, uint64_t id)
{
    assert(id);
    uint32_t at = map_find(&rota->handler_by_id, id);
    if (!at) {
        at = pool_take(&rota->handlers);
        HANDLER(rota, at)->id = id;
        map_put(&rota->handler_by_id, id, at);
    }
    rota->last_handler = at;
    return at;
}

void handler_take(struct rota *rota, task_row row, uint64_t id)
{
    uint32_t at = 0;
    if (id) at = handler_is_last(rota, id) ? rota->last_handler : handler_get(rota, id);
    if (at) HANDLER(rota, at)->uses++;
    rota->task[row].next = at;
    rota->out++;
    JOB(rota, task_job(rota, row))->out++;
}

static void handler_give(struct rota *rota, task_row row)
{
    assert(rota->out > 0);
    uint32_t at = rota->task[row].next;
    rota->task[row].next = 0;
    rota->out--;
    JOB(rota, task_job(rota, row))->out--;
    job_look_at(rota, task_job(rota, row));
    if (!at || --HANDLER(rota, at)->uses > 0) return;
    map_remove(&rota->handler_by_id, HANDLER(rota, at)->id);
    pool_give(&rota->handlers, at);
}

uint64_t handler_of(const struct rota *rota, task_row row)
{
    return rota->task[row].flags & TASK_CLAIMED ? HANDLER(rota, rota->task[row].next)->id : 0;
}

void attempt_claim(struct rota *rota, task_row row, uint64_t handler)
{
    struct task *task = &rota->task[row];
    if (task->state == ROTA_TASK_OFFERED) place_remove(rota, row);
    task->worker = 0;
    count_attempt(task);
    task_move(rota, row, CAUSE_CLAIMED);
    handler_take(rota, row, handler);
    if (task->flags & TASK_HAS_LANE) lane_handed_out(rota, row);
    struct rota_action *action = effect_action(rota, ROTA_ACTION_GRANT);
    action->grant.handler = handler;
    action->grant.body = task->body;
    action->grant.task = task_id(rota, row);
    action->grant.attempt = task->attempt;
    assert(task->state == ROTA_TASK_RUNNING && task->flags & TASK_CLAIMED);
}

// The output will not be written here. A consumer may still expect an earlier copy.
static void give_back_output(struct rota *rota, replica_row row)
{
    assert(IS_ROW(rota->replicas, row));
    struct replica *replica = REPLICA(rota, row);
    if (replica->flags & (REPLICA_LOCATED | REPLICA_KEPT)) return;
    if (!replica->users) {
        replica_remove(rota, row);
        return;
    }
    replica->flags &= ~(uint32_t)REPLICA_PRIMARY;
    replica_mark(rota, row);
}

static void give_back_copies(struct rota *rota, task_row row, worker_row worker)
{
    assert(worker);
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        if (OBJECT(rota, at)->job) replica_unuse(rota, at, worker);
    }
    for (uint32_t i = 0; i < extra->output_count; i++) {
        object_row at = rota->use[extra->use_first + extra->input_count + i].object;
        replica_row replica = replica_find(rota, at, worker);
        if (replica) give_back_output(rota, replica);
    }
}

void attempt_put_name(struct rota *rota, task_row row, rota_task_id id)
{
    assert(!map_find(&rota->run_as, row));
    late_row packed = pool_take(&rota->lates);
    *LATE(rota, packed) = (struct late){0, id.job, id.task, 0};
    map_put(&rota->run_as, row, packed);
    map_put(&rota->runs, (uint64_t)id.job << 32 | id.task, row);
}

// The task that runs on a worker under this id: the task itself, or the one that took it over.
task_row attempt_find(const struct rota *rota, rota_task_id id)
{
    task_row row = map_find(&rota->runs, (uint64_t)id.job << 32 | id.task);
    return row ? row : task_find(rota, id);
}

// The name by which a worker knows an attempt is removed together with the attempt.
static void forget_name(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    uint32_t packed = map_find(&rota->run_as, row);
    if (!packed) return;
    const struct late *name = LATE(rota, packed);
    map_remove(&rota->runs, (uint64_t)name->kind << 32 | name->target);
    map_remove(&rota->run_as, row);
    pool_give(&rota->lates, packed);
}

// Another task takes over the attempt that a worker runs for this one.
void attempt_transfer(struct rota *rota, task_row from, task_row to)
{
    assert(rota->task[from].worker);
    assert(from != to);
    worker_row worker = rota->task[from].worker;
    rota_task_id name = attempt_name(rota, from);
    bool running = rota->task[from].state == ROTA_TASK_RUNNING;
    worker_refund(rota, worker, from);
    give_back_copies(rota, from, worker);
    forget_name(rota, from);
    rota->task[from].worker = 0;
    struct task *task = &rota->task[to];
    task->attempt = rota->task[from].attempt;
    task->tries = rota->task[from].tries;
    task->worker = worker;
    task_move(rota, to, CAUSE_ASSIGNED);
    if (task->flags & TASK_HAS_LANE) lane_starts_again(rota, to);
    worker_charge(rota, worker, to);
    const struct extra *extra = task_extra(rota, to);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        if (OBJECT(rota, at)->job) replica_use(rota, at, worker);
    }
    attempt_put_name(rota, to, name);
    if (running) {
        task_move(rota, to, CAUSE_STARTED);
        if (task->flags & TASK_HAS_LANE) lane_started(rota, to);
    }
    worker_settle_overbooked(rota, worker);
}

// The attempt releases all it holds. The task keeps its state: the caller changes it.
void attempt_end(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    worker_row worker = task->worker;
    prefetch_scout(rota);
    if (worker) {
        worker_refund(rota, worker, row);
        if (task->extra) give_back_copies(rota, row, worker);
        forget_name(rota, row);
    }
    if (task->flags & TASK_CLAIMED) handler_give(rota, row);
    if (task->flags & TASK_HAS_LANE) lane_leave(rota, row);
    task->worker = 0;
    task->flags &= (uint16_t) ~(TASK_OVERBOOKED | TASK_STOPPING | TASK_DISCARDED | TASK_CLAIMED
                                | TASK_STARTING | TASK_DECIDED);
    assert(!task->worker && !(task->flags & TASK_CLAIMED));
}

void attempt_begun(struct rota *rota, task_row row)
{
    assert(rota->task[row].worker);
    struct task *task = &rota->task[row];
    task_move(rota, row, CAUSE_STARTED);
    if (task->flags & TASK_HAS_LANE) lane_started(rota, row);
    worker_unsettle(rota, task->worker);
}

void attempt_stop(struct rota *rota, task_row row)
{
    assert(rota->task[row].worker);
    const struct task *task = &rota->task[row];
    if (WORKER(rota, task->worker)->lost) return;
    struct rota_action *action = effect_action(rota, ROTA_ACTION_STOP);
    action->stop.task = attempt_name(rota, row);
    action->stop.attempt = task->attempt;
    action->stop.worker.number = WORKER(rota, task->worker)->id;
}
