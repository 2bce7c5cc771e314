// live.h - plans for the jobs of a server: where their next tasks should run.
//
// The core alone places ready tasks. The live planner looks ahead: it knows the graphs of jobs
// whose tasks exchange objects, asks the core for their progress, plans the next tasks
// (plan/plan.h), and reports changes as placements for ROTA_EVENT_PLAN. It keeps no state of tasks
// or workers that the core has, so it cannot disagree with the core. It reads no clock: effort is
// counted in steps. If memory runs out, the program ends.
#pragma once

#include "plan/plan.h"
#include "rota.h"

struct live;

struct live *live_open(void);
void live_close(struct live *live);  // null is allowed

// ---- jobs.c: which jobs are planned, and their graphs -----------------------------------------

// Whether a submission is worth planning: its tasks have the policy plan and read outputs of
// others, or it extends a job that is planned.
bool live_wants(const struct live *live, const struct rota_job_spec *spec);
// The core has accepted the submission; `spec` need not outlive the call. `names` are the names of
// its tasks; null: they are asked for later.
void live_submitted(struct live *live, rota_job_id job, const struct rota_job_spec *spec,
                     const char *const *names);
void live_forget(struct live *live, rota_job_id job);
bool live_knows(const struct live *live, rota_job_id job);

// ---- durations.c: estimated durations and sizes ---------------------------------------------

// Tasks whose names differ only in numbers are of the same kind.
void live_learn(struct live *live, const char *name, double seconds);
// A task has ended: its duration, and the sizes of `count` objects that it made.
void live_ended(struct live *live, rota_task_id task, double seconds, uint64_t bytes,
                 uint32_t objects);

// ---- plan.c: where tasks should run ---------------------------------------------------------

void live_news(struct live *live);            // something happened that may change the plan
rota_time live_due(const struct live *live);  // when to plan; ROTA_NEVER: nothing has changed

struct live_view {
    const struct rota *rota;
    rota_time now;
    const rota_worker_id *workers;  // all workers, in any state
    uint32_t worker_count;
    void *context;
    const char *(*name_of)(void *context, rota_task_id task);  // "": it has none
    // Tasks of a job whose planned worker has changed.
    void (*give)(void *context, rota_job_id job, const struct rota_placement *placements,
                 uint32_t count);
};

void live_plan(struct live *live, const struct live_view *view);

struct live_sums {
    uint64_t plans, searches, planned, steps;  // planned: tasks, in all plans
};
struct live_sums live_sums(const struct live *live);

// The last plan for tasks that have not been handed out, by job and number: writes at most `max`,
// and returns how many there are.
struct live_word {
    rota_task_id task;
    rota_worker_id worker;
};
uint32_t live_words(const struct live *live, const struct rota *rota, struct live_word *out,
                     uint32_t max);
