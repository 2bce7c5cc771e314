// job.c - builds a submission: each task that is added becomes one encoded piece.
//
// Nothing is sent before rota_client_submit(). A task that is refused changes nothing; a lack of
// memory makes the job unusable.
#include "client/internal.h"
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRIORITY_MAX = 127 };

static bool refuse(struct rota_client_job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(struct rota_client_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(job->reason, sizeof job->reason, format, arguments);
    va_end(arguments);
    return false;
}

// An incomplete job cannot be submitted.
static bool no_memory(struct rota_client_job *job)
{
    job->has_failed = true;
    return refuse(job, "out of memory for the job");
}

// ---- Making and ending --------------------------------------------------------------------

struct rota_client_job *rota_client_job_open(const struct rota_client_job_options *options)
{
    struct rota_client_job *job = calloc(1, sizeof *job);
    if (!job) return NULL;
    job->policy = options->policy;
    job->on_failure = options->on_failure;
    if (options->name) job->name = strdup(options->name);
    if ((options->name && !job->name) || !request_draw(&job->request)) {
        rota_client_job_close(job);
        return NULL;
    }
    return job;
}

void rota_client_job_close(struct rota_client_job *job)
{
    if (!job) return;
    wire_out_release(&job->frames);
    wire_out_release(&job->body);
    map_release(&memory_heap, &job->lanes.by_hash);
    map_release(&memory_heap, &job->groups.by_hash);
    map_release(&memory_heap, &job->machines.by_hash);
    map_release(&memory_heap, &job->outputs);
    free(job->name);
    free(job);
}

const char *rota_client_job_reason(const struct rota_client_job *job)
{
    return job->reason;
}

void job_piece_put(const struct rota_client_job *job, struct wire_out *out,
                   const struct wire_submit *lists, uint32_t flags)
{
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *lists};
    message.submit.high = job->request.high;
    message.submit.low = job->request.low;
    message.submit.flags = flags;
    message.submit.policy = job->policy;
    message.submit.on_failure = job->on_failure;
    message.submit.name = wire_text_of(job->name);
    wire_put(out, &message);
}

// ---- Names ------------------------------------------------------------------------------------

static uint64_t hash_of(uint64_t hash, const char *name)
{
    for (; *name; name++) hash = hash_mix(hash, (uint8_t)*name);
    return hash;
}

// The number of a name; `is_new`: the server does not know it yet. 0: no memory.
static uint32_t name_number(struct names *names, const char *name, bool *is_new)
{
    *is_new = false;
    if (!map_reserve(&memory_heap, &names->by_hash, 1)) return 0;
    uint32_t *number = map_place(&names->by_hash, hash_of(1, name));
    *is_new = !*number;
    if (*is_new) *number = ++names->count;
    return *number;
}

enum rota_client_code rota_client_lane_add(struct rota_client_job *job, const char *lane,
                                           uint32_t flags)
{
    struct wire_lane row = {wire_text_of(lane), flags};
    bool is_new = false;
    if (!lane || !lane[0]) return refuse(job, "the lane has no name"), ROTA_CLIENT_WRONG;
    if (flags & ~(uint32_t)(ROTA_LANE_STRICT | ROTA_LANE_SUBMIT_ORDER))
        return refuse(job, "unknown lane flag"), ROTA_CLIENT_WRONG;
    if (!name_number(&job->lanes, lane, &is_new)) return no_memory(job), ROTA_CLIENT_NO_MEMORY;
    if (!is_new) return refuse(job, "the job has this lane already"), ROTA_CLIENT_WRONG;
    struct wire_submit lists = {.lanes = {&row, 1}};
    job_piece_put(job, &job->frames, &lists, WIRE_SUBMIT_MORE);
    if (job->frames.failed) return no_memory(job), ROTA_CLIENT_NO_MEMORY;
    return ROTA_CLIENT_OK;
}

// ---- A task ----------------------------------------------------------------------------------

// The lists of one task, while it is encoded.
struct draft {
    struct rota_client_job *job;
    const struct rota_client_task *task;
    uint32_t number;
    uint32_t argc, env_count, output_count;
    wire_text *argv, *env;
    struct wire_file *files;   // inputs, then outputs
    struct wire_edge *edges;
    struct wire_use *uses;
    struct wire_make *makes;
    char *command, *details;   // shown to people
    struct wire_lane lane;
    wire_text group, machine;
    struct wire_spec spec;
    struct wire_submit lists;
};

static uint32_t words_count(const char *const *words)
{
    uint32_t count = 0;
    while (words && words[count]) count++;
    return count;
}

static uint64_t output_key(uint32_t task, const char *name)
{
    return hash_of(hash_mix(2, task), name);
}

static rota_object_id output_object(const struct rota_client_job *job, uint32_t task,
                                    uint32_t output)
{
    return (rota_object_id){job->request.high ^ job->request.low, (uint64_t)task << 32 | output};
}

static bool inputs_check(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct rota_client_input *input = &task->inputs[i];
        if (!input->name || !input->output)
            return refuse(draft->job, "an input needs a name and an output");
        if (!map_find(&draft->job->outputs, output_key(input->task, input->output)))
            return refuse(draft->job, "task %u has no output '%.100s'", input->task, input->output);
    }
    return true;
}

static bool task_check(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    struct rota_client_job *job = draft->job;
    if (!draft->argc || !task->argv[0][0]) return refuse(job, "the task has no command");
    for (uint32_t i = 0; i < draft->env_count; i++)
        if (!strchr(task->env[i], '=')) return refuse(job, "an environment variable is NAME=VALUE");
    for (uint32_t i = 0; i < task->need_count; i++)
        if (!task->needs[i] || task->needs[i] >= draft->number)
            return refuse(job, "task %u depends on task %u, which was not added before it",
                          draft->number, task->needs[i]);
    if (task->cwd && task->cwd[0] != '/') return refuse(job, "cwd is not an absolute path");
    bool has_access = task->access == ROTA_ACCESS_READ || task->access == ROTA_ACCESS_WRITE;
    if (task->lane ? !has_access : (int)task->access)
        return refuse(job, "access is READ or WRITE in a lane, and NONE without a lane");
    if (task->group && !task->lane) return refuse(job, "a group needs a lane");
    if (task->timeout < 0) return refuse(job, "negative time");
    if (task->priority < -PRIORITY_MAX - 1 || task->priority > PRIORITY_MAX)
        return refuse(job, "a priority is -128 to 127");
    return inputs_check(draft);
}

static bool draft_reserve(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    size_t command = 1, details = 1;
    for (uint32_t i = 0; i < draft->argc; i++) command += strlen(task->argv[i]) + 1;
    for (uint32_t i = 0; i < draft->output_count; i++)
        details += strlen(task->outputs[i]) + sizeof "out \n";
    for (uint32_t i = 0; i < task->input_count; i++)
        details += strlen(task->inputs[i].output) + sizeof "in \n";
    size_t files = (size_t)task->input_count + draft->output_count;
    draft->argv = calloc(draft->argc, sizeof *draft->argv);
    draft->env = calloc(draft->env_count + 1u, sizeof *draft->env);
    draft->files = calloc(files + 1, sizeof *draft->files);
    draft->edges = calloc(task->need_count + 1u + task->input_count, sizeof *draft->edges);
    draft->uses = calloc(task->input_count + 1u, sizeof *draft->uses);
    draft->makes = calloc(draft->output_count + 1u, sizeof *draft->makes);
    draft->command = calloc(command, 1);
    draft->details = calloc(details, 1);
    return draft->argv && draft->env && draft->files && draft->edges && draft->uses && draft->makes
           && draft->command && draft->details
           && map_reserve(&memory_heap, &draft->job->outputs, draft->output_count);
}

static void draft_release(struct draft *draft)
{
    void *lists[] = {draft->argv, draft->env,   draft->files,   draft->edges,
                     draft->uses, draft->makes, draft->command, draft->details};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
}

static void words_write(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    char *at = draft->command;
    for (uint32_t i = 0; i < draft->argc; i++) {
        size_t length = strlen(task->argv[i]);
        draft->argv[i] = wire_text_of(task->argv[i]);
        if (i) *at++ = ' ';
        memcpy(at, task->argv[i], length);
        at += length;
    }
    for (uint32_t i = 0; i < draft->env_count; i++) draft->env[i] = wire_text_of(task->env[i]);
}

static char *detail_add(char *at, const char *word, const char *name)
{
    size_t word_length = strlen(word), length = strlen(name);
    memcpy(at, word, word_length);
    memcpy(at + word_length, name, length);
    at[word_length + length] = '\n';
    return at + word_length + length + 1;
}

// The server derives the dependency of a reader on its producer from the objects.
static void files_write(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    struct rota_client_job *job = draft->job;
    struct wire_file *file = draft->files;
    char *at = draft->details;
    for (uint32_t i = 0; i < task->input_count; i++, file++) {
        const struct rota_client_input *input = &task->inputs[i];
        uint32_t output = map_find(&job->outputs, output_key(input->task, input->output));
        file->kind = WIRE_FILE;
        file->name = wire_text_of(input->name);
        file->path = wire_text_of("");
        file->object = output_object(job, input->task, output);
        draft->uses[i] = (struct wire_use){.task = draft->number, .object = file->object};
        draft->edges[task->need_count + i] = (struct wire_edge){input->task, draft->number};
        at = detail_add(at, "in ", input->output);
    }
    for (uint32_t i = 0; i < draft->output_count; i++, file++) {
        file->kind = WIRE_FILE;
        file->name = wire_text_of(task->outputs[i]);
        file->path = wire_text_of("");
        file->object = output_object(job, draft->number, i + 1);
        draft->makes[i] = (struct wire_make){.task = draft->number,
                                             .object = file->object,
                                             .flags = task->keep ? ROTA_OBJECT_KEEP : 0};
        at = detail_add(at, "out ", task->outputs[i]);
    }
}

static void body_write(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    struct wire_run *run = &message.run;
    run->name = draft->spec.name;
    run->argv = (wire_texts){draft->argv, draft->argc};
    run->env = (wire_texts){draft->env, draft->env_count};
    run->cwd = wire_text_of(task->cwd);
    run->stdin_path = wire_text_of("");
    run->timeout = task->timeout;
    run->grace = WIRE_GRACE;
    run->cores = draft->spec.cores;
    run->memory_mib = task->memory_mib;
    run->flags = task->lane ? WIRE_RUN_EXCLUSIVE : 0;
    if (!task->cwd || task->input_count || draft->output_count) run->flags |= WIRE_RUN_PRIVATE;
    run->inputs = (wire_files){draft->files, task->input_count};
    run->outputs = (wire_files){draft->files + task->input_count, draft->output_count};
    draft->job->body.length = 0;
    wire_put(&draft->job->body, &message);
}

static bool spec_write(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    struct rota_client_job *job = draft->job;
    struct wire_spec *spec = &draft->spec;
    bool is_new = false;
    spec->name = wire_text_of(task->name ? task->name : task->argv[0]);
    spec->details = wire_text_of(draft->details);
    spec->body = draft->number;
    spec->access = task->lane ? task->access : ROTA_ACCESS_NONE;
    spec->cores = task->cores ? task->cores : 1;
    spec->memory_mib = task->memory_mib;
    spec->retries = task->retries;
    spec->priority = task->priority;
    if (task->lane && !(spec->lane = name_number(&job->lanes, task->lane, &is_new))) return false;
    draft->lane = (struct wire_lane){wire_text_of(task->lane), 0};
    draft->lists.lanes = (wire_lanes){&draft->lane, task->lane && is_new};
    if (task->group && !(spec->group = name_number(&job->groups, task->group, &is_new)))
        return false;
    draft->group = wire_text_of(task->group);
    draft->lists.groups = (wire_texts){&draft->group, task->group && is_new};
    if (task->machine && !(spec->machine = name_number(&job->machines, task->machine, &is_new)))
        return false;
    draft->machine = wire_text_of(task->machine);
    draft->lists.machines = (wire_texts){&draft->machine, task->machine && is_new};
    return true;
}

static bool task_write(struct draft *draft)
{
    const struct rota_client_task *task = draft->task;
    struct rota_client_job *job = draft->job;
    struct wire_submit *lists = &draft->lists;
    if (!draft_reserve(draft)) return no_memory(job);
    words_write(draft);
    files_write(draft);
    if (!spec_write(draft)) return no_memory(job);
    body_write(draft);
    for (uint32_t i = 0; i < task->need_count; i++)
        draft->edges[i] = (struct wire_edge){task->needs[i], draft->number};
    wire_text body = {job->body.bytes, job->body.length};
    wire_text command = wire_text_of(draft->command);
    lists->bodies = (wire_texts){&body, 1};
    lists->commands = (wire_texts){&command, 1};
    lists->tasks = (wire_specs){&draft->spec, 1};
    lists->edges = (wire_edges){draft->edges, task->need_count + task->input_count};
    lists->inputs = (wire_uses){draft->uses, task->input_count};
    lists->outputs = (wire_makes){draft->makes, draft->output_count};
    if (!job->body.failed) job_piece_put(job, &job->frames, lists, WIRE_SUBMIT_MORE);
    if (job->body.failed || job->frames.failed) return no_memory(job);
    for (uint32_t i = 0; i < draft->output_count; i++)
        map_put(&job->outputs, output_key(draft->number, task->outputs[i]), i + 1);
    return true;
}

uint32_t rota_client_task_add(struct rota_client_job *job, const struct rota_client_task *task)
{
    struct draft draft = {.job = job, .task = task, .number = job->task_count + 1};
    if (job->has_failed) return 0;
    draft.argc = words_count(task->argv);
    draft.env_count = words_count(task->env);
    draft.output_count = words_count(task->outputs);
    bool fine = task_check(&draft) && task_write(&draft);
    draft_release(&draft);
    if (fine) job->task_count++;
    return fine ? draft.number : 0;
}
