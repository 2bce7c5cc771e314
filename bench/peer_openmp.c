// peer_openmp.c - a peer: the graph as OpenMP tasks with depend clauses, two threads, empty tasks.
//
//     peer_openmp SHAPE TASKS
//
// Tasks are made while others run, so building and walking are one figure.
#include "bench.h"

#include <stdio.h>

static uint32_t ran;

static void count(void)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

// A clause has a fixed number of places; our shapes have no dependencies, one, or three.
static void make_task(const struct graph *graph, uint32_t task, char *place)
{
    const uint32_t *before = graph->before + graph->first[task];
    (void)place;
    switch (graph->first[task + 1] - graph->first[task]) {
    case 0:
#pragma omp task depend(out : place[task])
        count();
        break;
    case 1:
#pragma omp task depend(in : place[before[0]]) depend(out : place[task])
        count();
        break;
    default:
#pragma omp task depend(in : place[before[0]], place[before[1]], place[before[2]]) \
    depend(out : place[task])
        count();
    }
}

static void make_independent(uint32_t tasks)
{
    for (uint32_t task = 0; task < tasks; task++) {
#pragma omp task
        count();
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    struct graph graph = graph_open(argv[1], number_parse(argv[2]));
    struct measure measure;
    measure_begin(&measure);
    measure_built(&measure);
    char *place = allocate(graph.task_count, 1);  // only its addresses are used
#pragma omp parallel num_threads(2)
#pragma omp single
    if (graph.edge_count)
        for (uint32_t task = 0; task < graph.task_count; task++) make_task(&graph, task, place);
    else
        make_independent(graph.task_count);
    measure_walked(&measure);
    if (ran != graph.task_count) return 1;
    measure_print(&measure, graph.task_count);
    printf("\n");
    return 0;
}
