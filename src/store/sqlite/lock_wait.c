// lock_wait.c - waits while another program has locked the database.
//
// `sqlite3 FILE vacuum`, a checkpoint or a transaction of another tool locks the database for
// writing. The turn waits for it, and so do all answers. That must be much shorter than a lease.
#include "store/sqlite/sqlite.h"

#include <time.h>

enum { PAUSE_MS = 5, SAY_AFTER_MS = 200 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

// SQLite calls this repeatedly; `count` is 0 for the first time. 0: give up.
int busy_wait(void *context, int count)
{
    struct sqlite_store *store = context;
    static const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000l};
    int64_t now = now_ms();
    if (!count) store->busy_since = now, store->busy_is_told = false;
    int64_t waited = now - store->busy_since;
    if (waited >= STORE_BUSY_MS) return 0;
    if (waited >= SAY_AFTER_MS && !store->busy_is_told) {
        store->busy_is_told = true;
        fprintf(stderr,
                "rota: %s: another program has locked the database; waiting for it up to %d s\n",
                store->path, STORE_BUSY_MS / 1000);
    }
    nanosleep(&pause, NULL);
    return 1;
}
