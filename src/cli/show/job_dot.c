// job_dot.c - the tasks of a job file and their dependencies, for Graphviz and as JSON.
#include "cli/show/job.h"
#include "os/json.h"

#include <string.h>

// ---- Edges -----------------------------------------------------------------

struct sink {
    const struct jobfile *file;
    FILE *out;  // output for Graphviz
    struct json json;
};

typedef void edge_fn(struct sink *sink, uint32_t before, uint32_t after, const char *kind);

static const char *clause_kind(enum rota_clause_kind kind)
{
    static const char *const words[] = {[ROTA_CLAUSE_SUCCESS] = "su",
                                        [ROTA_CLAUSE_FAILED] = "fa",
                                        [ROTA_CLAUSE_NOT_RUNNING] = "nr",
                                        [ROTA_CLAUSE_DONE] = "done"};
    return words[kind];
}

// Calls `tell` for each dependency of a task, with its kind. Membership in a bundle is not an edge.
static void edges_tell(struct sink *sink, uint32_t number, edge_fn *tell)
{
    const struct jobfile *file = sink->file;
    const struct jobfile_task *task = &file->tasks[number];
    for (uint32_t i = 0; i < task->need_count; i++) tell(sink, task->needs[i], number, "needs");
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &task->clauses[i];
        if (clause->task.task) tell(sink, clause->task.task - 1, number, clause_kind(clause->kind));
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (!input->producer) continue;
        const struct jobfile_task *producer = &file->tasks[input->producer - 1];
        if (producer->outputs[input->output - 1].kind == JOBFILE_STREAM)
            tell(sink, input->producer - 1, number, "stream");
    }
}

// ---- dot -------------------------------------------------------------------

static void dot_name(const char *name, FILE *out)
{
    putc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\') putc('\\', out);
        putc(*name, out);
    }
    putc('"', out);
}

static void dot_edge(struct sink *sink, uint32_t before, uint32_t after, const char *kind)
{
    FILE *out = sink->out;
    fputs("    ", out);
    dot_name(sink->file->tasks[before].name, out);
    fputs(" -> ", out);
    dot_name(sink->file->tasks[after].name, out);
    if (strcmp(kind, "needs") != 0) fprintf(out, " [style=dashed, label=\"%s\"]", kind);
    fputs(";\n", out);
}

static void dot_node(const struct jobfile *file, const struct jobfile_task *task, FILE *out)
{
    fputs("    ", out);
    dot_name(task->name, out);
    if (task->is_bundle) fputs(" [shape=folder]", out);
    if (task->lane) {
        fputs(" [xlabel=", out);
        dot_name(file->lanes[task->lane - 1].name, out);
        putc(']', out);
    }
    fputs(";\n", out);
}

static void dot_bundle(const struct jobfile *file, uint32_t number, FILE *out)
{
    const struct jobfile_task *bundle = &file->tasks[number];
    fprintf(out, "    subgraph cluster_%u {\n    label=", number);
    dot_name(bundle->name, out);
    fputs(";\n", out);
    dot_node(file, bundle, out);
    for (uint32_t i = 0; i < bundle->member_count; i++)
        dot_node(file, &file->tasks[bundle->members[i]], out);
    fputs("    }\n", out);
}

void jobfile_dot_write(const struct jobfile *file, FILE *out)
{
    fputs("digraph ", out);
    dot_name(file->name ? file->name : file->path, out);
    fputs(" {\n    node [shape=box];\n", out);
    for (uint32_t i = 0; i < file->task_count; i++) {
        if (file->tasks[i].is_bundle)
            dot_bundle(file, i, out);
        else if (!file->tasks[i].bundle)
            dot_node(file, &file->tasks[i], out);
    }
    struct sink sink = {.file = file, .out = out};
    for (uint32_t i = 0; i < file->task_count; i++) edges_tell(&sink, i, dot_edge);
    fputs("}\n", out);
}

// ---- JSON ------------------------------------------------------------------

static void json_edge(struct sink *sink, uint32_t before, uint32_t after, const char *kind)
{
    json_newline(&sink->json);
    json_open(&sink->json, NULL, '[');
    json_string(&sink->json, NULL, sink->file->tasks[before].name);
    json_string(&sink->json, NULL, sink->file->tasks[after].name);
    json_string(&sink->json, NULL, kind);
    json_close(&sink->json, ']');
}

void jobfile_graph_write(const struct jobfile *file, FILE *out)
{
    struct sink sink = {.file = file, .json = {.out = out}};
    json_open(&sink.json, NULL, '{');
    json_open(&sink.json, "tasks", '[');
    for (uint32_t i = 0; i < file->task_count; i++) {
        json_newline(&sink.json);
        json_string(&sink.json, NULL, file->tasks[i].name);
    }
    json_close(&sink.json, ']');
    json_newline(&sink.json);
    json_open(&sink.json, "edges", '[');
    for (uint32_t i = 0; i < file->task_count; i++) {
        edges_tell(&sink, i, json_edge);
        if (file->tasks[i].bundle) json_edge(&sink, i, file->tasks[i].bundle - 1, "member");
    }
    json_close(&sink.json, ']');
    json_line(&sink.json);
}
