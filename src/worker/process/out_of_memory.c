// out_of_memory.c - finds out whether a command ran out of memory.
//
// A limit on the data of each process makes a command fail by itself: that is recognized by how
// much it used. When the system runs out of memory it kills processes, and counts them.
#define _GNU_SOURCE
#include "worker/process/internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t system_kills(void)
{
    char text[16 << 10];
    int file = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *line = strstr(text, "\noom_kill ");
    return line ? strtoull(line + strlen("\noom_kill "), NULL, 10) : 0;
}

static bool used_nearly_all(const struct attempt *attempt)
{
    uint64_t limit = (uint64_t)attempt->command.run.memory_mib << 20;
    return limit && (uint64_t)attempt->usage.ru_maxrss * 1024 >= limit / 8 * 7;
}

static bool was_killed_by_system(struct worker *worker, const struct attempt *attempt)
{
    if (!WIFSIGNALED(attempt->status) || WTERMSIG(attempt->status) != SIGKILL) return false;
    uint64_t before = worker->system_kills;
    worker->system_kills = system_kills();
    return worker->system_kills > before;
}

void limit_watch(struct worker *worker)
{
    if (worker->has_system_kills) return;
    worker->has_system_kills = true;
    worker->system_kills = system_kills();
}

bool limit_was_memory(struct worker *worker, struct attempt *attempt)
{
    if (attempt->status == 0) return false;
    if (was_killed_by_system(worker, attempt)) {
        snprintf(attempt->reason, sizeof attempt->reason,
                 "killed while the system ran out of memory, with %" PRIu64 " MiB in use",
                 (uint64_t)attempt->usage.ru_maxrss / 1024);
        return true;
    }
    if (!used_nearly_all(attempt)) return false;
    bool by_signal = WIFSIGNALED(attempt->status);
    snprintf(attempt->reason, sizeof attempt->reason,
             "%s %d with nearly all of its %" PRIu32 " MiB in use",
             by_signal ? "signal" : "exit status",
             by_signal ? WTERMSIG(attempt->status) : WEXITSTATUS(attempt->status),
             attempt->command.run.memory_mib);
    return true;
}
