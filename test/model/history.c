// history.c - drives core and model side by side through one random history.
#include "history.h"

#include <stdlib.h>
#include <string.h>

uint32_t history_pick(struct history *history, uint32_t count)
{
    return choice_pick(&history->choice, count);
}

bool history_chance(struct history *history, uint32_t in)
{
    return history_pick(history, in) == in - 1;
}

bool history_has(struct history *history, enum feature feature)
{
    return history->features[feature];
}

// ---- Statistics ----------------------------------------------------------------------

static void states_remember(struct history *history)
{
    history->before_count = history->model->task_count;
    for (uint32_t i = 0; i < history->before_count; i++) {
        history->before[i].id = history->model->tasks[i].id;
        history->before[i].state = history->model->tasks[i].state;
    }
}

static void states_count(struct history *history)
{
    const struct model *model = history->model;
    uint32_t at = 0;  // rows are removed and added at the end; the others keep their order
    for (uint32_t i = 0; i < model->task_count; i++) {
        enum rota_task_state from = ROTA_TASK_NONE, to = model->tasks[i].state;
        uint32_t k = at;
        while (k < history->before_count
               && !model_same_task(history->before[k].id, model->tasks[i].id))
            k++;
        if (k < history->before_count) {
            from = history->before[k].state;
            at = k + 1;
        }
        if (from == to) continue;
        history->stats->states[to]++;
        history->stats->moves[from][to]++;
        history->stats->regenerations += model->tasks[i].regenerating;
    }
}

// ---- One event -------------------------------------------------------------------------

static bool agrees(const struct history *history)
{
    return history->model->difference[0] == 0;
}

static void verdict_compare(struct history *history, enum model_verdict verdict,
                            enum rota_error error, uint64_t digest)
{
    struct model *model = history->model;
    if (verdict == MODEL_ACCEPT && error != ROTA_OK) {
        model_differs(model, "the core refuses (%s: %s) what the model accepts",
                      rota_error_name(error), rota_reason(history->rota));
    }
    if (verdict == MODEL_REFUSE && error == ROTA_OK) {
        model_differs(model, "the core accepts what the model refuses");
    }
    if (error == ROTA_OK) return;
    if (rota_digest(history->rota) != digest)
        model_differs(model, "a refused event changed the digest");
    if (rota_reason(history->rota)[0] == 0)
        model_differs(model, "no reason is given for a refusal");
}

// A step without memory changes nothing, unless time passed, and can be repeated.
static enum rota_error step(struct history *history, const struct rota_event *event,
                            uint64_t digest)
{
    bool time = event->kind == ROTA_EVENT_TIME;
    for (uint32_t tries = 0;; tries++) {
        enum rota_error error = rota_step(history->rota, event);
        if (error != ROTA_NO_MEMORY || tries == 3) return error;
        history->refusals++;
        if (!time && rota_digest(history->rota) != digest) {
            model_differs(history->model, "an event refused for lack of memory changed the digest");
        }
        rota_check(history->rota);
    }
}

static bool is_claim_of_any(const struct rota_event *event)
{
    return event->kind == ROTA_EVENT_CLAIM && event->claim.task.task == 0;
}

// The tasks that a claim without a name may get: tasks for handlers that are the next of their
// lane.
static bool is_for_any(struct model *model, const struct model_task *task, uint32_t job)
{
    if (task->state != ROTA_TASK_OFFERED || (job && task->id.job != job)) return false;
    if (model_policy(model, task) != ROTA_POLICY_CLAIM) return false;
    return model_is_first_of_lane(model, task);
}

static enum model_verdict any_verdict(struct history *history, uint32_t job)
{
    struct model *model = history->model;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (is_for_any(model, &model->tasks[i], job)) return MODEL_ACCEPT;
    }
    return MODEL_REFUSE;
}

// The task that a claim without a name has got: the model learns it from the core.
static void any_learn(struct history *history, uint64_t handler, uint32_t job)
{
    struct model *model = history->model;
    model->now = history->now;
    model->turn++;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (!is_for_any(model, task, job)) continue;
        struct rota_task_view view;
        rota_task_look(history->rota, task->id, &view);
        if (view.attempt != task->attempt + 1) continue;
        model_grant(model, task, handler);
        model_settle(model);
        return;
    }
    model_differs(model, "a claim of any was accepted, but no task runs");
}

static void history_step(struct history *history, struct rota_event *event)
{
    struct model *model = history->model;
    uint64_t digest = rota_digest(history->rota);
    event->now = history->now;
    if (history->play) history_play_event(history->play, model, event, true);
    states_remember(history);
    bool any = is_claim_of_any(event);
    uint32_t of_job = any ? event->claim.task.job : 0;
    enum rota_error error = step(history, event, digest);
    model->core = history->rota;
    enum model_verdict verdict = any ? any_verdict(history, of_job) : model_step(model, event);
    if (history->play) {
        fprintf(history->play, "#   %s %s\n", rota_error_name(error),
                error ? rota_reason(history->rota) : "");
    }
    verdict_compare(history, verdict, error, digest);
    if (any && error == ROTA_OK && agrees(history))
        any_learn(history, event->claim.handler, of_job);
    if (error == ROTA_OK)
        history->stats->accepted[event->kind]++;
    else
        history->stats->refused[event->kind]++;
    history->stats->events++;
    history->events++;
    if (!agrees(history)) return;
    rota_check(history->rota);
    states_count(history);
    model_compare(model, history->rota);
}

// ---- The end of a turn -------------------------------------------------------------------

static bool plans_at_once(const struct history *history)
{
    const struct rota_config *config = &history->config;
    return config->plan_submit == 0 && config->plan_update == 0;
}

static void time_step(struct history *history)
{
    struct model *model = history->model;
    struct rota_event event = {.kind = ROTA_EVENT_TIME, .now = history->now};
    model->core = history->rota;
    for (uint32_t i = 0; i < 100 && agrees(history); i++) {
        enum rota_error error = step(history, &event, 0);
        history->stats->events++;
        history->stats->accepted[ROTA_EVENT_TIME]++;
        history->turns++;
        if (error) model_differs(model, "TIME is refused: %s", rota_reason(history->rota));
        rota_check(history->rota);
        if (rota_deadline(history->rota) <= history->now) continue;
        model_time(model, history->now);
        return;
    }
    model_differs(model, "TIME is due again and again");
}

static void turn_end(struct history *history)
{
    struct model *model = history->model;
    history->events++;
    states_remember(history);
    time_step(history);
    if (!agrees(history)) return;
    struct rota_effects effects = rota_take(history->rota);
    for (uint32_t i = 0; i < effects.action_count; i++)
        history->stats->actions[effects.actions[i].kind]++;
    if (history->play) history_play_effects(history->play, &effects);
    history_store_take(history, &effects);
    model_compare_actions(model, &effects);
    history->slot = 0;
    if (!agrees(history)) return;
    states_count(history);
    model_judge_waiting(model, plans_at_once(history));
    if (agrees(history)) model_compare(model, history->rota);
    if (agrees(history)) model_compare_turn(model, history->rota);
}

// Time passes to each deadline, one after the other.
static void time_pass(struct history *history)
{
    static const rota_time steps[] = {0, 1000, 20000, 200000, 1500000, 30000000};
    rota_time target = history->now + steps[history_pick(history, 6)];
    for (uint32_t i = 0; i < 50 && agrees(history); i++) {
        rota_time due = rota_deadline(history->rota);
        if (due >= target) break;
        history->now = due;
        turn_end(history);
    }
    if (!agrees(history)) return;
    if (history->play) fprintf(history->play, "at %lldus\n", (long long)target);
    history->now = target;
    turn_end(history);
}

static void core_open(struct history *history)
{
    for (uint32_t tries = 0; tries < 3; tries++) {
        if (rota_open(&history->config, &history->rota) == ROTA_OK) return;
        history->refusals++;
    }
    abort();
}

static void restart(struct history *history)
{
    struct model *model = history->model;
    uint64_t digest = rota_digest(history->rota);
    if (history->play) fprintf(history->play, "restart\n");
    rota_close(history->rota);
    history->rota = NULL;
    core_open(history);
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE, .now = history->now};
    event.restore.records = history_store_rows(history->store, &event.restore.count);
    enum rota_error error = step(history, &event, rota_digest(history->rota));
    history->stats->restarts++;
    if (error) model_differs(model, "RESTORE is refused: %s", rota_reason(history->rota));
    if (!agrees(history)) return;
    rota_check(history->rota);
    model_compare(model, history->rota);
    if (agrees(history)) model_compare_turn(model, history->rota);
    if (rota_digest(history->rota) != digest)
        model_differs(model, "the digest is another one after a restore");
    struct rota_effects effects = rota_take(history->rota);
    history_store_take(history, &effects);
    if (effects.action_count) model_differs(model, "a restore asks for actions");
}

// ---- The end of a history -------------------------------------------------------------------

// With workers for everything and without failures, every task that can end does end.
static void drain(struct history *history)
{
    struct model *model = history->model;
    for (uint32_t machine = 0; machine < 3 && agrees(history); machine++) {
        struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
        event.worker.id.number = 8 + machine;
        event.worker.cores = 64;
        event.worker.memory_mib = 1 << 20;
        event.worker.machine = machine;
        history_step(history, &event);
        struct rota_event asks = {.kind = ROTA_EVENT_WORKER_ASKS};
        asks.asks.id = event.worker.id;
        asks.asks.count = ROTA_ASK_ALWAYS;
        history_step(history, &asks);
    }
    if (agrees(history)) turn_end(history);
    for (uint32_t i = 0; i < 900 && agrees(history); i++) {
        struct rota_event event = {.kind = ROTA_EVENT_TIME};
        rota_time due = rota_deadline(history->rota);
        bool soon = due != ROTA_NEVER && due - history->now <= 1000000;
        if (!soon || i % 2) history_event_finish_something(history, &event);
        if (event.kind == ROTA_EVENT_TIME && due == ROTA_NEVER) break;
        if (event.kind != ROTA_EVENT_TIME)
            history_step(history, &event);
        else if (due > history->now)
            history->now = due;
        if (agrees(history)) turn_end(history);
    }
    for (uint32_t i = 0; i < model->task_count && agrees(history); i++) {
        enum rota_task_state state = model->tasks[i].state;
        if (state < ROTA_TASK_HELD || state > ROTA_TASK_RUNNING) continue;
        bool held = state == ROTA_TASK_HELD;
        if (held && model_is_after_a_waiting_one(model, &model->tasks[i])) continue;
        model_differs(model, "%u.%u is stuck as %s", model->tasks[i].id.job,
                      model->tasks[i].id.task, rota_task_state_name(state));
    }
}

// After all jobs are closed and all tasks have ended nothing is left.
static void close_all(struct history *history)
{
    struct model *model = history->model;
    for (uint32_t i = 0; i < 8 && model->job_count && agrees(history); i++) {
        for (uint64_t client = 1; client <= 3 && agrees(history); client++) {
            struct rota_event event = {.kind = ROTA_EVENT_CLIENT_LEFT, .client_left = {client}};
            history_step(history, &event);
        }
        if (agrees(history)) turn_end(history);
        for (uint32_t k = 0; k < 200 && agrees(history); k++) {
            struct rota_event event = {.kind = ROTA_EVENT_TIME};
            history_event_finish_something(history, &event);
            if (event.kind == ROTA_EVENT_TIME) break;
            history_step(history, &event);
        }
        if (agrees(history)) turn_end(history);
    }
    for (uint32_t i = 0; i < model->job_count && agrees(history); i++) {
        if (model_job_is_named(model, model->jobs[i].number)) continue;
        model_differs(model, "job %u is left though all are closed", model->jobs[i].number);
    }
}

// ---- A history from the first event to the last -------------------------------------------------

static void config_make(struct history *history)
{
    struct rota_config *config = &history->config;
    *config = rota_config_default();
    config->seed = history_pick(history, 256);
    // It makes no choice, so the histories of known seeds stay the same.
    config->told_is_begun = config->seed % 2 && history_has(history, FEATURE_TOLD_IS_BEGUN);
    config->lease = 1000000;
    config->cached_wait = history_pick(history, 3) * (rota_time)10000;
    config->inputs_wait = config->cached_wait + history_pick(history, 3) * (rota_time)50000;
    config->plan_submit = config->plan_update = config->plan_idle = 0;
    if (history_has(history, FEATURE_SLOW_PLAN)) {
        config->plan_submit = 10000;
        config->plan_update = 100000;
        config->plan_idle = history_chance(history, 2) ? 1000000 : 0;
    }
    config->overbook = history_has(history, FEATURE_OVERBOOK) ? 1 + history_pick(history, 3) : 0;
    config->policy = ROTA_POLICY_PLAN;
    config->on_failure = ROTA_FAILURE_BLOCK;
}

static void history_begin(struct history *history)
{
    for (uint32_t i = 0; i < 2 && history_has(history, FEATURE_LANES) && agrees(history); i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        history_event_lane(history, &event);
        history_step(history, &event);
    }
    for (uint32_t i = history_pick(history, 4); i > 0 && agrees(history); i--) {
        struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED};
        history_event_worker(history, &event);
        history_step(history, &event);
    }
    if (agrees(history)) turn_end(history);
}

static void history_turn(struct history *history)
{
    struct rota_event events[TURN_EVENTS + 1];  // they must stay until the turn is taken
    uint32_t count = 1 + (history_chance(history, 3) ? history_pick(history, TURN_EVENTS) : 0);
    for (history->slot = 0; history->slot < count && agrees(history); history->slot++) {
        struct rota_event *event = &events[history->slot];
        *event = (struct rota_event){.kind = ROTA_EVENT_TIME};
        if (history->model->job_count >= 4) {
            event->kind = ROTA_EVENT_CLOSE;
            event->close.job.number = history->model->jobs[0].number;
            if (history->model->jobs[0].state == ROTA_JOB_CLOSED)
                history_event_finish_something(history, event);
            else if (history_pick(history, 3))
                history_event_make(history, event);
        } else {
            history_event_make(history, event);
        }
        if (event->kind == ROTA_EVENT_SUBMIT && history->model->job_count >= 6) continue;
        if (event->kind != ROTA_EVENT_TIME) history_step(history, event);
    }
    if (agrees(history)) turn_end(history);
    if (agrees(history) && history_chance(history, 5)) time_pass(history);
    if (agrees(history) && history_has(history, FEATURE_RESTART) && history_chance(history, 10))
        restart(history);
}

bool history_run(struct history *history, struct model *model, const struct history_setup *setup)
{
    memset(history, 0, sizeof *history);
    history->choice = (struct choice){setup->bytes, setup->size, 0};
    history->model = model;
    history->stats = setup->stats;
    history->play = setup->play;
    for (int i = 0; i < FEATURES; i++) {
        bool on = i == FEATURE_TOLD_IS_BEGUN || history_pick(history, 2);
        history->features[i] = on && !(setup->without >> i & 1);
    }
    config_make(history);
    model_open(model, &history->config);
    history->config.resize = setup->resize;
    history->config.resize_context = setup->resize_context;
    history->store = history_store_open();
    core_open(history);
    if (history->play) history_play_open(history->play, &history->config);
    history_begin(history);
    uint32_t most = 50 + history_pick(history, 251);
    while (history->events < most && !choice_ended(&history->choice) && agrees(history)) {
        history_turn(history);
    }
    if (history->play && agrees(history))
        fprintf(history->play, "# now everything is brought to its end\n");
    drain(history);
    history->digest = rota_digest(history->rota);
    close_all(history);
    history->stats->histories++;
    rota_close(history->rota);
    history_store_close(history->store);
    return agrees(history);
}
