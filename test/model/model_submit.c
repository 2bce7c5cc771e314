// model_submit.c - a submission is accepted or refused as a whole.
//
// The model adds everything to its arrays first, checks whether the result is allowed, and restores
// the old counts if it is not.
#include "model.h"

#include <string.h>

static bool is_new(const struct rota_job_spec *spec, uint32_t first, uint32_t number)
{
    return number >= first && number - first < spec->task_count;
}

static bool clauses_are_sound(const struct rota_clause *clauses, uint32_t count)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (clauses[i].kind < ROTA_CLAUSE_SUCCESS || clauses[i].kind > ROTA_CLAUSE_OR) return false;
        if (clauses[i].kind < ROTA_CLAUSE_AND)
            depth++;
        else if (depth < 2)
            return false;
        else
            depth--;
    }
    return depth == 1;
}

static bool task_add(struct model *model, const struct rota_job_spec *spec, rota_task_id id,
                     const struct rota_task_spec *from)
{
    if (model->task_count == MODEL_TASKS) return false;
    struct model_task *task = &model->tasks[model->task_count++];
    *task = (struct model_task){.id = id, .spec = *from, .state = ROTA_TASK_IDLE};
    task->sequence = ++model->sequence;
    if (from->lane) {
        if (!model_lane_find(model, from->lane)) return false;
        if (from->access != ROTA_ACCESS_READ && from->access != ROTA_ACCESS_WRITE) return false;
    }
    if (from->access > ROTA_ACCESS_WRITE) return false;
    bool bundle = from->flags & ROTA_TASK_BUNDLE;
    if (bundle && (from->lane || from->clause_count || !model_is_no_object(from->key)))
        return false;
    if (from->clause_count == 0) return true;
    if (from->clause_count > MODEL_CLAUSES || from->clause_first > spec->clause_count) return false;
    if (from->clause_count > spec->clause_count - from->clause_first) return false;
    const struct rota_clause *clauses = spec->clauses + from->clause_first;
    if (!clauses_are_sound(clauses, from->clause_count)) return false;
    memcpy(task->clauses, clauses, from->clause_count * sizeof *clauses);
    for (uint32_t i = 0; i < from->clause_count; i++) {
        if (clauses[i].kind >= ROTA_CLAUSE_AND)
            task->clauses[i].task = (rota_task_id){0, 0};
        else if (clauses[i].task.job == 0)
            task->clauses[i].task.job = id.job;
    }
    return true;
}

static bool is_plain_task(struct model *model, rota_task_id id)
{
    const struct model_task *task = model_task_find(model, id);
    return task && !(task->spec.flags & ROTA_TASK_BUNDLE);
}

static bool edges_add(struct model *model, const struct rota_job_spec *spec, uint32_t job,
                      uint32_t first)
{
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        if (model->edge_count == MODEL_EDGES) return false;
        struct rota_edge edge = spec->edges[i];
        if (!is_new(spec, first, edge.after)) return false;
        if (!is_plain_task(model, (rota_task_id){job, edge.before})) return false;
        if (!is_plain_task(model, (rota_task_id){job, edge.after})) return false;
        model->edges[model->edge_count++] = (struct model_edge){job, edge.before, edge.after};
    }
    return true;
}

static bool shares_stream(struct model *model, rota_task_id id, uint32_t flags)
{
    return flags & ROTA_OBJECT_STREAM && !model_is_no_object(model_task_find(model, id)->spec.key);
}

static bool outputs_add(struct model *model, const struct rota_job_spec *spec, uint32_t job,
                        uint32_t first)
{
    for (uint32_t i = 0; i < spec->output_count; i++) {
        struct rota_output output = spec->outputs[i];
        if (model->object_count == MODEL_OBJECTS || model_is_no_object(output.object)) return false;
        const struct model_object *known = model_object_find(model, output.object);
        if (known) return false;
        bool upload = output.task == 0;
        if (upload && (output.flags & ROTA_OBJECT_STREAM)) return false;
        if (!upload && (output.flags & ROTA_OBJECT_AWAY)) return false;
        if (!upload && !is_new(spec, first, output.task)) return false;
        if (!upload && !is_plain_task(model, (rota_task_id){job, output.task})) return false;
        if (!upload && shares_stream(model, (rota_task_id){job, output.task}, output.flags))
            return false;
        model->objects[model->object_count++]
            = (struct model_object){.id = output.object,
                                    .job = job,
                                    .producer = output.task,
                                    .flags = output.flags,
                                    .bytes = output.bytes,
                                    .kept = output.flags & ROTA_OBJECT_KEEP,
                                    .unused = upload,
                                    .state = upload ? ROTA_OBJECT_FINISHED : ROTA_OBJECT_UNFINISHED,
                                    .server = upload && !(output.flags & ROTA_OBJECT_AWAY)};
    }
    return true;
}

static bool inputs_add(struct model *model, const struct rota_job_spec *spec, uint32_t job,
                       uint32_t first)
{
    for (uint32_t i = 0; i < spec->input_count; i++) {
        struct rota_input input = spec->inputs[i];
        if (model->input_count == MODEL_INPUTS || !is_new(spec, first, input.task)) return false;
        if (!is_plain_task(model, (rota_task_id){job, input.task})) return false;
        if (!(input.flags & ROTA_OBJECT_ARTIFACT)) {
            struct model_object *object = model_object_find(model, input.object);
            if (!object || object->job != job) return false;
            if (object->state == ROTA_OBJECT_REMOVED) return false;
            if (shares_stream(model, (rota_task_id){job, input.task}, object->flags)) return false;
        }
        model->inputs[model->input_count++]
            = (struct model_input){job, input.task, input.flags, input.object};
    }
    return true;
}

static bool bundles_are_sound(struct model *model, uint32_t from)
{
    for (uint32_t i = from; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->spec.bundle == 0) continue;
        if (task->spec.flags & ROTA_TASK_BUNDLE) return false;
        const struct model_task *bundle
            = model_task_find(model, (rota_task_id){task->id.job, task->spec.bundle});
        if (!bundle || !(bundle->spec.flags & ROTA_TASK_BUNDLE)) return false;
    }
    return true;
}

static bool clauses_name_tasks(struct model *model, uint32_t from)
{
    for (uint32_t i = from; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        for (uint32_t k = 0; k < task->spec.clause_count; k++) {
            if (task->clauses[k].task.job == 0) continue;
            if (!model_task_find(model, task->clauses[k].task)) return false;
        }
    }
    return true;
}

// ---- Cycles ---------------------------------------------------------------------

static bool names(const struct model_task *task, rota_task_id id)
{
    for (uint32_t i = 0; i < task->spec.clause_count; i++) {
        if (model_same_task(task->clauses[i].task, id)) return true;
    }
    return false;
}

// Whether `before` must come before `after`, for any reason.
static bool precedes(struct model *model, const struct model_task *before,
                     const struct model_task *after)
{
    bool closed = model_job_find(model, after->id.job)->state == ROTA_JOB_CLOSED;
    if (names(after, before->id) && !closed) return true;
    if (after->id.job == before->id.job) {
        if (before->spec.bundle && before->spec.bundle == after->id.task) return true;
        for (uint32_t i = 0; i < model->edge_count; i++) {
            const struct model_edge *edge = &model->edges[i];
            if (edge->job != after->id.job || edge->after != after->id.task) continue;
            if (edge->before == before->id.task) return true;
        }
        for (uint32_t i = 0; i < model->input_count; i++) {
            const struct model_input *input = &model->inputs[i];
            if (input->job != after->id.job || input->task != after->id.task) continue;
            if (input->flags & ROTA_OBJECT_ARTIFACT) continue;
            if (model_object_find(model, input->object)->producer == before->id.task) return true;
        }
    }
    const struct model_lane *lane = model_lane_find(model, after->spec.lane);
    bool ordered = lane && (lane->flags & ROTA_LANE_SUBMIT_ORDER);
    return ordered && before->spec.lane == after->spec.lane && before->sequence < after->sequence;
}

// Removes tasks without predecessors, until none or a cycle is left.
static bool is_acyclic(struct model *model)
{
    static _Thread_local bool matrix[MODEL_TASKS][MODEL_TASKS];
    bool gone[MODEL_TASKS] = {false};
    uint32_t left = model->task_count, count = model->task_count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            matrix[i][k] = precedes(model, &model->tasks[k], &model->tasks[i]);
        }
    }
    for (bool moved = true; moved && left;) {
        moved = false;
        for (uint32_t i = 0; i < count; i++) {
            if (gone[i]) continue;
            bool free = true;
            for (uint32_t k = 0; k < count && free; k++) free = gone[k] || !matrix[i][k];
            if (!free) continue;
            gone[i] = true;
            left--;
            moved = true;
        }
    }
    return left == 0;
}

// ---- The submission ---------------------------------------------------------------

static bool is_due(struct model *model, const struct model_task *task)
{
    if (task->spec.flags & ROTA_TASK_ON_DEMAND) return false;
    if (task->spec.bundle == 0) return true;
    rota_task_id id = {task->id.job, task->spec.bundle};
    const struct model_task *bundle = model_task_find(model, id);
    return !(bundle->spec.flags & ROTA_TASK_ON_DEMAND) || bundle->staged;
}

static bool submission_add(struct model *model, const struct rota_job_spec *spec, uint32_t job,
                           uint32_t first)
{
    uint32_t from = model->task_count;
    for (uint32_t i = 0; i < spec->task_count; i++) {
        if (!task_add(model, spec, (rota_task_id){job, first + i}, &spec->tasks[i])) return false;
    }
    if (!bundles_are_sound(model, from) || !edges_add(model, spec, job, first)) return false;
    if (!outputs_add(model, spec, job, first)) return false;
    if (!inputs_add(model, spec, job, first)) return false;
    if (!clauses_name_tasks(model, from) || !is_acyclic(model)) return false;
    for (uint32_t i = 0; i < spec->input_count; i++) {
        if (spec->inputs[i].flags & ROTA_OBJECT_ARTIFACT) continue;
        model_object_find(model, spec->inputs[i].object)->unused = false;
    }
    for (uint32_t i = from; i < model->task_count; i++) {
        struct model_task *task = &model->tasks[i];
        if (task->spec.flags & ROTA_TASK_BUNDLE) continue;
        if (is_due(model, task)) model_task_queue(model, task);
    }
    return true;
}

static uint32_t tasks_of(const struct model *model, uint32_t job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) count += model->tasks[i].id.job == job;
    return count;
}

static void accept(struct model *model, const struct model_job *job, uint32_t first)
{
    model_add_action(model,
                     (struct rota_action){.kind = ROTA_ACTION_ACCEPT,
                                          .accept = {job->client, job->key, {job->number}, first}});
}

static struct model_job *job_by_key(struct model *model, const struct rota_job_spec *spec)
{
    for (uint32_t i = 0; i < model->job_count && spec->key; i++) {
        struct model_job *job = &model->jobs[i];
        if (job->client == spec->client && job->key == spec->key) return job;
    }
    return NULL;
}

enum model_verdict model_on_submit(struct model *model, const struct rota_event *event)
{
    const struct rota_job_spec *spec = &event->submit;
    uint32_t number = spec->job.number, first = spec->first ? spec->first : 1;
    struct model_job *job = number ? model_job_find(model, number) : job_by_key(model, spec);
    if (number && (!job || job->state != ROTA_JOB_OPEN)) return MODEL_REFUSE;
    if (!number && job) {
        accept(model, job, 1);
        return MODEL_ACCEPT;
    }
    if (first != (number ? tasks_of(model, number) + 1 : 1)) return MODEL_REFUSE;
    if (!job) {
        if (model->job_count == MODEL_JOBS) return MODEL_REFUSE;
        enum rota_on_failure on_failure
            = spec->on_failure ? spec->on_failure : model->config.on_failure;
        job = &model->jobs[model->job_count];
        *job = (struct model_job){.number = model->jobs_made + 1,
                                  .client = spec->client,
                                  .key = spec->key,
                                  .policy = spec->policy,
                                  .on_failure = on_failure};
    }
    uint32_t tasks = model->task_count, edges = model->edge_count;
    uint32_t inputs = model->input_count, objects = model->object_count;
    uint64_t sequence = model->sequence;
    if (!number) model->job_count++;
    if (!submission_add(model, spec, job->number, first)) {
        model->task_count = tasks, model->edge_count = edges, model->sequence = sequence;
        model->input_count = inputs, model->object_count = objects;
        if (!number) model->job_count--;
        return MODEL_REFUSE;
    }
    if (!number) model->jobs_made++;
    if (spec->last) job->state = ROTA_JOB_LAST;
    accept(model, job, first);
    return MODEL_ACCEPT;
}
