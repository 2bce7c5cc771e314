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
    ROTA_EVENT_RESTORE = 1,  // rows read back from the store; comes first
    ROTA_EVENT_SUBMIT,       // a new job, or more of an open one
    ROTA_EVENT_CLOSE,        // the client lets a job go
    ROTA_EVENT_CLIENT_LEFT,  // all its jobs are closed
    ROTA_EVENT_CANCEL,       // a task, a bundle, or (task number 0) a whole job
    ROTA_EVENT_RETRY,        // a failed or aborted task
    ROTA_EVENT_STAGE,        // an idle or finished task or bundle is due
    ROTA_EVENT_MANUAL,
    ROTA_EVENT_KEEP,
    ROTA_EVENT_RELEASE,
    ROTA_EVENT_READ,
    ROTA_EVENT_WAIT,
    ROTA_EVENT_LANE,           // defines a lane, or changes its settings
    ROTA_EVENT_WORKER_JOINED,  // new, or known and changed
    ROTA_EVENT_WORKER_HEARD,   // ends a silence
    ROTA_EVENT_WORKER_SILENT,  // its lease runs from now
    ROTA_EVENT_WORKER_LEFT,
    ROTA_EVENT_WORKER_ASKS,  // pull: for one more task, or (ROTA_ASK_ALWAYS) for as many as fit
    ROTA_EVENT_CLAIM,
    ROTA_EVENT_DELIVER,
    ROTA_EVENT_FAIL,
    ROTA_EVENT_TASK_STARTED,
    ROTA_EVENT_TASK_FINISHED,
    ROTA_EVENT_KEY_COMPLETED,  // a result for a content key, asked for or not
    ROTA_EVENT_OBJECT_HELD,
    ROTA_EVENT_OBJECT_LOST,
    ROTA_EVENT_STREAMED,  // so many bytes of a stream have passed
    ROTA_EVENT_TIME,      // ends the turn; the only event that assigns tasks
    ROTA_EVENTS           // one more than the last
};

enum rota_manual {
    ROTA_MANUAL_START = 1,
    ROTA_MANUAL_GREEN,
    ROTA_MANUAL_RED,
    ROTA_MANUAL_RESET,
    ROTA_MANUAL_FREEZE
};
enum rota_claim_flag {
    ROTA_FETCHED_OK = 1,
    ROTA_FAILED_OK = 2,
    ROTA_DELIVERED_OK = 4,
    ROTA_NOFETCH_OK = 8
};
enum rota_lane_flag { ROTA_LANE_STRICT = 1, ROTA_LANE_SUBMIT_ORDER = 2 };
enum rota_wait_mode { ROTA_WAIT_ALL, ROTA_WAIT_SOME };
#define ROTA_ASK_ALWAYS UINT32_MAX

// An event, and what it points to, belongs to the caller and must stay as it is until
// the records of the next rota_take() are stored, all pieces of them.
struct rota_event {
    enum rota_event_kind kind;
    rota_time now;  // never goes back
    union {
        struct {
            const struct rota_record *records;
            uint32_t count;
        } restore;
        struct rota_job_spec submit;
        struct {
            rota_job_id job;
        } close;
        struct {
            uint64_t client;
        } client_left;
        struct {
            rota_task_id task;
        } task;  // CANCEL, RETRY, STAGE
        struct {
            rota_task_id task;
            enum rota_manual action;
        } manual;
        struct {
            uint64_t client;
            rota_object_id object;
        } object;  // KEEP, RELEASE, READ
        struct {
            uint64_t client;
            enum rota_wait_mode mode;
            const rota_task_id *tasks;
            uint32_t count;
        } wait;
        struct {
            uint32_t lane, flags;
            rota_time patience;
        } lane;  // patience ROTA_NEVER: as configured
        struct {
            rota_worker_id id;
            uint32_t cores, memory_mib, slots, machine;
        } worker;  // all WORKER_*; slots 0: no limit
        struct {
            rota_worker_id id;
            uint32_t count;
        } asks;
        struct {
            uint64_t handler;
            rota_task_id task;
            uint32_t flags;
        } claim;  // task none: any; DELIVER, FAIL too
        struct {
            rota_worker_id worker;
            rota_task_id task;
            uint32_t attempt;
            enum rota_outcome outcome;
            int32_t status;
            const struct rota_output *sizes;  // what its outputs turned out to be, if it says so
            uint32_t size_count;
            rota_object_id missing;  // an output it did not make; none: all are there
        } report;                    // TASK_*
        struct {
            rota_worker_id worker;
            rota_object_id key;
            enum rota_outcome outcome;
            int32_t status;
        } completed;
        struct {
            rota_worker_id worker;
            rota_object_id object;
            uint64_t bytes;
        } replica;  // OBJECT_*, STREAMED
        struct {
            rota_time plan_took;
        } time;  // how long the last plan took, as the caller measured
    };
};

// ---- Lifecycle -------------------------------------------------------------

// Asks for, grows or (new_size 0) gives back memory. Null means refused.
typedef void *rota_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct rota_config {
    rota_resize_fn *resize;  // null: the C heap
    void *resize_context;
    uint64_t seed;  // of every random choice
    uint32_t tasks_max, edges_max, lanes_max, groups_max, workers_max, objects_max, jobs_max;
    rota_time lease;        // a silent worker is lost after this long
    rota_time cached_wait;  // pull: how long a task waits for a worker that has its result,
    rota_time inputs_wait;  // then for one that has an input, before any will do
    rota_time plan_submit, plan_update, plan_idle;  // least time after a plan, by what is new since
    uint32_t plan_work;                             // most tasks one turn places
    uint32_t overbook;                              // tasks a worker may be given beyond its room
    enum rota_policy policy;                        // of jobs that do not say
    enum rota_on_failure on_failure;
    bool trace;
};

struct rota_config rota_config_default(void);

enum rota_error rota_open(const struct rota_config *config, struct rota **out);
void rota_close(struct rota *rota);  // null is fine

// Anything but ROTA_OK means that nothing has changed; rota_reason() says why.
enum rota_error rota_step(struct rota *rota, const struct rota_event *event);
const char *rota_reason(const struct rota *rota);

struct rota_effects rota_take(struct rota *rota);

// Step with ROTA_EVENT_TIME no later than this.
rota_time rota_deadline(const struct rota *rota);

#ifdef __cplusplus
}
#endif

#include "rota_ask.h"
