// history_submit.c - random submissions: graphs, lanes, bundles, conditions, objects, keys.
#include <string.h>

#include "history.h"

// ---- References of a submission -----------------------------------------------------------------

static uint32_t tasks_of(const struct model *model, uint32_t job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->task_count; i++) count += model->tasks[i].id.job == job;
    return count;
}

static struct model_job *job_to_extend(struct history *history)
{
    struct model *model = history->model;
    for (uint32_t i = 0; i < model->job_count; i++) {
        struct model_job *job = &model->jobs[(i + history_pick(history, 4)) % model->job_count];
        if (job->state == ROTA_JOB_OPEN && tasks_of(model, job->number) < 10) return job;
    }
    return NULL;
}

static bool job_may_be_named(struct model *model, uint32_t number)
{
    return model_job_find(model, number)->state != ROTA_JOB_CLOSED;
}

static uint32_t bundle_for(struct history *history, const struct submission *submission,
                           uint32_t first)
{
    struct model *model = history->model;
    uint32_t job = submission->spec.job.number;
    for (uint32_t i = 0; i < submission->spec.task_count; i++) {
        if (submission->tasks[i].flags & ROTA_TASK_BUNDLE) return first + i;
    }
    for (uint32_t i = 0; i < model->task_count && job && history_chance(history, 2); i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->id.job == job && (task->spec.flags & ROTA_TASK_BUNDLE)) return task->id.task;
    }
    return 0;
}

static bool is_bundle(struct history *history, const struct submission *submission, uint32_t first,
                      uint32_t number)
{
    if (number >= first) return submission->tasks[number - first].flags & ROTA_TASK_BUNDLE;
    rota_task_id id = {submission->spec.job.number, number};
    return model_task_find(history->model, id)->spec.flags & ROTA_TASK_BUNDLE;
}

// ---- Tasks -----------------------------------------------------------------------------

static void task_make(struct history *history, struct submission *submission, uint32_t first)
{
    struct rota_task_spec *task = &submission->tasks[submission->spec.task_count];
    *task = (struct rota_task_spec){.body = 100 + history_pick(history, 100), .cores = 1};
    if (history_has(history, FEATURE_BUNDLES) && history_chance(history, 5)) {
        task->flags = ROTA_TASK_BUNDLE;
        if (history_has(history, FEATURE_IDLE) && history_chance(history, 2))
            task->flags |= ROTA_TASK_ON_DEMAND;
        submission->spec.task_count++;
        return;
    }
    if (history_has(history, FEATURE_BUNDLES))
        task->bundle = bundle_for(history, submission, first);
    if (history_has(history, FEATURE_IDLE) && history_chance(history, 4))
        task->flags |= ROTA_TASK_ON_DEMAND;
    if (history_has(history, FEATURE_LANES) && history_pick(history, 4)
        && history->model->lane_count) {
        task->lane
            = history->model->lanes[history_pick(history, history->model->lane_count)].number;
        task->access = history_chance(history, 2) ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ;
        if (history_has(history, FEATURE_GROUPS)) task->group = history_pick(history, 4);
    }
    if (history_chance(history, 4)) task->cores = history_pick(history, 4);
    if (history_chance(history, 8)) task->memory_mib = 512;
    if (history_chance(history, 8)) task->machine = 1 + history_pick(history, 2);
    if (history_chance(history, 8)) task->priority = (int16_t)history_pick(history, 3);
    if (history_has(history, FEATURE_RETRIES)) task->retries_max = history_pick(history, 3);
    if (history_has(history, FEATURE_KEYS) && history_pick(history, 3)) {
        task->key = (rota_object_id){9, 1 + history_pick(history, 3)};
    }
    submission->spec.task_count++;
}

static void edges_make(struct history *history, struct submission *submission, uint32_t first,
                       uint32_t number)
{
    struct rota_job_spec *spec = &submission->spec;
    if (!history_has(history, FEATURE_EDGES) || is_bundle(history, submission, first, number))
        return;
    for (uint32_t i = history_pick(history, 3); i > 0 && number > 1 && spec->edge_count < 60; i--) {
        uint32_t before = number - 1 - history_pick(history, number - 1);
        if (is_bundle(history, submission, first, before)) continue;
        submission->edges[spec->edge_count++] = (struct rota_edge){before, number};
    }
}

static rota_task_id named_pick(struct history *history, struct submission *submission,
                               uint32_t number)
{
    struct model *model = history->model;
    uint32_t own = submission->spec.job.number;
    if (history_chance(history, 3) && model->task_count) {
        rota_task_id id = model->tasks[history_pick(history, model->task_count)].id;
        if (id.job != own && job_may_be_named(model, id.job)) return id;
    }
    return (rota_task_id){0, number > 1 ? number - 1 - history_pick(history, number - 1) : 0};
}

// A condition over earlier tasks; it may name bundles, but never the one it is a member of.
static void condition_make(struct history *history, struct submission *submission, uint32_t first,
                           uint32_t number)
{
    struct rota_job_spec *spec = &submission->spec;
    struct rota_task_spec *task = &submission->tasks[number - first];
    if (!history_has(history, FEATURE_CONDITIONS) || (task->flags & ROTA_TASK_BUNDLE)) return;
    uint32_t names = history_pick(history, 4), made = 0;
    task->clause_first = spec->clause_count;
    for (uint32_t i = 0; i < names && spec->clause_count < 58; i++) {
        rota_task_id id = named_pick(history, submission, number);
        if (id.task == 0 || (id.job == 0 && id.task == task->bundle)) continue;
        enum rota_clause_kind kind
            = (enum rota_clause_kind)(ROTA_CLAUSE_SUCCESS + history_pick(history, 4));
        submission->clauses[spec->clause_count++] = (struct rota_clause){kind, id};
        if (made++ == 0) continue;
        kind = history_chance(history, 2) ? ROTA_CLAUSE_OR : ROTA_CLAUSE_AND;
        submission->clauses[spec->clause_count++] = (struct rota_clause){.kind = kind};
    }
    task->clause_count = spec->clause_count - task->clause_first;
}

// ---- Objects -----------------------------------------------------------------------------

static void output_make(struct history *history, struct submission *submission, uint32_t number,
                        bool flows)
{
    struct rota_job_spec *spec = &submission->spec;
    if (spec->output_count >= 40) return;
    struct rota_output *output = &submission->outputs[spec->output_count++];
    *output = (struct rota_output){.task = number,
                                   .object = {7, ++history->objects_made},
                                   .bytes = 100 * history_pick(history, 50)};
    if (history_has(history, FEATURE_KEEP) && history_chance(history, 2))
        output->flags |= ROTA_OBJECT_KEEP;
    if (flows && history_has(history, FEATURE_STREAMS) && history_chance(history, 2))
        output->flags = ROTA_OBJECT_STREAM;
    if (!number && history_has(history, FEATURE_AWAY) && history_chance(history, 2))
        output->flags |= ROTA_OBJECT_AWAY;
}

// A task with a key has no stream.
static rota_object_id object_pick(struct history *history, const struct submission *submission,
                                  uint32_t number, bool flows)
{
    struct model *model = history->model;
    const struct rota_job_spec *spec = &submission->spec;
    for (uint32_t tries = 0; tries < 3; tries++) {
        if (spec->output_count && history_pick(history, 4)) {
            const struct rota_output *output
                = &submission->outputs[history_pick(history, spec->output_count)];
            bool fits = flows || !(output->flags & ROTA_OBJECT_STREAM);
            if (output->task < number && fits) return output->object;
        } else if (model->object_count) {
            const struct model_object *object
                = &model->objects[history_pick(history, model->object_count)];
            bool fits = object->job && object->job == spec->job.number
                        && (flows || !(object->flags & ROTA_OBJECT_STREAM));
            if (fits && object->state != ROTA_OBJECT_REMOVED) return object->id;
        }
    }
    return (rota_object_id){0, 0};
}

static void objects_make(struct history *history, struct submission *submission, uint32_t first,
                         uint32_t number)
{
    struct rota_job_spec *spec = &submission->spec;
    if (is_bundle(history, submission, first, number)) return;
    bool flows = model_is_no_object(submission->tasks[number - first].key);
    if (history_has(history, FEATURE_OBJECTS)) {
        for (uint32_t i = history_pick(history, 3); i > 0 && spec->input_count < 40; i--) {
            rota_object_id id = object_pick(history, submission, number, flows);
            if (model_is_no_object(id)) continue;
            submission->inputs[spec->input_count++] = (struct rota_input){number, 0, id};
        }
        for (uint32_t i = history_pick(history, 3); i > 0; i--)
            output_make(history, submission, number, flows);
        if (history_chance(history, 6)) output_make(history, submission, 0, false);
    }
    if (history_has(history, FEATURE_KEYS) && history_chance(history, 3)
        && spec->input_count < 40) {
        submission->inputs[spec->input_count++]
            = (struct rota_input){number, ROTA_OBJECT_ARTIFACT, {9, 1 + history_pick(history, 4)}};
    }
}

// ---- Mistakes ------------------------------------------------------------------------------

// Makes the submission invalid, or only unusual; the model decides.
static void spoil(struct history *history, struct submission *submission, uint32_t first)
{
    struct rota_job_spec *spec = &submission->spec;
    uint32_t count = spec->task_count, last = first + count - 1;
    if (count == 0) return;
    struct rota_task_spec *task = &submission->tasks[history_pick(history, count)];
    uint32_t one = first + history_pick(history, count),
             other = first + history_pick(history, count);
    uint32_t which = history_pick(history, 13);
    if (!history_has(history, FEATURE_OBJECTS) && (which == 9 || which == 10)) which = 0;
    switch (which) {
    case 0: submission->edges[spec->edge_count++] = (struct rota_edge){one, other}; break;
    case 1: submission->edges[spec->edge_count++] = (struct rota_edge){last + 1, one}; break;
    case 2: submission->edges[spec->edge_count++] = (struct rota_edge){one, last + 1}; break;
    case 3: task->lane = 77; break;
    case 4: task->access = 3; break;
    case 5: task->bundle = one; break;
    case 6: spec->first = first + 7; break;
    case 7: spec->job.number = 999; break;
    case 8:
        task->clause_first = spec->clause_count;
        task->clause_count = 1 + history_pick(history, 2);
        submission->clauses[spec->clause_count++]
            = (struct rota_clause){(enum rota_clause_kind)history_pick(history, 8), {0, other}};
        break;
    case 9:
        submission->inputs[spec->input_count++]
            = (struct rota_input){one, 0, {7, 1 + history_pick(history, 60)}};
        break;
    case 10:
        submission->outputs[spec->output_count++]
            = (struct rota_output){.task = one, .object = {7, 1 + history_pick(history, 60)}};
        break;
    case 11: task->key = (rota_object_id){9, 1 + history_pick(history, 3)}; break;
    default:
        task->clause_first = spec->clause_count;
        task->clause_count = 1;
        submission->clauses[spec->clause_count++]
            = (struct rota_clause){ROTA_CLAUSE_SUCCESS, {history_pick(history, 2) ? 99 : 0, 99}};
    }
}

// ---- The submission -----------------------------------------------------------------------------

static enum rota_policy policy_pick(struct history *history)
{
    uint32_t which = history_pick(history, 3);
    if (which == 1 && history_has(history, FEATURE_CLAIM)) return ROTA_POLICY_CLAIM;
    if (which == 2 && history_has(history, FEATURE_PULL)) return ROTA_POLICY_PULL;
    return which ? ROTA_POLICY_DEFAULT : ROTA_POLICY_PLAN;
}

void history_event_submit(struct history *history, struct rota_event *event)
{
    struct submission *submission = &history->submissions[history->slot];
    memset(submission, 0, sizeof *submission);
    struct rota_job_spec *spec = &submission->spec;
    const struct model_job *job = history_has(history, FEATURE_EXTEND) && history_chance(history, 2)
                                      ? job_to_extend(history)
                                      : NULL;
    uint32_t first = 1;
    if (job) {
        spec->job.number = job->number;
        spec->client = job->client;
        first = spec->first = tasks_of(history->model, job->number) + 1;
    } else {
        spec->client = 1 + history_pick(history, 3);
        spec->key = history_chance(history, 6) ? 1 + history_pick(history, 3) : 0;
        spec->policy = policy_pick(history);
        if (history_has(history, FEATURE_FAIL_JOB) && history_chance(history, 2))
            spec->on_failure = ROTA_FAILURE_FAIL_JOB;
    }
    spec->last = history_chance(history, 4);
    uint32_t room = 12 - (first - 1), count = history_pick(history, (room > 7 ? 7 : room) + 1);
    for (uint32_t i = 0; i < count; i++) task_make(history, submission, first);
    for (uint32_t number = first; number < first + count; number++) {
        edges_make(history, submission, first, number);
        condition_make(history, submission, first, number);
        objects_make(history, submission, first, number);
    }
    if (history_has(history, FEATURE_BAD) && history_chance(history, 4))
        spoil(history, submission, first);
    spec->tasks = submission->tasks;
    spec->edges = submission->edges;
    spec->clauses = submission->clauses;
    spec->inputs = submission->inputs;
    spec->outputs = submission->outputs;
    event->kind = ROTA_EVENT_SUBMIT;
    event->submit = *spec;
}
