// lower_bound.c - a lower bound for the duration of every schedule.
#include "plan/plan.h"

#include <stdlib.h>

double plan_longest_path(const struct plan_graph *graph)
{
    double *rank = plan_take(graph->task_count, sizeof *rank), longest = 0;
    for (uint32_t at = graph->task_count; at-- > 0;) {
        uint32_t task = graph->sorted[at];
        rank[task] += plan_lasts(graph, task);
        if (longest < rank[task]) longest = rank[task];
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
            uint32_t producer = graph->objects[inputs[i]].producer;
            // a reader does not wait for the end of a stream
            if (plan_is_stream(graph, inputs[i])) continue;
            if (producer != PLAN_NONE && rank[producer] < rank[task]) rank[producer] = rank[task];
        }
    }
    free(rank);
    return longest;
}

double plan_lower_bound(const struct plan_graph *graph, const struct plan_cluster *cluster)
{
    assert(cluster->worker_count > 0);
    double work = 0, cores = 0, path = plan_longest_path(graph), fastest = 0;
    for (uint32_t i = 0; i < graph->task_count; i++)
        work += graph->seconds[i] * graph->tasks[i].cores;
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        double speed = plan_speed(cluster, i);
        cores += cluster->cores[i] * speed;
        if (fastest < speed) fastest = speed;
    }
    if (fastest > 0) path /= fastest;
    return cores > 0 && work / cores > path ? work / cores : path;
}
