// mapped_index.c - ends the process with a message when the file of the mapped index is truncated.
//
// Reading past the end of a mapped file raises SIGBUS inside SQLite. The index can be rebuilt from
// the log, so no record is lost, but this process cannot continue.
#include "store/log/database_vfs.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WATCHED_MAX = 16, EXIT_BROKEN = 70 };

static struct pages *_Atomic watched[WATCHED_MAX];
static struct sigaction before;

static bool is_in_index(const struct pages *pages, uintptr_t address)
{
    for (int i = 0; i < INDEX_REGIONS; i++) {
        uintptr_t region = (uintptr_t)pages->index[i];
        if (region && address >= region && address < region + INDEX_REGION_SIZE) return true;
    }
    return false;
}

static void say(const char *path)
{
    char first[] = "rota: ", last[] = INDEX_LOST "\n";
    struct iovec parts[] = {{first, sizeof first - 1},
                            {(char *)(uintptr_t)path, strlen(path)},
                            {last, sizeof last - 1}};
    ssize_t written = writev(2, parts, 3);
    (void)written;  // if this fails, there is no other way to report it
}

static void bus_error(int number, siginfo_t *about, void *context)
{
    (void)context;
    for (int i = 0; i < WATCHED_MAX; i++) {
        const struct pages *pages = watched[i];
        if (!pages || !is_in_index(pages, (uintptr_t)about->si_addr)) continue;
        say(pages->path);
        _exit(EXIT_BROKEN);
    }
    sigaction(number, &before, NULL);  // raises the signal again, for the previous handler
}

void mapped_watch(struct pages *pages)
{
    struct sigaction now;
    for (int i = 0; i < WATCHED_MAX; i++)
        if (watched[i] == pages) return;
    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != bus_error) {
        struct sigaction action = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        before = now;
        sigaction(SIGBUS, &action, NULL);
    }
    for (int i = 0; i < WATCHED_MAX; i++) {
        struct pages *none = NULL;
        if (atomic_compare_exchange_strong(&watched[i], &none, pages)) return;
    }
}

void mapped_release(struct pages *pages)
{
    if (!pages->index[0]) return;
    for (int i = 0; i < WATCHED_MAX; i++) {
        struct pages *own = pages;
        atomic_compare_exchange_strong(&watched[i], &own, NULL);
    }
    for (int i = 0; i < INDEX_REGIONS; i++) pages->index[i] = NULL;
}
