// model_compare.c - queries everything from the core and compares it with the model.
#include "model.h"

#include <stdio.h>
#include <string.h>

static const char *const list_names[] = {
    [ROTA_LIST_ALL] = "all",
    [ROTA_LIST_AVAILABLE] = "available",
    [ROTA_LIST_FETCHABLE] = "fetchable",
    [ROTA_LIST_UNKNOWN] = "unknown",
    [ROTA_LIST_BLOCKED] = "blocked",
    [ROTA_LIST_HELD] = "held",
    [ROTA_LIST_OFFERED] = "offered",
    [ROTA_LIST_ASSIGNED] = "assigned",
    [ROTA_LIST_RUNNING] = "running",
    [ROTA_LIST_SUCCEEDED] = "succeeded",
    [ROTA_LIST_FAILED] = "failed",
    [ROTA_LIST_ABORTED] = "aborted",
    [ROTA_LIST_UNSCHEDULABLE] = "unschedulable",
    [ROTA_LIST_STAGE] = "sched_stage",
    [ROTA_LIST_QUEUE] = "sched_queue",
    [ROTA_LIST_WAIT] = "sched_wait",
    [ROTA_LIST_READY] = "sched_ready",
    [ROTA_LIST_EXEC] = "sched_exec",
    [ROTA_LIST_UNSTAGE] = "sched_unstage",
    [ROTA_LIST_NEAR] = "near",
    [ROTA_LIST_INPUT] = "input",
    [ROTA_LIST_GLOBAL] = "global",
};

// ---- Lists ------------------------------------------------------------------------

static void ids_print(char *out, size_t size, const rota_task_id *ids, uint32_t count)
{
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < count && used + 24 < size; i++) {
        used += (size_t)snprintf(out + used, size - used, " %u.%u", ids[i].job, ids[i].task);
    }
}

static bool ids_equal(const rota_task_id *a, uint32_t a_count, const rota_task_id *b,
                      uint32_t b_count)
{
    if (a_count != b_count) return false;
    for (uint32_t i = 0; i < a_count; i++) {
        if (!model_same_task(a[i], b[i])) return false;
    }
    return true;
}

static bool comes_first(rota_task_id a, rota_task_id b)
{
    return a.job != b.job ? a.job < b.job : a.task < b.task;
}

static void ids_sort(rota_task_id *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i; k > 0 && comes_first(ids[k], ids[k - 1]); k--) {
            rota_task_id later = ids[k - 1];
            ids[k - 1] = ids[k];
            ids[k] = later;
        }
    }
}

// Compares two lists as sets.
static void ids_compare(struct model *model, const char *what, uint32_t number,
                        rota_task_id *core, uint32_t core_count, rota_task_id *mine,
                        uint32_t mine_count)
{
    char core_text[200], mine_text[200];
    ids_sort(core, core_count);
    ids_sort(mine, mine_count);
    if (ids_equal(core, core_count, mine, mine_count)) return;
    ids_print(core_text, sizeof core_text, core, core_count);
    ids_print(mine_text, sizeof mine_text, mine, mine_count);
    model_differs(model, "%s %u: core has%s, model has%s", what, number, core_text, mine_text);
}

// Compares a list with that of the model.
static void list_compare(struct model *model, const struct rota *rota, enum rota_list list,
                         rota_worker_id worker, rota_task_id *mine, uint32_t mine_count)
{
    rota_task_id core[MODEL_TASKS];
    uint32_t core_count = rota_list(rota, list, worker, core, MODEL_TASKS);
    if (list == ROTA_LIST_UNKNOWN && core_count == 0 && mine_count)  // memory may have been refused
        core_count = rota_list(rota, list, worker, core, MODEL_TASKS);
    bool queue = list >= ROTA_LIST_NEAR;  // these come in the order of the queue
    for (uint32_t i = 1; i < core_count && i < MODEL_TASKS && !queue; i++) {
        if (!comes_first(core[i - 1], core[i]))
            model_differs(model, "%s does not come by job and number", list_names[list]);
    }
    ids_compare(model, list_names[list], worker.number, core, core_count, mine, mine_count);
}

static void lists_compare(struct model *model, const struct rota *rota)
{
    uint32_t lists[MODEL_TASKS];
    for (uint32_t i = 0; i < model->task_count; i++) {
        lists[i] = model_lists(model, &model->tasks[i]);
    }
    for (int list = ROTA_LIST_ALL; list <= ROTA_LIST_UNSTAGE; list++) {
        rota_task_id mine[MODEL_TASKS];
        uint32_t count = 0;
        if (list == ROTA_LIST_UNSCHEDULABLE) continue;
        for (uint32_t i = 0; i < model->task_count; i++) {
            if (lists[i] >> list & 1) mine[count++] = model->tasks[i].id;
        }
        list_compare(model, rota, (enum rota_list)list, (rota_worker_id){0}, mine, count);
    }
    for (uint32_t i = 0; i < model->task_count; i++) {
        rota_task_id core[MODEL_TASKS], mine[MODEL_TASKS], id = model->tasks[i].id;
        uint32_t core_count = rota_blockers(rota, id, core, MODEL_TASKS);
        uint32_t mine_count = model_blockers(model, &model->tasks[i], mine);
        ids_compare(model, "blockers of task", id.task, core, core_count, mine, mine_count);
    }
}

// Tasks that wait in the queues of pull, of which every queue has some.
struct queued {
    const struct model_task *tasks[MODEL_TASKS];
    uint32_t count;
};

static void queue_compare(struct model *model, const struct rota *rota, enum rota_list list,
                          uint32_t worker, const struct queued *queued)
{
    rota_task_id mine[MODEL_TASKS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < queued->count; i++) {
        if (!model_in_queue(model, queued->tasks[i], list, (rota_worker_id){worker})) continue;
        mine[count++] = queued->tasks[i]->id;
    }
    list_compare(model, rota, list, (rota_worker_id){worker}, mine, count);
}

static void queues_compare(struct model *model, const struct rota *rota)
{
    struct queued queued;
    queued.count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (model_is_in_queues(model, task)) queued.tasks[queued.count++] = task;
    }
    for (uint32_t number = 1; number < 12; number++) {
        queue_compare(model, rota, ROTA_LIST_NEAR, number, &queued);
        queue_compare(model, rota, ROTA_LIST_INPUT, number, &queued);
    }
    queue_compare(model, rota, ROTA_LIST_GLOBAL, 0, &queued);
}

// ---- Tasks ------------------------------------------------------------------------

#define SAME(model, id, what, core, mine)                                                          \
    do {                                                                                           \
        if ((core) != (mine)) {                                                                    \
            model_differs(model, "%u.%u: %s is %llu in the core, %llu in the model", (id).job,     \
                          (id).task, what, (unsigned long long)(core),                             \
                          (unsigned long long)(mine));                                             \
        }                                                                                          \
    } while (0)

static void status_compare(struct model *model, const struct rota *rota,
                           const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    if (state == ROTA_TASK_SHARED) state = model_task_find(model, task->leader)->state;
    const char *core = rota_task_status(rota, task->id), *mine = model_status(state);
    if (strcmp(core, mine) == 0) return;
    model_differs(model, "%u.%u: status is %s in the core, %s in the model", task->id.job,
                  task->id.task, core, mine);
}

// When several tasks of one key go back at once, an attempt may pass through one of them or not:
// that depends on which is the first, which is not specified. Its number must not decrease.
static void attempt_learn(struct model_task *task, const struct rota_task_view *view)
{
    bool out = task->state >= ROTA_TASK_SHARED && task->state <= ROTA_TASK_RUNNING;
    bool keyed = !model_is_no_object(task->spec.key);
    if (keyed && !out && view->attempt >= task->attempt_before) task->attempt = view->attempt;
    task->attempt_before = task->attempt;
}

static void task_compare(struct model *model, const struct rota *rota, struct model_task *task)
{
    struct rota_task_view view;
    rota_task_id id = task->id;
    if (!rota_task_look(rota, id, &view)) {
        model_differs(model, "%u.%u: the core does not know it", id.job, id.task);
        return;
    }
    enum rota_task_state state = model_shown(model, task);
    if (view.state != state || rota_task_state(rota, id) != state) {
        model_differs(model, "%u.%u: is %s in the core, %s in the model", id.job, id.task,
                      rota_task_state_name(view.state), rota_task_state_name(state));
        return;
    }
    status_compare(model, rota, task);
    if (task->spec.flags & ROTA_TASK_BUNDLE) return;
    SAME(model, id, "regenerating", view.regenerating, task->regenerating);
    attempt_learn(task, &view);
    if (task->regenerating) return;
    SAME(model, id, "attempt", view.attempt, task->attempt);
    SAME(model, id, "stopping", view.stopping, task->stopping);
    SAME(model, id, "worker", view.worker.number, task->worker.number);
    if (task->claimed) SAME(model, id, "handler", view.handler, task->handler);
    if (state == ROTA_TASK_SHARED) {
        SAME(model, id, "leader's job", view.leader.job, task->leader.job);
        SAME(model, id, "leader", view.leader.task, task->leader.task);
    }
    if (model_is_on_worker(task)) {
        SAME(model, id, "run_as job", view.run_as.job, task->run_as.job);
        SAME(model, id, "run_as", view.run_as.task, task->run_as.task);
    }
}

static void jobs_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t i = 0; i < model->job_count; i++) {
        const struct model_job *job = &model->jobs[i];
        const char *mine = model_status(model_sum(model, job->number, 0));
        if (job->state == ROTA_JOB_FAILED) mine = "FAILED";
        if (job->state == ROTA_JOB_CLOSED) mine = "CLOSED";
        const char *core = rota_job_status(rota, (rota_job_id){job->number});
        if (strcmp(core, mine) == 0) continue;
        model_differs(model, "job %u: is %s in the core, %s in the model", job->number, core, mine);
    }
}

// ---- Lanes, workers, objects --------------------------------------------------------

static int32_t lane_count(struct model *model, const struct model_lane *lane, uint32_t *groups,
                          uint32_t *count)
{
    int32_t counter = 0;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->spec.lane != lane->number) continue;
        bool inside = task->state >= ROTA_TASK_OFFERED && task->state <= ROTA_TASK_RUNNING;
        if (inside) counter += task->spec.access == ROTA_ACCESS_WRITE ? 1 : -1;
        if (task->spec.group == 0) continue;
        if (inside || model_lane_head_reserves(model, lane, task))
            groups[(*count)++] = task->spec.group;
    }
    return counter;
}

static void lanes_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct model_lane *lane = &model->lanes[i];
        uint32_t mine[MODEL_TASKS], core[MODEL_TASKS], mine_count = 0;
        int32_t counter = 0, expected = lane_count(model, lane, mine, &mine_count);
        bool known = rota_lane_counter(rota, lane->number, &counter);
        if (!known || counter != expected) {
            model_differs(model, "lane %u: counter is %d in the core, %d in the model",
                          lane->number, counter, expected);
        }
        uint32_t count = rota_lane_groups(rota, lane->number, core, MODEL_TASKS);
        bool same = count == mine_count;
        for (uint32_t k = 0; k < mine_count && same; k++) {
            bool found = false;
            for (uint32_t c = 0; c < count; c++) found |= core[c] == mine[k];
            same = found;
        }
        if (!same) {
            model_differs(model, "lane %u: %u groups (%u...) in the core, %u (%u...) in the model",
                          lane->number, count, count ? core[0] : 0, mine_count,
                          mine_count ? mine[0] : 0);
        }
    }
}

static uint32_t rest(uint32_t whole, uint32_t used)
{
    return used > whole ? 0 : whole - used;
}

// The tasks of a worker are listed once each.
static void compare_worker_tasks(struct model *model, const struct rota *rota, rota_worker_id id)
{
    enum { MOST = 256 };
    rota_task_id tasks[MOST];
    uint32_t count = rota_worker_tasks(rota, id, tasks, MOST);
    if (count != model_tasks_on(model, id))
        model_differs(model, "w%u: %u tasks are listed", id.number, count);
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        struct rota_task_view view;
        bool its = rota_task_look(rota, tasks[i], &view) && view.worker.number == id.number;
        for (uint32_t j = 0; j < i; j++)
            its = its && (tasks[i].job != tasks[j].job || tasks[i].task != tasks[j].task);
        if (its) continue;
        model_differs(model, "w%u: %u.%u is listed", id.number, tasks[i].job, tasks[i].task);
    }
}

static void workers_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t number = 1; number < 12; number++) {
        rota_worker_id id = {number};
        const struct model_worker *mine = model_worker_find(model, id);
        struct rota_worker_view core;
        bool known = rota_worker_look(rota, id, &core);
        if (known != (mine != NULL)) {
            model_differs(model, "w%u: %s in the core", number, known ? "still" : "not");
            continue;
        }
        if (!mine) continue;
        compare_worker_tasks(model, rota, id);
        uint32_t tasks = model_tasks_on(model, id);
        uint32_t cores = rest(mine->cores, model_cores_used(model, id));
        uint32_t memory = rest(mine->memory_mib, model_memory_used(model, id));
        bool same = core.cores == mine->cores && core.memory_mib == mine->memory_mib
                    && core.cores_free == cores && core.memory_mib_free == memory
                    && core.tasks == tasks && core.asks == mine->asks
                    && core.silent == mine->silent;
        if (same) continue;
        model_differs(model,
                      "w%u: core %u cores (%u free) %u MiB (%u free) %u tasks %u asks "
                      "silent %d; model %u (%u) %u (%u) %u %u %d",
                      number, core.cores, core.cores_free, core.memory_mib, core.memory_mib_free,
                      core.tasks, core.asks, core.silent, mine->cores, cores, mine->memory_mib,
                      memory, tasks, mine->asks, mine->silent);
    }
}

uint32_t model_located_in(const struct rota *rota, rota_object_id id)
{
    rota_worker_id workers[32];
    uint32_t bits = 0, count = rota_object_workers(rota, id, ROTA_SET_LOCATED, workers, 32);
    for (uint32_t i = 0; i < count && i < 32; i++) bits |= 1u << (workers[i].number & 31);
    return bits;
}

static bool object_is_settled(struct model *model, const struct model_object *object)
{
    return object->job == 0 || model_job_find(model, object->job)->state != ROTA_JOB_CLOSED;
}

static void objects_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (!object_is_settled(model, object)) continue;
        enum rota_object_state state = rota_object_state(rota, object->id);
        const struct model_job *job = model_job_find(model, object->job);
        bool failed = job && job->state == ROTA_JOB_FAILED;
        // Lost with the worker whose loss made the job fail: it may run again or not.
        if (failed && object->state == ROTA_OBJECT_REMOVED && state == ROTA_OBJECT_UNFINISHED)
            object->state = state;
        if (object->job && state != object->state) {
            model_differs(model, "object %llx.%llx: state %d in the core, %d in the model",
                          (unsigned long long)object->id.high, (unsigned long long)object->id.low,
                          (int)state, (int)object->state);
        }
        uint64_t bytes = rota_object_bytes(rota, object->id);
        if (object->job && bytes != object->bytes && state != ROTA_OBJECT_REMOVED) {
            model_differs(model, "object %llx.%llx: %llu bytes in the core, %llu in the model",
                          (unsigned long long)object->id.high, (unsigned long long)object->id.low,
                          (unsigned long long)bytes, (unsigned long long)object->bytes);
        }
    }
}

static void locations_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        if (!object_is_settled(model, object)) continue;
        uint32_t located = model_located_in(rota, object->id);
        if (located != object->located) {
            model_differs(model,
                          "object %llx.%llx: located on bits %x in the core, %x in the model",
                          (unsigned long long)object->id.high, (unsigned long long)object->id.low,
                          located, object->located);
        }
        rota_worker_id holder = rota_locate(rota, object->id);
        bool fine = holder.number ? (located & 1u << (holder.number & 31)) != 0 : located == 0;
        if (!fine) model_differs(model, "rota_locate() names w%u", holder.number);
    }
}

// ---- Everything ---------------------------------------------------------------------------------

void model_compare(struct model *model, const struct rota *rota)
{
    for (uint32_t i = 0; i < model->task_count; i++) task_compare(model, rota, &model->tasks[i]);
    jobs_compare(model, rota);
    lists_compare(model, rota);
    lanes_compare(model, rota);
    workers_compare(model, rota);
    objects_compare(model, rota);
}

void model_compare_turn(struct model *model, const struct rota *rota)
{
    locations_compare(model, rota);
    queues_compare(model, rota);
}
