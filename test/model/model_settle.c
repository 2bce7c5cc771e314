// model_settle.c - the consequences of every event: objects, dependencies, jobs that are removed.
#include "model.h"

// ---- Objects ------------------------------------------------------------------

static bool consumes(const struct model_input *input, const struct model_object *object)
{
    return !(input->flags & ROTA_OBJECT_ARTIFACT) && model_same_object(input->object, object->id);
}

static bool object_is_needed(struct model *model, const struct model_object *object)
{
    bool closed = model_job_find(model, object->job)->state == ROTA_JOB_CLOSED;
    if (closed || object->kept || object->unused) return true;  // removed with the job
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (!consumes(input, object)) continue;
        const struct model_task *task
            = model_task_find(model, (rota_task_id){input->job, input->task});
        bool done = task->state == ROTA_TASK_SUCCEEDED || task->state == ROTA_TASK_ABORTED;
        if (!done) return true;
    }
    return false;
}

static void object_drop(struct model *model, struct model_object *object)
{
    for (uint32_t w = 0; w < 32; w++) {
        if (!((object->located | object->rest) & 1u << w)) continue;
        model_add_action(model,
                         (struct rota_action){.kind = ROTA_ACTION_DROP, .drop = {object->id, {w}}});
    }
    object->located = object->rest = 0;
    object->read = object->server = false;
}

static bool object_is_missed(struct model *model, const struct model_object *object)
{
    if (object->read) return true;
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (!consumes(input, object)) continue;
        const struct model_task *task
            = model_task_find(model, (rota_task_id){input->job, input->task});
        if (task->state >= ROTA_TASK_STAGED && task->state < ROTA_TASK_ASSIGNED) return true;
    }
    return false;
}

// ---- Streams ------------------------------------------------------------------

static bool is_stream(const struct model_object *object)
{
    return object->job && object->flags & ROTA_OBJECT_STREAM;
}

// An attempt will write them from the beginning.
void model_streams_renew(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        bool own = object->job == task->id.job && object->producer == task->id.task;
        if (is_stream(object) && own && object->state == ROTA_OBJECT_REMOVED)
            object->state = ROTA_OBJECT_UNFINISHED;
    }
}

// An attempt has not written them to the end: the rest of an earlier one is dropped, too.
void model_streams_in_vain(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        bool own = object->job == task->id.job && object->producer == task->id.task;
        if (!is_stream(object) || !own) continue;
        object_drop(model, object);
        object->state = ROTA_OBJECT_UNFINISHED;
    }
}

static bool is_expected(struct model *model, const struct model_object *object)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (!consumes(input, object)) continue;
        const struct model_task *task
            = model_task_find(model, (rota_task_id){input->job, input->task});
        if (!model_state_is_over(task->state)) return true;
    }
    return false;
}

static bool worker_is_lost(struct model *model, const struct model_task *task)
{
    return model_is_on_worker(task) && !model_worker_find(model, task->worker);
}

static uint32_t written_on(const struct model_task *task)
{
    return model_is_on_worker(task) ? 1u << (task->worker.number & 31) : 0;
}

static void stream_break_off(struct model *model, struct model_object *object)
{
    const struct model_task *producer = model_producer(model, object);
    uint32_t own = written_on(producer);
    bool soon = producer->state == ROTA_TASK_ASSIGNED && !worker_is_lost(model, producer);
    object->rest = soon ? object->rest & ~own : object->rest | own;
    object_drop(model, object);
    if (!soon) object->state = ROTA_OBJECT_REMOVED;
}

// There is no task left that reads the stream.
static void streams_unread(struct model *model)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (!is_stream(object) || object->state == ROTA_OBJECT_REMOVED) continue;
        const struct model_task *producer = model_producer(model, object);
        if (producer->state != ROTA_TASK_RUNNING || is_expected(model, object)) continue;
        stream_break_off(model, object);
    }
}

// Whether a task is about to read what it has written.
static bool streams_are_read(struct model *model, const struct model_task *producer)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        const struct model_object *object = model_object_find(model, input->object);
        if (!is_stream(object) || model_producer(model, object) != producer) continue;
        const struct model_task *task
            = model_task_find(model, (rota_task_id){input->job, input->task});
        if (task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING) return true;
    }
    return false;
}

// Its attempt ended early: the streams it may have begun to read are lost.
bool model_streams_give_up(struct model *model, const struct model_task *task)
{
    bool gone = false;
    if (task->discarded) return false;  // it has, and they may be written again by now
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (!is_stream(object) || !model_object_present(model, object)) continue;
        const struct model_task *producer = model_producer(model, object);
        if (producer->state == ROTA_TASK_RUNNING && worker_is_lost(model, producer)) continue;
        bool reads = false;
        for (uint32_t k = 0; k < model->input_count; k++) {
            const struct model_input *input = &model->inputs[k];
            bool own = input->job == task->id.job && input->task == task->id.task;
            reads |= own && consumes(input, object);
        }
        if (reads) stream_break_off(model, object);
        gone |= reads;
    }
    return gone;
}

// A reader of a stream that was not written to its end is stopped, and runs again with its writer.
void model_streams_failed(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        const struct model_object *object = model_object_find(model, input->object);
        if (!is_stream(object) || model_producer(model, object) != task) continue;
        struct model_task *reader = model_task_find(model, (rota_task_id){input->job, input->task});
        bool told = reader->state == ROTA_TASK_ASSIGNED && model_keeps_lane(model, reader);
        bool runs = (reader->state == ROTA_TASK_RUNNING || told) && !worker_is_lost(model, reader);
        if (!runs || reader->stopping) continue;
        if (told) model_task_begin(model, reader);
        if (!reader->claimed) model_task_stop(model, reader);
        model_streams_give_up(model, reader);
        reader->stopping = reader->discarded = true;
    }
}

static bool object_is_discarded(struct model *model, const struct model_object *object)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (!consumes(input, object)) continue;
        if (model_task_find(model, (rota_task_id){input->job, input->task})->discarded) return true;
    }
    return false;
}

// Whether it failed because it had no reader, and the reader will run again.
bool model_streams_lost_reader(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        bool own = object->job == task->id.job && object->producer == task->id.task;
        if (is_stream(object) && own && object->state == ROTA_OBJECT_REMOVED
            && (object_is_missed(model, object) || object_is_discarded(model, object)))
            return true;
    }
    return false;
}

// ---- Removed objects, and those made again ------------------------------------------------------

static void objects_remove(struct model *model)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        const struct model_task *producer = object->job ? model_producer(model, object) : NULL;
        bool writes = producer && model_state_is_active(producer->state);  // or may still do so
        bool flowed = object->flags & ROTA_OBJECT_STREAM && object->state == ROTA_OBJECT_UNFINISHED
                      && (object->rest || object->server);
        bool made = object->job && (object->state == ROTA_OBJECT_FINISHED || flowed);
        if (!made || writes || object_is_needed(model, object)) continue;
        object->state = ROTA_OBJECT_REMOVED;
        object_drop(model, object);
    }
}

// Clients wait for an object until it is there or never will be.
static void reads_end(struct model *model)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        const struct model_task *producer = object->job ? model_producer(model, object) : NULL;
        bool lost = producer
                    && (producer->state == ROTA_TASK_FAILED || producer->state == ROTA_TASK_ABORTED
                        || producer->state == ROTA_TASK_BLOCKED);
        if (lost || object->state == ROTA_OBJECT_REMOVED || model_object_present(model, object))
            object->read = false;
    }
}

// Whether it was lost and is still needed. A job that failed or is closed makes nothing again, even
// if a client asks for it.
static bool object_is_wanted(struct model *model, const struct model_object *object)
{
    bool stream = object->flags & ROTA_OBJECT_STREAM;
    if (object->job == 0 || (object->state == ROTA_OBJECT_UNFINISHED && !stream)) return false;
    if (model_object_present(model, object) || !object_is_missed(model, object)) return false;
    if (model_job_find(model, object->job)->state >= ROTA_JOB_FAILED) return false;
    // An object that is being written is made again only after that has ended.
    return !stream || model_producer(model, object)->state != ROTA_TASK_RUNNING;
}

// A producer that runs again makes this one, too.
static void objects_unfinish(struct model *model)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (!object_is_wanted(model, object)) continue;
        const struct model_task *producer = model_producer(model, object);
        if (producer && producer->regenerating) object->state = ROTA_OBJECT_UNFINISHED;
    }
}

// Producers of lost objects that are still needed run again, without a visible state.
static bool objects_regenerate(struct model *model)
{
    bool changed = false;
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        if (!object_is_wanted(model, object)) continue;
        struct model_task *producer = model_producer(model, object);
        if (producer && producer->regenerating) object->state = ROTA_OBJECT_UNFINISHED;
        if (!producer || producer->state != ROTA_TASK_SUCCEEDED) continue;
        if (streams_are_read(model, producer)) continue;
        object->state = ROTA_OBJECT_UNFINISHED;
        producer->regenerating = true;
        changed = true;
    }
    for (uint32_t i = 0; changed && i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->regenerating && task->state == ROTA_TASK_SUCCEEDED) model_task_queue(model, task);
    }
    return changed;
}

static bool task_lacks_need(struct model *model, const struct model_task *task)
{
    if (task->state < ROTA_TASK_HELD || task->state > ROTA_TASK_ASSIGNED) return false;
    return !model_edges_met(model, task) || !model_inputs_met(model, task);
}

// In a lane its worker may have begun: a worker without an input will report it.
static bool task_continues(struct model *model, const struct model_task *task)
{
    return task->state == ROTA_TASK_ASSIGNED && model_keeps_lane(model, task);
}

// A task that has not started waits again for its lost input. A task that runs for others hands
// over to them.
static bool task_falls_back(struct model *model, struct model_task *task)
{
    if (!task_lacks_need(model, task) || task_continues(model, task)) return false;
    bool assigned = task->state == ROTA_TASK_ASSIGNED;
    model_task_hand_over(model, task);
    if (task->state == ROTA_TASK_ASSIGNED) model_task_stop(model, task);
    if (assigned) task->tries -= task->tries > 0;
    model_task_leave_worker(task);
    task->leads = false;
    task->state = ROTA_TASK_WAITING;
    task->keeps_place = true;
    task->leader = (rota_task_id){0, 0};
    return true;
}

// All attempts that are called back give up their streams before a writer is called back.
static void readers_give_up(struct model *model)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->state != ROTA_TASK_ASSIGNED || !task_lacks_need(model, task)) continue;
        if (task_continues(model, task)) continue;
        if (model_streams_give_up(model, task)) i = UINT32_MAX;  // another may have to now
    }
}

// Tasks that others run for come first: no task takes over an execution without its input.
static void tasks_fall_back(struct model *model)
{
    readers_give_up(model);
    for (uint32_t i = 0; i < 2 * model->task_count; i++) {
        struct model_task *task = &model->tasks[i % model->task_count];
        if (task->state != ROTA_TASK_SHARED && i < model->task_count) continue;
        if (task_falls_back(model, task)) i = UINT32_MAX;  // another may have to now
    }
    uint32_t count = 0;
    struct model_task *begun[MODEL_TASKS];
    for (uint32_t i = 0; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task_continues(model, task) && task_lacks_need(model, task)) begun[count++] = task;
    }
    while (count) model_task_begin(model, begun[--count]);  // their streams are there from now on
}

// ---- Dependencies -------------------------------------------------------------------------------

static void task_settle(struct model *model, struct model_task *task);

static void prerequisites_settle(struct model *model, const struct model_task *task)
{
    for (uint32_t i = 0; i < model->edge_count; i++) {
        const struct model_edge *edge = &model->edges[i];
        if (edge->job != task->id.job || edge->after != task->id.task) continue;
        task_settle(model, model_task_find(model, (rota_task_id){edge->job, edge->before}));
    }
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct model_input *input = &model->inputs[i];
        if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
        if (input->job != task->id.job || input->task != task->id.task) continue;
        struct model_task *producer
            = model_producer(model, model_object_find(model, input->object));
        if (producer) task_settle(model, producer);
    }
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        struct model_task *named = model_task_find(model, task->clauses[i].task);
        if (named) task_settle(model, named);
    }
}

static void task_settle(struct model *model, struct model_task *task)
{
    if (task->settled) return;
    task->settled = true;
    if (task->spec.flags & ROTA_TASK_BUNDLE) {
        for (uint32_t i = 0; i < model->task_count; i++) {
            struct model_task *member = &model->tasks[i];
            if (member->id.job != task->id.job || member->spec.bundle != task->id.task) continue;
            task_settle(model, member);
        }
        return;
    }
    if (task->state < ROTA_TASK_QUEUED || task->state > ROTA_TASK_BLOCKED) return;
    prerequisites_settle(model, task);
    bool met = model_edges_met(model, task) && model_inputs_met(model, task);
    if (met && model_condition_holds(model, task))
        task->state = ROTA_TASK_READY;
    else
        task->state = model_is_dead(model, task) ? ROTA_TASK_BLOCKED : ROTA_TASK_WAITING;
}

// ---- Jobs -------------------------------------------------------------------------

// Whether a condition in another job names one of its tasks.
bool model_job_is_named(struct model *model, uint32_t job)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        bool open = model_job_find(model, task->id.job)->state != ROTA_JOB_CLOSED;
        for (uint32_t k = 0; k < task->spec.clause_count && open && task->id.job != job; k++) {
            if (task->clauses[k].task.job == job) return true;
        }
    }
    return false;
}

static bool job_may_go(struct model *model, const struct model_job *job)
{
    if (job->state != ROTA_JOB_CLOSED) return false;
    for (uint32_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->id.job == job->number && model_state_is_active(task->state)) return false;
    }
    return !model_job_is_named(model, job->number);
}

#define FORGET(model, rows, count, number)                                                         \
    do {                                                                                           \
        uint32_t kept = 0;                                                                         \
        for (uint32_t i = 0; i < (model)->count; i++) {                                            \
            if ((model)->rows[i].number != gone) (model)->rows[kept++] = (model)->rows[i];         \
        }                                                                                          \
        (model)->count = kept;                                                                     \
    } while (0)

static void job_forget(struct model *model, uint32_t gone)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        if (model->objects[i].job == gone) object_drop(model, &model->objects[i]);
    }
    for (uint32_t i = 0; i < model->wait_count; i++) {
        const struct model_wait *wait = &model->waits[i];
        if (wait->tasks[0].job == gone) model_wait_tell(model, wait, true, true);
    }
    FORGET(model, tasks, task_count, id.job);
    FORGET(model, edges, edge_count, job);
    FORGET(model, inputs, input_count, job);
    FORGET(model, objects, object_count, job);
    FORGET(model, waits, wait_count, tasks[0].job);
    FORGET(model, jobs, job_count, number);
}

static void jobs_go(struct model *model)
{
    for (uint32_t i = 0; i < model->job_count; i++) {
        if (!job_may_go(model, &model->jobs[i])) continue;
        job_forget(model, model->jobs[i].number);
        i = UINT32_MAX;  // another job may be removed now: from the start
    }
}

static void jobs_fail(struct model *model)
{
    for (uint32_t i = 0; i < model->job_count; i++) {
        struct model_job *job = &model->jobs[i];
        if (!job->failing) continue;
        job->failing = false;
        if (job->state == ROTA_JOB_CLOSED) continue;
        job->state = ROTA_JOB_FAILED;
        model_job_cancel(model, job->number);
    }
}

static void losses_settle(struct model *model)
{
    streams_unread(model);
    objects_remove(model);
    tasks_fall_back(model);
}

void model_settle(struct model *model)
{
    // A loss counts at once. A job fails when the event has had all its effects: no task that lost
    // an input with the same event takes over an execution.
    losses_settle(model);
    objects_unfinish(model);
    jobs_fail(model);
    do losses_settle(model);
    while (objects_regenerate(model));
    for (uint32_t i = 0; i < model->task_count; i++) model->tasks[i].settled = false;
    for (uint32_t i = 0; i < model->task_count; i++) task_settle(model, &model->tasks[i]);
    reads_end(model);
    model_ready_leave(model);
    model_share(model);
    model_waits_tell(model);
    jobs_go(model);
}
