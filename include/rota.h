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

#include "rota_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota;  // the core; what is inside is nobody's business

// ---- Records: the rows a store needs to rebuild the core --------------------

enum rota_record_kind {
    ROTA_RECORD_CORE = 1,  // counters and the plan's clock; one row
    ROTA_RECORD_LANE,
    ROTA_RECORD_WORKER,
    ROTA_RECORD_JOB,
    ROTA_RECORD_SUBMIT,    // a submission as it came; its tasks are as rota_task_state() says
    ROTA_RECORD_TASK,      // how far a task is
    ROTA_RECORD_OBJECT,
    ROTA_RECORD_REPLICA,
    ROTA_RECORD_WAIT,
};

enum rota_job_state {
    ROTA_JOB_OPEN,    // may grow
    ROTA_JOB_LAST,    // complete: over when its tasks are
    ROTA_JOB_FAILED,  // a task failed under fail_job; every request gets that answer
    ROTA_JOB_CLOSED,  // let go by its client; gone when nothing of it runs
};

// A row to write; its key is what stands in braces first. Writing it twice does
// no harm. `gone` rows are deleted, and with a job all its SUBMIT, TASK and OBJECT
// rows. ROTA_EVENT_RESTORE takes the rows back, submissions in order of sequence.
struct rota_record {
    enum rota_record_kind kind;
    bool gone;
    union {
        struct {
            uint64_t sequence, turn, random, plans;
            rota_time plan_end, plan_took;
            uint32_t jobs, waits, plan_due;
        } core;
        struct { uint32_t lane, flags; rota_time patience; } lane;
        struct {
            rota_worker_id id;
            uint32_t cores, memory_mib, slots, machine, asks;
            uint32_t order;             // workers join in this order
            rota_time silent_since;
        } worker;
        struct {
            rota_job_id id;
            enum rota_job_state state;
            enum rota_policy policy;
            enum rota_on_failure on_failure;
            uint64_t client, key;
            uint32_t failed_task;
        } job;
        struct { uint64_t sequence; rota_job_id job; uint32_t first; const struct rota_job_spec *spec; } submit;
        struct {
            rota_task_id id, run_as;    // run_as: the name its worker knows the attempt by
            uint8_t state;              // enum rota_task_state
            uint8_t flags, outcome, phase;
            uint16_t tries;
            int32_t status;             // of the last attempt
            uint32_t attempt;
            rota_worker_id worker;
            uint64_t asked;             // the turn in which it asked for its lane, or was offered
            uint64_t handler;           // who claimed it
            rota_time since;            // pull: when its present wait began
        } task;
        struct { rota_object_id id; rota_job_id job; uint32_t flags; uint64_t bytes; } object;
        struct { rota_object_id object; rota_worker_id worker; uint32_t flags; uint64_t bytes; } replica;
        struct { uint32_t number, index; uint64_t client; rota_task_id task; rota_object_id object; uint32_t mode; } wait;
    };
};

// ---- Actions: messages to send ---------------------------------------------

enum rota_action_kind {
    ROTA_ACTION_ACCEPT = 1,  // to the client: the id of its job, the number of its first new task
    ROTA_ACTION_CONFIRM,     // to the client: a task is over, and how
    ROTA_ACTION_JOB_OVER,    // to the client: a whole job is over
    ROTA_ACTION_WAIT_OVER,   // to the client: what it waited for; one for each task named
    ROTA_ACTION_READ,        // to the client: an object it asked for can be read there
    ROTA_ACTION_GRANT,       // to the handler: the task is yours
    ROTA_ACTION_RUN,         // to the worker: run a task
    ROTA_ACTION_STOP,        // to the worker: stop one, or forget it
    ROTA_ACTION_FETCH,       // to the worker: copy an object from another
    ROTA_ACTION_DROP,        // to the worker: delete its copy
    ROTA_ACTION_STREAM,      // to the producer's worker: who consumes a stream, and where
    ROTA_ACTION_COMPLETED,   // to the worker: whether somebody was waiting for that key
};

struct rota_action {
    enum rota_action_kind kind;
    union {
        struct { uint64_t client, key; rota_job_id job; uint32_t first; } accept;
        struct { uint64_t client; rota_task_id task; enum rota_outcome outcome; int32_t status; } confirm;
        struct { uint64_t client; rota_job_id job; uint32_t succeeded, failed, aborted, failed_task; } job_over;
        struct { uint64_t client; uint32_t wait; rota_task_id task; enum rota_outcome outcome; } wait_over;
        struct { uint64_t client; rota_object_id object; rota_worker_id from; bool there; } read;
        struct { uint64_t handler, body; rota_task_id task; uint32_t attempt; } grant;
        struct { uint64_t body; rota_task_id task; uint32_t attempt; rota_worker_id worker; } run;
        struct { rota_task_id task; uint32_t attempt; rota_worker_id worker; } stop;
        struct { rota_object_id object; rota_worker_id worker, from; } fetch;  // from 0: the server
        struct { rota_object_id object; rota_worker_id worker; } drop;
        struct { rota_object_id object; rota_worker_id worker, to; rota_task_id consumer; } stream;
        struct { rota_object_id key; rota_worker_id worker; bool pending; } completed;
    };
};

// Owned by the core, valid until the next step or take. All records must be durable,
// in one transaction, before the first action is performed; actions go in order.
// Records come in pieces: while `more` is set there are no actions yet; take again.
struct rota_effects {
    const struct rota_record *records;
    const struct rota_action *actions;
    const char *trace;        // one line per decision, "" unless asked for
    uint32_t record_count, action_count;
    bool more;
};

// ---- Events: what can happen -----------------------------------------------

enum rota_event_kind {
    ROTA_EVENT_RESTORE = 1,    // rows read back from the store; comes first
    ROTA_EVENT_SUBMIT,         // a new job, or more of an open one
    ROTA_EVENT_CLOSE,          // the client lets a job go
    ROTA_EVENT_CLIENT_LEFT,    // all its jobs are closed
    ROTA_EVENT_CANCEL,         // a task, a bundle, or (task number 0) a whole job
    ROTA_EVENT_RETRY,          // a failed or aborted task
    ROTA_EVENT_STAGE,          // an idle or finished task or bundle is due
    ROTA_EVENT_MANUAL,
    ROTA_EVENT_KEEP, ROTA_EVENT_RELEASE, ROTA_EVENT_READ,
    ROTA_EVENT_WAIT,
    ROTA_EVENT_LANE,           // defines a lane, or changes its settings
    ROTA_EVENT_WORKER_JOINED,  // new, or known and changed
    ROTA_EVENT_WORKER_HEARD,   // ends a silence
    ROTA_EVENT_WORKER_SILENT,  // its lease runs from now
    ROTA_EVENT_WORKER_LEFT,
    ROTA_EVENT_WORKER_ASKS,    // pull: for one more task, or (ROTA_ASK_ALWAYS) for as many as fit
    ROTA_EVENT_CLAIM, ROTA_EVENT_DELIVER, ROTA_EVENT_FAIL,
    ROTA_EVENT_TASK_STARTED,
    ROTA_EVENT_TASK_FINISHED,
    ROTA_EVENT_KEY_COMPLETED,  // a result for a content key, asked for or not
    ROTA_EVENT_OBJECT_HELD, ROTA_EVENT_OBJECT_LOST,
    ROTA_EVENT_STREAMED,       // so many bytes of a stream have passed
    ROTA_EVENT_TIME,           // ends the turn; the only event that assigns tasks
    ROTA_EVENTS                // one more than the last
};

enum rota_manual { ROTA_MANUAL_START = 1, ROTA_MANUAL_GREEN, ROTA_MANUAL_RED, ROTA_MANUAL_RESET, ROTA_MANUAL_FREEZE };
enum rota_claim_flag { ROTA_FETCHED_OK = 1, ROTA_FAILED_OK = 2, ROTA_DELIVERED_OK = 4, ROTA_NOFETCH_OK = 8 };
enum rota_lane_flag { ROTA_LANE_STRICT = 1, ROTA_LANE_SUBMIT_ORDER = 2 };
enum rota_wait_mode { ROTA_WAIT_ALL, ROTA_WAIT_SOME };
#define ROTA_ASK_ALWAYS UINT32_MAX

// An event, and what it points to, belongs to the caller and must stay as it is
// until the next rota_take().
struct rota_event {
    enum rota_event_kind kind;
    rota_time now;            // never goes back
    union {
        struct { const struct rota_record *records; uint32_t count; } restore;
        struct rota_job_spec submit;
        struct { rota_job_id job; } close;
        struct { uint64_t client; } client_left;
        struct { rota_task_id task; } task;   // CANCEL, RETRY, STAGE
        struct { rota_task_id task; enum rota_manual action; } manual;
        struct { uint64_t client; rota_object_id object; } object;  // KEEP, RELEASE, READ
        struct { uint64_t client; enum rota_wait_mode mode; const rota_task_id *tasks; uint32_t count; } wait;
        struct { uint32_t lane, flags; rota_time patience; } lane;  // patience ROTA_NEVER: as configured
        struct { rota_worker_id id; uint32_t cores, memory_mib, slots, machine; } worker;  // all WORKER_*; slots 0: no limit
        struct { rota_worker_id id; uint32_t count; } asks;
        struct { uint64_t handler; rota_task_id task; uint32_t flags; } claim;  // task none: any; DELIVER, FAIL too
        struct {
            rota_worker_id worker;
            rota_task_id task;
            uint32_t attempt;
            enum rota_outcome outcome;
            int32_t status;
            const struct rota_output *sizes;   // what its outputs turned out to be, if it says so
            uint32_t size_count;
            rota_object_id missing;            // an output it did not make; none: all are there
        } report;                              // TASK_*
        struct { rota_worker_id worker; rota_object_id key; enum rota_outcome outcome; int32_t status; } completed;
        struct { rota_worker_id worker; rota_object_id object; uint64_t bytes; } replica;  // OBJECT_*, STREAMED
        struct { rota_time plan_took; } time;  // how long the last plan took, as the caller measured
    };
};

// ---- Lifecycle -------------------------------------------------------------

// Asks for, grows or (new_size 0) gives back memory. Null means refused.
typedef void *rota_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct rota_config {
    rota_resize_fn *resize;   // null: the C heap
    void *resize_context;
    uint64_t seed;            // of every random choice
    uint32_t tasks_max, edges_max, lanes_max, groups_max, workers_max, objects_max, jobs_max;
    rota_time lease;          // a silent worker is lost after this long
    rota_time cached_wait;    // pull: how long a task waits for a worker that has its result,
    rota_time inputs_wait;    // then for one that has an input, before any will do
    rota_time plan_submit, plan_update, plan_idle;  // least time after a plan, by what is new since
    uint32_t plan_work;       // most tasks one turn places
    uint32_t overbook;        // tasks a worker may be given beyond its room
    enum rota_policy policy;  // of jobs that do not say
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
