// read_workflow.c - recorded workflows in WfFormat 1.5.
//
// Objects are the files that one task makes and another one reads; a parent without such a file
// gives an object without size. A core is a hundred percent of the processor time that was used.
#include "jobfile/jobfile_parts.h"
#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MOST = 4 };
static const double mebibyte = 1048576;

struct flow {
    struct document *document;
    struct lab_job *job;
    struct table tasks, makers, files;  // a task plus one by its id; by a file it makes; a size
    struct edge {
        uint32_t from, to;  // tasks
        double mib;
        const char *file;   // null: they only wait
    } *edges;
    uint32_t edge_count, edge_capacity;
    double *sizes;
    uint32_t size_count, size_capacity;
};

static void edge_add(struct flow *flow, uint32_t from, uint32_t to, const char *file)
{
    uint32_t size = file ? table_find(&flow->files, file) : 0;
    struct edge *edge = ARRAY_ADD(flow->edges, flow->edge_count, flow->edge_capacity);
    *edge = (struct edge){from, to, size ? flow->sizes[size - 1] / mebibyte : 0, file};
}

static void read_files(struct flow *flow, uint32_t files)
{
    struct document *document = flow->document;
    for (uint32_t at = document_first(document, files); at; at = document_next(document, at)) {
        const char *id = document_text(document, document_find(document, at, "id"));
        uint32_t size = document_find(document, at, "sizeInBytes");
        if (!id) {
            document_refuse(document, at, "a file needs an id");
            return;
        }
        double *bytes = ARRAY_ADD(flow->sizes, flow->size_count, flow->size_capacity);
        *bytes = document_number(document, size, "sizeInBytes", 0, 0);
        table_put(&flow->files, id, flow->size_count);
    }
}

// "map_ID0000147" and "map_ID0000148" are of one kind.
static char *kind_of(const char *name)
{
    char *kind = lab_text(name);
    for (size_t length = strlen(kind), before = 0; length != before;) {
        before = length;
        while (length && kind[length - 1] >= '0' && kind[length - 1] <= '9') length--;
        if (length == before || length == 0) break;
        if (length >= 2 && memcmp(kind + length - 2, "ID", 2) == 0) length -= 2;
        if (length && strchr("_-.", kind[length - 1])) length--;
        if (length) kind[length] = 0;
    }
    return kind;
}

static void read_tasks(struct flow *flow, uint32_t tasks)
{
    struct document *document = flow->document;
    uint32_t number = 0, at = document_first(document, tasks);
    for (; at; at = document_next(document, at), number++) {
        const char *id = document_text(document, document_find(document, at, "id"));
        const char *name = document_text(document, document_find(document, at, "name"));
        if (!id || table_put(&flow->tasks, id, number + 1)) {
            document_refuse(document, at, "a task needs an id of its own");
            return;
        }
        flow->job->names[number] = lab_text(id);
        flow->job->kinds[number] = kind_of(name ? name : id);
        flow->job->graph.tasks[number].cores = 1;
        uint32_t file = document_first(document, document_find(document, at, "outputFiles"));
        for (; file; file = document_next(document, file)) {
            const char *path = document_text(document, file);
            if (path) table_put(&flow->makers, path, number + 1);
        }
    }
}

static void read_runs(struct flow *flow, uint32_t runs)
{
    struct document *document = flow->document;
    for (uint32_t at = document_first(document, runs); at; at = document_next(document, at)) {
        const char *id = document_text(document, document_find(document, at, "id"));
        uint32_t task = id ? table_find(&flow->tasks, id) : 0;
        if (!task) {
            document_refuse(document, at, "this execution is of no task of the specification");
            return;
        }
        uint32_t seconds = document_find(document, at, "runtimeInSeconds");
        double used = document_number(document, document_find(document, at, "avgCPU"), "avgCPU", 0,
                                      0);
        double cores = ceil(used / 100 - 0.1);
        flow->job->graph.seconds[task - 1]
            = document_number(document, seconds, "runtimeInSeconds", 0, -1);
        flow->job->graph.tasks[task - 1].cores
            = cores < 1 ? 1 : cores > CORES_MOST ? CORES_MOST : (uint32_t)cores;
    }
}

static bool has_edge(const struct flow *flow, uint32_t first, uint32_t from)
{
    for (uint32_t i = first; i < flow->edge_count; i++)
        if (flow->edges[i].from == from) return true;
    return false;
}

static void read_needs(struct flow *flow, uint32_t tasks)
{
    struct document *document = flow->document;
    uint32_t number = 0, task = document_first(document, tasks);
    for (; task; task = document_next(document, task), number++) {
        uint32_t first = flow->edge_count;
        uint32_t at = document_first(document, document_find(document, task, "inputFiles"));
        for (; at; at = document_next(document, at)) {
            const char *path = document_text(document, at);
            uint32_t maker = path ? table_find(&flow->makers, path) : 0;
            if (maker && maker - 1 != number) edge_add(flow, maker - 1, number, path);
        }
        at = document_first(document, document_find(document, task, "parents"));
        for (; at; at = document_next(document, at)) {
            const char *id = document_text(document, at);
            uint32_t parent = id ? table_find(&flow->tasks, id) : 0;
            if (!parent) document_refuse(document, at, "there is no task of this id");
            else if (!has_edge(flow, first, parent - 1)) edge_add(flow, parent - 1, number, NULL);
        }
    }
}

static int by_producer(const void *a, const void *b)
{
    const struct edge *one = a, *other = b;
    if (one->from != other->from) return one->from < other->from ? -1 : 1;
    int order = strcmp(one->file ? one->file : "", other->file ? other->file : "");
    return order ? order : (one->to > other->to) - (one->to < other->to);
}

static bool same_object(const struct edge *a, const struct edge *b)
{
    if (a->from != b->from || !a->file != !b->file) return false;
    return !a->file || strcmp(a->file, b->file) == 0;
}

static bool same_edge(const struct edge *a, const struct edge *b)
{
    return same_object(a, b) && a->to == b->to;
}

// The edges in order of producer and file; an object for each file, and one for those that wait.
static void make_objects(struct flow *flow)
{
    struct plan_graph *graph = &flow->job->graph;
    uint32_t objects = 0, kept = 0;
    qsort(flow->edges, flow->edge_count, sizeof *flow->edges, by_producer);
    for (uint32_t i = 0; i < flow->edge_count; i++)
        if (!kept || !same_edge(&flow->edges[i], &flow->edges[kept - 1]))
            flow->edges[kept++] = flow->edges[i];
    free(graph->objects), free(graph->inputs), free(graph->mib), free(flow->job->guess_mib);
    graph->objects = plan_take(kept, sizeof *graph->objects);
    graph->inputs = plan_take(kept, sizeof *graph->inputs);
    graph->mib = plan_take(kept, sizeof *graph->mib);
    flow->job->guess_mib = plan_take(kept, sizeof *flow->job->guess_mib);
    graph->input_count = kept;
    for (uint32_t i = 0; i < kept; i++) graph->tasks[flow->edges[i].to].input_count++;
    for (uint32_t i = 0, first = 0; i < graph->task_count; i++) {
        graph->tasks[i].input = first;
        first += graph->tasks[i].input_count;
        graph->tasks[i].input_count = 0;
    }
    for (uint32_t i = 0; i < kept; i++) {
        const struct edge *edge = &flow->edges[i];
        struct plan_task *from = &graph->tasks[edge->from], *to = &graph->tasks[edge->to];
        if (i == 0 || !same_object(edge, edge - 1)) {
            if (!from->output_count++) from->output = objects;
            graph->mib[objects++] = edge->mib;
        }
        graph->inputs[to->input + to->input_count++] = objects - 1;
    }
    graph->object_count = objects;
}

bool lab_read_workflow(struct lab_job *job, struct document *document)
{
    struct flow flow = {.document = document, .job = job};
    uint32_t root = document_root(document), workflow = document_find(document, root, "workflow");
    uint32_t plan = document_find(document, workflow, "specification");
    uint32_t run = document_find(document, workflow, "execution");
    uint32_t tasks = document_find(document, plan, "tasks");
    uint32_t count = document_count(document, tasks);
    const char *name = document_text(document, document_find(document, root, "name"));
    if (!count) {
        document_refuse(document, workflow, "workflow.specification.tasks must have tasks");
        return false;
    }
    lab_job_init(job, name ? name : "workflow", count, 0, 0);
    read_files(&flow, document_find(document, plan, "files"));
    read_tasks(&flow, tasks);
    if (!document_is_wrong(document)) read_runs(&flow, document_find(document, run, "tasks"));
    if (!document_is_wrong(document)) read_needs(&flow, tasks);
    bool fine = !document_is_wrong(document);
    if (fine) {
        make_objects(&flow);
        fine = plan_graph_finish(&job->graph);
        if (fine) lab_guess_by_kind(job);
        else document_refuse(document, tasks, "the tasks wait for each other in a circle");
    }
    table_release(&flow.tasks), table_release(&flow.makers), table_release(&flow.files);
    free(flow.edges), free(flow.sizes);
    return fine;
}
