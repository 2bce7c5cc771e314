// graph.c - `rota graph`: the tasks of a job file as dot, as a drawing in text, or as JSON.
#include "cli/cli.h"
#include "job/file/jobfile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[]
    = "example: rota graph night.yaml | dot -Tsvg >night.svg\n\n"
      "usage: rota graph [--text | --dot | --json] FILE\n\n"
      "    FILE      .json, .jsonl, else YAML; - is YAML from the standard input\n"
      "    --text    layer by layer, each task with what it waits for; the default on a terminal\n"
      "    --dot     for Graphviz; the default elsewhere\n"
      "    --json    {\"tasks\": [NAME...], \"edges\": [[BEFORE, AFTER, KIND]...]}\n";

typedef void write_fn(const struct jobfile *file, FILE *out);

static int file_draw(const char *path, write_fn *write)
{
    struct jobfile file;
    bool fine = jobfile_load(&file, path);
    if (fine) write(&file, stdout);
    jobfile_release(&file);
    return fine ? 0 : 2;
}

static write_fn *writer_named(const char *word)
{
    if (strcmp(word, "--text") == 0) return jobfile_draw;
    if (strcmp(word, "--dot") == 0) return jobfile_dot_write;
    return strcmp(word, "--json") == 0 ? jobfile_graph_write : NULL;
}

int command_graph(int count, char **words)
{
    write_fn *write = NULL;
    const char *path = NULL;
    bool wrong = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        write_fn *named = writer_named(words[i]);
        if (named)
            write = named;
        else if (!path && (words[i][0] != '-' || !words[i][1]))
            path = words[i];
        else
            wrong = true;
    }
    if (wrong || !path) {
        fputs(usage, stderr);
        return 2;
    }
    if (!write) write = isatty(STDOUT_FILENO) ? jobfile_draw : jobfile_dot_write;
    return file_draw(path, write);
}
