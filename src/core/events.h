// events.h - one function for each event, and the steps of a submission.
#pragma once

// ---- submit_*.c, job_remove.c: adding and removing rows -------------------------------------

// A submission while it is processed: all it needs is found, counted and reserved before anything
// changes. The arrays are indexed by new task, from 0.
struct intake {
    const struct rota_job_spec *spec;
    job_row job;             // 0: a new one
    uint32_t job_id, first;  // number of the first new task
    enum rota_policy policy;
    uint32_t inner;  // edges between new tasks
    uint32_t extras, groups, profiles, lates, objects, bundles, uses;
    uint32_t staged;         // objects of the submission that already have a row
    uint32_t groups_staged;  // groups that are in the map but have no row yet
    uint32_t lane_number;    // looked up last, with its row
    lane_row lane;
    bool sorted;  // every edge goes to a larger number
    // some task has a key, is in a bundle, starts idle, has an estimate
    bool keys, members, idle, estimates;
    bool plain;  // new tasks that have only edges among themselves
    // as plain, but also with lanes; no task depends on the state of another but by edges
    bool apart;
    bool unconditional;          // restored and closed: conditions no longer apply
    uint32_t *after, *before;    // counts, then ends of the lists of edges
    uint32_t *inputs, *outputs;  // the same for objects; null without objects
    uint32_t *order;             // topological; null if the task numbers are in that order already
    uint32_t capacity[5];
    task_row row;                // of the first new task
    uint32_t link, use, clause;  // first free place for its links, uses and clauses
};

// Edges as pairs: `before` and `after` are indices of new tasks, or `before` is the row of an old
// task.
struct submit_pairs {
    struct rota_edge *items;
    uint32_t count, capacity;
};

// Adds a task to the reported cycle, in which each task waits for the next.
void submit_cycle_add(struct rota *rota, const struct intake *intake, rota_task_id task);
enum rota_error submit_old_bundles(struct rota *rota, const struct intake *intake,
                                   const struct submit_pairs *inner,
                                   const struct submit_pairs *outer);
// The same as refuse(), for one of the tasks of the submission.
enum rota_error submit_refuse(struct rota *rota, uint32_t number, enum rota_error error,
                              const char *reason);
enum rota_error submit_verify(struct rota *rota, struct intake *intake);
enum rota_error submit_order(struct rota *rota, struct intake *intake);  // refuses cycles
enum rota_error submit_reserve(struct rota *rota, struct intake *intake);
enum rota_error submit_stage_objects(struct rota *rota, struct intake *intake);
void submit_unstage(struct rota *rota, struct intake *intake);
void submit_release(struct rota *rota, struct intake *intake);
batch_row submit_rows(struct rota *rota, struct intake *intake);  // everything except states
void submit_rank(struct rota *rota, const struct intake *intake);
job_row submit_job(struct rota *rota, const struct intake *intake);
enum { GROUP_STAGED = UINT32_MAX };  // in the map of groups, until the group gets its row
lane_row submit_lane(const struct rota *rota, struct intake *intake, uint32_t number);
struct wants submit_wants(const struct intake *intake, const struct rota_task_spec *task);
bool submit_needs_extra(const struct intake *intake, uint32_t index);
void remove_conditions(struct rota *rota, job_row own);
void remove_job(struct rota *rota, job_row row);

// ---- on_*.c: events -------------------------------------------------------------------------

// ---- core.c

void core_reset(struct rota *rota);
enum rota_error refuse(struct rota *rota, enum rota_error error, const char *reason);

enum rota_error on_restore(struct rota *rota, const struct rota_event *event);
enum rota_error on_submit(struct rota *rota, const struct rota_event *event);
enum rota_error on_close(struct rota *rota, const struct rota_event *event);
enum rota_error on_client_left(struct rota *rota, const struct rota_event *event);
enum rota_error on_cancel(struct rota *rota, const struct rota_event *event);
enum rota_error on_retry(struct rota *rota, const struct rota_event *event);
enum rota_error on_stage(struct rota *rota, const struct rota_event *event);
enum rota_error on_manual(struct rota *rota, const struct rota_event *event);
enum rota_error on_keep(struct rota *rota, const struct rota_event *event);
enum rota_error on_release(struct rota *rota, const struct rota_event *event);
enum rota_error on_read(struct rota *rota, const struct rota_event *event);
enum rota_error on_wait(struct rota *rota, const struct rota_event *event);
enum rota_error on_lane(struct rota *rota, const struct rota_event *event);
enum rota_error on_worker_joined(struct rota *rota, const struct rota_event *event);
enum rota_error on_worker_heard(struct rota *rota, const struct rota_event *event);
enum rota_error on_worker_silent(struct rota *rota, const struct rota_event *event);
enum rota_error on_worker_left(struct rota *rota, const struct rota_event *event);
enum rota_error on_worker_asks(struct rota *rota, const struct rota_event *event);
enum rota_error on_claim(struct rota *rota, const struct rota_event *event);
enum rota_error on_claim_started(struct rota *rota, const struct rota_event *event);
enum rota_error on_deliver(struct rota *rota, const struct rota_event *event);
enum rota_error on_fail(struct rota *rota, const struct rota_event *event);
enum rota_error on_task_started(struct rota *rota, const struct rota_event *event);
enum rota_error on_task_finished(struct rota *rota, const struct rota_event *event);
enum rota_error on_key_completed(struct rota *rota, const struct rota_event *event);
enum rota_error on_object_held(struct rota *rota, const struct rota_event *event);
enum rota_error on_object_lost(struct rota *rota, const struct rota_event *event);
enum rota_error on_held_all(struct rota *rota, const struct rota_event *event);
enum rota_error on_streamed(struct rota *rota, const struct rota_event *event);
enum rota_error on_plan(struct rota *rota, const struct rota_event *event);
enum rota_error on_time(struct rota *rota, const struct rota_event *event);
enum rota_error on_pause(struct rota *rota, const struct rota_event *event);  // and RESUME
