// planner_internal.h - internals of a planner: clocks of cores and ports while a plan is made.
#pragma once

#include "plan/plan.h"

struct planned_copy {
    uint32_t worker, next;  // next: of the same object, plus one
    double at;              // time of arrival
};

struct needed {  // an input of the task that is being placed
    uint32_t object, source;  // source: the worker that made it; PLAN_NONE: every worker has it
    double made, mib;
};

struct place {  // a candidate worker for a task
    uint32_t worker;
    double start, finish, cost, mib, idle_until;
};

struct planner_state {         // known before planning, and copied for each plan
    double *core_free;         // by core, those of a worker side by side, the earliest first
    double *send_free, *receive_free;
    double *made;              // by object
    uint32_t *where;           // by task: its worker; PLAN_NONE: none yet
    uint32_t *copy_of;         // by object: the first, plus one
    uint32_t copy_count;
};

struct family {      // task_groups.c; null: not computed
    uint32_t *of;    // by task: another task of its family, finally its representative
    double *work;    // by representative: core seconds of the family
    uint32_t *home;  // by representative: its worker; PLAN_NONE: none yet
    double *load;    // by worker: sum of its families
};

struct planner {
    const struct plan_graph *graph;
    const struct plan_cluster *cluster;
    struct planner_state before, now;
    uint8_t *stage;            // enum plan_stage
    uint32_t *bound;           // by task: the worker it is bound to; PLAN_NONE: none
    uint8_t *times;            // by task: factor of its loyalty
    struct planned_copy *copies;
    uint32_t copy_capacity;
    uint32_t *core_first;      // by worker, and one more
    uint32_t core_count, cores_most;
    uint32_t *lacks;           // by task: producers without a worker
    struct plan_key *keys;     // by task: ranks
    struct plan_queue ready;
    double *rank;
    double loyalty;            // seconds a task must gain before it moves
    struct needed *needed;
    uint32_t needed_count, needed_capacity;
    double *held;  // by worker: MiB of the inputs, for workers in holders[]
    uint32_t *holders, holder_count;
    uint32_t *tree, leaves;    // a tournament tree: the worker whose core is free first
    double *starts;            // by task
    uint32_t *home;            // by task: worker of its first planned input; PLAN_NONE: none
    double *inbound;           // by worker: when all outputs planned to go there have arrived
    struct family families;
    uint64_t steps, planned;
    uint64_t random;
};

static inline double *planner_cores(const struct planner *planner, uint32_t worker)
{
    return planner->now.core_free + planner->core_first[worker];
}

static inline uint32_t planner_workers(const struct planner *planner, const struct plan_rule *rule)
{
    uint32_t all = planner->cluster->worker_count;
    return rule->part > 1 ? (all + rule->part - 1) / rule->part : all;
}

void planner_begin(struct planner *planner, const struct plan_rule *rule);
void planner_need(struct planner *planner, uint32_t task);  // lists its inputs, the oldest first
struct place planner_try(const struct planner *planner, const struct plan_rule *rule, uint32_t task,
                         uint32_t worker);
void planner_commit(struct planner *planner, const struct plan_rule *rule, uint32_t task,
                    const struct place *place);
void planner_release_users(struct planner *planner, uint32_t task);  // its outputs have a worker
void planner_push(struct planner *planner, uint32_t task);
uint32_t tree_second(const struct planner *planner);

void family_begin(struct planner *planner);
uint32_t family_home(struct planner *planner, uint32_t task);  // PLAN_NONE: none is large enough
void family_release(struct planner *planner);

uint32_t greedy_plan(struct planner *planner, const struct plan_rule *rule,
                     struct plan_schedule *schedule, uint32_t tasks_max, double *end);
