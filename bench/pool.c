// pool.c - rota-pool: empty functions on two threads, through rota_pool.h.
//
//     rota-pool walked|core|added SHAPE TASKS
//
// walked: one job without confirmations of tasks; core: the same, and a client is told about each
// task, which makes it a job of the core; added: every function by itself, without its needs.
#include "bench.h"
#include <rota_pool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nothing(void *argument, struct rota_pool_call *call)
{
    (void)argument, (void)call;
    return 0;
}

static void must(struct rota_pool *pool, enum rota_error error)
{
    if (!error) return;
    fprintf(stderr, "refused: %s: %s\n", rota_error_text(error), rota_pool_reason(pool));
    exit(1);
}

static void submit(struct rota_pool *pool, const struct graph *graph, uint64_t client)
{
    struct rota_pool_job job = {.client = client, .task_count = graph->task_count,
                                .function = nothing};
    if (graph->edge_count) job.need_first = graph->first, job.needs = graph->before;
    must(pool, rota_pool_submit(pool, &job, NULL));
}

static void add(struct rota_pool *pool, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) must(pool, rota_pool_add(pool, nothing, NULL, NULL));
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    struct graph graph = graph_open(argv[2], number_parse(argv[3]));
    for (uint32_t edge = 0; edge < graph.edge_count; edge++) graph.before[edge]++;  // from 1
    struct rota_pool_config config = rota_pool_config_default();
    struct rota_pool *pool;
    struct measure measure;
    measure_begin(&measure);
    if (rota_pool_open(&config, &pool)) return 1;
    if (!strcmp(argv[1], "added")) add(pool, graph.task_count);
    else submit(pool, &graph, !strcmp(argv[1], "core"));
    measure_built(&measure);
    must(pool, rota_pool_wait_all(pool, ROTA_NEVER));
    measure_walked(&measure);
    measure_print(&measure, graph.task_count);
    printf("\n");
    rota_pool_close(pool);
    graph_close(&graph);
    return 0;
}
