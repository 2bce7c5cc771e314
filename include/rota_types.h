// rota_types.h - the data types of rota: ids, states, and the submission of a client.
//
// Plain data that goes into and out of the core; rota.h has the functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Ids -------------------------------------------------------------------
// Ids are values, passed by copy. All zero is "none". They survive restarts: the store
// and the wire carry them unchanged. The core never assigns the same one twice.

typedef struct { uint32_t number; }     rota_job_id;     // printed as "7"; assigned by the core
typedef struct { uint32_t job, task; }  rota_task_id;    // printed as "7.3"; tasks count from 1
typedef struct { uint32_t number; }     rota_worker_id;  // printed as "w4"; chosen by the caller
typedef struct { uint64_t high, low; }  rota_object_id;  // chosen by the client

typedef int64_t rota_time;  // microseconds on the caller's clock
#define ROTA_NEVER INT64_MAX

// ---- Errors and states -----------------------------------------------------

enum rota_error {
    ROTA_OK,
    ROTA_NO_MEMORY,       // the allocator refused
    ROTA_TOO_MANY,        // a limit of the configuration would be exceeded
    ROTA_BAD_GRAPH,       // a cycle, or an invalid edge, bundle or object
    ROTA_NOT_FOUND,       // no such job, task, worker, lane or object
    ROTA_NOT_NOW,         // it exists, but not in a state where this can happen
    ROTA_STALE,           // a report about an attempt that is no longer current
    ROTA_BAD_EVENT,       // an event no correct caller would send
    ROTA_ERRORS           // the number of errors
};

enum rota_task_state {
    ROTA_TASK_NONE,
    ROTA_TASK_IDLE,       // defined, not to be run until it is staged
    ROTA_TASK_STAGED,     // due
    ROTA_TASK_QUEUED,     // its dependencies are being checked
    ROTA_TASK_WAITING,    // a dependency or its condition is not fulfilled yet
    ROTA_TASK_BLOCKED,    // the same, and cannot be before a failed task is retried
    ROTA_TASK_READY,      // its dependencies are fulfilled
    ROTA_TASK_HELD,       // waits for its turn in a lane
    ROTA_TASK_OFFERED,    // may go to a worker or handler; which one is not decided yet
    ROTA_TASK_SHARED,     // another task with the same content key runs for both
    ROTA_TASK_ASSIGNED,   // a worker was told to run it
    ROTA_TASK_RUNNING,    // the worker reported its start, or a handler claimed it
    ROTA_TASK_SUCCEEDED,
    ROTA_TASK_FAILED,     // may be retried
    ROTA_TASK_ABORTED,    // cancelled or lost; may be retried
    ROTA_TASK_FROZEN,     // does not run before a manual action; its dependents do
    ROTA_TASK_STATES      // the number of states
};

enum rota_access { ROTA_ACCESS_NONE, ROTA_ACCESS_READ, ROTA_ACCESS_WRITE };
enum rota_policy { ROTA_POLICY_DEFAULT, ROTA_POLICY_CLAIM, ROTA_POLICY_PULL, ROTA_POLICY_PLAN };
enum rota_on_failure { ROTA_FAILURE_DEFAULT, ROTA_FAILURE_BLOCK, ROTA_FAILURE_FAIL_JOB };

// How an attempt ended.
enum rota_outcome {
    ROTA_OUTCOME_NONE,
    ROTA_OUTCOME_OK,
    ROTA_OUTCOME_EXIT,     // the command exited with another status than 0: a result, and cached
    ROTA_OUTCOME_ERROR,    // it could not be run, or was killed: not a result
    ROTA_OUTCOME_ABORTED,  // it was stopped
    ROTA_OUTCOME_LOST,     // its worker was lost
};

// ---- A submission ----------------------------------------------------------

enum rota_task_flag {
    ROTA_TASK_BUNDLE    = 1,  // no command; its state follows from those of its members
    ROTA_TASK_ON_DEMAND = 2,  // starts IDLE, to be staged later (as the members of such a bundle)
};

// Under pull, with a content key, and when a lost result is made again, a lost attempt is repeated
// this many times in addition to `retries_max`: any worker produces the same result.
enum { ROTA_LOSSES_MAX = 20 };

struct rota_task_spec {
    uint64_t body;            // identifies the command; the core never looks inside
    rota_object_id key;       // content key of its result; none: not shared, not cached. No streams
    rota_time estimate;       // expected duration; 0: unknown
    uint32_t flags;           // rota_task_flag
    uint32_t bundle;          // task number of its bundle in this job; 0: none
    uint32_t lane;            // 0: none
    uint32_t group;           // in a lane one task of a group runs at a time; 0: none
    uint32_t machine;         // it must run there; 0: anywhere
    uint32_t cores;           // it needs on a worker
    uint32_t memory_mib;
    uint32_t retries_max;     // how often a failed or lost attempt is repeated
    uint32_t clause_first;    // its start condition is clauses[first ... first + count)
    uint32_t clause_count;    // 0: none
    int16_t priority;         // -128 to 127; higher runs first
    uint8_t access;           // enum rota_access; with a lane: READ or WRITE
};

struct rota_edge { uint32_t before, after; };  // task numbers; `after` is one of the new tasks

// A start condition in postfix order. Clauses may refer to tasks of any job; job 0
// means the job being submitted.
enum rota_clause_kind {
    ROTA_CLAUSE_SUCCESS = 1,  // su(x): x succeeded
    ROTA_CLAUSE_FAILED,       // fa(x): x failed; not when it was aborted
    ROTA_CLAUSE_NOT_RUNNING,  // nr(x): x is idle or has finished
    ROTA_CLAUSE_DONE,         // done(x): x has finished
    ROTA_CLAUSE_AND,          // of the two values before it
    ROTA_CLAUSE_OR,
};
struct rota_clause { enum rota_clause_kind kind; rota_task_id task; };

enum rota_object_flag {
    ROTA_OBJECT_KEEP     = 1,  // outputs: kept for the client until released
    ROTA_OBJECT_STREAM   = 2,  // outputs: flows to its consumers while the producer runs
    ROTA_OBJECT_AWAY     = 4,  // uploads: only workers hold it, and will report it
    ROTA_OBJECT_ARTIFACT = 8,  // inputs: a content key; preferred nearby, not waited for
};

// The content of an object, as reported by the attempt that produced it or the client that uploaded
// it: a hash, and its kind (a letter that the caller chooses). Kind 0: unknown.
struct rota_content { uint8_t hash[32]; char kind; };

// An object that a task produces (task 0: an upload, finished at once), and one that it reads.
struct rota_output {
    uint32_t task, flags;
    rota_object_id object;
    uint64_t bytes;
    struct rota_content content;
};
struct rota_input  { uint32_t task, flags; rota_object_id object; };

// Where a plan places a task; worker none: anywhere. Among the tasks of a worker a higher order
// runs first; it is below 2^30.
struct rota_placement { uint32_t task; rota_worker_id worker; uint32_t order; };

struct rota_job_spec {
    rota_job_id job;          // the open job that grows; none: a new one
    uint64_t client;          // gets the answers
    uint64_t key;             // the same client and key mean the same job; 0: no key
    enum rota_policy policy;  // of a new job
    enum rota_on_failure on_failure;  // of a new job
    uint32_t first;           // the number of tasks[0]; 0: 1, as in a new job
    bool last;                // no task will follow: the job finishes with its tasks
    const struct rota_task_spec *tasks;
    const struct rota_edge *edges;
    const struct rota_clause *clauses;
    const struct rota_input *inputs;
    const struct rota_output *outputs;
    uint32_t task_count, edge_count, clause_count, input_count, output_count;
};
