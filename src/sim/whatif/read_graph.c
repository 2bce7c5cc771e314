// read_graph.c - graphs in the format tg-1.
#include "sim/whatif/whatif.h"

enum { CORES_MAX = 1 << 16 };

struct counts {
    uint32_t tasks, objects, inputs;
};

static struct counts count(const struct document *document, uint32_t tasks)
{
    struct counts counts = {.tasks = document_count(document, tasks)};
    for (uint32_t at = document_first(document, tasks); at; at = document_next(document, at)) {
        counts.objects += document_count(document, document_find(document, at, "outputs"));
        counts.inputs += document_count(document, document_find(document, at, "inputs"));
    }
    return counts;
}

static void read_outputs(struct whatif_job *job, struct document *document, uint32_t node,
                         uint32_t first)
{
    uint32_t at = document_first(document, document_find(document, node, "outputs"));
    for (; at; at = document_next(document, at), first++) {
        uint32_t size = document_find(document, at, "s");
        uint32_t guess = document_find(document, at, "e_s");
        job->graph.mib[first] = document_number(document, size, "the size s", 0, -1);
        job->guess_mib[first] = document_number(document, guess, "the size e_s", -1, -1);
        if (document_flag(document, document_find(document, at, "stream"), "stream"))
            whatif_stream_set(job, first);
    }
}

static void read_task(struct whatif_job *job, struct document *document, uint32_t number,
                      uint32_t node)
{
    struct plan_task *task = &job->graph.tasks[number];
    uint32_t seconds = document_find(document, node, "d");
    uint32_t guess = document_find(document, node, "e_d");
    const char *kind = document_text(document, document_find(document, node, "n"));
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    job->names[number] = whatif_text(name);
    job->kinds[number] = whatif_text(kind ? kind : "");
    job->graph.seconds[number] = document_number(document, seconds, "the duration d", 0, -1);
    job->guess_seconds[number] = document_number(document, guess, "the duration e_d", -1, -1);
    task->cores = document_whole(document, document_find(document, node, "cpus"), "cpus", 1,
                                 CORES_MAX);
    uint32_t memory = document_find(document, node, "mem");
    if (memory) whatif_memory_set(job, number, document_number(document, memory, "mem", 0, -1));
    read_outputs(job, document, node, task->output);
}

static void read_inputs(struct whatif_job *job, struct document *document, uint32_t number,
                        uint32_t node)
{
    const struct plan_graph *graph = &job->graph;
    uint32_t *input = graph->inputs + graph->tasks[number].input;
    uint32_t at = document_first(document, document_find(document, node, "inputs"));
    for (; at && !document_is_wrong(document); at = document_next(document, at)) {
        uint32_t first = document_first(document, at), second = document_next(document, first);
        uint32_t from = document_whole(document, first ? first : at, "the producer of an input", 0,
                                       graph->task_count - 1);
        uint32_t outputs = graph->tasks[from].output_count;
        if (!second || !outputs) {
            document_refuse(document, at, "an input is [task, output], and task %u has %u outputs",
                            from, outputs);
            return;
        }
        uint32_t output = document_whole(document, second, "the output of an input", 0,
                                         outputs - 1);
        *input++ = graph->tasks[from].output + output;
    }
}

static void check_streams(const struct whatif_job *job, struct document *document, uint32_t tasks)
{
    uint32_t object = 0;
    for (uint32_t task = document_first(document, tasks); task;
         task = document_next(document, task)) {
        uint32_t at = document_first(document, document_find(document, task, "outputs"));
        for (; at; at = document_next(document, at), object++) {
            uint32_t readers = job->graph.objects[object].user_count;
            if (plan_is_stream(&job->graph, object) && readers != 1)
                document_refuse(document, at, "a stream has one reader, but this one has %u",
                                readers);
        }
    }
}

bool whatif_read_graph(struct whatif_job *job, struct document *document)
{
    uint32_t root = document_root(document), tasks = document_find(document, root, "tasks");
    const char *name = document_text(document, document_find(document, root, "name"));
    if (!document_is_list(document, tasks) || !document_count(document, tasks)) {
        document_refuse(document, tasks, "tasks must be a list of at least one task");
        return false;
    }
    struct counts counts = count(document, tasks), seen = {0};
    whatif_job_init(job, name ? name : "graph", counts.tasks, counts.objects, counts.inputs);
    uint32_t node = document_first(document, tasks);
    for (; node; node = document_next(document, node), seen.tasks++) {
        struct plan_task *task = &job->graph.tasks[seen.tasks];
        task->output = seen.objects;
        task->output_count = document_count(document, document_find(document, node, "outputs"));
        task->input = seen.inputs;
        task->input_count = document_count(document, document_find(document, node, "inputs"));
        seen.objects += task->output_count;
        seen.inputs += task->input_count;
        read_task(job, document, seen.tasks, node);
    }
    node = document_first(document, tasks);
    for (uint32_t i = 0; node && !document_is_wrong(document); i++) {
        read_inputs(job, document, i, node);
        node = document_next(document, node);
    }
    if (document_is_wrong(document)) return false;
    bool fine = plan_graph_finish(&job->graph);
    if (fine) check_streams(job, document, tasks);
    else document_refuse(document, tasks, "the tasks depend on each other in a cycle");
    return !document_is_wrong(document);
}
