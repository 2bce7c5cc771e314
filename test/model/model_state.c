// model_state.c - values that follow from the state of the model: conditions, dependencies, sums.
#include "model.h"

bool model_state_is_over(enum rota_task_state state)
{
    return state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

bool model_state_is_active(enum rota_task_state state)
{
    return state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING;
}

enum rota_policy model_policy(struct model *model, const struct model_task *task)
{
    enum rota_policy policy = model_job_find(model, task->id.job)->policy;
    return policy == ROTA_POLICY_DEFAULT ? model->config.policy : policy;
}

bool model_is_pull(struct model *model, const struct model_task *task)
{
    return model_policy(model, task) == ROTA_POLICY_PULL;
}

// In a lane, if the configuration says so: a task that a worker was told to run, or that a handler
// has claimed, may have begun, and keeps its place until the worker or the handler reports its end.
bool model_keeps_lane(const struct model *model, const struct model_task *task)
{
    return model->config.told_is_begun && task->spec.lane;
}

static bool members_are_idle(struct model *model, const struct model_task *bundle)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->id.job != bundle->id.job || task->spec.bundle != bundle->id.task) continue;
        if (task->state != ROTA_TASK_IDLE && task->state != ROTA_TASK_FROZEN) return false;
    }
    return true;
}

enum rota_task_state model_shown(struct model *model, const struct model_task *task)
{
    if (task->spec.flags & ROTA_TASK_BUNDLE) {
        bool idle = (task->spec.flags & ROTA_TASK_ON_DEMAND) && !task->staged;
        if (idle && members_are_idle(model, task)) return ROTA_TASK_IDLE;
        return model_sum(model, task->id.job, task->id.task);
    }
    return task->regenerating ? ROTA_TASK_SUCCEEDED : task->state;
}

// The state of a bundle, or (bundle 0) of a job, from those of its members.
enum rota_task_state model_sum(struct model *model, uint32_t job, uint32_t bundle)
{
    bool failed = false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->id.job != job || (task->spec.flags & ROTA_TASK_BUNDLE)) continue;
        if (bundle && task->spec.bundle != bundle) continue;
        enum rota_task_state state = model_shown(model, task);
        if (model_state_is_active(state) && state != ROTA_TASK_BLOCKED) return ROTA_TASK_RUNNING;
        if (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED) failed = true;
        if (state == ROTA_TASK_BLOCKED && model_failure_after(model, task)) failed = true;
    }
    return failed ? ROTA_TASK_FAILED : ROTA_TASK_SUCCEEDED;
}

// ---- Conditions ---------------------------------------------------------------

static bool clause_is_true(enum rota_clause_kind kind, enum rota_task_state state)
{
    if (state == ROTA_TASK_FROZEN) return true;
    switch (kind) {
    case ROTA_CLAUSE_SUCCESS: return state == ROTA_TASK_SUCCEEDED;
    case ROTA_CLAUSE_FAILED: return state == ROTA_TASK_FAILED;
    case ROTA_CLAUSE_NOT_RUNNING: return state == ROTA_TASK_IDLE || model_state_is_over(state);
    default: return model_state_is_over(state);
    }
}

static bool clause_is_possible(enum rota_clause_kind kind, enum rota_task_state state)
{
    if (clause_is_true(kind, state)) return true;
    if (state == ROTA_TASK_BLOCKED) return false;
    if (kind == ROTA_CLAUSE_SUCCESS) return state != ROTA_TASK_FAILED && state != ROTA_TASK_ABORTED;
    if (kind == ROTA_CLAUSE_FAILED)
        return state != ROTA_TASK_SUCCEEDED && state != ROTA_TASK_ABORTED;
    return true;
}

typedef bool clause_fn(enum rota_clause_kind kind, enum rota_task_state state);

static bool condition_value(struct model *model, const struct model_task *task, clause_fn *clause)
{
    if (task->spec.clause_count == 0 || task->bypasses) return true;
    bool stack[MODEL_CLAUSES];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        enum rota_clause_kind kind = task->clauses[i].kind;
        if (kind == ROTA_CLAUSE_AND || kind == ROTA_CLAUSE_OR) {
            bool last = stack[--depth];
            bool both = stack[depth - 1] && last, one = stack[depth - 1] || last;
            stack[depth - 1] = kind == ROTA_CLAUSE_AND ? both : one;
        } else {
            const struct model_task *named = model_task_find(model, task->clauses[i].task);
            stack[depth++] = clause(kind, model_shown(model, named));
        }
    }
    return stack[0];
}

bool model_condition_holds(struct model *model, const struct model_task *task)
{
    return condition_value(model, task, clause_is_true);
}

bool model_condition_possible(struct model *model, const struct model_task *task)
{
    return condition_value(model, task, clause_is_possible);
}

// ---- Dependencies -------------------------------------------------------------------------------

struct model_task *model_producer(struct model *model, const struct model_object *object)
{
    if (object->producer == 0) return NULL;
    return model_task_find(model, (rota_task_id){object->job, object->producer});
}

// Whether a consumer can read it.
bool model_object_present(struct model *model, const struct model_object *object)
{
    if (object->flags & ROTA_OBJECT_STREAM) {
        return object->state != ROTA_OBJECT_REMOVED
               && (object->rest || object->server
                   || model_producer(model, object)->state == ROTA_TASK_RUNNING);
    }
    return object->state == ROTA_OBJECT_FINISHED && (object->located || object->server);
}

// And whether it comes from a success. Its producer may have failed since, or been cancelled.
bool model_object_counts(struct model *model, const struct model_object *object)
{
    const struct model_task *producer = object->early ? model_producer(model, object) : NULL;
    bool in_vain = producer
                   && (producer->state == ROTA_TASK_FAILED || producer->state == ROTA_TASK_ABORTED
                       || (producer->stopping && !producer->discarded));
    return model_object_present(model, object) && !in_vain;
}

bool model_edges_met(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        rota_task_id id = {edge->job, edge->before};
        enum rota_task_state state = model_shown(model, model_task_find(model, id));
        if (state != ROTA_TASK_SUCCEEDED && state != ROTA_TASK_FROZEN) return false;
    }
    return true;
}

static bool input_is_of(const struct model_input *input, const struct model_task *task)
{
    if (input->flags & ROTA_OBJECT_ARTIFACT) return false;
    return input->job == task->id.job && input->task == task->id.task;
}

bool model_inputs_met(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        if (!input_is_of(&model->inputs[i], task)) continue;
        struct model_object *object = model_object_find(model, model->inputs[i].object);
        if (!model_object_counts(model, object)) return false;
    }
    return true;
}

static bool state_is_hopeless(enum rota_task_state state)
{
    return state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED || state == ROTA_TASK_BLOCKED;
}

// It waits for something that cannot come without a retry.
bool model_is_dead(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        rota_task_id id = {edge->job, edge->before};
        if (state_is_hopeless(model_shown(model, model_task_find(model, id)))) return true;
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        if (!input_is_of(&model->inputs[i], task)) continue;
        struct model_object *object = model_object_find(model, model->inputs[i].object);
        if (model_object_counts(model, object)) continue;
        const struct model_task *producer = model_producer(model, object);
        // As seen by its readers, which differs from its state for others: it may be unable to run
        // again.
        if (producer && state_is_hopeless(producer->state)) return true;
    }
    return !model_condition_possible(model, task);
}

static bool state_is_failure(struct model *model, const struct model_task *task,
                             enum rota_task_state state)
{
    if (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED) return true;
    return state == ROTA_TASK_BLOCKED && model_failure_after(model, task);
}

static bool is_failure(struct model *model, const struct model_task *task)
{
    return state_is_failure(model, task, model_shown(model, task));
}

// Whether a BLOCKED task waits for a failure, not only for tasks that are blocked without one.
bool model_failure_after(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        rota_task_id id = {edge->job, edge->before};
        if (is_failure(model, model_task_find(model, id))) return true;
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        if (!input_is_of(&model->inputs[i], task)) continue;
        struct model_object *object = model_object_find(model, model->inputs[i].object);
        if (model_object_counts(model, object)) continue;
        const struct model_task *producer = model_producer(model, object);
        if (producer && state_is_failure(model, producer, producer->state)) return true;
    }
    if (model_condition_possible(model, task)) return false;
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        const struct model_task *named = model_task_find(model, task->clauses[i].task);
        if (named && is_failure(model, named)) return true;
    }
    return false;
}
