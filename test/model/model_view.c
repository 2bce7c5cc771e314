// model_view.c - the lists of the five documents, computed from the model.
#include "model.h"

static bool is_bundle(const struct model_task *task)
{
    return task->spec.flags & ROTA_TASK_BUNDLE;
}

static bool has_failed(struct model *model, const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    return state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

static bool is_untouched(enum rota_task_state state)
{
    return state >= ROTA_TASK_QUEUED && state <= ROTA_TASK_BLOCKED;
}

// ---- Prerequisites ----------------------------------------------------------------

// Calls of this are the direct prerequisites of a task by edge or input, one after the other.
static const struct model_task *prerequisite(struct model *model, const struct model_task *task,
                                             uint32_t number)
{
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        if (number-- == 0) return model_task_find(model, (rota_task_id){edge->job, edge->before});
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        if (input->job != task->id.job || input->task != task->id.task) continue;
        const struct model_task *producer
            = model_producer(model, model_object_find(model, input->object));
        if (producer && number-- == 0) return producer;
    }
    return NULL;
}

static bool blocks(struct model *model, const struct model_task *task,
                   const struct model_task *other)
{
    if (!has_failed(model, other)) return false;
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        if (edge->job == other->id.job && edge->before == other->id.task) return true;
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        if (input->job != task->id.job || input->task != task->id.task) continue;
        const struct model_object *object = model_object_find(model, input->object);
        if (model_producer(model, object) == other && !model_object_counts(model, object))
            return true;
    }
    if (model_condition_possible(model, task)) return false;
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        if (model_same_task(task->clauses[i].task, other->id)) return true;
    }
    return false;
}

uint32_t model_blockers(struct model *model, const struct model_task *task, rota_task_id *out)
{
    uint32_t count = 0;
    if (is_bundle(task) || !is_untouched(task->state) || task->regenerating) return 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (!blocks(model, task, &model->tasks[i])) continue;
        out[count++] = model->tasks[i].id;
    }
    return count;
}

bool model_is_blocked(struct model *model, const struct model_task *task)
{
    rota_task_id blockers[MODEL_TASKS];
    return model_blockers(model, task, blockers) > 0;
}

static bool is_unknown(struct model *model, const struct model_task *task);

static bool is_out_of_reach(struct model *model, const struct model_task *task)
{
    return model_is_blocked(model, task) || is_unknown(model, task);
}

// All that it needs is blocked or unknown in its turn.
static bool is_unknown(struct model *model, const struct model_task *task)
{
    if (is_bundle(task) || !is_untouched(task->state) || task->regenerating) return false;
    if (model_is_blocked(model, task)) return false;
    const struct model_task *before;
    uint32_t count = 0;
    for (; (before = prerequisite(model, task, count)) != NULL; count++) {
        if (!is_out_of_reach(model, before)) return false;
    }
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        before = model_task_find(model, task->clauses[i].task);
        if (!before) continue;
        if (!is_out_of_reach(model, before)) return false;
        count++;
    }
    return count > 0;
}

// ---- Lists ------------------------------------------------------------------------

static bool in_pull_list(struct model *model, const struct model_task *task, enum rota_list list,
                         rota_worker_id worker)
{
    if (task->state != ROTA_TASK_OFFERED || !model_is_pull(model, task)) return false;
    if (!task->placed || !model_is_first_of_lane(model, task)) return false;
    if (list == ROTA_LIST_NEAR) return model_near(model, task, worker);
    if (list == ROTA_LIST_GLOBAL) return task->phase == MODEL_GLOBAL;
    return task->phase >= MODEL_INPUT && model_has_input_on(model, task, worker);
}

static bool in_table(struct model *model, const struct model_task *task, enum rota_list list)
{
    enum rota_task_state state = model_shown(model, task);
    if (is_bundle(task)) return list == ROTA_LIST_STAGE && state == ROTA_TASK_RUNNING;
    if (state == ROTA_TASK_SHARED && list != ROTA_LIST_STAGE) {
        state = model_task_find(model, task->leader)->state;
    }
    switch (list) {
    case ROTA_LIST_STAGE: return model_state_is_active(state);
    case ROTA_LIST_QUEUE: return state == ROTA_TASK_QUEUED;
    case ROTA_LIST_WAIT: return state == ROTA_TASK_WAITING || state == ROTA_TASK_BLOCKED;
    case ROTA_LIST_READY: return state >= ROTA_TASK_READY && state <= ROTA_TASK_OFFERED;
    case ROTA_LIST_EXEC: return state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING;
    default: return false;
    }
}

bool model_in_list(struct model *model, const struct model_task *task, enum rota_list list,
                   rota_worker_id worker)
{
    enum rota_task_state state = model_shown(model, task);
    if (list == ROTA_LIST_ALL) return true;
    if (list >= ROTA_LIST_STAGE && list <= ROTA_LIST_UNSTAGE) return in_table(model, task, list);
    if (is_bundle(task)) return false;
    switch (list) {
    case ROTA_LIST_AVAILABLE: return state >= ROTA_TASK_HELD && state <= ROTA_TASK_RUNNING;
    case ROTA_LIST_FETCHABLE:
        return state == ROTA_TASK_OFFERED && model_is_first_of_lane(model, task);
    case ROTA_LIST_OFFERED: return state == ROTA_TASK_OFFERED;
    case ROTA_LIST_UNKNOWN: return is_unknown(model, task);
    case ROTA_LIST_BLOCKED: return model_is_blocked(model, task);
    case ROTA_LIST_HELD: return state == ROTA_TASK_HELD;
    case ROTA_LIST_ASSIGNED: return state == ROTA_TASK_ASSIGNED;
    case ROTA_LIST_RUNNING: return state == ROTA_TASK_RUNNING;
    case ROTA_LIST_SUCCEEDED: return state == ROTA_TASK_SUCCEEDED;
    case ROTA_LIST_FAILED: return state == ROTA_TASK_FAILED;
    case ROTA_LIST_ABORTED: return state == ROTA_TASK_ABORTED;
    default: return in_pull_list(model, task, list, worker);
    }
}

const char *model_status(enum rota_task_state state)
{
    switch (state) {
    case ROTA_TASK_IDLE: return "IDLE";
    case ROTA_TASK_QUEUED: return "QUEUED";
    case ROTA_TASK_WAITING:
    case ROTA_TASK_BLOCKED: return "WAITING";
    case ROTA_TASK_READY:
    case ROTA_TASK_HELD:
    case ROTA_TASK_OFFERED: return "READY";
    case ROTA_TASK_ASSIGNED:
    case ROTA_TASK_RUNNING: return "RUNNING";
    case ROTA_TASK_SUCCEEDED: return "SUCCESS";
    case ROTA_TASK_FAILED: return "FAILED";
    case ROTA_TASK_ABORTED: return "ABORTED";
    case ROTA_TASK_FROZEN: return "FROZEN";
    default: return "";
    }
}
