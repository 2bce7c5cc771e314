// resolve.c - resolves names to numbers: bundles, dependencies, and the producers of inputs.
#include "job/file/internal.h"

#include <stdlib.h>
#include <string.h>

// Handles one task at a time, and collects its dependencies here before they are copied.
struct resolve {
    struct reader *reader;
    uint32_t *marks;  // by task: the last task that depends on it, plus one
    uint32_t *needs, *bundles;
    uint32_t need_count, need_capacity, bundle_count, bundle_capacity;
};

// ---- Bundles ---------------------------------------------------------------

static uint32_t bundle_find(struct reader *reader, const struct named *named)
{
    uint32_t number = table_find(&reader->names, named->name);
    if (!number) {
        number = task_add(reader, named->node, named->name);
        if (!number) return 0;
        reader->file->tasks[number - 1].is_bundle = true;
        reader->file->bundle_count++;
        return number;
    }
    if (!(number & FAMILY) && reader->file->tasks[number - 1].is_bundle) return number;
    reject(reader, named->node, "%s is not a bundle", QUOTED(named->name));
    return 0;
}

static void bundles_resolve(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->bundles.count; i++) {
        const struct named *named = &reader->bundles.items[i];
        uint32_t bundle = bundle_find(reader, named);
        reader->file->tasks[named->task].bundle = bundle;
    }
}

static bool members_list(struct jobfile *file)
{
    for (uint32_t i = 0; i < file->task_count; i++)
        if (file->tasks[i].bundle) file->tasks[file->tasks[i].bundle - 1].member_count++;
    for (uint32_t i = 0; i < file->task_count; i++) {
        struct jobfile_task *bundle = &file->tasks[i];
        if (!bundle->is_bundle) continue;
        bundle->members = jobfile_take(file, bundle->member_count * sizeof *bundle->members);
        if (!bundle->members) return false;
        bundle->member_count = 0;
    }
    for (uint32_t i = 0; i < file->task_count; i++) {
        if (!file->tasks[i].bundle) continue;
        struct jobfile_task *bundle = &file->tasks[file->tasks[i].bundle - 1];
        ((uint32_t *)bundle->members)[bundle->member_count++] = i;
    }
    return true;
}

// ---- Dependencies -----------------------------------------------------------

static void need_add(struct resolve *resolve, uint32_t task, uint32_t other)
{
    if (resolve->marks[other] == task + 1) return;
    struct jobfile *file = resolve->reader->file;
    resolve->marks[other] = task + 1;
    uint32_t *place
        = file->tasks[other].is_bundle
              ? ARRAY_ADD(file, resolve->bundles, resolve->bundle_count, resolve->bundle_capacity)
              : ARRAY_ADD(file, resolve->needs, resolve->need_count, resolve->need_capacity);
    if (place) *place = other;
}

static void needs_resolve(struct resolve *resolve, const struct named *named)
{
    struct reader *reader = resolve->reader;
    uint32_t number = table_find(&reader->names, named->name);
    if (!number) {
        reject(reader, named->node, "no such task: %s%s", QUOTED(named->name),
               suggestion_text(reader, named->name));
    } else if (number & FAMILY) {
        const struct family *family = &reader->families[number & ~(uint32_t)FAMILY];
        for (uint32_t i = 0; i < family->count; i++)
            need_add(resolve, named->task, family->first + i);
    } else {
        need_add(resolve, named->task, number - 1);
    }
}

// ---- Inputs ----------------------------------------------------------------

// A file produced by another task is an input even if only stdin names it.
static void stdin_resolve(struct reader *reader, struct jobfile_task *task)
{
    if (!task->stdin_path || task->stdin_input || !table_find(&reader->outputs, task->stdin_path))
        return;
    struct jobfile_input *inputs
        = jobfile_take(reader->file, (task->input_count + 1) * sizeof *inputs);
    if (!inputs) return;
    if (task->input_count) memcpy(inputs, task->inputs, task->input_count * sizeof *inputs);
    inputs[task->input_count] = (struct jobfile_input){task->stdin_path, task->stdin_path, 0, 0};
    task->inputs = inputs;
    task->stdin_input = ++task->input_count;
}

static void inputs_resolve(struct resolve *resolve, uint32_t number)
{
    const struct reader *reader = resolve->reader;
    struct jobfile_task *task = &reader->file->tasks[number];
    for (uint32_t i = 0; i < task->input_count; i++) {
        struct jobfile_input *input = &task->inputs[i];
        uint32_t known = table_find(&reader->outputs, input->path);
        if (!known) continue;
        const struct made *made = &reader->made[known - 1];
        input->producer = made->task + 1;
        input->output = made->output + 1;
        const struct jobfile_output *output
            = &reader->file->tasks[made->task].outputs[made->output];
        if (output->kind != JOBFILE_STREAM) need_add(resolve, number, made->task);
    }
}

// ---- All names --------------------------------------------------------------

// The names of a task are adjacent, in the order of the tasks.
static void task_resolve(struct resolve *resolve, uint32_t number, uint32_t *need, uint32_t *when)
{
    struct reader *reader = resolve->reader;
    struct jobfile *file = reader->file;
    struct jobfile_task *task = &file->tasks[number];
    resolve->need_count = resolve->bundle_count = 0;
    for (; *need < reader->needs.count && reader->needs.items[*need].task == number; ++*need)
        needs_resolve(resolve, &reader->needs.items[*need]);
    stdin_resolve(reader, task);
    inputs_resolve(resolve, number);
    const struct named *condition = NULL;
    if (*when < reader->conditions.count && reader->conditions.items[*when].task == number)
        condition = &reader->conditions.items[(*when)++];
    if (condition || resolve->bundle_count)
        condition_resolve(reader, condition, resolve->bundles, resolve->bundle_count, number);
    uint32_t *needs = jobfile_take(file, resolve->need_count * sizeof *needs);
    if (!needs) return;
    if (resolve->need_count) memcpy(needs, resolve->needs, resolve->need_count * sizeof *needs);
    task->needs = needs;
    task->need_count = resolve->need_count;
    file->need_count += resolve->need_count;
}

void names_resolve(struct reader *reader)
{
    struct jobfile *file = reader->file;
    bundles_resolve(reader);
    struct resolve resolve = {.reader = reader};
    uint32_t need = 0, when = 0, mark_capacity = 0;
    if (!members_list(file)
        || !jobfile_reserve(file, &resolve.marks, &mark_capacity, file->task_count,
                            sizeof(uint32_t)))
        return;
    memset(resolve.marks, 0, mark_capacity * sizeof(uint32_t));
    for (uint32_t i = 0; i < file->task_count && !reader_is_done(reader); i++) {
        task_resolve(&resolve, i, &need, &when);
        if (file->need_count <= JOBFILE_NEEDS_MAX) continue;
        refuse_at(file, file->tasks[i].place, "more than %d dependencies; put tasks into a bundle",
                  JOBFILE_NEEDS_MAX);
        break;
    }
    free(resolve.marks);
    free(resolve.needs);
    free(resolve.bundles);
}
