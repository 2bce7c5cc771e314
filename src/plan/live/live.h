// live.h - plans for the jobs of a server: where their next tasks should run.
//
// The core alone places what is ready. A guide looks ahead: it knows the graphs of jobs whose
// tasks hand objects to each other, asks the core how far they are, plans what comes next
// (plan/plan.h) and says what has changed as placements for ROTA_EVENT_PLAN. It keeps no state of
// tasks or workers that the core has, so it cannot disagree with it, and it reads no clock: effort
// is counted in steps. Without memory the program ends.
#pragma once

#include "plan/plan.h"
#include "rota.h"

struct guide;

struct guide *guide_open(void);
void guide_close(struct guide *guide);  // null is fine

// ---- jobs.c: which jobs are planned, and their graphs -----------------------------------------

// Whether a submission is worth a plan: tasks of the policy plan that read what others make. So is
// one that adds to a job that is planned.
bool guide_wants(const struct guide *guide, const struct rota_job_spec *spec);
// The core has taken it; nothing of it need last. `names` are those of its tasks; null: they will
// be asked for.
void guide_submitted(struct guide *guide, rota_job_id job, const struct rota_job_spec *spec,
                     const char *const *names);
void guide_forget(struct guide *guide, rota_job_id job);
bool guide_knows(const struct guide *guide, rota_job_id job);

// ---- durations.c: how long tasks take, and how much they make -----------------------------------

// Tasks whose names differ in nothing but numbers are of a kind.
void guide_learn(struct guide *guide, const char *name, double seconds);
// A task has ended: how long it ran, and the bytes of so many objects that it made.
void guide_ended(struct guide *guide, rota_task_id task, double seconds, uint64_t bytes,
                 uint32_t objects);

// ---- plan.c: where tasks should go ------------------------------------------------------------

void guide_news(struct guide *guide);  // something happened that a plan might look at
rota_time guide_due(const struct guide *guide);  // when to plan; ROTA_NEVER: nothing is new

struct guide_view {
    const struct rota *rota;
    rota_time now;
    const rota_worker_id *workers;  // all that there are, in any state
    uint32_t worker_count;
    void *context;
    const char *(*name_of)(void *context, rota_task_id task);  // "": it has none
    // Tasks of a job that are to go elsewhere than was said before.
    void (*give)(void *context, rota_job_id job, const struct rota_placement *placements,
                 uint32_t count);
};

void guide_plan(struct guide *guide, const struct guide_view *view);

struct guide_sums {
    uint64_t plans, searches, planned, steps;  // planned: tasks, in all plans
};
struct guide_sums guide_sums(const struct guide *guide);

// What was said last of tasks that have not been handed out, by job and number: at most `max`, and
// how many there are.
struct guide_word {
    rota_task_id task;
    rota_worker_id worker;
};
uint32_t guide_words(const struct guide *guide, const struct rota *rota, struct guide_word *out,
                     uint32_t max);
