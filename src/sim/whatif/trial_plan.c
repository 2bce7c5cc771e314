// trial_plan.c - plans for a trial: the best of many at the beginning, and new ones after
// surprises.
//
// With a delay between decisions each also takes time: it is made from what is known then, and
// takes effect later.
#include "sim/whatif/trial_internal.h"

#include <stdlib.h>

static const double decision_takes = 0.05;  // seconds, when decisions are delayed
static const double affordable = 0.01;      // of the run may be spent on searching a plan
static const double steps_a_second = 1e8;   // of plan_search(), roughly: for effort only

// A plan may order tasks one after the other that have to run at the same time.
static bool is_joined(const struct trial *trial, uint32_t task)
{
    return trial->job->graph.group && trial->job->graph.group[task];
}

static void give(struct trial *trial, const struct plan_schedule *schedule, const uint32_t *tasks,
                 uint32_t count)
{
    struct rota_placement *placements = plan_take(count, sizeof *placements);
    struct rota_event event = {.kind = ROTA_EVENT_PLAN};
    uint32_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = tasks ? tasks[i] : i;
        bool bound = schedule->worker[task] != PLAN_NONE && !is_joined(trial, task);
        uint32_t number = bound ? schedule->worker[task] + 1 : 0;
        placements[given++] = (struct rota_placement){task + 1, {number}, schedule->order[task]};
    }
    event.plan.job = trial->number;
    event.plan.placements = placements;
    event.plan.count = given;
    trial_step(trial, &event);
    free(placements);
}

// Adds up the costs of plans, for the output.
static void measure(struct trial *trial)
{
    struct planner *planner = planner_open(&trial->seen, &trial->setting->cluster);
    struct plan_rule rule = {.few = true};
    double before = trial->options->seconds_now();
    planner_plan(planner, &rule, &trial->first, UINT32_MAX);
    trial->plan_seconds += trial->options->seconds_now() - before;
    trial->planned += planner_planned(planner);
    planner_close(planner);
}

static void search(struct trial *trial)
{
    const struct plan_cluster *cluster = &trial->setting->cluster;
    uint32_t count = trial->job->graph.task_count;
    // With unknown durations all plans are equally good: one is enough.
    bool known = trial->options->info == WHATIF_EXACT;
    struct plan_search search = {.seed = trial->options->seed,
                                 .steps_max = known ? trial->options->steps_max : 1,
                                 .steps_each = affordable * steps_a_second};
    trial->first = plan_schedule_take(count);
    measure(trial);
    double before = trial->options->seconds_now();
    struct plan_cluster roomy = *cluster;
    roomy.disk_mib = NULL;  // a schedule alone does not say what may be dropped
    plan_search(&search, &trial->seen, &roomy, &trial->first);
    trial->search_seconds = trial->options->seconds_now() - before;
    trial->plans += search.plans;
    trial->course->predicted = search.seconds;
    trial->rolling = rolling_open(&trial->seen, cluster, trial->job->kinds);
    rolling_bind(trial->rolling, &trial->first);
}

void trial_plan_first(struct trial *trial)
{
    trial->plan_at = trial->plan_next = -1;
    if (trial->options->policy != ROTA_POLICY_PLAN || !trial->options->steps_max) return;
    search(trial);
    if (trial->options->delay > 0) model_wait(trial->model, decision_takes);
    trial->plan_next = trial->options->delay;
    give(trial, &trial->first, NULL, trial->job->graph.task_count);
}

static void plan_now(struct trial *trial)
{
    const struct plan_schedule *schedule;
    const uint32_t *tasks;
    double before = trial->options->seconds_now();
    uint64_t planned = rolling_planned(trial->rolling);
    uint32_t count = rolling_plan(trial->rolling, model_now(trial->model), &schedule, &tasks);
    double took = trial->options->seconds_now() - before;
    trial->plan_seconds += took;
    trial->replan_seconds += took;
    trial->planned += rolling_planned(trial->rolling) - planned;
    trial->replans++;
    if (!count) return;
    give(trial, schedule, tasks, count);
    trial_turn(trial);
}

// A delayed decision is made when it takes effect, as if nothing that happened in between had been
// worth waiting for.
void trial_plan_again(struct trial *trial)
{
    double now = model_now(trial->model), delay = trial->options->delay;
    if (!trial->rolling) return;
    if (trial->plan_at < 0 && rolling_is_surprised(trial->rolling)) {
        double call = now > trial->plan_next ? now : trial->plan_next;
        trial->plan_at = delay > 0 ? call + decision_takes : now;
    }
    if (trial->plan_at < 0 || trial->plan_at > now) return;
    trial->plan_at = -1;
    trial->plan_next = now + delay;
    plan_now(trial);
}

double trial_plan_due(const struct trial *trial)
{
    return trial->plan_at < 0 ? 1e300 : trial->plan_at;
}

void trial_plan_close(struct trial *trial)
{
    rolling_close(trial->rolling);
    plan_schedule_release(&trial->first);
}
