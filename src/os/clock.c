// clock.c - what time it is, and waiting for a later one.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>

int64_t os_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t os_ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t os_spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t os_boottime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static sigset_t ending(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void os_signals_hold(void)
{
    sigset_t set = ending();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

bool os_sleep_until(int64_t then)
{
    sigset_t set = ending();
    for (;;) {
        int64_t left = then - os_now();
        if (left < 0) left = 0;
        struct timespec time = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
        if (sigtimedwait(&set, NULL, &time) >= 0) return false;
        if (errno != EINTR) return true;
    }
}

bool os_random(void *bytes, size_t size)
{
    return getrandom(bytes, size, 0) == (ssize_t)size;
}
