// rota_types.h - the words of rota: names, states and what a client submits.
//
// Plain data that crosses the border of the core. rota.h says what to do with it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Names -----------------------------------------------------------------
// Ids are values, passed by copy. All zero is "none". They survive restarts: the store
// and the wire carry them as they are. The core never gives the same one twice.

typedef struct { uint32_t number; }     rota_job_id;     // printed as "7"; given by the core
typedef struct { uint32_t job, task; }  rota_task_id;    // printed as "7.3"; tasks count from 1
typedef struct { uint32_t number; }     rota_worker_id;  // printed as "w4"; chosen by the caller
typedef struct { uint64_t high, low; }  rota_object_id;  // chosen by the client

typedef int64_t rota_time;  // microseconds on the caller's clock
#define ROTA_NEVER INT64_MAX

// ---- Words -----------------------------------------------------------------

enum rota_error {
    ROTA_OK,
    ROTA_NO_MEMORY,       // the allocator refused
    ROTA_TOO_MANY,        // a limit of the configuration would be passed
    ROTA_BAD_GRAPH,       // a cycle, or an edge, bundle or object where none can be
    ROTA_NOT_FOUND,       // no such job, task, worker, lane or object
    ROTA_NOT_NOW,         // it exists, but not in a state where this can happen
    ROTA_STALE,           // a report about an attempt that is no longer current
    ROTA_BAD_EVENT,       // an event no correct caller would send
    ROTA_ERRORS           // how many there are
};

enum rota_task_state {
    ROTA_TASK_NONE,
    ROTA_TASK_IDLE,       // defined, not to be run until it is staged
    ROTA_TASK_STAGED,     // due
    ROTA_TASK_QUEUED,     // its needs are being looked at
    ROTA_TASK_WAITING,    // a prerequisite or its condition is not there yet
    ROTA_TASK_BLOCKED,    // and cannot be before somebody retries what failed
    ROTA_TASK_READY,      // has all it needs
    ROTA_TASK_HELD,       // stands in its lane
    ROTA_TASK_OFFERED,    // may go to a worker or handler; which one is being decided
    ROTA_TASK_SHARED,     // another task with the same content key runs for both
    ROTA_TASK_ASSIGNED,   // a worker was told to run it
    ROTA_TASK_RUNNING,    // the worker said that it runs, or a handler claimed it
    ROTA_TASK_SUCCEEDED,
    ROTA_TASK_FAILED,     // may be retried
    ROTA_TASK_ABORTED,    // cancelled or lost; may be retried
    ROTA_TASK_FROZEN,     // does not run before a manual action; whoever needs it goes on
    ROTA_TASK_STATES      // how many there are
};

enum rota_access { ROTA_ACCESS_NONE, ROTA_ACCESS_READ, ROTA_ACCESS_WRITE };
enum rota_policy { ROTA_POLICY_DEFAULT, ROTA_POLICY_CLAIM, ROTA_POLICY_PULL, ROTA_POLICY_PLAN };
enum rota_on_failure { ROTA_FAILURE_DEFAULT, ROTA_FAILURE_BLOCK, ROTA_FAILURE_FAIL_JOB };

// How an attempt ended.
enum rota_outcome {
    ROTA_OUTCOME_NONE,
    ROTA_OUTCOME_OK,
    ROTA_OUTCOME_EXIT,     // the command ended by itself, and not with 0: a result, and cached
    ROTA_OUTCOME_ERROR,    // it could not be run properly, or was killed: not a result
    ROTA_OUTCOME_ABORTED,  // it was stopped
    ROTA_OUTCOME_LOST,     // its worker was lost
};

// ---- What a client submits -------------------------------------------------

enum rota_task_flag {
    ROTA_TASK_BUNDLE    = 1,  // not a command but the sum of its members' states
    ROTA_TASK_ON_DEMAND = 2,  // starts IDLE, to be staged later (so are members of such a bundle)
};

// Under pull, with a content key, and when a result is made again, losses are repeated so much more
// often than `retries_max` says: the result is the same whichever worker makes it.
enum { ROTA_LOSSES_MAX = 20 };

struct rota_task_spec {
    uint64_t body;            // names the command; the core never looks inside
    rota_object_id key;       // content key of its result; none: not shared, not cached. No streams
    rota_time estimate;       // expected duration; 0: unknown
    uint32_t flags;           // rota_task_flag
    uint32_t bundle;          // task number of its bundle in this job; 0: none
    uint32_t lane;            // the line it stands in; 0: none
    uint32_t group;           // in a lane one task of a group runs at a time; 0: none
    uint32_t machine;         // it must run there; 0: anywhere
    uint32_t cores;           // what it takes of a worker
    uint32_t memory_mib;
    uint32_t retries_max;     // how often a failed or lost attempt is repeated
    uint32_t clause_first;    // its start condition is clauses[first ... first + count)
    uint32_t clause_count;    // 0: none
    int16_t priority;         // -128 to 127; higher goes first
    uint8_t access;           // enum rota_access; in a lane READ or WRITE
};

struct rota_edge { uint32_t before, after; };  // task numbers; `after` is one of the new tasks

// A start condition in postfix order. Clauses may name tasks of any job; job 0
// means the job being submitted.
enum rota_clause_kind {
    ROTA_CLAUSE_SUCCESS = 1,  // su(x): x succeeded
    ROTA_CLAUSE_FAILED,       // fa(x): x failed; not when it was aborted
    ROTA_CLAUSE_NOT_RUNNING,  // nr(x): x is idle or over
    ROTA_CLAUSE_DONE,         // done(x): x is over
    ROTA_CLAUSE_AND,          // the two values before it
    ROTA_CLAUSE_OR,
};
struct rota_clause { enum rota_clause_kind kind; rota_task_id task; };

enum rota_object_flag {
    ROTA_OBJECT_KEEP     = 1,  // outputs: kept for the client until released
    ROTA_OBJECT_STREAM   = 2,  // outputs: flows to its consumers while the producer runs
    ROTA_OBJECT_AWAY     = 4,  // uploads: lies on workers only, which will say so
    ROTA_OBJECT_ARTIFACT = 8,  // inputs: a content key; wanted near, not waited for
};

// What an object consists of, by the word of the attempt that made it, or of the client that
// brought it: a hash, and of what (a letter of the caller's choice). Kind 0: not known.
struct rota_content { uint8_t hash[32]; char kind; };

// An object a task makes (task 0: an upload, finished from birth), and one that it reads.
struct rota_output {
    uint32_t task, flags;
    rota_object_id object;
    uint64_t bytes;
    struct rota_content content;
};
struct rota_input  { uint32_t task, flags; rota_object_id object; };

// Where a plan wants a task to run; worker none: anywhere. Among the tasks of a worker a higher
// order goes first; it is below 2^30.
struct rota_placement { uint32_t task; rota_worker_id worker; uint32_t order; };

struct rota_job_spec {
    rota_job_id job;          // the open job that grows; none: a new one
    uint64_t client;          // whom to tell
    uint64_t key;             // the same client and key again is the same job; 0: no key
    enum rota_policy policy;  // of a new job
    enum rota_on_failure on_failure;  // of a new job
    uint32_t first;           // the number tasks[0] will have; 0: 1, as in a new job
    bool last;                // nothing will follow: the job is over when its tasks are
    const struct rota_task_spec *tasks;
    const struct rota_edge *edges;
    const struct rota_clause *clauses;
    const struct rota_input *inputs;
    const struct rota_output *outputs;
    uint32_t task_count, edge_count, clause_count, input_count, output_count;
};
