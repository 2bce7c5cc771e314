// graph.c - `rota graph`: draws the tasks of a job file as text, for Graphviz or as JSON.
#include "cli/cli.h"
#include "cli/show/job.h"

#include <stdio.h>
#include <unistd.h>

typedef void write_fn(const struct jobfile *file, FILE *out);

static int file_draw(const char *path, write_fn *write)
{
    struct jobfile file;
    bool fine = jobfile_load(&file, path);
    if (fine) write(&file, stdout);
    jobfile_release(&file);
    return fine ? 0 : 2;
}

enum { FORMAT_TEXT = 1, FORMAT_DOT, FORMAT_JSON };

static write_fn *const writers[] = {[FORMAT_TEXT] = jobfile_draw,
                                    [FORMAT_DOT] = jobfile_dot_write,
                                    [FORMAT_JSON] = jobfile_graph_write};

struct graph_options {
    uint32_t format;
};

static bool format_take(void *values, uint32_t number, const char *value)
{
    (void)value;
    ((struct graph_options *)values)->format = number;
    return true;
}

static int graph(const struct command *command, int count, char **words)
{
    struct graph_options options = {isatty(STDOUT_FILENO) ? FORMAT_TEXT : FORMAT_DOT};
    struct arguments arguments;
    int status = options_read(command, &options, format_take, &arguments, count, words);
    return status >= 0 ? status : file_draw(arguments.items[0], writers[options.format]);
}

static const struct option_row rows[]
    = {
    {0, "text", "", "draw the layers of tasks, each task with its dependencies; the default on a "
     "terminal", OPTION_OTHER, .at = FORMAT_TEXT},
    {0, "dot", "", "print a graph for Graphviz; the default otherwise", OPTION_OTHER,
     .at = FORMAT_DOT},
    {0, "json", "", "print {\"tasks\": [NAME...], \"edges\": [[BEFORE, AFTER, KIND]...]}",
     OPTION_OTHER, .at = FORMAT_JSON},
    OPTION_ROWS_END};

const struct command graph_command = {
    .name = "graph",
    .summary = "draw the tasks of a job file and their dependencies",
    .group = GROUP_RUN,
    .is_everyday = true,
    .argument = {ARGUMENT_FILE, "FILE", 1, 1},
    .run = graph,
    .options = rows,
    .usage = "[--text | --dot | --json] FILE\n",
    .text = "The name of the file tells its format: .json, .jsonl, otherwise YAML. '-' is YAML "
            "from the standard input.\n",
    .examples = "rota graph build.yaml\tdraw the graph on the terminal\n"
                "rota graph build.yaml | dot -Tsvg >build.svg\tmake a picture\n",
    .exits = "0\tdone\n2\tthe file or an option is wrong\n",
};
