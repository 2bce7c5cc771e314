// model_task.c - the ends of a task, and requests of clients and handlers for it.
#include "model.h"

// ---- Moves --------------------------------------------------------------------

void model_task_leave_worker(struct model_task *task)
{
    task->worker = (rota_worker_id){0};
    task->run_as = (rota_task_id){0, 0};
    task->handler = 0;
    task->claimed = task->stopping = task->discarded = task->placed = false;
}

void model_task_stop(struct model *model, const struct model_task *task)
{
    model_add_action(model,
                     (struct rota_action){.kind = ROTA_ACTION_STOP,
                                          .stop = {task->run_as, task->attempt, task->worker}});
}

// Its worker has begun, or may have.
void model_task_begin(struct model *model, struct model_task *task)
{
    task->state = ROTA_TASK_RUNNING;
    model_streams_renew(model, task);
}

// Due again: its dependencies are checked, and it asks for its lane again.
void model_task_queue(struct model *model, struct model_task *task)
{
    const struct model_lane *lane = model_lane_find(model, task->spec.lane);
    model_task_leave_worker(task);
    task->state = ROTA_TASK_QUEUED;
    task->tries = 0;
    task->bypasses = false;
    task->keeps_place = lane && (lane->flags & ROTA_LANE_SUBMIT_ORDER);
    task->asked = model->turn;
}

// The same request again, before those that came later.
static void task_again(struct model *model, struct model_task *task)
{
    bool ran = task->state == ROTA_TASK_RUNNING;
    model_streams_give_up(model, task);
    if (ran) model_streams_in_vain(model, task);
    model_task_leave_worker(task);
    task->keeps_place = true;
    task->state = ROTA_TASK_QUEUED;
    task->bypasses = true;  // it was admitted once, and is again
    if (ran) model_streams_failed(model, task);
}

bool model_task_is_discarded(struct model *model, struct model_task *task)
{
    if (!task->discarded) return false;
    task->tries -= task->tries > 0;
    task->outcome = ROTA_OUTCOME_LOST;
    task_again(model, task);
    return true;
}

static void task_confirm(struct model *model, const struct model_task *task, int32_t status)
{
    uint64_t client = model_job_find(model, task->id.job)->client;
    model_add_action(model,
                     (struct rota_action){.kind = ROTA_ACTION_CONFIRM,
                                          .confirm = {client, task->id, task->outcome, status}});
}

static bool is_out(const struct model_task *task)
{
    return task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
}

static void task_end_one(struct model *model, struct model_task *task, enum rota_task_state state,
                         enum rota_outcome outcome, int32_t status)
{
    bool again = task->regenerating && state == ROTA_TASK_SUCCEEDED;
    if (is_out(task) && state != ROTA_TASK_SUCCEEDED) model_streams_give_up(model, task);
    bool in_vain = task->state == ROTA_TASK_RUNNING && state != ROTA_TASK_SUCCEEDED;
    if (in_vain) model_streams_in_vain(model, task);
    model_task_leave_worker(task);
    task->leader = (rota_task_id){0, 0};
    task->leads = false;
    task->state = state;
    task->outcome = outcome;
    task->regenerating = false;
    task->bypasses = false;
    if (in_vain) model_streams_failed(model, task);
    if (!again) task_confirm(model, task, status);
    bool failed
        = state == ROTA_TASK_FAILED || (state == ROTA_TASK_ABORTED && outcome == ROTA_OUTCOME_LOST);
    struct model_job *job = model_job_find(model, task->id.job);
    if (failed && job->on_failure == ROTA_FAILURE_FAIL_JOB) job->failing = true;
}

static void regeneration_end(struct model *model, struct model_task *task)
{
    bool ran = task->state == ROTA_TASK_RUNNING;
    if (is_out(task)) model_streams_give_up(model, task);
    if (ran) model_streams_in_vain(model, task);
    model_task_leave_worker(task);
    task->leader = (rota_task_id){0, 0};
    task->leads = false;
    task->state = ROTA_TASK_SUCCEEDED;
    task->regenerating = false;
    if (ran) model_streams_failed(model, task);
}

// A task ends, and with it the tasks that it ran for.
void model_task_end(struct model *model, struct model_task *task, enum rota_task_state state,
                    enum rota_outcome outcome, int32_t status)
{
    if (task->stopping) model_task_release(model, task);  // tasks that came since still need it
    if (task->stopping && task->regenerating) {  // it was to run again, and does not
        regeneration_end(model, task);
        return;
    }
    rota_worker_id worker = task->worker;
    task_end_one(model, task, state, outcome, status);
    if (state == ROTA_TASK_SUCCEEDED) model_outputs_finish(model, task, worker);
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *other = &model->tasks[i];
        if (other->state != ROTA_TASK_SHARED || !model_same_task(other->leader, task->id)) continue;
        task_end_one(model, other, state, outcome, status);
        if (state == ROTA_TASK_SUCCEEDED) model_outputs_finish(model, other, worker);
    }
}

void model_task_fail_attempt(struct model *model, struct model_task *task,
                             enum rota_outcome outcome, int32_t status)
{
    task->outcome = outcome;
    if (model_streams_lost_reader(model, task)) task->tries -= task->tries > 0;
    if (task->tries <= task->spec.retries_max)
        task_again(model, task);
    else
        model_task_end(model, task, ROTA_TASK_FAILED, outcome, status);
}

void model_task_lose(struct model *model, struct model_task *task)
{
    if (model_task_is_discarded(model, task)) return;
    if (task->stopping) {
        model_task_end(model, task, ROTA_TASK_ABORTED, ROTA_OUTCOME_ABORTED, 0);
        return;
    }
    bool longer
        = model_is_pull(model, task) || !model_is_no_object(task->spec.key) || task->regenerating;
    uint32_t losses_max = task->spec.retries_max + (longer ? ROTA_LOSSES_MAX : 0);
    task->outcome = ROTA_OUTCOME_LOST;
    if (task->tries <= losses_max)
        task_again(model, task);
    else
        model_task_end(model, task, ROTA_TASK_ABORTED, ROTA_OUTCOME_LOST, 0);
}

static bool is_led_by(const struct model_task *task, const struct model_task *leader)
{
    return task->state == ROTA_TASK_SHARED && model_same_task(task->leader, leader->id);
}

// It leads no longer: the tasks it ran for are offered again.
void model_task_release(struct model *model, struct model_task *leader)
{
    leader->leads = false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *other = &model->tasks[i];
        if (!is_led_by(other, leader)) continue;
        other->state = ROTA_TASK_OFFERED;
        other->leader = (rota_task_id){0, 0};
        other->placed = false;
    }
}

// The first of the tasks it runs for that has not had its number.
static struct model_task *heir_find(struct model *model, const struct model_task *leader,
                                    bool *leads)
{
    struct model_task *heir = NULL;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *other = &model->tasks[i];
        if (!is_led_by(other, leader)) continue;
        *leads = true;
        if (other->attempt >= leader->attempt) continue;
        if (!heir || other->sequence < heir->sequence) heir = other;
    }
    return heir;
}

// One of the tasks it runs for takes over its execution. Without one the others run themselves, or
// wait until the execution has stopped.
void model_task_hand_over(struct model *model, struct model_task *leader)
{
    bool leads = false, on_worker = model_is_on_worker(leader);
    struct model_task *heir = heir_find(model, leader, &leads);
    if (leads && (!on_worker || (!heir && leader->state != ROTA_TASK_RUNNING)))
        model_task_release(model, leader);  // a handler's claim is not handed over
    if (!heir || !on_worker) return;
    heir->state = leader->state;
    heir->worker = leader->worker;
    heir->attempt = leader->attempt;
    heir->tries = leader->tries;
    heir->run_as = leader->run_as;
    heir->leader = (rota_task_id){0, 0};
    heir->leads = heir->placed = true;
    leader->leads = false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (is_led_by(&model->tasks[i], leader)) model->tasks[i].leader = heir->id;
    }
    model_task_leave_worker(leader);
    leader->state = ROTA_TASK_QUEUED;  // for the caller to move on
}

static bool has_heir(struct model *model, const struct model_task *leader)
{
    bool leads = false;
    return heir_find(model, leader, &leads);
}

// A cancelled task that may have begun in a lane keeps its place until its end. True: a handler has
// it, which cannot be told to stop.
static bool cancel_waits(struct model *model, struct model_task *task)
{
    if (!model_keeps_lane(model, task)) return false;
    if (task->state == ROTA_TASK_ASSIGNED && !has_heir(model, task)) model_task_begin(model, task);
    if (task->state != ROTA_TASK_RUNNING || !task->claimed) return false;
    task->stopping = true;
    return true;
}

// It was to run again, and now it ends: there is no wait for a handler.
static bool cancel_discarded(struct model_task *task)
{
    if (!task->discarded) return false;
    task->discarded = false;
    task->stopping = !task->claimed;
    return true;
}

bool model_task_cancel(struct model *model, struct model_task *task)
{
    if (task->spec.flags & ROTA_TASK_BUNDLE) return false;
    if (!model_state_is_active(task->state) || task->regenerating) return false;
    bool discarded = cancel_discarded(task);
    if (task->stopping) return discarded;
    if (cancel_waits(model, task)) return true;
    model_task_hand_over(model, task);
    if (task->state == ROTA_TASK_RUNNING && !task->claimed) {
        model_task_stop(model, task);
        task->stopping = true;
        return true;
    }
    if (task->state == ROTA_TASK_ASSIGNED) model_task_stop(model, task);
    model_task_end(model, task, ROTA_TASK_ABORTED, ROTA_OUTCOME_ABORTED, 0);
    return true;
}

// Tasks that were to run again for the job end with it.
static void regeneration_cancel(struct model *model, struct model_task *task)
{
    if (task->regenerating) cancel_discarded(task);
    if (!task->regenerating || task->stopping || cancel_waits(model, task)) return;
    model_task_hand_over(model, task);
    bool on_worker = model_is_on_worker(task);
    if (on_worker) model_task_stop(model, task);
    if (on_worker && task->state == ROTA_TASK_RUNNING)
        task->stopping = true;
    else
        regeneration_end(model, task);
}

// Tasks that others run for come first: the execution is left to a task of another job, or stopped.
void model_job_cancel(struct model *model, uint32_t job)
{
    for (uint32_t i = 0; i < 2 * model->task_count; i++) {
        struct model_task *task = &model->tasks[i % model->task_count];
        if (task->id.job != job) continue;
        if (task->state != ROTA_TASK_SHARED && i < model->task_count) continue;
        model_task_cancel(model, task);
        regeneration_cancel(model, task);
    }
}

// ---- Requests of clients ------------------------------------------------------------------------

static bool job_is_live(struct model *model, uint32_t number)
{
    const struct model_job *job = model_job_find(model, number);
    return job && (job->state == ROTA_JOB_OPEN || job->state == ROTA_JOB_LAST);
}

static bool is_finished(struct model *model, uint32_t job)
{
    if (model_job_find(model, job)->state == ROTA_JOB_OPEN) return false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        bool is_active = task->state >= ROTA_TASK_STAGED && task->state <= ROTA_TASK_RUNNING;
        if (task->id.job == job && !(task->spec.flags & ROTA_TASK_BUNDLE) && is_active)
            return false;
    }
    return true;
}

enum model_verdict model_on_cancel(struct model *model, const struct rota_event *event)
{
    rota_task_id id = event->task.task;
    if (id.task == 0) {
        if (!model_job_find(model, id.job)) return MODEL_REFUSE;
        if (!job_is_live(model, id.job)) return MODEL_EITHER;
        if (is_finished(model, id.job)) return MODEL_REFUSE;
        model_job_cancel(model, id.job);
        return MODEL_ACCEPT;
    }
    struct model_task *task = model_task_find(model, id);
    if (!task) return MODEL_REFUSE;
    if (task->stopping && !task->discarded) return MODEL_EITHER;
    if (!(task->spec.flags & ROTA_TASK_BUNDLE)) {
        return model_task_cancel(model, task) ? MODEL_ACCEPT : MODEL_REFUSE;
    }
    bool any = false, stopping = false;
    for (uint32_t i = 0; i < 2 * model->task_count; i++) {
        struct model_task *member = &model->tasks[i % model->task_count];
        if (member->id.job != id.job || member->spec.bundle != id.task) continue;
        if (member->state != ROTA_TASK_SHARED && i < model->task_count) continue;
        stopping |= member->stopping && !member->discarded;
        any |= model_task_cancel(model, member);
    }
    if (any) return MODEL_ACCEPT;
    return stopping ? MODEL_EITHER : MODEL_REFUSE;
}

enum model_verdict model_on_retry(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_task_find(model, event->task.task);
    if (!task || !job_is_live(model, task->id.job)) return MODEL_REFUSE;
    if (task->spec.flags & ROTA_TASK_BUNDLE) return MODEL_REFUSE;
    if (task->state != ROTA_TASK_FAILED && task->state != ROTA_TASK_ABORTED) return MODEL_REFUSE;
    model_task_queue(model, task);
    return MODEL_ACCEPT;
}

static enum model_verdict bundle_stage(struct model *model, struct model_task *bundle)
{
    if (model_shown(model, bundle) == ROTA_TASK_RUNNING) return MODEL_REFUSE;
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *member = &model->tasks[i];
        if (member->id.job != bundle->id.job || member->spec.bundle != bundle->id.task) continue;
        if (member->regenerating) continue;  // it runs again already
        if (member->state != ROTA_TASK_FROZEN) model_task_queue(model, member);
    }
    bundle->staged = true;
    return MODEL_ACCEPT;
}

enum model_verdict model_on_stage(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_task_find(model, event->task.task);
    if (!task || !job_is_live(model, task->id.job)) return MODEL_REFUSE;
    if (task->spec.flags & ROTA_TASK_BUNDLE) return bundle_stage(model, task);
    if (task->state != ROTA_TASK_IDLE && !model_state_is_over(task->state)) return MODEL_REFUSE;
    model_task_queue(model, task);
    return MODEL_ACCEPT;
}

static enum model_verdict manual_start(struct model *model, struct model_task *task)
{
    enum rota_task_state state = task->state;
    bool startable = state == ROTA_TASK_IDLE || state == ROTA_TASK_WAITING
                     || state == ROTA_TASK_BLOCKED || model_state_is_over(state);
    if (!startable || task->regenerating) return MODEL_REFUSE;
    if (!model_edges_met(model, task) || !model_inputs_met(model, task)) return MODEL_REFUSE;
    bool waits = state == ROTA_TASK_WAITING || state == ROTA_TASK_BLOCKED;
    struct model_task before = *task;
    model_task_queue(model, task);
    if (waits && before.keeps_place) {  // it is the same request, past its condition
        task->keeps_place = true;
        task->asked = before.asked;
    }
    task->bypasses = true;
    return MODEL_ACCEPT;
}

enum model_verdict model_on_manual(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_task_find(model, event->manual.task);
    if (!task || !job_is_live(model, task->id.job)) return MODEL_REFUSE;
    if (task->spec.flags & ROTA_TASK_BUNDLE) return MODEL_REFUSE;
    if (event->manual.action == ROTA_MANUAL_START) return manual_start(model, task);
    bool stable = task->state == ROTA_TASK_IDLE || task->state == ROTA_TASK_FROZEN
                  || model_state_is_over(task->state);
    if (!stable) return MODEL_REFUSE;
    switch (event->manual.action) {
    case ROTA_MANUAL_GREEN: task->state = ROTA_TASK_SUCCEEDED; return MODEL_ACCEPT;
    case ROTA_MANUAL_RED: task->state = ROTA_TASK_FAILED; return MODEL_ACCEPT;
    case ROTA_MANUAL_RESET: task->state = ROTA_TASK_IDLE; return MODEL_ACCEPT;
    case ROTA_MANUAL_FREEZE: task->state = ROTA_TASK_FROZEN; return MODEL_ACCEPT;
    default: return MODEL_REFUSE;
    }
}

// ---- Requests of handlers -----------------------------------------------------------------------

void model_grant(struct model *model, struct model_task *task, uint64_t handler)
{
    task->attempt++;
    task->tries++;
    task->state = ROTA_TASK_RUNNING;
    model_streams_renew(model, task);
    task->claimed = task->placed = true;
    task->leads = !model_is_no_object(task->spec.key);
    task->handler = handler;
    task->run_as = task->id;
    model_add_action(
        model, (struct rota_action){.kind = ROTA_ACTION_GRANT,
                                    .grant = {handler, task->spec.body, task->id, task->attempt}});
}

// Handlers may hold tasks of a finished job that were cancelled in a lane.
static bool is_with_handlers(struct model *model, const struct model_task *task)
{
    return job_is_live(model, task->id.job) || (task->claimed && task->stopping);
}

enum model_verdict model_on_claim(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_task_find(model, event->claim.task);
    if (!task || !is_with_handlers(model, task)) return MODEL_REFUSE;
    if (task->spec.flags & ROTA_TASK_BUNDLE) return MODEL_REFUSE;
    enum rota_task_state state = model_shown(model, task);
    if (state == ROTA_TASK_OFFERED) {
        if (!model_is_first_of_lane(model, task)) return MODEL_REFUSE;
        model_grant(model, task, event->claim.handler);
        return MODEL_ACCEPT;
    }
    bool fetched_ok = event->claim.flags & ROTA_FETCHED_OK;
    if (state == ROTA_TASK_RUNNING && task->claimed)
        return fetched_ok ? MODEL_ACCEPT : MODEL_REFUSE;
    bool handed = state >= ROTA_TASK_SHARED && state <= ROTA_TASK_RUNNING;
    if (handed && fetched_ok) return MODEL_EITHER;
    if (state != ROTA_TASK_FAILED && state != ROTA_TASK_ABORTED) return MODEL_REFUSE;
    if (!(event->claim.flags & ROTA_FAILED_OK)) return MODEL_REFUSE;
    if (task->spec.lane && !model_lane_is_open(model, task)) return MODEL_REFUSE;
    if (model_leader_find(model, task)) return MODEL_REFUSE;
    if (!model_edges_met(model, task) || !model_inputs_met(model, task)) return MODEL_REFUSE;
    model_task_queue(model, task);
    model_grant(model, task, event->claim.handler);
    return MODEL_ACCEPT;
}

enum model_verdict model_on_deliver(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_task_find(model, event->claim.task);
    if (!task || !is_with_handlers(model, task)) return MODEL_REFUSE;
    bool again = task->regenerating && task->claimed;  // by a claim without a name
    enum rota_task_state state = again ? task->state : model_shown(model, task);
    bool deliver = event->kind == ROTA_EVENT_DELIVER;
    bool delivered_ok = event->claim.flags & ROTA_DELIVERED_OK;
    if (task->spec.flags & ROTA_TASK_BUNDLE) return MODEL_REFUSE;
    if (state == ROTA_TASK_SUCCEEDED) return deliver && delivered_ok ? MODEL_ACCEPT : MODEL_REFUSE;
    bool given_back = event->claim.flags & ROTA_GIVEN_BACK;
    bool nofetch = state == ROTA_TASK_OFFERED && (event->claim.flags & ROTA_NOFETCH_OK);
    if (given_back) nofetch = false;
    bool owned = task->handler == 0 || task->handler == event->claim.handler;
    bool fetched = state == ROTA_TASK_RUNNING && task->claimed && owned;
    if (nofetch && !model_is_first_of_lane(model, task)) return MODEL_REFUSE;
    if (!nofetch && !fetched) return MODEL_REFUSE;
    if (model_task_is_discarded(model, task)) return MODEL_ACCEPT;
    if (task->stopping)
        model_task_end(model, task, ROTA_TASK_ABORTED, ROTA_OUTCOME_ABORTED, 0);
    else if (deliver)
        model_task_end(model, task, ROTA_TASK_SUCCEEDED, ROTA_OUTCOME_OK, 0);
    else if (given_back)
        model_task_lose(model, task);
    else
        model_task_end(model, task, ROTA_TASK_FAILED, ROTA_OUTCOME_EXIT, 0);
    return MODEL_ACCEPT;
}
