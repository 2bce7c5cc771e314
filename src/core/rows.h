// rows.h - the rows of the core's tables and their invariants.
#pragma once

#include "base/base.h"
#include "rota.h"

typedef uint32_t task_row, extra_row, batch_row, job_row, lane_row, group_row, profile_row;
typedef uint32_t table_row, worker_row, object_row, replica_row, late_row, offer_row, wait_row;

// ---- Rows -------------------------------------------------------------------

enum task_flag {
    TASK_HAS_LANE = 0x1,  // it has a lane
    TASK_WRITES = 0x2,    // in its lane; otherwise it reads
    TASK_IS_BUNDLE = 0x4,
    TASK_LINKED = 0x8,        // the map of late links has entries for it
    TASK_STARTING = 0x10,     // claimed in a strict lane; the start is not reported yet
    TASK_QUEUED_LOOK = 0x20,  // in one of the look lists
    TASK_UNFAILED = 0x40,     // blocked, but not because of a failure
    TASK_DECIDED = 0x80,      // its outcome is known; changes of its dependencies no longer matter
    TASK_STOPPING = 0x100,    // from here on: stored
    TASK_AGAIN = 0x200,       // makes a lost result again
    TASK_OVERBOOKED = 0x400,
    TASK_CLAIMED = 0x800,     // claimed by a handler
    TASK_BYPASS = 0x1000,     // started by a person: its condition does not apply
    TASK_BACKOFF = 0x2000,    // WAITING or BLOCKED, until a time in rota.backoffs
    TASK_DISCARDED = 0x4000,  // STOPPING, to run again: a writer it reads from did not succeed
    TASK_UNWATCHED = 0x8000,  // within remove_conditions(): no condition of that job watches it
};
#define TASK_STORED_SHIFT 8
#define TASK_ENDING                                                                                \
    (TASK_AGAIN | TASK_STOPPING | TASK_CLAIMED | TASK_BYPASS | TASK_UNFAILED | TASK_OVERBOOKED     \
     | TASK_DECIDED | TASK_DISCARDED)
#define TASK_ATTEMPT_MAX ((1u << 22) - 1)
#define TASK_RETRIES_MAX 1000

// One cache line, so that touching a task costs one miss. The number of unmet dependencies is in
// rota.unmet: a dependency that is met touches the task only if it was the last.
struct task {
    uint32_t dead;            // number of dependencies that cannot be met without a retry
    uint32_t next, previous;  // lane, worker, claim queue, or followers of a shared key;
                              // claimed: `next` is the row of the handler
    uint32_t child;           // in a look list: the next one; under pull: its first offer
    batch_row batch;
    uint32_t after, after_end;  // its dependents are links[after ... after_end)
    uint32_t before;            // its dependencies are links[before ... (this + 1)->before)
    uint32_t rank;              // longest path to the end of its submission
    profile_row profile;
    extra_row extra;  // 0: none of the rare columns
    union {
        worker_row worker;  // ASSIGNED, RUNNING; 0 if claimed by a handler
        int32_t status;     // otherwise: exit status of the last attempt
    };
    uint8_t state;    // enum rota_task_state; written in task.c only
    uint8_t outcome;  // enum rota_outcome of the last attempt that ended
    uint16_t flags;
    uint32_t attempt : 22, tries : 10;  // tries: attempts since the last request by a client
    uint64_t body;
};
_Static_assert(sizeof(struct task) == 64, "a task is one cache line");

// Columns that few tasks need.
struct extra {
    task_row task;
    lane_row lane;
    group_row group;
    task_row bundle;
    uint32_t clause_first, clause_count;
    uint32_t use_first, input_count, output_count;  // uses: inputs, then outputs
    object_row key;
    task_row leader;     // SHARED: its leader; of a leader: its first follower
    uint8_t verdict;     // enum verdict of its condition
    uint8_t phase : 4;   // enum pull_phase
    uint8_t resume : 4;  // the phase to resume when it is placed again
    uint8_t restored;    // its state in the store, while restoring
    bool in_line;        // in the queue of its lane
    uint64_t asked;      // the turn of its request; 0: has not requested its lane
    rota_time since;     // OFFERED under pull: when its current phase began
};
_Static_assert(sizeof(struct extra) == 64, "one more cache line");

enum verdict { VERDICT_TRUE, VERDICT_FALSE, VERDICT_DEAD };
enum pull_phase { PHASE_NONE, PHASE_NEAR, PHASE_INPUT, PHASE_GLOBAL };

// One submission: consecutive task rows, followed by a row that only ends the lists.
struct batch {
    uint32_t link;
    job_row job;
    task_row first;
    uint32_t number, count;  // number of its first task in the job
    uint32_t job_id;         // copy of the job's id, to find the id of a task with one read less
    uint64_t sequence;       // order of submission
    batch_row next;          // in the job
    uint32_t edge_count, link_first, link_count, use_first, use_count, clause_first, clause_count;
    const struct rota_job_spec *spec;  // until its record is taken
};

enum task_class {
    CLASS_NONE,
    CLASS_ACTIVE,
    CLASS_STUCK,
    CLASS_BLOCKED_UNFAILED,
    CLASS_SUCCEEDED,
    CLASS_FAILED,
    CLASS_ABORTED,
    TASK_CLASSES
};

struct job {
    uint32_t link;
    uint32_t id;
    uint64_t client, key;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    enum rota_job_state state;
    batch_row first_batch, last_batch;
    batch_row *later;  // all its batches except the first, by task number
    uint32_t later_count, later_capacity;
    uint32_t task_count, failed_task;
    uint32_t counts[TASK_CLASSES];  // of its tasks without bundles
    uint32_t out;                   // attempts on workers and with handlers
    uint32_t watched;               // clauses of other jobs that name its tasks
    job_row next_look, next_picked;
    task_row culprit;    // the failed task with which the job is about to fail
    object_row objects;  // list through object.next_of_job
    bool looking, marked, told;
    bool paused;      // none of its tasks is handed out
    bool was_closed;  // while restoring
};

struct bundle {  // parallel to the task row of a bundle, found by a map
    uint32_t link;
    uint32_t counts[TASK_CLASSES];
    bool ever_staged;
};

struct lane {
    uint32_t link;
    uint32_t number, flags;
    rota_time patience;
    int32_t counter;                       // incremented by writers inside, decremented by readers
    uint32_t named;                        // number of tasks that name the lane, in any state
    uint32_t inside, starting;             // starting: tasks inside that do not run yet
    task_row held_first, held_last;        // the queue, in order
    task_row offered_first, offered_last;  // admitted, after `placing`
    task_row placing;                      // admitted, and the first to be handed out
    task_row reserved;  // the head, if only the readers or writers inside block it
    lane_row next_look, next_strict;
    bool looking, looking_strict, marked;
};

struct group {
    uint32_t link;
    lane_row lane;
    uint32_t number, uses;
    task_row holder;
};

struct look_list {
    task_row first, last;
};
struct bucket {
    task_row first, last;
    uint32_t count;
};

enum { READY_FEW = 64, READY_BUCKETS = 64 };

// Ready tasks of a profile with many tasks.
struct table {
    uint32_t link;
    uint64_t filled;  // which buckets have tasks
    struct bucket bucket[READY_BUCKETS];
};

// Requirements of a task. Tasks with the same requirements share a profile; its ready tasks form
// one queue.
struct wants {
    uint32_t cores, memory_mib, machine, retries_max;
    int16_t priority;
    uint16_t policy;
};
_Static_assert(sizeof(struct wants) == 20, "no padding: it is compared as bytes");

struct profile {
    uint32_t link;
    uint32_t uses;
    struct wants wants;
    struct bucket line;          // its ready tasks, while there are few
    table_row table;             // or buckets of them, by rank
    profile_row next, previous;  // list of profiles with ready tasks, by policy
    profile_row same;            // with the same hash
};

enum pause_bits { PAUSE_ORDERED = 1, PAUSE_LEAVING = 2 };  // until RESUME; until it joins again

struct worker {
    uint32_t link;
    uint32_t id;
    uint32_t cores, memory_mib, slots, machine, asks;
    uint64_t cores_used, memory_used;
    uint32_t tasks, overbooked;
    task_row first;                           // its attempts
    offer_row queue_first[2], queue_last[2];  // near, input
    replica_row replicas;
    rota_time silent_since;  // ROTA_NEVER: it is not silent
    bool marked, lost;       // lost: it is being removed and gets no messages
    uint8_t paused;          // enum pause_bits: gets no new tasks
    bool unsettled;
    worker_row unsettled_next;
};

enum object_bits {  // in addition to rota_object_flag in object.flags
    OBJECT_FINISHED = 0x100,
    OBJECT_REMOVED = 0x200,
    OBJECT_SERVED = 0x400,  // held by the server
    OBJECT_USED = 0x800,    // a consumer has ended
    OBJECT_MARKED = 0x1000,
    OBJECT_CHANGED = 0x2000,
    OBJECT_STAGED = 0x4000,     // its submission is being verified; producer is index + 1
    OBJECT_SPREADING = 0x8000,  // just made; bound consumers have to fetch it
    OBJECT_EARLY = 0x10000,     // reported while its producer ran, which has not succeeded since
};

struct object {
    uint32_t link;
    rota_object_id id;
    uint64_t bytes;
    struct rota_content content;  // object_hash.c
    job_row job;  // 0: an artifact, named by its content key
    task_row producer;
    uint32_t flags;
    uint32_t uses;   // consumers, through use.next
    uint32_t need;   // consumers that may still read it
    uint32_t view;   // the state its consumers have seen: enum need
    uint32_t named;  // tasks that name it as key or dependency
    replica_row replicas;
    uint32_t located;  // replicas that are located
    task_row runner;   // artifact: the leader of its execution
    object_row same, next_of_job, next_changed, previous_changed, next_spread;
    wait_row reads;
};

enum replica_flag {
    REPLICA_LOCATED = 1,
    REPLICA_PRIMARY = 2,
    REPLICA_MARKED = 4,
    REPLICA_KEPT = 8
};

struct replica {
    uint32_t link;
    object_row object;
    worker_row worker;
    replica_row next_of_object, next_of_worker, previous_of_worker;
    uint32_t flags, users;  // users: consumers assigned there
};

struct use {
    task_row task;
    object_row object;
    uint32_t next;
};

enum late_kind { LATE_EDGE = 1, LATE_WATCH, LATE_WAIT };
struct late {
    uint32_t link, kind, target;  // target: task row or wait item
    late_row next;
};

// A task in one of the queues of pull; worker 0: the global queue.
struct offer {
    uint32_t link;
    task_row task;
    worker_row worker;
    uint32_t kind;  // 0 near, 1 input
    offer_row next, previous, next_of_task;
};

// One task or object that a client waits for. All items of a wait share its number.
struct wait {
    uint32_t link;
    uint32_t number, index, mode;
    uint32_t left;  // in the first item: number of unfinished tasks
    uint64_t client;
    task_row task;
    object_row object;  // a read
    wait_row first;     // item of the same wait
    wait_row next;      // item of the same wait, or read of the same object
    wait_row next_look;
    bool marked, looking;
};

struct handler {
    uint32_t link, uses;
    uint64_t id;
};
struct mark {
    uint32_t kind, number;
};
