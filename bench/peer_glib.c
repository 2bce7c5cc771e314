// peer_glib.c - a peer: the graph on GLib's thread pool, two threads, empty tasks.
//
//     peer_glib SHAPE TASKS
//
// A task that ends counts its dependents down and pushes those that became ready.
#include "bench.h"

#include <glib.h>
#include <stdio.h>

struct work {
    gint *unmet;
    uint32_t *first, *after;
    GThreadPool *pool;
    gint left;
    GMutex mutex;
    GCond over;
};

static void push(struct work *work, uint32_t task)
{
    g_thread_pool_push(work->pool, GUINT_TO_POINTER(task + 1), NULL);  // null cannot be pushed
}

static void run(gpointer item, gpointer context)
{
    struct work *work = context;
    uint32_t task = GPOINTER_TO_UINT(item) - 1;
    for (uint32_t edge = work->first[task]; edge < work->first[task + 1]; edge++) {
        uint32_t after = work->after[edge];
        if (g_atomic_int_dec_and_test(&work->unmet[after])) push(work, after);
    }
    if (!g_atomic_int_dec_and_test(&work->left)) return;
    g_mutex_lock(&work->mutex);
    g_cond_signal(&work->over);
    g_mutex_unlock(&work->mutex);
}

static void build(struct work *work, const struct graph *graph)
{
    work->unmet = allocate(graph->task_count, sizeof *work->unmet);
    work->first = allocate((size_t)graph->task_count + 2, sizeof *work->first);
    work->after = allocate(graph->edge_count, sizeof *work->after);
    uint32_t *place = work->first + 1;
    for (uint32_t edge = 0; edge < graph->edge_count; edge++) place[graph->before[edge] + 1]++;
    for (uint32_t task = 0; task < graph->task_count; task++) place[task + 1] += place[task];
    for (uint32_t task = 0; task < graph->task_count; task++) {
        uint32_t edge = graph->first[task], end = graph->first[task + 1];
        work->unmet[task] = (gint)(end - edge);
        for (; edge < end; edge++) work->after[place[graph->before[edge]]++] = task;
    }
    work->left = (gint)graph->task_count;
    work->pool = g_thread_pool_new(run, work, 2, TRUE, NULL);
}

static void walk(struct work *work, const struct graph *graph)
{
    for (uint32_t task = 0; task < graph->task_count; task++) {
        if (graph->first[task] == graph->first[task + 1]) push(work, task);
    }
    g_mutex_lock(&work->mutex);
    while (g_atomic_int_get(&work->left) > 0) g_cond_wait(&work->over, &work->mutex);
    g_mutex_unlock(&work->mutex);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    struct graph graph = graph_open(argv[1], number_parse(argv[2]));
    struct work work = {0};
    struct measure measure;
    measure_begin(&measure);
    build(&work, &graph);
    measure_built(&measure);
    walk(&work, &graph);
    measure_walked(&measure);
    measure_print(&measure, graph.task_count);
    printf("\n");
    return 0;
}
