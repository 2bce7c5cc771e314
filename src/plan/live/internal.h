// internal.h - the inside of a guide.
#pragma once

#include "plan/live/live.h"

// As they were submitted, one submission behind the other.
struct guide_raw {
    struct guide_made {
        uint32_t task;
        rota_object_id object;
        uint64_t bytes;
    } * outputs;
    struct guide_read {
        uint32_t task, before;  // before: the task it needs; 0: an object
        rota_object_id object;
    } * needs;
    uint32_t output_count, output_capacity, need_count, need_capacity;
};

struct guide_task {
    double stated;    // seconds, as submitted; 0: nothing was said
    rota_time began;  // when it was first seen to run; 0: it was not
    uint32_t cores, kind;  // kind: 0: not looked up
    uint32_t bound;   // the worker that was said last; 0: none
    uint32_t place;   // in the window; PLAN_NONE
    bool is_open;     // it may go anywhere
};

struct guide_object {
    rota_object_id id;  // none: only that its task has ended
    uint64_t bytes;     // as submitted; 0: nothing was said
    uint32_t place;     // in the window; PLAN_NONE
};

struct guide_job {
    rota_job_id id;
    struct guide_raw raw;
    struct guide_task *tasks;
    uint32_t task_count, task_capacity;
    struct plan_graph graph;  // of all of it, without times and sizes
    struct guide_object *objects;
    bool is_stale;            // the graph is older than what was submitted
    uint32_t from;            // sorted[0 ... from) are over
};

struct guide_kind {
    double seconds, mib;  // of those that ended, together
    uint64_t ends, objects;
};

struct guide {
    struct map jobs_by_id;  // index + 1
    struct guide_job **jobs;
    uint32_t job_count, job_capacity;
    struct map kinds_by_hash;  // index; 0 is none, and the sum of all
    struct guide_kind *kinds;
    uint32_t kind_count, kind_capacity;
    struct plan_rule rule;     // that was best when it was last looked for
    uint32_t rule_plans;       // since then
    uint32_t rule_next;        // that is tried
    uint32_t rule_workers;     // for so many it was
    bool has_news;
    rota_time plan_next;
    struct guide_sums sums;
};

void *guide_grow(void *items, uint32_t *capacity, uint64_t count, size_t size);

struct guide_job *guide_job_find(const struct guide *guide, rota_job_id id);
void guide_job_settle(struct guide_job *job);  // the graph is as new as what was submitted

uint32_t guide_kind_of(struct guide *guide, const char *name);
double guide_seconds(const struct guide *guide, const struct guide_task *task);
double guide_mib(const struct guide *guide, const struct guide_task *maker);  // of an object

// ---- window.c: the tasks that a plan looks at, and what is known of them ----------------------

struct guide_row {  // a task of the window
    struct guide_job *job;
    uint32_t task;
    struct rota_task_view look;
};

struct guide_copy {
    uint32_t object, worker;
    bool is_there;
};

struct window {
    const struct guide_view *view;
    struct guide *guide;
    struct plan_cluster cluster;
    uint32_t *cores;           // by worker
    rota_worker_id *workers;
    uint32_t *foreign;         // by worker: cores that are taken by others
    uint32_t core_count;
    struct map worker_places;  // index + 1
    struct guide_row *rows;
    uint32_t row_count, row_max;
    struct plan_graph graph;   // rows first, then who made what is there already
    uint32_t *source;          // by task behind the rows: the worker that has its object
    struct guide_copy *copies;
    uint32_t copy_count, copy_capacity;
};

// False: there is nothing to plan. Release it in either case.
bool window_open(struct window *window, struct guide *guide, const struct guide_view *view);
void window_release(struct window *window);
uint32_t window_worker(const struct window *window, rota_worker_id id);  // PLAN_NONE
bool window_runs(const struct window *window, uint32_t row);
