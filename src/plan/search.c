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

struct hunt {
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

static void count_steps(struct hunt *hunt)
{
    hunt->search->steps = planner_steps(hunt->planner) + model_sums(hunt->model).steps;
}

static bool is_done(const struct hunt *hunt)
{
    const struct plan_search *search = hunt->search;
    double steps = (double)search->steps;
    return search->seconds <= hunt->bound * (1 + 1e-9) || search->steps >= search->steps_max
           || steps >= search->seconds * search->steps_each;
}

static double unit(struct hunt *hunt)
{
    return (double)(random_next(&hunt->random) >> 11) * 0x1p-53;
}

static double end_of(const struct hunt *hunt, uint32_t task)
{
    return model_ends(hunt->model, task);
}

// The task it waited for last: the producer of its last input, or the previous task on its core.
static uint32_t waited_for(const struct hunt *hunt, uint32_t task)
{
    assert(task < hunt->graph->task_count);
    const struct plan_graph *graph = hunt->graph;
    const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
    double began = model_began(hunt->model, task), latest = -1;
    uint32_t best = PLAN_NONE;
    for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
        uint32_t producer = graph->objects[inputs[i]].producer;
        if (producer == PLAN_NONE || end_of(hunt, producer) <= latest) continue;
        latest = end_of(hunt, producer);
        best = producer;
    }
    if (latest >= began) return best;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        bool here = hunt->trial.worker[i] == hunt->trial.worker[task] && i != task;
        if (here && end_of(hunt, i) == began && model_began(hunt->model, i) < began) return i;
    }
    return best;
}

static void find_chain(struct hunt *hunt)
{
    uint32_t last = 0;
    hunt->chain_count = 0;
    for (uint32_t i = 1; i < hunt->graph->task_count; i++)
        if (end_of(hunt, i) > end_of(hunt, last)) last = i;
    while (last != PLAN_NONE && hunt->chain_count < hunt->graph->task_count) {
        hunt->chain[hunt->chain_count++] = last;
        last = waited_for(hunt, last);
    }
}

// Tries the schedule in `trial`; a tie goes to the newer one, so that the search explores.
static double try_out(struct hunt *hunt)
{
    double limit = hunt->search->plans ? hunt->search->seconds * 1.0000001 : 1e300;
    double seconds = plan_replay(hunt->model, hunt->graph, &hunt->trial, limit);
    count_steps(hunt);
    hunt->search->plans++;
    if (seconds < hunt->search->seconds * 1.0000001 || hunt->search->plans == 1) {
        if (seconds < hunt->search->seconds || hunt->search->plans == 1)
            hunt->search->seconds = seconds;
        plan_schedule_copy(hunt->best, &hunt->trial, hunt->graph->task_count);
        find_chain(hunt);
    }
    return seconds;
}

// With a part of the workers some tasks may find none that is large enough.
static bool is_whole(const struct hunt *hunt)
{
    for (uint32_t i = 0; i < hunt->graph->task_count; i++)
        if (hunt->trial.worker[i] == PLAN_NONE) return false;
    return true;
}

static double try_rule(struct hunt *hunt, const struct plan_rule *rule)
{
    double before = hunt->search->plans ? hunt->search->seconds : 1e300;
    planner_plan(hunt->planner, rule, &hunt->trial, UINT32_MAX);
    count_steps(hunt);
    if (!is_whole(hunt)) return 1e300;
    double seconds = try_out(hunt);
    if (seconds < before) hunt->search->rule = *rule;
    return seconds;
}

// A random rule; good rules are drawn more often.
static struct plan_rule draw_rule(struct hunt *hunt)
{
    uint32_t a = random_below(&hunt->random, RULES), b = random_below(&hunt->random, RULES);
    struct plan_rule rule = rules[hunt->found[a] <= hunt->found[b] ? a : b];
    if (random_below(&hunt->random, 2)) {
        rule = hunt->search->rule;
        rule.penalty *= 0.5 + unit(hunt);
    }
    rule.noise = 0.02 + 0.4 * unit(hunt) * unit(hunt);
    rule.seed = random_next(&hunt->random);
    return rule;
}

static void change_schedule(struct hunt *hunt, const struct plan_cluster *cluster)
{
    uint32_t tasks = hunt->graph->task_count, task = random_below(&hunt->random, tasks);
    struct plan_schedule *trial = &hunt->trial;
    plan_schedule_copy(trial, hunt->best, tasks);
    if (random_below(&hunt->random, 4))
        task = hunt->chain[random_below(&hunt->random, hunt->chain_count)];
    if (random_below(&hunt->random, 3) == 0) {
        uint32_t other = random_below(&hunt->random, tasks), order = trial->order[task];
        trial->order[task] = trial->order[other];
        trial->order[other] = order;
        return;
    }
    uint32_t worker = random_below(&hunt->random, cluster->worker_count);
    const struct plan_task *row = &hunt->graph->tasks[task];
    if (row->input_count && random_below(&hunt->random, 2)) {  // to the producer of an input
        uint32_t input = row->input + random_below(&hunt->random, row->input_count);
        uint32_t producer = hunt->graph->objects[hunt->graph->inputs[input]].producer;
        if (producer != PLAN_NONE) worker = trial->worker[producer];
    }
    if (!plan_fits(hunt->graph, cluster, task, worker)) return;
    trial->worker[task] = worker;
}

static void hunt_on(struct hunt *hunt, const struct plan_cluster *cluster)
{
    for (uint32_t i = 0; !is_done(hunt); i++) {
        if (i % 4 == 0) {
            struct plan_rule rule = draw_rule(hunt);
            try_rule(hunt, &rule);
        } else {
            change_schedule(hunt, cluster);
            try_out(hunt);
        }
    }
}

void plan_search(struct plan_search *search, const struct plan_graph *graph,
                 const struct plan_cluster *cluster, struct plan_schedule *best)
{
    assert(best->worker && best->order);
    struct hunt hunt = {.search = search, .graph = graph, .best = best, .random = search->seed};
    hunt.planner = planner_open(graph, cluster);
    hunt.model = model_open(graph, cluster);
    hunt.trial = plan_schedule_take(graph->task_count);
    hunt.chain = plan_take(graph->task_count, sizeof *hunt.chain);
    hunt.bound = plan_lower_bound(graph, cluster);
    search->plans = 0;
    search->seconds = 0;
    for (uint32_t i = 0; i < RULES; i++) hunt.found[i] = 1e300;
    for (uint32_t i = 0; i < RULES && (i == 0 || !is_done(&hunt)); i++)
        hunt.found[i] = try_rule(&hunt, &rules[i]);
    hunt_on(&hunt, cluster);
    plan_schedule_release(&hunt.trial);
    free(hunt.chain);
    planner_close(hunt.planner);
    model_close(hunt.model);
}
