// trial.c - runs a job on simulated workers in virtual time, with the decisions of the real core.
//
// The core sees the same events as in a real cluster: a submission, workers that join, tasks that
// start and end, objects that arrive. The model of plan/plan.h carries out its actions.
#include "sim/whatif/trial_internal.h"

#include <stdlib.h>

static const double microsecond = 1e-6;
enum { LIMIT = 50 };  // times the lower bound

static void fail(const struct trial *trial, enum rota_error error)
{
    fprintf(stderr, "rota simulate: the core refused: %s: %s\n", rota_error_name(error),
            rota_reason(trial->rota));
    abort();
}

static enum rota_error step(struct trial *trial, struct rota_event *event)
{
    event->now = (rota_time)(model_now(trial->model) / microsecond + 0.5);
    if (event->now < trial->now) event->now = trial->now;
    trial->now = event->now;
    trial->events++;
    return rota_step(trial->rota, event);
}

void trial_step(struct trial *trial, struct rota_event *event)
{
    enum rota_error error = step(trial, event);
    if (error) fail(trial, error);
}

bool trial_tell(struct trial *trial, struct rota_event *event)
{
    enum rota_error error = step(trial, event);
    bool old = error == ROTA_STALE || error == ROTA_NOT_FOUND || error == ROTA_NOT_NOW;
    if (error && !old) fail(trial, error);
    return !error;
}

void trial_join(struct trial *trial, uint32_t worker)
{
    const struct plan_cluster *cluster = &trial->setting->cluster;
    struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
    event.worker.id.number = worker + 1;
    event.worker.cores = cluster->cores[worker];
    event.worker.memory_mib = cluster->memory_mib ? cluster->memory_mib[worker] : UINT32_MAX;
    trial_step(trial, &event);
    if (trial->options->policy != ROTA_POLICY_PULL) return;
    struct rota_event asks = {.kind = ROTA_EVENT_WORKER_ASKS};
    asks.asks.id.number = worker + 1;
    asks.asks.count = ROTA_ASK_ALWAYS;
    trial_step(trial, &asks);
}

static void submit(struct trial *trial)
{
    const struct plan_graph *graph = &trial->job->graph;
    struct rota_task_spec *tasks = plan_take(graph->task_count, sizeof *tasks);
    struct rota_output *outputs = plan_take(graph->object_count, sizeof *outputs);
    struct rota_input *inputs = plan_take(graph->input_count, sizeof *inputs);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const struct plan_task *task = &graph->tasks[i];
        tasks[i].body = i + 1;
        tasks[i].cores = task->cores;
        tasks[i].memory_mib = graph->memory_mib ? graph->memory_mib[i] : 0;
        tasks[i].retries_max = trial->options->faults.retries;
        tasks[i].estimate = (rota_time)(trial->seen.seconds[i] / microsecond);
        for (uint32_t k = 0; k < task->input_count; k++)
            inputs[task->input + k]
                = (struct rota_input){i + 1, 0, trial_object(graph->inputs[task->input + k])};
    }
    for (uint32_t i = 0; i < graph->object_count; i++) {
        uint64_t bytes = (uint64_t)(trial->seen.mib[i] * 1048576);
        uint32_t producer = graph->objects[i].producer + 1;
        uint32_t flags = plan_is_stream(graph, i) ? ROTA_OBJECT_STREAM : 0;
        outputs[i] = (struct rota_output){
            .task = producer, .flags = flags, .object = trial_object(i), .bytes = bytes};
    }
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 1, .policy = trial->options->policy,
                                          .last = true, .on_failure = ROTA_FAILURE_FAIL_JOB,
                                          .tasks = tasks, .inputs = inputs,
                                          .outputs = outputs, .task_count = graph->task_count,
                                          .input_count = graph->input_count,
                                          .output_count = graph->object_count};
    trial_step(trial, &event);
    trial_plan_first(trial);  // a plan without a delay is ready before the first task
    trial_turn(trial);
    free(tasks), free(outputs), free(inputs);
}

// Ends a turn of the core and carries out its actions; fetches before the tasks that need them.
void trial_turn(struct trial *trial)
{
    struct rota_event time = {.kind = ROTA_EVENT_TIME};
    double before = trial->options->seconds_now();
    trial_step(trial, &time);
    trial->core_seconds += trial->options->seconds_now() - before;
    struct rota_effects effects = rota_take(trial->rota);
    while (effects.more) effects = rota_take(trial->rota);
    for (uint32_t i = 0; i < effects.action_count; i++) {
        const struct rota_action *action = &effects.actions[i];
        if (action->kind == ROTA_ACTION_JOB_OVER) {
            trial->is_over = true;
            trial->has_failed = action->job_over.failed || action->job_over.aborted;
        }
        trial_order(trial, action);
    }
}

// ---- The run ------------------------------------------------------------------------------------

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

static double next_decision(const struct trial *trial)
{
    rota_time due = rota_deadline(trial->rota);
    double core = due == ROTA_NEVER ? 1e300 : (double)due * microsecond;
    double outside = earlier(trial_messages_due(trial), trial_faults_due(trial));
    return earlier(earlier(core, trial_plan_due(trial)), outside);
}

// True: a task started, so the reader of its stream may be next.
static bool start(struct trial *trial)
{
    const uint32_t *tasks;
    model_settle(trial->model);
    uint32_t count = model_started(trial->model, &tasks);
    for (uint32_t i = 0; i < count; i++)
        trial_news(trial, (struct news){NEWS_STARTED, model_worker(trial->model, tasks[i]),
                                        tasks[i], trial->attempt[tasks[i]],
                                        model_now(trial->model)});
    return count;
}

static void tell_ended(struct trial *trial, const uint32_t *tasks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool failed = model_failed(trial->model, tasks[i]);
        trial_news(trial, (struct news){failed ? NEWS_FAILED : NEWS_ENDED,
                                        model_worker(trial->model, tasks[i]), tasks[i],
                                        trial->attempt[tasks[i]], model_now(trial->model)});
    }
}

static void tell_arrived(struct trial *trial)
{
    const struct model_arrival *arrivals;
    uint32_t count = model_arrived(trial->model, &arrivals);
    for (uint32_t i = 0; i < count; i++)
        trial_news(trial, (struct news){NEWS_ARRIVED, arrivals[i].worker, arrivals[i].object, 0,
                                        model_now(trial->model)});
}

// Downloads that were cut by another worker, or by a full disk.
static bool tell_cut(struct trial *trial)
{
    static const enum news_kind kinds[] = {[MODEL_CUT_READER] = NEWS_LOST,
                                           [MODEL_CUT_WRITER] = NEWS_FAILED,
                                           [MODEL_CUT_INPUT] = NEWS_NO_ROOM};
    const uint32_t *tasks;
    uint32_t count = model_cut_off(trial->model, &tasks);
    for (uint32_t i = 0; i < count; i++)
        trial_news(trial, (struct news){kinds[model_why(trial->model, tasks[i])],
                                        model_worker(trial->model, tasks[i]), tasks[i],
                                        trial->attempt[tasks[i]], model_now(trial->model)});
    return count;
}

static bool time_advance(struct trial *trial)
{
    const uint32_t *ended;
    while (start(trial) || tell_cut(trial)) continue;
    double until = next_decision(trial);
    if (!model_advance(trial->model, until)) {
        if (until >= 1e300) return false;
        model_wait(trial->model, until);
    }
    uint32_t count = model_ended(trial->model, &ended);
    tell_ended(trial, ended, count);
    tell_arrived(trial);
    trial_faults_happen(trial);
    bool delivered = trial_messages_deliver(trial);
    if ((!count && !delivered) || next_decision(trial) <= model_now(trial->model))
        trial_turn(trial);
    trial_plan_again(trial);
    return true;
}

static void trial_open(struct trial *trial)
{
    struct rota_config config = rota_config_default();
    rota_time pause = (rota_time)(trial->options->delay / microsecond);
    config.policy = trial->options->policy;
    config.plan_submit = config.plan_update = config.plan_idle = pause;
    config.inputs_wait = (rota_time)(trial->options->patience / microsecond);
    if (config.cached_wait > config.inputs_wait) config.cached_wait = config.inputs_wait;
    config.lease = (rota_time)(trial->options->faults.lease / microsecond);
    config.pull_by_rank = trial->options->by_rank;
    if (rota_open(&config, &trial->rota)) abort();
    trial->model = model_open(&trial->job->graph, &trial->setting->cluster);
    trial->attempt = plan_take(trial->job->graph.task_count, sizeof *trial->attempt);
    uint32_t most = 0;
    for (uint32_t i = 0; i < trial->job->graph.task_count; i++)
        if (most < trial->job->graph.tasks[i].output_count)
            most = trial->job->graph.tasks[i].output_count;
    trial->sizes = plan_take(most, sizeof *trial->sizes);
    trial->number.number = 1;
    trial_messages_open(trial);
    trial_faults_open(trial);
}

static void trial_close(struct trial *trial)
{
    trial_plan_close(trial);
    trial_faults_close(trial);
    rota_close(trial->rota);
    model_close(trial->model);
    whatif_graph_forget(&trial->seen);
    trial_messages_close(trial);
    free(trial->attempt), free(trial->sizes);
}

// With faults a run may make no progress: lost objects are made again and lost again.
static double time_limit(const struct trial *trial)
{
    const struct whatif_faults *faults = &trial->options->faults;
    bool some = faults->crashes > 0 || faults->failures > 0;
    double bound = plan_lower_bound(&trial->job->graph, &trial->setting->cluster);
    double waits = faults->lease + (faults->back > 0 ? faults->back : 0);
    return some ? LIMIT * (bound + waits) : 1e300;
}

bool whatif_run(const struct whatif_job *job, const struct whatif_setting *setting,
             const struct whatif_options *options, struct whatif_course *course)
{
    struct trial trial = {.job = job, .setting = setting, .options = options, .course = course};
    double before = options->seconds_now();
    trial.seen = whatif_graph_seen(job, options->info);
    trial_open(&trial);
    for (uint32_t i = 0; i < setting->cluster.worker_count; i++) trial_join(&trial, i);
    submit(&trial);
    double limit = time_limit(&trial);
    while (!trial.is_over && model_now(trial.model) < limit && time_advance(&trial)) continue;
    struct model_sums sums = model_sums(trial.model);
    course->makespan = 0;  // the end of the last task; the core may learn of it later
    for (uint32_t i = 0; i < job->graph.task_count; i++)
        if (course->makespan < course->ended[i]) course->makespan = course->ended[i];
    course->transfers = sums.transfers;
    course->mib = sums.mib;
    course->events = trial.events;
    course->moves = trial.moves;
    course->core_seconds = trial.core_seconds;
    course->search_seconds = trial.search_seconds;
    course->plan_seconds = trial.plan_seconds;
    course->planned = trial.planned;
    course->plans = trial.plans;
    course->replans = trial.replans;
    course->replan_seconds = trial.replan_seconds;
    course->seconds = options->seconds_now() - before;
    bool done = trial.is_over && !trial.has_failed;
    trial_close(&trial);
    return done;
}
