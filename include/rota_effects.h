// rota_effects.h - what a step asks for: rows to make durable, then messages to send.
#pragma once

#include "rota_types.h"

// ---- Records: the rows a store needs to rebuild the core -------------------

enum rota_record_kind {
    ROTA_RECORD_CORE = 1,     // counters and the plan's clock; one row
    ROTA_RECORD_LANE,
    ROTA_RECORD_WORKER,
    ROTA_RECORD_JOB,
    ROTA_RECORD_SUBMIT,       // a submission as it came; its tasks are as rota_task_state() says
    ROTA_RECORD_TASK,         // how far a task is
    ROTA_RECORD_OBJECT,
    ROTA_RECORD_REPLICA,
    ROTA_RECORD_WAIT,
};

enum rota_job_state {
    ROTA_JOB_OPEN,            // may grow
    ROTA_JOB_LAST,            // complete: over when its tasks are
    ROTA_JOB_FAILED,          // a task failed under fail_job; every request gets that answer
    ROTA_JOB_CLOSED,          // let go by its client; gone when nothing of it runs
};

// A row to write; the comment beside it names its key. Writing it twice does no harm.
// `gone` rows are deleted, and with a job all its SUBMIT, TASK and OBJECT rows.
// ROTA_EVENT_RESTORE takes the rows back, submissions in order of sequence.
struct rota_record {
    enum rota_record_kind kind;
    bool gone;
    union {
        struct {                      // there is one
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
            rota_time silent_since;   // ROTA_NEVER: it is heard
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
            rota_task_id id, run_as;  // run_as: the name its worker knows the attempt by; none: id
            uint8_t state;            // enum rota_task_state
            uint8_t flags, outcome, phase;
            uint16_t tries;
            int32_t status;           // of the last attempt
            uint32_t attempt;
            rota_worker_id worker;
            uint64_t asked;           // the turn in which it asked for its lane, or was offered
            uint64_t handler;         // who claimed it
            rota_time since;          // OFFERED under pull: when its present wait began; WAITING
                                      // or BLOCKED between two attempts: until when it rests
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
    ROTA_ACTION_CONFIRM,      // to the client: a task is over, and how
    ROTA_ACTION_JOB_OVER,     // to the client: a whole job is over
    ROTA_ACTION_WAIT_OVER,    // to the client: a task it waited for; all of one wait together
    ROTA_ACTION_READ,         // to the client: an object it asked for can be read there, or never
    ROTA_ACTION_GRANT,        // to the handler: the task is yours
    ROTA_ACTION_RUN,          // to the worker: run a task
    ROTA_ACTION_STOP,         // to the worker: stop one, or forget it
    ROTA_ACTION_FETCH,        // to the worker: copy an object from another
    ROTA_ACTION_DROP,         // to the worker: delete its copy
    ROTA_ACTION_STREAM,       // to the producer's worker: who consumes a stream, and where
    ROTA_ACTION_COMPLETED,    // to the worker: whether somebody was waiting for that key
    ROTA_ACTION_SHOW,         // to the worker: look whether your copy is there, HELD or LOST
    ROTA_ACTION_ALIAS,        // to the worker: what one task makes is the output of another, too
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
            rota_task_id task;        // none: there was nothing to wait for
            enum rota_outcome outcome;
        } wait_over;
        struct {
            uint64_t client;
            rota_object_id object;
            rota_worker_id from;      // none: the server
            bool there;               // false: it will not come
        } read;
        struct { uint64_t handler, body; rota_task_id task; uint32_t attempt; } grant;
        struct {
            uint64_t body;
            rota_task_id task;
            uint32_t attempt;
            rota_worker_id worker;
            uint32_t order;           // as its plan said; higher goes first
        } run;
        struct { rota_task_id task; uint32_t attempt; rota_worker_id worker; } stop;
        struct {
            rota_object_id object;
            rota_worker_id worker, from;  // from 0: the server
            uint32_t order;           // of the task that wants it
            bool soon;                // it waits for nothing but objects that are on their way
            bool again;               // it was asked for ahead of its task, which now follows
        } fetch;
        // ahead: it was asked for ahead of a task that goes elsewhere now, and need not come
        struct {
            rota_object_id object;
            rota_worker_id worker;
            bool ahead;
            struct rota_content content;  // DROP: only if it is this one; kind 0: in any case
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
            bool later;               // `from` is not made yet, and will be nobody's
        } alias;
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
