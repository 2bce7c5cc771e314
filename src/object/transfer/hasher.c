// hasher.c - a thread that hashes files while they are written, and syncs them.
//
// Received bytes are passed to the thread in a ring, on their way into the file: reading them back
// would take a quarter of the time of hashing. Only a file that existed before is read.
#define _GNU_SOURCE
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// one buffer is processed before another job has its turn
enum { BUFFER = 256 << 10, RING = 8 * BUFFER };

// Fields marked so belong to the thread, without the lock, while it processes the job.
struct hasher_job {
    struct hasher_job *next;
    int fd;                  // the thread's; a duplicate
    struct os_hash *sum;      // the thread's; null: nothing to hash
    uint64_t hashed, bytes;  // the thread's
    enum hasher_sync sync;
    char *ring;     // null: everything is in the file
    uint32_t size;  // of the ring; a byte of the file has a fixed place in it
    // bytes that can be hashed; bytes that are hashed, and leave the ring
    uint64_t available, taken;
    bool is_awaited;  // the caller waits for room in the ring
    bool is_queued, is_taken, is_dropped, is_done;
    int reason;
    uint8_t hash[CACHE_HASH];
};

struct hasher {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct hasher_job *first, *last;  // jobs with something to do
    int event;
    bool is_ending;
    char buffer[BUFFER];  // the thread's
};

static void job_close(struct hasher_job *job)
{
    os_hash_close(job->sum);
    if (job->fd >= 0) close(job->fd);
    free(job->ring);
    free(job);
}

static void job_queue(struct hasher *hasher, struct hasher_job *job)
{
    if (job->is_queued) return;
    job->is_queued = true;
    job->next = NULL;
    *(hasher->last ? &hasher->last->next : &hasher->first) = job;
    hasher->last = job;
    pthread_cond_signal(&hasher->wake);
}

static struct hasher_job *job_unqueue(struct hasher *hasher)
{
    struct hasher_job *job = hasher->first;
    hasher->first = job->next;
    if (!job->next) hasher->last = NULL;
    job->is_queued = false;
    return job;
}

static void ring_hash(struct hasher_job *job, uint64_t count)
{
    uint32_t at = (uint32_t)(job->hashed % job->size);
    if (count > job->size - at) count = job->size - at;
    os_hash_add(job->sum, job->ring + at, (size_t)count);
    job->hashed += count;
}

static int file_hash(struct hasher *hasher, struct hasher_job *job, uint64_t count)
{
    ssize_t got = pread(job->fd, hasher->buffer, (size_t)count, (off_t)job->hashed);
    if (got < 0 && errno == EINTR) return 0;
    if (got <= 0) return got < 0 ? errno : EIO;
    os_hash_add(job->sum, hasher->buffer, (size_t)got);
    job->hashed += (uint64_t)got;
    return 0;
}

// Returns an errno.
static int job_hash(struct hasher *hasher, struct hasher_job *job, uint64_t available)
{
    uint64_t left = available - job->hashed;
    uint64_t count = left < BUFFER ? left : BUFFER;
    if (count && !job->ring) return file_hash(hasher, job, count);
    if (count) ring_hash(job, count);
    return 0;
}

static int job_sync(struct hasher_job *job)
{
    if (job->sync == HASHER_NO_SYNC) return 0;
    int failed = job->sync == HASHER_SYNC_FILE ? fdatasync(job->fd) : syncfs(job->fd);
    return failed ? errno : 0;
}

static void event_tell(struct hasher *hasher)
{
    uint64_t one = 1;
    ssize_t told = write(hasher->event, &one, sizeof one);
    assert(told == sizeof one);
}

static void job_end(struct hasher *hasher, struct hasher_job *job, int reason)
{
    job->reason = reason;
    job->is_done = true;
    event_tell(hasher);
}

// Not for a few bytes: the waiting caller should have enough to do.
static void job_took(struct hasher *hasher, struct hasher_job *job)
{
    job->taken = job->hashed;
    if (!job->is_awaited || job->available - job->taken > job->size / 2) return;
    job->is_awaited = false;
    event_tell(hasher);
}

// The lock is held, except while bytes are read, hashed or synced.
static void job_work(struct hasher *hasher, struct hasher_job *job)
{
    if (job->is_dropped) {
        job_close(job);
        return;
    }
    uint64_t available = job->available;
    uint8_t hash[CACHE_HASH] = {0};
    job->is_taken = true;
    pthread_mutex_unlock(&hasher->lock);
    int reason = job->sum ? job_hash(hasher, job, available) : 0;
    bool whole = !reason && (!job->sum || job->hashed == job->bytes);
    if (whole && job->sum) os_hash_end(job->sum, hash);
    if (whole) reason = job_sync(job);
    pthread_mutex_lock(&hasher->lock);
    job->is_taken = false;
    job_took(hasher, job);
    memcpy(job->hash, hash, CACHE_HASH);
    if (job->is_dropped)
        job_close(job);
    else if (whole || reason)
        job_end(hasher, job, reason);
    else if (job->hashed < job->available)
        job_queue(hasher, job);
}

static void *hasher_run(void *context)
{
    struct hasher *hasher = context;
    pthread_mutex_lock(&hasher->lock);
    while (!hasher->is_ending) {
        if (hasher->first)
            job_work(hasher, job_unqueue(hasher));
        else
            pthread_cond_wait(&hasher->wake, &hasher->lock);
    }
    pthread_mutex_unlock(&hasher->lock);
    return NULL;
}

// Signals are for the main thread.
static bool thread_start(struct hasher *hasher)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool fine = pthread_create(&hasher->thread, NULL, hasher_run, hasher) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}

struct hasher *hasher_open(void)
{
    struct hasher *hasher = calloc(1, sizeof *hasher);
    if (!hasher) return NULL;
    pthread_mutex_init(&hasher->lock, NULL);
    pthread_cond_init(&hasher->wake, NULL);
    hasher->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hasher->event >= 0 && thread_start(hasher)) return hasher;
    if (hasher->event >= 0) close(hasher->event);
    free(hasher);
    return NULL;
}

// All jobs have been dropped before; queued ones have no owner any more.
void hasher_close(struct hasher *hasher)
{
    if (!hasher) return;
    pthread_mutex_lock(&hasher->lock);
    hasher->is_ending = true;
    pthread_cond_signal(&hasher->wake);
    pthread_mutex_unlock(&hasher->lock);
    pthread_join(hasher->thread, NULL);
    while (hasher->first) job_close(job_unqueue(hasher));
    pthread_mutex_destroy(&hasher->lock);
    pthread_cond_destroy(&hasher->wake);
    close(hasher->event);
    free(hasher);
}

int hasher_file(const struct hasher *hasher)
{
    return hasher->event;
}

struct hasher_job *hasher_begin(struct cache *cache, int fd, uint64_t bytes,
                                enum hasher_sync sync)
{
    struct hasher_job *job = calloc(1, sizeof *job);
    if (!job) return NULL;
    *job = (struct hasher_job){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .bytes = bytes, .sync = sync};
    if (cache) job->sum = cache_hash_open(cache, NULL);
    if (job->fd < 0 || (cache && !job->sum)) {
        job_close(job);
        return NULL;
    }
    return job;
}

struct hasher_job *hasher_begin_arrival(struct cache *cache, int fd, uint64_t bytes,
                                        enum hasher_sync sync)
{
    struct hasher_job *job = hasher_begin(cache, fd, bytes, sync);
    if (!job) return NULL;
    job->size = bytes && bytes < RING ? (uint32_t)bytes : RING;
    job->ring = malloc(job->size);
    if (job->ring) return job;
    job_close(job);
    return NULL;
}

char *hasher_room(struct hasher *hasher, struct hasher_job *job, uint32_t *room)
{
    pthread_mutex_lock(&hasher->lock);
    uint32_t at = (uint32_t)(job->available % job->size);
    uint32_t empty = job->size - (uint32_t)(job->available - job->taken);
    *room = empty < job->size - at ? empty : job->size - at;
    job->is_awaited = empty == 0;
    pthread_mutex_unlock(&hasher->lock);
    return job->ring + at;
}

void hasher_more(struct hasher *hasher, struct hasher_job *job, uint64_t available)
{
    pthread_mutex_lock(&hasher->lock);
    job->available = available;
    if (!job->is_taken && !job->is_done) job_queue(hasher, job);
    pthread_mutex_unlock(&hasher->lock);
}

bool hasher_is_done(struct hasher *hasher, struct hasher_job *job, uint8_t hash[CACHE_HASH],
                    int *reason)
{
    pthread_mutex_lock(&hasher->lock);
    bool done = job->is_done;
    *reason = job->reason;
    memcpy(hash, job->hash, CACHE_HASH);
    pthread_mutex_unlock(&hasher->lock);
    return done;
}

// The thread closes the job it is processing itself: a sync may take long.
void hasher_drop(struct hasher *hasher, struct hasher_job *job)
{
    if (!job) return;
    pthread_mutex_lock(&hasher->lock);
    bool is_mine = !job->is_taken && !job->is_queued;
    job->is_dropped = true;
    pthread_mutex_unlock(&hasher->lock);
    if (is_mine) job_close(job);
}
