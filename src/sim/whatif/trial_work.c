// trial_work.c - how workers carry out actions, and what they report to the core.
#include "sim/whatif/trial_internal.h"

// ---- Actions of the core ------------------------------------------------------------------------

// The model takes one number as urgency: tasks that wait only for objects come first.
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
    if (plan_is_stream(&trial->job->graph, object)) model_cut(trial->model, object, worker);
    else model_drop(trial->model, object, worker);
    if (action->drop.ahead && model_call_off(trial->model, object, worker) && trial->rolling)
        rolling_called_off(trial->rolling, object, worker);
}

// A task that was taken back may have begun while the message was on its way; then it is killed.
// The core waits for the end of a reader that it stops because the writer of its stream failed.
static void stop(struct trial *trial, const struct rota_action *action)
{
    struct rota_task_view view;
    uint32_t task = action->stop.task.task - 1;
    if (trial->attempt[task] == action->stop.attempt) model_kill(trial->model, task);
    if (rota_task_look(trial->rota, action->stop.task, &view) && view.discarded)
        trial_news(trial, (struct news){NEWS_LOST, action->stop.worker.number - 1, task,
                                        action->stop.attempt, model_now(trial->model)});
    else
        trial->moves++;
}

static void run(struct trial *trial, const struct rota_action *action)
{
    uint32_t task = action->run.task.task - 1;
    trial->attempt[task] = action->run.attempt;
    model_assign(trial->model, task, action->run.worker.number - 1, action->run.order);
    trial_fate(trial, task);
    if (trial->rolling && trial->back_at) rolling_opened(trial->rolling, task);
}

void trial_obey(struct trial *trial, const struct rota_action *action)
{
    switch (action->kind) {
    case ROTA_ACTION_FETCH: fetch(trial, action); break;
    case ROTA_ACTION_DROP: call_off(trial, action); break;
    case ROTA_ACTION_STOP: stop(trial, action); break;
    case ROTA_ACTION_RUN: run(trial, action); break;
    default: break;
    }
}

// ---- Reports to the core ------------------------------------------------------------------------

static struct rota_event report(const struct trial *trial, const struct news *news)
{
    static const enum rota_outcome outcomes[] = {
        [NEWS_STARTED] = ROTA_OUTCOME_OK, [NEWS_ENDED] = ROTA_OUTCOME_OK,
        [NEWS_FAILED] = ROTA_OUTCOME_EXIT, [NEWS_LOST] = ROTA_OUTCOME_LOST,
        [NEWS_NO_ROOM] = ROTA_OUTCOME_LOST};
    bool started = news->kind == NEWS_STARTED;
    struct rota_event event = {.kind = ROTA_EVENT_TASK_FINISHED};
    if (started) event.kind = ROTA_EVENT_TASK_STARTED;
    event.report.worker.number = news->worker + 1;
    event.report.task = (rota_task_id){trial->number.number, news->task + 1};
    event.report.attempt = news->attempt;
    event.report.outcome = outcomes[news->kind];
    event.report.status = news->kind == NEWS_FAILED;
    event.report.unstarted = news->kind == NEWS_LOST;  // this attempt does not count
    return event;
}

static void hear_started(struct trial *trial, const struct news *news)
{
    struct rota_event event = report(trial, news);
    if (!trial_tell(trial, &event)) return;
    trial->course->worker[news->task] = news->worker;
    trial->course->began[news->task] = news->at;
    if (trial->rolling) rolling_started(trial->rolling, news->task, news->worker, news->at);
    if (trial->job->graph.group && trial->job->graph.group[news->task]) trial_turn(trial);
}

static void hear_ended(struct trial *trial, const struct news *news)
{
    const struct plan_task *row = &trial->job->graph.tasks[news->task];
    struct rota_event event = report(trial, news);
    for (uint32_t i = 0; i < row->output_count; i++) {
        double mib = trial->job->graph.mib[row->output + i];
        trial->sizes[i] = (struct rota_output){.task = news->task + 1,
                                               .object = trial_object(row->output + i),
                                               .bytes = (uint64_t)(mib * 1048576)};
        if (trial->rolling) rolling_made(trial->rolling, row->output + i, mib);
    }
    event.report.sizes = trial->sizes;
    event.report.size_count = row->output_count;
    if (!trial_tell(trial, &event)) return;
    trial->course->ended[news->task] = news->at;
    if (trial->rolling) rolling_ended(trial->rolling, news->task, news->at);
    trial_turn(trial);
}

static void hear_failed(struct trial *trial, const struct news *news)
{
    struct rota_event event = report(trial, news);
    if (!trial_tell(trial, &event)) return;
    if (news->kind == NEWS_NO_ROOM) trial->course->no_room++;
    else trial->course->failed++;
    if (trial->rolling) rolling_opened(trial->rolling, news->task);
    trial_turn(trial);
}

static void hear_arrived(struct trial *trial, const struct news *news)
{
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_HELD};
    event.replica.worker.number = news->worker + 1;
    event.replica.object = trial_object(news->task);
    event.replica.bytes = (uint64_t)(trial->job->graph.mib[news->task] * 1048576);
    if (rota_object_state(trial->rota, event.replica.object) == ROTA_OBJECT_FINISHED)
        trial_tell(trial, &event);
    if (trial->rolling) rolling_arrived(trial->rolling, news->task, news->worker);
}

void trial_hear(struct trial *trial, const struct news *news)
{
    switch (news->kind) {
    case NEWS_STARTED: hear_started(trial, news); break;
    case NEWS_ENDED: hear_ended(trial, news); break;
    case NEWS_FAILED:
    case NEWS_NO_ROOM:
    case NEWS_LOST: hear_failed(trial, news); break;
    case NEWS_ARRIVED: hear_arrived(trial, news); break;
    }
}
