// core.h - the state of the core, and which file may change which part.
//
// rows.h defines the rows, internal.h and object.h the functions shared between files, events.h the
// events. Row numbers are never visible outside this folder; row 0 means none. Files on_*.c handle
// events, place_*.c choose workers, all other files are named after what they manage and never call
// on_*.
#pragma once

#include "core/rows.h"

#include <assert.h>
#include <string.h>

// ---- The core ---------------------------------------------------------------

enum { HANDED = 4 };

struct rota {
    struct memory memory;
    struct rota_config config;
    rota_time now;
    uint64_t turn, sequence, random, plans;
    rota_time plan_start, plan_end;
    uint32_t plan_due;  // 0 nothing new, 1 updates, 2 submissions
    bool planned, plan_more, core_marked;
    bool starved, pull_more;  // a plan stopped, or a worker got no task, because memory ran out
    uint32_t next_job, next_wait;
    task_row handed[HANDED];  // handed out last; like `scout` a hint for prefetching
    task_row scout;           // in the queue, some places ahead of its head
    uint32_t handed_count, scout_clock, scout_lead;
    job_row last_job;       // found last, and likely to be looked up again
    uint32_t last_handler;  // the same for handlers
    const char *reason;
    struct rota_fault fault;  // of the last submission

    struct task *task;
    struct memory_block task_block;
    uint32_t *unmet;  // by task: number of dependencies not met; a separate array, to stay in cache
    uint32_t task_capacity, unmet_capacity;
    struct spans rows;
    uint32_t *link;  // dependents and dependencies
    uint32_t link_capacity;
    struct spans links;
    struct use *use;
    uint32_t use_capacity;
    struct spans uses;
    struct rota_clause *clause;  // task.job is the row of the task that the clause names
    uint32_t clause_capacity;
    struct spans clauses;

    struct pool extras, batches, jobs, bundles, lanes, groups, profiles, workers, objects, replicas,
        lates, offers, waits, handlers, tables;
    struct map job_by_id, job_by_key, lane_by_number, group_by_number, profile_by_hash,
        worker_by_id, object_by_id, bundle_of, late_of, handler_by_id, run_as, runs;

    // Lists of rows to look at again, processed in this order.
    struct look_list look_leaders, look_recalled, look_tasks, look_bundles, look_ready;
    job_row look_jobs, failing_jobs;
    worker_row unsettled;  // workers on which the overbooked attempts have to be found again
    wait_row look_waits;
    task_row placed_now;   // the task that became the next of its lane in turn `placed_turn`
    uint64_t placed_turn;
    lane_row look_lanes, look_strict;  // look_strict: strict lanes whose head may be admitted
    task_row orphans;                  // SHARED tasks whose leader is gone
    object_row changed_objects;
    task_row fresh_first, fresh_last;  // OFFERED under pull, not yet in a queue
    profile_row ready_claim, ready_plan;
    offer_row global_first, global_last;
    uint32_t plan_unplaced, plan_active;  // OFFERED and unfinished tasks under plan
    uint32_t tasks, edges;                // in use, checked against the limits
    uint32_t out, shared, fail_job_tasks, overbooked, asking, closing;
    uint32_t paused_jobs;  // number of paused jobs
    // tasks with a content key; largest number of inputs of a task so far
    uint32_t keyed, inputs_most;
    struct heap leases, phases;  // of silent workers; of tasks under pull, by extra row
    struct planned *planned_task;  // by task, after a plan arrived; not stored
    uint32_t planned_capacity;
    task_row due_first, due_last;        // bound and ready, not yet handed out
    task_row asks_ahead;                 // bound in this step
    object_row spread;                   // objects that bound consumers have to fetch
    struct heap backoffs;                // of tasks between two attempts
    uint32_t *room_cores, *room_memory;  // a tree of the largest free room
    uint32_t room_leaves, room_capacity;

    struct bits task_marks;  // rows whose record has to be written
    struct mark *marks;
    uint32_t mark_count, mark_taken, mark_capacity;
    struct rota_record *tombs;
    uint32_t tomb_count, tomb_taken, tomb_capacity;
    struct rota_action *actions;
    uint32_t action_count, action_capacity;
    struct rota_record *records;  // at most ROTA_RECORDS_MAX
    bool taken;                   // the caller has taken the actions
    struct text trace;
};

#define ROTA_RECORDS_MAX 1024

#define EXTRA(rota, row) (&((struct extra *)(rota)->extras.items)[row])
#define BATCH(rota, row) (&((struct batch *)(rota)->batches.items)[row])
#define JOB(rota, row) (&((struct job *)(rota)->jobs.items)[row])
#define LANE(rota, row) (&((struct lane *)(rota)->lanes.items)[row])
#define GROUP(rota, row) (&((struct group *)(rota)->groups.items)[row])
#define PROFILE(rota, row) (&((struct profile *)(rota)->profiles.items)[row])
#define WORKER(rota, row) (&((struct worker *)(rota)->workers.items)[row])
#define OBJECT(rota, row) (&((struct object *)(rota)->objects.items)[row])
#define REPLICA(rota, row) (&((struct replica *)(rota)->replicas.items)[row])
#define LATE(rota, row) (&((struct late *)(rota)->lates.items)[row])
#define OFFER(rota, row) (&((struct offer *)(rota)->offers.items)[row])
#define WAIT(rota, row) (&((struct wait *)(rota)->waits.items)[row])
#define HANDLER(rota, row) (&((struct handler *)(rota)->handlers.items)[row])
#define TABLE(rota, row) (&((struct table *)(rota)->tables.items)[row])
#define BUNDLE(rota, row) (&((struct bundle *)(rota)->bundles.items)[row])

// For asserts: the number of a row that may be in use; 0 means none.
#define IS_ROW(pool, row) ((row) > 0 && (row) < (pool).count)
#define IS_TASK(rota, row) ((row) > 0 && (row) < (rota)->task_capacity)

#include "core/list.h"
#include "core/internal.h"
#include "core/object.h"
#include "core/planned.h"
#include "core/shared_key.h"
#include "core/effect.h"
#include "core/events.h"
