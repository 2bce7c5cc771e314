// internal.h - internals of the live planner.
#pragma once

#include "plan/live/live.h"
#include "base/base.h"

// Edges and uses as they were submitted, one submission after the other.
struct live_raw {
    struct live_made {
        uint32_t task;
        rota_object_id object;
        uint64_t bytes;
    } * outputs;
    struct live_read {
        uint32_t task, before;  // before: the task it depends on; 0: an object
        rota_object_id object;
    } * needs;
    uint32_t output_count, output_capacity, need_count, need_capacity;
};

struct live_task {
    double stated;         // seconds, as submitted; 0: unknown
    rota_time began;       // when it was first seen running; 0: never
    uint32_t cores, kind;  // kind: 0: not determined yet
    uint32_t bound;        // the worker it was last planned on; 0: none
    uint32_t place;        // in the window, or PLAN_NONE
    bool is_open;          // it may run on any worker
};

struct live_object {
    rota_object_id id;  // zero: represents only the end of its task
    uint64_t bytes;     // as submitted; 0: unknown
    uint32_t place;     // in the window, or PLAN_NONE
};

struct live_job {
    rota_job_id id;
    struct live_raw raw;
    struct live_task *tasks;
    uint32_t task_count, task_capacity;
    struct plan_graph graph;  // of all submissions, without times and sizes
    struct live_object *objects;
    bool is_stale;  // there were submissions since the graph was built
    uint32_t from;  // sorted[0 ... from) have ended
};

struct live_kind {
    double seconds, mib;  // sums over tasks that ended
    uint64_t ends, objects;
};

struct live {
    struct map jobs_by_id;  // index + 1
    struct live_job **jobs;
    uint32_t job_count, job_capacity;
    struct map kinds_by_hash;  // index; kind 0 means none, and holds the sum of all
    struct live_kind *kinds;
    uint32_t kind_count, kind_capacity;
    struct plan_rule rule;  // the best one of the last search
    uint32_t rule_plans;    // plans since that search
    uint32_t rule_next;     // the next one to try
    uint32_t rule_workers;  // number of workers at that search
    bool has_news;
    rota_time plan_next;
    struct live_sums sums;
};

void *live_grow(void *items, uint32_t *capacity, uint64_t count, size_t size);

struct live_job *live_job_find(const struct live *live, rota_job_id id);
void live_job_settle(struct live_job *job);  // updates the graph after submissions

uint32_t live_kind_of(struct live *live, const char *name);
double live_seconds(const struct live *live, const struct live_task *task);
double live_mib(const struct live *live, const struct live_task *maker);  // size of an object

// ---- window.c: the tasks that a plan considers, and their state -----------------------------

struct live_row {  // a task of the window
    struct live_job *job;
    uint32_t task;
    struct rota_task_view look;
};

struct live_copy {
    uint32_t object, worker;
    bool is_there;
};

struct window {
    const struct live_view *view;
    struct live *live;
    struct plan_cluster cluster;
    uint32_t *cores;           // by worker
    rota_worker_id *workers;
    uint32_t *foreign;  // by worker: cores taken by other tasks
    uint64_t core_count;
    struct map worker_places;  // index + 1
    struct live_row *rows;
    uint32_t row_count, row_max;
    struct plan_graph graph;  // rows first, then producers of existing objects
    uint32_t *source;         // by task after the rows: the worker that has its object
    struct live_copy *copies;
    uint32_t copy_count, copy_capacity;
};

// False: there is nothing to plan. Release the window in either case.
bool window_open(struct window *window, struct live *live, const struct live_view *view);
void window_release(struct window *window);
uint32_t window_worker(const struct window *window, rota_worker_id id);  // or PLAN_NONE
bool window_runs(const struct window *window, uint32_t row);
