// submit.c - makes one submission from drafts; when the core has accepted it, their names are
// valid.
#include "sim/play/internal.h"

#include <string.h>

static const uint32_t no_task = UINT32_MAX;  // no task of a play has this number

// ---- The job it goes to ----------------------------------------------------

// Row 0, which has no id, if the batch opens a job. Without `job` there is a default job.
static struct play_job *target(struct play *play)
{
    const struct batch *batch = &play->batch;
    return &play->jobs[batch->opens_job ? 0 : batch->grows ? batch->grows : play->job_count];
}

static void job_choose(struct play *play)
{
    struct batch *batch = &play->batch;
    if (batch->opens_job || play->job_count) return;
    batch->opens_job = true;
    batch->job_name = names_add(&play->job_names, "default");
    batch->client = names_add(&play->client_names, "client");
    batch->policy = ROTA_POLICY_DEFAULT;
    batch->on_failure = ROTA_FAILURE_DEFAULT;
}

static uint32_t first_number(struct play *play)
{
    return target(play)->task_count + 1;
}

// ---- References ------------------------------------------------------------

// The id of a task that may be in the batch itself; then its job is 0.
static rota_task_id task_of(struct play *play, const char *name)
{
    uint32_t number = names_find(&play->task_names, name);
    if (number && number < play->drafted_capacity && play->drafted[number]) {
        return (rota_task_id) { 0, first_number(play) + play->drafted[number] - 1 };
    }
    uint32_t row = number < play->newest_capacity ? play->newest[number] : 0;
    return row ? play->tasks[row].id : (rota_task_id) { no_task, no_task };
}

static uint32_t number_in_job(struct play *play, const char *name)
{
    rota_task_id id = task_of(play, name);
    if (!id.job || id.job == target(play)->id.number) return id.task;
    if (id.job != no_task) {
        batch_refuse(play, BATCH_BLAMES_PLAY, ROTA_BAD_GRAPH, "an edge may not leave its job");
    }
    return no_task;
}

static void edges_add(struct play *play, const struct draft *draft, uint32_t task)
{
    struct batch *batch = &play->batch;
    struct strings names = { 0 };
    strings_split(&names, draft->after, ',');
    for (uint32_t i = 0; i < names.count; i++) {
        ARRAY_GROW(batch->edges, batch->edge_count, batch->edge_capacity);
        batch->edges[batch->edge_count++] =
            (struct rota_edge) { number_in_job(play, names.items[i]), task };
    }
    strings_release(&names);
}

static void clauses_add(struct play *play, struct draft *draft)
{
    struct batch *batch = &play->batch;
    draft->spec.clause_first = batch->clause_count;
    for (uint32_t i = 0; i < draft->spec.clause_count; i++) {
        struct rota_clause clause = draft->clauses[i];
        if (draft->clause_names[i]) clause.task = task_of(play, draft->clause_names[i]);
        ARRAY_GROW(batch->clauses, batch->clause_count, batch->clause_capacity);
        batch->clauses[batch->clause_count++] = clause;
    }
}

// ---- Objects ---------------------------------------------------------------

static void inputs_add(struct play *play, const char *list, uint32_t task, uint32_t flags)
{
    struct batch *batch = &play->batch;
    struct strings names = { 0 };
    strings_split(&names, list, ',');
    for (uint32_t i = 0; i < names.count; i++) {
        struct rota_input input = { .task = task, .flags = flags };
        if (flags & ROTA_OBJECT_ARTIFACT) input.object = key_meet(play, names.items[i]);
        else object_meet(play, names.items[i], &input.object);
        ARRAY_GROW(batch->inputs, batch->input_count, batch->input_capacity);
        batch->inputs[batch->input_count++] = input;
    }
    strings_release(&names);
}

static void output_add(struct play *play, const struct rota_output *output)
{
    struct batch *batch = &play->batch;
    ARRAY_GROW(batch->outputs, batch->output_count, batch->output_capacity);
    batch->outputs[batch->output_count++] = *output;
}

// O, O:SIZE, O:SIZE:keep, O:stream
static void output_parse(struct play *play, const char *text, struct rota_output *output)
{
    struct strings parts = { 0 };
    strings_split(&parts, text, ':');
    if (parts.count) object_meet(play, parts.items[0], &output->object);
    for (uint32_t i = 1; i < parts.count; i++) {
        const char *part = parts.items[i];
        if (strcmp(part, "keep") == 0) output->flags |= ROTA_OBJECT_KEEP;
        else if (strcmp(part, "stream") == 0) output->flags |= ROTA_OBJECT_STREAM;
        else if (!size_parse(part, &output->bytes)) {
            play_wrong(play, "out=%s: '%s' is not a size, keep or stream", text, part);
        }
    }
    strings_release(&parts);
}

static void outputs_add(struct play *play, const char *list, uint32_t task)
{
    struct strings outputs = { 0 };
    strings_split(&outputs, list, ',');
    for (uint32_t i = 0; i < outputs.count; i++) {
        struct rota_output output = { .task = task };
        output_parse(play, outputs.items[i], &output);
        output_add(play, &output);
    }
    strings_release(&outputs);
}

static void keeps_apply(struct play *play)
{
    struct batch *batch = &play->batch;
    for (uint32_t i = 0; i < batch->keeps.count; i++) {
        rota_object_id object;
        bool found = false;
        object_meet(play, batch->keeps.items[i], &object);
        for (uint32_t k = 0; k < batch->output_count; k++) {
            if (batch->outputs[k].object.low != object.low) continue;
            batch->outputs[k].flags |= ROTA_OBJECT_KEEP;
            found = true;
        }
        if (found) continue;
        batch_refuse(play, BATCH_BLAMES_PLAY, ROTA_NOT_FOUND, "keep: no such object in the job");
    }
}

// ---- The submission --------------------------------------------------------

static void draft_build(struct play *play, struct draft *draft, uint32_t task)
{
    edges_add(play, draft, task);
    clauses_add(play, draft);
    inputs_add(play, draft->inputs, task, 0);
    inputs_add(play, draft->keys, task, ROTA_OBJECT_ARTIFACT);
    outputs_add(play, draft->outputs, task);
    if (draft->bundle) draft->spec.bundle = number_in_job(play, draft->bundle);
}

static void batch_build(struct play *play)
{
    struct batch *batch = &play->batch;
    uint32_t first = first_number(play), count = 0;
    batch->tasks = array_resize(batch->tasks, batch->task_count, sizeof *batch->tasks);
    for (uint32_t i = 0; i < batch->draft_count; i++) {
        struct draft *draft = &batch->drafts[i];
        if (draft->is_object) {
            output_add(play, &draft->upload);
            continue;
        }
        draft_build(play, draft, first + count);
        draft->spec.body = play->task_count + count + 1;
        batch->tasks[count++] = draft->spec;
    }
    keeps_apply(play);
}

// A lane that only a task names has default settings. Where a refusal is expected it is a name that
// the core does not know.
static void lanes_declare(struct play *play)
{
    const struct batch *batch = &play->batch;
    for (uint32_t i = 0; i < batch->draft_count && !play->refused; i++) {
        uint32_t lane = batch->drafts[i].spec.lane;
        ARRAY_GROW(play->lanes, lane, play->lane_capacity);
        if (!lane || play->lanes[lane]) continue;
        struct rota_event event = { .kind = ROTA_EVENT_LANE, .lane = { lane, 0, ROTA_NEVER } };
        play->lanes[lane] = play_turn_step(play, &event) == ROTA_OK;
    }
}

// Objects that are only on workers are reported by the workers.
static void holders_report(struct play *play)
{
    const struct batch *batch = &play->batch;
    for (uint32_t i = 0; i < batch->draft_count; i++) {
        const struct rota_output *upload = &batch->drafts[i].upload;
        struct strings holders = { 0 };
        strings_split(&holders, batch->drafts[i].holders, ',');
        for (uint32_t k = 0; k < holders.count; k++) {
            struct rota_event event = { .kind = ROTA_EVENT_OBJECT_HELD };
            event.replica.worker.number = worker_named(play, holders.items[k]);
            event.replica.object = upload->object;
            event.replica.bytes = upload->bytes;
            turn_send(play, &event);
        }
        strings_release(&holders);
    }
}

static void spec_fill(struct play *play, struct rota_job_spec *spec)
{
    const struct batch *batch = &play->batch;
    const struct play_job *job = target(play);
    *spec = (struct rota_job_spec) {
        .job = job->id, .client = batch->opens_job ? batch->client : job->client,
        .policy = batch->opens_job ? batch->policy : ROTA_POLICY_DEFAULT,
        .on_failure = batch->opens_job ? batch->on_failure : ROTA_FAILURE_DEFAULT,
        .first = batch->opens_job ? 0 : first_number(play), .last = batch->last,
        .tasks = batch->tasks, .task_count = batch->task_count,
        .edges = batch->edges, .edge_count = batch->edge_count,
        .clauses = batch->clauses, .clause_count = batch->clause_count,
        .inputs = batch->inputs, .input_count = batch->input_count,
        .outputs = batch->outputs, .output_count = batch->output_count,
    };
}

static void batch_tell_error(struct play *play)
{
    const struct batch *batch = &play->batch;
    if (batch->blame == BATCH_BLAMES_TEXT && !play->refused) {
        play->line = batch->error_line;
        play_wrong(play, "%s", batch->error_reason);
    } else {
        turn_refuse(play, batch->error, batch->error_reason);
    }
}

void batch_submit(struct play *play)
{
    struct batch *batch = &play->batch;
    job_choose(play);
    batch_build(play);
    if (batch->error) batch_tell_error(play);
    if (play->halt || play->answer) return;
    lanes_declare(play);
    struct rota_event event = { .kind = ROTA_EVENT_SUBMIT };
    spec_fill(play, &event.submit);
    if (!turn_send(play, &event)) return;
    batch->sent = play->block.submitted = true;
    if (!batch->opens_job) batch_accepted(play, target(play)->id);
    holders_report(play);
}

// The database stores the names of the tasks in the play.
void batch_define(struct play *play)
{
    const struct batch *batch = &play->batch;
    const struct rota_job_spec *spec = play->submitted;
    play->submitted = NULL;
    if (!spec) return;
    struct store_text *texts = turn_keep(play, spec->task_count, sizeof *texts);
    for (uint32_t i = 0, count = 0; i < batch->draft_count && count < spec->task_count; i++) {
        if (batch->drafts[i].is_object) continue;
        texts[count++].name = names_text(&play->task_names, batch->drafts[i].name);
    }
    store_define(play->store, spec, texts);
}

// ---- Accepted --------------------------------------------------------------

static void task_bind(struct play *play, const struct draft *draft, struct play_job *job)
{
    uint32_t row = ++play->task_count;
    ARRAY_GROW(play->tasks, row, play->task_capacity);
    ARRAY_GROW(job->tasks, job->task_count, job->task_capacity);
    job->tasks[job->task_count++] = row;
    ARRAY_GROW(play->newest, draft->name, play->newest_capacity);
    play->newest[draft->name] = row;
    play->tasks[row] = (struct play_task) {
        .id = { job->id.number, job->task_count },
        .name = draft->name,
        .key = (uint32_t)draft->spec.key.low,
        .cores = draft->spec.cores,
        .memory_mib = draft->spec.memory_mib,
        .access = (enum rota_access)draft->spec.access,
    };
}

static struct play_job *job_bind(struct play *play, rota_job_id id)
{
    const struct batch *batch = &play->batch;
    if (!batch->opens_job) return target(play);
    uint32_t row = ++play->job_count;
    ARRAY_GROW(play->jobs, row, play->job_capacity);
    play->jobs[row] = (struct play_job) {
        .id = id, .name = batch->job_name, .client = batch->client,
    };
    return &play->jobs[row];
}

void batch_accepted(struct play *play, rota_job_id id)
{
    struct batch *batch = &play->batch;
    if (!batch->sent) return;
    batch->sent = false;
    struct play_job *job = job_bind(play, id);
    uint32_t first_row = play->task_count, first = job->task_count + 1;
    for (uint32_t i = 0; i < batch->draft_count; i++) {
        if (!batch->drafts[i].is_object) task_bind(play, &batch->drafts[i], job);
    }
    for (uint32_t i = 0; i < batch->output_count; i++) {
        const struct rota_output *output = &batch->outputs[i];
        struct play_object *object = &play->objects[output->object.low];
        uint32_t producer = output->task ? first_row + 1 + output->task - first : 0;
        *object = (struct play_object) { true, job->client, producer };
    }
}
