// pool.h - the inside of a pool: a core behind a lock, servers, jobs and what clients are told.
//
// A job is in one of two places. The core (turn.c, submit.c, fetch.c) knows everything. A plain job
// (plain.c, walk.c) has nothing but functions and needs, nobody hears of its single tasks, and the
// servers walk it without the lock; as soon as anybody wants to know or change more than its end,
// it is settled: it moves into the core, with all that was done so far.
//
// Locks, in the order in which they are taken: pool->lock, each server's, a plain job's.
#pragma once

#include "base/base.h"
#include "rota_pool.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    BATCH = 16,         // tasks of the core that a server has in hand
    RING = 1024,        // plain tasks that a server has in hand; a power of two
    CHUNK = 64,         // plain tasks between two looks at the core, and taken at a time
    ADDED = 1024,       // single functions that share a job
    LINE = 64,
    MACHINE_SERVERS = 1,  // in the core: tasks with a function, and those without
    MACHINE_HANDLERS = 2,
};
#define SERVER_HANDLER UINT64_MAX  // in the core all servers are one handler
#define PLAIN_DONE UINT32_MAX      // in plain->need: the task is over

// ---- Jobs --------------------------------------------------------------------------------

struct run {
    rota_pool_function *function;
    void *argument;
};

// A graph of functions that servers walk; its tasks count from 0. The arrays do not change but for
// `need` and `ready`, a ring that could hold every task.
struct plain {
    atomic_uint count;              // grows up to `capacity` while pool->adding is its job
    uint32_t capacity;
    atomic_uint *need;              // by task: needs that are not delivered
    uint32_t *after_first, *after;  // by task: who needs it; null: nobody needs anybody
    struct run *runs;               // by task; null: all are as the job says
    uint32_t *ready;                // ready, and in no server's hands; null: all, in order
    uint32_t ready_first;           // of the ring
    void *raw;                      // the block they all lie in, and how large it is
    size_t bytes;
    struct job *next;               // of those that are walked
    _Alignas(LINE) atomic_uint lock;  // of the ring
    atomic_uint ready_count;
    atomic_uint done;
};

struct job {
    uint32_t number, flags;
    uint64_t client;
    uint32_t task_count, task_capacity, bundle_count, need_count;
    struct run run;                 // of tasks without one of their own
    struct rota_pool_task *tasks;   // null: all are as the job says
    struct plain *plain;            // null: in the core
    struct rota_pool_sum sum;       // when it is over
    uint32_t out;                   // tasks that servers and handlers have
    bool in_lanes, over;
    bool walked;                    // over, as a plain job: the core has none of its tasks
    bool forgotten;                 // forgotten: to be closed when nothing of it is out
    struct job *next_forgotten;
};

// ---- Clients -----------------------------------------------------------------------------

// Confirmations that nobody has read: a ring with room for all that may come.
struct client {
    uint64_t number;
    struct rota_pool_confirmation *ring;
    uint32_t first, count, capacity;
    uint32_t expected;  // tasks that are not confirmed
};

// ---- Servers -----------------------------------------------------------------------------

struct ended {
    struct job *job;
    rota_task_id task;
    int32_t status;
};

struct granted {
    struct job *job;
    struct run run;
    rota_task_id task;
    uint32_t attempt;
};

struct rota_pool_call {
    struct rota_pool *pool;
    struct server *server;
    rota_task_id task;
};

// Behind `lock` is what other servers may take away, or have to see.
struct server {
    _Alignas(LINE) atomic_uint lock;
    struct job *job;                // whose tasks are in the ring; plain
    atomic_uint head, tail;         // of the ring; written behind the lock
    uint32_t told;                  // tail when idle servers were last looked for
    uint32_t done;                  // of the job, since it was last said
    uint32_t ring[RING];
    struct granted granted[BATCH];  // claimed, not started
    uint32_t granted_first;
    atomic_uint granted_count;
    struct ended ended[BATCH];      // over, and the core does not know
    atomic_uint ended_count;
    struct job *running;            // of the task that runs, if one does
    rota_task_id task;
    atomic_bool stopped;            // it was told to stop
    // The server's own.
    struct rota_pool *pool;
    pthread_t thread;
    uint32_t number, batch;
    bool batching;                  // counts in pool->batching
};

// ---- The pool ----------------------------------------------------------------------------

enum stage { STAGE_OPEN, STAGE_SHUT, STAGE_QUIT };

struct rota_pool {
    pthread_mutex_t lock;           // of everything but what servers have
    pthread_cond_t work;            // servers: there may be something to run
    pthread_cond_t offer, change;   // handlers: any task; this one
    pthread_cond_t news;            // clients
    struct memory memory;
    struct rota *rota;
    struct server *servers;
    void *servers_raw;              // the block they lie in
    uint32_t server_count, started; // started: threads that run
    _Atomic(const char *) reason;

    struct map job_by_number;       // index in jobs, plus one
    struct job **jobs;
    uint32_t job_count, job_capacity;
    _Atomic(struct job *) plain_first;  // jobs that are walked; the oldest is last
    struct job *adding;             // that gets single functions; plain, and not over
    struct job *forgotten_first;    // to be closed when the effects are taken
    struct job *accepting;          // is being submitted, and has no number yet
    rota_task_id accepted;
    uint32_t tasks_max, needs_max;  // how many of both there may be: in the core, and walked
    uint32_t tasks, needs;
    uint32_t live;                  // jobs that are neither open nor over
    uint32_t lane_jobs;             // jobs with tasks in lanes
    uint32_t out;                   // tasks of the core that servers and handlers have

    struct map client_by_number;    // index in clients, plus one
    struct client *clients;
    uint32_t client_count, client_capacity;

    struct map stopping;            // tasks that are out and were cancelled
    struct granted granted[BATCH];  // by the last steps
    uint32_t granted_count;

    enum stage stage;
    uint32_t inside;                // calls that have not returned
    uint32_t batching;              // servers that told the core nothing for some tasks
    uint32_t clients_asleep, handlers_any, handlers_this;
    atomic_uint idle;               // servers that sleep, or are about to
    atomic_uint eager;              // idle servers and handlers that wait
    atomic_uint signals;            // there was something new to run, so often
    atomic_int core_priority;       // of the best function in the core; INT32_MIN: there is none
};

// ---- lock.c: entering, leaving, waiting --------------------------------------------------

void pool_lock(struct rota_pool *pool);
void pool_unlock(struct rota_pool *pool);  // only here jobs are forgotten: pointers to them hold
void pool_enter(struct rota_pool *pool);
void pool_leave(struct rota_pool *pool);
enum rota_error pool_refuse(struct rota_pool *pool, enum rota_error error, const char *reason);

// An end of waiting, from a time span; and a wait that is false when that is over.
rota_time clock_now(void);
rota_time deadline_after(rota_time timeout);
bool wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, rota_time deadline);
bool condition_open(pthread_cond_t *condition);

static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}
void spin_lock(atomic_uint *lock);
static inline void spin_unlock(atomic_uint *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}
void servers_lock(struct rota_pool *pool);  // all of them
void servers_unlock(struct rota_pool *pool);

// ---- turn.c: steps of the core and what follows ------------------------------------------

// For a caller from outside, who may ask for the reason; servers call rota_step().
enum rota_error turn_step(struct rota_pool *pool, const struct rota_event *event);
void turn_take(struct rota_pool *pool);    // effects; grants are left in pool->granted
void turn_wake(struct rota_pool *pool);    // whoever could go on now
bool turn_gather(struct rota_pool *pool);  // tells the core what servers finished; false: nothing
// DELIVER or FAIL: the task ends that way or, ROTA_STALE, aborted because it was cancelled.
enum rota_error turn_end(struct rota_pool *pool, struct job *job, const struct rota_event *event);

// ---- job.c, client.c ---------------------------------------------------------------------

struct job *pool_job_find(const struct rota_pool *pool, uint32_t number);
struct job *pool_job_open(struct rota_pool *pool);  // with room in the tables; null: no memory
void pool_job_close(struct rota_pool *pool, struct job *job);
void pool_job_add(struct rota_pool *pool, struct job *job, uint32_t number);
void pool_job_grow(struct rota_pool *pool, struct job *job, uint32_t tasks, uint32_t needs);
void pool_job_shrink(struct rota_pool *pool, const struct job *job);  // its tasks do not count now
void pool_job_is_over(struct rota_pool *pool, struct job *job, const struct rota_pool_sum *sum);
void pool_job_is_not_over(struct rota_pool *pool, struct job *job);
void pool_job_forget(struct rota_pool *pool, struct job *job);  // now, or when nothing of it is out
void pool_job_out_ended(struct rota_pool *pool, struct job *job);
void pool_job_close_forgotten(struct rota_pool *pool);
struct run pool_job_run(const struct job *job, uint32_t task);

bool client_reserve(struct rota_pool *pool, uint64_t number, uint32_t more);
void client_expect(struct rota_pool *pool, uint64_t number, uint32_t more);  // reserved
void client_tell(struct rota_pool *pool, const struct rota_action *action);
bool pool_wait_all(struct rota_pool *pool, rota_time deadline);
void client_release_all(struct rota_pool *pool);

// ---- cancel.c ----------------------------------------------------------------------------

// What handlers have: is left to them until they deliver, or taken away.
enum cancelling { CANCEL_ASK, CANCEL_TAKE };

enum rota_error cancel_all(struct rota_pool *pool, struct job *job, uint32_t bundle,
                           enum cancelling cancelling);  // bundle 0: the whole job
static inline uint64_t task_key(rota_task_id task)
{
    return (uint64_t)task.job << 32 | task.task;
}

// ---- plain.c, walk.c, thread.c -----------------------------------------------------------

bool plain_suits(const struct rota_pool *pool, const struct rota_pool_job *spec);
struct plain *plain_build(struct rota_pool *pool, const struct rota_pool_job *spec);
void plain_release(struct rota_pool *pool, struct plain *plain);
void plain_begin(struct rota_pool *pool, struct job *job, struct plain *plain);
void plain_end(struct rota_pool *pool, struct job *job);  // all is done
enum rota_error plain_settle(struct rota_pool *pool, struct job *job);
enum rota_task_state plain_state(struct rota_pool *pool, struct job *job, uint32_t task);
// One more function in the job that gets such; false: there is none with room.
bool plain_add(struct rota_pool *pool, struct run run, rota_task_id *id);
struct plain *plain_build_added(struct rota_pool *pool);  // empty, with room
bool plain_has_work(struct rota_pool *pool);

bool walk_some(struct server *server);  // false: there was nothing
bool walk_find(struct server *server);  // something to walk
void *server_main(void *server);
