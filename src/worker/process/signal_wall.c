// signal_wall.c - keeps commands from signalling each other and all processes outside their task.
//
// Each command enters its own Landlock domain, which needs Linux 6.12, and either root or
// no_new_privs. A worker that has neither does not set no_new_privs by itself: commands may need
// programs such as sudo.
#define _GNU_SOURCE
#include "worker/process/signal_wall.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

// As in linux/landlock.h since 6.12; the headers may be older than the kernel.
enum { SCOPE_SIGNAL = 2, CREATE_RULESET = 444, RESTRICT_SELF = 446 };
struct ruleset {
    uint64_t files, network, scoped;
};

bool signal_wall_enter(int domain)
{
    return syscall(RESTRICT_SELF, domain, 0) == 0;
}

// Whether it is permitted depends on more than can be queried, so a process tries it.
static bool is_allowed(int domain)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) _exit(signal_wall_enter(domain) ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int signal_wall_open(void)
{
    const struct ruleset rules = {.scoped = SCOPE_SIGNAL};
    int domain = (int)syscall(CREATE_RULESET, &rules, sizeof rules, 0);
    if (domain < 0) return -1;
    if (is_allowed(domain)) return domain;
    close(domain);
    return -1;
}
