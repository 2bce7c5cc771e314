// graph.c - dependencies between tasks: counters, and a list of tasks to look at again.
//
// A task is MET to its dependents when it succeeded or is frozen, and DEAD when it cannot succeed
// before a retry. Every change updates the counters of the direct dependents at once and puts them
// on a list. Settling processes the list, so a graph of any depth needs no recursion.
#include "base/planted.h"
#include "core/core.h"

static void look_append(struct rota *rota, struct look_list *list, task_row row)
{
    assert(!(rota->task[row].flags & TASK_QUEUED_LOOK));
    assert(IS_TASK(rota, row));
    rota->task[row].flags |= TASK_QUEUED_LOOK;
    if (list->last)
        rota->task[list->last].child = row;
    else
        list->first = row;
    list->last = row;
}

void graph_look_at(struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    if (task->flags & TASK_QUEUED_LOOK) return;
    bool bundle = task->flags & TASK_IS_BUNDLE;
    look_append(rota, bundle ? &rota->look_bundles : &rota->look_tasks, row);
}

static task_row look_next(struct rota *rota, struct look_list *list)
{
    task_row row = list->first;
    if (!row) return 0;
    list->first = row == list->last ? 0 : rota->task[row].child;
    if (!list->first) list->last = 0;
    rota->task[row].child = 0;
    rota->task[row].flags &= (uint16_t)~TASK_QUEUED_LOOK;
    return row;
}

// A dependency of the task is no longer met. Its attempt is recalled after the event has had all
// its direct effects. A task that leads a shared execution leaves its attempt to a follower whose
// dependencies are met. A task without a content key may read or write streams: all readers give up
// their streams before a writer is recalled (settle_recalled).
static void need_is_gone(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    bool assigned = task->state == ROTA_TASK_ASSIGNED && task->extra;
    bool keyed = task_extra(rota, row)->key;
    if (!assigned || (keyed && !shared_key_leads(rota, row)))
        outcome_unready(rota, row);
    else if (!(task->flags & TASK_QUEUED_LOOK))
        look_append(rota, keyed ? &rota->look_leaders : &rota->look_recalled, row);
}

// One dependency of a task changed from `before` to `after`. An offered task is in the ready heap,
// which shares a column with the look list, so the task leaves the heap at once.
void graph_need(struct rota *rota, task_row row, uint32_t before, uint32_t after)
{
    assert(before != after);
    struct task *task = &rota->task[row];
    if ((before ^ after) & NEED_MET) rota->unmet[row] += before & NEED_MET ? 1u : -1u;
    if ((before ^ after) & NEED_DEAD && !PLANTED(DEATH_UNTOLD))
        task->dead += after & NEED_DEAD ? 1u : -1u;
    switch (task->state) {
    case ROTA_TASK_WAITING:
        if (rota->unmet[row] == 0 || task->dead > 0) graph_look_at(rota, row);
        break;
    case ROTA_TASK_BLOCKED: graph_look_at(rota, row); break;
    case ROTA_TASK_HELD:
    case ROTA_TASK_OFFERED:
    case ROTA_TASK_SHARED:
    case ROTA_TASK_ASSIGNED:
        if (rota->unmet[row] > 0 && !(task->flags & TASK_DECIDED)) need_is_gone(rota, row);
        break;
    default: break;
    }
}

late_row graph_late_first(const struct rota *rota, task_row row)
{
    return rota->task[row].flags & TASK_LINKED ? map_find(&rota->late_of, row) : 0;
}

static void tell_late(struct rota *rota, task_row row, uint32_t before, uint32_t after)
{
    assert(rota->task[row].flags & TASK_LINKED);
    late_row next;
    for (late_row late = graph_late_first(rota, row); late; late = next) {
        next = LATE(rota, late)->next;
        if (LATE(rota, late)->kind == LATE_WATCH) condition_look(rota, LATE(rota, late)->target);
        if (LATE(rota, late)->kind == LATE_EDGE && before != after)
            graph_need(rota, LATE(rota, late)->target, before, after);
    }
}

// The usual case: a dependency is met, and only the last one requires a look at the task. The
// counters were prefetched when the task was handed out.
static void tell_met(struct rota *rota, const struct task *task)
{
    const uint32_t *link = rota->link;
    uint32_t *unmet = rota->unmet, end = task->after_end;
    for (uint32_t i = task->after; i < end; i++) {
        task_row row = link[i];
        if (--unmet[row] > 0) continue;
        uint8_t state = rota->task[row].state;
        if (state == ROTA_TASK_WAITING || state == ROTA_TASK_BLOCKED) graph_look_at(rota, row);
    }
}

void graph_tell(struct rota *rota, task_row row, uint32_t before, uint32_t after)
{
    const struct task *task = &rota->task[row];
    if (before != after) {
        if (before == 0 && after == NEED_MET)
            tell_met(rota, task);
        else
            for (uint32_t i = task->after; i < task->after_end; i++)
                graph_need(rota, rota->link[i], before, after);
        if (task->extra && task_extra(rota, row)->output_count) object_producer_changed(rota, row);
    }
    if (task->flags & TASK_LINKED) tell_late(rota, row, before, after);
}

static void look_waiting(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    bool blocked = task->state == ROTA_TASK_BLOCKED;
    if (rota->unmet[row] == 0 && task->extra && task_extra(rota, row)->clause_count) {
        if (blocked) task_move(rota, row, CAUSE_UNMET);  // unlike its dependents, at once
        look_append(rota, &rota->look_ready, row);
    } else if (rota->unmet[row] == 0) {
        outcome_ready(rota, row);
    } else if (task->dead > 0 && !blocked) {
        task_move(rota, row, CAUSE_DOOMED);
    } else if (blocked
               && (task->dead == 0
                   || !(task->flags & TASK_UNFAILED) != graph_has_real_cause(rota, row))) {
        task_move(rota, row, CAUSE_UNMET);  // it can run again, or is blocked for another reason
        if (task->dead > 0) task_move(rota, row, CAUSE_DOOMED);
    }
}

void graph_settle_bundles(struct rota *rota)
{
    for (task_row row = look_next(rota, &rota->look_bundles); row;
         row = look_next(rota, &rota->look_bundles))
        bundle_look(rota, row);
    assert(!rota->look_bundles.first);
}

static bool is_waiting(const struct task *task)
{
    return task->state == ROTA_TASK_WAITING || task->state == ROTA_TASK_BLOCKED;
}

static void look(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (is_waiting(&rota->task[row]))
        look_waiting(rota, row);
    else if (rota->task[row].state == ROTA_TASK_SUCCEEDED)
        object_look_producer(rota, row);
}

// A condition may hold only for a moment, while a bundle it names still shows the old states of its
// members. So tasks with conditions become ready when nothing else changes any more, all together.
static void settle_ready(struct rota *rota)
{
    struct look_list ready = {0, 0};
    bool changed = false;
    for (task_row row = look_next(rota, &rota->look_ready); row;
         row = look_next(rota, &rota->look_ready)) {
        bool still = is_waiting(&rota->task[row]) && rota->unmet[row] == 0;
        look_append(rota, still ? &ready : &rota->look_tasks, row);
        changed |= !still;
    }
    if (changed) {
        rota->look_ready = ready;
        return;
    }
    for (task_row row = look_next(rota, &ready); row; row = look_next(rota, &ready))
        outcome_ready(rota, row);
}

// Tasks that only waited for other tasks come in large numbers, so they are processed in one loop.
static void settle_tasks(struct rota *rota)
{
    for (task_row row = look_next(rota, &rota->look_tasks); row;
         row = look_next(rota, &rota->look_tasks)) {
        look(rota, row);
        if (rota->failing_jobs) return;
    }
}

void graph_settle_leaders(struct rota *rota)
{
    for (task_row row = look_next(rota, &rota->look_leaders); row;
         row = look_next(rota, &rota->look_leaders))
        if (rota->task[row].state == ROTA_TASK_ASSIGNED && rota->unmet[row] > 0)
            outcome_unready(rota, row);
        else if (is_waiting(&rota->task[row]))
            graph_look_at(rota, row);  // it went back to waiting when it lost its last follower
    assert(!rota->look_leaders.first);
}

static bool lacks_need(const struct rota *rota, task_row row)
{
    return rota->task[row].state == ROTA_TASK_ASSIGNED && rota->unmet[row] > 0;
}

// Several attempts may lose dependencies in one event. All of them give up their streams while the
// writers are still ASSIGNED, so that the order of the tasks does not matter. The list grows
// meanwhile: a stream that is given up may have other readers. Attempts that continue without their
// dependencies are processed last, because their streams are available again from then on.
static void settle_recalled(struct rota *rota)
{
    struct look_list *recalled = &rota->look_recalled, begun = {0, 0};
    for (task_row row = recalled->first; row; row = rota->task[row].child)
        if (lacks_need(rota, row) && !outcome_continues(rota, row)) streams_give_up(rota, row);
    for (task_row row = look_next(rota, recalled); row; row = look_next(rota, recalled))
        if (!lacks_need(rota, row))
            graph_look_at(rota, row);  // it was cancelled, or its dependency is met again
        else if (outcome_continues(rota, row))
            look_append(rota, &begun, row);
        else
            outcome_unready(rota, row);
    for (task_row row = look_next(rota, &begun); row; row = look_next(rota, &begun))
        outcome_unready(rota, row);
    assert(!rota->look_recalled.first);
}

void graph_settle_all(struct rota *rota)
{
    while (graph_is_unsettled(rota)) {
        graph_settle_leaders(rota);
        settle_recalled(rota);
        while (rota->failing_jobs) job_fail_next(rota);
        if (rota->look_tasks.first) {
            settle_tasks(rota);
            continue;
        }
        task_row row = look_next(rota, &rota->look_bundles);
        if (row)
            bundle_look(rota, row);
        else if (rota->look_ready.first)
            settle_ready(rota);
        else if (rota->orphans)
            shared_key_settle(rota);
        else if (rota->look_lanes)
            lane_settle(rota);
        else if (rota->look_strict)
            lane_settle_strict(rota);
    }
    assert(!graph_is_unsettled(rota));
}

// ---- Late links: edges of later submissions, conditions that watch a task, waits ------------

bool graph_late_reserve(struct rota *rota, uint32_t more)
{
    return pool_reserve(&rota->memory, &rota->lates, more)
           && map_reserve(&rota->memory, &rota->late_of, more);
}

void graph_late_add(struct rota *rota, task_row row, enum late_kind kind, uint32_t target)
{
    assert(IS_TASK(rota, row));
    late_row late = pool_take(&rota->lates), last = graph_late_first(rota, row);
    *LATE(rota, late) = (struct late){0, kind, target, 0};
    rota->task[row].flags |= TASK_LINKED;
    if (!last) {
        map_put(&rota->late_of, row, late);
        return;
    }
    // The first entry stays first; the new one is inserted after it, so that adding takes constant
    // time.
    LATE(rota, late)->next = LATE(rota, last)->next;
    LATE(rota, last)->next = late;
}

void graph_late_remove(struct rota *rota, task_row row, enum late_kind kind, uint32_t target)
{
    assert(rota->task[row].flags & TASK_LINKED);
    late_row previous = 0, late = graph_late_first(rota, row);
    while (late && !(LATE(rota, late)->kind == kind && LATE(rota, late)->target == target)) {
        previous = late;
        late = LATE(rota, late)->next;
    }
    if (!late) return;
    late_row next = LATE(rota, late)->next;
    if (previous) {
        LATE(rota, previous)->next = next;
    } else if (next) {
        map_put(&rota->late_of, row, next);
    } else {
        map_remove(&rota->late_of, row);
        rota->task[row].flags &= (uint16_t)~TASK_LINKED;
    }
    pool_give(&rota->lates, late);
}

void graph_late_remove_watches(struct rota *rota, task_row row, job_row job)
{
    assert(rota->task[row].flags & TASK_LINKED);
    late_row first = 0, last = 0, next;
    for (late_row at = graph_late_first(rota, row); at; at = next) {
        const struct late *late = LATE(rota, at);
        next = late->next;
        if (late->kind == LATE_WATCH && task_job(rota, late->target) == job) {
            pool_give(&rota->lates, at);
            continue;
        }
        if (last) LATE(rota, last)->next = at;
        if (!first) first = at;
        last = at;
    }
    if (last) LATE(rota, last)->next = 0;
    if (first) {
        map_put(&rota->late_of, row, first);
    } else {
        map_remove(&rota->late_of, row);
        rota->task[row].flags &= (uint16_t)~TASK_LINKED;
    }
}

// ---- The same counters from scratch: for restoring, checking and explaining -----------------

void graph_count_needs(const struct rota *rota, task_row row, uint32_t *unmet, uint32_t *dead)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    uint32_t need = condition_need(rota, row);
    *unmet = !(need & NEED_MET) + ((task->flags & TASK_BACKOFF) != 0);
    *dead = (need & NEED_DEAD) != 0;
    for (uint32_t i = task->before; i < task[1].before; i++) {
        uint32_t view = graph_view(&rota->task[rota->link[i]]);
        *unmet += !(view & NEED_MET);
        *dead += (view & NEED_DEAD) != 0;
    }
    for (uint32_t i = 0; i < extra->input_count; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        if (object->flags & ROTA_OBJECT_ARTIFACT) continue;
        uint32_t view = object_view(rota, object);
        *unmet += !(view & NEED_MET);
        *dead += (view & NEED_DEAD) != 0;
    }
}

bool graph_has_real_cause(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = task->before; i < task[1].before; i++)
        if (graph_view(&rota->task[rota->link[i]]) & NEED_REAL) return true;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        if (!(object->flags & ROTA_OBJECT_ARTIFACT) && object_view(rota, object) & NEED_REAL)
            return true;
    }
    return extra->clause_count > 0 && condition_has_real_cause(rota, row);
}
