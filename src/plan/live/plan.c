// plan.c - a plan is made of what the core says, and what is new in it is given back.
#include "plan/live/internal.h"

#include <stdlib.h>

static const struct memory heap = {memory_resize_heap, NULL};
static const double overdue_share = 0.4;   // of its age a late task takes more (plan/rolling.c)
static const double moving_share = 1;  // of moving, as if nothing were done meanwhile
static const double loyalty_share = 1;     // of the mean duration, before a task moves

enum {
    PLANS_A_RULE = 8,     // until other rules are tried again
    TRIED_STEPS = 60000,  // after so many no further rule is tried: some 1.5 ms
    QUEUED_LOYALTY = 2,  // taking a task back costs messages, and perhaps a start
    STEPS_A_MICROSECOND = 40,
    PAUSE = 9,              // times as long as the plan took: a tenth of the time is for planning
    PAUSE_LEAST = 10000,    // so that what comes in quick succession is planned together
};

struct guide *guide_open(void)
{
    struct guide *guide = plan_take(1, sizeof *guide);
    guide->rule.few = true;
    guide->kinds = guide_grow(NULL, &guide->kind_capacity, 1, sizeof *guide->kinds);
    return guide;
}

void guide_close(struct guide *guide)
{
    if (!guide) return;
    while (guide->job_count) guide_forget(guide, guide->jobs[guide->job_count - 1]->id);
    map_release(&heap, &guide->jobs_by_id);
    map_release(&heap, &guide->kinds_by_hash);
    free(guide->jobs), free(guide->kinds), free(guide);
}

void guide_news(struct guide *guide)
{
    guide->has_news = true;
}

rota_time guide_due(const struct guide *guide)
{
    return guide->has_news && guide->job_count ? guide->plan_next : ROTA_NEVER;
}

struct guide_sums guide_sums(const struct guide *guide)
{
    return guide->sums;
}

uint32_t guide_words(const struct guide *guide, const struct rota *rota, struct guide_word *out,
                     uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < guide->job_count; i++) {
        const struct guide_job *job = guide->jobs[i];
        for (uint32_t k = 0; k < job->task_count; k++) {
            rota_task_id id = {job->id.number, k + 1};
            if (!job->tasks[k].bound || rota_task_state(rota, id) > ROTA_TASK_OFFERED) continue;
            if (count < max) out[count] = (struct guide_word){id, {job->tasks[k].bound}};
            count++;
        }
    }
    return count;
}

// ---- What the planner is told -----------------------------------------------------------------

static void running_tell(struct window *window, struct planner *planner, uint32_t at)
{
    const struct guide_row *row = &window->rows[at];
    struct guide_task *task = &row->job->tasks[row->task];
    uint32_t worker = window_worker(window, row->look.worker);
    if (worker == PLAN_NONE || task->cores > window->cores[worker]) return;
    if (!task->began) task->began = window->view->now;
    double age = (double)(window->view->now - task->began) * 1e-6;
    double left = window->graph.seconds[at] - age;
    if (left < overdue_share * age) left = overdue_share * age;
    planner_set_running(planner, at, worker, left);
    uint32_t *foreign = &window->foreign[worker];
    *foreign -= task->cores < *foreign ? task->cores : *foreign;
}

static void planner_tell(struct window *window, struct planner *planner)
{
    const struct plan_graph *graph = &window->graph;
    double mean = 0;
    planner_clear(planner);
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct guide_row *row = &window->rows[i];
        struct guide_task *task = &row->job->tasks[row->task];
        mean += graph->seconds[i] / window->row_count;
        if (window_runs(window, i)) {
            running_tell(window, planner, i);
            continue;
        }
        task->began = 0;
        if (row->look.worker.number)
            planner_set_queued(planner, i, window_worker(window, row->look.worker), QUEUED_LOYALTY);
        else
            planner_set_place(planner, i, window_worker(window, (rota_worker_id){task->bound}));
    }
    for (uint32_t i = window->row_count; i < graph->task_count; i++)
        planner_set_done(planner, i, window->source[i - window->row_count]);
    for (uint32_t i = 0; i < window->copy_count; i++) {
        const struct guide_copy *copy = &window->copies[i];
        double takes = graph->mib[copy->object] / window->cluster.bandwidth;
        planner_set_copy(planner, copy->object, copy->worker, copy->is_there ? 0 : takes);
    }
    for (uint32_t i = 0; i < window->cluster.worker_count; i++)
        if (window->foreign[i]) planner_set_busy(planner, i, window->foreign[i], mean);
    planner_set_loyalty(planner, loyalty_share * mean);
}

// ---- What becomes of it -----------------------------------------------------------------------

static bool may_move(const struct window *window, uint32_t at)
{
    const struct guide_row *row = &window->rows[at];
    bool waits = row->look.state >= ROTA_TASK_QUEUED && row->look.state <= ROTA_TASK_OFFERED;
    // What a silent worker was given may run there, and it may be back soon.
    bool queued = row->look.state == ROTA_TASK_ASSIGNED && row->look.queued
                  && window_worker(window, row->look.worker) != PLAN_NONE;
    return (waits || queued) && row->job->tasks[row->task].is_open;
}

// Tasks of a job are side by side.
static void moves_give(struct window *window, const struct plan_schedule *schedule)
{
    const struct guide_view *view = window->view;
    struct rota_placement *moves = plan_take(window->row_count, sizeof *moves);
    uint32_t count = 0;
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct guide_row *row = &window->rows[i];
        struct guide_task *task = &row->job->tasks[row->task];
        if (schedule->worker[i] != PLAN_NONE && may_move(window, i)) {
            rota_worker_id worker = window->workers[schedule->worker[i]];
            if (task->bound != worker.number)
                moves[count++]
                    = (struct rota_placement){row->task + 1, worker, schedule->order[i]};
            task->bound = worker.number;
        }
        bool last = i + 1 == window->row_count || window->rows[i + 1].job != row->job;
        if (last && count) view->give(view->context, row->job->id, moves, count);
        if (last) count = 0;
    }
    free(moves);
}

// ---- Which rule -------------------------------------------------------------------------------

// Ways to plan (plan/plan.h): which is best depends on the graph.
static const struct plan_rule rules[] = {
    {.few = true},
    {.few = true, .penalty = 1},
    {.few = true, .homing = true},
    {.few = true, .homing = true, .penalty = 1},
    {.few = true, .carried = 1, .penalty = 1},
    {.few = true, .homing = true, .penalty = 1, .part = 2},
    {.few = true, .together = true},
};
enum { RULES = sizeof rules / sizeof *rules };

// Seconds that it takes to move what a plan moves, one after the other.
static double moving(const struct window *window, const struct plan_schedule *schedule)
{
    const struct plan_graph *graph = &window->graph;
    double mib = 0;
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct plan_task *task = &graph->tasks[i];
        for (uint32_t k = 0; k < task->input_count; k++) {
            uint32_t object = graph->inputs[task->input + k];
            uint32_t maker = graph->objects[object].producer;
            uint32_t from = maker < window->row_count ? schedule->worker[maker]
                                                      : window->source[maker - window->row_count];
            if (from != schedule->worker[i]) mib += graph->mib[object];
        }
    }
    return mib / window->cluster.bandwidth;
}

// What a plan comes to, and something for the network that it takes from others.
static double plan_by(struct window *window, struct planner *planner, const struct plan_rule *rule,
                      struct plan_schedule *schedule)
{
    double end = planner_plan(planner, rule, schedule, UINT32_MAX);
    return end + moving_share * moving(window, schedule) / window->cluster.worker_count;
}

// Rules take turns: with few tasks all are tried, with many one or two in each plan.
static void rule_choose(struct window *window, struct planner *planner,
                        struct plan_schedule *schedule)
{
    struct guide *guide = window->guide;
    double least = plan_by(window, planner, &guide->rule, schedule);
    for (uint32_t i = 0; i < RULES && planner_steps(planner) < TRIED_STEPS; i++) {
        const struct plan_rule *rule = &rules[guide->rule_next++ % RULES];
        double cost = plan_by(window, planner, rule, schedule);
        if (cost >= least) continue;
        least = cost;
        guide->rule = *rule;
    }
    guide->sums.searches++;
}

static uint64_t plan(struct window *window, struct plan_schedule *schedule)
{
    struct guide *guide = window->guide;
    struct planner *planner = planner_open(&window->graph, &window->cluster);
    planner_tell(window, planner);
    if (guide->rule_workers != window->cluster.worker_count) guide->rule_plans = 0;
    guide->rule_workers = window->cluster.worker_count;
    if (guide->rule_plans++ % PLANS_A_RULE == 0) rule_choose(window, planner, schedule);
    planner_plan(planner, &guide->rule, schedule, UINT32_MAX);
    uint64_t steps = planner_steps(planner);
    guide->sums.planned += planner_planned(planner);
    planner_close(planner);
    return steps;
}

void guide_plan(struct guide *guide, const struct guide_view *view)
{
    struct window window;
    uint64_t steps = 0;
    guide->has_news = false;
    if (window_open(&window, guide, view)) {
        struct plan_schedule schedule = plan_schedule_take(window.graph.task_count);
        steps = plan(&window, &schedule);
        moves_give(&window, &schedule);
        plan_schedule_release(&schedule);
        guide->sums.plans++;
    }
    steps += 8 * (uint64_t)window.row_count;  // for looking
    guide->sums.steps += steps;
    rota_time pause = (rota_time)(steps * PAUSE / STEPS_A_MICROSECOND);
    guide->plan_next = view->now + (pause > PAUSE_LEAST ? pause : PAUSE_LEAST);
    window_release(&window);
}
