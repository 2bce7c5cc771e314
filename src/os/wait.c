// wait.c - waits for a few files, for signals, or until a time.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { WATCHES_MAX = 16 };

// The parent may have asked to ignore a signal, as nohup does. Blocking it would undo that.
static void add_unless_ignored(sigset_t *set, int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) return;
    sigaddset(set, number);
}

int os_signals_open(void)
{
    // Batch systems warn before a limit with USR1, USR2, XCPU, or another signal that the user
    // chose.
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_unless_ignored(&set, numbers[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL)) return -1;
    signal(SIGPIPE, SIG_IGN);  // write() reports both as errors instead
    signal(SIGXFSZ, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int os_signal_next(int signals)
{
    struct signalfd_siginfo told;
    return read(signals, &told, sizeof told) == sizeof told ? (int)told.ssi_signo : 0;
}

bool os_wait(struct os_watch *watches, uint32_t count, int64_t until)
{
    struct pollfd polls[WATCHES_MAX];
    struct timespec time, *limit = NULL;
    for (uint32_t i = 0; i < count && i < WATCHES_MAX; i++) {
        short events = watches[i].write ? POLLIN | POLLOUT : POLLIN;
        polls[i] = (struct pollfd){.fd = watches[i].file, .events = events};
    }
    if (until != INT64_MAX) {
        int64_t left = until - os_ticks();
        if (left < 0) left = 0;
        time = (struct timespec){.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
        limit = &time;
    }
    int ready = ppoll(polls, count, limit, NULL);
    for (uint32_t i = 0; i < count; i++) {
        watches[i].can_read = ready > 0 && polls[i].revents & (POLLIN | POLLHUP | POLLERR);
        watches[i].can_write = ready > 0 && polls[i].revents & POLLOUT;
    }
    return ready > 0;
}

void os_event_clear(int event)
{
    uint64_t count;
    while (read(event, &count, sizeof count) < 0 && errno == EINTR) continue;
}

bool os_is_terminal(int file)
{
    return isatty(file);
}

uint32_t os_terminal_width(int file)
{
    struct winsize size;
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return 80;
}

uint32_t os_files_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 1024;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit)) getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > UINT32_MAX ? UINT32_MAX : (uint32_t)limit.rlim_cur;
}
