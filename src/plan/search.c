// search.c - tries many schedules in the model and keeps the best.
//
// It starts with a fixed set of rules. Then, within the effort limit, it tries the good rules with
// noise in their ranks, and small changes of the best schedule.
#include "plan/plan.h"

#include <stdlib.h>

static const struct plan_rule rules[] = {
    {.few = true},
    {.penalty = 1, .few = true},
    {.greedy = true},
    {.carried = 1, .penalty = 1},
    {.penalty = 5},
    {.free_network = true},
    {.carried = 1},
    {.by_start = true},
    {.homing = true},
    {.part = 2},
    {.part = 4, .penalty = 1},
    {.homing = true, .part = 2, .penalty = 1},
    {.carried = 1, .greedy = true},
    {.penalty = 0.3},
    {.penalty = 2, .by_start = true},
    {.carried = 1, .penalty = 5},
    {.carried = 1, .free_network = true, .penalty = 1},
};
enum { RULES = sizeof rules / sizeof *rules };

struct climb {
    struct plan_search *search;
    const struct plan_graph *graph;
    struct planner *planner;
    struct model *model;
    struct plan_schedule *best, trial;
    double bound, found[RULES];
    uint64_t random;
    uint32_t *chain;  // the tasks on the critical path of the best schedule
    uint32_t chain_count;
};

static void count_steps(struct climb *climb)
{
    climb->search->steps = planner_steps(climb->planner) + model_sums(climb->model).steps;
}

static bool is_done(const struct climb *climb)
{
    const struct plan_search *search = climb->search;
    double steps = (double)search->steps;
    return search->seconds <= climb->bound * (1 + 1e-9) || search->steps >= search->steps_max
           || steps >= search->seconds * search->steps_each;
}

static double unit(struct climb *climb)
{
    return (double)(random_next(&climb->random) >> 11) * 0x1p-53;
}

static double end_of(const struct climb *climb, uint32_t task)
{
    return model_ends(climb->model, task);
}

// The task it waited for last: the producer of its last input, or the previous task on its core.
static uint32_t waited_for(const struct climb *climb, uint32_t task)
{
    assert(task < climb->graph->task_count);
    const struct plan_graph *graph = climb->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    double began = model_began(climb->model, task), latest = -1;
    uint32_t best = PLAN_NONE;
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
        uint32_t producer = graph->objects[inputs[i]].producer;
        if (producer == PLAN_NONE || end_of(climb, producer) <= latest) continue;
        latest = end_of(climb, producer);
        best = producer;
    }
    if (latest >= began) return best;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        bool here = climb->trial.worker[i] == climb->trial.worker[task] && i != task;
        if (here && end_of(climb, i) == began && model_began(climb->model, i) < began) return i;
    }
    return best;
}

static void find_chain(struct climb *climb)
{
    uint32_t last = 0;
    climb->chain_count = 0;
    for (uint32_t i = 1; i < climb->graph->task_count; i++)
        if (end_of(climb, i) > end_of(climb, last)) last = i;
    while (last != PLAN_NONE && climb->chain_count < climb->graph->task_count) {
        climb->chain[climb->chain_count++] = last;
        last = waited_for(climb, last);
    }
}

// Tries the schedule in `trial`; a tie goes to the newer one, so that the search explores.
static double try_out(struct climb *climb)
{
    double limit = climb->search->plans ? climb->search->seconds * 1.0000001 : 1e300;
    double seconds = plan_replay(climb->model, climb->graph, &climb->trial, limit);
    count_steps(climb);
    climb->search->plans++;
    if (seconds < climb->search->seconds * 1.0000001 || climb->search->plans == 1) {
        if (seconds < climb->search->seconds || climb->search->plans == 1)
            climb->search->seconds = seconds;
        plan_schedule_copy(climb->best, &climb->trial, climb->graph->task_count);
        find_chain(climb);
    }
    return seconds;
}

// With a part of the workers some tasks may find none that is large enough.
static bool is_whole(const struct climb *climb)
{
    for (uint32_t i = 0; i < climb->graph->task_count; i++)
        if (climb->trial.worker[i] == PLAN_NONE) return false;
    return true;
}

static double try_rule(struct climb *climb, const struct plan_rule *rule)
{
    double before = climb->search->plans ? climb->search->seconds : 1e300;
    planner_plan(climb->planner, rule, &climb->trial, UINT32_MAX);
    count_steps(climb);
    if (!is_whole(climb)) return 1e300;
    double seconds = try_out(climb);
    if (seconds < before) climb->search->rule = *rule;
    return seconds;
}

// A random rule; good rules are drawn more often.
static struct plan_rule draw_rule(struct climb *climb)
{
    uint32_t a = random_below(&climb->random, RULES), b = random_below(&climb->random, RULES);
    struct plan_rule rule = rules[climb->found[a] <= climb->found[b] ? a : b];
    if (random_below(&climb->random, 2)) {
        rule = climb->search->rule;
        rule.penalty *= 0.5 + unit(climb);
    }
    rule.noise = 0.02 + 0.4 * unit(climb) * unit(climb);
    rule.seed = random_next(&climb->random);
    return rule;
}

static void change_schedule(struct climb *climb, const struct plan_cluster *cluster)
{
    uint32_t tasks = climb->graph->task_count, task = random_below(&climb->random, tasks);
    struct plan_schedule *trial = &climb->trial;
    plan_schedule_copy(trial, climb->best, tasks);
    if (random_below(&climb->random, 4))
        task = climb->chain[random_below(&climb->random, climb->chain_count)];
    if (random_below(&climb->random, 3) == 0) {
        uint32_t other = random_below(&climb->random, tasks), order = trial->order[task];
        trial->order[task] = trial->order[other];
        trial->order[other] = order;
        return;
    }
    uint32_t worker = random_below(&climb->random, cluster->worker_count);
    const struct plan_task *row = &climb->graph->tasks[task];
    if (row->input_count && random_below(&climb->random, 2)) {  // to the producer of an input
        uint32_t input = row->input + random_below(&climb->random, row->input_count);
        uint32_t producer = climb->graph->objects[climb->graph->inputs[input]].producer;
        if (producer != PLAN_NONE) worker = trial->worker[producer];
    }
    if (!plan_fits(climb->graph, cluster, task, worker)) return;
    trial->worker[task] = worker;
}

static void search_further(struct climb *climb, const struct plan_cluster *cluster)
{
    for (uint32_t i = 0; !is_done(climb); i++) {
        if (i % 4 == 0) {
            struct plan_rule rule = draw_rule(climb);
            try_rule(climb, &rule);
        } else {
            change_schedule(climb, cluster);
            try_out(climb);
        }
    }
}

void plan_search(struct plan_search *search, const struct plan_graph *graph,
                 const struct plan_cluster *cluster, struct plan_schedule *best)
{
    assert(best->worker && best->order);
    struct climb climb = {.search = search, .graph = graph, .best = best, .random = search->seed};
    climb.planner = planner_open(graph, cluster);
    climb.model = model_open(graph, cluster);
    climb.trial = plan_schedule_take(graph->task_count);
    climb.chain = plan_take(graph->task_count, sizeof *climb.chain);
    climb.bound = plan_lower_bound(graph, cluster);
    search->plans = 0;
    search->seconds = 0;
    for (uint32_t i = 0; i < RULES; i++) climb.found[i] = 1e300;
    for (uint32_t i = 0; i < RULES && (i == 0 || !is_done(&climb)); i++)
        climb.found[i] = try_rule(&climb, &rules[i]);
    search_further(&climb, cluster);
    plan_schedule_release(&climb.trial);
    free(climb.chain);
    planner_close(climb.planner);
    model_close(climb.model);
}
