// read_job.c - a job file as a graph; what its tasks take and make is not written there.
#include "lab/lab.h"

#include <string.h>

static uint32_t count_waits(const struct jobfile_task *task)
{
    uint32_t count = 0, other;
    for (uint32_t at = 0; (at = jobfile_waits(task, at, &other));) count++;
    return count;
}

// An object for each task, which is what the others wait for.
bool lab_read_job(struct lab_job *job, const struct jobfile *file, double seconds_each)
{
    uint32_t inputs = 0, at, other;
    for (uint32_t i = 0; i < file->task_count; i++) inputs += count_waits(&file->tasks[i]);
    lab_job_init(job, file->name ? file->name : file->path, file->task_count, file->task_count,
                 inputs);
    struct plan_graph *graph = &job->graph;
    inputs = 0;
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct jobfile_task *from = &file->tasks[i];
        struct plan_task *task = &graph->tasks[i];
        *task = (struct plan_task){from->cores ? from->cores : 1, inputs, 0, i, 1};
        for (at = 0; (at = jobfile_waits(from, at, &other)); task->input_count++)
            graph->inputs[inputs++] = other;
        lab_memory_set(job, i, from->memory_mib);
        graph->seconds[i] = from->is_bundle ? 0 : seconds_each;
        job->guess_seconds[i] = graph->seconds[i];
        job->names[i] = lab_text(from->name);
        job->kinds[i] = lab_text(from->name);
    }
    if (plan_graph_finish(graph)) return true;
    fprintf(stderr, "%s: the tasks wait for each other in a circle\n", file->path);
    return false;
}
