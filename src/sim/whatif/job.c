// job.c - a job with its real durations and sizes, and those that a user would have guessed.
#include "sim/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

char *whatif_text(const char *text)
{
    char *copy = plan_take(strlen(text) + 1, 1);
    memcpy(copy, text, strlen(text));
    return copy;
}

void whatif_job_init(struct whatif_job *job, const char *name, uint32_t tasks, uint32_t objects,
                  uint32_t inputs)
{
    struct plan_graph *graph = &job->graph;
    job->name = whatif_text(name);
    graph->tasks = plan_take(tasks, sizeof *graph->tasks);
    graph->objects = plan_take(objects, sizeof *graph->objects);
    graph->inputs = plan_take(inputs, sizeof *graph->inputs);
    graph->seconds = plan_take(tasks, sizeof *graph->seconds);
    graph->mib = plan_take(objects, sizeof *graph->mib);
    graph->task_count = tasks;
    graph->object_count = objects;
    graph->input_count = inputs;
    job->guess_seconds = plan_take(tasks, sizeof *job->guess_seconds);
    job->guess_mib = plan_take(objects, sizeof *job->guess_mib);
    job->names = plan_take(tasks, sizeof *job->names);
    job->kinds = plan_take(tasks, sizeof *job->kinds);
}

void whatif_memory_set(struct whatif_job *job, uint32_t task, double mib)
{
    struct plan_graph *graph = &job->graph;
    if (mib <= 0) return;
    if (!graph->memory_mib)
        graph->memory_mib = plan_take(graph->task_count, sizeof *graph->memory_mib);
    graph->memory_mib[task] = mib < UINT32_MAX ? (uint32_t)mib + (mib > (uint32_t)mib) : UINT32_MAX;
}

void whatif_stream_set(struct whatif_job *job, uint32_t object)
{
    struct plan_graph *graph = &job->graph;
    if (!graph->streams) graph->streams = plan_take(graph->object_count, sizeof *graph->streams);
    graph->streams[object] = true;
}

void whatif_job_release(struct whatif_job *job)
{
    for (uint32_t i = 0; i < job->graph.task_count; i++) free(job->names[i]), free(job->kinds[i]);
    plan_graph_release(&job->graph);
    free(job->name), free(job->guess_seconds), free(job->guess_mib);
    free(job->names), free(job->kinds);
    *job = (struct whatif_job){0};
}

char *whatif_kind(const char *name)
{
    char *kind = whatif_text(name);
    for (size_t length = strlen(kind), before = 0; length != before;) {
        before = length;
        while (length && kind[length - 1] >= '0' && kind[length - 1] <= '9') length--;
        if (length == before || length == 0) break;
        if (length >= 2 && memcmp(kind + length - 2, "ID", 2) == 0) length -= 2;
        if (length && strchr("_-.", kind[length - 1])) length--;
        if (length) kind[length] = 0;
    }
    return kind;
}

// ---- Kinds of tasks -----------------------------------------------------------------------------

struct kind {
    const char *name;
    uint32_t task;
};

static int by_name(const void *a, const void *b)
{
    const struct kind *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : (one->task > other->task) - (one->task < other->task);
}

static void guess_alike(struct whatif_job *job, const struct kind *kinds, uint32_t count)
{
    const struct plan_graph *graph = &job->graph;
    double seconds = 0, mib = 0;
    uint32_t objects = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_task *task = &graph->tasks[kinds[i].task];
        seconds += graph->seconds[kinds[i].task];
        for (uint32_t k = 0; k < task->output_count; k++, objects++)
            mib += graph->mib[task->output + k];
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct plan_task *task = &graph->tasks[kinds[i].task];
        job->guess_seconds[kinds[i].task] = seconds / count;
        for (uint32_t k = 0; k < task->output_count; k++)
            job->guess_mib[task->output + k] = mib / objects;
    }
}

void whatif_guess_by_kind(struct whatif_job *job)
{
    uint32_t count = job->graph.task_count, first = 0;
    struct kind *kinds = plan_take(count, sizeof *kinds);
    for (uint32_t i = 0; i < count; i++) kinds[i] = (struct kind){job->kinds[i], i};
    qsort(kinds, count, sizeof *kinds, by_name);
    for (uint32_t i = 1; i <= count; i++) {
        if (i < count && strcmp(kinds[i].name, kinds[first].name) == 0) continue;
        guess_alike(job, kinds + first, i - first);
        first = i;
    }
    free(kinds);
}

// ---- The graph for the planner ------------------------------------------------------------------

static double mean(const double *numbers, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += numbers[i];
    return count ? sum / count : 0;
}

static double *seen(const double *truth, const double *guess, uint32_t count, enum whatif_info info)
{
    double *told = plan_take(count, sizeof *told), average = mean(truth, count);
    for (uint32_t i = 0; i < count; i++) {
        if (info == WHATIF_EXACT) told[i] = truth[i];
        else told[i] = info == WHATIF_USER && guess[i] >= 0 ? guess[i] : average;
    }
    return told;
}

struct plan_graph whatif_graph_seen(const struct whatif_job *job, enum whatif_info info)
{
    struct plan_graph graph = job->graph;
    graph.streams = NULL;  // plans treat streams as objects, and bind no task that has one
    graph.group = NULL;
    graph.seconds = seen(graph.seconds, job->guess_seconds, graph.task_count, info);
    graph.mib = seen(graph.mib, job->guess_mib, graph.object_count, info);
    return graph;
}

void whatif_graph_forget(struct plan_graph *graph)
{
    free(graph->seconds), free(graph->mib);
}
