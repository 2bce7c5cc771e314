// place_planned.c - tasks that a plan binds to a worker before they are ready.
//
// An external plan (ROTA_EVENT_PLAN) says where tasks of a job will run. It is a hint: it is not
// stored, and ignored for a worker that is gone or too small. While a bound task waits, its inputs
// are fetched to its worker as soon as they exist. When the task is ready it is handed out at the
// end of the turn, whether or not a plan is due, even if that overbooks the worker.
#include "core/core.h"

bool planned_reserve(struct rota *rota)
{
    return ARRAY_RESERVE(&rota->memory, rota->planned_task, rota->planned_capacity,
                         rota->task_capacity);
}

void planned_forget(struct rota *rota, task_row first, uint32_t count)
{
    assert(first + count <= rota->task_capacity);
    for (task_row row = first; row < first + count && row < rota->planned_capacity; row++) {
        task_row *link = &rota->asks_ahead;
        while (rota->planned_task[row].is_asking && *link != row)
            link = &rota->planned_task[*link].next;
        if (rota->planned_task[row].is_asking) *link = rota->planned_task[row].next;
        rota->planned_task[row] = (struct planned){0};
    }
}

worker_row planned_worker(const struct rota *rota, task_row row)
{
    if (row >= rota->planned_capacity || !rota->planned_task[row].worker) return 0;
    worker_row worker = worker_find(rota, (rota_worker_id){rota->planned_task[row].worker});
    const struct profile *profile = PROFILE(rota, rota->task[row].profile);
    bool able = worker && place_fits(WORKER(rota, worker), profile)
                && WORKER(rota, worker)->silent_since == ROTA_NEVER
                && !WORKER(rota, worker)->paused;
    return able ? worker : 0;
}

uint32_t planned_order(const struct rota *rota, task_row row)
{
    return row < rota->planned_capacity ? rota->planned_task[row].order : 0;
}

// ---- Ready tasks ----------------------------------------------------------------------------

enum { SORTED = 64 };  // tasks that become ready in one turn are sorted up to this number

static bool is_sooner(const struct rota *rota, task_row a, task_row b)
{
    assert(a != b);
    return rota->planned_task[a].order > rota->planned_task[b].order;
}

bool planned_add(struct rota *rota, task_row row)
{
    if (!planned_worker(rota, row)) return false;
    task_row after = rota->due_last, before = 0;
    for (uint32_t i = 0; i < SORTED && after && is_sooner(rota, row, after); i++) {
        before = after;
        after = rota->task[after].previous;
    }
    rota->planned_task[row].is_due = true;
    list_insert(rota, row, after, before, &rota->due_first, &rota->due_last);
    return true;
}

bool planned_remove(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (row >= rota->planned_capacity || !rota->planned_task[row].is_due) return false;
    rota->planned_task[row].is_due = false;
    list_unlink(rota, row, &rota->due_first, &rota->due_last);
    return true;
}

bool planned_may_wait(const struct rota *rota, task_row row, worker_row at)
{
    assert(IS_TASK(rota, row));
    const struct worker *worker = WORKER(rota, at);
    if (rota->task[row].flags & TASK_HAS_LANE || worker->overbooked >= rota->config.bound_max)
        return false;
    return !worker->slots || worker->tasks < worker->slots;
}

// False: memory ran out, and the task is still due.
static bool hand_out(struct rota *rota, task_row row)
{
    assert(rota->planned_task[row].is_due);
    worker_row worker = planned_worker(rota, row);
    const struct profile *profile = PROFILE(rota, rota->task[row].profile);
    bool room = worker && place_has_room(WORKER(rota, worker), profile);
    if (!room && (!worker || !planned_may_wait(rota, row, worker))) {
        planned_remove(rota, row);
        ready_push(rota, row);
        plan_news(rota, 1);
        return true;
    }
    if (!place_reserve(rota, row)) return false;
    planned_remove(rota, row);
    attempt_assign(rota, row, worker, room ? 0 : TASK_OVERBOOKED);
    graph_settle(rota);
    return true;
}

// ---- Inputs of waiting tasks ----------------------------------------------------------------

void planned_object_made(struct rota *rota, object_row row)
{
    struct object *object = OBJECT(rota, row);
    if (!rota->planned_capacity || object->flags & (ROTA_OBJECT_STREAM | OBJECT_SPREADING)) return;
    object->flags |= OBJECT_SPREADING;
    object->next_spread = rota->spread;
    rota->spread = row;
}

// Fetches the existing inputs of a bound task to its worker.
static void fetch_ahead(struct rota *rota, object_row at, task_row row)
{
    assert(IS_ROW(rota->objects, at));
    uint8_t state = rota->task[row].state;
    worker_row worker = planned_worker(rota, row);
    if (!worker || state < ROTA_TASK_QUEUED || state > ROTA_TASK_OFFERED) return;
    replica_row there = replica_find(rota, at, worker);
    if (there && REPLICA(rota, there)->flags & REPLICA_LOCATED) return;
    worker_row source = replica_source(rota, at, worker, WORKER(rota, worker)->id);
    struct rota_action *action = effect_action(rota, ROTA_ACTION_FETCH);
    action->fetch.object = OBJECT(rota, at)->id;
    action->fetch.worker.number = WORKER(rota, worker)->id;
    action->fetch.from.number = source ? WORKER(rota, source)->id : 0;
    action->fetch.order = planned_order(rota, row);
    action->fetch.soon = rota->unmet[row] == 0;
}

static bool spread_one(struct rota *rota, object_row at)
{
    assert(IS_ROW(rota->objects, at));
    struct object *object = OBJECT(rota, at);
    uint32_t users = 0;
    bool there = object_is_present(rota, object);
    for (uint32_t use = object->uses; use && there; use = rota->use[use].next) users++;
    if (!effect_reserve(rota, users)) return false;
    for (uint32_t use = object->uses; use && there; use = rota->use[use].next)
        fetch_ahead(rota, at, rota->use[use].task);
    return true;
}

static bool ask_one(struct rota *rota, task_row row)
{
    assert(rota->planned_task[row].is_asking);
    const struct extra *extra = task_extra(rota, row);
    if (!effect_reserve(rota, extra->input_count)) return false;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        const struct object *object = OBJECT(rota, at);
        bool plain = object->job && !(object->flags & (ROTA_OBJECT_STREAM | OBJECT_SPREADING));
        if (plain && object_is_present(rota, object)) fetch_ahead(rota, at, row);
    }
    return true;
}

static bool fetch_inputs(struct rota *rota)
{
    while (rota->asks_ahead) {
        task_row row = rota->asks_ahead;
        if (!ask_one(rota, row)) return false;
        rota->asks_ahead = rota->planned_task[row].next;
        rota->planned_task[row].is_asking = false;
    }
    while (rota->spread) {
        object_row at = rota->spread;
        if (!spread_one(rota, at)) return false;
        rota->spread = OBJECT(rota, at)->next_spread;
        OBJECT(rota, at)->flags &= ~(uint32_t)OBJECT_SPREADING;
    }
    return true;
}

// A removed object leaves the lists.
void planned_object_gone(struct rota *rota, object_row row)
{
    assert(IS_ROW(rota->objects, row));
    if (!(OBJECT(rota, row)->flags & OBJECT_SPREADING)) return;
    object_row *link = &rota->spread;
    while (*link != row) link = &OBJECT(rota, *link)->next_spread;
    *link = OBJECT(rota, row)->next_spread;
}

void planned_turn(struct rota *rota)
{
    if (!fetch_inputs(rota)) return;
    while (rota->due_first)
        if (!hand_out(rota, rota->due_first)) return;
}

// ---- A plan arrives -------------------------------------------------------------------------

static bool planned_must_move(const struct rota *rota, task_row row, rota_worker_id to)
{
    const struct task *task = &rota->task[row];
    if (task->state != ROTA_TASK_ASSIGNED || !task->worker || task->flags & TASK_HAS_LANE)
        return false;
    if (task->extra && task_extra(rota, row)->key) return false;
    return to.number && WORKER(rota, task->worker)->id != to.number && worker_find(rota, to);
}

enum { USERS_SEEN = 64 };  // with more users than this, one of them will need the object

// Another task that runs, or will run, on the worker reads the object.
static bool is_wanted(const struct rota *rota, object_row at, worker_row worker, task_row but)
{
    assert(IS_ROW(rota->workers, worker));
    replica_row there = replica_find(rota, at, worker);
    if (there && (REPLICA(rota, there)->users || REPLICA(rota, there)->flags)) return true;
    uint32_t seen = 0;
    for (uint32_t use = OBJECT(rota, at)->uses; use; use = rota->use[use].next) {
        task_row row = rota->use[use].task;
        if (++seen > USERS_SEEN) return true;
        uint8_t state = rota->task[row].state;
        bool waits = state >= ROTA_TASK_QUEUED && state <= ROTA_TASK_OFFERED;
        if (row != but && waits && planned_worker(rota, row) == worker) return true;
    }
    return false;
}

// Inputs that were ordered for a task that now goes to another worker are cancelled.
static void call_off(struct rota *rota, task_row row, worker_row worker)
{
    const struct extra *extra = task_extra(rota, row);
    uint8_t state = rota->task[row].state;
    if (!worker || state < ROTA_TASK_QUEUED || state > ROTA_TASK_OFFERED) return;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        const struct object *object = OBJECT(rota, at);
        bool asked = object->job && object->flags & OBJECT_FINISHED;
        if (!asked || is_wanted(rota, at, worker, row)) continue;
        struct rota_action *action = effect_action(rota, ROTA_ACTION_DROP);
        action->drop.object = object->id;
        action->drop.worker.number = WORKER(rota, worker)->id;
        action->drop.ahead = true;
    }
}

static void ask_for_inputs(struct rota *rota, task_row row)
{
    struct planned *planned = &rota->planned_task[row];
    if (!task_extra(rota, row)->input_count || planned->is_asking) return;
    planned->is_asking = true;
    planned->next = rota->asks_ahead;
    rota->asks_ahead = row;
}

// Memory is reserved. A task that has not started moves to its newly bound worker.
void planned_put(struct rota *rota, task_row row, rota_worker_id worker, uint32_t order)
{
    assert(rota->planned_task);
    struct planned *planned = &rota->planned_task[row];
    bool moves = planned->worker != worker.number;
    bool offered = rota->task[row].state == ROTA_TASK_OFFERED && lane_is_next(rota, row);
    worker_row before = planned_worker(rota, row);
    if (offered && moves) place_remove(rota, row);
    if (moves) call_off(rota, row, before);
    planned->worker = worker.number;
    planned->order = order & PLANNED_ORDER_MAX;
    if (!moves) return;
    ask_for_inputs(rota, row);
    if (offered) {
        place_add(rota, row);
    } else if (planned_must_move(rota, row, worker)) {
        attempt_stop(rota, row);
        attempt_end(rota, row);
        rota->task[row].tries--;  // it had no chance to run
        task_move(rota, row, CAUSE_RETURNED);
        outcome_ready(rota, row);
    }
}
