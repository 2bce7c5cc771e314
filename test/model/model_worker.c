// model_worker.c - workers join and leave, report, and hold objects.
#include "model.h"

static uint32_t bit(rota_worker_id worker)
{
    return 1u << (worker.number & 31);
}

// ---- Workers --------------------------------------------------------------------

static void worker_meet(struct model *model, rota_worker_id id)
{
    if (model_worker_find(model, id)) return;
    model->workers[model->worker_count++]
        = (struct model_worker){.id = id, .cores = 1, .memory_mib = UINT32_MAX};
}

void model_worker_forget(struct model *model, uint32_t index)
{
    rota_worker_id id = model->workers[index].id;
    model->workers[index] = model->workers[--model->worker_count];
    for (uint32_t i = 0; i < model->object_count; i++) {
        model->objects[i].told_lost |= model->objects[i].located & bit(id);
        model->objects[i].located &= ~bit(id);
        model->objects[i].rest &= ~bit(id);
    }
}

// Attempts on a worker that is gone are lost.
void model_attempts_lose(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (model_is_on_worker(task) && !model_worker_find(model, task->worker))
            model_task_lose(model, task);
    }
}

enum model_verdict model_on_worker(struct model *model, const struct rota_event *event)
{
    if (event->worker.id.number == 0) return MODEL_REFUSE;
    struct model_worker *worker = model_worker_find(model, event->worker.id);
    if (event->kind == ROTA_EVENT_WORKER_JOINED) {
        if (!worker && model->worker_count == MODEL_WORKERS) return MODEL_REFUSE;
        worker_meet(model, event->worker.id);
        worker = model_worker_find(model, event->worker.id);
        worker->cores = event->worker.cores;
        worker->memory_mib = event->worker.memory_mib;
        worker->slots = event->worker.slots;
        worker->machine = event->worker.machine;
        worker->silent = false;
        return MODEL_ACCEPT;
    }
    if (!worker) return MODEL_REFUSE;
    if (event->kind == ROTA_EVENT_WORKER_HEARD) worker->silent = false;
    if (event->kind == ROTA_EVENT_WORKER_SILENT) {
        if (worker->silent) return MODEL_EITHER;
        worker->silent = true;
        worker->silent_since = event->now;
    }
    if (event->kind == ROTA_EVENT_WORKER_LEFT) {
        model_worker_forget(model, (uint32_t)(worker - model->workers));
        model_attempts_lose(model);
    }
    return MODEL_ACCEPT;
}

enum model_verdict model_on_asks(struct model *model, const struct rota_event *event)
{
    if (event->asks.id.number == 0 || event->asks.count == 0) return MODEL_REFUSE;
    worker_meet(model, event->asks.id);
    struct model_worker *worker = model_worker_find(model, event->asks.id);
    uint32_t room = UINT32_MAX - worker->asks;
    worker->asks = event->asks.count > room ? UINT32_MAX : worker->asks + event->asks.count;
    return MODEL_ACCEPT;
}

// ---- Objects ----------------------------------------------------------------------

static struct model_object *artifact_meet(struct model *model, rota_object_id id)
{
    struct model_object *object = model_object_find(model, id);
    if (object) return object;
    object = &model->objects[model->object_count++];
    *object = (struct model_object){.id = id, .state = ROTA_OBJECT_FINISHED};
    return object;
}

// The output of a task is where it ran; the server keeps what a handler delivered.
void model_outputs_finish(struct model *model, const struct model_task *task, rota_worker_id worker)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (object->job != task->id.job || object->producer != task->id.task) continue;
        bool stream = object->flags & ROTA_OBJECT_STREAM;
        if (stream && object->state == ROTA_OBJECT_REMOVED) continue;
        object->state = stream ? ROTA_OBJECT_UNFINISHED : ROTA_OBJECT_FINISHED;
        object->early = false;
        if (worker.number && stream)
            object->rest |= bit(worker);
        else if (worker.number)
            object->located |= bit(worker);
        else
            object->server = true;
        if (!stream) object->read = false;
    }
}

enum model_verdict model_on_replica(struct model *model, const struct rota_event *event)
{
    rota_object_id id = event->replica.object;
    rota_worker_id worker = event->replica.worker;
    if (worker.number == 0 || model_is_no_object(id)) return MODEL_REFUSE;
    struct model_object *object = model_object_find(model, id);
    if (event->kind == ROTA_EVENT_STREAMED) {
        if (!object || !(object->flags & ROTA_OBJECT_STREAM)) return MODEL_REFUSE;
        const struct model_task *producer = model_producer(model, object);
        bool flows = producer->state == ROTA_TASK_RUNNING && object->state != ROTA_OBJECT_REMOVED;
        if (!flows || producer->worker.number != worker.number) return MODEL_REFUSE;
        object->bytes = event->replica.bytes;
        return MODEL_ACCEPT;
    }
    if (event->kind == ROTA_EVENT_OBJECT_LOST) {
        if (!object || !(object->located & bit(worker))) return MODEL_EITHER;
        object->located &= ~bit(worker);
        object->told_lost |= bit(worker);
        const struct model_job *owner = object->job ? model_job_find(model, object->job) : NULL;
        bool closed = owner && owner->state == ROTA_JOB_CLOSED;
        bool surplus = (object->kept || object->told_release)
                       && object->state == ROTA_OBJECT_FINISHED
                       && (object->located || object->server);
        return closed || surplus ? MODEL_EITHER : MODEL_ACCEPT;  // it may have been dropped
    }
    const struct model_job *job = object && object->job ? model_job_find(model, object->job) : NULL;
    if (job && job->state == ROTA_JOB_CLOSED) return MODEL_REFUSE;
    if (object && object->job && object->state != ROTA_OBJECT_FINISHED) {
        const struct model_task *producer = model_producer(model, object);
        bool maker = object->state == ROTA_OBJECT_UNFINISHED && producer
                     && producer->state == ROTA_TASK_RUNNING && !producer->claimed
                     && !producer->stopping
                     && producer->worker.number == worker.number;
        if (!maker || object->flags & ROTA_OBJECT_STREAM) return MODEL_REFUSE;
        object->state = ROTA_OBJECT_FINISHED;
        object->early = true;
    }
    worker_meet(model, worker);
    artifact_meet(model, id)->located |= bit(worker);
    model_object_find(model, id)->told_held |= bit(worker);
    return MODEL_ACCEPT;
}

enum model_verdict model_on_object(struct model *model, const struct rota_event *event)
{
    struct model_object *object = model_object_find(model, event->object.object);
    if (!object || object->job == 0) return MODEL_REFUSE;
    const struct model_job *job = model_job_find(model, object->job);
    if (event->kind == ROTA_EVENT_KEEP || job->state >= ROTA_JOB_FAILED) return MODEL_REFUSE;
    if (!object->kept || object->state == ROTA_OBJECT_REMOVED) return MODEL_REFUSE;
    if (event->kind == ROTA_EVENT_RELEASE) {
        object->kept = object->unused = false;
        object->told_release = true;
    }
    if (event->kind == ROTA_EVENT_READ && !model_object_present(model, object))
        object->read = true;
    return MODEL_ACCEPT;
}

// ---- Reports ------------------------------------------------------------------------

struct model_task *model_attempt_find(struct model *model, rota_worker_id worker,
                                      rota_task_id run_as, uint32_t attempt)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (!model_is_on_worker(task) || !model_same_task(task->run_as, run_as)) continue;
        if (task->worker.number == worker.number && task->attempt == attempt) return task;
    }
    return NULL;
}

static struct model_object *output_at(struct model *model, const struct model_task *task,
                                      uint32_t place)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (object->job != task->id.job || object->producer != task->id.task) continue;
        if (place-- == 0) return object;
    }
    return NULL;
}

// For another task of its key, its worker names the outputs of that one, in order.
static void sizes_take(struct model *model, const struct model_task *task,
                       const struct rota_event *event)
{
    for (uint32_t i = 0; i < event->report.size_count; i++) {
        struct model_object *object = model_object_find(model, event->report.sizes[i].object);
        bool own = object && model_producer(model, object) == task;
        if (!own) object = NULL;
        if (!own && !model_same_task(task->run_as, task->id)) object = output_at(model, task, i);
        if (object) object->bytes = event->report.sizes[i].bytes;
    }
}

enum model_verdict model_on_report(struct model *model, const struct rota_event *event)
{
    struct model_task *task = model_attempt_find(model, event->report.worker, event->report.task,
                                                 event->report.attempt);
    if (!task) return MODEL_REFUSE;
    if (event->kind == ROTA_EVENT_TASK_STARTED) {
        if (task->state == ROTA_TASK_RUNNING) return MODEL_EITHER;
        model_task_begin(model, task);
        return MODEL_ACCEPT;
    }
    enum rota_outcome outcome = event->report.outcome;
    if (outcome < ROTA_OUTCOME_OK || outcome > ROTA_OUTCOME_LOST) return MODEL_REFUSE;
    int32_t status = event->report.status;
    sizes_take(model, task, event);
    if (model_task_is_discarded(model, task)) return MODEL_ACCEPT;
    if (outcome == ROTA_OUTCOME_LOST) {
        model_task_lose(model, task);
        return MODEL_ACCEPT;
    }
    bool fails = outcome == ROTA_OUTCOME_EXIT && task->tries > task->spec.retries_max;
    bool made = outcome == ROTA_OUTCOME_OK && model_is_no_object(event->report.missing);
    bool result = made || fails;
    if (result && !task->stopping && !model_is_no_object(task->spec.key)) {
        artifact_meet(model, task->spec.key)->located |= bit(task->worker);
    }
    if (task->stopping || outcome == ROTA_OUTCOME_ABORTED) {
        model_task_end(model, task, ROTA_TASK_ABORTED, ROTA_OUTCOME_ABORTED, status);
    } else if (outcome == ROTA_OUTCOME_OK && model_is_no_object(event->report.missing)) {
        model_task_end(model, task, ROTA_TASK_SUCCEEDED, outcome, status);
    } else {
        if (outcome == ROTA_OUTCOME_OK) outcome = ROTA_OUTCOME_ERROR;
        model_task_fail_attempt(model, task, outcome, status);
    }
    return MODEL_ACCEPT;
}

static struct model_task *key_find(struct model *model, rota_object_id key)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->leads && !task->stopping && model_same_object(task->spec.key, key)) return task;
    }
    return NULL;
}

// Ends the execution for the key; in a lane not if another worker runs it.
static bool key_complete(struct model *model, const struct rota_event *event)
{
    rota_worker_id worker = event->completed.worker;
    struct model_task *task = key_find(model, event->completed.key);
    if (!task) return false;
    bool another = task->state != ROTA_TASK_OFFERED
                   && (task->claimed || task->worker.number != worker.number);
    if (task->spec.lane && another) return false;
    if (another && !task->claimed) model_task_stop(model, task);
    task->worker = worker;
    bool ok = event->completed.outcome == ROTA_OUTCOME_OK;
    enum rota_task_state state = ok ? ROTA_TASK_SUCCEEDED : ROTA_TASK_FAILED;
    model_task_end(model, task, state, event->completed.outcome, event->completed.status);
    return true;
}

enum model_verdict model_on_completed(struct model *model, const struct rota_event *event)
{
    rota_worker_id worker = event->completed.worker;
    enum rota_outcome outcome = event->completed.outcome;
    if (worker.number == 0 || model_is_no_object(event->completed.key)) return MODEL_REFUSE;
    if (outcome < ROTA_OUTCOME_OK || outcome > ROTA_OUTCOME_ERROR) return MODEL_REFUSE;
    worker_meet(model, worker);
    if (outcome != ROTA_OUTCOME_ERROR) {
        artifact_meet(model, event->completed.key)->located |= bit(worker);
    }
    bool pending = key_complete(model, event);
    model_add_action(model,
                     (struct rota_action){.kind = ROTA_ACTION_COMPLETED,
                                          .completed = {event->completed.key, worker, pending}});
    return MODEL_ACCEPT;
}
