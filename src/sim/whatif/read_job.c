// read_job.c - reads a job file as a graph; job files have no durations and sizes.
#include "sim/whatif/whatif.h"

// The stream that this dependency of a task stands for; 0: none, the task waits for its end.
static uint32_t stream_of(const struct jobfile *file, const struct jobfile_task *task, uint32_t at)
{
    uint32_t before = task->need_count + task->member_count + task->clause_count;
    if (at <= before) return 0;
    const struct jobfile_input *input = &task->inputs[at - before - 1];
    const struct jobfile_output *outputs = file->tasks[input->producer - 1].outputs;
    if (outputs[input->output - 1].kind != JOBFILE_STREAM) return 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < input->output; i++) number += outputs[i].kind == JOBFILE_STREAM;
    return number;
}

struct counts {
    uint32_t inputs, objects;
};

static struct counts count(const struct jobfile *file)
{
    struct counts counts = {0, file->task_count};
    uint32_t other;
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *task = &file->tasks[i];
        for (uint32_t at = 0; (at = jobfile_waits(task, at, &other));) counts.inputs++;
        for (uint32_t k = 0; k < task->output_count; k++)
            counts.objects += task->outputs[k].kind == JOBFILE_STREAM;
    }
    return counts;
}

// Each task gets an object that its dependents wait for, and after it one for each of its streams.
static void name_objects(struct whatif_job *job, const struct jobfile *file)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < file->task_count; i++) {
        struct plan_task *task = &job->graph.tasks[i];
        task->output = next++;
        for (uint32_t k = 0; k < file->tasks[i].output_count; k++)
            if (file->tasks[i].outputs[k].kind == JOBFILE_STREAM) whatif_stream_set(job, next++);
        task->output_count = next - task->output;
    }
}

bool whatif_read_job(struct whatif_job *job, const struct jobfile *file, double seconds_each)
{
    struct counts counts = count(file);
    uint32_t inputs = 0, at, other;
    whatif_job_init(job, file->name ? file->name : file->path, file->task_count, counts.objects,
                 counts.inputs);
    struct plan_graph *graph = &job->graph;
    name_objects(job, file);
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *from = &file->tasks[i];
        struct plan_task *task = &graph->tasks[i];
        task->cores = from->cores ? from->cores : 1;
        task->input = inputs;
        for (at = 0; (at = jobfile_waits(from, at, &other)); task->input_count++)
            graph->inputs[inputs++] = graph->tasks[other].output + stream_of(file, from, at);
        whatif_memory_set(job, i, from->memory_mib);
        graph->seconds[i] = from->is_bundle ? 0 : seconds_each;
        job->guess_seconds[i] = graph->seconds[i];
        job->names[i] = whatif_text(from->name);
        job->kinds[i] = whatif_text(from->name);
    }
    if (plan_graph_finish(graph)) return true;
    fprintf(stderr, "%s: the tasks depend on each other in a cycle\n", file->path);
    return false;
}
