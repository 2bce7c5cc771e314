// on_client.c - requests of clients: close, cancel, retry, stage, manual actions, lanes.
#include "core/core.h"

static enum rota_error find_task(struct rota *rota, rota_task_id id, task_row *row)
{
    *row = task_find(rota, id);
    return *row ? ROTA_OK : refuse(rota, ROTA_NOT_FOUND, "no such task");
}

static enum rota_error no_memory(struct rota *rota)
{
    return refuse(rota, ROTA_NO_MEMORY, "out of memory");
}

// Reserves memory for the end of every task of a job.
static bool reserve_job(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    return effect_reserve(rota, 4 * (uint64_t)JOB(rota, row)->task_count + rota->out);
}

static void plan_changed(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    if (JOB(rota, row)->policy == ROTA_POLICY_PLAN) plan_news(rota, 1);
}

enum rota_error on_close(struct rota *rota, const struct rota_event *event)
{
    job_row row = job_find(rota, event->close.job);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such job");
    if (JOB(rota, row)->state == ROTA_JOB_CLOSED)
        return refuse(rota, ROTA_NOT_NOW, "the job is already closed");
    if (!reserve_job(rota, row)) return no_memory(rota);
    plan_changed(rota, row);
    job_close(rota, row);
    return ROTA_OK;
}

enum rota_error on_client_left(struct rota *rota, const struct rota_event *event)
{
    uint64_t tasks = 0;
    job_row first = job_pick_of_client(rota, event->client_left.client);
    for (job_row row = first; row; row = JOB(rota, row)->next_picked)
        tasks += JOB(rota, row)->task_count;
    if (!effect_reserve(rota, 4 * tasks + rota->out + pool_used(&rota->jobs)))
        return no_memory(rota);
    for (job_row row = first; row; row = JOB(rota, row)->next_picked) {
        plan_changed(rota, row);
        job_close(rota, row);
    }
    return ROTA_OK;
}

static bool can_cancel(const struct task *task)
{
    bool ends = task->flags & TASK_STOPPING && !(task->flags & TASK_DISCARDED);
    return !(task->flags & TASK_AGAIN) && task->state >= ROTA_TASK_STAGED
           && task->state <= ROTA_TASK_RUNNING && !ends;
}

static const char *cancel_fault(const struct task *task)
{
    if (task->flags & TASK_IS_BUNDLE) return "all its tasks have finished or are being stopped";
    if (task->flags & TASK_AGAIN || task->state > ROTA_TASK_RUNNING)
        return "the task has already finished";
    return task->state < ROTA_TASK_STAGED ? "the task has not been started"
                                          : "the task is already being stopped";
}

static bool can_cancel_members(const struct rota *rota, task_row bundle)
{
    assert(rota->task[bundle].flags & TASK_IS_BUNDLE);
    job_row job = task_job(rota, bundle);
    task_row at = 0;
    do at = job_next_task(rota, job, at);
    while (at && (task_extra(rota, at)->bundle != bundle || !can_cancel(&rota->task[at])));
    return at != 0;
}

// All tasks have ended, and none makes its outputs again. Blocked tasks have not ended: a cancel
// aborts them.
static bool is_finished(const struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    if (JOB(rota, row)->state == ROTA_JOB_OPEN) return false;
    for (task_row at = job_next_task(rota, row, 0); at; at = job_next_task(rota, row, at)) {
        enum rota_task_state state = rota->task[at].state;
        bool is_bundle = rota->task[at].flags & TASK_IS_BUNDLE;
        if (!is_bundle && state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING) return false;
    }
    return true;
}

static enum rota_error cancel_job(struct rota *rota, job_row job)
{
    assert(IS_ROW(rota->jobs, job));
    if (is_finished(rota, job))
        return refuse(rota, ROTA_NOT_NOW, "the job has already finished");
    if (!reserve_job(rota, job)) return no_memory(rota);
    job_cancel_tasks(rota, job, 0);
    plan_changed(rota, job);
    return ROTA_OK;
}

enum rota_error on_cancel(struct rota *rota, const struct rota_event *event)
{
    rota_task_id id = event->task.task;
    job_row job = job_find(rota, (rota_job_id){id.job});
    if (!job) return refuse(rota, ROTA_NOT_FOUND, "no such job");
    if (id.task == 0) return cancel_job(rota, job);
    if (!reserve_job(rota, job)) return no_memory(rota);
    task_row row;
    enum rota_error error = find_task(rota, id, &row);
    if (error) return error;
    bool bundle = rota->task[row].flags & TASK_IS_BUNDLE;
    if (bundle ? !can_cancel_members(rota, row) : !can_cancel(&rota->task[row]))
        return refuse(rota, ROTA_NOT_NOW, cancel_fault(&rota->task[row]));
    if (bundle)
        job_cancel_tasks(rota, job, row);
    else
        outcome_cancel(rota, row);
    plan_changed(rota, job);
    return ROTA_OK;
}

static enum rota_error job_is_live(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    enum rota_job_state state = JOB(rota, task_job(rota, row))->state;
    if (state != ROTA_JOB_FAILED && state != ROTA_JOB_CLOSED) return ROTA_OK;
    return refuse(rota, ROTA_NOT_NOW, "the job has failed or is closed");
}

enum rota_error on_retry(struct rota *rota, const struct rota_event *event)
{
    task_row row;
    enum rota_error error = find_task(rota, event->task.task, &row);
    if (!error) error = job_is_live(rota, row);
    if (error) return error;
    const struct task *task = &rota->task[row];
    bool ended = task->state == ROTA_TASK_FAILED || task->state == ROTA_TASK_ABORTED;
    if (!ended || task->flags & TASK_IS_BUNDLE)
        return refuse(rota, ROTA_NOT_NOW, "only a task that failed or was aborted can be retried");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    outcome_restart(rota, row);
    outcome_admit(rota, row);
    plan_changed(rota, task_job(rota, row));
    return ROTA_OK;
}

static bool can_stage(const struct task *task)
{
    return !(task->flags & TASK_AGAIN) && (task->state == ROTA_TASK_IDLE || task_is_over(task));
}

// Each member starts from scratch. A member that was blocked in the previous run is removed from
// the queue of its lane, has no backoff, and gets all its attempts again.
static void restart_member(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    bool blocked = task->state == ROTA_TASK_BLOCKED && !(task->flags & TASK_AGAIN);
    if (blocked) outcome_withdraw(rota, row);
    if (blocked || can_stage(task)) outcome_restart(rota, row);
}

static void stage_bundle(struct rota *rota, task_row bundle)
{
    assert(rota->task[bundle].flags & TASK_IS_BUNDLE);
    job_row job = task_job(rota, bundle);
    bundle_get(rota, bundle)->ever_staged = true;
    effect_mark_task(rota, bundle);
    graph_look_at(rota, bundle);
    for (task_row at = job_next_task(rota, job, 0); at; at = job_next_task(rota, job, at)) {
        if (task_extra(rota, at)->bundle == bundle) restart_member(rota, at);
    }
    graph_settle_bundles(rota);
    for (task_row at = job_next_task(rota, job, 0); at; at = job_next_task(rota, job, at))
        if (task_extra(rota, at)->bundle == bundle && rota->task[at].state == ROTA_TASK_QUEUED)
            outcome_admit(rota, at);
}

enum rota_error on_stage(struct rota *rota, const struct rota_event *event)
{
    task_row row;
    enum rota_error error = find_task(rota, event->task.task, &row);
    if (!error) error = job_is_live(rota, row);
    if (error) return error;
    bool bundle = rota->task[row].flags & TASK_IS_BUNDLE;
    if (!can_stage(&rota->task[row]))
        return refuse(rota, ROTA_NOT_NOW,
                      bundle ? "the bundle is running" : "the task is already staged, or frozen");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    if (bundle) {
        stage_bundle(rota, row);
    } else {
        outcome_restart(rota, row);
        outcome_admit(rota, row);
    }
    plan_changed(rota, task_job(rota, row));
    return ROTA_OK;
}

// A manual start skips the condition, but not edges, the lane, or the room on a worker.
static enum rota_error manual_start(struct rota *rota, task_row row)
{
    assert(!(rota->task[row].flags & TASK_IS_BUNDLE));
    struct task *task = &rota->task[row];
    uint32_t condition = !(condition_need(rota, row) & NEED_MET);
    uint32_t rest = task->flags & TASK_BACKOFF ? 1 : 0;
    bool waits = (task->state == ROTA_TASK_WAITING || task->state == ROTA_TASK_BLOCKED)
                 && !(task->flags & TASK_AGAIN);
    if (!waits && !can_stage(task))
        return refuse(rota, ROTA_NOT_NOW, "not possible while the task is active");
    if (rota->unmet[row] > condition + rest)
        return refuse(rota, ROTA_NOT_NOW, "a dependency or an input is not available yet");
    if (!waits) outcome_restart(rota, row);
    task->flags |= TASK_BYPASS;
    effect_mark_task(rota, row);
    if (rest) backoff_end(rota, row);
    if (waits)
        condition_look(rota, row);
    else
        outcome_admit(rota, row);
    return ROTA_OK;
}

// A person sets the state, no attempt ends: only clients that wait are told.
static void manual_set(struct rota *rota, task_row row, enum rota_manual action)
{
    assert(!(rota->task[row].flags & TASK_IS_BUNDLE));
    struct task *task = &rota->task[row];
    bool was_over = task_is_over(task);
    static const struct {
        uint8_t cause, outcome;
    } actions[] = {
        [ROTA_MANUAL_GREEN] = {CAUSE_SUCCEEDED, ROTA_OUTCOME_OK},
        [ROTA_MANUAL_RED] = {CAUSE_FAILED, ROTA_OUTCOME_EXIT},
        [ROTA_MANUAL_RESET] = {CAUSE_RESET, ROTA_OUTCOME_NONE},
        [ROTA_MANUAL_FREEZE] = {CAUSE_FROZEN, ROTA_OUTCOME_NONE},
    };
    task->outcome = actions[action].outcome;
    task->status = 0;
    task_move(rota, row, (enum task_cause)actions[action].cause);
    if (!was_over && task_is_over(task)) wait_task_over(rota, row);
    if (was_over && !task_is_over(task)) wait_task_not_over(rota, row);
}

enum rota_error on_manual(struct rota *rota, const struct rota_event *event)
{
    task_row row;
    enum rota_error error = find_task(rota, event->manual.task, &row);
    if (!error) error = job_is_live(rota, row);
    if (error) return error;
    const struct task *task = &rota->task[row];
    if (event->manual.action < ROTA_MANUAL_START || event->manual.action > ROTA_MANUAL_FREEZE)
        return refuse(rota, ROTA_BAD_EVENT, "unknown manual action");
    if (task->flags & TASK_IS_BUNDLE)
        return refuse(rota, ROTA_NOT_NOW, "a bundle has no state of its own; act on its members");
    if (!effect_reserve(rota, 0)) return no_memory(rota);
    if (event->manual.action != ROTA_MANUAL_START) {
        if (!can_stage(task) && task->state != ROTA_TASK_FROZEN)
            return refuse(rota, ROTA_NOT_NOW, "not possible while the task is active");
        manual_set(rota, row, event->manual.action);
    } else if ((error = manual_start(rota, row))) {
        return error;
    }
    plan_changed(rota, task_job(rota, row));
    return ROTA_OK;
}

// No task is in the lane, and no list refers to it.
static enum rota_error lane_forget(struct rota *rota, lane_row row)
{
    assert(row == 0 || IS_ROW(rota->lanes, row));
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such lane");
    struct lane *lane = LANE(rota, row);
    if (lane->named) return refuse(rota, ROTA_NOT_NOW, "the lane still has tasks");
    if (lane->flags & ROTA_LANE_PAUSED) return refuse(rota, ROTA_NOT_NOW, "the lane is paused");
    if (!effect_reserve(rota, 1)) return no_memory(rota);
    struct rota_record tomb = {.kind = ROTA_RECORD_LANE, .gone = true};
    tomb.lane.lane = lane->number;
    effect_tomb(rota, tomb);
    if (lane->marked) effect_forget_marks(rota, ROTA_RECORD_LANE, row);
    map_remove(&rota->lane_by_number, lane->number);
    *lane = (struct lane){0};
    pool_give(&rota->lanes, row);
    return ROTA_OK;
}

enum rota_error on_lane(struct rota *rota, const struct rota_event *event)
{
    lane_row row = map_find(&rota->lane_by_number, event->lane.lane);
    uint32_t flags = event->lane.flags;
    if (flags == ROTA_LANE_GONE) return lane_forget(rota, row);
    if (!event->lane.lane || flags & ~(uint32_t)(ROTA_LANE_STRICT | ROTA_LANE_SUBMIT_ORDER))
        return refuse(rota, ROTA_BAD_EVENT, "invalid lane number or flags");
    if (event->lane.patience < 0)
        return refuse(rota, ROTA_BAD_EVENT, "the patience of a lane must not be negative");
    uint32_t paused = row ? LANE(rota, row)->flags & ROTA_LANE_PAUSED : 0;
    if (row && LANE(rota, row)->named && LANE(rota, row)->flags != (flags | paused))
        return refuse(rota, ROTA_NOT_NOW, "a lane cannot be changed while it has tasks");
    if (!row && pool_used(&rota->lanes) >= rota->config.lanes_max)
        return refuse(rota, ROTA_TOO_MANY, "too many lanes: the limit is lanes_max");
    if (!pool_reserve(&rota->memory, &rota->lanes, 1) || !effect_cover(rota)
        || !map_reserve(&rota->memory, &rota->lane_by_number, 1) || !effect_reserve(rota, 0))
        return no_memory(rota);
    if (!row) {
        row = pool_take(&rota->lanes);
        LANE(rota, row)->number = event->lane.lane;
        map_put(&rota->lane_by_number, event->lane.lane, row);
    }
    struct lane *lane = LANE(rota, row);
    lane->flags = flags | paused;
    lane->patience = event->lane.patience;
    if (lane->placing) pull_patience_changed(rota, lane->placing);
    if (!lane->marked) effect_mark(rota, ROTA_RECORD_LANE, row);
    lane->marked = true;
    lane_look_at(rota, row);
    return ROTA_OK;
}
