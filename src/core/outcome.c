// outcome.c - how a task becomes ready, how it ends, and the consequences.
#include "base/planted.h"
#include "core/core.h"

// All dependencies are met. Without a lane the task is offered at once.
void outcome_ready(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (rota->task[row].flags & TASK_HAS_LANE) {
        if (rota->task[row].state != ROTA_TASK_READY) task_move(rota, row, CAUSE_MET);
        lane_request(rota, row);
        return;
    }
    task_move(rota, row, CAUSE_OFFERED);
    place_add(rota, row);
}

// An input may have been released or lost since it was made; then it is made again.
static void ask_for_inputs(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        if (!(OBJECT(rota, at)->view & NEED_MET)) object_refresh(rota, at);
    }
}

void outcome_admit(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    if (task->extra) {
        condition_look(rota, row);
        ask_for_inputs(rota, row);
        if (task->flags & TASK_HAS_LANE) lane_enlist(rota, row);
    }
    bool is_met = rota->unmet[row] == 0 || (PLANTED(NEED_EARLY) && rota->unmet[row] == 1);
    bool has_condition = task->extra && task_extra(rota, row)->clause_count;
    if (is_met && !has_condition) {
        outcome_ready(rota, row);
        return;
    }
    task_move(rota, row, task->dead ? CAUSE_DOOMED : CAUSE_UNMET);
    if (is_met) graph_look_at(rota, row);  // its condition may hold only for a moment
}

// Removes the task from every queue and ends its attempt; its state is still the old one.
void outcome_withdraw(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    bool attempt = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    if (task->flags & TASK_BACKOFF && task->state <= ROTA_TASK_BLOCKED) backoff_forget(rota, row);
    if (task->extra && task_extra(rota, row)->key) {
        if (task->state == ROTA_TASK_SHARED)
            shared_key_detach(rota, row);
        else if (shared_key_hand_over(rota, row))
            attempt = false;
    }
    if (attempt) {
        attempt_end(rota, row);
        if (task->extra) streams_give_up(rota, row);
        return;
    }
    if (task->state == ROTA_TASK_OFFERED) place_remove(rota, row);
    if (task->flags & TASK_HAS_LANE) lane_leave(rota, row);
}

// In a lane, an assigned attempt may have started: other tasks wait until its worker reports.
static bool keeps_lane(const struct rota *rota, const struct task *task)
{
    return rota->config.told_is_begun && task->flags & TASK_HAS_LANE;
}

// If the attempt counts as started, its worker continues when it has the inputs, and reports when
// it lacks them; the task waits until then.
bool outcome_continues(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    bool assigned = task->state == ROTA_TASK_ASSIGNED && task->worker;
    return assigned && keeps_lane(rota, task) && !PLANTED(INPUT_FREES);
}

// A task that requested its lane and lost a dependency in the same event was never ready: it must
// not keep a place ahead of tasks that become ready before it.
static void forget_request(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    struct extra *extra = task_extra(rota, row);
    if (extra->asked == rota->turn) extra->asked = 0;
}

void outcome_unready(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    bool assigned = task->state == ROTA_TASK_ASSIGNED && task->worker;
    if (outcome_continues(rota, row)) {
        attempt_begun(rota, row);
        return;
    }
    if (assigned && !shared_key_has_heir(rota, row)) attempt_stop(rota, row);
    outcome_withdraw(rota, row);
    if (assigned && task->tries) task->tries--;  // it had no chance to run
    task_move(rota, row, CAUSE_UNMET);
    if (task->extra) {
        forget_request(rota, row);
        condition_look(rota, row);
        ask_for_inputs(rota, row);
    }
    if (task->flags & TASK_HAS_LANE) lane_enlist(rota, row);
    graph_look_at(rota, row);
}

// The outputs are no longer written, so those that no task needs can be removed.
static void purge_outputs(struct rota *rota, task_row row)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->output_count; i++)
        object_purge(rota, rota->use[extra->use_first + extra->input_count + i].object);
}

// The task holds nothing any more. The success of a result made again is not reported.
static void outcome_end(struct rota *rota, task_row row, enum task_cause cause,
                        enum rota_outcome outcome)
{
    struct task *task = &rota->task[row];
    bool again = task->flags & TASK_AGAIN && cause == CAUSE_SUCCEEDED;
    bool was_over = task_is_over(task);
    task->outcome = (uint8_t)outcome;
    if (task->extra) task_extra(rota, row)->asked = 0;
    task_move(rota, row, cause);
    if (task->extra) purge_outputs(rota, row);
    if (again || task->flags & TASK_IS_BUNDLE) return;
    effect_confirm(rota, row);
    if (!was_over) wait_task_over(rota, row);
    if (cause == CAUSE_FAILED || (cause == CAUSE_ABORTED && outcome == ROTA_OUTCOME_LOST))
        job_fails_with(rota, row);
    assert(task->state != ROTA_TASK_RUNNING);
}

static void keep_result(struct rota *rota, task_row row, worker_row worker,
                        enum rota_outcome outcome)
{
    assert(rota->task[row].extra);
    const struct extra *extra = task_extra(rota, row);
    bool result = outcome == ROTA_OUTCOME_OK || outcome == ROTA_OUTCOME_EXIT;
    if (result && extra->key && worker) {
        replica_row at = replica_find(rota, extra->key, worker);
        if (!at) at = replica_add(rota, extra->key, worker);
        replica_locate(rota, at);
    }
    for (uint32_t i = 0; outcome == ROTA_OUTCOME_OK && i < extra->output_count; i++) {
        object_row at = rota->use[extra->use_first + extra->input_count + i].object;
        object_finish(rota, at, worker);
    }
}

static enum task_cause cause_of(enum rota_outcome outcome)
{
    switch (outcome) {
    case ROTA_OUTCOME_OK: return CAUSE_SUCCEEDED;
    case ROTA_OUTCOME_EXIT:
    case ROTA_OUTCOME_ERROR: return CAUSE_FAILED;
    default: return CAUSE_ABORTED;
    }
}

// A follower has used the tries of its leader: otherwise a retry of the follower would only report
// the same failure again.
static void count_as_tried(struct task *follower, const struct task *leader)
{
    if (follower->attempt < leader->attempt) follower->attempt = leader->attempt;
    assert(follower->attempt >= leader->attempt);
}

// The followers of a shared execution end like their leader, with its outputs.
static void end_followers(struct rota *rota, task_row row, worker_row worker,
                          enum rota_outcome outcome, int32_t status)
{
    if (!task_extra(rota, row)->key) return;
    // One follower may be a dependency of another that makes a lost result again: the end of one
    // must not stop the others.
    rota->task[row].flags |= TASK_DECIDED;
    for (task_row at = task_extra(rota, row)->leader; at; at = rota->task[at].next)
        rota->task[at].flags |= TASK_DECIDED;
    for (task_row next = task_extra(rota, row)->leader; next;
         next = task_extra(rota, row)->leader) {
        shared_key_detach(rota, next);
        if (outcome == ROTA_OUTCOME_OK) {
            content_copy(rota, row, next);
            shared_key_alias(rota, row, next, worker, false);
        }
        keep_result(rota, next, worker, outcome);
        if (rota->task[next].flags & TASK_HAS_LANE) lane_leave(rota, next);
        if (outcome != ROTA_OUTCOME_OK) count_as_tried(&rota->task[next], &rota->task[row]);
        rota->task[next].status = status;
        outcome_end(rota, next, cause_of(outcome), outcome);
    }
}

static bool comes_back(const struct rota *rota, task_row row, enum rota_outcome outcome)
{
    assert(outcome != ROTA_OUTCOME_OK);
    const struct task *task = &rota->task[row];
    // A task that a handler failed is not retried automatically; one that a handler lost is.
    if (task->flags & TASK_CLAIMED && outcome != ROTA_OUTCOME_LOST) return false;
    if (task->attempt >= TASK_ATTEMPT_MAX) return false;
    uint32_t retries_max = PROFILE(rota, task->profile)->wants.retries_max;
    bool left = task->tries <= retries_max;
    if (outcome == ROTA_OUTCOME_EXIT || outcome == ROTA_OUTCOME_ERROR) return left;
    if (outcome != ROTA_OUTCOME_LOST) return false;
    bool keyed = task->extra && task_extra(rota, row)->key;
    bool longer
        = keyed || task->flags & TASK_AGAIN || task_policy(rota, row) == ROTA_POLICY_PULL;
    return left || (longer && task->tries <= retries_max + ROTA_LOSSES_MAX);
}

static void come_back(struct rota *rota, task_row row, enum rota_outcome outcome)
{
    assert(!(rota->task[row].flags & TASK_IS_BUNDLE));
    struct task *task = &rota->task[row];
    if (task->extra) streams_give_up(rota, row);
    bool writes = task->extra && task_extra(rota, row)->output_count;
    bool gated = task->flags & TASK_HAS_LANE, met = rota->unmet[row] == 0;
    task->outcome = (uint8_t)outcome;
    attempt_end(rota, row);
    task->flags |= TASK_BYPASS;  // a repeated attempt was already admitted
    task_move(rota, row, met && !writes ? CAUSE_RETURNED : CAUSE_UNMET);
    met = rota->unmet[row] == 0;  // readers of its streams may have given up its inputs
    if (gated || !met) shared_key_release(rota, row);  // a task that has to wait cannot lead
    if (met) {
        outcome_ready(rota, row);
        return;
    }
    ask_for_inputs(rota, row);
    if (gated) lane_enlist(rota, row);
    graph_look_at(rota, row);
}

// A lost result is not made again.
static void cancel_remake(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_AGAIN);
    rota->task[row].outcome = ROTA_OUTCOME_OK;
    if (rota->task[row].extra) task_extra(rota, row)->asked = 0;
    task_move(rota, row, CAUSE_NOT_REMADE);
    if (rota->task[row].extra) purge_outputs(rota, row);
    assert(!(rota->task[row].flags & TASK_AGAIN));
}

// The usual end: a task that has only edges ran and succeeded.
static bool ends_plainly(const struct task *task, enum rota_outcome outcome)
{
    return outcome == ROTA_OUTCOME_OK && !task->extra && task->state != ROTA_TASK_OFFERED
           && !(task->flags & (TASK_STOPPING | TASK_AGAIN | TASK_IS_BUNDLE | TASK_LINKED));
}

static void end_plainly(struct rota *rota, task_row row, int32_t status)
{
    struct task *task = &rota->task[row];
    attempt_end(rota, row);
    task->status = status;
    task->outcome = ROTA_OUTCOME_OK;
    task_move(rota, row, CAUSE_SUCCEEDED);
    effect_confirm(rota, row);
}

// An attempt ended, or (OFFERED) a result arrived without one. Its outputs are on `worker`, or on
// the server.
void outcome_finish(struct rota *rota, task_row row, worker_row worker, enum rota_outcome outcome,
                    int32_t status)
{
    struct task *task = &rota->task[row];
    if (ends_plainly(task, outcome)) {
        end_plainly(rota, row, status);
        return;
    }
    if (PLANTED(STREAM_TRUSTED) && task->flags & TASK_DISCARDED && outcome == ROTA_OUTCOME_OK)
        task->flags &= (uint16_t) ~(TASK_STOPPING | TASK_DISCARDED);
    if (task->flags & TASK_DISCARDED && task->attempt < TASK_ATTEMPT_MAX) {
        if (task->tries) task->tries--;
        come_back(rota, row, ROTA_OUTCOME_LOST);
        return;
    }
    bool stopped = task->flags & TASK_STOPPING, again = task->flags & TASK_AGAIN;
    if (PLANTED(CANCEL_FORGOTTEN)) stopped = false;
    if (stopped) outcome = ROTA_OUTCOME_ABORTED;
    bool out = task->state != ROTA_TASK_OFFERED;
    bool failed = outcome != ROTA_OUTCOME_OK && !stopped && out;
    if (failed && comes_back(rota, row, outcome)) {
        come_back(rota, row, outcome);
        return;
    }
    if (task->extra) keep_result(rota, row, worker, outcome);
    if (stopped) shared_key_release(rota, row);
    // From now on no task joins the execution, not even the next one of its lane.
    if (task->extra && task_extra(rota, row)->key) shared_key_end(rota, row);
    if (task->state == ROTA_TASK_OFFERED) {
        place_remove(rota, row);
        if (task->flags & TASK_HAS_LANE) lane_leave(rota, row);
    } else {
        attempt_end(rota, row);
    }
    task->status = status;
    bool ends_all = task->extra && !(stopped && again);
    if (ends_all) end_followers(rota, row, worker, outcome, status);
    if (outcome != ROTA_OUTCOME_OK && out && task->extra) streams_give_up(rota, row);
    if (stopped && again) {
        cancel_remake(rota, row);
        return;
    }
    outcome_end(rota, row, cause_of(outcome), outcome);
}

// Outputs that were reported early do not count once their task is being stopped.
static void mark_stopping(struct rota *rota, task_row row)
{
    assert(!(rota->task[row].flags & TASK_STOPPING));
    rota->task[row].flags |= TASK_STOPPING;
    effect_mark_task(rota, row);
    if (task_extra(rota, row)->output_count) object_producer_changed(rota, row);
}

static void stop_running(struct rota *rota, task_row row)
{
    if (rota->task[row].flags & TASK_STOPPING) return;
    attempt_stop(rota, row);
    mark_stopping(rota, row);
    assert(rota->task[row].flags & TASK_STOPPING);
}

// Whether the worker has started the attempt, or may have by the time the cancel arrives.
static bool may_run(const struct rota *rota, const struct task *task)
{
    bool told = keeps_lane(rota, task) && !PLANTED(CANCEL_FREES);
    return task->state == ROTA_TASK_RUNNING || told;
}

// A handler keeps its place in a lane until it received the cancel, or its lease expired.
static bool is_with_handler(const struct rota *rota, const struct task *task)
{
    return rota->config.told_is_begun && task->flags & TASK_HAS_LANE && task->flags & TASK_CLAIMED
           && task->state == ROTA_TASK_RUNNING && !PLANTED(CANCEL_FREES_HANDS);
}

// A writer of its input streams has not succeeded: the task runs again with that writer, whatever
// its own outcome. An attempt that was lost with its worker ends by itself; a task that no worker
// has started goes back to waiting.
void outcome_discard(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    bool assigned = task->state == ROTA_TASK_ASSIGNED;
    if (task->flags & TASK_STOPPING || (task->state != ROTA_TASK_RUNNING && !assigned)) return;
    if (task->worker && WORKER(rota, task->worker)->lost) return;
    if (assigned && !keeps_lane(rota, task)) return;
    if (assigned) attempt_begun(rota, row);
    trace_say(rota,
              "the writer of its input stream did not succeed -> it is stopped, to run again");
    if (task->worker) attempt_stop(rota, row);
    streams_unread(rota, row);
    task->flags |= TASK_STOPPING | TASK_DISCARDED;
    effect_mark_task(rota, row);
}

// The task was to run again; now it ends when its worker reports. A handler is not waited for.
static void cancel_discarded(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_DISCARDED);
    struct task *task = &rota->task[row];
    task->flags &= (uint16_t)~TASK_DISCARDED;
    if (!task->worker) task->flags &= (uint16_t)~TASK_STOPPING;
    effect_mark_task(rota, row);
    if (task_extra(rota, row)->output_count) object_producer_changed(rota, row);
}

// A task that has not started is released now; a running one, when its worker reports.
void outcome_cancel(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    if (task->state < ROTA_TASK_STAGED || task->state > ROTA_TASK_RUNNING) return;
    if (task->flags & TASK_DISCARDED) cancel_discarded(rota, row);
    if (task->flags & TASK_STOPPING) return;
    if (is_with_handler(rota, task)) {
        mark_stopping(rota, row);
        return;
    }
    bool out = task->worker && !shared_key_has_heir(rota, row)
               && (task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING);
    if (out && may_run(rota, task)) {
        if (task->state == ROTA_TASK_ASSIGNED) attempt_begun(rota, row);
        stop_running(rota, row);
        return;
    }
    if (out) attempt_stop(rota, row);
    outcome_withdraw(rota, row);
    task->status = 0;
    if (task->flags & TASK_AGAIN)
        cancel_remake(rota, row);
    else
        outcome_end(rota, row, CAUSE_ABORTED, ROTA_OUTCOME_ABORTED);
}

// Other tasks still see the task as succeeded; only its consumers wait.
void outcome_again(struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_SUCCEEDED);
    rota->task[row].tries = 0;
    task_move(rota, row, CAUSE_AGAIN);
    outcome_admit(rota, row);
}

void outcome_restart(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    if (task_is_over(task)) wait_task_not_over(rota, row);
    task->tries = 0;
    task->flags &= (uint16_t)~TASK_BYPASS;
    if (task->extra) task_extra(rota, row)->asked = 0;
    task_move(rota, row, CAUSE_STAGED);
    task_move(rota, row, CAUSE_ADMITTED);
    assert(rota->task[row].state == ROTA_TASK_QUEUED);
}
