// attempt.c - the life cycle of an attempt: queued, running, told to end, ended, reported.
//
// A RUN becomes an attempt in the queue. When cores are free, start.c prepares its folder, inputs
// and streams and starts its process. STOP, a timeout, a drain or the fence tell it to end:
// SIGTERM, and after the grace period SIGKILL to all its processes. When its first process has
// ended, all others it left behind are killed (process_tree.c). Then outputs go to the cache, the
// log is closed, data in streams is passed on, and FINISHED is sent.
//
// The worker owns all attempts; each is in one list at a time, by its state, and is freed after its
// report. Start, outputs, log or cache may fail, for example on a full disk: it then ends with a
// reason, and the worker continues. An attempt that never had a process is reported as not
// started.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/eviction.h"
#include "worker/process/stream_tee.h"
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SWEEP_EVERY = 10000, LOOK_EVERY = 100000 };

// ---- Lists --------------------------------------------------------------------------------------

void attempt_append(struct attempt_list *list, struct attempt *attempt)
{
    attempt->next = NULL;
    if (list->last)
        list->last->next = attempt;
    else
        list->first = attempt;
    list->last = attempt;
}

struct attempt *attempt_take_first(struct attempt_list *list)
{
    struct attempt *attempt = list->first;
    if (!attempt) return NULL;
    list->first = attempt->next;
    if (!list->first) list->last = NULL;
    attempt->next = NULL;
    return attempt;
}

static uint32_t cores_of(const struct attempt *attempt)
{
    return attempt->command.run.cores ? attempt->command.run.cores : 1;
}

static bool is_attempt(const struct attempt *attempt, rota_task_id task, uint32_t number)
{
    const struct wire_run *it = &attempt->command.run;
    return SAME_TASK(it->task, task) && it->attempt == number;
}

static void attempt_end(struct worker *worker, struct attempt *attempt)
{
    attempt->state = ATTEMPT_ENDED;
    attempt->ended = attempt->began + os_ticks() - attempt->ticks;
    eviction_note(attempt);
    attempt_append(&worker->ended, attempt);
}

// ---- Coming in ---------------------------------------------------------------------------------

static struct attempt *attempt_new(struct worker *worker)
{
    struct attempt *attempt = attempt_take_first(&worker->idle);
    if (!attempt) return calloc(1, sizeof *attempt);
    struct command kept = attempt->command;
    *attempt = (struct attempt){.command = {.block = kept.block, .capacity = kept.capacity}};
    return attempt;
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

// For an attempt that is refused: there may be no memory to store it.
static void refuse(struct worker *worker, const struct wire_run *message, int error,
                   const char *reason)
{
    struct attempt run = {.end = WIRE_NOT_STARTED, .status = error};
    run.command.run.task = message->task;
    run.command.run.attempt = message->attempt;
    run.began = run.ended = os_now();
    snprintf(run.reason, sizeof run.reason, "%s", reason);
    report_finished(worker, &run);
}

static void queue_stopped(struct worker *worker, struct attempt *attempt)
{
    attempt->end = WIRE_STOPPED;
    attempt->began = os_now();
    attempt->ticks = os_ticks();
    attempt_end(worker, attempt);
}

void on_run(struct worker *worker, const struct wire_run *message)
{
    if (worker->is_draining && !worker->is_quitting) return;
    const char *fault = find_fault(worker, message);
    if (fault) return refuse(worker, message, EINVAL, fault);
    struct attempt *attempt = attempt_new(worker);
    if (!attempt
        || !command_copy(&attempt->command, message, &worker->environment, worker->folder)) {
        if (attempt) attempt_append(&worker->idle, attempt);
        return refuse(worker, message, ENOMEM, "the worker is out of memory");
    }
    attempt->state = ATTEMPT_QUEUED;
    if (worker->is_quitting)
        queue_stopped(worker, attempt);
    else
        attempt_append(&worker->queue, attempt);
}

void attempts_start(struct worker *worker)
{
    for (struct attempt *attempt; (attempt = worker->queue.first);) {
        if (cores_of(attempt) > worker->cores - worker->cores_used) return;
        if (!ARRAY_MORE_RAW(&memory_heap, worker->running, worker->running_count,
                            worker->running_capacity))
            return;
        attempt_take_first(&worker->queue);
        if (!attempt_begin(worker, attempt)) {
            attempt_end(worker, attempt);
            continue;
        }
        worker->cores_used += cores_of(attempt);
        worker->running[worker->running_count++] = attempt;
        report_started(worker, attempt);
    }
}

// ---- Telling it to end ----------------------------------------------------------------------

static void kill_now(struct worker *worker, struct attempt *attempt)
{
    attempt->kill_due = 0;
    tree_signal(worker, attempt, SIGKILL);
    attempt->sweep_due = os_ticks() + SWEEP_EVERY;
}

static void tell_to_end(struct worker *worker, struct attempt *attempt, enum wire_end cause,
                        int64_t grace)
{
    int64_t due = os_ticks() + (grace > 0 ? grace : 0);
    bool is_first = !attempt->cause && attempt->state == ATTEMPT_RUNNING;
    if (is_first) attempt->cause = cause;
    attempt->timeout_due = INT64_MAX;
    if (due < attempt->kill_due) attempt->kill_due = due;
    if (grace <= 0) return kill_now(worker, attempt);
    if (is_first) tree_signal(worker, attempt, SIGTERM);
}

static bool stop_queued(struct worker *worker, const struct wire_stop *stop)
{
    struct attempt_list kept = {0};
    bool found = false;
    for (struct attempt *attempt; (attempt = attempt_take_first(&worker->queue));) {
        bool is_it = is_attempt(attempt, stop->task, stop->attempt);
        if (is_it)
            queue_stopped(worker, attempt);
        else
            attempt_append(&kept, attempt);
        found |= is_it;
    }
    worker->queue = kept;
    return found;
}

// Data in its streams that was not read yet is lost.
static void pouring_stop(struct worker *worker, struct attempt *attempt)
{
    if (!attempt->cause && !attempt->held_until) attempt->cause = WIRE_STOPPED;
    stream_tees_leave(worker, attempt);
}

void on_stop(struct worker *worker, const struct wire_stop *stop)
{
    if (stop_queued(worker, stop)) return;
    for (struct attempt *attempt = worker->pouring.first; attempt; attempt = attempt->next)
        if (is_attempt(attempt, stop->task, stop->attempt)) pouring_stop(worker, attempt);
    for (uint32_t i = 0; i < worker->running_count; i++)
        if (is_attempt(worker->running[i], stop->task, stop->attempt))
            tell_to_end(worker, worker->running[i], WIRE_STOPPED, stop->grace);
}

static void queue_refused(struct worker *worker, struct attempt *attempt)
{
    queue_stopped(worker, attempt);
    attempt->end = WIRE_NOT_STARTED;
    attempt->status = ECANCELED;
    snprintf(attempt->reason, sizeof attempt->reason, "the worker is draining");
}

void on_drain(struct worker *worker)
{
    worker->is_draining = true;
    for (struct attempt *attempt; (attempt = attempt_take_first(&worker->queue));) {
        if (worker->options->tells_drained)
            queue_refused(worker, attempt);
        else
            attempt_append(&worker->idle, attempt);
    }
}

void on_quit(struct worker *worker, int64_t grace)
{
    worker->is_quitting = true;
    for (struct attempt *attempt; (attempt = attempt_take_first(&worker->queue));)
        queue_stopped(worker, attempt);
    for (struct attempt *attempt = worker->pouring.first; attempt; attempt = attempt->next)
        pouring_stop(worker, attempt);
    for (uint32_t i = 0; i < worker->running_count; i++)
        tell_to_end(worker, worker->running[i], WIRE_STOPPED, grace);
}

// ---- Ending ------------------------------------------------------------------------------------

static bool is_told_to_die(const struct attempt *attempt)
{
    return !attempt->cause || attempt->kill_due == 0;
}

// Its first process is gone: the processes it left behind are ended, at once or after the
// grace period.
static bool is_swept(struct worker *worker, struct attempt *attempt, int64_t now)
{
    bool must_die = is_told_to_die(attempt);
    uint32_t left = tree_signal(worker, attempt, must_die ? SIGKILL : 0);
    attempt->sweep_due = now + (must_die ? SWEEP_EVERY : LOOK_EVERY);
    return left == 0;
}

static void sweep_left(struct worker *worker)
{
    int64_t now = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct attempt *attempt = worker->running[i];
        bool is_over = false;
        if (attempt->state == ATTEMPT_LEFT) {
            if (!now) now = os_ticks();
            is_over = !tree_may_have_left(worker, attempt) || is_swept(worker, attempt, now);
        }
        worker->running[kept++] = attempt;
        if (!is_over) continue;
        kept--;
        worker->cores_used -= cores_of(attempt);
        tree_forget_attempt(worker, attempt);
        attempt_end(worker, attempt);
    }
    worker->running_count = kept;
}

static void process_ended(struct worker *worker, pid_t pid, int status, const struct rusage *usage)
{
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct attempt *attempt = worker->running[i];
        if (attempt->pid != pid || attempt->state != ATTEMPT_RUNNING) continue;
        attempt->state = ATTEMPT_LEFT;
        attempt->status = status;
        attempt->usage = *usage;
        attempt->timeout_due = INT64_MAX;
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

static void tell_end_apart(struct worker *worker, struct attempt *attempt)
{
    int status = attempt->status;
    bool by_signal = WIFSIGNALED(status);
    attempt->end = by_signal ? WIRE_SIGNALED : WIRE_EXITED;
    if (attempt->cause)
        attempt->end = attempt->cause;
    else if (limit_was_memory(worker, attempt))
        attempt->end = WIRE_OUT_OF_MEMORY;
    else if (eviction_ended(worker, attempt))
        return;
    if (by_signal && WCOREDUMP(status)) attempt->flags |= WIRE_CORE_DUMPED;
    attempt->status = by_signal ? WTERMSIG(status) : attempt->cause ? 0 : WEXITSTATUS(status);
}

static void finish_log(struct worker *worker, struct attempt *attempt)
{
    struct log_writer *log = attempt->log;
    if (!log) return;
    if (!log_writer_end(log)) attempt->flags |= WIRE_LOG_TRUNCATED;
    attempt->log_bytes = log->came;
    log->next = worker->logs;
    worker->logs = log;
    attempt->log = NULL;
}

static void collect(struct worker *worker, struct attempt *attempt)
{
    if (attempt->end != WIRE_EXITED || attempt->was_cached) return;
    if (attempt->status) {
        files_failure_put(&worker->files, attempt);
        return;
    }
    if (!attempt->command.run.outputs.count && !attempt->key.is_known) return;
    if (files_collect(&worker->files, attempt) == FILES_BAD) attempt->end = WIRE_BAD_OUTPUT;
}

static void attempt_finish(struct worker *worker, struct attempt *attempt)
{
    bool has_run = attempt->pid > 0;
    if (has_run) tell_end_apart(worker, attempt);
    output_drain(worker, attempt);
    finish_log(worker, attempt);
    if (has_run) collect(worker, attempt);
    streams_leave(worker, attempt);
    if (attempt->command.run.flags & WIRE_RUN_PRIVATE) os_tree_remove(attempt->command.directory);
    report_finished(worker, attempt);
    attempt->state = ATTEMPT_FREE;
    attempt_append(&worker->idle, attempt);
}

// A command ends when its streams have all data it wrote, as if it had waited for that itself.
void attempts_finish(struct worker *worker)
{
    struct attempt_list poured = worker->pouring;
    worker->pouring = (struct attempt_list){0};
    for (struct attempt *attempt; (attempt = attempt_take_first(&poured));)
        attempt_append(&worker->ended, attempt);
    for (struct attempt *attempt; (attempt = attempt_take_first(&worker->ended));) {
        if (stream_tees_are_dry(worker, attempt) && !eviction_is_held(worker, attempt))
            attempt_finish(worker, attempt);
        else
            attempt_append(&worker->pouring, attempt);
    }
}

// ---- Timers ------------------------------------------------------------------------------------

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t attempt_due(const struct attempt *attempt)
{
    int64_t due = earlier(attempt->timeout_due, attempt->sweep_due);
    if (attempt->kill_due) due = earlier(due, attempt->kill_due);
    return attempt->log ? earlier(due, attempt->log->due) : due;
}

static void attempt_look(struct worker *worker, struct attempt *attempt, int64_t now)
{
    if (attempt->log && attempt->log->due <= now) log_writer_flush(attempt->log);
    if (attempt->timeout_due <= now)
        tell_to_end(worker, attempt, WIRE_TIMED_OUT, attempt->command.run.grace);
    bool is_due = attempt->kill_due && attempt->kill_due <= now;
    bool is_killed = attempt->kill_due == 0 && attempt->sweep_due <= now;
    if (attempt->state == ATTEMPT_RUNNING && (is_due || is_killed)) kill_now(worker, attempt);
    if (attempt->state == ATTEMPT_LEFT && is_due) attempt->kill_due = attempt->sweep_due = 0;
}

int64_t on_timers(struct worker *worker, int64_t now)
{
    bool sweep = false;
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct attempt *attempt = worker->running[i];
        if (attempt_due(attempt) > now) continue;
        attempt_look(worker, attempt, now);
        sweep |= attempt->state == ATTEMPT_LEFT;
    }
    if (sweep) sweep_left(worker);
    int64_t due = streams_look(worker, now);
    for (uint32_t i = 0; i < worker->running_count; i++)
        due = earlier(due, attempt_due(worker->running[i]));
    return due;
}
