// core_load.c - a graph as a submission.
#include "core.h"

#include <stdlib.h>

struct load load_open(const char *shape, uint32_t task_count, enum rota_policy policy)
{
    struct graph graph = graph_open(shape, task_count);
    struct load load = {0};
    load.tasks = allocate(task_count, sizeof *load.tasks);
    load.edges = allocate(graph.edge_count, sizeof *load.edges);
    uint32_t edge = 0;
    for (uint32_t task = 0; task < task_count; task++) {
        load.tasks[task].body = task + 1;
        load.tasks[task].cores = 1;
        for (; edge < graph.first[task + 1]; edge++) {
            load.edges[edge] = (struct rota_edge){graph.before[edge] + 1, task + 1};
        }
    }
    load.job = (struct rota_job_spec){
        .client = 1, .policy = policy, .last = true, .tasks = load.tasks, .edges = load.edges,
        .task_count = task_count, .edge_count = graph.edge_count};
    graph_close(&graph);
    return load;
}

void load_close(struct load *load)
{
    free(load->tasks), free(load->edges), free(load->clauses);
    free(load->inputs), free(load->outputs);
    *load = (struct load){0};
}
