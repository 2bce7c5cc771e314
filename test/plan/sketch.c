// sketch.c - builds the graphs that tests write down as tables.
#include "sketch.h"

#include <string.h>

static void add_inputs(const struct sketch *sketch, struct plan_graph *graph, uint32_t task)
{
    graph->tasks[task].input = graph->input_count;
    for (uint32_t i = 0; i < sketch->object_count; i++)
        if (sketch->objects[i].readers & READ_BY(task)) graph->inputs[graph->input_count++] = i;
    graph->tasks[task].input_count = graph->input_count - graph->tasks[task].input;
}

static void add_objects(const struct sketch *sketch, struct plan_graph *graph)
{
    for (uint32_t i = 0; i < sketch->object_count; i++) {
        const struct sketch_object *object = &sketch->objects[i];
        graph->mib[i] = object->mib;
        if (object->is_stream && !graph->streams)
            graph->streams = plan_take(sketch->object_count, sizeof *graph->streams);
        if (object->is_stream) graph->streams[i] = true;
        if (object->maker == PLAN_NONE) continue;
        struct plan_task *maker = &graph->tasks[object->maker];
        if (maker->output_count++ == 0) maker->output = i;
        assert_int_equal(maker->output + maker->output_count, i + 1);
    }
}

bool sketch_build(const struct sketch *sketch, struct plan_graph *graph)
{
    uint32_t tasks = sketch->task_count, objects = sketch->object_count, memory = 0;
    *graph = (struct plan_graph){.task_count = tasks, .object_count = objects};
    graph->tasks = plan_take(tasks, sizeof *graph->tasks);
    graph->objects = plan_take(objects, sizeof *graph->objects);
    graph->inputs = plan_take((size_t)tasks * objects, sizeof *graph->inputs);
    graph->seconds = plan_take(tasks, sizeof *graph->seconds);
    graph->mib = plan_take(objects, sizeof *graph->mib);
    for (uint32_t i = 0; i < tasks; i++) {
        graph->tasks[i].cores = sketch->cores[i] ? sketch->cores[i] : 1;
        graph->seconds[i] = sketch->seconds[i];
        memory += sketch->memory_mib[i];
        add_inputs(sketch, graph, i);
    }
    add_objects(sketch, graph);
    if (memory) {
        graph->memory_mib = plan_take(tasks, sizeof *graph->memory_mib);
        memcpy(graph->memory_mib, sketch->memory_mib, tasks * sizeof *graph->memory_mib);
    }
    return plan_graph_finish(graph);
}

struct plan_graph sketch_graph(const struct sketch *sketch)
{
    struct plan_graph graph;
    assert_true(sketch_build(sketch, &graph));
    return graph;
}

struct plan_cluster sketch_cluster(uint32_t worker_count)
{
    static const uint32_t cores[] = {1, 1, 1, 1, 1, 1, 1, 1};
    assert_true(worker_count <= sizeof cores / sizeof *cores);
    return (struct plan_cluster){.cores = cores, .worker_count = worker_count, .slots = 4,
                                 .slots_each = 4, .bandwidth = 10, .shared = true};
}

struct plan_graph diamond(double mib)
{
    return sketch_graph(&(struct sketch){
        .task_count = 4, .seconds = {1, 2, 3, 1},
        .object_count = 3,
        .objects = {{A, mib, READ_BY(B) | READ_BY(C), false},
                    {B, mib, READ_BY(D), false},
                    {C, mib, READ_BY(D), false}}});
}

void assert_about(double actual, double expected)
{
    double difference = actual > expected ? actual - expected : expected - actual;
    if (difference > 1e-6) fail_msg("%.9f is not about %.9f", actual, expected);
}
