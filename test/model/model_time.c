// model_time.c - the effects of time, and whether the choices of the core were legal.
#include "model.h"

// ---- Room -----------------------------------------------------------------------

static bool is_on(const struct model_task *task, rota_worker_id worker)
{
    return model_is_on_worker(task) && task->worker.number == worker.number;
}

uint32_t model_cores_used(struct model *model, rota_worker_id worker)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (is_on(&model->tasks[i], worker)) sum += model->tasks[i].spec.cores;
    }
    return sum;
}

uint32_t model_memory_used(struct model *model, rota_worker_id worker)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (is_on(&model->tasks[i], worker)) sum += model->tasks[i].spec.memory_mib;
    }
    return sum;
}

uint32_t model_tasks_on(struct model *model, rota_worker_id worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) count += is_on(&model->tasks[i], worker);
    return count;
}

static bool fits_empty(const struct model_task *task, const struct model_worker *worker)
{
    if (task->spec.machine && task->spec.machine != worker->machine) return false;
    return task->spec.cores <= worker->cores && task->spec.memory_mib <= worker->memory_mib;
}

static bool has_slot(struct model *model, const struct model_worker *worker)
{
    return worker->slots == 0 || model_tasks_on(model, worker->id) < worker->slots;
}

bool model_fits(struct model *model, const struct model_task *task,
                const struct model_worker *worker)
{
    if (!fits_empty(task, worker) || !has_slot(model, worker)) return false;
    if (model_cores_used(model, worker->id) + task->spec.cores > worker->cores) return false;
    return model_memory_used(model, worker->id) + task->spec.memory_mib <= worker->memory_mib;
}

// ---- Pull -------------------------------------------------------------------------

static bool is_located(struct model *model, rota_object_id id, rota_worker_id worker)
{
    const struct model_object *object = model_object_find(model, id);
    return object && (object->located & 1u << (worker.number & 31));
}

bool model_near(struct model *model, const struct model_task *task, rota_worker_id worker)
{
    if (!model_is_no_object(task->spec.key) && is_located(model, task->spec.key, worker))
        return true;
    for (uint32_t i = 0; i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        if (object->job != task->id.job || object->producer != task->id.task) continue;
        if (is_located(model, object->id, worker)) return true;
    }
    return false;
}

bool model_has_input_on(struct model *model, const struct model_task *task, rota_worker_id worker)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->job != task->id.job || input->task != task->id.task) continue;
        if (is_located(model, input->object, worker)) return true;
    }
    return false;
}

static bool is_near_somewhere(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->worker_count; i++) {
        if (model_near(model, task, model->workers[i].id)) return true;
    }
    return false;
}

static void phase_move(struct model *model, struct model_task *task)
{
    const struct model_lane *lane = model_lane_find(model, task->spec.lane);
    rota_time cached = model->config.cached_wait, inputs = model->config.inputs_wait;
    if (lane && lane->patience != ROTA_NEVER) cached = inputs = lane->patience;
    if (task->phase == MODEL_NEAR) {
        bool over = model->now - task->since >= cached, near = is_near_somewhere(model, task);
        if (!over && near) return;
        task->phase = MODEL_INPUT;
        task->since = near ? task->since + cached : model->now;
    }
    if (task->phase == MODEL_INPUT && model->now - task->since >= inputs)
        task->phase = MODEL_GLOBAL;
}

void model_phases_move(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        bool offered = task->state == ROTA_TASK_OFFERED && task->placed;
        if (!model_is_first_of_lane(model, task)) continue;  // its waits continue later
        if (offered && model_is_pull(model, task)) phase_move(model, task);
    }
}

void model_time(struct model *model, rota_time now)
{
    model->now = now;
    model->turn++;
    for (uint32_t i = 0; i < model->worker_count; i++) {
        const struct model_worker *worker = &model->workers[i];
        if (!worker->silent || now - worker->silent_since < model->config.lease) continue;
        model_worker_forget(model, i);
        i = UINT32_MAX;  // the rows have moved: from the start
    }
    model_attempts_lose(model);
    model_settle(model);
    model_phases_move(model);
}

// ---- Checking -----------------------------------------------------------------------------------

static bool may_pull(struct model *model, const struct model_task *task,
                     const struct model_worker *worker)
{
    if (worker->asks == 0 || worker->silent) return false;
    bool queued = model_near(model, task, worker->id) || task->phase == MODEL_GLOBAL
                  || (task->phase == MODEL_INPUT && model_has_input_on(model, task, worker->id));
    if (!queued) return false;
    if (worker->asks == ROTA_ASK_ALWAYS) return model_fits(model, task, worker);
    return fits_empty(task, worker) && has_slot(model, worker);
}

// The tasks of a lane are given out in order: whether no earlier one is offered.
bool model_is_first_of_lane(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->task_count && task->spec.lane; i++) {
        const struct model_task *other = &model->tasks[i];
        if (other->spec.lane != task->spec.lane || other->state != ROTA_TASK_OFFERED) continue;
        const struct model_lane *lane = model_lane_find(model, task->spec.lane);
        if (other != task && model_comes_before(lane, other, task)) return false;
    }
    return true;
}

static bool a_worker_has_room(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->worker_count; i++) {
        const struct model_worker *worker = &model->workers[i];
        if (!worker->silent && model_fits(model, task, worker)) return true;
    }
    return false;
}

// The least number of tasks that exceed the room of a worker.
static uint32_t beyond_room(struct model *model, const struct model_worker *worker)
{
    uint32_t cores = model_cores_used(model, worker->id), beyond = 0;
    bool taken[MODEL_TASKS] = {false};
    while (cores > worker->cores) {
        uint32_t largest = MODEL_TASKS;
        for (uint32_t i = 0; i < model->task_count; i++) {
            if (taken[i] || !is_on(&model->tasks[i], worker->id)) continue;
            bool larger = largest == MODEL_TASKS
                          || model->tasks[i].spec.cores > model->tasks[largest].spec.cores;
            if (larger) largest = i;
        }
        taken[largest] = true;
        cores -= model->tasks[largest].spec.cores;
        beyond++;
    }
    return beyond;
}

static uint32_t planned_on(struct model *model, const struct model_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (!is_on(task, worker->id)) continue;
        count += model_policy(model, task) == ROTA_POLICY_PLAN;
    }
    return count;
}

static const char *plan_mistake(struct model *model, const struct model_task *task,
                                const struct model_worker *worker)
{
    if (model_fits(model, task, worker)) return NULL;
    if (!fits_empty(task, worker)) return "does not fit the worker at all";
    if (model->config.overbook == 0) return "does not fit the free room";
    if (task->spec.lane) return "is in a lane and overbooks";
    if (a_worker_has_room(model, task)) return "overbooks while another worker has room";
    return NULL;
}

static const char *run_mistake(struct model *model, const struct model_task *task,
                               const struct model_worker *worker, uint32_t attempt)
{
    if (!task) return "is not known";
    if (task->state != ROTA_TASK_OFFERED) return "was not offered";
    if (!worker) return "went to an unknown worker";
    if (worker->silent) return "went to a silent worker";
    if (attempt != task->attempt + 1) return "has a wrong attempt number";
    if (!model_is_first_of_lane(model, task)) return "overtook in its lane";
    switch (model_policy(model, task)) {
    case ROTA_POLICY_PULL:
        return may_pull(model, task, worker) ? NULL : "was pulled by a worker that may not";
    case ROTA_POLICY_PLAN: return plan_mistake(model, task, worker);
    default: return "is for handlers only";
    }
}

void model_judge_run(struct model *model, const struct rota_action *action)
{
    struct model_task *task = model_task_find(model, action->run.task);
    struct model_worker *worker = model_worker_find(model, action->run.worker);
    const char *mistake = run_mistake(model, task, worker, action->run.attempt);
    if (mistake) {
        model_differs(model, "RUN of %u.%u on w%u, attempt %u: it %s", action->run.task.job,
                      action->run.task.task, action->run.worker.number, action->run.attempt,
                      mistake);
        return;
    }
    if (action->run.body != task->spec.body) model_differs(model, "RUN names a wrong body");
    if (model_is_pull(model, task) && worker->asks != ROTA_ASK_ALWAYS) worker->asks--;
    task->state = ROTA_TASK_ASSIGNED;
    task->placed = true;
    task->attempt++;
    task->tries++;
    task->worker = worker->id;
    task->run_as = task->id;
    task->claimed = false;
    task->handler = 0;
    model_streams_renew(model, task);
    model_share(model);
    model_phases_move(model);
    uint32_t beyond = beyond_room(model, worker), planned = planned_on(model, worker);
    if (beyond > planned) beyond = planned;  // its own request may exceed its room
    bool plan = model_policy(model, task) == ROTA_POLICY_PLAN;
    if (plan && beyond > model->config.overbook) {
        model_differs(model, "w%u has %u tasks beyond its room", worker->id.number, beyond);
    }
}

// Work conservation: the core had no reason to leave anything for later.
void model_judge_waiting(struct model *model, bool plans_at_once)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->state != ROTA_TASK_OFFERED || !model_is_first_of_lane(model, task)) continue;
        enum rota_policy policy = model_policy(model, task);
        if (policy == ROTA_POLICY_PLAN && plans_at_once && a_worker_has_room(model, task)) {
            model_differs(model, "%u.%u fits a free worker but was left", task->id.job,
                          task->id.task);
        }
        for (uint32_t w = 0; w < model->worker_count && policy == ROTA_POLICY_PULL; w++) {
            if (!may_pull(model, task, &model->workers[w])) continue;
            model_differs(model, "w%u asks, but %u.%u was not handed out",
                          model->workers[w].id.number, task->id.job, task->id.task);
        }
    }
}
