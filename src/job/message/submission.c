// submission.c - encodes a job file as a submission: the tasks, and the RUN messages for workers.
#include "job/message/submission.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096, PIECE_BYTES = 4 << 20 };

struct submission {
    const struct jobfile *file;
    const struct submit_job *job;
    struct wire_submit all;  // the complete lists
    struct wire_out frames;  // the bodies, one after another
    uint32_t *ends;          // where each body ends in `frames`
    uint32_t *group_of;      // by task, from 1; 0: none
    uint32_t *machine_of;
    char **details;          // owned
    uint32_t detail_count;
    bool failed;             // out of memory
};

static void *take(struct submission *submission, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) submission->failed = true;
    return memory;
}

rota_object_id submit_output(struct request_id request, uint32_t task, uint32_t output)
{
    return (rota_object_id){request.high ^ request.low,
                            (uint64_t)(task + 1) << 32 | (output + 1)};
}

static rota_object_id object_of(const void *context, uint32_t task, uint32_t output)
{
    const struct submission *submission = context;
    return submit_output(submission->job->request, task, output);
}

static const struct submit_upload *upload_of(const void *context, const char *path)
{
    const struct submission *submission = context;
    return submission->job->upload(submission->job->context, path);
}

// ---- Names -----------------------------------------------------------------------------------

static int by_text(const void *left, const void *right)
{
    const wire_text *one = left, *other = right;
    return strcmp(one->bytes, other->bytes);
}

// All distinct names of one kind. `of` gets the number of each task's name, from 1.
static wire_texts names_collect(struct submission *submission, size_t place, uint32_t *of)
{
    const struct jobfile *file = submission->file;
    wire_texts names = {take(submission, file->task_count, sizeof *names.items), 0};
    uint32_t count = 0;
    if (!names.items) return names;
    for (uint32_t i = 0; i < file->task_count; i++) {
        const char *name = *(const char *const *)((const char *)&file->tasks[i] + place);
        if (name) names.items[count++] = wire_text_of(name);
    }
    qsort(names.items, count, sizeof *names.items, by_text);
    for (uint32_t i = 0; i < count; i++)
        if (!i || by_text(&names.items[i], &names.items[i - 1]) != 0)
            names.items[names.count++] = names.items[i];
    for (uint32_t i = 0; i < file->task_count; i++) {
        const char *name = *(const char *const *)((const char *)&file->tasks[i] + place);
        wire_text text = wire_text_of(name);
        const wire_text *found
            = name ? bsearch(&text, names.items, names.count, sizeof text, by_text) : NULL;
        of[i] = found ? (uint32_t)(found - names.items) + 1 : 0;
    }
    return names;
}

static void lanes_write(struct submission *submission)
{
    const struct jobfile *file = submission->file;
    wire_lanes *lanes = &submission->all.lanes;
    lanes->items = take(submission, file->lane_count, sizeof *lanes->items);
    for (uint32_t i = 0; lanes->items && i < file->lane_count; i++) {
        struct wire_lane *lane = &lanes->items[lanes->count++];
        lane->name = wire_text_of(file->lanes[i].name);
        lane->flags = (file->lanes[i].strict ? ROTA_LANE_STRICT : 0u)
                      | (file->lanes[i].submit_order ? ROTA_LANE_SUBMIT_ORDER : 0u);
    }
}

// ---- Tasks -----------------------------------------------------------------------------------

// Only if the task has more than a number of retries.
static void repeat_put(struct submission *submission, const struct jobfile_retries *retries)
{
    struct wire_message message = {.kind = WIRE_REPEAT_MESSAGE};
    wire_exits *exits = &message.repeat.exits;
    if (!retries->max || (!retries->backoff && !retries->code_count)) return;
    message.repeat.rest = retries->backoff;
    message.repeat.percent = retries->factor_percent;
    exits->items = take(submission, retries->code_count, sizeof *exits->items);
    if (!exits->items) return;
    for (; exits->count < retries->code_count; exits->count++)
        exits->items[exits->count].status = retries->codes[exits->count];
    wire_put(&submission->frames, &message);
    free(exits->items);
}

static void body_write(struct submission *submission, const struct submit_command *command,
                       uint32_t at)
{
    struct wire_submit *all = &submission->all;
    struct wire_run numbers = {.flags = 0};
    if (submission->file->tasks[at].lane) numbers.flags |= WIRE_RUN_EXCLUSIVE;
    if (submission->file->tasks[at].cache) numbers.flags |= WIRE_RUN_CACHE_FAILURE;
    submit_command_put(command, at, &numbers, &submission->frames);
    repeat_put(submission, &submission->file->tasks[at].retries);
    submission->ends[all->bodies.count] = submission->frames.length;
    all->commands.items[all->bodies.count++] = wire_text_of(submission->file->tasks[at].command);
    all->commands.count++;
}

// The details that commands show, and that map names to objects.
static wire_text details_of(struct submission *submission, const struct jobfile_task *task)
{
    size_t length = submit_details(task, NULL);
    char *text = length ? take(submission, length + 1, 1) : NULL;
    if (!text) return wire_text_of("");
    submit_details(task, text);
    submission->details[submission->detail_count++] = text;
    return wire_text_of(text);
}

static void task_write(struct submission *submission, uint32_t at)
{
    const struct jobfile_task *task = &submission->file->tasks[at];
    struct wire_submit *all = &submission->all;
    struct wire_spec *spec = &all->tasks.items[all->tasks.count++];
    spec->name = wire_text_of(task->name);
    spec->details = details_of(submission, task);
    spec->flags = task->is_bundle ? ROTA_TASK_BUNDLE : 0;
    spec->bundle = task->bundle;
    spec->priority = task->priority;
    spec->clause_first = all->clauses.count;
    spec->clause_count = task->clause_count;
    for (uint32_t i = 0; i < task->clause_count; i++)
        all->clauses.items[all->clauses.count++]
            = (struct wire_clause){task->clauses[i].kind, task->clauses[i].task};
    if (task->is_bundle) return;
    spec->body = all->bodies.count;
    spec->lane = task->lane;
    spec->group = task->lane ? submission->group_of[at] : 0;
    spec->access = task->lane ? task->access : ROTA_ACCESS_NONE;
    spec->machine = submission->machine_of[at];
    spec->cores = task->cores;
    spec->memory_mib = task->memory_mib;
    spec->retries = task->retries.max;
    if (submission->job->keys) spec->key = submission->job->keys[at];
}

// A file of the user is an object that the job has from the beginning.
static void use_add(struct submission *submission, uint32_t at, const char *path)
{
    struct wire_submit *all = &submission->all;
    if (!submission->job->upload) return;
    char *place = submit_path_in(submission->job->folder, path);
    if (!place) submission->failed = true;
    const struct submit_upload *upload = place ? upload_of(submission, place) : NULL;
    free(place);
    if (upload)
        all->inputs.items[all->inputs.count++]
            = (struct wire_use){.task = at + 1, .object = upload->object};
}

static void uploads_write(struct submission *submission)
{
    const struct submit_job *job = submission->job;
    struct wire_submit *all = &submission->all;
    for (uint32_t i = 0; i < job->upload_count; i++)
        all->outputs.items[all->outputs.count++] = job->uploads[i];
}

static void lists_write(struct submission *submission, uint32_t at)
{
    const struct jobfile_task *task = &submission->file->tasks[at];
    struct wire_submit *all = &submission->all;
    for (uint32_t i = 0; i < task->need_count; i++)
        all->edges.items[all->edges.count++] = (struct wire_edge){task->needs[i] + 1, at + 1};
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (!input->producer) {
            use_add(submission, at, input->path);
            continue;
        }
        all->inputs.items[all->inputs.count++] = (struct wire_use){
            .task = at + 1,
            .object = object_of(submission, input->producer - 1, input->output - 1)};
    }
    if (task->stdin_path && !task->stdin_input) use_add(submission, at, task->stdin_path);
    for (uint32_t i = 0; i < task->output_count; i++) {
        bool stream = task->outputs[i].kind == JOBFILE_STREAM;
        bool keep = task->outputs[i].keep;
        all->outputs.items[all->outputs.count++]
            = (struct wire_make){.task = at + 1,
                                 .object = object_of(submission, at, i),
                                 .flags = stream ? ROTA_OBJECT_STREAM
                                          : keep ? ROTA_OBJECT_KEEP
                                                 : 0};
    }
}

static void lists_reserve(struct submission *submission)
{
    const struct jobfile *file = submission->file;
    struct wire_submit *all = &submission->all;
    struct jobfile_counts counts = jobfile_counts(file);
    counts.inputs += file->task_count;  // one of them may be standard input
    counts.outputs += submission->job->upload_count;
    submission->details = take(submission, file->task_count, sizeof *submission->details);
    all->tasks.items = take(submission, file->task_count, sizeof *all->tasks.items);
    all->commands.items = take(submission, file->task_count, sizeof *all->commands.items);
    all->bodies.items = take(submission, file->task_count, sizeof *all->bodies.items);
    all->edges.items = take(submission, counts.edges, sizeof *all->edges.items);
    all->clauses.items = take(submission, counts.clauses, sizeof *all->clauses.items);
    all->inputs.items = take(submission, counts.inputs, sizeof *all->inputs.items);
    all->outputs.items = take(submission, counts.outputs, sizeof *all->outputs.items);
    submission->ends = take(submission, file->task_count, sizeof *submission->ends);
    submission->group_of = take(submission, file->task_count, sizeof *submission->group_of);
    submission->machine_of = take(submission, file->task_count, sizeof *submission->machine_of);
}

static void submission_release(struct submission *submission)
{
    struct wire_submit *all = &submission->all;
    void *lists[]
        = {all->tasks.items,      all->commands.items, all->bodies.items,  all->edges.items,
           all->clauses.items,    all->inputs.items,   all->outputs.items, all->lanes.items,
           all->groups.items,     all->machines.items, submission->ends,   submission->group_of,
           submission->machine_of};
    for (uint32_t i = 0; i < submission->detail_count; i++) free(submission->details[i]);
    free(submission->details);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    wire_out_release(&submission->frames);
}

// ---- Pieces ------------------------------------------------------------------------------------

static void piece_put(struct wire_out *out, const struct submission *submission,
                      const struct wire_submit *lists, uint32_t flags)
{
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *lists};
    message.submit.high = submission->job->request.high;
    message.submit.low = submission->job->request.low;
    message.submit.flags = flags;
    message.submit.policy = submission->file->policy;
    message.submit.on_failure = submission->file->on_failure;
    message.submit.name = wire_text_of(submission->file->name);
    wire_put(out, &message);
}

// Takes as many bodies from `first` on as fit into a message. Returns their number.
static uint32_t bodies_cut(const struct submission *submission, uint32_t first, wire_texts *bodies,
                           wire_texts *commands)
{
    const struct wire_submit *all = &submission->all;
    uint32_t count = 0, before = first ? submission->ends[first - 1] : 0;
    while (first + count < all->bodies.count && count < PIECE
           && (!count || submission->ends[first + count] - before < PIECE_BYTES))
        count++;
    *bodies = (wire_texts){all->bodies.items + first, count};
    *commands = (wire_texts){all->commands.items + first, count};
    return count;
}

#define CUT(list)                                                                                  \
    for (uint32_t at = 0; at < all->list.count; at += PIECE) {                                     \
        uint32_t left = all->list.count - at;                                                      \
        struct wire_submit piece = {0};                                                            \
        piece.list.items = all->list.items + at;                                                   \
        piece.list.count = left < PIECE ? left : PIECE;                                            \
        piece_put(out, submission, &piece, WIRE_SUBMIT_MORE);                                      \
    }

static void pieces_put(struct wire_out *out, struct submission *submission, uint32_t flags)
{
    struct wire_submit *all = &submission->all;
    for (uint32_t i = 0; i < all->bodies.count; i++) {
        uint32_t first = i ? submission->ends[i - 1] : 0;
        all->bodies.items[i]
            = (wire_text){submission->frames.bytes + first, submission->ends[i] - first};
    }
    CUT(lanes)
    CUT(groups)
    CUT(machines)
    for (uint32_t at = 0; at < all->bodies.count;) {
        struct wire_submit piece = {0};
        at += bodies_cut(submission, at, &piece.bodies, &piece.commands);
        piece_put(out, submission, &piece, WIRE_SUBMIT_MORE);
    }
    CUT(tasks)
    CUT(edges)
    CUT(clauses)
    CUT(inputs)
    CUT(outputs)
    piece_put(out, submission, &(struct wire_submit){0}, flags);
}

static void submission_write(struct submission *submission)
{
    const struct jobfile *file = submission->file;
    const struct submit_job *job = submission->job;
    struct submit_command command = {file, job->folder, object_of, submission, NULL};
    if (job->upload) command.upload = upload_of;
    lanes_write(submission);
    submission->all.groups = names_collect(submission, offsetof(struct jobfile_task, group),
                                           submission->group_of);
    submission->all.machines = names_collect(submission, offsetof(struct jobfile_task, machine),
                                             submission->machine_of);
    uploads_write(submission);
    for (uint32_t i = 0; i < file->task_count; i++) {
        if (!file->tasks[i].is_bundle) body_write(submission, &command, i);
        task_write(submission, i);
        lists_write(submission, i);
    }
}

void submit_put(const struct submit_job *job, struct wire_out *out)
{
    struct submission submission = {.file = job->file, .job = job};
    lists_reserve(&submission);
    if (!submission.failed) submission_write(&submission);
    if (submission.failed || submission.frames.failed)
        out->failed = true;
    else
        pieces_put(out, &submission, job->flags);
    submission_release(&submission);
}
