// read_workflow.c - recorded workflows in WfFormat 1.5.
//
// Objects are the files that one task makes and another one reads; a parent without such a file
// gives an object without size. The processor time that a task used is its number of cores, in
// percent.
#include "job/file/internal.h"
#include "sim/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MOST = 4 };
static const double mebibyte = 1048576;

struct flow {
    struct document *document;
    struct whatif_job *job;
    struct table tasks, makers, files;  // a task plus one by its id; by a file it makes; a size
    struct whatif_edge *edges;
    uint32_t edge_count, edge_capacity;
    double *sizes;
    uint32_t size_count, size_capacity;
};

static void edge_add(struct flow *flow, uint32_t from, uint32_t to, const char *file)
{
    uint32_t size = file ? table_find(&flow->files, file) : 0;
    struct whatif_edge *edge = ARRAY_ADD(flow->document->file, flow->edges, flow->edge_count,
                                      flow->edge_capacity);
    double mib = size ? flow->sizes[size - 1] / mebibyte : 0;
    if (edge) *edge = (struct whatif_edge){.from = from, .to = to, .mib = mib, .file = file};
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
        double *bytes
            = ARRAY_ADD(document->file, flow->sizes, flow->size_count, flow->size_capacity);
        if (!bytes) return;
        *bytes = document_number(document, size, "sizeInBytes", 0, 0);
        table_put(document->file, &flow->files, id, flow->size_count);
    }
}

static void read_tasks(struct flow *flow, uint32_t tasks)
{
    struct document *document = flow->document;
    uint32_t number = 0, at = document_first(document, tasks);
    for (; at; at = document_next(document, at), number++) {
        const char *id = document_text(document, document_find(document, at, "id"));
        const char *name = document_text(document, document_find(document, at, "name"));
        if (!id || table_put(document->file, &flow->tasks, id, number + 1)) {
            document_refuse(document, at, "a task without an id, or with the id of another task");
            return;
        }
        flow->job->names[number] = whatif_text(id);
        flow->job->kinds[number] = whatif_kind(name ? name : id);
        flow->job->graph.tasks[number].cores = 1;
        uint32_t file = document_first(document, document_find(document, at, "outputFiles"));
        for (; file; file = document_next(document, file)) {
            const char *path = document_text(document, file);
            if (path) table_put(document->file, &flow->makers, path, number + 1);
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
            document_refuse(document, at, "this execution belongs to no task of the specification");
            return;
        }
        uint32_t seconds = document_find(document, at, "runtimeInSeconds");
        uint32_t memory = document_find(document, at, "memoryInBytes");
        if (memory)
            whatif_memory_set(flow->job, task - 1,
                           document_number(document, memory, "memoryInBytes", 0, -1) / mebibyte);
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
            if (!parent) document_refuse(document, at, "no task has this id");
            else if (!has_edge(flow, first, parent - 1)) edge_add(flow, parent - 1, number, NULL);
        }
    }
}

bool whatif_read_workflow(struct whatif_job *job, struct document *document)
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
    whatif_job_init(job, name ? name : "workflow", count, 0, 0);
    read_files(&flow, document_find(document, plan, "files"));
    read_tasks(&flow, tasks);
    if (!document_is_wrong(document)) read_runs(&flow, document_find(document, run, "tasks"));
    if (!document_is_wrong(document)) read_needs(&flow, tasks);
    bool fine = !document_is_wrong(document);
    if (fine) {
        fine = whatif_edges_join(job, flow.edges, flow.edge_count);
        if (fine) whatif_guess_by_kind(job);
        else document_refuse(document, tasks, "the tasks depend on each other in a cycle");
    }
    table_release(&flow.tasks), table_release(&flow.makers), table_release(&flow.files);
    free(flow.edges), free(flow.sizes);
    return fine;
}
