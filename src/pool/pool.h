// pool.h - internals of a pool: a core protected by a lock, server threads, jobs and clients.
//
// A job is in one of two places. The core (turn.c, submit.c, fetch.c) supports everything. A plain
// job (plain.c, walk.c) has only functions and dependencies, no confirmations of single tasks, and
// server threads walk it without the lock. As soon as a caller wants to know or change more than
// its end, the job is settled: it moves into the core, with all its progress.
//
// Locks, in the order in which they are taken: pool->lock, each server's, a plain job's.
#pragma once

#include "base/base.h"
#include "rota_pool.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    BATCH = 16,    // tasks of the core that a server thread holds
    RING = 1024,   // plain tasks that a server thread holds; a power of two
    CHUNK = 64,    // plain tasks between two looks at the core, and taken at a time
    ADDED = 1024,  // single functions that share a job
    LINE = 64,
    MACHINE_SERVERS = 1,  // in the core: tasks with a function, and those without
    MACHINE_HANDLERS = 2,
};
#define SERVER_HANDLER UINT64_MAX  // in the core all servers are one handler
#define PLAIN_DONE UINT32_MAX      // in plain->need: the task has ended

// ---- Jobs --------------------------------------------------------------------------------

struct run {
    rota_pool_function *function;
    void *argument;
};

// A graph of functions that server threads walk; its tasks count from 0. The arrays are constant
// except `need` and `ready`, a ring that could hold every task.
struct plain {
    atomic_uint count;              // grows up to `capacity` while pool->adding is its job
    uint32_t capacity;
    atomic_uint *need;              // by task: dependencies that are not delivered
    uint32_t *after_first, *after;  // by task: its dependents; null: there are no dependencies
    struct run *runs;               // by task; null: all are as the job says
    uint32_t *ready;                // ready, and in no server's ring; null: all, in order
    uint32_t ready_first;           // of the ring
    void *raw;                      // the block that contains them, and its size
    size_t bytes;
    struct job *next;                 // in the list of plain jobs that are walked
    _Alignas(LINE) atomic_uint lock;  // of the ring
    atomic_uint ready_count;
    atomic_uint done;
};

struct job {
    uint32_t number, flags;
    uint64_t client;
    uint32_t task_count, task_capacity, bundle_count, need_count;
    struct run run;                 // of tasks without a function of their own
    struct rota_pool_task *tasks;   // null: all are as the job says
    struct plain *plain;            // null: in the core
    struct rota_pool_sum sum;       // when it has ended
    uint32_t out;                   // tasks that servers and handlers hold
    bool in_lanes, over;
    bool walked;     // ended as a plain job: the core has none of its tasks
    bool forgotten;  // to be closed when all its claimed tasks have returned
    struct job *next_forgotten;
};

// ---- Clients -----------------------------------------------------------------------------

// Confirmations that the client has not read: a ring with room for all outstanding ones.
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

// Protected by `lock`: everything that other servers may take or read.
struct server {
    _Alignas(LINE) atomic_uint lock;
    struct job *job;                // the plain job whose tasks are in the ring
    atomic_uint head, tail;         // of the ring; written under the lock
    uint32_t told;                  // tail when idle servers were last looked for
    uint32_t done;                  // tasks of the job since the last report
    uint32_t ring[RING];
    struct granted granted[BATCH];  // claimed, not started
    uint32_t granted_first;
    atomic_uint granted_count;
    struct ended ended[BATCH];  // ended, but not yet reported to the core
    atomic_uint ended_count;
    struct job *running;  // of the running task, if any
    rota_task_id task;
    atomic_bool stopped;            // it was told to stop
    // Used only by the server thread itself.
    struct rota_pool *pool;
    pthread_t thread;
    uint32_t number, batch;
    bool batching;                  // counts in pool->batching
};

// ---- The pool ----------------------------------------------------------------------------

enum stage { STAGE_OPEN, STAGE_SHUT, STAGE_QUIT };

struct rota_pool {
    pthread_mutex_t lock;          // protects everything except what belongs to servers
    pthread_cond_t work;           // for servers: there may be a task to run
    pthread_cond_t offer, change;  // for handlers: any task; a certain task
    pthread_cond_t news;           // for clients
    struct memory memory;
    struct rota *rota;
    struct server *servers;
    void *servers_raw;              // the block that contains them
    uint32_t server_count, started; // started: threads that run
    _Atomic(const char *) reason;

    struct map job_by_number;       // index in jobs, plus one
    struct job **jobs;
    uint32_t job_count, job_capacity;
    _Atomic(struct job *) plain_first;  // jobs that are walked; the oldest is last
    struct job *adding;                 // the job that gets single functions; plain, and not ended
    struct job *forgotten_first;    // to be closed when the effects are taken
    struct job *accepting;          // being submitted, and without a number yet
    rota_task_id accepted;
    uint32_t tasks_max, needs_max;  // limits for both: in the core, and walked
    uint32_t tasks, needs;
    uint32_t live;                  // jobs that are neither open nor ended
    uint32_t lane_jobs;             // jobs with tasks in lanes
    uint32_t out;                   // tasks of the core that servers and handlers hold

    struct map client_by_number;    // index in clients, plus one
    struct client *clients;
    uint32_t client_count, client_capacity;

    struct map stopping;            // claimed tasks that were cancelled
    struct granted granted[BATCH];  // by the last steps
    uint32_t granted_count;

    enum stage stage;
    uint32_t inside;                // calls that have not returned
    uint32_t batching;              // servers that have not reported the end of some tasks
    uint32_t clients_asleep, handlers_any, handlers_this;
    atomic_uint idle;               // servers that sleep, or are about to
    atomic_uint eager;              // idle servers and waiting handlers
    atomic_uint signals;            // number of wake-ups for new work
    atomic_int core_priority;       // of the best function in the core; INT32_MIN: there is none
};

// ---- lock.c: entering, leaving, waiting --------------------------------------------------

void pool_lock(struct rota_pool *pool);
// Removes forgotten jobs. Until then pointers to jobs stay valid.
void pool_unlock(struct rota_pool *pool);
void pool_enter(struct rota_pool *pool);
void pool_leave(struct rota_pool *pool);
enum rota_error pool_refuse(struct rota_pool *pool, enum rota_error error, const char *reason);

// A deadline from a time span; and a wait that returns false at the deadline.
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

// ---- turn.c: steps of the core and their effects --------------------------------------------

// For public functions, whose caller may ask for the reason; servers call rota_step().
enum rota_error pool_turn_step(struct rota_pool *pool, const struct rota_event *event);
void turn_take(struct rota_pool *pool);  // takes effects; grants are left in pool->granted
void turn_wake(struct rota_pool *pool);  // wakes all threads that can continue
// reports ends of servers to the core; false: there were none
bool turn_gather(struct rota_pool *pool);
// DELIVER or FAIL: the task ends that way or, with ROTA_STALE, aborted because it was cancelled.
enum rota_error turn_end(struct rota_pool *pool, struct job *job, const struct rota_event *event);

// ---- job.c, client.c ---------------------------------------------------------------------

struct job *pool_job_find(const struct rota_pool *pool, uint32_t number);
struct job *pool_job_open(struct rota_pool *pool);  // with room in the tables; null: out of memory
void pool_job_close(struct rota_pool *pool, struct job *job);
void pool_job_add(struct rota_pool *pool, struct job *job, uint32_t number);
void pool_job_grow(struct rota_pool *pool, struct job *job, uint32_t tasks, uint32_t needs);
void pool_job_shrink(struct rota_pool *pool, const struct job *job);  // its tasks no longer count
void pool_job_is_over(struct rota_pool *pool, struct job *job, const struct rota_pool_sum *sum);
void pool_job_is_not_over(struct rota_pool *pool, struct job *job);
// Removes the job now, or when its claimed tasks have returned.
void pool_job_forget(struct rota_pool *pool, struct job *job);
void pool_job_out_ended(struct rota_pool *pool, struct job *job);
void pool_job_close_forgotten(struct rota_pool *pool);
struct run pool_job_run(const struct job *job, uint32_t task);

bool client_reserve(struct rota_pool *pool, uint64_t number, uint32_t more);
void client_expect(struct rota_pool *pool, uint64_t number, uint32_t more);  // memory is reserved
void client_tell(struct rota_pool *pool, const struct rota_action *action);
bool pool_wait_all(struct rota_pool *pool, rota_time deadline);
void client_release_all(struct rota_pool *pool);

// ---- cancel.c ----------------------------------------------------------------------------

// Tasks that handlers hold are left to them until they deliver, or taken away.
enum cancelling { CANCEL_ASK, CANCEL_TAKE };

enum rota_error cancel_all(struct rota_pool *pool, struct job *job, uint32_t bundle,
                           enum cancelling cancelling);  // bundle 0: the entire job
static inline uint64_t task_key(rota_task_id task)
{
    return (uint64_t)task.job << 32 | task.task;
}

// ---- plain.c, walk.c, thread.c -----------------------------------------------------------

bool plain_suits(const struct rota_pool *pool, const struct rota_pool_job *spec);
struct plain *plain_build(struct rota_pool *pool, const struct rota_pool_job *spec);
void plain_release(struct rota_pool *pool, struct plain *plain);
void plain_begin(struct rota_pool *pool, struct job *job, struct plain *plain);
void plain_end(struct rota_pool *pool, struct job *job);  // all tasks have ended
enum rota_error plain_settle(struct rota_pool *pool, struct job *job);
enum rota_task_state plain_state(struct rota_pool *pool, struct job *job, uint32_t task);
// Adds a function to the job for single functions. False: every such job is full.
bool plain_add(struct rota_pool *pool, struct run run, rota_task_id *id);
struct plain *plain_build_added(struct rota_pool *pool);  // empty, with room
bool plain_has_work(struct rota_pool *pool);

bool walk_some(struct server *server);  // false: there was nothing to do
void *server_main(void *server);
