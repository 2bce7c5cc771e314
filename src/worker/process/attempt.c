// attempt.c - the life cycle of an attempt: queued, running, told to end, ended, reported.
//
// A RUN becomes a struct run in the queue. When cores are free, start.c prepares its folder, inputs
// and streams and starts its process. STOP, a timeout, a drain or the fence tell it to end:
// SIGTERM, and after the grace period SIGKILL to all its processes. When its first process has
// ended, all others it left behind are killed (process_tree.c). Then outputs go to the cache, the
// log is closed, data in streams is passed on, and FINISHED is sent.
//
// The worker owns all runs; each is in one list at a time, by its state, and is freed after its
// report. Start, outputs, log or cache may fail, for example on a full disk: the run then ends with
// a reason, and the worker continues. A run that never had a process is reported as not started.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/eviction.h"
#include "worker/process/stream_tee.h"
#include "worker/process/internal.h"
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SWEEP_EVERY = 10000, LOOK_EVERY = 100000 };

// ---- Lists --------------------------------------------------------------------------------------

void run_append(struct run_list *list, struct run *run)
{
    run->next = NULL;
    if (list->last)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
}

struct run *run_take_first(struct run_list *list)
{
    struct run *run = list->first;
    if (!run) return NULL;
    list->first = run->next;
    if (!list->first) list->last = NULL;
    run->next = NULL;
    return run;
}

static uint32_t cores_of(const struct run *run)
{
    return run->command.run.cores ? run->command.run.cores : 1;
}

static bool is_attempt(const struct run *run, rota_task_id task, uint32_t attempt)
{
    const struct wire_run *it = &run->command.run;
    return SAME_TASK(it->task, task) && it->attempt == attempt;
}

static void run_end(struct worker *worker, struct run *run)
{
    run->state = RUN_ENDED;
    run->ended = run->began + os_ticks() - run->ticks;
    outside_note(run);
    run_append(&worker->ended, run);
}

// ---- Coming in ---------------------------------------------------------------------------------

static struct run *run_new(struct worker *worker)
{
    struct run *run = run_take_first(&worker->idle);
    if (!run) return calloc(1, sizeof *run);
    struct command kept = run->command;
    *run = (struct run){.command = {.block = kept.block, .capacity = kept.capacity}};
    return run;
}

static const char *find_fault(const struct worker *worker, const struct wire_run *run)
{
    if (!run->argv.count) return "the command is empty";
    for (uint32_t i = 0; i < run->argv.count; i++)
        if (strlen(run->argv.items[i].bytes) != run->argv.items[i].length)
            return "the command contains a zero byte";
    for (uint32_t i = 0; i < run->env.count; i++)
        if (strlen(run->env.items[i].bytes) != run->env.items[i].length
            || !strchr(run->env.items[i].bytes, '='))
            return "an environment variable must be NAME=VALUE";
    const char *fault = wire_files_fault(run);
    if (fault) return fault;
    if (run->cores > worker->cores) return "it needs more cores than the worker has";
    for (uint32_t i = 0; i < run->inputs.count; i++)
        if (run->flags & WIRE_RUN_PRIVATE && !files_name_is_safe(run->inputs.items[i].name.bytes))
            return "the path of an input leads out of the directory";
    for (uint32_t i = 0; i < run->outputs.count; i++)
        if (run->flags & WIRE_RUN_PRIVATE && !files_name_is_safe(run->outputs.items[i].name.bytes))
            return "the path of an output leads out of the directory";
    return NULL;
}

// For a run that is refused: there may be no memory to store it.
static void refuse(struct worker *worker, const struct wire_run *message, int error,
                   const char *reason)
{
    struct run run = {.end = WIRE_NOT_STARTED, .status = error};
    run.command.run.task = message->task;
    run.command.run.attempt = message->attempt;
    run.began = run.ended = os_now();
    snprintf(run.reason, sizeof run.reason, "%s", reason);
    report_finished(worker, &run);
}

static bool running_reserve(struct worker *worker)
{
    return ARRAY_MORE_RAW(&memory_heap, worker->running, worker->running_count,
                          worker->running_capacity);
}

static void queue_stopped(struct worker *worker, struct run *run)
{
    run->end = WIRE_STOPPED;
    run->began = os_now();
    run->ticks = os_ticks();
    run_end(worker, run);
}

void on_run(struct worker *worker, const struct wire_run *message)
{
    if (worker->is_draining && !worker->is_quitting) return;
    const char *fault = find_fault(worker, message);
    if (fault) return refuse(worker, message, EINVAL, fault);
    struct run *run = run_new(worker);
    if (!run || !command_copy(&run->command, message, &worker->environment, worker->folder)) {
        if (run) run_append(&worker->idle, run);
        return refuse(worker, message, ENOMEM, "the worker is out of memory");
    }
    run->state = RUN_QUEUED;
    if (worker->is_quitting)
        queue_stopped(worker, run);
    else
        run_append(&worker->queue, run);
}

void runs_start(struct worker *worker)
{
    for (struct run *run; (run = worker->queue.first);) {
        if (cores_of(run) > worker->cores - worker->cores_used) return;
        if (!running_reserve(worker)) return;
        run_take_first(&worker->queue);
        if (!run_begin(worker, run)) {
            run_end(worker, run);
            continue;
        }
        worker->cores_used += cores_of(run);
        worker->running[worker->running_count++] = run;
        report_started(worker, run);
    }
}

// ---- Telling it to end ----------------------------------------------------------------------

static void kill_now(struct worker *worker, struct run *run)
{
    run->kill_due = 0;
    tree_signal(worker, run, SIGKILL);
    run->sweep_due = os_ticks() + SWEEP_EVERY;
}

static void tell_to_end(struct worker *worker, struct run *run, enum wire_end cause, int64_t grace)
{
    int64_t due = os_ticks() + (grace > 0 ? grace : 0);
    bool is_first = !run->cause && run->state == RUN_RUNNING;
    if (is_first) run->cause = cause;
    run->timeout_due = INT64_MAX;
    if (due < run->kill_due) run->kill_due = due;
    if (grace <= 0) return kill_now(worker, run);
    if (is_first) tree_signal(worker, run, SIGTERM);
}

static bool stop_queued(struct worker *worker, const struct wire_stop *stop)
{
    struct run_list kept = {0};
    bool found = false;
    for (struct run *run; (run = run_take_first(&worker->queue));) {
        bool is_it = is_attempt(run, stop->task, stop->attempt);
        if (is_it)
            queue_stopped(worker, run);
        else
            run_append(&kept, run);
        found |= is_it;
    }
    worker->queue = kept;
    return found;
}

// Data in its streams that was not read yet is lost.
static void pouring_stop(struct worker *worker, struct run *run)
{
    if (!run->cause && !run->held_until) run->cause = WIRE_STOPPED;
    spreads_leave(worker, run);
}

void on_stop(struct worker *worker, const struct wire_stop *stop)
{
    if (stop_queued(worker, stop)) return;
    for (struct run *run = worker->pouring.first; run; run = run->next)
        if (is_attempt(run, stop->task, stop->attempt)) pouring_stop(worker, run);
    for (uint32_t i = 0; i < worker->running_count; i++)
        if (is_attempt(worker->running[i], stop->task, stop->attempt))
            tell_to_end(worker, worker->running[i], WIRE_STOPPED, stop->grace);
}

static void queue_refused(struct worker *worker, struct run *run)
{
    queue_stopped(worker, run);
    run->end = WIRE_NOT_STARTED;
    run->status = ECANCELED;
    snprintf(run->reason, sizeof run->reason, "the worker is draining");
}

void on_drain(struct worker *worker)
{
    worker->is_draining = true;
    for (struct run *run; (run = run_take_first(&worker->queue));) {
        if (worker->options->tells_drained)
            queue_refused(worker, run);
        else
            run_append(&worker->idle, run);
    }
}

void on_quit(struct worker *worker, int64_t grace)
{
    worker->is_quitting = true;
    for (struct run *run; (run = run_take_first(&worker->queue));) queue_stopped(worker, run);
    for (struct run *run = worker->pouring.first; run; run = run->next) pouring_stop(worker, run);
    for (uint32_t i = 0; i < worker->running_count; i++)
        tell_to_end(worker, worker->running[i], WIRE_STOPPED, grace);
}

// ---- Ending ------------------------------------------------------------------------------------

static bool is_told_to_die(const struct run *run)
{
    return !run->cause || run->kill_due == 0;
}

// Its first process is gone: the processes it left behind are ended, at once or after the
// grace period.
static bool is_swept(struct worker *worker, struct run *run, int64_t now)
{
    bool must_die = is_told_to_die(run);
    uint32_t left = tree_signal(worker, run, must_die ? SIGKILL : 0);
    run->sweep_due = now + (must_die ? SWEEP_EVERY : LOOK_EVERY);
    return left == 0;
}

static void sweep_left(struct worker *worker)
{
    int64_t now = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct run *run = worker->running[i];
        bool is_over = false;
        if (run->state == RUN_LEFT) {
            if (!now) now = os_ticks();
            is_over = !tree_may_have_left(worker, run) || is_swept(worker, run, now);
        }
        worker->running[kept++] = run;
        if (!is_over) continue;
        kept--;
        worker->cores_used -= cores_of(run);
        tree_forget_run(worker, run);
        run_end(worker, run);
    }
    worker->running_count = kept;
}

static void process_ended(struct worker *worker, pid_t pid, int status, const struct rusage *usage)
{
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct run *run = worker->running[i];
        if (run->pid != pid || run->state != RUN_RUNNING) continue;
        run->state = RUN_LEFT;
        run->status = status;
        run->usage = *usage;
        run->timeout_due = INT64_MAX;
        return;
    }
    tree_forget(worker, pid);
}

void on_children(struct worker *worker)
{
    int status;
    struct rusage usage;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;)
        process_ended(worker, pid, status, &usage);
    sweep_left(worker);
}

// ---- After the end -----------------------------------------------------------------------------

static void tell_end_apart(struct worker *worker, struct run *run)
{
    int status = run->status;
    bool by_signal = WIFSIGNALED(status);
    run->end = by_signal ? WIRE_SIGNALED : WIRE_EXITED;
    if (run->cause)
        run->end = run->cause;
    else if (limit_was_memory(worker, run))
        run->end = WIRE_OUT_OF_MEMORY;
    else if (outside_was(worker, run))
        return;
    if (by_signal && WCOREDUMP(status)) run->flags |= WIRE_CORE_DUMPED;
    run->status = by_signal ? WTERMSIG(status) : run->cause ? 0 : WEXITSTATUS(status);
}

static void finish_log(struct worker *worker, struct run *run)
{
    struct log_writer *log = run->log;
    if (!log) return;
    if (!log_writer_end(log)) run->flags |= WIRE_LOG_TRUNCATED;
    run->log_bytes = log->came;
    log->next = worker->logs;
    worker->logs = log;
    run->log = NULL;
}

static void collect(struct worker *worker, struct run *run)
{
    if (run->end != WIRE_EXITED || run->was_cached) return;
    if (run->status) {
        files_failure_put(&worker->files, run);
        return;
    }
    if (!run->command.run.outputs.count && !run->key.is_known) return;
    if (files_collect(&worker->files, run) == FILES_BAD) run->end = WIRE_BAD_OUTPUT;
}

static void run_finish(struct worker *worker, struct run *run)
{
    bool has_run = run->pid > 0;
    if (has_run) tell_end_apart(worker, run);
    output_drain(worker, run);
    finish_log(worker, run);
    if (has_run) collect(worker, run);
    streams_leave(worker, run);
    if (run->command.run.flags & WIRE_RUN_PRIVATE) os_tree_remove(run->command.directory);
    report_finished(worker, run);
    run->state = RUN_FREE;
    run_append(&worker->idle, run);
}

// A command ends when its streams have all data it wrote, as if it had waited for that itself.
void runs_finish(struct worker *worker)
{
    struct run_list poured = worker->pouring;
    worker->pouring = (struct run_list){0};
    for (struct run *run; (run = run_take_first(&poured));) run_append(&worker->ended, run);
    for (struct run *run; (run = run_take_first(&worker->ended));) {
        if (spreads_are_dry(worker, run) && !outside_is_held(worker, run))
            run_finish(worker, run);
        else
            run_append(&worker->pouring, run);
    }
}

// ---- Timers ------------------------------------------------------------------------------------

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t run_due(const struct run *run)
{
    int64_t due = earlier(run->timeout_due, run->sweep_due);
    if (run->kill_due) due = earlier(due, run->kill_due);
    return run->log ? earlier(due, run->log->due) : due;
}

static void run_look(struct worker *worker, struct run *run, int64_t now)
{
    if (run->log && run->log->due <= now) log_writer_flush(run->log);
    if (run->timeout_due <= now) tell_to_end(worker, run, WIRE_TIMED_OUT, run->command.run.grace);
    bool is_due = run->kill_due && run->kill_due <= now;
    bool is_killed = run->kill_due == 0 && run->sweep_due <= now;
    if (run->state == RUN_RUNNING && (is_due || is_killed)) kill_now(worker, run);
    if (run->state == RUN_LEFT && is_due) run->kill_due = run->sweep_due = 0;
}

int64_t on_timers(struct worker *worker, int64_t now)
{
    bool sweep = false;
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct run *run = worker->running[i];
        if (run_due(run) > now) continue;
        run_look(worker, run, now);
        sweep |= run->state == RUN_LEFT;
    }
    if (sweep) sweep_left(worker);
    int64_t due = streams_look(worker, now);
    for (uint32_t i = 0; i < worker->running_count; i++)
        due = earlier(due, run_due(worker->running[i]));
    return due;
}
