// syncer.c - syncs the log in a thread: one sync covers all writes that were made before it.
//
// A disk is often faster than waking a thread. So both sides first spin for a moment, and sleep
// only if nothing happens. The thread spins only while that pays off, because it takes time from
// the other threads.
#include "store/log/log.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 100000, LOOKS = 64 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// True: the number changed within LOOK_NS.
static bool changes_soon(const _Atomic uint64_t *number, uint64_t from)
{
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return atomic_load(number) != from;
    int64_t end = now_ns() + LOOK_NS;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load(number) != from) return true;
            __builtin_ia32_pause();
        }
    } while (now_ns() < end);
    return false;
}

static void event_raise(const struct syncer *syncer)
{
    uint64_t one = 1;
    if (!atomic_load(&syncer->watched)) return;
    // A full counter means that the event is raised already; there is no other error.
    ssize_t written = write(syncer->event, &one, sizeof one);
    (void)written;
}

// ---- The thread --------------------------------------------------------------------

// Waking a thread is a system call, so a sleeping thread first counts itself in `sleepers`. Either
// the thread that changes the number sees that count, or the sleeper sees the number: the atomics
// have one total order.
static void sleepers_wake(struct syncer *syncer, pthread_cond_t *condition)
{
    if (!atomic_load(&syncer->sleepers)) return;
    pthread_mutex_lock(&syncer->lock);
    pthread_cond_broadcast(condition);
    pthread_mutex_unlock(&syncer->lock);
}

static bool work_is_there(struct syncer *syncer)
{
    return atomic_load(&syncer->asked) > atomic_load(&syncer->synced);
}

static void work_wait(struct syncer *syncer)
{
    pthread_mutex_lock(&syncer->lock);
    atomic_fetch_add(&syncer->sleepers, 1);
    while (!work_is_there(syncer) && !syncer->ending)
        pthread_cond_wait(&syncer->wake, &syncer->lock);
    atomic_fetch_sub(&syncer->sleepers, 1);
    pthread_mutex_unlock(&syncer->lock);
}

// `rest` is the average wait of late. False: the thread must end.
static bool work_comes(struct syncer *syncer, int64_t *rest)
{
    uint64_t asked = atomic_load(&syncer->asked);
    int64_t began = now_ns();
    if (!work_is_there(syncer) && *rest < LOOK_NS) changes_soon(&syncer->asked, asked);
    if (!work_is_there(syncer)) work_wait(syncer);
    int64_t waited = atomic_load(&syncer->asked_at) - began;  // excludes the time to wake up
    if (waited < 0) waited = 0;
    *rest += ((waited < 8 * LOOK_NS ? waited : 8 * LOOK_NS) - *rest) / 4;
    return work_is_there(syncer);
}

static void *syncer_work(void *context)
{
    struct syncer *syncer = context;
    int64_t rest = 0;
    while (work_comes(syncer, &rest)) {
        uint64_t asked = atomic_load(&syncer->asked);
        sqlite3_file *file = atomic_load(&syncer->file);
        int result = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
        int fine = SQLITE_OK;
        if (result) atomic_compare_exchange_strong(&syncer->result, &fine, result);
        atomic_store(&syncer->synced, asked);
        sleepers_wake(syncer, &syncer->done);
        event_raise(syncer);
    }
    return NULL;
}

// ---- Called by other threads --------------------------------------------------------

bool syncer_open(struct syncer *syncer)
{
    if (syncer->open) return true;
    syncer->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (syncer->event < 0) return false;
    pthread_mutex_init(&syncer->lock, NULL);
    pthread_cond_init(&syncer->wake, NULL);
    pthread_cond_init(&syncer->done, NULL);
    syncer->open = pthread_create(&syncer->thread, NULL, syncer_work, syncer) == 0;
    if (!syncer->open) close(syncer->event);
    return syncer->open;
}

void syncer_close(struct syncer *syncer)
{
    if (!syncer->open) return;
    pthread_mutex_lock(&syncer->lock);
    syncer->ending = true;
    pthread_cond_signal(&syncer->wake);
    pthread_mutex_unlock(&syncer->lock);
    pthread_join(syncer->thread, NULL);
    pthread_cond_destroy(&syncer->done);
    pthread_cond_destroy(&syncer->wake);
    pthread_mutex_destroy(&syncer->lock);
    close(syncer->event);
    syncer->open = false;
}

void syncer_ask(struct syncer *syncer, sqlite3_file *file)
{
    atomic_store(&syncer->file, file);
    atomic_store(&syncer->asked_at, now_ns());
    atomic_fetch_add(&syncer->asked, 1);
    sleepers_wake(syncer, &syncer->wake);
}

int syncer_wait(struct syncer *syncer, uint64_t until)
{
    if (!syncer->open) return atomic_load(&syncer->result);
    uint64_t synced = atomic_load(&syncer->synced);
    while (synced < until && changes_soon(&syncer->synced, synced))
        synced = atomic_load(&syncer->synced);
    if (synced < until) {
        pthread_mutex_lock(&syncer->lock);
        atomic_fetch_add(&syncer->sleepers, 1);
        while (atomic_load(&syncer->synced) < until)
            pthread_cond_wait(&syncer->done, &syncer->lock);
        atomic_fetch_sub(&syncer->sleepers, 1);
        pthread_mutex_unlock(&syncer->lock);
    }
    return atomic_load(&syncer->result);
}

void syncer_note(struct syncer *syncer, int result)
{
    int fine = SQLITE_OK;
    if (result) atomic_compare_exchange_strong(&syncer->result, &fine, result);
    // In this order the thread never sees it as work.
    atomic_store(&syncer->synced, atomic_load(&syncer->asked) + 1);
    atomic_fetch_add(&syncer->asked, 1);
}

int syncer_watch(struct syncer *syncer)
{
    if (!syncer_open(syncer)) return -1;
    atomic_store(&syncer->watched, true);
    return syncer->event;
}
