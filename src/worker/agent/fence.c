// fence.c - kills all commands, and the agent, when a lease expires and the loop cannot do it.
//
// The loop may hang in a slow disk, or get no processor time, or be stopped by a signal or a
// debugger, while a lease expires. Then exclusive processes must be killed without it. Three parts
// do that, independent of each other:
//   - the process that runs commands has the same timer, and kills all commands
//     (worker/process/fence.c);
//   - a thread of the agent kills that process, in case it is the one that is stopped, and what it
//     leaves behind;
//   - a little later the kernel kills the agent, stopped or not, and with it the process that runs
//     commands, stopped or not; in a namespace that is the end of all commands.
#define _GNU_SOURCE
#include "worker/agent/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EXIT_FENCED = 70, FILE_MIN = 3 };

static void *watch(void *context)
{
    static const char sentence[]
        = "rota worker: the lease has expired and commands remain that must not outlive it: "
          "all are killed\n";
    const struct fence *fence = context;
    worker_fence_await(fence->timer);
    kill(fence->worker, SIGKILL);
    worker_children_end();
    ssize_t wrote = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)wrote;
    _exit(EXIT_FENCED);
}

bool fence_open(struct fence *fence)
{
    struct sigevent killed = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    *fence = (struct fence){.due = INT64_MAX};
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer < 0) return false;
    fence->timer = fcntl(timer, F_DUPFD_CLOEXEC, FILE_MIN);  // 0 means that there is none
    close(timer);
    return fence->timer >= 0 && timer_create(CLOCK_BOOTTIME, &killed, &fence->last) == 0;
}

bool fence_watch(struct fence *fence, pid_t worker)
{
    pthread_t thread;
    fence->worker = worker;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    errno = pthread_create(&thread, NULL, watch, fence);
    return errno == 0 && pthread_detach(thread) == 0;
}

static struct itimerspec time_of(int64_t due)
{
    struct itimerspec time = {0};
    if (due == INT64_MAX) return time;
    time.it_value.tv_sec = due / 1000000;
    time.it_value.tv_nsec = due % 1000000 * 1000 + 1;  // 0 would mean never
    return time;
}

void fence_set(struct fence *fence, int64_t due, int64_t last)
{
    if (due == fence->due) return;
    fence->due = due;
    struct itimerspec first = time_of(due), second = time_of(last);
    timerfd_settime(fence->timer, TFD_TIMER_ABSTIME, &first, NULL);
    timer_settime(fence->last, TIMER_ABSTIME, &second, NULL);
}

void fence_obey(const struct fence *fence)
{
    while (os_boottime() >= fence->due) pause();
}
