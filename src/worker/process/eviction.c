// eviction.c - ends from outside: a batch system that ends a worker ends its commands, too.
//
// Slurm, systemd and others send a signal to all processes of a job, often to commands first. That
// is not a failure of the command. So an end by such a signal waits a moment before it is reported:
// if the worker is told to end meanwhile, both were ended from outside.
#define _GNU_SOURCE
#include "worker/process/eviction.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

enum { HELD_FOR = 1000000, SHELL = 128 };

// Signals for faults of the program itself, such as SIGSEGV, are not among them.
static bool is_sent_to_end(int number)
{
    switch (number) {
    case SIGALRM:
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGKILL:
    case SIGTERM:
    case SIGUSR1:
    case SIGUSR2:
    case SIGXCPU: return true;
    default: return false;
    }
}

// A shell, or a program that cleans up first, reports the signal by its exit status. 0: none.
static int signal_of(const struct attempt *attempt)
{
    if (attempt->cause || attempt->pid <= 0) return 0;
    int number = WIFSIGNALED(attempt->status) ? WTERMSIG(attempt->status)
                                              : WEXITSTATUS(attempt->status) - SHELL;
    return is_sent_to_end(number) ? number : 0;
}

// `rota run` drains when one of its tasks has failed: then the worker is not being ended.
static bool worker_ends(const struct worker *worker)
{
    return worker->is_quitting || (worker->is_draining && worker->options->tells_drained);
}

void eviction_note(struct attempt *attempt)
{
    attempt->held_until = signal_of(attempt) ? os_ticks() + HELD_FOR : 0;
}

bool eviction_is_held(const struct worker *worker, const struct attempt *attempt)
{
    return attempt->held_until && !worker_ends(worker) && os_ticks() < attempt->held_until;
}

// An end whose time has passed is not due: it waits for its output, which wakes the worker.
int64_t eviction_due(const struct worker *worker)
{
    int64_t due = INT64_MAX, now = os_ticks();
    for (const struct attempt *attempt = worker->pouring.first; attempt; attempt = attempt->next)
        if (attempt->held_until > now && attempt->held_until < due) due = attempt->held_until;
    return due;
}

bool eviction_ended(const struct worker *worker, struct attempt *attempt)
{
    if (!attempt->held_until || !worker_ends(worker)) return false;
    snprintf(attempt->reason, sizeof attempt->reason, "signal %d, while the worker was being ended",
             signal_of(attempt));
    attempt->end = WIRE_STOPPED;
    attempt->status = ESHUTDOWN;
    return true;
}
