// actions.c - actions reach the clients and workers of a play, and the workers react.
//
// A worker starts a task that it is told to run as soon as it has room, in order of arrival. Tasks
// end only when the play says so. A manual worker does not start tasks either.
#include "base/base.h"
#include "sim/play/internal.h"

#include <string.h>

// ---- Tasks that a worker was told to run --------------------------------------------------------

static struct play_worker *worker_find(struct play *play, uint32_t number)
{
    bool known = number && number < play->worker_capacity && play->workers[number].known;
    return known ? &play->workers[number] : NULL;
}

static struct play_run *run_find(struct play_worker *worker, rota_task_id task, uint32_t attempt)
{
    for (uint32_t i = 0; i < worker->run_count; i++) {
        struct play_run *run = &worker->runs[i];
        if (run->task.job != task.job || run->task.task != task.task) continue;
        if (run->attempt == attempt) return run;
    }
    return NULL;
}

static void run_remove(struct play_worker *worker, struct play_run *run)
{
    struct play_run *end = worker->runs + worker->run_count--;
    memmove(run, run + 1, (size_t)(end - run - 1) * sizeof *run);
}

void worker_ended(struct play *play, uint32_t number, rota_task_id task, uint32_t attempt)
{
    struct play_worker *worker = worker_find(play, number);
    struct play_run *run = worker ? run_find(worker, task, attempt) : NULL;
    if (run) run_remove(worker, run);
}

void worker_forget(struct play_worker *worker)
{
    worker->run_count = 0;
}

// ---- Starting --------------------------------------------------------------

void worker_started(struct play *play, const struct rota_event *report)
{
    struct play_worker *worker = worker_find(play, report->report.worker.number);
    struct play_run *run = NULL;
    if (worker) run = run_find(worker, report->report.task, report->report.attempt);
    if (run && run->started) return;
    if (run) run->started = true;
    if (play->catching_up) return;
    strings_add(&play->started, "%s", task_text(play, report->report.task));
}

static bool run_fits(const struct play *play, const struct play_worker *worker,
                     const struct play_run *run)
{
    const struct play_task *task = &play->tasks[task_row_find(play, run->task)];
    uint64_t cores = task->cores, memory_mib = task->memory_mib;
    for (uint32_t i = 0; i < worker->run_count; i++) {
        if (!worker->runs[i].started) continue;
        task = &play->tasks[task_row_find(play, worker->runs[i].task)];
        cores += task->cores;
        memory_mib += task->memory_mib;
    }
    return cores <= worker->cores && memory_mib <= worker->memory_mib;
}

// A report of a worker may be late, but not invalid.
static bool worker_says(struct play *play, const struct rota_event *event)
{
    enum rota_error error = play_turn_step(play, event);
    if (error && error != ROTA_STALE && error != ROTA_NOT_FOUND && error != ROTA_NOT_NOW) {
        play_fail(play, "the core to accept the report of a worker", rota_reason(play->rota));
    }
    return !error;
}

// A task without room blocks the tasks after it.
static bool worker_start(struct play *play, uint32_t number)
{
    struct play_worker *worker = worker_find(play, number);
    if (!worker || worker->manual || worker->silent) return false;
    bool any = false;
    for (uint32_t i = 0; i < worker->run_count;) {
        struct play_run *run = &worker->runs[i];
        if (run->started) {
            i++;
            continue;
        }
        if (!run_fits(play, worker, run)) break;
        struct rota_event event = {
            .kind = ROTA_EVENT_TASK_STARTED,
            .report = { .worker = { number }, .task = run->task, .attempt = run->attempt },
        };
        any = true;
        if (!worker_says(play, &event)) {
            run_remove(worker, run);
            continue;
        }
        worker_started(play, &event);
        run->started = true;  // also if the core sent it twice, which must not stop the play
    }
    return any;
}

bool workers_start(struct play *play)
{
    bool any = false;
    for (uint32_t number = 1; number < play->worker_capacity; number++) {
        if (worker_start(play, number)) any = true;
    }
    return any;
}

// ---- Actions to workers ----------------------------------------------------

static void perform_run(struct play *play, const struct rota_action *action)
{
    uint32_t number = action->run.worker.number;
    struct play_worker *worker = worker_find(play, number);
    if (!worker || run_find(worker, action->run.task, action->run.attempt)) return;
    ARRAY_GROW(worker->runs, worker->run_count, worker->run_capacity);
    worker->runs[worker->run_count++] =
        (struct play_run) { .task = action->run.task, .attempt = action->run.attempt };
    play->tasks[task_row_find(play, action->run.task)].sent_to = action->run.worker;
    if (!play->catching_up) {
        if (worker->picks) worker->picks--;
        if (!worker->picks) worker->picked = action->run.task;
    }
    worker_start(play, number);
}

// Whether the core waits for the end of this attempt. The task may run on another worker by now.
static bool stop_is_awaited(const struct play *play, rota_task_id task)
{
    struct rota_task_view view;
    if (rota_task_look(play->rota, task, &view) && view.stopping) return true;
    for (uint32_t row = 1; row <= play->task_count; row++) {
        if (!rota_task_look(play->rota, play->tasks[row].id, &view) || !view.stopping) continue;
        if (SAME_TASK(view.run_as, task)) return true;
    }
    return false;
}

static void perform_stop(struct play *play, const struct rota_action *action)
{
    struct play_worker *worker = worker_find(play, action->stop.worker.number);
    struct play_run *run = NULL;
    if (worker) run = run_find(worker, action->stop.task, action->stop.attempt);
    if (!run) return;
    // The core has given up this attempt: its worker ends it without a report.
    if (!run->started || !stop_is_awaited(play, run->task)) run_remove(worker, run);
}

// ---- Actions to clients and handlers ---------------------------------------

static const char *outcome_text(enum rota_outcome outcome)
{
    switch (outcome) {
    case ROTA_OUTCOME_NONE:    return "none";
    case ROTA_OUTCOME_OK:      return "ok";
    case ROTA_OUTCOME_EXIT:
    case ROTA_OUTCOME_ERROR:   return "failed";
    case ROTA_OUTCOME_ABORTED: return "aborted";
    case ROTA_OUTCOME_LOST:    return "lost";
    }
    return "?";
}

static void perform_confirm(struct play *play, const struct rota_action *action)
{
    struct play_client *client = client_meet(play, (uint32_t)action->confirm.client);
    strings_add(&client->confirms, "%s:%s", task_text(play, action->confirm.task),
                outcome_text(action->confirm.outcome));
}

static void perform_wait_over(struct play *play, const struct rota_action *action)
{
    struct play_client *client = client_meet(play, (uint32_t)action->wait_over.client);
    if (!action->wait_over.task.job) return;  // the wait was for nothing
    strings_add(&client->waits, "%s:%s", task_text(play, action->wait_over.task),
                outcome_text(action->wait_over.outcome));
}

static void perform_read(struct play *play, const struct rota_action *action)
{
    struct play_client *client = client_meet(play, (uint32_t)action->read.client);
    strings_add(&client->confirms, "%s:%s",
                names_text(&play->object_names, (uint32_t)action->read.object.low),
                action->read.there ? "ok" : "failed");
}

static void perform_grant(struct play *play, const struct rota_action *action)
{
    struct play_task *task = &play->tasks[task_row_find(play, action->grant.task)];
    if (task->granted == action->grant.attempt) return;
    task->granted = action->grant.attempt;
    strings_add(&play->started, "%s", task_text(play, action->grant.task));
}

static void perform_drop(struct play *play, const struct rota_action *action)
{
    strings_add(&play->dropped, "%s@%s",
                names_text(&play->object_names, (uint32_t)action->drop.object.low),
                names_text(&play->worker_names, action->drop.worker.number));
}

// Whether it goes to a client or worker that received it when the statement was first carried out.
static bool was_received(const struct play *play, const struct rota_action *action)
{
    bool to_worker = action->kind == ROTA_ACTION_RUN || action->kind == ROTA_ACTION_STOP;
    return play->catching_up && !to_worker;
}

void perform_action(struct play *play, const struct rota_action *action)
{
    if (was_received(play, action)) return;
    switch (action->kind) {
    case ROTA_ACTION_CONFIRM:   perform_confirm(play, action); break;
    case ROTA_ACTION_WAIT_OVER: perform_wait_over(play, action); break;
    case ROTA_ACTION_READ:      perform_read(play, action); break;
    case ROTA_ACTION_GRANT:     perform_grant(play, action); break;
    case ROTA_ACTION_RUN:       perform_run(play, action); break;
    case ROTA_ACTION_STOP:      perform_stop(play, action); break;
    case ROTA_ACTION_DROP:      perform_drop(play, action); break;
    case ROTA_ACTION_COMPLETED:
        play->completed = action->completed.pending ? "true" : "false";
        break;
    case ROTA_ACTION_ACCEPT:    // done before
    case ROTA_ACTION_JOB_OVER:
    case ROTA_ACTION_FETCH:     // workers of a play hold no bytes; see `located`
    case ROTA_ACTION_SHOW:      // see `located` and `lost`
    case ROTA_ACTION_ALIAS:
    case ROTA_ACTION_STREAM:
        break;
    }
}
