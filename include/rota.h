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

struct rota;  // the core; what is inside is nobody's business

// ---- Events: what can happen -----------------------------------------------

enum rota_event_kind {
    ROTA_EVENT_RESTORE = 1,     // rows read back from the store; comes first
    ROTA_EVENT_SUBMIT,          // a new job, or more of an open one
    ROTA_EVENT_CLOSE,           // the client lets a job go
    ROTA_EVENT_CLIENT_LEFT,     // all its jobs are closed
    ROTA_EVENT_CANCEL,          // a task, a bundle, or (task number 0) a whole job
    ROTA_EVENT_RETRY,           // a failed or aborted task
    ROTA_EVENT_STAGE,           // an idle or finished task or bundle is due
    ROTA_EVENT_MANUAL,          // somebody's word about a task, see enum rota_manual
    ROTA_EVENT_KEEP,            // always refused: an object is kept from its submission on
    ROTA_EVENT_RELEASE,         // the client no longer needs a kept object
    ROTA_EVENT_READ,            // the client wants a kept object as soon as it is there
    ROTA_EVENT_WAIT,            // the client wants to know when tasks, or (number 0) jobs, are over
    ROTA_EVENT_LANE,            // defines a lane, changes its settings, or forgets it
    ROTA_EVENT_WORKER_JOINED,   // new, or known and changed
    ROTA_EVENT_WORKER_HEARD,    // ends a silence
    ROTA_EVENT_WORKER_SILENT,   // its lease runs from now
    ROTA_EVENT_WORKER_LEFT,
    ROTA_EVENT_WORKER_ASKS,     // pull: for `count` more tasks, or always for as many as fit
    ROTA_EVENT_CLAIM,           // a handler asks for a task, or for this one
    ROTA_EVENT_DELIVER,         // what a handler claimed has succeeded
    ROTA_EVENT_FAIL,            // or failed
    ROTA_EVENT_TASK_STARTED,
    ROTA_EVENT_TASK_FINISHED,
    ROTA_EVENT_KEY_COMPLETED,   // a result for a content key, asked for or not
    ROTA_EVENT_OBJECT_HELD,     // asked for or not
    ROTA_EVENT_OBJECT_LOST,
    ROTA_EVENT_STREAMED,        // so many bytes of a stream have passed
    ROTA_EVENT_TIME,            // ends the turn; the only event that gives workers tasks
    ROTA_EVENT_PLAN,            // tasks of a job under plan are bound to workers; not stored
    ROTA_EVENT_CLAIM_STARTED,   // what a handler claimed with STARTS_LATER has started
    ROTA_EVENT_PAUSE,           // a lane lets nobody in, a worker gets nothing new
    ROTA_EVENT_RESUME,          // and it is as before
    ROTA_EVENT_HELD_ALL,        // a worker names all it holds: nothing else is there
    ROTA_EVENTS                 // one more than the last
};

enum rota_manual {
    ROTA_MANUAL_START = 1,      // past its condition, not past its edges, lane or room
    ROTA_MANUAL_GREEN,          // what is idle, over or frozen counts as succeeded,
    ROTA_MANUAL_RED,            // failed,
    ROTA_MANUAL_RESET,          // idle,
    ROTA_MANUAL_FREEZE          // or frozen
};

enum rota_claim_flag {          // what a handler does not mind
    ROTA_FETCHED_OK   = 1,      // CLAIM: the task is claimed already; nothing happens
    ROTA_FAILED_OK    = 2,      // CLAIM: it failed or was aborted; it is claimed all the same
    ROTA_DELIVERED_OK = 4,      // DELIVER: it has succeeded already; nothing happens
    ROTA_NOFETCH_OK   = 8,      // DELIVER, FAIL: nobody claimed it, but it could be claimed
    ROTA_GIVEN_BACK   = 16,     // FAIL: it, or its handler, was lost; repeated as `retries` says
    ROTA_STARTS_LATER = 32      // CLAIM: a strict lane waits for CLAIM_STARTED, or for its end
};

enum rota_lane_flag {
    ROTA_LANE_STRICT = 1,
    ROTA_LANE_SUBMIT_ORDER = 2,
    ROTA_LANE_GONE = 4,         // alone: forgotten; refused while tasks name it, or it is paused
    ROTA_LANE_PAUSED = 8        // in records only: PAUSE and RESUME change it
};
enum rota_wait_mode { ROTA_WAIT_ALL, ROTA_WAIT_SOME };
#define ROTA_ASK_ALWAYS UINT32_MAX

// An event, and what it points to, belongs to the caller and must stay as it is until
// the records of the next rota_take() are stored, all pieces of them.
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
            rota_time patience;         // pull: its tasks wait no longer; ROTA_NEVER: as configured
        } lane;
        struct {                        // WORKER_*, but not ASKS
            rota_worker_id id;
            uint32_t cores, memory_mib, slots, machine;  // slots: tasks at a time; 0: no limit
        } worker;
        struct {                        // PAUSE, RESUME: one of them
            uint32_t lane;
            rota_worker_id worker;
            rota_job_id job;
            bool leaves;                // PAUSE of a worker: it wants to go; until it joins again
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
            uint32_t machine;           // CLAIM of any: only what may run there; 0: no matter
            int32_t status;             // FAIL: what it ended with; 0: 1
        } claim;
        struct {                        // TASK_*
            rota_worker_id worker;
            rota_task_id task;
            uint32_t attempt;
            enum rota_outcome outcome;
            int32_t status;
            const struct rota_output *sizes;  // what its outputs turned out to be, if it says so
            uint32_t size_count;
            rota_time rest;             // before another attempt, if there will be one; 0: none
            bool final;                 // a failure that another attempt would not mend
            bool unstarted;             // LOST: it never began, and does not count as a try
            rota_object_id missing;     // an output it did not make; none: all are there
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
            struct rota_content content;  // HELD: refused if its maker made another one
        } replica;
        struct {
            rota_job_id job;
            const struct rota_placement *placements;
            uint32_t count;
        } plan;
        struct { rota_time plan_took; } time;  // the last plan, as the caller measured; 0: did not
    };
};

// ---- Lifecycle -------------------------------------------------------------

// Asks for, grows or (new_size 0) gives back memory. Null means refused.
typedef void *rota_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct rota_config {
    rota_resize_fn *resize;     // null: the C heap
    void *resize_context;
    uint64_t seed;              // of every random choice
    uint32_t tasks_max, edges_max, lanes_max, groups_max, workers_max, objects_max, jobs_max;
    rota_time lease;            // a silent worker is lost after this long
    rota_time cached_wait;      // pull: how long a task waits for a worker that has its result,
    rota_time inputs_wait;      // then for one that has an input, before any will do
    bool pull_by_rank;          // in a queue the highest rank goes first, not who came first
    rota_time plan_submit, plan_update, plan_idle;  // least time after a plan, by what is new since
    uint32_t plan_work;         // most tasks one turn places
    uint32_t overbook;          // plan: tasks a worker may be given beyond its room
    uint32_t bound_max;         // plan: the same for tasks that are bound to it
    uint32_t overbook_cores;    // plan: if it is more than overbook, so many for each of its cores,
                                // of tasks that read nothing: nothing waits there with them
    bool told_is_begun;         // in a lane, what a worker was told to run is not released by a
                                // cancel, or the loss of an input, before the worker says so: it
                                // may have begun meanwhile
    enum rota_policy policy;    // of jobs that do not say
    enum rota_on_failure on_failure;
    bool trace;
};

struct rota_config rota_config_default(void);

// ROTA_BAD_EVENT: the configuration makes no sense.
enum rota_error rota_open(const struct rota_config *config, struct rota **out);
void rota_close(struct rota *rota);  // null is fine

// Anything but ROTA_OK means that nothing has changed; rota_reason() says why.
enum rota_error rota_step(struct rota *rota, const struct rota_event *event);
const char *rota_reason(const struct rota *rota);

// What a submission was refused for: the first bad task, looked for among the tasks in the order of
// their numbers, then among edges, outputs and inputs in theirs. Job 0 is that of the submission.
enum { ROTA_CYCLE_SHOWN = 4 };
struct rota_fault {
    rota_task_id task;          // none: no task in particular
    rota_task_id other;         // the one that it names wrongly, if that is what is wrong
    uint32_t cycle_length;      // so many tasks wait for each other; 0: that is not it
    rota_task_id cycle[ROTA_CYCLE_SHOWN];  // from `task` on, each waits for the next
};
struct rota_fault rota_fault(const struct rota *rota);  // behind a SUBMIT that was refused

struct rota_effects rota_take(struct rota *rota);

// Step with ROTA_EVENT_TIME no later than this.
rota_time rota_deadline(const struct rota *rota);

#ifdef __cplusplus
}
#endif

#include "rota_ask.h"
