// graph.c - a graph of tasks and the objects they exchange.
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

void *plan_take(size_t count, size_t size)
{
    assert(size > 0);
    void *memory = calloc(count ? count : 1, size);
    if (!memory) abort();
    return memory;
}

static void find_users(struct plan_graph *graph)
{
    assert(graph->users);
    struct plan_object *objects = graph->objects;
    for (uint32_t i = 0; i < graph->object_count; i++)
        objects[i] = (struct plan_object){.producer = PLAN_NONE};
    for (uint32_t task = 0; task < graph->task_count; task++)
        for (uint32_t i = 0; i < graph->tasks[task].output_count; i++)
            objects[graph->tasks[task].output + i].producer = task;
    for (uint32_t i = 0; i < graph->input_count; i++) objects[graph->inputs[i]].user_count++;
    uint32_t first = 0;
    for (uint32_t i = 0; i < graph->object_count; i++) {
        objects[i].user = first;
        first += objects[i].user_count;
        objects[i].user_count = 0;
    }
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
            struct plan_object *object = &objects[inputs[i]];
            graph->users[object->user + object->user_count++] = task;
        }
    }
}

bool plan_graph_finish(struct plan_graph *graph)
{
    assert(graph->task_count == 0 || graph->tasks);
    graph->users = plan_take(graph->input_count, sizeof *graph->users);
    graph->sorted = plan_take(graph->task_count, sizeof *graph->sorted);
    find_users(graph);
    uint32_t *lacks = plan_take(graph->task_count, sizeof *lacks), found = 0;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++)
            lacks[task] += graph->objects[inputs[i]].producer != PLAN_NONE;
        if (!lacks[task]) graph->sorted[found++] = task;
    }
    for (uint32_t at = 0; at < found; at++) {
        const struct plan_task *task = &graph->tasks[graph->sorted[at]];
        for (uint32_t i = 0; i < task->output_count; i++) {
            const struct plan_object *object = &graph->objects[task->output + i];
            for (uint32_t u = 0; u < object->user_count; u++) {
                uint32_t user = graph->users[object->user + u];
                if (--lacks[user] == 0) graph->sorted[found++] = user;
            }
        }
    }
    free(lacks);
    return found == graph->task_count && (!graph->streams || plan_graph_join(graph));
}

void plan_graph_release(struct plan_graph *graph)
{
    free(graph->tasks), free(graph->objects), free(graph->inputs), free(graph->users);
    free(graph->seconds), free(graph->mib), free(graph->sorted), free(graph->memory_mib);
    free(graph->streams), free(graph->group), free(graph->group_first), free(graph->grouped);
    *graph = (struct plan_graph){0};
}

struct plan_schedule plan_schedule_take(uint32_t task_count)
{
    return (struct plan_schedule){plan_take(task_count, sizeof(uint32_t)),
                                  plan_take(task_count, sizeof(uint32_t))};
}

void plan_schedule_release(struct plan_schedule *schedule)
{
    free(schedule->worker), free(schedule->order);
}

void plan_schedule_copy(struct plan_schedule *to, const struct plan_schedule *from,
                        uint32_t task_count)
{
    assert(to && from);
    memcpy(to->worker, from->worker, task_count * sizeof *to->worker);
    memcpy(to->order, from->order, task_count * sizeof *to->order);
}
