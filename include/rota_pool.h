// rota_pool.h - rota inside a program: threads that run functions, and handlers that fetch tasks.
//
//     rota_pool_open(&config, &pool);           // so many threads
//     rota_pool_submit(pool, &job, &first);     // from any thread
//     rota_pool_wait(pool, (rota_job_id){first.job}, ROTA_NEVER, NULL);
//     rota_pool_close(pool);
//
// Every function may be called from every thread, also from a function that the pool runs, if
// nothing else is said. Each is one step: nobody sees half of it. What is refused has changed
// nothing, and rota_pool_reason() says why.
#pragma once

#include "rota_ask.h"
#include "rota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_pool;
struct rota_pool_call;  // a function while it runs

// ---- Functions -------------------------------------------------------------

// Returns 0: the task is delivered; anything else: it failed with that status.
typedef int rota_pool_function(void *argument, struct rota_pool_call *call);

struct rota_pool *rota_pool_call_pool(const struct rota_pool_call *call);
rota_task_id rota_pool_call_task(const struct rota_pool_call *call);
uint32_t rota_pool_call_thread(const struct rota_pool_call *call);   // 0, 1, ... one each
bool rota_pool_call_stopped(const struct rota_pool_call *call);      // cancelled: better return
void rota_pool_call_started(const struct rota_pool_call *call);      // see ROTA_LANE_STRICT

// ---- The pool ----------------------------------------------------------------

struct rota_pool_config {
    uint32_t threads;           // that run functions; 0: handlers get those, too
    uint32_t tasks_max;         // that are known at a time
    rota_resize_fn *resize;     // null: the C heap; several threads call it at the same time
    void *resize_context;
};

struct rota_pool_config rota_pool_config_default(void);  // two threads

enum rota_error rota_pool_open(const struct rota_pool_config *config, struct rota_pool **out);

enum rota_pool_ending {
    ROTA_POOL_FINISH,           // everything that can run, does
    ROTA_POOL_STOP,             // what has not started is cancelled, and what runs is told to stop
};

// Nothing is submitted from now on. Returns when no function runs any more and, with FINISH, when
// no task is left that could run: handlers have to go on until then. With STOP, what handlers have
// is aborted, and they learn it when they deliver. Confirmations can still be read.
// ROTA_NOT_NOW: the time was over; call it again, for as long as you like, or with STOP.
// ROTA_BAD_EVENT: a function that the pool runs called it, and would wait for itself.
enum rota_error rota_pool_shut(struct rota_pool *pool, enum rota_pool_ending ending,
                               rota_time timeout);

// Shuts with STOP, waits for whoever is inside a function of this header, and gives all back.
// Null is fine; a call by a function that the pool runs is not, and stops the program.
void rota_pool_close(struct rota_pool *pool);

// Of the last refusal, in whichever thread it was; never null.
const char *rota_pool_reason(const struct rota_pool *pool);

// ---- Submitting ------------------------------------------------------------

// All zero: a task like the job says, that waits for its needs only.
struct rota_pool_task {
    rota_pool_function *function;  // null: that of the job
    void *argument;                // of its own function
    uint32_t bundle;               // number of its bundle in the job; 0: none
    uint32_t lane, group;          // 0: none
    uint32_t retries_max;          // how often it is repeated when it fails
    uint32_t flags;                // enum rota_task_flag
    int16_t priority;              // -128 to 127; higher goes first
    uint8_t access;                // enum rota_access: in a lane READ or WRITE
};

enum rota_pool_flag {
    ROTA_POOL_OPEN   = 1,       // more tasks will follow; the job is not over before the last came
    ROTA_POOL_FORGET = 2,       // forgotten when it is over, as by rota_pool_forget()
};

// What it points to is read before rota_pool_submit() returns, and not kept.
struct rota_pool_job {
    rota_job_id job;               // the open job that grows; none: a new one
    uint64_t client;               // of a new job: hears how each task ended; 0: nobody
    uint32_t flags;                // enum rota_pool_flag
    uint32_t task_count;
    rota_pool_function *function;  // of tasks without one; null: such tasks are for handlers
    void *argument;
    const struct rota_pool_task *tasks;  // null: all are zero
    // Task i (from 0) of this submission needs needs[need_first[i] ... need_first[i + 1]), which
    // are numbers of tasks in the job, counted from 1. Null: no needs at all.
    const uint32_t *need_first, *needs;
};

// Gives the job and the number of its first new task. ROTA_BAD_GRAPH: a cycle.
enum rota_error rota_pool_submit(struct rota_pool *pool, const struct rota_pool_job *job,
                                 rota_task_id *first);

// One function, without needs, that is forgotten when it is over; `id` may be null.
enum rota_error rota_pool_add(struct rota_pool *pool, rota_pool_function *function, void *argument,
                              rota_task_id *id);

// Defines a lane, before tasks name it, or changes it while none does. Flags: enum rota_lane_flag.
// In a ROTA_LANE_STRICT lane nobody starts before all others inside have started: functions say so
// with rota_pool_call_started(), handlers with rota_pool_started(), or by ending.
enum rota_error rota_pool_lane(struct rota_pool *pool, uint32_t lane, uint32_t flags);

// ---- Clients ---------------------------------------------------------------

struct rota_pool_sum { uint32_t succeeded, failed, aborted, left; };  // left: blocked

// Until a job that is not open is over: nothing of it can run. `sum` may be null.
enum rota_error rota_pool_wait(struct rota_pool *pool, rota_job_id job, rota_time timeout,
                               struct rota_pool_sum *sum);
// The same for all jobs that are not open.
enum rota_error rota_pool_wait_all(struct rota_pool *pool, rota_time timeout);

struct rota_pool_confirmation {
    rota_task_id task;
    enum rota_outcome outcome;  // OK, EXIT (it failed), ABORTED, LOST
    int32_t status;
};

// Takes at most `max` confirmations of a client, in the order in which its tasks ended. Waits for
// the first one so long. Returns how many there were; 0 also when the pool is shut.
uint32_t rota_pool_confirmed(struct rota_pool *pool, uint64_t client,
                             struct rota_pool_confirmation *out, uint32_t max, rota_time timeout);

// A task, a bundle or (task number 0) a whole job. What runs is told so and is over when it ends,
// as ABORTED, whatever it says then; until then it keeps its lane.
enum rota_error rota_pool_cancel(struct rota_pool *pool, rota_task_id task);
enum rota_error rota_pool_retry(struct rota_pool *pool, rota_task_id task);  // it failed
// The job is cancelled, and forgotten when nothing of it runs. Its numbers are not used again.
enum rota_error rota_pool_forget(struct rota_pool *pool, rota_job_id job);

// ---- Handlers --------------------------------------------------------------

struct rota_pool_grant {
    rota_task_id task;
    uint32_t attempt;
    rota_pool_function *function;  // null: the task has none
    void *argument;
};

// The task is the handler's from now on. `task` none: any that threads do not run, the most urgent
// and then the oldest first; with number 0: any such of that job. Waits so long for one that is not
// available yet; not for one that is fetched, delivered or failed, nor for any of a job that is
// over. Flags: ROTA_FETCHED_OK (nothing happens), ROTA_FAILED_OK. `grant` may be null. If the
// handler is 0, anybody may deliver.
enum rota_error rota_pool_fetch(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                uint32_t flags, rota_time timeout, struct rota_pool_grant *grant);
enum rota_error rota_pool_started(struct rota_pool *pool, uint64_t handler, rota_task_id task);
// Flags: ROTA_DELIVERED_OK, ROTA_NOFETCH_OK. ROTA_STALE: it was cancelled, and is over now.
enum rota_error rota_pool_deliver(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                  uint32_t flags);
enum rota_error rota_pool_fail(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                               uint32_t flags, int32_t status);

// The handler is not there any more. All it had is repeated as `retries_max` says, or aborted with
// the outcome LOST; what it delivers later is refused. Returns how many tasks that were.
uint32_t rota_pool_lost(struct rota_pool *pool, uint64_t handler);

// ---- Questions -------------------------------------------------------------

enum rota_task_state rota_pool_state(struct rota_pool *pool, rota_task_id task);
bool rota_pool_is_stopping(struct rota_pool *pool, rota_task_id task);  // cancelled, and still out

// One moment of document 2's two properties.
struct rota_pool_blocked { rota_task_id task, blocker; };
struct rota_pool_snapshot {
    rota_task_id *available;             // by job and number; fetched ones are among them
    struct rota_pool_blocked *blocked;   // one entry for each blocker of each blocked task
    uint32_t available_count, blocked_count;
};
enum rota_error rota_pool_look(struct rota_pool *pool, struct rota_pool_snapshot *out);
void rota_pool_snapshot_release(struct rota_pool_snapshot *snapshot);

// As rota_lane_counter() and rota_lane_groups().
bool rota_pool_lane_look(struct rota_pool *pool, uint32_t lane, int32_t *counter, uint32_t *groups,
                         uint32_t max, uint32_t *group_count);

void rota_pool_check(struct rota_pool *pool);  // stops the program on a broken invariant

#ifdef __cplusplus
}
#endif
