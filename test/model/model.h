// model.h - a naive scheduler that predicts what the core must do, with arrays and loops, computing
// everything again each time.
//
// It shares only the names of rota.h with the core. Where the core may choose (which worker gets
// which task) the model reads the choice from the actions and checks whether it was legal.
#pragma once

#include "rota.h"

enum {
    MODEL_TASKS = 256,
    MODEL_JOBS = 24,
    MODEL_EDGES = 2048,
    MODEL_INPUTS = 512,
    MODEL_OBJECTS = 256,
    MODEL_WORKERS = 16,
    MODEL_LANES = 8,
    MODEL_WAITS = 64,
    MODEL_WAIT_TASKS = 48,
    MODEL_CLAUSES = 16,
    MODEL_ACTIONS = 2048,
    MODEL_HINTS = 1024
};

#define MODEL_OPTIONAL UINT32_MAX  // in an expected action: it may be missing

enum model_verdict {
    MODEL_REFUSE,
    MODEL_ACCEPT,
    MODEL_EITHER,  // the specification does not say; nothing may change
};

enum model_phase { MODEL_NEAR, MODEL_INPUT, MODEL_GLOBAL };  // of a pull task that is OFFERED

struct model_task {
    rota_task_id id;
    uint64_t sequence;           // order of submission
    enum rota_task_state state;  // its real state, also while it runs again
    bool discarded;  // stopping: a writer of what it reads failed, and it runs again
    bool regenerating, stopping, bypasses, keeps_place, staged, claimed, settled, placed, fresh;
    bool leads;  // it runs, or will run, for all tasks with its key
    uint32_t attempt, tries;
    uint32_t attempt_before;  // when it was last compared
    rota_worker_id worker;
    uint64_t handler;
    rota_task_id run_as, leader;
    uint64_t asked;            // the turn in which it asked for its lane
    rota_time since;           // when its phase began
    enum model_phase phase;
    enum rota_outcome outcome;
    struct rota_task_spec spec;
    struct rota_clause clauses[MODEL_CLAUSES];
};

struct model_edge {
    uint32_t job, before, after;
};
struct model_input {
    uint32_t job, task, flags;
    rota_object_id object;
};

struct model_object {
    rota_object_id id;
    uint32_t job, producer;  // job 0: an artifact, known only by its content key
    uint32_t flags;
    uint64_t bytes;
    enum rota_object_state state;
    bool kept, server, unused;  // unused: an upload without a consumer so far
    uint32_t located;           // bit w: worker w holds it
    bool read;                  // a client waits for it
    bool early;                 // reported while its producer ran, which has not succeeded since
    uint32_t rest;              // bit w: worker w holds the rest of a stream
    uint32_t told_lost;         // bit w: worker w lost it, in this turn
    uint32_t told_held;         // bit w: worker w reported it, in this turn
    bool told_release;          // its client released it, in this turn
};

struct model_worker {
    rota_worker_id id;
    uint32_t cores, memory_mib, slots, machine, asks;
    bool silent;
    rota_time silent_since;
};

struct model_lane {
    uint32_t number, flags;
    rota_time patience;
};

struct model_job {
    uint32_t number;
    uint64_t client, key;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    enum rota_job_state state;
    bool failing;  // fail_job is to be carried out
};

struct model_wait {
    uint64_t client;
    enum rota_wait_mode mode;
    rota_task_id tasks[MODEL_WAIT_TASKS];
    uint32_t count;
};

struct model {
    struct rota_config config;
    rota_time now;
    uint64_t turn, sequence;
    uint32_t jobs_made;
    uint32_t task_count, job_count, edge_count, input_count, object_count, worker_count;
    uint32_t lane_count, wait_count, action_count;
    struct model_task tasks[MODEL_TASKS];
    struct model_job jobs[MODEL_JOBS];
    struct model_edge edges[MODEL_EDGES];
    struct model_input inputs[MODEL_INPUTS];
    struct model_object objects[MODEL_OBJECTS];
    struct model_worker workers[MODEL_WORKERS];
    struct model_lane lanes[MODEL_LANES];
    struct model_wait waits[MODEL_WAITS];
    struct rota_action actions[MODEL_ACTIONS];  // expected since the last take
    uint16_t task_hints[MODEL_HINTS];    // by a hash of the id: where it was found last
    uint16_t object_hints[MODEL_HINTS];  // the same
    const struct rota *core;      // asked for the leader, where that is not specified
    const char *difference_kind;  // the same for the same kind of difference
    char difference[512];         // the first difference; "": core and model agree
};

// ---- model.c: finding things, and the step ----------------------------------

void model_open(struct model *model, const struct rota_config *config);
enum model_verdict model_step(struct model *model, const struct rota_event *event);
void model_differs(struct model *model, const char *format, ...);

static inline bool model_same_task(rota_task_id a, rota_task_id b)
{
    return a.job == b.job && a.task == b.task;
}

static inline bool model_same_object(rota_object_id a, rota_object_id b)
{
    return a.high == b.high && a.low == b.low;
}

static inline bool model_is_no_object(rota_object_id id)
{
    return id.high == 0 && id.low == 0;
}

struct model_task *model_task_search(struct model *model, rota_task_id id, uint16_t *hint);

static inline struct model_task *model_task_find(struct model *model, rota_task_id id)
{
    uint16_t *hint = &model->task_hints[(id.job * 64 + id.task) % MODEL_HINTS];
    bool there = *hint < model->task_count && model_same_task(model->tasks[*hint].id, id);
    return there ? &model->tasks[*hint] : model_task_search(model, id, hint);
}

struct model_job *model_job_find(struct model *model, uint32_t number);
struct model_object *model_object_find(struct model *model, rota_object_id id);
struct model_worker *model_worker_find(struct model *model, rota_worker_id id);
struct model_lane *model_lane_find(struct model *model, uint32_t number);
void model_add_action(struct model *model, struct rota_action action);

// ---- model_state.c: what follows from the state ------------------------------

bool model_state_is_over(enum rota_task_state state);
bool model_state_is_active(enum rota_task_state state);  // QUEUED ... RUNNING
enum rota_task_state model_shown(struct model *model, const struct model_task *task);
enum rota_task_state model_sum(struct model *model, uint32_t job, uint32_t bundle);
bool model_condition_holds(struct model *model, const struct model_task *task);
bool model_condition_possible(struct model *model, const struct model_task *task);
bool model_edges_met(struct model *model, const struct model_task *task);
bool model_inputs_met(struct model *model, const struct model_task *task);
bool model_is_dead(struct model *model, const struct model_task *task);
bool model_failure_after(struct model *model, const struct model_task *task);
bool model_object_present(struct model *model, const struct model_object *object);
bool model_object_counts(struct model *model, const struct model_object *object);
struct model_task *model_producer(struct model *model, const struct model_object *object);
bool model_is_pull(struct model *model, const struct model_task *task);
bool model_keeps_lane(const struct model *model, const struct model_task *task);
enum rota_policy model_policy(struct model *model, const struct model_task *task);

static inline bool model_is_on_worker(const struct model_task *task)
{
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    return out && !task->claimed;
}

// ---- model_settle.c: after every event ---------------------------------------

void model_settle(struct model *model);
void model_streams_renew(struct model *model, const struct model_task *task);
void model_streams_in_vain(struct model *model, const struct model_task *task);
bool model_streams_give_up(struct model *model, const struct model_task *task);
void model_streams_failed(struct model *model, const struct model_task *task);
bool model_streams_lost_reader(struct model *model, const struct model_task *task);
bool model_job_is_named(struct model *model, uint32_t job);

// ---- model_job.c: waits -------------------------------------------------------------------------

void model_wait_tell(struct model *model, const struct model_wait *wait, bool all, bool optional);
void model_waits_tell(struct model *model);  // what is due

// ---- model_lane.c: admission, order, and shared executions --------------------------------------

void model_ready_leave(struct model *model);
bool model_comes_before(const struct model_lane *lane, const struct model_task *a,
                        const struct model_task *b);
void model_share(struct model *model);
struct model_task *model_leader_find(struct model *model, const struct model_task *task);
bool model_lane_is_open(struct model *model, const struct model_task *task);
bool model_is_after_a_waiting_one(struct model *model, const struct model_task *task);
bool model_lane_head_reserves(struct model *model, const struct model_lane *lane,
                              const struct model_task *task);

// ---- model_task.c: what happens to a task -------------------------------------

void model_task_end(struct model *model, struct model_task *task, enum rota_task_state state,
                    enum rota_outcome outcome, int32_t status);
void model_task_fail_attempt(struct model *model, struct model_task *task,
                             enum rota_outcome outcome, int32_t status);
void model_task_lose(struct model *model, struct model_task *task);
bool model_task_is_discarded(struct model *model, struct model_task *task);  // it runs again
void model_task_queue(struct model *model, struct model_task *task);
bool model_task_cancel(struct model *model, struct model_task *task);
void model_task_release(struct model *model, struct model_task *leader);
void model_task_hand_over(struct model *model, struct model_task *leader);
void model_task_begin(struct model *model, struct model_task *task);
void model_task_leave_worker(struct model_task *task);
void model_task_stop(struct model *model, const struct model_task *task);
void model_grant(struct model *model, struct model_task *task, uint64_t handler);
void model_job_cancel(struct model *model, uint32_t job);

enum model_verdict model_on_cancel(struct model *model, const struct rota_event *event);
enum model_verdict model_on_retry(struct model *model, const struct rota_event *event);
enum model_verdict model_on_stage(struct model *model, const struct rota_event *event);
enum model_verdict model_on_manual(struct model *model, const struct rota_event *event);
enum model_verdict model_on_claim(struct model *model, const struct rota_event *event);
enum model_verdict model_on_deliver(struct model *model, const struct rota_event *event);
enum model_verdict model_on_close(struct model *model, const struct rota_event *event);
enum model_verdict model_on_client_left(struct model *model, const struct rota_event *event);
enum model_verdict model_on_wait(struct model *model, const struct rota_event *event);

// ---- model_submit.c -----------------------------------------------------------

enum model_verdict model_on_submit(struct model *model, const struct rota_event *event);

// ---- model_worker.c: workers, their reports, objects ---------------------------

enum model_verdict model_on_worker(struct model *model, const struct rota_event *event);
enum model_verdict model_on_asks(struct model *model, const struct rota_event *event);
struct model_task *model_attempt_find(struct model *model, rota_worker_id worker,
                                      rota_task_id run_as, uint32_t attempt);
enum model_verdict model_on_report(struct model *model, const struct rota_event *event);
enum model_verdict model_on_completed(struct model *model, const struct rota_event *event);
enum model_verdict model_on_replica(struct model *model, const struct rota_event *event);
enum model_verdict model_on_object(struct model *model, const struct rota_event *event);
void model_worker_forget(struct model *model, uint32_t index);
void model_attempts_lose(struct model *model);
void model_outputs_finish(struct model *model, const struct model_task *task,
                          rota_worker_id worker);

// ---- model_time.c: what the core may choose -------------------------------------

void model_time(struct model *model, rota_time now);  // ends leases and waits
void model_phases_move(struct model *model);          // ends waits of pull
void model_judge_run(struct model *model, const struct rota_action *action);
// No more tasks could be given out.
void model_judge_waiting(struct model *model, bool plans_at_once);
bool model_fits(struct model *model, const struct model_task *task,
                const struct model_worker *worker);
bool model_is_first_of_lane(struct model *model, const struct model_task *task);
bool model_near(struct model *model, const struct model_task *task, rota_worker_id worker);
bool model_has_input_on(struct model *model, const struct model_task *task, rota_worker_id worker);
uint32_t model_cores_used(struct model *model, rota_worker_id worker);
uint32_t model_memory_used(struct model *model, rota_worker_id worker);
uint32_t model_tasks_on(struct model *model, rota_worker_id worker);

// ---- model_view.c and model_compare.c: everything that can be queried ---------------------------

uint32_t model_lists(struct model *model, const struct model_task *task);  // bit l: it is in list l
bool model_is_in_queues(struct model *model, const struct model_task *task);
bool model_in_queue(struct model *model, const struct model_task *task, enum rota_list list,
                    rota_worker_id worker);  // only of those in queues
uint32_t model_blockers(struct model *model, const struct model_task *task, rota_task_id *out);
bool model_is_blocked(struct model *model, const struct model_task *task);
const char *model_status(enum rota_task_state state);
uint32_t model_located_in(const struct rota *rota, rota_object_id id);  // bit w: worker w
void model_compare(struct model *model, const struct rota *rota);
void model_compare_turn(struct model *model, const struct rota *rota);  // what TIME has settled
void model_compare_actions(struct model *model, const struct rota_effects *effects);
