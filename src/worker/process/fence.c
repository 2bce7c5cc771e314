// fence.c - a thread that kills all commands when the lease expires.
//
// The agent sets the deadline in a timer that both processes hold, so it counts down also while the
// agent is stopped, traced or hangs. The worker's own loop may be busy with a large output or wait
// for a slow disk: this thread shares nothing with it and needs no disk.
#define _GNU_SOURCE
#include "worker/process/internal.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_MAX = 400, ROUND = 5000000, STACK = 128 << 10, EXIT_FENCED = 1 };

static void children_kill(const char *thread)
{
    char path[300];
    int pid;
    snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &pid) == 1) kill(pid, SIGKILL);
    if (file) fclose(file);
}

static void all_children_kill(void)
{
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.') children_kill(entry->d_name);
    if (threads) closedir(threads);
}

void worker_children_end(void)
{
    const struct timespec moment = {.tv_nsec = ROUND};
    for (int i = 0; i < ROUNDS_MAX; i++) {
        pid_t pid;
        all_children_kill();
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0 && errno == ECHILD) return;
        nanosleep(&moment, NULL);
    }
}

void worker_fence_await(int timer)
{
    struct pollfd due = {.fd = timer, .events = POLLIN};
    while (poll(&due, 1, -1) != 1) continue;
}

// One call kills every other process of a namespace; its first process ends after that, because it
// may have to wait for a loop that hangs in the system.
static void *watch(void *context)
{
    const struct worker *worker = context;
    worker_fence_await(worker->options->fence);
    if (worker->is_init) kill(-1, SIGKILL);
    else worker_children_end();
    _exit(EXIT_FENCED);
}

bool fence_begin(struct worker *worker)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (!worker->options->fence) return true;
    if ((errno = pthread_attr_init(&attributes)) != 0) return false;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    errno = pthread_create(&thread, &attributes, watch, worker);
    int reason = errno;
    pthread_attr_destroy(&attributes);
    errno = reason;
    return reason == 0;
}
