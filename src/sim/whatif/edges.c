// edges.c - dependencies as objects: one for each file, and one for all dependents that only wait.
#include "sim/whatif/whatif.h"

#include <stdlib.h>
#include <string.h>

static int by_producer(const void *a, const void *b)
{
    const struct whatif_edge *one = a, *other = b;
    if (one->from != other->from) return one->from < other->from ? -1 : 1;
    int order = strcmp(one->file ? one->file : "", other->file ? other->file : "");
    return order ? order : (one->to > other->to) - (one->to < other->to);
}

static bool same_object(const struct whatif_edge *a, const struct whatif_edge *b)
{
    if (a->from != b->from || !a->file != !b->file) return false;
    return !a->file || strcmp(a->file, b->file) == 0;
}

static uint32_t sort_and_thin(struct whatif_edge *edges, uint32_t count)
{
    uint32_t kept = 0;
    if (count) qsort(edges, count, sizeof *edges, by_producer);
    for (uint32_t i = 0; i < count; i++) {
        const struct whatif_edge *last = kept ? &edges[kept - 1] : NULL;
        if (last && same_object(&edges[i], last) && edges[i].to == last->to) continue;
        edges[kept++] = edges[i];
    }
    return kept;
}

bool whatif_edges_join(struct whatif_job *job, struct whatif_edge *edges, uint32_t count)
{
    struct plan_graph *graph = &job->graph;
    uint32_t objects = 0, kept = sort_and_thin(edges, count);
    free(graph->objects), free(graph->inputs), free(graph->mib), free(job->guess_mib);
    graph->objects = plan_take(kept, sizeof *graph->objects);
    graph->inputs = plan_take(kept, sizeof *graph->inputs);
    graph->mib = plan_take(kept, sizeof *graph->mib);
    job->guess_mib = plan_take(kept, sizeof *job->guess_mib);
    graph->input_count = graph->object_count = kept;
    for (uint32_t i = 0; i < kept; i++) graph->tasks[edges[i].to].input_count++;
    for (uint32_t i = 0, first = 0; i < graph->task_count; i++) {
        graph->tasks[i].input = first;
        first += graph->tasks[i].input_count;
        graph->tasks[i].input_count = 0;
    }
    for (uint32_t i = 0; i < kept; i++) {
        const struct whatif_edge *edge = &edges[i];
        struct plan_task *from = &graph->tasks[edge->from], *to = &graph->tasks[edge->to];
        if (i == 0 || !same_object(edge, edge - 1)) {
            if (!from->output_count++) from->output = objects;
            graph->mib[objects++] = edge->mib;
            if (edge->stream) whatif_stream_set(job, objects - 1);
        }
        graph->inputs[to->input + to->input_count++] = objects - 1;
    }
    graph->object_count = objects;
    return plan_graph_finish(graph);
}
