// streams.c - splits streams with several readers; a writer waits until its readers can start.
//
// Readers start when the writer runs. If a reader waited for another task, the writer would block
// on a full stream until then, and forever if that task never succeeds.
#include "job/file/internal.h"

#include <string.h>

static bool is_needed(const struct jobfile_task *task, uint32_t other)
{
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == other) return true;
    return false;
}

// True: the writer has new dependencies.
static bool needs_join(struct jobfile *file, struct jobfile_task *writer,
                       const struct jobfile_task *reader)
{
    uint32_t count = writer->need_count, more = 0;
    for (uint32_t i = 0; i < reader->need_count; i++) more += !is_needed(writer, reader->needs[i]);
    if (!more) return false;
    uint32_t *needs = jobfile_take(file, (count + more) * sizeof *needs);
    if (!needs) return false;
    if (count) memcpy(needs, writer->needs, count * sizeof *needs);
    for (uint32_t i = 0; i < reader->need_count; i++)
        if (!is_needed(writer, reader->needs[i])) needs[count++] = reader->needs[i];
    writer->needs = needs;
    writer->need_count = count;
    file->need_count += more;
    return true;
}

// The dependencies of a reader also apply to its writer, to the writer of that one, and so on.
static bool task_gather(struct jobfile *file, const struct jobfile_task *task)
{
    bool more = false;
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (!input->producer) continue;
        struct jobfile_task *writer = &file->tasks[input->producer - 1];
        if (writer->outputs[input->output - 1].kind != JOBFILE_STREAM) continue;
        if (is_needed(task, input->producer - 1))
            refuse_at(file, task->place, "it reads a stream of %s and also waits for that task",
                      QUOTED(writer->name));
        more |= needs_join(file, writer, task);
    }
    return more;
}

void streams_gather(struct jobfile *file)
{
    bool more = true;
    while (more && !file->error_count && file->need_count <= JOBFILE_NEEDS_MAX) {
        more = false;
        for (uint32_t i = 0; i < file->task_count; i++) more |= task_gather(file, &file->tasks[i]);
    }
}

// ---- A stream for each reader -----------------------------------------------------------------

// The bytes of a stream can be read only once. So each reader has its own stream, and the worker of
// the writer fills them all.
static struct jobfile_output *stream_of(const struct jobfile *file,
                                        const struct jobfile_input *input)
{
    if (!input->producer) return NULL;
    struct jobfile_output *output = &file->tasks[input->producer - 1].outputs[input->output - 1];
    return output->kind == JOBFILE_STREAM ? output : NULL;
}

static bool readers_count(const struct jobfile *file)
{
    bool several = false;
    for (uint32_t i = 0; i < file->task_count; i++)
        for (uint32_t k = 0; k < file->tasks[i].input_count; k++) {
            struct jobfile_output *stream = stream_of(file, &file->tasks[i].inputs[k]);
            if (stream) several |= ++stream->readers > 1;
        }
    return several;
}

// The writer of a stream without a reader would block forever.
static void unread_refuse(struct jobfile *file)
{
    for (uint32_t i = 0; i < file->task_count; i++)
        for (uint32_t k = 0; k < file->tasks[i].output_count; k++) {
            const struct jobfile_output *output = &file->tasks[i].outputs[k];
            if (output->kind == JOBFILE_STREAM && !output->readers)
                refuse_at(file, file->tasks[i].place, "no task reads the stream %s",
                          QUOTED(output->name));
        }
}

static bool room_make(struct jobfile *file, struct jobfile_task *task)
{
    uint32_t more = 0;
    for (uint32_t i = 0; i < task->output_count; i++)
        if (task->outputs[i].readers) more += task->outputs[i].readers - 1;
    if (!more) return true;
    struct jobfile_output *outputs
        = jobfile_take(file, (task->output_count + more) * sizeof *outputs);
    if (!outputs) return false;
    memcpy(outputs, task->outputs, task->output_count * sizeof *outputs);
    task->outputs = outputs;
    return true;
}

static void branch_add(struct jobfile *file, struct jobfile_input *input)
{
    struct jobfile_output *stream = stream_of(file, input);
    if (!stream || stream->readers == 1) return;
    struct jobfile_task *producer = &file->tasks[input->producer - 1];
    stream->readers--;
    producer->outputs[producer->output_count] = *stream;
    producer->outputs[producer->output_count].readers = 1;
    producer->outputs[producer->output_count].is_again = true;
    input->output = ++producer->output_count;
}

void streams_branch(struct jobfile *file)
{
    bool several = readers_count(file);
    unread_refuse(file);
    if (!several) return;
    for (uint32_t i = 0; i < file->task_count; i++)
        if (!room_make(file, &file->tasks[i])) return;
    for (uint32_t i = 0; i < file->task_count; i++)
        for (uint32_t k = 0; k < file->tasks[i].input_count; k++)
            branch_add(file, &file->tasks[i].inputs[k]);
}
