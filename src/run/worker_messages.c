// worker_messages.c - turns actions of the core into messages to the worker, and its messages into
// events.
#include "run/run.h"
#include "turn/attempt_end.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_A_TURN = 10000 };  // an upper limit

static bool is_ours(const struct run *run, rota_task_id task)
{
    return task.job == run->job.number && task.task && task.task <= run->file->task_count;
}

// ---- To the worker --------------------------------------------------------------------------

static rota_object_id name_of(const void *context, uint32_t task, uint32_t output)
{
    return run_output_name(context, task, output);
}

// A token larger than all earlier ones, even after the database was removed: it follows the clock.
// If the clock was set back, tokens continue after the last turn that an earlier run wrote.
static uint64_t token_next(struct run *run)
{
    uint64_t now = (uint64_t)run->server->now, written = (uint64_t)run->server->written;
    if (!run->token && written) run->token = written + TOKENS_A_TURN;
    run->token = now > run->token ? now : run->token + 1;
    return run->token;
}

static void run_put(struct run *run, const struct rota_action *action, struct wire_out *out)
{
    struct submit_command command = {run->file, run->folder, name_of, run, NULL};
    struct wire_run numbers = {.task = action->run.task, .attempt = action->run.attempt};
    numbers.token = token_next(run);
    submit_command_put(&command, action->run.task.task - 1, &numbers, out);
    if (out->failed) os_out_of_memory();
}

static void run_give(struct run *run, const struct rota_action *action, struct wire_out *out)
{
    uint32_t at = action->run.task.task - 1;
    struct run_task *task = &run->tasks[at];
    task->attempt = action->run.attempt;
    task->again = action->run.worker.number == run->worker_again.number;
    if (run->draining) return;
    run_phase_set(run, at, RUN_GIVEN);
    run_put(run, action, out);
}

static void stop_put(const struct rota_action *action, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    message.stop.task = action->stop.task;
    message.stop.attempt = action->stop.attempt;
    message.stop.grace = WIRE_GRACE;
    wire_put(out, &message);
}

// Drops a stream that no task reads any more. Other objects stay in the cache for the next run.
static void stream_drop(const struct run *run, rota_object_id object, struct wire_out *out)
{
    uint32_t task, output;
    struct wire_file file = {.name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    if (!run_object_find(run, object, &task, &output)) return;
    if (run->file->tasks[task].outputs[output].kind != JOBFILE_STREAM) return;
    file.object = run_output_name(run, task, output);
    message.drop.objects = (wire_files){&file, 1};
    wire_put(out, &message);
}

static void perform_new(struct run *run, struct wire_out *out)
{
    const struct server *server = run->server;
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_RUN && run_worker_is_ours(run, action->run.worker))
            run_give(run, action, out);
        if (action->kind == ROTA_ACTION_STOP) stop_put(action, out);
        if (action->kind == ROTA_ACTION_DROP) stream_drop(run, action->drop.object, out);
        if (action->kind == ROTA_ACTION_CONFIRM && is_ours(run, action->confirm.task)
            && run->tasks[action->confirm.task.task - 1].phase == RUN_WAITING)
            run_phase_look(run, action->confirm.task.task - 1);
    }
}

void run_drain(struct run *run, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    if (run->draining) return;
    run->draining = true;
    wire_put(out, &message);
}

void run_perform(struct run *run, struct wire_out *out)
{
    run_ends_look(run);
    if (run->count[RUN_FAILED] && !run->keep_going) run_drain(run, out);
    perform_new(run, out);
}

// ---- From the worker ------------------------------------------------------------------------

void run_join(struct run *run, uint32_t cores, uint32_t memory_mib)
{
    struct rota_worker_view view;
    rota_worker_id first = {run->machine * 2}, second = {run->machine * 2 + 1};
    bool is_taken = rota_worker_look(run->server->rota, first, &view);
    run->worker = is_taken ? second : first;
    run->worker_before = is_taken ? first : second;
    run->cores = cores;
    run->memory_mib = memory_mib;
    run_worker_join(run, run->worker, run->machine);
}

static void started_intake(struct run *run, const struct wire_started *started)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    if (!is_ours(run, started->task)) return;
    event.report.worker = run_worker_of(run, started->task.task - 1);
    event.report.task = started->task;
    event.report.attempt = started->attempt;
    if (server_step(run->server, &event)) return;
    struct run_task *task = &run->tasks[started->task.task - 1];
    task->began = started->at;
    run_phase_set(run, started->task.task - 1, RUN_RUNNING);
}

static struct attempt_retry repeat_of(const struct jobfile_retries *retries)
{
    return (struct attempt_retry){.backoff = retries->backoff,
                                  .percent = retries->factor_percent,
                                  .exits = retries->codes,
                                  .exit_count = retries->code_count};
}

static void end_note(struct run_task *task, const struct wire_finished *finished)
{
    task->began = finished->began;
    task->ended = finished->ended;
    task->status = finished->status;
    task->end = (uint8_t)finished->end;
    task->end_flags = finished->flags;
    task->log_bytes = finished->log_bytes;
    free(task->reason);
    task->reason = finished->reason.length ? strdup(finished->reason.bytes) : NULL;
}

static struct rota_output *sizes_of(struct run *run, const struct wire_finished *finished)
{
    uint32_t at = finished->task.task - 1;
    struct rota_output *sizes
        = server_keep(run->server, finished->outputs.count + 1, sizeof *sizes);
    if (!sizes) os_out_of_memory();
    for (uint32_t i = 0; i < finished->outputs.count; i++) {
        sizes[i].task = at + 1;
        sizes[i].object = run_object(run, at, i);
        sizes[i].bytes = finished->outputs.items[i].bytes;
    }
    return sizes;
}

// An attempt that lacked an input does not count as a try, because the core knows only the retries
// of the file. The run counts these losses itself; after too many the task has failed. The lost
// input is already being produced again: the worker reported it before.
static void lack_count(struct run_task *task, struct rota_event *event)
{
    if (task->lacked <= ATTEMPT_LOSSES_MAX) task->lacked++;
    attempt_end_lack(event, task->lacked, ATTEMPT_LOSSES_MAX);
    event->report.unstarted = !event->report.final;
    if (event->report.final) event->report.outcome = ROTA_OUTCOME_ERROR;
}

static void end_take(struct run *run, uint32_t at, const struct wire_finished *finished)
{
    if (!attempt_end_note(run->server, finished, (rota_worker_id){0})) os_out_of_memory();
    end_note(&run->tasks[at], finished);
    run_end_add(run, at);
}

static bool is_discarded(const struct run *run, rota_task_id task)
{
    struct rota_task_view view;
    return rota_task_look(run->server->rota, task, &view) && view.discarded;
}

static void discarded_intake(struct run *run, const struct wire_finished *finished)
{
    struct wire_finished stopped = *finished;
    struct rota_event event = {.kind = ROTA_EVENT_TASK_FINISHED};
    event.report.worker = run_worker_of(run, finished->task.task - 1);
    event.report.task = finished->task;
    event.report.attempt = finished->attempt;
    event.report.outcome = ROTA_OUTCOME_LOST;
    if (server_step(run->server, &event)) return;
    attempt_end_discard(&stopped);
    end_take(run, finished->task.task - 1, &stopped);
}

static void finished_intake(struct run *run, const struct wire_finished *finished)
{
    if (!is_ours(run, finished->task)) return;
    if (is_discarded(run, finished->task)) return discarded_intake(run, finished);
    uint32_t at = finished->task.task - 1;
    struct run_task *task = &run->tasks[at];
    struct attempt_retry repeat = repeat_of(&run->file->tasks[at].retries);
    struct rota_task_view view;
    struct rota_event event;
    rota_task_look(run->server->rota, finished->task, &view);
    attempt_end_event(finished, &view, ATTEMPT_STOP_ABORTS, &event);
    event.report.worker = run_worker_of(run, at);
    if (attempt_end_lacks_input(finished)) lack_count(task, &event);
    if (attempt_end_may_retry(&event, &view))
        attempt_end_retry(&repeat, finished, &view, 0, &event);
    if (event.report.outcome == ROTA_OUTCOME_OK) {
        event.report.sizes = sizes_of(run, finished);
        event.report.size_count = finished->outputs.count;
    }
    if (server_step(run->server, &event) || event.report.unstarted) {
        if (task->phase == RUN_GIVEN && task->attempt == finished->attempt)
            run_phase_look(run, at);  // it was revoked before it started
        return;
    }
    if (event.report.outcome == ROTA_OUTCOME_OK) run_made_again(run, at, finished);
    task->tries++;
    if (event.report.outcome == ROTA_OUTCOME_OK) run->hits += finished->flags & WIRE_CACHED;
    end_take(run, at, finished);
}

void run_intake(struct run *run, const struct wire_message *message)
{
    if (message->kind == WIRE_STARTED_MESSAGE) started_intake(run, &message->started);
    if (message->kind == WIRE_FINISHED_MESSAGE) {
        finished_intake(run, &message->finished);
        run_lost_settle(run);
    }
    if (message->kind == WIRE_LOST_MESSAGE) run_lost(run, &message->lost.objects);
}
