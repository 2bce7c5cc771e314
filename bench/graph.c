// graph.c - the graph that every program of the benchmark walks.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER = 1000, FAN = 3, BYTES_MOST = 400 };  // bytes a task: graph, load and core

typedef uint32_t fill_fn(uint32_t task, uint64_t *random, uint32_t *before);

// Marsaglia's xorshift with 13, 7, 17, so that figures compare with other benchmarks.
static uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static uint32_t fill_random(uint32_t task, uint64_t *random, uint32_t *before)
{
    if (task == 0) return 0;
    for (int i = 0; i < FAN; i++) before[i] = (uint32_t)(draw(random) % task);
    return FAN;
}

static uint32_t fill_layers(uint32_t task, uint64_t *random, uint32_t *before)
{
    if (task < LAYER) return 0;
    uint32_t layer = task - task % LAYER - LAYER;
    for (int i = 0; i < FAN; i++) before[i] = layer + (uint32_t)(draw(random) % LAYER);
    return FAN;
}

static uint32_t fill_chain(uint32_t task, uint64_t *random, uint32_t *before)
{
    (void)random;
    if (task == 0) return 0;
    before[0] = task - 1;
    return 1;
}

static uint32_t fill_independent(uint32_t task, uint64_t *random, uint32_t *before)
{
    (void)task, (void)random, (void)before;
    return 0;
}

static fill_fn *shape_find(const char *shape)
{
    if (!strcmp(shape, "random")) return fill_random;
    if (!strcmp(shape, "layers")) return fill_layers;
    if (!strcmp(shape, "chain")) return fill_chain;
    if (!strcmp(shape, "independent")) return fill_independent;
    fprintf(stderr, "no shape is called %s: random, layers, chain, independent\n", shape);
    exit(2);
}

struct graph graph_open(const char *shape, uint32_t task_count)
{
    fill_fn *fill = shape_find(shape);
    struct graph graph = {.task_count = task_count};
    memory_wake((size_t)task_count * BYTES_MOST);
    graph.first = allocate((size_t)task_count + 1, sizeof *graph.first);
    graph.before = allocate((size_t)task_count * FAN + FAN, sizeof *graph.before);
    uint64_t random = 88172645463325252u;
    for (uint32_t task = 0; task < task_count; task++) {
        graph.first[task] = graph.edge_count;
        graph.edge_count += fill(task, &random, graph.before + graph.edge_count);
    }
    graph.first[task_count] = graph.edge_count;
    return graph;
}

void graph_close(struct graph *graph)
{
    free(graph->first);
    free(graph->before);
    *graph = (struct graph){0};
}
