// model_view.c - the lists that clients can query, computed from the model.
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

// ---- Dependencies -------------------------------------------------------------------------------

// Each call returns the next direct dependency of a task, by edge or input.
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

// The tasks that block one, each once.
struct blockers {
    rota_task_id *out;
    uint32_t count;
};

static void blocker_add(struct model *model, struct blockers *blockers,
                        const struct model_task *task)
{
    if (!task || !has_failed(model, task)) return;
    for (uint32_t i = 0; i < blockers->count; i++) {
        if (model_same_task(blockers->out[i], task->id)) return;
    }
    blockers->out[blockers->count++] = task->id;
}

static void input_blockers(struct model *model, const struct model_task *task,
                           struct blockers *blockers)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        if (input->job != task->id.job || input->task != task->id.task) continue;
        const struct model_object *object = model_object_find(model, input->object);
        if (model_object_counts(model, object)) continue;
        blocker_add(model, blockers, model_producer(model, object));
    }
}

uint32_t model_blockers(struct model *model, const struct model_task *task, rota_task_id *out)
{
    struct blockers blockers = {out, 0};
    if (is_bundle(task) || !is_untouched(task->state) || task->regenerating) return 0;
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        rota_task_id id = {edge->job, edge->before};
        blocker_add(model, &blockers, model_task_find(model, id));
    }
    input_blockers(model, task, &blockers);
    if (model_condition_possible(model, task)) return blockers.count;
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        blocker_add(model, &blockers, model_task_find(model, task->clauses[i].task));
    }
    return blockers.count;
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

// All its dependencies are blocked or unknown themselves.
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

// Whether a worker may ask for it, under pull.
bool model_is_in_queues(struct model *model, const struct model_task *task)
{
    if (is_bundle(task) || task->state != ROTA_TASK_OFFERED || !task->placed) return false;
    return model_is_pull(model, task) && model_is_first_of_lane(model, task);
}

bool model_in_queue(struct model *model, const struct model_task *task, enum rota_list list,
                    rota_worker_id worker)
{
    if (list == ROTA_LIST_NEAR) return model_near(model, task, worker);
    if (list == ROTA_LIST_GLOBAL) return task->phase == MODEL_GLOBAL;
    return task->phase >= MODEL_INPUT && model_has_input_on(model, task, worker);
}

static uint32_t bit(enum rota_list list, bool in)
{
    return in ? 1u << list : 0;
}

static uint32_t tables_of(struct model *model, const struct model_task *task,
                          enum rota_task_state shown)
{
    enum rota_task_state state = shown;
    if (shown == ROTA_TASK_SHARED) state = model_task_find(model, task->leader)->state;
    return bit(ROTA_LIST_STAGE, model_state_is_active(shown))
           | bit(ROTA_LIST_QUEUE, state == ROTA_TASK_QUEUED)
           | bit(ROTA_LIST_WAIT, state == ROTA_TASK_WAITING || state == ROTA_TASK_BLOCKED)
           | bit(ROTA_LIST_READY, state >= ROTA_TASK_READY && state <= ROTA_TASK_OFFERED)
           | bit(ROTA_LIST_EXEC, state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING);
}

static uint32_t list_of(enum rota_task_state state)
{
    switch (state) {
    case ROTA_TASK_HELD: return 1u << ROTA_LIST_HELD;
    case ROTA_TASK_OFFERED: return 1u << ROTA_LIST_OFFERED;
    case ROTA_TASK_ASSIGNED: return 1u << ROTA_LIST_ASSIGNED;
    case ROTA_TASK_RUNNING: return 1u << ROTA_LIST_RUNNING;
    case ROTA_TASK_SUCCEEDED: return 1u << ROTA_LIST_SUCCEEDED;
    case ROTA_TASK_FAILED: return 1u << ROTA_LIST_FAILED;
    case ROTA_TASK_ABORTED: return 1u << ROTA_LIST_ABORTED;
    default: return 0;
    }
}

uint32_t model_lists(struct model *model, const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    uint32_t all = 1u << ROTA_LIST_ALL;
    if (is_bundle(task)) return all | bit(ROTA_LIST_STAGE, state == ROTA_TASK_RUNNING);
    bool first = state == ROTA_TASK_OFFERED && model_is_first_of_lane(model, task);
    bool blocked = model_is_blocked(model, task);
    return all | tables_of(model, task, state) | list_of(state)
           | bit(ROTA_LIST_AVAILABLE, state >= ROTA_TASK_HELD && state <= ROTA_TASK_RUNNING)
           | bit(ROTA_LIST_FETCHABLE, first) | bit(ROTA_LIST_BLOCKED, blocked)
           | bit(ROTA_LIST_UNKNOWN, !blocked && is_unknown(model, task));
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
