// submit.c - submits a job file to the core.
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Its memory is freed at the end of the turn.
struct draft {
    struct run *run;
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    struct store_text *texts;
    uint32_t *lanes;  // the core's number of each lane of the file
    bool carried_first;  // the other tasks are staged after them
    struct rota_job_spec spec;
};

static void *turn_array(struct draft *draft, size_t count, size_t size)
{
    void *array = server_keep(draft->run->server, count ? count : 1, size);
    if (!array) os_out_of_memory();
    return array;
}

// ---- Names to numbers -----------------------------------------------------------------

// Each job file has lanes and machines of its own. Otherwise a job that waits for its next run
// would block the tasks of this one.
static uint32_t number_of(struct run *run, enum catalog_kind kind, const char *sign,
                          const char *name)
{
    char text[8192];
    snprintf(text, sizeof text, "%s:%s%s", run->file->path, sign, name);
    uint32_t number = catalog_number(&run->catalog, kind, text);
    if (!number) os_out_of_memory();
    return number;
}

bool run_machines(struct run *run)
{
    if (!catalog_open(&run->catalog, run->server)) return false;
    run->machine = number_of(run, CATALOG_MACHINE, "", "run");
    run->machine_carried = number_of(run, CATALOG_MACHINE, "", "done");
    return true;
}

static enum rota_error lanes_define(struct draft *draft)
{
    const struct jobfile *file = draft->run->file;
    draft->lanes = turn_array(draft, file->lane_count, sizeof *draft->lanes);
    for (uint32_t i = 0; i < file->lane_count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = draft->lanes[i]
            = number_of(draft->run, CATALOG_LANE, "", file->lanes[i].name);
        event.lane.flags = (file->lanes[i].strict ? ROTA_LANE_STRICT : 0)
                           | (file->lanes[i].submit_order ? ROTA_LANE_SUBMIT_ORDER : 0);
        event.lane.patience = ROTA_NEVER;
        enum rota_error error = server_step(draft->run->server, &event);
        if (error) return error;
    }
    return ROTA_OK;
}

// Groups are numbered in file order. A task without a lane needs no group.
static void groups_number(struct run *run)
{
    const struct jobfile *file = run->file;
    struct map by_name = {0};
    uint32_t groups = 0;
    for (uint32_t i = 0; i < file->task_count; i++) {
        const char *group = file->tasks[i].group;
        if (!group) continue;
        if (!map_reserve(&memory_heap, &by_name, 1)) os_out_of_memory();
        uint32_t *number = map_place(&by_name, run_hash(group, strlen(group)));
        if (!*number) *number = ++groups;
        run->tasks[i].group = *number;
    }
    map_release(&memory_heap, &by_name);
}

// A task that requires another machine waits for it. The two machines of a run are called `run` and
// `done`, so names of machines in a file get a prefix.
static uint32_t machine_of(struct run *run, const char *name)
{
    bool here = !name || strcmp(name, run->host) == 0 || strcmp(name, "localhost") == 0;
    return here ? run->machine : number_of(run, CATALOG_MACHINE, "@", name);
}

// ---- Tasks ------------------------------------------------------------------------------

// Null: no details.
static const char *details_of(struct draft *draft, const struct jobfile_task *task)
{
    size_t length = submit_details(task, NULL);
    char *text = length ? turn_array(draft, length + 1, 1) : NULL;
    if (text) submit_details(task, text);
    return text;
}

static void task_draft(struct draft *draft, uint32_t at, bool carried)
{
    const struct jobfile_task *task = &draft->run->file->tasks[at];
    struct rota_task_spec *spec = &draft->tasks[at];
    spec->body = draft->run->tasks[at].signature;
    spec->flags = task->is_bundle ? ROTA_TASK_BUNDLE : 0;
    bool later = draft->carried_first && !task->is_bundle;
    if (!carried && (later || !run_wants(draft->run, at))) spec->flags |= ROTA_TASK_ON_DEMAND;
    spec->bundle = task->bundle;
    spec->priority = task->priority;
    draft->texts[at].name = task->name;
    draft->texts[at].command = task->is_bundle ? NULL : task->command;
    draft->texts[at].details = details_of(draft, task);
    spec->clause_first = draft->spec.clause_count;
    spec->clause_count = task->clause_count;
    for (uint32_t i = 0; i < task->clause_count; i++)
        draft->clauses[draft->spec.clause_count++] = task->clauses[i];
    if (task->is_bundle) return;
    spec->lane = task->lane ? draft->lanes[task->lane - 1] : 0;
    spec->group = task->lane ? draft->run->tasks[at].group : 0;
    spec->access = task->lane ? task->access : ROTA_ACCESS_NONE;
    spec->machine = carried ? draft->run->machine_carried : machine_of(draft->run, task->machine);
    spec->cores = task->cores;
    spec->memory_mib = task->memory_mib;
    spec->retries_max = task->retries.max;
}

static void edges_draft(struct draft *draft, uint32_t at)
{
    const struct jobfile_task *task = &draft->run->file->tasks[at];
    for (uint32_t i = 0; i < task->need_count; i++)
        draft->edges[draft->spec.edge_count++] = (struct rota_edge){task->needs[i] + 1, at + 1};
}

static void objects_draft(struct draft *draft, uint32_t at)
{
    const struct jobfile_task *task = &draft->run->file->tasks[at];
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (!input->producer) continue;
        struct rota_input *use = &draft->inputs[draft->spec.input_count++];
        use->task = at + 1;
        use->object = run_object(draft->run, input->producer - 1, input->output - 1);
    }
    for (uint32_t i = 0; i < task->output_count; i++) {
        struct rota_output *output = &draft->outputs[draft->spec.output_count++];
        output->task = at + 1;
        output->object = run_object(draft->run, at, i);
        output->flags
            = task->outputs[i].kind == JOBFILE_STREAM ? ROTA_OBJECT_STREAM : ROTA_OBJECT_KEEP;
    }
}

// ---- The submission ---------------------------------------------------------------------

// A reused task cannot follow a task of its lane that has yet to run.
static bool lanes_are_mixed(const struct jobfile *file, const bool *carried)
{
    bool mixed = false;
    uint8_t *kinds = os_allocate(file->lane_count, sizeof *kinds);
    for (uint32_t i = 0; file->lane_count && i < file->task_count; i++) {
        uint32_t lane = file->tasks[i].lane;
        if (!lane) continue;
        kinds[lane - 1] |= carried[i] ? 1 : 2;
        mixed |= kinds[lane - 1] == 3;
    }
    free(kinds);
    return mixed;
}

static void draft_make(struct draft *draft, const bool *carried)
{
    const struct jobfile *file = draft->run->file;
    const struct jobfile_counts counts = jobfile_counts(file);
    draft->tasks = turn_array(draft, file->task_count, sizeof *draft->tasks);
    draft->texts = turn_array(draft, file->task_count, sizeof *draft->texts);
    draft->edges = turn_array(draft, counts.edges, sizeof *draft->edges);
    draft->clauses = turn_array(draft, counts.clauses, sizeof *draft->clauses);
    draft->inputs = turn_array(draft, counts.inputs, sizeof *draft->inputs);
    draft->outputs = turn_array(draft, counts.outputs, sizeof *draft->outputs);
    for (uint32_t i = 0; i < file->task_count; i++) {
        task_draft(draft, i, carried[i]);
        edges_draft(draft, i);
        objects_draft(draft, i);
    }
}

enum rota_error run_submit(struct run *run, const bool *carried)
{
    struct draft draft = {.run = run, .carried_first = lanes_are_mixed(run->file, carried)};
    groups_number(run);
    run->job = run->server->next_job;
    enum rota_error error = lanes_define(&draft);
    if (error) return error;
    draft_make(&draft, carried);
    draft.spec.client = 1;
    draft.spec.policy = ROTA_POLICY_PLAN;
    draft.spec.on_failure = run->file->on_failure;
    draft.spec.last = true;
    draft.spec.tasks = draft.tasks;
    draft.spec.task_count = run->file->task_count;
    draft.spec.edges = draft.edges;
    draft.spec.clauses = draft.clauses;
    draft.spec.inputs = draft.inputs;
    draft.spec.outputs = draft.outputs;
    return server_submit(run->server, &draft.spec, draft.texts);
}
