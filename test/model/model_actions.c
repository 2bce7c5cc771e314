// model_actions.c - compares the actions of the core with those that the model expects.
#include "model.h"

#include <string.h>

static const char *const action_names[] = {
    [ROTA_ACTION_ACCEPT] = "ACCEPT",     [ROTA_ACTION_CONFIRM] = "CONFIRM",
    [ROTA_ACTION_JOB_OVER] = "JOB_OVER", [ROTA_ACTION_WAIT_OVER] = "WAIT_OVER",
    [ROTA_ACTION_READ] = "READ",         [ROTA_ACTION_GRANT] = "GRANT",
    [ROTA_ACTION_RUN] = "RUN",           [ROTA_ACTION_STOP] = "STOP",
    [ROTA_ACTION_FETCH] = "FETCH",       [ROTA_ACTION_DROP] = "DROP",
    [ROTA_ACTION_STREAM] = "STREAM",     [ROTA_ACTION_COMPLETED] = "COMPLETED",
};

static bool is_expected_kind(enum rota_action_kind kind)
{
    return kind == ROTA_ACTION_ACCEPT || kind == ROTA_ACTION_CONFIRM
           || kind == ROTA_ACTION_WAIT_OVER || kind == ROTA_ACTION_GRANT || kind == ROTA_ACTION_STOP
           || kind == ROTA_ACTION_COMPLETED || kind == ROTA_ACTION_DROP;
}

// EXIT and ERROR are both failures; the specification does not say which one a handler's or a red
// task has.
static bool same_outcome(enum rota_outcome core, enum rota_outcome mine)
{
    bool core_failed = core == ROTA_OUTCOME_EXIT || core == ROTA_OUTCOME_ERROR;
    bool mine_failed = mine == ROTA_OUTCOME_EXIT || mine == ROTA_OUTCOME_ERROR;
    return core == mine || (core_failed && mine_failed);
}

static bool same_wait(struct model *model, const struct rota_action *core,
                      const struct rota_action *mine)
{
    rota_task_id id = mine->wait_over.task;
    if (core->wait_over.client != mine->wait_over.client) return false;
    if (!model_same_task(core->wait_over.task, id)) return false;
    const struct model_task *task = model_task_find(model, id);
    bool sum = id.task == 0 || !task || (task->spec.flags & ROTA_TASK_BUNDLE);
    bool core_ok = core->wait_over.outcome == ROTA_OUTCOME_OK;
    bool mine_ok = mine->wait_over.outcome == ROTA_OUTCOME_OK;
    if (mine->wait_over.outcome == ROTA_OUTCOME_NONE)
        return core->wait_over.outcome == ROTA_OUTCOME_NONE;
    return sum ? core_ok == mine_ok
               : same_outcome(core->wait_over.outcome, mine->wait_over.outcome);
}

static bool same_action(struct model *model, const struct rota_action *core,
                        const struct rota_action *mine)
{
    if (core->kind != mine->kind) return false;
    switch (core->kind) {
    case ROTA_ACTION_ACCEPT:
        return core->accept.client == mine->accept.client && core->accept.key == mine->accept.key
               && core->accept.job.number == mine->accept.job.number
               && core->accept.first == mine->accept.first;
    case ROTA_ACTION_CONFIRM:
        return core->confirm.client == mine->confirm.client
               && model_same_task(core->confirm.task, mine->confirm.task)
               && same_outcome(core->confirm.outcome, mine->confirm.outcome);
    case ROTA_ACTION_WAIT_OVER: return same_wait(model, core, mine);
    case ROTA_ACTION_GRANT:
        return core->grant.handler == mine->grant.handler && core->grant.body == mine->grant.body
               && model_same_task(core->grant.task, mine->grant.task)
               && core->grant.attempt == mine->grant.attempt;
    case ROTA_ACTION_STOP:
        return model_same_task(core->stop.task, mine->stop.task)
               && core->stop.attempt == mine->stop.attempt
               && core->stop.worker.number == mine->stop.worker.number;
    case ROTA_ACTION_DROP:
        return model_same_object(core->drop.object, mine->drop.object)
               && core->drop.worker.number == mine->drop.worker.number;
    default:
        return model_same_object(core->completed.key, mine->completed.key)
               && core->completed.worker.number == mine->completed.worker.number
               && core->completed.pending == mine->completed.pending;
    }
}

static void action_differs(struct model *model, const struct rota_action *action, const char *how)
{
    const char *name = action_names[action->kind];
    switch (action->kind) {
    case ROTA_ACTION_CONFIRM:
        model_differs(model, "%s: CONFIRM of %u.%u to client %llu with outcome %d", how,
                      action->confirm.task.job, action->confirm.task.task,
                      (unsigned long long)action->confirm.client, (int)action->confirm.outcome);
        return;
    case ROTA_ACTION_WAIT_OVER:
        model_differs(model, "%s: WAIT_OVER of %u.%u to client %llu with outcome %d", how,
                      action->wait_over.task.job, action->wait_over.task.task,
                      (unsigned long long)action->wait_over.client, (int)action->wait_over.outcome);
        return;
    case ROTA_ACTION_STOP:
        model_differs(model, "%s: STOP of %u.%u attempt %u on w%u", how, action->stop.task.job,
                      action->stop.task.task, action->stop.attempt, action->stop.worker.number);
        return;
    case ROTA_ACTION_DROP:
        model_differs(model, "%s: DROP of %llx.%llx on w%u", how,
                      (unsigned long long)action->drop.object.high,
                      (unsigned long long)action->drop.object.low, action->drop.worker.number);
        return;
    case ROTA_ACTION_GRANT:
        model_differs(model, "%s: GRANT of %u.%u attempt %u to %llu", how, action->grant.task.job,
                      action->grant.task.task, action->grant.attempt,
                      (unsigned long long)action->grant.handler);
        return;
    case ROTA_ACTION_ACCEPT:
        model_differs(model, "%s: ACCEPT of job %u first %u to client %llu key %llu", how,
                      action->accept.job.number, action->accept.first,
                      (unsigned long long)action->accept.client,
                      (unsigned long long)action->accept.key);
        return;
    default: model_differs(model, "%s: %s", how, name);
    }
}

// A kept object without readers may lose copies, but never the last one; an object of a closed job
// may lose all.
static bool surplus_drop(struct model *model, const struct rota_action *action)
{
    struct model_object *object = model_object_find(model, action->drop.object);
    uint32_t bit = 1u << (action->drop.worker.number & 31);
    if (!object) return true;  // its job was removed within the turn
    const struct model_job *job = model_job_find(model, object->job);
    if (job && job->state == ROTA_JOB_CLOSED) {  // at once or later, as the core chooses
        object->located &= ~bit;
        object->rest &= ~bit;
        return true;
    }
    if (object->told_lost & bit) return true;  // it was dropped before that
    if (object->told_held & bit) {             // before that, or after
        uint32_t located = model_located_in(model->core, object->id);
        object->located = (object->located & ~bit) | (located & bit);
        return true;
    }
    if (!((object->located | object->rest) & bit)) return false;
    bool kept = object->kept || object->told_release;  // the drop may be older than the release
    if (!kept || object->state != ROTA_OBJECT_FINISHED) return false;
    object->located &= ~bit;
    return object->located || object->server || object->told_lost;
}

static bool is_overfull(struct model *model, const struct model_worker *worker)
{
    if (!worker) return false;
    if (worker->slots && model_tasks_on(model, worker->id) > worker->slots) return true;
    return model_cores_used(model, worker->id) > worker->cores
           || model_memory_used(model, worker->id) > worker->memory_mib;
}

// A task that has not started on an overbooked worker may be taken back, to run elsewhere.
static bool take_back(struct model *model, const struct rota_action *action)
{
    struct model_task *task
        = model_attempt_find(model, action->stop.worker, action->stop.task, action->stop.attempt);
    if (!task || task->state != ROTA_TASK_ASSIGNED) return false;
    if (!is_overfull(model, model_worker_find(model, task->worker))) return false;
    model_task_leave_worker(task);
    task->tries--;
    task->state = ROTA_TASK_OFFERED;
    model_share(model);
    model_phases_move(model);
    return true;
}

static bool is_optional(const struct rota_action *action)
{
    return action->kind == ROTA_ACTION_WAIT_OVER && action->wait_over.wait == MODEL_OPTIONAL;
}

// Removes an expected action that matches this one, preferring one that must come.
static bool expected_take(struct model *model, const struct rota_action *action)
{
    uint32_t found = MODEL_ACTIONS;
    for (uint32_t i = 0; i < model->action_count; i++) {
        if (!same_action(model, action, &model->actions[i])) continue;
        if (found == MODEL_ACTIONS || !is_optional(&model->actions[i])) found = i;
    }
    if (found == MODEL_ACTIONS) return false;
    model->actions[found] = model->actions[--model->action_count];
    return true;
}

void model_compare_actions(struct model *model, const struct rota_effects *effects)
{
    for (uint32_t i = 0; i < effects->action_count; i++) {
        const struct rota_action *action = &effects->actions[i];
        if (action->kind == ROTA_ACTION_RUN) model_judge_run(model, action);
        if (!is_expected_kind(action->kind) || expected_take(model, action)) continue;
        if (action->kind == ROTA_ACTION_DROP && surplus_drop(model, action)) continue;
        if (action->kind == ROTA_ACTION_STOP && take_back(model, action)) continue;
        action_differs(model, action, "the core tells, the model does not");
    }
    for (uint32_t i = 0; i < model->action_count; i++) {
        const struct rota_action *action = &model->actions[i];
        if (!is_optional(action)) action_differs(model, action, "the core does not tell");
    }
    model->action_count = 0;
    for (uint32_t i = 0; i < model->object_count; i++) {
        model->objects[i].told_lost = model->objects[i].told_held = 0;
        model->objects[i].told_release = false;
    }
}
