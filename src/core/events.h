// events.h - how events come in: submissions on their way, and one function for each event.
#pragma once

// ---- submit_*.c, job_remove.c: how rows come and go ----------------------------------

// A submission on its way in: what it needs is found, counted and reserved before anything
// changes. The arrays are indexed by new task, from 0.
struct intake {
    const struct rota_job_spec *spec;
    job_row job;             // 0: a new one
    uint32_t job_id, first;  // number of the first new task
    enum rota_policy policy;
    uint32_t inner;  // edges between new tasks
    uint32_t extras, groups, profiles, lates, objects, bundles, uses;
    uint32_t staged;         // objects of the submission that have a row already
    uint32_t groups_staged;  // groups that are in the map and have no row yet
    uint32_t lane_number;    // looked up last, with its row
    lane_row lane;
    bool sorted;                          // every need goes to a larger number
    bool keys, members, idle, estimates;  // some task has a key, is in a bundle, starts idle, ...
    bool plain;                           // new tasks with edges among themselves, and nothing else
    bool apart;                  // they may have lanes too, but none looks at what another is
    bool unconditional;          // restored and closed: conditions do not count any more
    uint32_t *after, *before;    // counts, then ends of the lists of edges
    uint32_t *inputs, *outputs;  // the same for objects; null when there are none
    uint32_t *order;             // topological; null when the numbers are one
    uint32_t capacity[5];
    task_row row;                // of the first new task
    uint32_t link, use, clause;  // where its spans begin
};

// Who needs whom, written out: `before` and `after` are indices of new tasks, or `before` the
// row of an old one.
struct submit_pairs {
    struct rota_edge *items;
    uint32_t count, capacity;
};

// One more task of a circle, in which each waits for the next.
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
batch_row submit_rows(struct rota *rota, struct intake *intake);  // all but states
void submit_rank(struct rota *rota, const struct intake *intake);
job_row submit_job(struct rota *rota, const struct intake *intake);
enum { GROUP_STAGED = UINT32_MAX };  // in the map of groups, until it gets its row
lane_row submit_lane(const struct rota *rota, struct intake *intake, uint32_t number);
struct wants submit_wants(const struct intake *intake, const struct rota_task_spec *task);
bool submit_needs_extra(const struct intake *intake, uint32_t index);
void remove_conditions(struct rota *rota, job_row own);
void remove_job(struct rota *rota, job_row row);

// ---- on_*.c: what can happen -------------------------------------------------------

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
