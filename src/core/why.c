// why.c - why a task is not running: the first reason, with names and numbers.
#include "core/core.h"

static struct rota_why why_task(const struct rota *rota, enum rota_hold hold, task_row row,
                                uint32_t count)
{
    return (struct rota_why){.hold = hold, .task = task_id(rota, row), .count = count};
}

struct need_view {
    uint32_t mask, wanted;
};

static bool edge_is(const struct rota *rota, uint32_t edge, struct need_view view)
{
    return (graph_view(&rota->task[rota->link[edge]]) & view.mask) == view.wanted;
}

static bool input_is(const struct rota *rota, const struct extra *extra, uint32_t input,
                     struct need_view view)
{
    const struct object *object = OBJECT(rota, rota->use[extra->use_first + input].object);
    return object->job && (object->view & view.mask) == view.wanted;
}

// A task that waits for files of another one may have an edge to it, too: one dependency.
static bool is_counted(const struct rota *rota, task_row row, uint32_t inputs, task_row producer,
                       struct need_view view)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = task->before; i < task[1].before; i++)
        if (rota->link[i] == producer && edge_is(rota, i, view)) return true;
    for (uint32_t i = 0; i < inputs; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        if (object->producer == producer && input_is(rota, extra, i, view)) return true;
    }
    return false;
}

// So that it takes no long time: with more dependencies, files count only if no edge does.
enum { COMPARED_MAX = 1000 };

static bool is_small(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    return task[1].before - task->before + task_extra(rota, row)->input_count <= COMPARED_MAX;
}

// The first dependency in the given view, and the number of such tasks: edges, then inputs.
static task_row find_need(const struct rota *rota, task_row row, uint32_t mask, uint32_t wanted,
                          uint32_t *count)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    struct need_view view = {mask, wanted};
    task_row first = 0;
    *count = 0;
    for (uint32_t i = task->before; i < task[1].before; i++) {
        if (!edge_is(rota, i, view)) continue;
        if (!first) first = rota->link[i];
        ++*count;
    }
    task_row first_edge = first;
    bool is_compared = is_small(rota, row);
    for (uint32_t i = 0; i < extra->input_count && (is_compared || !first_edge); i++) {
        task_row producer = OBJECT(rota, rota->use[extra->use_first + i].object)->producer;
        if (!input_is(rota, extra, i, view)) continue;
        if (!first) first = producer;
        *count += !is_compared || !producer || !is_counted(rota, row, i, producer, view);
    }
    return first;
}

// A clause that is not true is the best one to name; a dead condition names the failed task.
static task_row find_clause(const struct rota *rota, task_row row)
{
    assert(task_extra(rota, row)->clause_count);
    const struct extra *extra = task_extra(rota, row);
    task_row first = 0;
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        task_row named = rota->clause[extra->clause_first + i].task.job;
        if (!named) continue;
        if (!first) first = named;
        if (!task_is_over(&rota->task[named])) return named;
    }
    return first;
}

static struct rota_why why_blocked(const struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_BLOCKED);
    rota_task_id blockers[64];  // a task that blocks in two ways counts once, up to 64
    uint32_t count = rota_blockers(rota, task_id(rota, row), blockers, 64);
    if (count)
        return (struct rota_why){.hold = ROTA_HOLD_FAILURE, .task = blockers[0], .count = count};
    task_row need = find_need(rota, row, NEED_DEAD, NEED_DEAD, &count);
    if (need) return why_task(rota, ROTA_HOLD_BLOCKED, need, count);
    return why_task(rota, ROTA_HOLD_CONDITION, find_clause(rota, row), 1);
}

static task_row writes_again(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        bool broke_off = object->flags & ROTA_OBJECT_STREAM && object->flags & OBJECT_REMOVED;
        if (broke_off && object->producer) return object->producer;
    }
    return 0;
}

static struct rota_why why_waiting(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    uint32_t count;
    rota_time until = backoff_until(rota, row);
    if (until) return (struct rota_why){.hold = ROTA_HOLD_REST, .until = until};
    task_row writer = writes_again(rota, row);
    if (writer) return why_task(rota, ROTA_HOLD_STREAM, writer, 1);
    task_row need = find_need(rota, row, NEED_MET, 0, &count);
    if (need && rota->task[need].flags & TASK_AGAIN)
        return why_task(rota, ROTA_HOLD_LOST_INPUT, need, count);
    if (count) return why_task(rota, ROTA_HOLD_PREREQUISITE, need, count);
    return why_task(rota, ROTA_HOLD_CONDITION, find_clause(rota, row), 1);
}

static task_row someone_inside(const struct rota *rota, lane_row lane, bool starting)
{
    assert(IS_ROW(rota->lanes, lane));
    for (extra_row at = 1; at < rota->extras.count; at++) {
        task_row row = EXTRA(rota, at)->task;
        if (!row || EXTRA(rota, at)->lane != lane || !task_is_inside(&rota->task[row])) continue;
        if (!starting || task_is_starting(&rota->task[row])) return row;
    }
    return 0;
}

static struct rota_why why_held(const struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_HELD);
    const struct extra *extra = task_extra(rota, row);
    const struct lane *lane = LANE(rota, extra->lane);
    struct rota_why why;
    task_row holder = extra->group ? GROUP(rota, extra->group)->holder : 0;
    if (lane->flags & ROTA_LANE_PAUSED)
        return (struct rota_why){.hold = ROTA_HOLD_LANE_PAUSED, .lane = lane->number};
    if (lane->held_first != row)
        why = why_task(rota, ROTA_HOLD_ORDER, lane->held_first, 1);
    else if (lane->flags & ROTA_LANE_STRICT && lane->starting)
        why = why_task(rota, ROTA_HOLD_START, someone_inside(rota, extra->lane, true), 1);
    else if (holder && holder != row)
        why = why_task(rota, ROTA_HOLD_GROUP, holder, 1);
    else
        why = why_task(rota, ROTA_HOLD_ACCESS, someone_inside(rota, extra->lane, false),
                       lane->inside);
    why.lane = lane->number;
    if (extra->group) why.group = GROUP(rota, extra->group)->number;
    return why;
}

static uint32_t missing(uint64_t wanted, uint64_t used, uint64_t all)
{
    return used + wanted > all ? (uint32_t)(used + wanted - all) : 0;
}

// The worker that lacks least, empty or with its present load.
static struct rota_why why_no_room(const struct rota *rota, const struct profile *profile,
                                   bool empty)
{
    struct rota_why why
        = {.hold = empty ? ROTA_HOLD_TOO_BIG : ROTA_HOLD_ROOM, .machine = profile->wants.machine};
    for (worker_row row = 1; row < rota->workers.count; row++) {
        const struct worker *worker = WORKER(rota, row);
        if (!worker->id || (profile->wants.machine && worker->machine != profile->wants.machine))
            continue;
        if (!empty && !place_fits(worker, profile)) continue;
        uint32_t cores
            = missing(profile->wants.cores, empty ? 0 : worker->cores_used, worker->cores);
        uint32_t memory = missing(profile->wants.memory_mib, empty ? 0 : worker->memory_used,
                                  worker->memory_mib);
        bool better = !why.worker.number || cores < why.short_cores
                      || (cores == why.short_cores && memory < why.short_mib);
        if (!better) continue;
        why.worker.number = worker->id;
        why.short_cores = cores;
        why.short_mib = memory;
    }
    return why;
}

static struct rota_why why_unschedulable(const struct rota *rota, const struct profile *profile)
{
    bool some = false;
    for (worker_row row = 1; row < rota->workers.count; row++) {
        const struct worker *worker = WORKER(rota, row);
        some = some
               || (worker->id
                   && (!profile->wants.machine || worker->machine == profile->wants.machine));
    }
    if (some) return why_no_room(rota, profile, true);
    if (profile->wants.machine)
        return (struct rota_why){.hold = ROTA_HOLD_MACHINE, .machine = profile->wants.machine};
    return (struct rota_why){.hold = ROTA_HOLD_NO_WORKER};
}

static struct rota_why why_pull(const struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    struct rota_why why = {.until = pull_due(rota, row)};
    why.hold = extra->phase == PHASE_NEAR    ? ROTA_HOLD_CACHED
               : extra->phase == PHASE_INPUT ? ROTA_HOLD_INPUTS
                                             : ROTA_HOLD_PICK;
    bool room = false, asked = false;
    for (worker_row at = 1; at < rota->workers.count; at++) {
        const struct worker *worker = WORKER(rota, at);
        asked = asked || (worker->id && worker->asks);
        room = room || place_has_room(worker, PROFILE(rota, rota->task[row].profile));
    }
    if (why.hold == ROTA_HOLD_PICK && asked && !room)
        return why_no_room(rota, PROFILE(rota, rota->task[row].profile), false);
    return why;
}

// A worker that would have room if it were not paused.
static worker_row paused_one(const struct rota *rota, const struct profile *profile)
{
    for (worker_row at = 1; at < rota->workers.count; at++) {
        struct worker worker = *WORKER(rota, at);
        if (!worker.paused) continue;
        worker.paused = 0;
        if (place_has_room(&worker, profile)) return at;
    }
    return 0;
}

static struct rota_why why_offered(const struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_OFFERED);
    const struct profile *profile = PROFILE(rota, rota->task[row].profile);
    if (place_is_paused(rota, row)) return (struct rota_why){.hold = ROTA_HOLD_JOB_PAUSED};
    if (rota->task[row].flags & TASK_HAS_LANE) {
        const struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
        if (lane->flags & ROTA_LANE_PAUSED)
            return (struct rota_why){.hold = ROTA_HOLD_LANE_PAUSED, .lane = lane->number};
    }
    if (profile->wants.policy == ROTA_POLICY_CLAIM)
        return (struct rota_why){.hold = ROTA_HOLD_HANDLER};
    if (!lane_is_next(rota, row)) {
        const struct lane *lane = LANE(rota, task_extra(rota, row)->lane);
        struct rota_why why = why_task(rota, ROTA_HOLD_ORDER, lane->placing, 1);
        why.lane = lane->number;
        return why;
    }
    if (place_unschedulable(rota, row)) return why_unschedulable(rota, profile);
    worker_row paused = room_find(rota, profile) ? 0 : paused_one(rota, profile);
    if (paused)
        return (struct rota_why){.hold = WORKER(rota, paused)->paused & PAUSE_LEAVING
                                             ? ROTA_HOLD_WORKER_LEAVES
                                             : ROTA_HOLD_WORKER_PAUSED,
                                 .worker.number = WORKER(rota, paused)->id};
    if (profile->wants.policy == ROTA_POLICY_PULL) return why_pull(rota, row);
    if (room_find(rota, profile))
        return (struct rota_why){.hold = ROTA_HOLD_PLAN, .until = plan_deadline(rota)};
    for (worker_row at = 1; at < rota->workers.count; at++) {
        const struct worker *worker = WORKER(rota, at);
        bool silent = place_fits(worker, profile) && worker->silent_since != ROTA_NEVER
                      && worker->cores_used + profile->wants.cores <= worker->cores;
        if (silent)
            return (struct rota_why){.hold = ROTA_HOLD_SILENT,
                                     .worker.number = worker->id,
                                     .until = heap_due(&rota->leases, at)};
    }
    return why_no_room(rota, profile, false);
}

static struct rota_why why_out(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    struct rota_why why = {.hold = ROTA_HOLD_NONE};
    if (!task->worker) {
        if (task->flags & TASK_STOPPING) why.hold = ROTA_HOLD_STOPPING;
        return why;
    }
    const struct worker *worker = WORKER(rota, task->worker);
    why.worker.number = worker->id;
    if (worker->silent_since != ROTA_NEVER) {
        why.hold = ROTA_HOLD_SILENT;
        why.until = heap_due(&rota->leases, task->worker);
    } else if (task->flags & TASK_STOPPING) {
        why.hold = ROTA_HOLD_STOPPING;
    } else if (task->state == ROTA_TASK_ASSIGNED) {
        why.hold = ROTA_HOLD_START_REPORT;
    }
    return why;
}

static struct rota_why why_held_up(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (!row || rota->task[row].flags & TASK_IS_BUNDLE)
        return (struct rota_why){.hold = ROTA_HOLD_NONE};
    switch (rota->task[row].state) {
    case ROTA_TASK_IDLE: return (struct rota_why){.hold = ROTA_HOLD_IDLE};
    case ROTA_TASK_FROZEN: return (struct rota_why){.hold = ROTA_HOLD_FROZEN};
    case ROTA_TASK_WAITING: return why_waiting(rota, row);
    case ROTA_TASK_BLOCKED: return why_blocked(rota, row);
    case ROTA_TASK_HELD: return why_held(rota, row);
    case ROTA_TASK_OFFERED: return why_offered(rota, row);
    case ROTA_TASK_SHARED:
        return why_task(rota, ROTA_HOLD_SHARED, task_extra(rota, row)->leader, 1);
    case ROTA_TASK_ASSIGNED:
    case ROTA_TASK_RUNNING: return why_out(rota, row);
    default: return (struct rota_why){.hold = ROTA_HOLD_NONE};
    }
}

struct rota_why rota_why(const struct rota *rota, rota_task_id id)
{
    task_row row = task_find(rota, id);
    struct rota_why why = why_held_up(rota, row);
    bool waits = row && rota->task[row].state < ROTA_TASK_SHARED;
    worker_row bound = waits ? planned_worker(rota, row) : 0;
    if (bound) why.planned.number = WORKER(rota, bound)->id;
    return why;
}
