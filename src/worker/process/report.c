// report.c - messages to the server. They wait for the end of the turn and are sent together.
#include "os/os.h"
#include "worker/process/internal.h"

#include <stdio.h>

// The delay of a start report in microseconds: the end often follows and is sent with it.
enum { REPORT_STARTED_WAITS = 4000 };

static const char *limits_text(const struct worker *worker)
{
    if (worker->is_init && worker->has_proc) return "PID namespace; memory by RLIMIT_DATA";
    if (worker->is_init) return "PID namespace without /proc; memory by RLIMIT_DATA";
    return "process tree, which survives a killed worker if it hides; "
           "memory by RLIMIT_DATA";
}

void report_hello(struct worker *worker)
{
    struct wire_message message = {.kind = WIRE_HELLO_MESSAGE};
    message.hello.version = WIRE_VERSION;
    message.hello.cores = worker->cores;
    message.hello.memory_mib = worker->options->memory_mib;
    message.hello.name = wire_text_of(worker->options->name);
    char limits[200];
    snprintf(limits, sizeof limits, "%s%s%s", limits_text(worker),
             worker->domain >= 0 ? "; tasks cannot signal each other" : "",
             worker->keeps_limits ? " or change each other's limits" : "");
    message.hello.limits = wire_text_of(limits);
    worker->is_urgent = !worker->options->is_known;
    worker->started_due = os_ticks() + REPORT_STARTED_WAITS;
    wire_put(&worker->out, &message);
}

void report_started(struct worker *worker, const struct attempt *attempt)
{
    struct wire_message message = {.kind = WIRE_STARTED_MESSAGE};
    message.started.task = attempt->command.run.task;
    message.started.attempt = attempt->command.run.attempt;
    message.started.at = attempt->began;
    message.started.pid = (uint32_t)attempt->pid;
    wire_put(&worker->out, &message);
    int64_t due = attempt->ticks + REPORT_STARTED_WAITS;
    if (due < worker->started_due) worker->started_due = due;
}

static int64_t time_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

void report_finished(struct worker *worker, const struct attempt *attempt)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    struct wire_finished *it = &message.finished;
    it->task = attempt->command.run.task;
    it->attempt = attempt->command.run.attempt;
    it->end = attempt->end;
    it->status = attempt->status;
    it->flags = attempt->flags | (attempt->was_cached ? WIRE_CACHED : 0);
    it->began = attempt->began;
    it->ended = attempt->ended;
    it->user = time_of(attempt->usage.ru_utime);
    it->system = time_of(attempt->usage.ru_stime);
    it->memory_bytes = (uint64_t)attempt->usage.ru_maxrss * 1024;
    it->log_bytes = attempt->log_bytes;
    it->reason = wire_text_of(attempt->reason);
    if (attempt->end == WIRE_EXITED && attempt->status == 0)
        it->outputs = (wire_files){attempt->command.made, attempt->command.run.outputs.count};
    worker->is_urgent = true;
    wire_put(&worker->out, &message);
}
