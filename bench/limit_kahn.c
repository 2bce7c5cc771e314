// limit_kahn.c - the least a scheduler can do: turn the edges round, then walk (Kahn 1962).
//
//     limit_kahn fifo|ranked SHAPE TASKS
//
// fifo: tasks go in the order in which they became ready. ranked: the one with the longest
// way to the end goes first, from a heap; finding the ranks counts as building.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHILDREN = 4 };

struct walk {
    const struct graph *graph;
    uint32_t *unmet;   // dependencies that have not been walked
    uint32_t *first;   // where the dependents of a task begin in `after`
    uint32_t *after;
    uint32_t *rank;    // ranked only
    uint64_t *ready;   // ranked: a heap of rank and task, the largest on top
    uint32_t *line;    // fifo
    uint32_t count;    // in either
};

// first[] is shifted by one while it is filled, so that it ends up in place.
static void turn_round(struct walk *walk)
{
    const struct graph *graph = walk->graph;
    uint32_t *place = walk->first + 1;
    for (uint32_t edge = 0; edge < graph->edge_count; edge++) place[graph->before[edge] + 1]++;
    for (uint32_t task = 0; task < graph->task_count; task++) place[task + 1] += place[task];
    for (uint32_t task = 0; task < graph->task_count; task++) {
        uint32_t edge = graph->first[task], end = graph->first[task + 1];
        walk->unmet[task] = end - edge;
        for (; edge < end; edge++) walk->after[place[graph->before[edge]]++] = task;
    }
}

static void find_ranks(struct walk *walk)
{
    const struct graph *graph = walk->graph;
    for (uint32_t task = graph->task_count; task-- > 0;) {
        uint32_t rank = walk->rank[task] + 1;
        for (uint32_t edge = graph->first[task]; edge < graph->first[task + 1]; edge++) {
            uint32_t before = graph->before[edge];
            if (walk->rank[before] < rank) walk->rank[before] = rank;
        }
    }
}

static void heap_push(struct walk *walk, uint32_t task)
{
    uint64_t key = (uint64_t)walk->rank[task] << 32 | (UINT32_MAX - task);
    uint32_t hole = walk->count++;
    for (uint32_t parent; hole > 0; hole = parent) {
        parent = (hole - 1) / CHILDREN;
        if (walk->ready[parent] >= key) break;
        walk->ready[hole] = walk->ready[parent];
    }
    walk->ready[hole] = key;
}

static uint32_t heap_pop(struct walk *walk)
{
    uint64_t *ready = walk->ready, top = ready[0], last = ready[--walk->count];
    uint32_t hole = 0;
    for (uint32_t best; (best = hole * CHILDREN + 1) < walk->count; hole = best) {
        uint32_t end = best + CHILDREN < walk->count ? best + CHILDREN : walk->count;
        for (uint32_t child = best + 1; child < end; child++) {
            if (ready[child] > ready[best]) best = child;
        }
        if (ready[best] <= last) break;
        ready[hole] = ready[best];
    }
    ready[hole] = last;
    return UINT32_MAX - (uint32_t)top;
}

static uint32_t walk_ranked(struct walk *walk)
{
    uint32_t done = 0;
    for (uint32_t task = 0; task < walk->graph->task_count; task++) {
        if (!walk->unmet[task]) heap_push(walk, task);
    }
    for (; walk->count > 0; done++) {
        uint32_t task = heap_pop(walk);
        for (uint32_t edge = walk->first[task]; edge < walk->first[task + 1]; edge++) {
            if (--walk->unmet[walk->after[edge]] == 0) heap_push(walk, walk->after[edge]);
        }
    }
    return done;
}

static uint32_t walk_fifo(struct walk *walk)
{
    uint32_t *line = walk->line, in = 0, out = 0;
    for (uint32_t task = 0; task < walk->graph->task_count; task++) {
        if (!walk->unmet[task]) line[in++] = task;
    }
    for (; out < in; out++) {
        uint32_t task = line[out];
        for (uint32_t edge = walk->first[task]; edge < walk->first[task + 1]; edge++) {
            if (--walk->unmet[walk->after[edge]] == 0) line[in++] = walk->after[edge];
        }
    }
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    bool ranked = !strcmp(argv[1], "ranked");
    size_t tasks = number_parse(argv[3]);
    struct graph graph = graph_open(argv[2], (uint32_t)tasks);

    struct measure measure;
    measure_begin(&measure);
    struct walk walk = {.graph = &graph};
    walk.unmet = allocate(tasks, sizeof *walk.unmet);
    walk.first = allocate(tasks + 2, sizeof *walk.first);
    walk.after = allocate(graph.edge_count, sizeof *walk.after);
    if (ranked) walk.rank = allocate(tasks, sizeof *walk.rank);
    if (ranked) walk.ready = allocate(tasks, sizeof *walk.ready);
    else walk.line = allocate(tasks, sizeof *walk.line);
    turn_round(&walk);
    if (ranked) find_ranks(&walk);
    measure_built(&measure);
    uint32_t done = ranked ? walk_ranked(&walk) : walk_fifo(&walk);
    measure_walked(&measure);
    if (done != tasks) return 1;
    measure_print(&measure, (uint32_t)tasks);
    printf("\n");
    graph_close(&graph);
    free(walk.unmet), free(walk.first), free(walk.after);
    free(walk.rank), free(walk.ready), free(walk.line);
    return 0;
}
