// internal.h - functions shared between the files of the core, in reading order.
#pragma once

// ---- task.c: tasks; the only file that changes a state --------------------------------------

enum task_cause {
    CAUSE_DEFINED,
    CAUSE_STAGED,
    CAUSE_ADMITTED,
    CAUSE_UNMET,
    CAUSE_DOOMED,
    CAUSE_MET,
    CAUSE_HELD,
    CAUSE_OFFERED,
    CAUSE_SHARED,
    CAUSE_ASSIGNED,
    CAUSE_STARTED,
    CAUSE_CLAIMED,
    CAUSE_RETURNED,
    CAUSE_SUCCEEDED,
    CAUSE_FAILED,
    CAUSE_ABORTED,
    CAUSE_RESET,
    CAUSE_FROZEN,
    CAUSE_AGAIN,
    CAUSE_NOT_REMADE,
    TASK_CAUSES
};

void task_move(struct rota *rota, task_row row, enum task_cause cause);
void task_restore(struct rota *rota, task_row row, enum rota_task_state state, uint16_t flags);
void task_begin_waiting(struct task *task);  // a new task, counted with its submission:
void task_count_begun(struct rota *rota, job_row job, uint32_t tasks);
struct task_look {  // how the job counts the task; `view`: enum need, as its dependents see it
    uint8_t class, view;
};
extern const struct task_look task_looks[ROTA_TASK_STATES];
struct task_look task_look_special(const struct task *task);
static inline struct task_look task_look(const struct task *task)
{
    bool special = task->flags & (TASK_AGAIN | TASK_UNFAILED);
    return special ? task_look_special(task) : task_looks[task->state];
}
static inline enum task_class task_class(const struct task *task)
{
    return (enum task_class)task_look(task).class;
}
// as other tasks and users see it
static inline enum rota_task_state task_shown(const struct task *task)
{
    return task->flags & TASK_AGAIN ? ROTA_TASK_SUCCEEDED : (enum rota_task_state)task->state;
}
bool task_is_over(const struct task *task);    // SUCCEEDED, FAILED or ABORTED, as shown
bool task_is_inside(const struct task *task);  // counts in its lane
bool task_is_starting(const struct task *task);  // admitted to its lane, and not yet running
static inline rota_task_id task_id(const struct rota *rota, task_row row)
{
    if (!row) return (rota_task_id){0, 0};
    const struct batch *batch = BATCH(rota, rota->task[row].batch);
    return (rota_task_id){batch->job_id, batch->number + (row - batch->first)};
}
task_row task_find(const struct rota *rota, rota_task_id id);
static inline bool task_older(const struct rota *rota, task_row a, task_row b)  // submitted earlier
{
    batch_row one = rota->task[a].batch, other = rota->task[b].batch;
    if (one == other) return a < b;
    return BATCH(rota, one)->sequence < BATCH(rota, other)->sequence;
}
static inline job_row task_job(const struct rota *rota, task_row row)
{
    return BATCH(rota, rota->task[row].batch)->job;
}
// all zero if it has none
static inline struct extra *task_extra(const struct rota *rota, task_row row)
{
    return EXTRA(rota, rota->task[row].extra);
}
enum rota_policy task_policy(const struct rota *rota, task_row row);

// ---- graph.c: dependencies between tasks ----------------------------------------------------

enum need { NEED_MET = 1, NEED_DEAD = 2, NEED_REAL = 4 };  // REAL: DEAD because of a failure

static inline uint32_t graph_view(const struct task *task)  // how dependents see the task
{
    return task_look(task).view;
}
void graph_tell(struct rota *rota, task_row row, uint32_t before, uint32_t after);
void graph_need(struct rota *rota, task_row row, uint32_t before, uint32_t after);
void graph_look_at(struct rota *rota, task_row row);
void graph_settle_bundles(struct rota *rota);  // before conditions that name a bundle
// so that no task joins an execution that loses its attempt
void graph_settle_leaders(struct rota *rota);
static inline bool graph_is_unsettled(const struct rota *rota)
{
    return (rota->look_tasks.first | rota->look_bundles.first | rota->look_ready.first
            | rota->look_leaders.first | rota->look_recalled.first | rota->orphans
            | rota->look_lanes | rota->look_strict | rota->failing_jobs)
           != 0;
}
void graph_settle_all(struct rota *rota);
static inline void graph_settle(struct rota *rota)  // until the look lists are empty
{
    if (graph_is_unsettled(rota)) graph_settle_all(rota);
}
bool graph_late_reserve(struct rota *rota, uint32_t more);
void graph_late_add(struct rota *rota, task_row row, enum late_kind kind, uint32_t target);
void graph_late_remove(struct rota *rota, task_row row, enum late_kind kind, uint32_t target);
// Removes all watches of tasks of this job, in one pass.
void graph_late_remove_watches(struct rota *rota, task_row row, job_row job);
late_row graph_late_first(const struct rota *rota, task_row row);
void graph_count_needs(const struct rota *rota, task_row row, uint32_t *unmet, uint32_t *dead);
bool graph_has_real_cause(const struct rota *rota, task_row row);

// ---- condition.c: start conditions beyond "all succeeded" --------------------

enum verdict condition_evaluate(const struct rota *rota, task_row row);
void condition_look(struct rota *rota, task_row row);            // its verdict may have changed
void condition_unbind(struct rota *rota, task_row row);          // the condition no longer applies
// the part of `unmet` and `dead` due to the condition
uint32_t condition_need(const struct rota *rota, task_row row);
bool condition_has_real_cause(const struct rota *rota, task_row row);

// ---- bundle.c, job.c: progress and result ---------------------------------------------------

void bundle_count(struct rota *rota, task_row bundle, enum task_class from, enum task_class to);
void bundle_look(struct rota *rota, task_row bundle);
enum rota_task_state counts_state(const uint32_t *counts, bool staged);
struct bundle *bundle_get(const struct rota *rota, task_row row);

static inline job_row job_find(const struct rota *rota, rota_job_id id)
{
    bool same = rota->last_job && JOB(rota, rota->last_job)->id == id.number;
    return same ? rota->last_job : map_find(&rota->job_by_id, id.number);
}
void job_look_at(struct rota *rota, job_row row);
void job_settle(struct rota *rota);
// bundle 0: all tasks of the job
void job_cancel_tasks(struct rota *rota, job_row row, task_row bundle);
job_row job_pick_of_client(struct rota *rota, uint64_t client);  // a list linked by next_picked
void job_fails_with(struct rota *rota, task_row row);
void job_fail_next(struct rota *rota);
void job_close(struct rota *rota, job_row row);
void job_mark(struct rota *rota, job_row row);
// 0: the first; then the next, until 0
task_row job_next_task(const struct rota *rota, job_row row, task_row after);

// ---- lane.c: lanes: order, groups, readers and writers -----------------------

void lane_request(struct rota *rota, task_row row);     // the task is ready and requests its turn
void lane_enlist(struct rota *rota, task_row row);      // in submit order: it already has its place
void lane_leave(struct rota *rota, task_row row);       // leaves the queue, or the lane
void lane_handed_out(struct rota *rota, task_row row);  // the next task may be offered
void lane_started(struct rota *rota, task_row row);
bool lane_is_strict(const struct rota *rota, task_row row);
void lane_starts_again(struct rota *rota, task_row row);
void lane_offer_again(struct rota *rota, task_row row);
void lane_look_at(struct rota *rota, lane_row lane);
void lane_settle(struct rota *rota);
void lane_settle_strict(struct rota *rota);  // one lane, when nothing else is left to settle
void lane_pause(struct rota *rota, lane_row row, bool pause);
bool lane_is_placing(const struct rota *rota, task_row row);
static inline bool lane_is_next(const struct rota *rota, task_row row)
{
    return !(rota->task[row].flags & TASK_HAS_LANE) || lane_is_placing(rota, row);
}
bool lane_admits_now(const struct rota *rota, task_row row);  // with an empty queue
void lane_enter(struct rota *rota, task_row row);
void lane_restore_offered(struct rota *rota, task_row row);
void lane_restore_placing(struct rota *rota);

// ---- place.c: placement; place_claim.c, place_pull.c, place_plan.c --------------------------

void place_add(struct rota *rota, task_row row);     // the task may be handed out
void place_remove(struct rota *rota, task_row row);  // the task may no longer be handed out
// if the worker were empty
bool place_fits(const struct worker *worker, const struct profile *profile);
bool place_has_room(const struct worker *worker, const struct profile *profile);  // at present
bool place_unschedulable(const struct rota *rota, task_row row);
bool place_reserve(struct rota *rota, task_row row);  // reserves memory for handing it out

bool profile_reserve(struct rota *rota, uint32_t more);
profile_row profile_get(struct rota *rota, const struct wants *wants);  // memory must be reserved
void profile_use(struct rota *rota, profile_row row, uint32_t tasks);   // `tasks` more use it
void profile_give(struct rota *rota, profile_row row);
void profile_list(struct rota *rota, profile_row row);  // it has ready tasks
void profile_unlist(struct rota *rota, profile_row row);

void claim_add(struct rota *rota, task_row row);
void claim_remove(struct rota *rota, task_row row);
task_row claim_best(const struct rota *rota, job_row job, uint32_t machine);  // job 0: any job

task_row ready_first(const struct rota *rota, const struct profile *profile);
void ready_grow(struct rota *rota, profile_row at);  // it has many tasks now
void ready_push(struct rota *rota, task_row row);
void ready_push_back(struct rota *rota, task_row row);  // it was the head a moment ago
void ready_remove(struct rota *rota, task_row row);

void pull_add(struct rota *rota, task_row row);
void pull_patience_changed(struct rota *rota, task_row row);  // of the lane of the task
void pull_remove(struct rota *rota, task_row row);
void pull_news(struct rota *rota, object_row object);  // the workers that hold it changed
void pull_object_seen(struct rota *rota, object_row object);
void pull_worker_gone(struct rota *rota, worker_row row);
void pull_turn(struct rota *rota);
bool pull_restore(struct rota *rota, task_row row, uint32_t phase, rota_time since);
bool pull_offers(const struct rota *rota, task_row row, worker_row worker, uint32_t kind);
rota_time pull_due(const struct rota *rota, task_row row);  // when its phase ends

void plan_news(struct rota *rota, uint32_t strength);  // strength 1: update, 2: submission
rota_time plan_deadline(const struct rota *rota);
void plan_turn(struct rota *rota);

// ---- worker.c, worker_room.c, attempt.c: workers, their room, and attempts ------------------

worker_row worker_find(const struct rota *rota, rota_worker_id id);
bool worker_reserve(struct rota *rota);
worker_row worker_add(struct rota *rota, rota_worker_id id);   // memory must be reserved
worker_row worker_meet(struct rota *rota, rota_worker_id id);  // memory must be reserved
void worker_mark(struct rota *rota, worker_row row);
void worker_lose(struct rota *rota, worker_row row);  // with all its attempts and copies
void workers_lose(struct rota *rota);                 // all whose lease expired
void worker_charge(struct rota *rota, worker_row row, task_row task);
void worker_refund(struct rota *rota, worker_row row, task_row task);
void worker_settle_overbooked(struct rota *rota, worker_row row);
void worker_unsettle(struct rota *rota, worker_row row);  // done before the end of the step
void workers_settle(struct rota *rota);

bool room_reserve(struct rota *rota, uint32_t workers);
void room_update(struct rota *rota, worker_row row);
worker_row room_find(const struct rota *rota, const struct profile *profile);

void attempt_assign(struct rota *rota, task_row row, worker_row worker, uint32_t flags);
void attempt_claim(struct rota *rota, task_row row, uint64_t handler);
bool handler_reserve(struct rota *rota, uint64_t id);
void handler_take(struct rota *rota, task_row row, uint64_t id);
uint64_t handler_of(const struct rota *rota, task_row row);
// its worker reported it, or may have started it
void attempt_begun(struct rota *rota, task_row row);
void attempt_end(struct rota *rota, task_row row);   // releases worker, lane and copies
void attempt_stop(struct rota *rota, task_row row);  // orders the worker to stop it
void attempt_transfer(struct rota *rota, task_row from, task_row to);
rota_task_id attempt_name(const struct rota *rota, task_row row);
void attempt_put_name(struct rota *rota, task_row row, rota_task_id id);
task_row attempt_find(const struct rota *rota, rota_task_id id);

// ---- outcome.c: how a task ends, and the consequences ---------------------------------------

void outcome_admit(struct rota *rota, task_row row);  // QUEUED: evaluates its dependencies
void outcome_ready(struct rota *rota, task_row row);  // READY: to its lane, or to placement
// a dependency is no longer met: back to WAITING
void outcome_unready(struct rota *rota, task_row row);
// ASSIGNED, and continues without its dependencies
bool outcome_continues(const struct rota *rota, task_row row);
void outcome_finish(struct rota *rota, task_row row, worker_row worker, enum rota_outcome outcome,
                    int32_t status);
void outcome_cancel(struct rota *rota, task_row row);
void outcome_discard(struct rota *rota, task_row row);   // a writer of its input streams failed
void outcome_withdraw(struct rota *rota, task_row row);  // removes it from every queue
// The counter of tries stops here; the limit is above all that retries and losses allow.
enum { TASK_TRIES_MAX = 1023 };
void outcome_again(struct rota *rota, task_row row);    // makes its lost result again
void outcome_restart(struct rota *rota, task_row row);  // finished or idle: becomes QUEUED

// ---- wait.c: clients that wait --------------------------------------------------------------

bool wait_reserve(struct rota *rota, uint32_t more);
void wait_task_over(struct rota *rota, task_row row);
void wait_task_not_over(struct rota *rota, task_row row);
void wait_object_over(struct rota *rota, object_row row);
void wait_drop_task(struct rota *rota, task_row row);
wait_row wait_add(struct rota *rota, const struct wait *like, wait_row last);
void wait_settle(struct rota *rota);
void wait_look(struct rota *rota, wait_row first);  // is the wait satisfied now?

// ---- backoff.c: delays of a ready task: backoff, and a pause of its job ----------------------

bool backoff_reserve(struct rota *rota);
void backoff_begin(struct rota *rota, task_row row, rota_time until);
void backoff_end(struct rota *rota, task_row row);
void backoff_forget(struct rota *rota, task_row row);
rota_time backoff_until(const struct rota *rota, task_row row);  // 0: no backoff
void backoffs_end(struct rota *rota);                            // all whose time is up

// place.c: the job of the task is paused, so the task is in no queue. A task whose job is not
// paused may also wait for a task with the same key that runs for it.
bool place_is_paused(const struct rota *rota, task_row row);
bool place_shared(struct rota *rota, task_row row);
