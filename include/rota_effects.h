// rota_effects.h - the effects of a step: rows to make durable, then messages to send.
#pragma once

#include "rota_types.h"

// ---- Records: the rows a store needs to rebuild the core -------------------

enum rota_record_kind {
    ROTA_RECORD_CORE = 1,     // counters, and the times of plans; one row
    ROTA_RECORD_LANE,
    ROTA_RECORD_WORKER,
    ROTA_RECORD_JOB,
    ROTA_RECORD_SUBMIT,       // a submission, unchanged
    ROTA_RECORD_TASK,         // the state of a task
    ROTA_RECORD_OBJECT,
    ROTA_RECORD_REPLICA,
    ROTA_RECORD_WAIT,
};

enum rota_job_state {
    ROTA_JOB_OPEN,            // may grow
    ROTA_JOB_LAST,            // complete: finishes with its tasks
    ROTA_JOB_FAILED,          // a task failed under fail_job; every request gets that answer
    ROTA_JOB_CLOSED,          // closed by its client; removed when none of its tasks runs
};

// A row to write; the comment at each kind names its key. Writing a row twice does no harm.
// `gone` rows are deleted, and with a job all its SUBMIT, TASK and OBJECT rows.
// ROTA_EVENT_RESTORE reads the rows back, submissions in order of sequence.
struct rota_record {
    enum rota_record_kind kind;
    bool gone;
    union {
        struct {                      // one row
            uint64_t sequence, turn, random, plans;
            rota_time plan_end, plan_took;
            uint32_t jobs, waits, plan_due;
        } core;
        struct { uint32_t lane, flags; rota_time patience; } lane;  // lane
        struct {                      // id
            rota_worker_id id;
            uint32_t cores, memory_mib, slots, machine, asks;
            uint32_t order;           // workers join in this order
            bool paused, leaves;
            rota_time silent_since;   // ROTA_NEVER: it is not silent
        } worker;
        struct {                      // id
            rota_job_id id;
            enum rota_job_state state;
            enum rota_policy policy;
            enum rota_on_failure on_failure;
            bool paused;
            uint64_t client, key;
            uint32_t failed_task;
        } job;
        struct {                      // sequence
            uint64_t sequence;
            rota_job_id job;
            uint32_t first;           // the number of its first task
            const struct rota_job_spec *spec;
        } submit;
        struct {                      // id
            rota_task_id id, run_as;  // run_as: the id under which its worker runs it; none: id
            uint8_t state;            // enum rota_task_state
            uint8_t flags, outcome, phase;
            uint16_t tries;
            int32_t status;           // of the last attempt
            uint32_t attempt;
            rota_worker_id worker;
            uint64_t asked;           // the turn in which it asked for its lane, or was offered
            uint64_t handler;         // that claimed it
            rota_time since;          // OFFERED under pull: when its present wait began; WAITING
                                      // or BLOCKED between two attempts: the end of its backoff
        } task;
        struct {                      // id
            rota_object_id id;
            rota_job_id job;
            uint32_t flags;
            uint64_t bytes;
            struct rota_content content;
        } object;
        struct {                      // object and worker
            rota_object_id object;
            rota_worker_id worker;
            uint32_t flags;
            uint64_t bytes;
        } replica;
        struct {                      // number and index
            uint32_t number, index;
            uint64_t client;
            rota_task_id task;
            rota_object_id object;    // a read; none: a wait for the task
            uint32_t mode;
        } wait;
    };
};

// ---- Actions: messages to send ---------------------------------------------

enum rota_action_kind {
    ROTA_ACTION_ACCEPT = 1,   // to the client: the id of its job, the number of its first new task
    ROTA_ACTION_CONFIRM,      // to the client: a task has finished, with its outcome
    ROTA_ACTION_JOB_OVER,     // to the client: a job has finished
    ROTA_ACTION_WAIT_OVER,    // to the client: a task it waited for; all of one wait together
    ROTA_ACTION_READ,         // to the client: where an object can be read, or that it never can
    ROTA_ACTION_GRANT,        // to the handler: it has claimed the task
    ROTA_ACTION_RUN,          // to the worker: run a task
    ROTA_ACTION_STOP,         // to the worker: stop a task, or forget it
    ROTA_ACTION_FETCH,        // to the worker: copy an object from another worker
    ROTA_ACTION_DROP,         // to the worker: delete its copy
    ROTA_ACTION_STREAM,       // to the producer's worker: a consumer of a stream, and its worker
    ROTA_ACTION_COMPLETED,    // to the worker: whether a task was waiting for that key
    ROTA_ACTION_SHOW,         // to the worker: check its copy, and report HELD or LOST
    ROTA_ACTION_ALIAS,        // to the worker: the output of one task is that of another, too
};

struct rota_action {
    enum rota_action_kind kind;
    union {
        struct { uint64_t client, key; rota_job_id job; uint32_t first; } accept;
        struct {
            uint64_t client;
            rota_task_id task;
            enum rota_outcome outcome;
            int32_t status;
        } confirm;
        struct {
            uint64_t client;
            rota_job_id job;
            uint32_t succeeded, failed, aborted, failed_task;
        } job_over;
        struct {
            uint64_t client;
            uint32_t wait;
            rota_task_id task;        // none: the wait named no task
            enum rota_outcome outcome;
        } wait_over;
        struct {
            uint64_t client;
            rota_object_id object;
            rota_worker_id from;      // none: the server
            bool there;               // false: it will never exist
        } read;
        struct { uint64_t handler, body; rota_task_id task; uint32_t attempt; } grant;
        struct {
            uint64_t body;
            rota_task_id task;
            uint32_t attempt;
            rota_worker_id worker;
            uint32_t order;           // from its plan; higher runs first
        } run;
        struct { rota_task_id task; uint32_t attempt; rota_worker_id worker; } stop;
        struct {
            rota_object_id object;
            rota_worker_id worker, from;  // from 0: the server
            uint32_t order;           // of the task that reads it
            bool soon;                // that task waits only for objects that are being copied
            bool again;               // it was prefetched, and its task is now assigned
        } fetch;
        // ahead: it was prefetched for a task that now runs elsewhere; cancel the copy
        struct {
            rota_object_id object;
            rota_worker_id worker;
            bool ahead;
            struct rota_content content;  // DROP: only a copy of this content; kind 0: any
        } drop, show;
        struct {
            rota_object_id object;
            rota_worker_id worker, to;  // to none: the consumer is not placed yet
            rota_task_id consumer;
        } stream;
        struct { rota_object_id key; rota_worker_id worker; bool pending; } completed;
        struct {
            rota_object_id from, to;
            rota_worker_id worker;
            bool later;               // `from` does not exist yet, and no task will read it
        } alias;
    };
};

// Owned by the core, valid until the next step or take. The caller makes all records durable,
// in one transaction, before it performs the first action; it performs actions in order.
// Records come in pieces: while `more` is set there are no actions yet; take again.
struct rota_effects {
    const struct rota_record *records;
    const struct rota_action *actions;
    const char *trace;        // one line per decision, "" unless asked for
    uint32_t record_count, action_count;
    bool more;
};
