// list_schedule.c - list scheduling: in order of rank, each task goes where it finishes first.
//
// A task is placed as soon as its producers have a place, so a plan includes tasks that are not
// ready.
#include "plan/planner_internal.h"

enum { HOLDERS_TRIED = 4, FEW = 12 };

static bool is_better(const struct place *a, const struct place *b)
{
    if (b->worker == PLAN_NONE) return true;
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->mib != b->mib) return a->mib < b->mib;
    return a->idle_until > b->idle_until;  // leaves the worker that is idle longer to other tasks
}

static void consider(struct planner *planner, const struct plan_rule *rule, uint32_t task,
                     uint32_t worker, struct place *best)
{
    assert(worker < planner->cluster->worker_count);
    if (worker == PLAN_NONE || worker >= planner_workers(planner, rule)) return;
    if (!plan_fits(planner->graph, planner->cluster, task, worker)) return;
    struct place place = planner_try(planner, rule, task, worker);
    planner->steps += 3 + planner->needed_count;
    if (is_better(&place, best)) *best = place;
}

static void hold(struct planner *planner, uint32_t worker, double mib)
{
    assert(worker < planner->cluster->worker_count);
    if (planner->held[worker] <= 0) planner->holders[planner->holder_count++] = worker;
    planner->held[worker] += mib;
}

// The workers that hold most of the inputs.
static uint32_t find_holders(struct planner *planner, uint32_t chosen[HOLDERS_TRIED])
{
    uint32_t count = 0;
    planner->holder_count = 0;
    for (uint32_t i = 0; i < planner->needed_count; i++) {
        const struct needed *input = &planner->needed[i];
        if (input->mib <= 0) continue;
        hold(planner, input->source, input->mib);
        uint32_t at = planner->now.copy_of[input->object];
        for (; at; at = planner->copies[at - 1].next)
            hold(planner, planner->copies[at - 1].worker, input->mib);
    }
    for (uint32_t i = 0; i < planner->holder_count; i++) {
        uint32_t worker = planner->holders[i], place = count < HOLDERS_TRIED ? count++ : count;
        for (; place > 0 && planner->held[chosen[place - 1]] < planner->held[worker]; place--)
            if (place < HOLDERS_TRIED) chosen[place] = chosen[place - 1];
        if (place < HOLDERS_TRIED) chosen[place] = worker;
    }
    planner->steps += planner->holder_count;
    for (uint32_t i = 0; i < planner->holder_count; i++) planner->held[planner->holders[i]] = 0;
    return count;
}

static struct place find_place(struct planner *planner, const struct plan_rule *rule, uint32_t task)
{
    assert(task < planner->graph->task_count);
    struct place best = {.worker = PLAN_NONE};
    uint32_t workers = planner->cluster->worker_count;
    uint32_t home = rule->together ? family_home(planner, task) : PLAN_NONE;
    if (home != PLAN_NONE) return planner_try(planner, rule, task, home);
    if (rule->few && workers > FEW) {
        uint32_t chosen[HOLDERS_TRIED], count = find_holders(planner, chosen);
        for (uint32_t i = 0; i < count; i++) consider(planner, rule, task, chosen[i], &best);
        consider(planner, rule, task, planner->tree[1], &best);
        consider(planner, rule, task, tree_second(planner), &best);
        if (planner->bound[task] != PLAN_NONE)
            consider(planner, rule, task, planner->bound[task], &best);
        if (best.worker != PLAN_NONE) return best;
    }
    workers = planner_workers(planner, rule);
    for (uint32_t i = 0; i < workers; i++) consider(planner, rule, task, i, &best);
    return best;
}

static uint32_t list_plan(struct planner *planner, const struct plan_rule *rule,
                          struct plan_schedule *schedule, uint32_t tasks_max, double *end)
{
    uint32_t count = 0, all = planner->graph->task_count;
    while (planner->ready.count && count < tasks_max) {
        uint32_t task = plan_queue_pop(&planner->ready, planner->keys);
        planner_need(planner, task);
        struct place place = find_place(planner, rule, task);
        if (place.worker == PLAN_NONE) continue;  // no worker is large enough
        planner_commit(planner, rule, task, &place);
        schedule->worker[task] = place.worker;
        schedule->order[task] = all - count++;
        if (*end < place.finish) *end = place.finish;
        planner_release_users(planner, task);
    }
    return count;
}

// The task that starts first then is the most urgent.
static void order_by_start(struct planner *planner, struct plan_schedule *schedule)
{
    assert(schedule->order);
    uint32_t count = planner->graph->task_count;
    planner->ready.count = 0;
    for (uint32_t task = 0; task < count; task++) {
        if (planner->stage[task] != PLAN_OPEN || schedule->worker[task] == PLAN_NONE) continue;
        planner->keys[task].urgency = -planner->starts[task];
        planner->keys[task].since = count - schedule->order[task];
        planner_push(planner, task);
    }
    for (uint32_t left = count; planner->ready.count; left--)
        schedule->order[plan_queue_pop(&planner->ready, planner->keys)] = left;
}

double planner_plan(struct planner *planner, const struct plan_rule *rule,
                    struct plan_schedule *schedule, uint32_t tasks_max)
{
    assert(schedule->worker && schedule->order);
    double end = 0;
    planner_begin(planner, rule);
    for (uint32_t i = 0; i < planner->graph->task_count; i++)
        if (planner->stage[i] == PLAN_OPEN) schedule->worker[i] = PLAN_NONE;
    if (rule->greedy)
        greedy_plan(planner, rule, schedule, tasks_max, &end);
    else
        list_plan(planner, rule, schedule, tasks_max, &end);
    if (rule->by_start) order_by_start(planner, schedule);
    return end;
}
