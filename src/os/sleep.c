// sleep.c - sleeps until a time, or until a signal asks the program to end.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

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
