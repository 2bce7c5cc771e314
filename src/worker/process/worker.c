// worker.c - the event loop of the process that runs commands: messages, ends, output and timers.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/eviction.h"
#include "worker/process/stream_tee.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 64, READ_AT_ONCE = 64 << 10 };

static void complain(const struct worker *worker, const char *what)
{
    fprintf(stderr, "rota worker %s: %s\n", worker->options->name ? worker->options->name : "",
            what);
}

// ---- The socket --------------------------------------------------------------------------------

static bool on_message(struct worker *worker, const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_RUN_MESSAGE: on_run(worker, &message->run); return true;
    case WIRE_STOP_MESSAGE: on_stop(worker, &message->stop); return true;
    case WIRE_DROP_MESSAGE:
        streams_drop(worker, &message->drop.objects);
        files_drop(&worker->files, &message->drop.objects);
        return true;
    case WIRE_DRAIN_MESSAGE: on_drain(worker); return true;
    case WIRE_QUIT_MESSAGE: on_quit(worker, message->quit.grace); return true;
    default: return false;
    }
}

static bool take_messages(struct worker *worker)
{
    struct wire_message message;
    for (;;) {
        enum wire_result result = wire_take(&worker->in, &message);
        if (result == WIRE_MORE) return true;
        if (result == WIRE_GOT && on_message(worker, &message)) continue;
        complain(worker, result == WIRE_NO_MEMORY ? "out of memory for a message"
                                                  : "the server sent an invalid message");
        return false;
    }
}

// False: the server is gone, or sent an invalid message.
static bool on_socket(struct worker *worker)
{
    char *room = wire_in_room(&worker->in, READ_AT_ONCE);
    if (!room) return complain(worker, "out of memory for a message"), false;
    ssize_t count = recv(worker->socket, room, READ_AT_ONCE, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) return false;
    wire_in_came(&worker->in, (uint32_t)count);
    return take_messages(worker);
}

static void watch_socket(struct worker *worker, bool out)
{
    if (worker->out_is_watched == out) return;
    struct epoll_event event = {.events = EPOLLIN | (out ? (uint32_t)EPOLLOUT : 0u)};
    event.data.ptr = &worker->socket;
    epoll_ctl(worker->epoll, EPOLL_CTL_MOD, worker->socket, &event);
    worker->out_is_watched = out;
}

// All reports of a turn are sent with one call. Data that a slow server does not read waits here.
static bool send_reports(struct worker *worker)
{
    struct wire_out *out = &worker->out;
    if (out->failed) return complain(worker, "out of memory for reports"), false;
    if (out->length && !worker->is_urgent && os_ticks() < worker->started_due) return true;
    worker->is_urgent = out->length > 0;
    worker->started_due = INT64_MAX;
    while (out->sent < out->length) {
        ssize_t count = send(worker->socket, out->bytes + out->sent, out->length - out->sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno != EAGAIN) return false;
        if (count < 0) break;
        wire_out_sent(out, (uint32_t)count);
    }
    watch_socket(worker, out->length > 0);
    worker->is_urgent = out->length > 0;
    return true;
}

// ---- The loop ----------------------------------------------------------------------------------

static int wait_events(struct worker *worker, struct epoll_event *events, int64_t due)
{
    int timeout = -1;
    if (due != INT64_MAX) {
        int64_t left = (due - os_ticks() + 999) / 1000;
        timeout = left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
    }
    return epoll_wait(worker->epoll, events, EVENTS, timeout);
}

static void on_signals(struct worker *worker)
{
    struct signalfd_siginfo told[4];
    ssize_t count = read(worker->signals, told, sizeof told);
    if (count > 0) on_children(worker);
}

// Ends of processes come first, and starts in their place, then everything that can wait.
static bool turn(struct worker *worker, const struct epoll_event *events, int count)
{
    bool is_alive = true;
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr == &worker->signals) on_signals(worker);
    attempts_start(worker);
    for (int i = 0; i < count; i++) {
        void *what = events[i].data.ptr;
        if (what == &worker->signals) continue;
        if (what == &worker->tees)
            stream_tees_work(worker);
        else if (what != &worker->socket)
            on_output(worker, what);
        else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            is_alive = on_socket(worker);
    }
    attempts_start(worker);
    attempts_finish(worker);
    return is_alive;
}

static bool is_over(const struct worker *worker)
{
    bool is_idle = !worker->running_count && !worker->queue.first && !worker->ended.first;
    return worker->is_quitting && is_idle && !worker->pouring.first && !worker->out.length;
}

static bool loop(struct worker *worker)
{
    struct epoll_event events[EVENTS];
    while (!is_over(worker)) {
        int64_t due = INT64_MAX;
        if (worker->running_count) {
            due = on_timers(worker, os_ticks());
            limit_watch(worker);
        }
        if (worker->started_due < due) due = worker->started_due;
        if (worker->pouring.first && eviction_due(worker) < due) due = eviction_due(worker);
        if (worker->ended.first) due = 0;
        int count = wait_events(worker, events, due);
        if (!turn(worker, events, count) || !send_reports(worker)) return false;
    }
    return true;
}

// The server is gone: all commands are killed at once.
static void kill_everything(struct worker *worker)
{
    struct timespec moment = {.tv_nsec = 5000000};
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    for (;;) {
        for (uint32_t i = 0; i < worker->running_count; i++)
            if (!worker->has_proc) kill(-worker->running[i]->pid, SIGKILL);
        tree_signal_all(worker, SIGKILL);
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0 && errno == ECHILD) break;
        sigtimedwait(&children, NULL, &moment);
    }
    for (uint32_t i = 0; i < worker->running_count; i++) {
        struct command *command = &worker->running[i]->command;
        if (command->run.flags & WIRE_RUN_PRIVATE) os_tree_remove(command->directory);
    }
}

int worker_main(int socket, const struct worker_options *options)
{
    struct worker worker;
    if (!worker_init(&worker, socket, options)) {
        complain(&worker, strerror(errno));
        worker_release(&worker);
        return 1;
    }
    if (options->separates_commands && worker.domain < 0)
        complain(&worker, "tasks of this worker can signal each other: to prevent that, Linux 6.12 "
                          "with Landlock and root, --user or no_new_privs are needed");
    if (worker.domain >= 0 && !worker.keeps_limits)
        complain(&worker, "tasks of this worker can end each other with prlimit: to prevent that, "
                          "a kernel with seccomp filters is needed");
    report_held(&worker);
    report_hello(&worker);
    bool is_done = send_reports(&worker) && loop(&worker);
    kill_everything(&worker);
    worker_release(&worker);
    return is_done ? 0 : 1;
}
