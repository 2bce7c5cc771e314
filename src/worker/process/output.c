// output.c - pipes for the output of commands, reused by later commands.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/user.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { TURN_MAX = 1 << 20, DRAIN_MAX = 4 << 20 };

static struct output *output_open(struct worker *worker)
{
    struct output *output = calloc(1, sizeof *output);
    if (!output) return NULL;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return free(output), NULL;
    output->read = ends[0];
    output->write = ends[1];
    user_give_file(worker, output->write);  // otherwise /dev/stdout cannot be opened
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = output};
    if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, output->read, &event) == 0) return output;
    output_close(worker, output);
    return NULL;
}

// The worker keeps the writing end open, so a command that ends causes no wake-up here.
struct output *output_take(struct worker *worker, struct attempt *attempt)
{
    struct output *output = worker->outputs;
    if (output)
        worker->outputs = output->next;
    else
        output = output_open(worker);
    if (!output) return NULL;
    // A command may have set O_NONBLOCK for all that share the pipe, and so for the next.
    if (fcntl(output->write, F_SETFL, 0) != 0) return output_close(worker, output), NULL;
    output->attempt = attempt;
    return output;
}

static void output_give(struct worker *worker, struct output *output)
{
    output->attempt = NULL;
    output->next = worker->outputs;
    worker->outputs = output;
}

void output_close(struct worker *worker, struct output *output)
{
    epoll_ctl(worker->epoll, EPOLL_CTL_DEL, output->read, NULL);
    close(output->read);
    close(output->write);
    free(output);
}

static struct log_writer *log_of(struct worker *worker, struct attempt *attempt)
{
    if (attempt->log) return attempt->log;
    struct log_writer *log = worker->logs;
    if (log)
        worker->logs = log->next;
    else
        log = log_writer_open();
    if (!log) return NULL;
    uint64_t max = attempt->command.run.log_max ? attempt->command.run.log_max : worker->log_max;
    log_writer_begin(log, attempt->command.log, max);
    return attempt->log = log;
}

// A silent command must not cost a log, so the first bytes are read before there is one.
static ssize_t read_some(struct worker *worker, struct attempt *attempt, int64_t now)
{
    size_t size = LOG_RAW;
    char *room = attempt->log ? log_writer_room(attempt->log, &size) : worker->waste;
    if (attempt->log && !room) {
        ssize_t count
            = splice(attempt->output->read, NULL, worker->null, NULL, TURN_MAX, SPLICE_F_NONBLOCK);
        if (count > 0) log_writer_cut(attempt->log, (uint64_t)count);
        return count;
    }
    ssize_t count = read(attempt->output->read, room, size);
    if (count <= 0) return count;
    if (attempt->log) return log_writer_came(attempt->log, (size_t)count, now), count;
    if (!log_of(worker, attempt)) {
        attempt->flags |= WIRE_LOG_TRUNCATED;
        return count;
    }
    log_writer_first(attempt->log, room, (size_t)count, now);
    return count;
}

static bool read_until(struct worker *worker, struct attempt *attempt, uint64_t most)
{
    int64_t now = os_ticks();
    for (uint64_t total = 0; total < most;) {
        ssize_t count = read_some(worker, attempt, now);
        if (count <= 0) return true;
        total += (uint64_t)count;
    }
    return false;
}

// Closes a pipe into which a foreign process may write.
static void output_drop(struct worker *worker, struct output *output)
{
    struct output **at = &worker->outputs;
    while (*at && *at != output) at = &(*at)->next;
    if (*at) *at = output->next;
    output_close(worker, output);
}

void on_output(struct worker *worker, struct output *output)
{
    if (output->attempt)
        read_until(worker, output->attempt, TURN_MAX);
    else
        output_drop(worker, output);
}

// All output of the command is in the pipe by now. If it does not seem to end, a process that does
// not belong to the command writes into it.
void output_drain(struct worker *worker, struct attempt *attempt)
{
    if (!attempt->output) return;
    bool is_empty = read_until(worker, attempt, DRAIN_MAX);
    if (attempt->output_is_shared || !is_empty)
        output_close(worker, attempt->output);
    else
        output_give(worker, attempt->output);
    attempt->output = NULL;
}
