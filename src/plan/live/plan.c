// plan.c - plans from the state of the core, and reports the changes.
#include "plan/live/internal.h"

#include <stdlib.h>

// share of its age that a late task takes longer (plan/rolling.c)
static const double overdue_share = 0.4;
// weight of transfer time, as if no other work were done meanwhile
static const double moving_share = 1;
static const double loyalty_share = 1;  // of the mean duration, the gain before a task moves

enum {
    PLANS_A_RULE = 8,     // before other rules are tried again
    TRIED_STEPS = 60000,  // after this effort no further rule is tried: some 1.5 ms
    QUEUED_LOYALTY = 2,   // recalling a task costs messages, and perhaps a start
    STEPS_A_MICROSECOND = 40,
    PAUSE = 9,            // times the duration of a plan: planning takes a tenth of the time
    PAUSE_LEAST = 10000,  // so that changes in quick succession are planned together
};

struct live *live_open(void)
{
    struct live *live = plan_take(1, sizeof *live);
    live->rule.few = true;
    live->kinds = live_grow(NULL, &live->kind_capacity, 1, sizeof *live->kinds);
    return live;
}

void live_close(struct live *live)
{
    if (!live) return;
    while (live->job_count) live_forget(live, live->jobs[live->job_count - 1]->id);
    map_release(&memory_heap, &live->jobs_by_id);
    map_release(&memory_heap, &live->kinds_by_hash);
    free(live->jobs), free(live->kinds), free(live);
}

void live_news(struct live *live)
{
    live->has_news = true;
}

rota_time live_due(const struct live *live)
{
    return live->has_news && live->job_count ? live->plan_next : ROTA_NEVER;
}

struct live_sums live_sums(const struct live *live)
{
    return live->sums;
}

uint32_t live_words(const struct live *live, const struct rota *rota, struct live_word *out,
                     uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < live->job_count; i++) {
        const struct live_job *job = live->jobs[i];
        for (uint32_t k = 0; k < job->task_count; k++) {
            rota_task_id id = {job->id.number, k + 1};
            if (!job->tasks[k].bound || rota_task_state(rota, id) > ROTA_TASK_OFFERED) continue;
            if (count < max) out[count] = (struct live_word){id, {job->tasks[k].bound}};
            count++;
        }
    }
    return count;
}

// ---- Input of the planner -------------------------------------------------------------------

static void running_tell(struct window *window, struct planner *planner, uint32_t at)
{
    assert(at < window->row_count);
    const struct live_row *row = &window->rows[at];
    struct live_task *task = &row->job->tasks[row->task];
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
        const struct live_row *row = &window->rows[i];
        struct live_task *task = &row->job->tasks[row->task];
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
        const struct live_copy *copy = &window->copies[i];
        double takes = graph->mib[copy->object] / window->cluster.bandwidth;
        planner_set_copy(planner, copy->object, copy->worker, copy->is_there ? 0 : takes);
    }
    for (uint32_t i = 0; i < window->cluster.worker_count; i++)
        if (window->foreign[i]) planner_set_busy(planner, i, window->foreign[i], mean);
    planner_set_loyalty(planner, loyalty_share * mean);
}

// ---- Result of the planner ------------------------------------------------------------------

static bool may_move(const struct window *window, uint32_t at)
{
    assert(at < window->row_count);
    const struct live_row *row = &window->rows[at];
    bool waits = row->look.state >= ROTA_TASK_QUEUED && row->look.state <= ROTA_TASK_OFFERED;
    // Attempts of a silent worker may be running there, and the worker may return soon.
    bool queued = row->look.state == ROTA_TASK_ASSIGNED && row->look.queued
                  && window_worker(window, row->look.worker) != PLAN_NONE;
    return (waits || queued) && row->job->tasks[row->task].is_open;
}

// Tasks of the same job are adjacent.
static void moves_give(struct window *window, const struct plan_schedule *schedule)
{
    assert(window->row_count > 0);
    const struct live_view *view = window->view;
    struct rota_placement *moves = plan_take(window->row_count, sizeof *moves);
    uint32_t count = 0;
    for (uint32_t i = 0; i < window->row_count; i++) {
        const struct live_row *row = &window->rows[i];
        struct live_task *task = &row->job->tasks[row->task];
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

// ---- Choosing a rule ------------------------------------------------------------------------

// Rules for planning (plan/plan.h): which one is best depends on the graph.
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

// Seconds to transfer all objects that a plan moves, one after the other.
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

// The duration of a plan, plus a penalty for the network capacity it takes from other jobs.
static double plan_by(struct window *window, struct planner *planner, const struct plan_rule *rule,
                      struct plan_schedule *schedule)
{
    double end = planner_plan(planner, rule, schedule, UINT32_MAX);
    return end + moving_share * moving(window, schedule) / window->cluster.worker_count;
}

// Rules are tried in turn: all of them if there are few tasks, otherwise one or two in each plan.
static void rule_choose(struct window *window, struct planner *planner,
                        struct plan_schedule *schedule)
{
    assert(window->row_count > 0);
    struct live *live = window->live;
    double least = plan_by(window, planner, &live->rule, schedule);
    for (uint32_t i = 0; i < RULES && planner_steps(planner) < TRIED_STEPS; i++) {
        const struct plan_rule *rule = &rules[live->rule_next++ % RULES];
        double cost = plan_by(window, planner, rule, schedule);
        if (cost >= least) continue;
        least = cost;
        live->rule = *rule;
    }
    live->sums.searches++;
}

static uint64_t plan(struct window *window, struct plan_schedule *schedule)
{
    assert(window->row_count > 0);
    struct live *live = window->live;
    struct planner *planner = planner_open(&window->graph, &window->cluster);
    planner_tell(window, planner);
    if (live->rule_workers != window->cluster.worker_count) live->rule_plans = 0;
    live->rule_workers = window->cluster.worker_count;
    if (live->rule_plans++ % PLANS_A_RULE == 0) rule_choose(window, planner, schedule);
    planner_plan(planner, &live->rule, schedule, UINT32_MAX);
    uint64_t steps = planner_steps(planner);
    live->sums.planned += planner_planned(planner);
    planner_close(planner);
    return steps;
}

void live_plan(struct live *live, const struct live_view *view)
{
    struct window window;
    uint64_t steps = 0;
    live->has_news = false;
    if (window_open(&window, live, view)) {
        struct plan_schedule schedule = plan_schedule_take(window.graph.task_count);
        steps = plan(&window, &schedule);
        moves_give(&window, &schedule);
        plan_schedule_release(&schedule);
        live->sums.plans++;
    }
    steps += 8 * (uint64_t)window.row_count;  // the effort of building the window
    live->sums.steps += steps;
    rota_time pause = (rota_time)(steps * PAUSE / STEPS_A_MICROSECOND);
    live->plan_next = view->now + (pause > PAUSE_LEAST ? pause : PAUSE_LEAST);
    window_release(&window);
    assert(live->plan_next > view->now);
}
