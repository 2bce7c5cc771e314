// rota.h - the scheduling core of rota.
//
// The core is a pure state machine: no I/O, no clock, no threads, no callbacks.
// Events go in, effects come out; the same events always give the same effects.
//
//     rota_step(rota, &event);          // once per input
//     rota_step(rota, &time);           // ends the turn: timers, plan, hand-out
//     effects = rota_take(rota);        // everything those steps ask for
//     store_commit(effects.records);    // first make it durable,
//     perform(effects.actions);         // then let the world see it
#pragma once

#include "rota_effects.h"
#include "rota_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota;  // the core; opaque

// ---- Events: what can happen -----------------------------------------------

enum rota_event_kind {
    ROTA_EVENT_RESTORE = 1,     // rows read back from the store; comes first
    ROTA_EVENT_SUBMIT,          // a new job, or more of an open one
    ROTA_EVENT_CLOSE,           // the client no longer needs a job
    ROTA_EVENT_CLIENT_LEFT,     // all its jobs are closed
    ROTA_EVENT_CANCEL,          // a task, a bundle, or (task number 0) a whole job
    ROTA_EVENT_RETRY,           // a failed or aborted task
    ROTA_EVENT_STAGE,           // an idle or finished task or bundle is due
    ROTA_EVENT_MANUAL,          // a person sets the state of a task, see enum rota_manual
    ROTA_EVENT_KEEP,            // always refused: an object is kept from its submission on
    ROTA_EVENT_RELEASE,         // the client no longer needs a kept object
    ROTA_EVENT_READ,            // the client wants a kept object as soon as it exists
    ROTA_EVENT_WAIT,            // the client waits until tasks, or (number 0) jobs, have finished
    ROTA_EVENT_LANE,            // defines a lane, changes its settings, or removes it
    ROTA_EVENT_WORKER_JOINED,   // new, or known and changed
    ROTA_EVENT_WORKER_HEARD,    // a silent worker answers again
    ROTA_EVENT_WORKER_SILENT,   // its lease starts to run
    ROTA_EVENT_WORKER_LEFT,
    ROTA_EVENT_WORKER_ASKS,     // pull: it wants `count` more tasks, or always as many as fit
    ROTA_EVENT_CLAIM,           // a handler asks for a task, or for this one
    ROTA_EVENT_DELIVER,         // a handler's task has succeeded
    ROTA_EVENT_FAIL,            // a handler's task has failed
    ROTA_EVENT_TASK_STARTED,
    ROTA_EVENT_TASK_FINISHED,
    ROTA_EVENT_KEY_COMPLETED,   // a worker has the result of a content key, requested or not
    ROTA_EVENT_OBJECT_HELD,     // a worker has an object, requested or not
    ROTA_EVENT_OBJECT_LOST,
    ROTA_EVENT_STREAMED,        // the number of bytes written to a stream so far
    ROTA_EVENT_TIME,            // ends the turn; the only event that gives workers tasks
    ROTA_EVENT_PLAN,            // the planner binds tasks of a job to workers; not stored
    ROTA_EVENT_CLAIM_STARTED,   // a task claimed with STARTS_LATER has started
    ROTA_EVENT_PAUSE,           // a lane, worker or job starts no further tasks
    ROTA_EVENT_RESUME,          // ends a pause
    ROTA_EVENT_HELD_ALL,        // a worker lists all objects it holds: it has no others
    ROTA_EVENTS                 // one more than the last
};

enum rota_manual {
    ROTA_MANUAL_START = 1,      // ignores its condition, but not its edges, lane or room
    ROTA_MANUAL_GREEN,          // an idle, finished or frozen task counts as succeeded,
    ROTA_MANUAL_RED,            // failed,
    ROTA_MANUAL_RESET,          // idle,
    ROTA_MANUAL_FREEZE          // or frozen
};

enum rota_claim_flag {          // conditions that a handler accepts
    ROTA_FETCHED_OK   = 1,      // CLAIM: the task is claimed already; nothing changes
    ROTA_FAILED_OK    = 2,      // CLAIM: it failed or was aborted; it is claimed anyway
    ROTA_DELIVERED_OK = 4,      // DELIVER: it has succeeded already; nothing changes
    ROTA_NOFETCH_OK   = 8,      // DELIVER, FAIL: it was not claimed, but could be
    ROTA_GIVEN_BACK   = 16,     // FAIL: it, or its handler, was lost; retried up to `retries_max`
    ROTA_STARTS_LATER = 32      // CLAIM: a strict lane waits for CLAIM_STARTED or the task's end
};

enum rota_lane_flag {
    ROTA_LANE_STRICT = 1,
    ROTA_LANE_SUBMIT_ORDER = 2,
    ROTA_LANE_GONE = 4,         // alone: remove the lane; refused while it is paused or in use
    ROTA_LANE_PAUSED = 8        // in records only: PAUSE and RESUME change it
};
enum rota_wait_mode { ROTA_WAIT_ALL, ROTA_WAIT_SOME };
#define ROTA_ASK_ALWAYS UINT32_MAX

// The caller owns an event and what it points to, and must not change them until all
// records of the next rota_take() are stored.
struct rota_event {
    enum rota_event_kind kind;
    rota_time now;              // never goes back
    union {
        struct { const struct rota_record *records; uint32_t count; } restore;
        struct rota_job_spec submit;
        struct { rota_job_id job; } close;
        struct { uint64_t client; } client_left;
        struct { rota_task_id task; } task;                           // CANCEL, RETRY, STAGE
        struct { rota_task_id task; enum rota_manual action; } manual;
        struct { uint64_t client; rota_object_id object; } object;    // KEEP, RELEASE, READ
        struct {
            uint64_t client;
            enum rota_wait_mode mode;
            const rota_task_id *tasks;
            uint32_t count;
        } wait;
        struct {
            uint32_t lane, flags;
            rota_time patience;         // pull: limit of its tasks' waits; ROTA_NEVER: configured
        } lane;
        struct {                        // WORKER_*, except ASKS
            rota_worker_id id;
            uint32_t cores, memory_mib, slots, machine;  // slots: tasks at a time; 0: no limit
        } worker;
        struct {                        // PAUSE, RESUME: one of them
            uint32_t lane;
            rota_worker_id worker;
            rota_job_id job;
            bool leaves;                // PAUSE of a worker: it will leave; until it joins again
        } pause;
        struct { rota_worker_id id; uint32_t count; } asks;           // or ROTA_ASK_ALWAYS
        struct {                        // HELD_ALL
            rota_worker_id worker;
            const rota_object_id *objects;  // sorted: high, then low
            uint32_t count;
        } held_all;
        struct {                        // CLAIM, CLAIM_STARTED, DELIVER, FAIL
            uint64_t handler;
            rota_task_id task;          // CLAIM: none: any; task 0: any of that job
            uint32_t flags;
            uint32_t machine;           // CLAIM of any: only tasks that may run there; 0: all
            int32_t status;             // FAIL: its exit status; 0: 1
        } claim;
        struct {                        // TASK_*
            rota_worker_id worker;
            rota_task_id task;
            uint32_t attempt;
            enum rota_outcome outcome;
            int32_t status;
            const struct rota_output *sizes;  // sizes and contents of its outputs, as far as known
            uint32_t size_count;
            rota_time rest;             // backoff before another attempt, if there is one; 0: none
            bool final;                 // a failure that no retry can mend
            bool unstarted;             // LOST: it never started, and does not count as a try
            rota_object_id missing;     // an output it did not produce; none: it produced all
        } report;
        struct {
            rota_worker_id worker;
            rota_object_id key;
            enum rota_outcome outcome;
            int32_t status;
            const struct rota_output *sizes;  // as in `report`
            uint32_t size_count;
        } completed;
        struct {                        // OBJECT_*, STREAMED
            rota_worker_id worker;
            rota_object_id object;
            uint64_t bytes;
            struct rota_content content;  // HELD: refused if its producer reported another one
        } replica;
        struct {
            rota_job_id job;
            const struct rota_placement *placements;
            uint32_t count;
        } plan;
        struct { rota_time plan_took; } time;  // duration of the last plan; 0: not measured
    };
};

// ---- Lifecycle -------------------------------------------------------------

// Allocates, grows or (new_size 0) frees memory. Null: out of memory.
typedef void *rota_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct rota_config {
    rota_resize_fn *resize;     // null: the C heap
    void *resize_context;
    uint64_t seed;              // of every random choice
    uint32_t tasks_max, edges_max, lanes_max, groups_max, workers_max, objects_max, jobs_max;
    rota_time lease;            // a silent worker is lost after this long
    rota_time cached_wait;      // pull: how long a task waits for a worker that has its result,
    rota_time inputs_wait;      // then for a worker that has an input, before any worker may run it
    bool pull_by_rank;          // queues are sorted by rank, not by arrival
    rota_time plan_submit, plan_update, plan_idle;  // least time between plans, by what has changed
    uint32_t plan_work;         // most tasks that one turn places
    uint32_t overbook;          // plan: tasks a worker may be given beyond its room
    uint32_t bound_max;         // plan: the same for tasks that are bound to it
    uint32_t overbook_cores;    // plan: if larger than overbook, the limit per core for tasks that
                                // read nothing, because no input waits with them
    bool told_is_begun;         // in a lane, an assigned task keeps its place after a cancel or the
                                // loss of an input until its worker reports: it may have started
                                // meanwhile
    enum rota_policy policy;    // of jobs that set none
    enum rota_on_failure on_failure;
    bool trace;
};

struct rota_config rota_config_default(void);

// ROTA_BAD_EVENT: the configuration is invalid.
enum rota_error rota_open(const struct rota_config *config, struct rota **out);
void rota_close(struct rota *rota);  // null is fine

// Any code but ROTA_OK means that nothing has changed; rota_reason() says why.
enum rota_error rota_step(struct rota *rota, const struct rota_event *event);
const char *rota_reason(const struct rota *rota);

// Why a submission was refused: the first invalid task, in order of task numbers, then of edges,
// outputs and inputs. Job 0 is the job of the submission.
enum { ROTA_CYCLE_SHOWN = 4 };
struct rota_fault {
    rota_task_id task;          // none: no task in particular
    rota_task_id other;         // the task that it refers to, if that is the mistake
    uint32_t cycle_length;      // number of tasks that wait for each other; 0: no cycle
    rota_task_id cycle[ROTA_CYCLE_SHOWN];  // from `task` on, each waits for the next
};
struct rota_fault rota_fault(const struct rota *rota);  // after a refused SUBMIT

struct rota_effects rota_take(struct rota *rota);

// The latest time for the next ROTA_EVENT_TIME.
rota_time rota_deadline(const struct rota *rota);

#ifdef __cplusplus
}
#endif

#include "rota_ask.h"
