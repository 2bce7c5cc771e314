// fence.c - a thread that ends it all when the loop cannot.
//
// The loop may hang in a slow disk, or in a system that has no time for it, while a lease runs out.
// Then nobody can say that exclusive processes are gone, unless all of them go: the first process
// of their namespace is killed, and the agent after it. Where there is no namespace, what the dead
// leave behind becomes a child of the agent, which goes on killing until there is none.
#define _GNU_SOURCE
#include "agent/agent_parts.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_FENCED = 70, ROUNDS_MAX = 400, ROUND = 5000000 };  // two seconds: K of guarantees.md

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

void fence_orphans_end(void)
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

static void *watch(void *context)
{
    static const char sentence[]
        = "rota worker: the lease is over and commands are left that must not outlive it: "
          "all are killed\n";
    const struct fence *fence = context;
    uint64_t times;
    while (read(fence->timer, &times, sizeof times) != sizeof times) continue;
    kill(fence->worker, SIGKILL);
    fence_orphans_end();
    ssize_t wrote = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)wrote;
    _exit(EXIT_FENCED);
}

bool fence_open(struct fence *fence, pid_t worker)
{
    pthread_t thread;
    *fence = (struct fence){.worker = worker, .due = INT64_MAX};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fence->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (fence->timer < 0) return false;
    errno = pthread_create(&thread, NULL, watch, fence);
    return errno == 0 && pthread_detach(thread) == 0;
}

void fence_set(struct fence *fence, int64_t due)
{
    struct itimerspec time = {0};
    if (due == fence->due) return;
    fence->due = due;
    if (due != INT64_MAX) {
        time.it_value.tv_sec = due / 1000000;
        time.it_value.tv_nsec = due % 1000000 * 1000 + 1;  // 0 would mean never
    }
    timerfd_settime(fence->timer, TFD_TIMER_ABSTIME, &time, NULL);
}
