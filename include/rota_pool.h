// rota_pool.h - rota inside a program: threads that run functions, and handlers that fetch tasks.
//
//     rota_pool_open(&config, &pool);           // starts the threads
//     rota_pool_submit(pool, &job, &first);     // from any thread
//     rota_pool_wait(pool, (rota_job_id){first.job}, ROTA_NEVER, NULL);
//     rota_pool_close(pool);
//
// Any thread may call any function, also from a function that the pool runs, except where a comment
// says otherwise. Each call is atomic. A refused call has changed nothing, and rota_pool_reason()
// says why.
#pragma once

#include "rota_ask.h"
#include "rota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_pool;
struct rota_pool_call;  // a function while it runs

// ---- Functions -------------------------------------------------------------

// Returns 0: the task has succeeded; another value: it failed with that status.
typedef int rota_pool_function(void *argument, struct rota_pool_call *call);

struct rota_pool *rota_pool_call_pool(const struct rota_pool_call *call);
rota_task_id rota_pool_call_task(const struct rota_pool_call *call);
uint32_t rota_pool_call_thread(const struct rota_pool_call *call);   // 0, 1, ... one per thread
bool rota_pool_call_stopped(const struct rota_pool_call *call);      // cancelled: it should return
void rota_pool_call_started(const struct rota_pool_call *call);      // see ROTA_LANE_STRICT

// ---- The pool ----------------------------------------------------------------

struct rota_pool_config {
    uint32_t threads;           // that run functions; 0: handlers fetch those, too
    uint32_t tasks_max;         // that exist at a time
    rota_resize_fn *resize;     // null: the C heap; several threads call it at the same time
    void *resize_context;
};

struct rota_pool_config rota_pool_config_default(void);  // two threads

enum rota_error rota_pool_open(const struct rota_pool_config *config, struct rota_pool **out);

enum rota_pool_ending {
    ROTA_POOL_FINISH,           // runs every task that can run
    ROTA_POOL_STOP,             // cancels waiting tasks, and tells running ones to stop
};

// The pool refuses submissions from now on. Returns when no function runs any more and, with
// FINISH, when no task is left that could run: handlers have to continue until then. With STOP, the
// tasks of handlers are aborted; a handler learns it when it delivers. Confirmations can still be
// read.
// ROTA_NOT_NOW: the timeout expired; call it again, or with STOP.
// ROTA_BAD_EVENT: a function that the pool runs called it, and would wait for itself.
enum rota_error rota_pool_shut(struct rota_pool *pool, enum rota_pool_ending ending,
                               rota_time timeout);

// Shuts with STOP, waits for threads inside a function of this header, and frees the pool.
// Null is fine. A function that the pool runs must not call it: that aborts the program.
void rota_pool_close(struct rota_pool *pool);

// The reason of the last refusal, in any thread; never null.
const char *rota_pool_reason(const struct rota_pool *pool);

// ---- Submitting ------------------------------------------------------------

// All zero: a task with the function of the job, that waits for its dependencies only.
struct rota_pool_task {
    rota_pool_function *function;  // null: that of the job
    void *argument;                // for its own function
    uint32_t bundle;               // number of its bundle in the job; 0: none
    uint32_t lane, group;          // 0: none
    uint32_t retries_max;          // how often a failed attempt is repeated
    uint32_t flags;                // enum rota_task_flag
    int16_t priority;              // -128 to 127; higher runs first
    uint8_t access;                // enum rota_access; with a lane: READ or WRITE
};

enum rota_pool_flag {
    ROTA_POOL_OPEN   = 1,       // more tasks will follow; the job does not finish before the last
    ROTA_POOL_FORGET = 2,       // removed when it has finished, as by rota_pool_forget()
};

// rota_pool_submit() copies what it points to.
struct rota_pool_job {
    rota_job_id job;               // the open job that grows; none: a new one
    uint64_t client;               // of a new job: gets confirmations of its tasks; 0: none
    uint32_t flags;                // enum rota_pool_flag
    uint32_t task_count;
    rota_pool_function *function;  // for tasks without one; null: handlers run such tasks
    void *argument;
    const struct rota_pool_task *tasks;  // null: all are zero
    // Task i (from 0) of this submission depends on needs[need_first[i] ... need_first[i + 1]),
    // which are numbers of tasks in the job, from 1 on. Null: there are no dependencies.
    const uint32_t *need_first, *needs;
};

// `first` becomes the job and the number of its first new task. ROTA_BAD_GRAPH: a cycle.
enum rota_error rota_pool_submit(struct rota_pool *pool, const struct rota_pool_job *job,
                                 rota_task_id *first);

// One function without dependencies, removed when it has finished; `id` may be null.
enum rota_error rota_pool_add(struct rota_pool *pool, rota_pool_function *function, void *argument,
                              rota_task_id *id);

// Defines a lane before tasks use it, or changes it while none does. Flags: enum rota_lane_flag.
// In a ROTA_LANE_STRICT lane a task starts only when all others inside have started: functions
// report it with rota_pool_call_started(), handlers with rota_pool_started(), or both by ending.
enum rota_error rota_pool_lane(struct rota_pool *pool, uint32_t lane, uint32_t flags);

// ---- Clients ---------------------------------------------------------------

struct rota_pool_sum { uint32_t succeeded, failed, aborted, left; };  // left: blocked

// Waits until a job that is not open has finished: none of its tasks can run. `sum` may be null.
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
// the first one up to the timeout. Returns their number; 0 also when the pool is shut.
uint32_t rota_pool_confirmed(struct rota_pool *pool, uint64_t client,
                             struct rota_pool_confirmation *out, uint32_t max, rota_time timeout);

// Cancels a task, a bundle or (task number 0) a job. A running task is told to stop, and becomes
// ABORTED when it ends, with any result; until then it stays in its lane.
enum rota_error rota_pool_cancel(struct rota_pool *pool, rota_task_id task);
enum rota_error rota_pool_retry(struct rota_pool *pool, rota_task_id task);  // a failed task
// Cancels the job, and removes it when none of its tasks runs. Its numbers are not used again.
enum rota_error rota_pool_forget(struct rota_pool *pool, rota_job_id job);

// ---- Handlers --------------------------------------------------------------

struct rota_pool_grant {
    rota_task_id task;
    uint32_t attempt;
    rota_pool_function *function;  // null: none
    void *argument;
};

// Claims a task for the handler. `task` none: any task that threads do not run, by priority, then
// by age; with number 0: any such task of that job. Waits up to the timeout for a task that is not
// available yet, but not for one that is fetched, delivered or failed, nor for a finished job.
// Flags: ROTA_FETCHED_OK (nothing changes), ROTA_FAILED_OK. `grant` may be null. If the handler is
// 0, any handler may deliver.
enum rota_error rota_pool_fetch(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                uint32_t flags, rota_time timeout, struct rota_pool_grant *grant);
enum rota_error rota_pool_started(struct rota_pool *pool, uint64_t handler, rota_task_id task);
// Flags: ROTA_DELIVERED_OK, ROTA_NOFETCH_OK. ROTA_STALE: it was cancelled, and has ended now.
enum rota_error rota_pool_deliver(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                  uint32_t flags);
enum rota_error rota_pool_fail(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                               uint32_t flags, int32_t status);

// The handler was lost. Its tasks are retried up to `retries_max`, or aborted with the outcome
// LOST; its later deliveries are refused. Returns the number of its tasks.
uint32_t rota_pool_lost(struct rota_pool *pool, uint64_t handler);

// ---- Queries ---------------------------------------------------------------

enum rota_task_state rota_pool_state(struct rota_pool *pool, rota_task_id task);
bool rota_pool_is_stopping(struct rota_pool *pool, rota_task_id task);  // cancelled, but running

// A snapshot of the available and the blocked tasks.
struct rota_pool_blocked { rota_task_id task, blocker; };
struct rota_pool_snapshot {
    rota_task_id *available;             // in order of job and number, with fetched ones
    struct rota_pool_blocked *blocked;   // one entry for each blocker of each blocked task
    uint32_t available_count, blocked_count;
};
enum rota_error rota_pool_look(struct rota_pool *pool, struct rota_pool_snapshot *out);
void rota_pool_snapshot_release(struct rota_pool_snapshot *snapshot);

// The same as rota_lane_counter() and rota_lane_groups().
bool rota_pool_lane_look(struct rota_pool *pool, uint32_t lane, int32_t *counter, uint32_t *groups,
                         uint32_t max, uint32_t *group_count);

void rota_pool_check(struct rota_pool *pool);  // aborts on a broken invariant

#ifdef __cplusplus
}
#endif
