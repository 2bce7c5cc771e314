// stream_groups.c - groups of tasks joined by streams: they progress together or not at all.
#include "plan/plan.h"

#include <stdlib.h>

static uint32_t root_of(uint32_t *joined, uint32_t task)
{
    assert(joined);
    while (joined[task] != task) task = joined[task] = joined[joined[task]];
    return task;
}

static void join(struct plan_graph *graph, uint32_t *joined)
{
    for (uint32_t i = 0; i < graph->object_count; i++) {
        const struct plan_object *object = &graph->objects[i];
        for (uint32_t u = 0; graph->streams[i] && u < object->user_count; u++)
            joined[root_of(joined, graph->users[object->user + u])]
                = root_of(joined, object->producer);
    }
}

// Numbers the groups from 1, and lists their tasks, writers before readers.
static void list_groups(struct plan_graph *graph, uint32_t *joined)
{
    uint32_t count = graph->task_count, *sizes = plan_take(count, sizeof *sizes);
    graph->group = plan_take(count, sizeof *graph->group);
    graph->group_first = plan_take((size_t)count + 2, sizeof *graph->group_first);
    graph->grouped = plan_take(count, sizeof *graph->grouped);
    for (uint32_t i = 0; i < count; i++) sizes[root_of(joined, i)]++;
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 2) continue;
        graph->group[i] = ++graph->group_count;
        graph->group_first[graph->group_count] = first;
        first += sizes[i];
    }
    graph->group_first[graph->group_count + 1] = first;
    uint32_t *next = plan_take((size_t)graph->group_count + 1, sizeof *next);
    for (uint32_t i = 1; i <= graph->group_count; i++) next[i] = graph->group_first[i];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = graph->sorted[i], group = graph->group[root_of(joined, task)];
        graph->group[task] = group;
        if (group) graph->grouped[next[group]++] = task;
    }
    free(next), free(sizes);
}

// Groups, and single tasks, with the number of objects they still wait for; streams do not count.
struct waits {
    const struct plan_graph *graph;
    uint32_t *joined, *lacks, *free_roots;
    uint32_t free_count;
};

static void count_lacks(struct waits *waits)
{
    const struct plan_graph *graph = waits->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const uint32_t *inputs = graph->inputs + graph->tasks[i].input;
        for (uint32_t k = 0; k < graph->tasks[i].input_count; k++)
            waits->lacks[root_of(waits->joined, i)]
                += !graph->streams[inputs[k]] && graph->objects[inputs[k]].producer != PLAN_NONE;
    }
    for (uint32_t i = 0; i < graph->task_count; i++)
        if (root_of(waits->joined, i) == i && !waits->lacks[i])
            waits->free_roots[waits->free_count++] = i;
}

static void hand_on(struct waits *waits, uint32_t object)
{
    assert(object < waits->graph->object_count);
    const struct plan_object *at = &waits->graph->objects[object];
    for (uint32_t u = 0; u < at->user_count; u++) {
        uint32_t root = root_of(waits->joined, waits->graph->users[at->user + u]);
        if (--waits->lacks[root] == 0) waits->free_roots[waits->free_count++] = root;
    }
}

static void task_done(struct waits *waits, uint32_t task)
{
    assert(task < waits->graph->task_count);
    const struct plan_task *at = &waits->graph->tasks[task];
    for (uint32_t i = 0; i < at->output_count; i++)
        if (!waits->graph->streams[at->output + i]) hand_on(waits, at->output + i);
}

// If a path over objects that are not streams leads back into a group, none of its tasks can
// progress.
static bool is_free_of_circles(const struct plan_graph *graph, uint32_t *joined)
{
    uint32_t count = graph->task_count, roots = 0;
    struct waits waits = {graph, joined, plan_take(count, sizeof(uint32_t)),
                          plan_take(count, sizeof(uint32_t)), 0};
    uint32_t *next = plan_take(count, sizeof *next), *members = plan_take(count, sizeof *members);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t root = root_of(joined, i);
        roots += root == i;
        next[i] = members[root];
        members[root] = i + 1;
    }
    count_lacks(&waits);
    for (uint32_t i = 0; i < waits.free_count; i++)
        for (uint32_t at = members[waits.free_roots[i]]; at; at = next[at - 1])
            task_done(&waits, at - 1);
    free(waits.lacks), free(waits.free_roots), free(next), free(members);
    return waits.free_count == roots;
}

bool plan_graph_join(struct plan_graph *graph)
{
    uint32_t *joined = plan_take(graph->task_count, sizeof *joined);
    for (uint32_t i = 0; i < graph->task_count; i++) joined[i] = i;
    join(graph, joined);
    bool fine = is_free_of_circles(graph, joined);
    if (fine) list_groups(graph, joined);
    free(joined);
    return fine;
}

// The least duration of a task, together with its group.
double plan_lasts(const struct plan_graph *graph, uint32_t task)
{
    assert(task < graph->task_count);
    uint32_t group = graph->group ? graph->group[task] : 0;
    double longest = graph->seconds[task];
    if (!group) return longest;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++)
        if (longest < graph->seconds[graph->grouped[i]])
            longest = graph->seconds[graph->grouped[i]];
    return longest;
}
