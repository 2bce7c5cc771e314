// rota_ask.h - queries: states of tasks, jobs, lanes, objects and workers, and why a task waits.
//
// Nothing here changes the core. A list function writes at most `max` entries and
// returns the total number. For an unknown id a function returns false, "", 0 or none.
#pragma once

#include "rota_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota;

// ---- A task ----------------------------------------------------------------

struct rota_task_view {
    enum rota_task_state state;  // a lost result being made again still shows SUCCEEDED
    enum rota_outcome outcome;   // of the last attempt that ended
    int32_t status;              // the same; 0 while another attempt runs
    uint32_t attempt, tries;     // all attempts; those since the last request to run it
    uint32_t retries_max;        // as submitted
    uint64_t body;               // as submitted
    rota_worker_id worker;       // where it is assigned or runs
    rota_task_id run_as;         // the id under which its worker runs the attempt
    rota_task_id leader;         // SHARED: the task that runs for it
    rota_object_id key;          // its content key, or none
    uint64_t handler;            // that claimed it
    bool queued;                 // assigned beyond the room of its worker
    bool stopping;               // told to stop; its worker has not confirmed
    bool discarded;              // it will run again: the writer of a stream it reads failed
    bool regenerating;           // its result was lost and is made again
    bool unschedulable;          // no registered worker could ever take it
};

enum rota_task_state rota_task_state(const struct rota *rota, rota_task_id id);
bool rota_task_look(const struct rota *rota, rota_task_id id, struct rota_task_view *view);

// The same in the words of the database tables: IDLE STAGED QUEUED WAITING READY
// RUNNING SUCCESS FAILED ABORTED FROZEN; bundles and jobs too, and a job may be CLOSED.
const char *rota_task_status(const struct rota *rota, rota_task_id id);
const char *rota_job_status(const struct rota *rota, rota_job_id id);
// The number of attempts that workers or handlers have.
uint32_t rota_job_attempts(const struct rota *rota, rota_job_id id);
bool rota_job_is_paused(const struct rota *rota, rota_job_id id);

// The same in the words of the planner: NotAssigned Ready Assigned Running Finished Failed.
struct rota_plan_view { const char *state; rota_worker_id assigned, scheduled, ready; };
bool rota_plan_look(const struct rota *rota, rota_task_id id, struct rota_plan_view *view);

// ---- Lists -----------------------------------------------------------------

enum rota_list {
    ROTA_LIST_ALL,

    // States as graphs name them.
    ROTA_LIST_AVAILABLE, ROTA_LIST_FETCHABLE, ROTA_LIST_UNKNOWN, ROTA_LIST_BLOCKED,

    // States as lanes and workers name them.
    ROTA_LIST_HELD, ROTA_LIST_OFFERED, ROTA_LIST_ASSIGNED, ROTA_LIST_RUNNING,
    ROTA_LIST_SUCCEEDED, ROTA_LIST_FAILED, ROTA_LIST_ABORTED, ROTA_LIST_UNSCHEDULABLE,

    // States as the database tables name them.
    ROTA_LIST_STAGE, ROTA_LIST_QUEUE, ROTA_LIST_WAIT, ROTA_LIST_READY,
    ROTA_LIST_EXEC, ROTA_LIST_UNSTAGE,      // UNSTAGE is empty between two steps

    // States as pull names them; the first two of one worker.
    ROTA_LIST_NEAR, ROTA_LIST_INPUT, ROTA_LIST_GLOBAL,
};

// Tasks in order of job and number. UNKNOWN needs memory; without any it returns 0.
uint32_t rota_list(const struct rota *rota, enum rota_list list, rota_worker_id worker,
                   rota_task_id *out, uint32_t max);
// The tasks of a worker, the last assigned first. Its time depends on their number only.
uint32_t rota_worker_tasks(const struct rota *rota, rota_worker_id worker, rota_task_id *out,
                           uint32_t max);
// Whether a CLAIM of any task for a machine (0: any) would succeed, and the task's priority.
bool rota_claimable(const struct rota *rota, uint32_t machine, int32_t *priority);
// The task whose attempt produced, or will produce, the result of a task that did not run itself:
// it has the same content key. None: the task ran itself, or the other one was removed. Searches
// all tasks.
rota_task_id rota_maker(const struct rota *rota, rota_task_id id);
// The failed or aborted tasks that keep a task BLOCKED, in the order of its dependencies.
uint32_t rota_blockers(const struct rota *rota, rota_task_id id, rota_task_id *out, uint32_t max);

// ---- Lanes, objects, workers -----------------------------------------------

// The number of writers inside the lane, or minus the number of readers; and the groups inside.
bool rota_lane_counter(const struct rota *rota, uint32_t lane, int32_t *counter);
bool rota_lane_is_paused(const struct rota *rota, uint32_t lane);
uint32_t rota_lane_groups(const struct rota *rota, uint32_t lane, uint32_t *out, uint32_t max);

enum rota_object_state {
    ROTA_OBJECT_NONE, ROTA_OBJECT_UNFINISHED, ROTA_OBJECT_FINISHED, ROTA_OBJECT_REMOVED
};
enum rota_object_set { ROTA_SET_SCHEDULED, ROTA_SET_ASSIGNED, ROTA_SET_LOCATED };

enum rota_object_state rota_object_state(const struct rota *rota, rota_object_id id);
uint64_t rota_object_bytes(const struct rota *rota, rota_object_id id);  // of a stream: so far
// False: no worker has reported its content, or there is no such object.
bool rota_object_content(const struct rota *rota, rota_object_id id, struct rota_content *content);
uint32_t rota_object_workers(const struct rota *rota, rota_object_id id, enum rota_object_set set,
                             rota_worker_id *out, uint32_t max);
rota_worker_id rota_locate(const struct rota *rota, rota_object_id id);  // any holder, or none

struct rota_worker_view {
    uint32_t cores, memory_mib, cores_free, memory_mib_free;
    uint32_t tasks, asks;        // assigned or running there; tasks it still asks for
    bool silent, paused, leaves;
};
bool rota_worker_look(const struct rota *rota, rota_worker_id id, struct rota_worker_view *view);

uint64_t rota_plans(const struct rota *rota);  // how often the planner ran

// ---- Why is a task not running? --------------------------------------------

enum rota_hold {
    ROTA_HOLD_NONE,           // it runs, has finished, is a bundle, or does not exist
    ROTA_HOLD_IDLE,           // it is not staged
    ROTA_HOLD_FROZEN,
    ROTA_HOLD_PREREQUISITE,   // `task` and `count - 1` others have not succeeded
    ROTA_HOLD_FAILURE,        // `task` failed or was aborted; `count` such in all
    ROTA_HOLD_BLOCKED,        // `task`, which it needs, is itself blocked
    ROTA_HOLD_CONDITION,      // its condition, which refers to `task`, is not true
    ROTA_HOLD_LOST_INPUT,     // `task` produces a lost input again
    ROTA_HOLD_ORDER,          // `task` is at the head of the lane
    ROTA_HOLD_START,          // strict lane: `task` is inside and has not started
    ROTA_HOLD_GROUP,          // `task` holds the group
    ROTA_HOLD_ACCESS,         // `count` readers (or writers) are inside, `task` one of them
    ROTA_HOLD_SHARED,         // `task`, which has the same content key, runs for both
    ROTA_HOLD_HANDLER,        // waits for a handler to claim it
    ROTA_HOLD_NO_WORKER,      // no worker has joined
    ROTA_HOLD_MACHINE,        // no worker on its machine has joined
    ROTA_HOLD_TOO_BIG,        // no worker is big enough; `worker` lacks `short_cores`, `short_mib`
    ROTA_HOLD_ROOM,           // no worker has room now; `worker` lacks the least
    ROTA_HOLD_CACHED,         // pull: waits for a worker with its result until `until`
    ROTA_HOLD_INPUTS,         // pull: waits for a worker with an input until `until`
    ROTA_HOLD_PICK,           // pull: any worker may take it; none has asked
    ROTA_HOLD_PLAN,           // the next plan, due at `until`, will place it
    ROTA_HOLD_START_REPORT,   // assigned to `worker`, which has not started it
    ROTA_HOLD_SILENT,         // `worker`, where it is or could be, is silent; lost at `until`
    ROTA_HOLD_REST,           // backoff: the next attempt may start at `until`
    ROTA_HOLD_STOPPING,       // told to stop; `worker` has not confirmed
    ROTA_HOLD_LANE_PAUSED,
    ROTA_HOLD_WORKER_PAUSED,  // `worker` could run it, but is paused
    ROTA_HOLD_JOB_PAUSED,
    ROTA_HOLD_WORKER_LEAVES,  // `worker` could run it, but is about to exit
    ROTA_HOLD_STREAM,         // it stopped before the end of a stream, which `task` writes again
    ROTA_HOLDS
};

struct rota_why {
    enum rota_hold hold;
    rota_task_id task;
    uint32_t count;
    rota_worker_id worker;
    uint32_t lane, group, machine;
    uint32_t short_cores, short_mib;
    rota_time until;
    rota_worker_id planned;      // where a plan places it; none once it is assigned
};
struct rota_why rota_why(const struct rota *rota, rota_task_id id);

// ---- The core --------------------------------------------------------------

uint64_t rota_digest(const struct rota *rota);  // of the state; unchanged by a restore
void rota_check(const struct rota *rota);       // aborts on a broken invariant

const char *rota_error_name(enum rota_error error);  // "bad_graph"
const char *rota_error_text(enum rota_error error);
const char *rota_task_state_name(enum rota_task_state state);

// The transitions of a task, for the documentation: whether a task may move
// from `from` to `to`.
bool rota_task_may_move(enum rota_task_state from, enum rota_task_state to);

// ---- Start conditions as text ----------------------------------------------

// Parses "su(a) & (fa(b) | nr(c))" into postfix clauses, left to right without
// precedence. names[i] and lengths[i] give the name in clause i (null for
// operators); the caller fills in the task ids. Returns the number of clauses, or
// -1 with the position and the reason of the mistake.
int rota_condition_parse(const char *text, struct rota_clause *clauses, const char **names,
                         uint32_t *lengths, uint32_t max, uint32_t *place, const char **reason);

#ifdef __cplusplus
}
#endif
