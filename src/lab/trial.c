// trial.c - a job on workers in virtual time, decided by the real core.
//
// The core sees what it would see of a real cluster: a submission, workers that join, tasks that
// start and end, objects that arrive. What it asks for is done by the model of plan/plan.h.
// Messages take no time; the only thing that does is deciding, if that is wanted.
#include "lab/trial_parts.h"

#include <stdlib.h>

static const double microsecond = 1e-6;

static void fail(const struct trial *trial, enum rota_error error)
{
    fprintf(stderr, "rota simulate: the core refused: %s: %s\n", rota_error_name(error),
            rota_reason(trial->rota));
    abort();
}

void trial_step(struct trial *trial, struct rota_event *event)
{
    event->now = (rota_time)(model_now(trial->model) / microsecond + 0.5);
    if (event->now < trial->now) event->now = trial->now;
    trial->now = event->now;
    trial->events++;
    enum rota_error error = rota_step(trial->rota, event);
    if (error) fail(trial, error);
}

static rota_object_id object_id(uint32_t object)
{
    return (rota_object_id){1, (uint64_t)object + 1};
}

static void join_workers(struct trial *trial)
{
    const struct plan_cluster *cluster = &trial->setting->cluster;
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
        event.worker.id.number = i + 1;
        event.worker.cores = cluster->cores[i];
        event.worker.memory_mib = UINT32_MAX;
        trial_step(trial, &event);
        if (trial->options->policy != ROTA_POLICY_PULL) continue;
        struct rota_event asks = {.kind = ROTA_EVENT_WORKER_ASKS};
        asks.asks.id.number = i + 1;
        asks.asks.count = ROTA_ASK_ALWAYS;
        trial_step(trial, &asks);
    }
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
        tasks[i].estimate = (rota_time)(trial->seen.seconds[i] / microsecond);
        for (uint32_t k = 0; k < task->input_count; k++)
            inputs[task->input + k]
                = (struct rota_input){i + 1, 0, object_id(graph->inputs[task->input + k])};
    }
    for (uint32_t i = 0; i < graph->object_count; i++) {
        uint64_t bytes = (uint64_t)(trial->seen.mib[i] * 1048576);
        outputs[i] = (struct rota_output){graph->objects[i].producer + 1, 0, object_id(i), bytes};
    }
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 1, .policy = trial->options->policy,
                                          .last = true, .tasks = tasks, .inputs = inputs,
                                          .outputs = outputs, .task_count = graph->task_count,
                                          .input_count = graph->input_count,
                                          .output_count = graph->object_count};
    trial_step(trial, &event);
    trial_plan_first(trial);  // a plan that takes no time is there before anything is handed out
    trial_turn(trial);
    free(tasks), free(outputs), free(inputs);
}

// ---- What the core asks for ------------------------------------------------------------------

// The model wants one number: who waits for nothing but objects goes before all others.
static const double only_transfers = 1e6;

static void fetch(struct trial *trial, const struct rota_action *action)
{
    uint32_t object = (uint32_t)action->fetch.object.low - 1;
    uint32_t worker = action->fetch.worker.number - 1;
    double urgency = action->fetch.order + (action->fetch.soon ? only_transfers : 0);
    if (action->fetch.again && model_is_under_way(trial->model, object, worker)) return;
    model_request(trial->model, object, worker, urgency);
    if (trial->rolling) rolling_asked(trial->rolling, object, worker, model_now(trial->model));
}

static void call_off(struct trial *trial, const struct rota_action *action)
{
    uint32_t object = (uint32_t)action->drop.object.low - 1;
    uint32_t worker = action->drop.worker.number - 1;
    if (action->drop.ahead && model_call_off(trial->model, object, worker) && trial->rolling)
        rolling_called_off(trial->rolling, object, worker);
}

static void perform(struct trial *trial, const struct rota_action *action)
{
    switch (action->kind) {
    case ROTA_ACTION_FETCH: fetch(trial, action); break;
    case ROTA_ACTION_DROP: call_off(trial, action); break;
    case ROTA_ACTION_STOP:
        model_retract(trial->model, action->stop.task.task - 1);
        trial->moves++;
        break;
    case ROTA_ACTION_RUN: {
        uint32_t task = action->run.task.task - 1;
        trial->attempt[task] = action->run.attempt;
        model_assign(trial->model, task, action->run.worker.number - 1, action->run.order);
        break;
    }
    default: break;
    }
}

// Ends a turn of the core and does what it asks for; fetches before what needs them.
void trial_turn(struct trial *trial)
{
    struct rota_event time = {.kind = ROTA_EVENT_TIME};
    double before = trial->options->seconds_now();
    trial_step(trial, &time);
    trial->core_seconds += trial->options->seconds_now() - before;
    struct rota_effects effects = rota_take(trial->rota);
    while (effects.more) effects = rota_take(trial->rota);
    for (uint32_t i = 0; i < effects.action_count; i++) perform(trial, &effects.actions[i]);
}

// ---- What the core is told ---------------------------------------------------------------------

static struct rota_event report(const struct trial *trial, enum rota_event_kind kind, uint32_t task)
{
    struct rota_event event = {.kind = kind};
    event.report.worker.number = model_worker(trial->model, task) + 1;
    event.report.task = (rota_task_id){trial->number.number, task + 1};
    event.report.attempt = trial->attempt[task];
    event.report.outcome = ROTA_OUTCOME_OK;
    return event;
}

static void tell_started(struct trial *trial)
{
    const uint32_t *tasks;
    uint32_t count = model_started(trial->model, &tasks);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_event event = report(trial, ROTA_EVENT_TASK_STARTED, tasks[i]);
        trial_step(trial, &event);
        trial->course->worker[tasks[i]] = event.report.worker.number - 1;
        trial->course->began[tasks[i]] = model_now(trial->model);
        if (trial->rolling)
            rolling_started(trial->rolling, tasks[i], event.report.worker.number - 1,
                            model_now(trial->model));
    }
}

static void tell_ended(struct trial *trial, uint32_t task)
{
    const struct plan_task *row = &trial->job->graph.tasks[task];
    struct rota_event event = report(trial, ROTA_EVENT_TASK_FINISHED, task);
    for (uint32_t i = 0; i < row->output_count; i++) {
        double mib = trial->job->graph.mib[row->output + i];
        trial->sizes[i] = (struct rota_output){task + 1, 0, object_id(row->output + i),
                                               (uint64_t)(mib * 1048576)};
        if (trial->rolling) rolling_made(trial->rolling, row->output + i, mib);
    }
    event.report.sizes = trial->sizes;
    event.report.size_count = row->output_count;
    trial_step(trial, &event);
    trial->course->ended[task] = model_now(trial->model);
    trial->left--;
    if (trial->rolling) rolling_ended(trial->rolling, task, model_now(trial->model));
    trial_turn(trial);
}

static void tell_arrived(struct trial *trial)
{
    const struct model_arrival *arrivals;
    uint32_t count = model_arrived(trial->model, &arrivals);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_OBJECT_HELD};
        event.replica.worker.number = arrivals[i].worker + 1;
        event.replica.object = object_id(arrivals[i].object);
        event.replica.bytes = (uint64_t)(trial->job->graph.mib[arrivals[i].object] * 1048576);
        if (rota_object_state(trial->rota, event.replica.object) == ROTA_OBJECT_FINISHED)
            trial_step(trial, &event);
        if (trial->rolling)
            rolling_arrived(trial->rolling, arrivals[i].object, arrivals[i].worker);
    }
}

// ---- The course ---------------------------------------------------------------------------------

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

static double next_decision(const struct trial *trial)
{
    rota_time due = rota_deadline(trial->rota);
    double core = due == ROTA_NEVER ? 1e300 : (double)due * microsecond;
    return earlier(core, trial_plan_due(trial));
}

static bool go_on(struct trial *trial)
{
    const uint32_t *ended;
    double until = next_decision(trial);
    model_settle(trial->model);
    tell_started(trial);
    if (!model_advance(trial->model, until)) {
        if (until >= 1e300) return false;
        model_wait(trial->model, until);
    }
    uint32_t count = model_ended(trial->model, &ended);
    for (uint32_t i = 0; i < count; i++) tell_ended(trial, ended[i]);
    tell_arrived(trial);
    if (!count || next_decision(trial) <= model_now(trial->model)) trial_turn(trial);
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
    config.lease = ROTA_NEVER / 2;
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
    trial->left = trial->job->graph.task_count;
}

static void trial_close(struct trial *trial)
{
    trial_plan_close(trial);
    rota_close(trial->rota);
    model_close(trial->model);
    lab_graph_forget(&trial->seen);
    free(trial->attempt), free(trial->sizes);
}

bool lab_run(const struct lab_job *job, const struct lab_setting *setting,
             const struct lab_options *options, struct lab_course *course)
{
    struct trial trial = {.job = job, .setting = setting, .options = options, .course = course};
    double before = options->seconds_now();
    trial.seen = lab_graph_seen(job, options->info);
    trial_open(&trial);
    join_workers(&trial);
    submit(&trial);
    while (trial.left && go_on(&trial)) continue;
    struct model_sums sums = model_sums(trial.model);
    course->makespan = model_now(trial.model);
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
    bool done = !trial.left;
    trial_close(&trial);
    return done;
}
