// history_events.c - random events, most of them such that they can be accepted.
#include "history.h"

// ---- Picking -------------------------------------------------------------------------

typedef bool task_fn(struct model *model, const struct model_task *task);

static bool is_any(struct model *model, const struct model_task *task)
{
    (void)model;
    (void)task;
    return true;
}

static bool is_plain(const struct model_task *task)
{
    return !(task->spec.flags & ROTA_TASK_BUNDLE);
}

static bool is_assigned(struct model *model, const struct model_task *task)
{
    (void)model;
    return task->state == ROTA_TASK_ASSIGNED && is_plain(task);
}

static bool is_on_worker(struct model *model, const struct model_task *task)
{
    (void)model;
    return model_is_on_worker(task) && is_plain(task);
}

static bool is_offered(struct model *model, const struct model_task *task)
{
    if (task->state != ROTA_TASK_OFFERED || task->regenerating) return false;
    return model_is_first_of_lane(model, task);
}

static bool is_claimed(struct model *model, const struct model_task *task)
{
    (void)model;
    return task->state == ROTA_TASK_RUNNING && task->claimed;
}

static bool is_active(struct model *model, const struct model_task *task)
{
    return model_state_is_active(model_shown(model, task));
}

static bool has_failed(struct model *model, const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    return is_plain(task) && (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED);
}

static bool is_idle_or_over(struct model *model, const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    return state == ROTA_TASK_IDLE || model_state_is_over(state);
}

static bool is_manual(struct model *model, const struct model_task *task)
{
    enum rota_task_state state = model_shown(model, task);
    if (!is_plain(task)) return false;
    return is_idle_or_over(model, task) || state == ROTA_TASK_FROZEN || state == ROTA_TASK_WAITING
           || state == ROTA_TASK_BLOCKED;
}

// A task for which `good` holds, if there is one; sometimes any task, or one that does not exist.
static rota_task_id task_pick(struct history *history, task_fn *good)
{
    struct model *model = history->model;
    if (history_has(history, FEATURE_BAD) && history_chance(history, 8)) {
        if (history_chance(history, 4))
            return (rota_task_id){1 + history_pick(history, 4), 50 + history_pick(history, 3)};
        good = is_any;
    }
    uint32_t found = 0, from = history_pick(history, model->task_count);
    for (uint32_t i = 0; i < model->task_count; i++) {
        found = (from + i) % model->task_count;
        if (good(model, &model->tasks[found])) return model->tasks[found].id;
    }
    return (rota_task_id){0, 0};
}

static rota_worker_id worker_pick(struct history *history)
{
    const struct model *model = history->model;
    if (model->worker_count == 0 || history_chance(history, 6))
        return (rota_worker_id){1 + history_pick(history, 4)};
    return model->workers[history_pick(history, model->worker_count)].id;
}

// ---- Workers -----------------------------------------------------------------------------

void history_event_worker(struct history *history, struct rota_event *event)
{
    static const uint32_t memory[] = {1024, 0, 512, 4096};
    event->kind = ROTA_EVENT_WORKER_JOINED;
    event->worker.id = (rota_worker_id){1 + history_pick(history, 4)};
    event->worker.cores = 1 + history_pick(history, 4);
    event->worker.memory_mib = memory[history_pick(history, 4)];
    event->worker.slots = history_chance(history, 4) ? 1 + history_pick(history, 2) : 0;
    event->worker.machine = history_pick(history, 3);
}

static void event_worker_fault(struct history *history, struct rota_event *event)
{
    event->kind = (enum rota_event_kind)(ROTA_EVENT_WORKER_HEARD + history_pick(history, 3));
    event->worker.id = worker_pick(history);
}

static void event_asks(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_WORKER_ASKS;
    event->asks.id = worker_pick(history);
    event->asks.count = 1 + history_pick(history, 2);
    if (history_chance(history, 5)) event->asks.count = ROTA_ASK_ALWAYS;
}

static bool report_make(struct history *history, struct rota_event *event, task_fn *good)
{
    const struct model_task *task = model_task_find(history->model, task_pick(history, good));
    if (!task || !is_plain(task)) return false;
    event->report.worker = task->worker;
    event->report.task = model_is_on_worker(task) ? task->run_as : task->id;
    event->report.attempt = task->attempt;
    return true;
}

static void event_started(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_TASK_STARTED;
    if (!report_make(history, event, is_assigned)) event->kind = ROTA_EVENT_TIME;
}

static const struct model_object *output_of(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->object_count && task; i++) {
        const struct model_object *object = &model->objects[i];
        bool fits = object->job == task->id.job && object->producer == task->id.task;
        if (fits && !(object->flags & ROTA_OBJECT_STREAM)) return object;
    }
    return NULL;
}

static void event_finished(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_TASK_FINISHED;
    if (!report_make(history, event, is_on_worker)) {
        event->kind = ROTA_EVENT_TIME;
        return;
    }
    event->report.outcome = ROTA_OUTCOME_OK;
    if (history_has(history, FEATURE_FAILURES) && history_chance(history, 3)) {
        event->report.outcome = (enum rota_outcome)(ROTA_OUTCOME_EXIT + history_pick(history, 4));
        event->report.status = event->report.outcome == ROTA_OUTCOME_EXIT ? 3 : 0;
        return;
    }
    const struct model_task *task = model_task_find(history->model, event->report.task);
    const struct model_object *object = output_of(history->model, task);
    if (!object || !history_chance(history, 3)) return;
    if (history_has(history, FEATURE_FAILURES) && history_chance(history, 3)) {
        event->report.missing = object->id;
        return;
    }
    struct rota_output *size = &history->sizes[history->slot];
    *size = (struct rota_output){
        .task = task->id.task, .object = object->id, .bytes = 10 + history_pick(history, 100)};
    event->report.sizes = size;
    event->report.size_count = 1;
}

static void event_stale(struct history *history, struct rota_event *event)
{
    event->kind = history_chance(history, 2) ? ROTA_EVENT_TASK_STARTED : ROTA_EVENT_TASK_FINISHED;
    if (!report_make(history, event, is_on_worker)) {
        event->kind = ROTA_EVENT_TIME;
        return;
    }
    event->report.outcome = ROTA_OUTCOME_OK;
    if (history_chance(history, 2))
        event->report.worker.number = 1 + event->report.worker.number % 4;
    else
        event->report.attempt += history_chance(history, 2) ? 1 : UINT32_MAX;
}

// Handlers read lists, and a task that runs again is in none of them: a claim without a name gets
// it.
static bool is_made_again_by_hand(struct model *model, const struct model_task *task)
{
    if (task->state != ROTA_TASK_OFFERED || !task->regenerating) return false;
    return model_policy(model, task) == ROTA_POLICY_CLAIM && model_is_first_of_lane(model, task);
}

// A report or a delivery that makes progress, for the end of a history.
void history_event_finish_something(struct history *history, struct rota_event *event)
{
    struct model *model = history->model;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[(i + history->events) % model->task_count];
        bool claimed = task->state == ROTA_TASK_RUNNING && task->claimed;
        if (model_is_on_worker(task)) {
            event->kind = task->state == ROTA_TASK_ASSIGNED ? ROTA_EVENT_TASK_STARTED
                                                            : ROTA_EVENT_TASK_FINISHED;
            event->report.worker = task->worker;
            event->report.task = task->run_as;
            event->report.attempt = task->attempt;
            event->report.outcome = ROTA_OUTCOME_OK;
            return;
        }
        bool unseen = is_made_again_by_hand(model, task);
        if (!claimed && !unseen && !is_offered(model, task)) continue;
        event->kind = claimed ? ROTA_EVENT_DELIVER : ROTA_EVENT_CLAIM;
        event->claim.task = unseen ? (rota_task_id){0, 0} : task->id;
        event->claim.handler = claimed ? task->handler : 1;
        return;
    }
    event->kind = ROTA_EVENT_TIME;
}

// ---- Clients and handlers --------------------------------------------------------------------

static void event_claim(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_CLAIM;
    event->claim.handler = history_pick(history, 3);
    event->claim.flags = history_chance(history, 3) ? history_pick(history, 16) : 0;
    if (history_chance(history, 4)) {
        event->claim.task.job = history_pick(history, 4);  // any task of that job; 0: of all jobs
        return;
    }
    bool failed = (event->claim.flags & ROTA_FAILED_OK) && history_chance(history, 2);
    event->claim.task = task_pick(history, failed ? has_failed : is_offered);
    if (event->claim.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static void event_deliver(struct history *history, struct rota_event *event)
{
    bool fail = history_has(history, FEATURE_FAILURES) && history_chance(history, 3);
    event->kind = fail ? ROTA_EVENT_FAIL : ROTA_EVENT_DELIVER;
    event->claim.flags = history_chance(history, 4) ? history_pick(history, 32) : 0;
    bool nofetch = (event->claim.flags & ROTA_NOFETCH_OK) && history_chance(history, 2);
    event->claim.task = task_pick(history, nofetch ? is_offered : is_claimed);
    const struct model_task *task = model_task_find(history->model, event->claim.task);
    if (task) event->claim.handler = task->handler;
    if (history_has(history, FEATURE_BAD) && history_chance(history, 8))
        event->claim.handler = history_pick(history, 3);
    if (event->claim.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static void event_cancel(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_CANCEL;
    event->task.task = task_pick(history, is_active);
    if (history_chance(history, 8)) event->task.task.task = 0;
    if (event->task.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static void event_retry(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_RETRY;
    event->task.task = task_pick(history, has_failed);
    if (event->task.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static void event_stage(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_STAGE;
    event->task.task = task_pick(history, is_idle_or_over);
    if (event->task.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static void event_manual(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_MANUAL;
    event->manual.action = (enum rota_manual)(ROTA_MANUAL_START + history_pick(history, 5));
    event->manual.task = task_pick(history, is_manual);
    if (event->manual.task.job == 0) event->kind = ROTA_EVENT_TIME;
}

static rota_object_id object_pick(struct history *history)
{
    const struct model *model = history->model;
    if (history_chance(history, 8) || model->object_count == 0)
        return (rota_object_id){9, 1 + history_pick(history, 5)};
    return model->objects[history_pick(history, model->object_count)].id;
}

static void event_object(struct history *history, struct rota_event *event)
{
    event->kind = (enum rota_event_kind)(ROTA_EVENT_KEEP + history_pick(history, 3));
    if (event->kind == ROTA_EVENT_KEEP && history_pick(history, 4)) event->kind = ROTA_EVENT_READ;
    event->object.object = object_pick(history);
    struct model *model = history->model;
    for (uint32_t i = 0; i < model->object_count && !history_chance(history, 8); i++) {
        if (!model->objects[i].kept || history_pick(history, 2)) continue;
        event->object.object = model->objects[i].id;
        break;
    }
    const struct model_object *object = model_object_find(model, event->object.object);
    const struct model_job *job = object ? model_job_find(model, object->job) : NULL;
    event->object.client = job ? job->client : 1;
}

static void event_replica(struct history *history, struct rota_event *event)
{
    struct model *model = history->model;
    event->kind = history_chance(history, 3) ? ROTA_EVENT_OBJECT_LOST : ROTA_EVENT_OBJECT_HELD;
    event->replica.object = object_pick(history);
    event->replica.worker = worker_pick(history);
    event->replica.bytes = 100;
    const struct model_object *object = model_object_find(model, event->replica.object);
    if (object && object->job) event->replica.bytes = object->bytes;
    if (object && (object->flags & ROTA_OBJECT_STREAM)) {
        const struct model_task *producer = model_producer(model, object);
        event->kind = ROTA_EVENT_STREAMED;
        event->replica.bytes = 1000 + history_pick(history, 100);
        if (producer->worker.number) event->replica.worker = producer->worker;
        return;
    }
    bool lost = event->kind == ROTA_EVENT_OBJECT_LOST && object && object->located;
    for (uint32_t w = 1; w < 32 && lost; w++) {
        if (object->located & 1u << w) event->replica.worker = (rota_worker_id){w};
    }
}

static void event_completed(struct history *history, struct rota_event *event)
{
    event->kind = ROTA_EVENT_KEY_COMPLETED;
    event->completed.key = (rota_object_id){9, 1 + history_pick(history, 4)};
    event->completed.worker = worker_pick(history);
    event->completed.outcome = ROTA_OUTCOME_OK;
    if (history_chance(history, 3))
        event->completed.outcome
            = history_chance(history, 2) ? ROTA_OUTCOME_ERROR : ROTA_OUTCOME_EXIT;
    event->completed.status = event->completed.outcome == ROTA_OUTCOME_EXIT ? 3 : 0;
}

static bool is_no_bundle(struct model *model, const struct model_task *task)
{
    (void)model;
    return is_plain(task);
}

// Waits for tasks of one job; for a bundle only alone.
static void event_wait(struct history *history, struct rota_event *event)
{
    rota_task_id *tasks = history->waits[history->slot];
    event->kind = ROTA_EVENT_WAIT;
    event->wait.client = 1 + history_pick(history, 3);
    event->wait.mode = history_chance(history, 2) ? ROTA_WAIT_SOME : ROTA_WAIT_ALL;
    event->wait.tasks = tasks;
    rota_task_id first = task_pick(history, is_any);
    const struct model_task *task = model_task_find(history->model, first);
    uint32_t most = task && is_plain(task) ? history_pick(history, 4) : 1;
    for (uint32_t count = most; count > 0 && first.job; count--) {
        rota_task_id id = event->wait.count ? task_pick(history, is_no_bundle) : first;
        const struct model_task *next = model_task_find(history->model, id);
        if (id.job != first.job || !next || !is_plain(next)) id = first;
        if (most > 1 && history_chance(history, 8)) id.task = 0;
        tasks[event->wait.count++] = id;
    }
}

static void event_close(struct history *history, struct rota_event *event)
{
    const struct model *model = history->model;
    event->kind = ROTA_EVENT_CLOSE;
    event->close.job.number
        = model->job_count ? model->jobs[history_pick(history, model->job_count)].number : 5;
    if (!history_chance(history, 4)) return;
    event->kind = ROTA_EVENT_CLIENT_LEFT;
    event->client_left.client = 1 + history_pick(history, 3);
}

void history_event_lane(struct history *history, struct rota_event *event)
{
    struct model *model = history->model;
    event->kind = ROTA_EVENT_LANE;
    event->lane.lane = 1 + history_pick(history, 3);
    const struct model_lane *lane = model_lane_find(model, event->lane.lane);
    event->lane.flags = history_pick(history, 4);
    event->lane.patience = history_chance(history, 4) ? 0 : ROTA_NEVER;
    if (!lane || history_chance(history, 4)) return;
    event->lane.flags = lane->flags;
    if (history_chance(history, 2)) event->lane.patience = lane->patience;
}

// ---- Any of them -----------------------------------------------------------------------------

typedef void event_fn(struct history *history, struct rota_event *event);

static const struct {
    event_fn *make;
    int feature;
    uint32_t weight;
} makers[] = {
    {event_finished, -1, 12},
    {event_started, -1, 12},
    {history_event_submit, -1, 4},
    {history_event_worker, -1, 2},
    {event_claim, FEATURE_CLAIM, 6},
    {event_deliver, FEATURE_CLAIM, 6},
    {event_asks, FEATURE_PULL, 5},
    {event_replica, FEATURE_OBJECTS, 5},
    {event_completed, FEATURE_KEYS, 3},
    {event_replica, FEATURE_KEYS, 2},
    {event_object, FEATURE_KEEP, 3},
    {event_cancel, FEATURE_CANCEL, 3},
    {event_retry, FEATURE_RETRY, 4},
    {event_stage, FEATURE_IDLE, 4},
    {event_manual, FEATURE_MANUAL, 4},
    {event_wait, FEATURE_WAITS, 3},
    {event_close, FEATURE_CLOSE, 2},
    {history_event_lane, FEATURE_LANES, 1},
    {event_worker_fault, FEATURE_WORKER_FAULTS, 4},
    {event_stale, FEATURE_BAD, 3},
};

static void event_try(struct history *history, struct rota_event *event)
{
    uint32_t weight = 0, count = sizeof makers / sizeof makers[0];
    for (uint32_t i = 0; i < count; i++) {
        if (makers[i].feature < 0 || history->features[makers[i].feature])
            weight += makers[i].weight;
    }
    uint32_t at = history_pick(history, weight);
    for (uint32_t i = 0; i < count; i++) {
        if (makers[i].feature >= 0 && !history->features[makers[i].feature]) continue;
        if (at < makers[i].weight) {
            makers[i].make(history, event);
            return;
        }
        at -= makers[i].weight;
    }
}

// Only TIME, if there was nothing to do for three of them.
void history_event_make(struct history *history, struct rota_event *event)
{
    for (uint32_t i = 0; i < 3; i++) {
        *event = (struct rota_event){.kind = ROTA_EVENT_TIME};
        event_try(history, event);
        if (event->kind != ROTA_EVENT_TIME) return;
    }
}
