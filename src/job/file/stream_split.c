// stream_split.c - gives each reader of a stream its own output, all with the same name.
//
// The bytes of a stream can be read only once. So each reader has its own stream, and the worker of
// the writer fills them all.
#include "job/file/internal.h"

#include <string.h>

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
