// command.c - a copy of a RUN message with all arguments of execve(), kept until it has ended.
#define _GNU_SOURCE
#include "worker/process/stream_tee.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- A block of memory: its size is computed first, then it is filled -----------------------

struct places {
    const char *folder;
    char directory[PATH_MAX];
};

// Without a block it only counts.
struct filler {
    char *block;
    size_t used;
};

static void *fill(struct filler *filler, const void *bytes, size_t count)
{
    char *at = filler->block ? filler->block + filler->used : NULL;
    if (at && bytes && count) memcpy(at, bytes, count);
    filler->used += count;
    return at;
}

static void *fill_room(struct filler *filler, size_t count)
{
    filler->used = (filler->used + 15) & ~(size_t)15;
    return fill(filler, NULL, count);
}

static wire_text fill_text(struct filler *filler, wire_text text)
{
    return (wire_text){fill(filler, text.bytes, (size_t)text.length + 1), text.length};
}

static char *fill_format(struct filler *filler, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static char *fill_format(struct filler *filler, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    assert(length >= 0);
    char *at = fill(filler, NULL, (size_t)length + 1);
    if (at) vsnprintf(at, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return at;
}

// ---- Parts of the message ---------------------------------------------------------------------

static wire_files fill_files(struct filler *filler, wire_files files)
{
    struct wire_file *items = fill_room(filler, files.count * sizeof *items);
    for (uint32_t i = 0; i < files.count; i++) {
        struct wire_file file = files.items[i];
        file.name = fill_text(filler, file.name);
        file.path = fill_text(filler, file.path);
        if (items) items[i] = file;
    }
    return (wire_files){items, files.count};
}

static wire_texts fill_texts(struct filler *filler, wire_texts texts)
{
    wire_text *items = fill_room(filler, texts.count * sizeof *items);
    for (uint32_t i = 0; i < texts.count; i++) {
        wire_text text = fill_text(filler, texts.items[i]);
        if (items) items[i] = text;
    }
    return (wire_texts){items, texts.count};
}

static void fill_run(struct filler *filler, struct command *command, const struct wire_run *run)
{
    struct wire_run copy = *run;
    copy.name = fill_text(filler, run->name);
    copy.cwd = fill_text(filler, run->cwd);
    copy.stdin_path = fill_text(filler, run->stdin_path);
    copy.inputs = fill_files(filler, run->inputs);
    copy.outputs = fill_files(filler, run->outputs);
    bool is_cached = run->flags & WIRE_RUN_CACHE;  // otherwise they only become argv and envp
    copy.argv = is_cached ? fill_texts(filler, run->argv) : (wire_texts){0};
    copy.env = is_cached ? fill_texts(filler, run->env) : (wire_texts){0};
    char **argv = fill_room(filler, (run->argv.count + 1) * sizeof *argv);
    for (uint32_t i = 0; i < run->argv.count; i++) {
        char *word = fill(filler, run->argv.items[i].bytes, (size_t)run->argv.items[i].length + 1);
        if (argv) argv[i] = word;
    }
    if (argv) argv[run->argv.count] = NULL;
    command->made = fill_room(filler, run->outputs.count * sizeof *command->made);
    command->argv = argv;
    command->run = copy;
}

static void fill_paths(struct filler *filler, struct command *command, const struct wire_run *run,
                       const struct places *places)
{
    char path[PATH_MAX];
    log_path(path, sizeof path, places->folder, run->task, run->attempt);
    command->log = fill(filler, path, strlen(path) + 1);
    command->directory = fill(filler, places->directory, strlen(places->directory) + 1);
    command->stdin_path = NULL;
    const char *name = run->stdin_path.bytes;
    if (!run->stdin_path.length) return;
    bool is_absolute = name[0] == '/';
    command->stdin_path = fill_format(filler, "%s%s%s", is_absolute ? "" : places->directory,
                                      is_absolute ? "" : "/", name);
}

// ---- The environment of the command ------------------------------------------------------------

struct variables {
    struct filler *filler;
    char **items;  // null: they are only counted
    uint32_t count;
};

static void add(struct variables *variables, char *item)
{
    if (variables->items) variables->items[variables->count] = item;
    variables->count++;
}

static char letter_of_name(char letter)
{
    bool is_plain = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z')
                    || (letter >= 'a' && letter <= 'z');
    return is_plain ? letter : '_';
}

static void add_files(struct variables *variables, const char *head, const wire_files *files,
                      const struct wire_run *run, const struct places *places)
{
    bool is_private = run->flags & WIRE_RUN_PRIVATE;
    size_t skip = strlen(head);
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        const char *name = file->name.bytes;
        char stream[PATH_MAX], *item;
        if (stream_tee_is_again(files, i)) continue;
        if (is_private || (file->kind != WIRE_STREAM && file->kind != WIRE_SOURCE)) {
            bool is_absolute = name[0] == '/';
            item = fill_format(variables->filler, "%s%s=%s%s%s", head, name,
                               is_absolute ? "" : places->directory, is_absolute ? "" : "/", name);
        } else if (file->kind == WIRE_SOURCE) {
            item = fill_format(variables->filler, "%s%s=%s", head, name, file->path.bytes);
        } else {
            stream_tee_path(stream, sizeof stream, places->folder, files, i);
            item = fill_format(variables->filler, "%s%s=%s", head, name, stream);
        }
        for (size_t at = skip; item && at < skip + file->name.length; at++)
            item[at] = letter_of_name(item[at]);
        add(variables, item);
    }
}

// process_tree.c finds the processes of an attempt by these variables in their memory.
static void add_marks(struct variables *variables, const struct wire_run *run)
{
    struct filler *filler = variables->filler;
    add(variables,
        fill_format(filler, "ROTA_ID=%" PRIu32 ".%" PRIu32, run->task.job, run->task.task));
    add(variables, fill_format(filler, "ROTA_ATTEMPT=%" PRIu32, run->attempt));
    add(variables, fill_format(filler, "ROTA_TOKEN=%" PRIu64, run->token));
    add(variables, fill_format(filler, "ROTA_TASK=%s", run->name.bytes));
    add(variables, fill_format(filler, "ROTA_CPUS=%" PRIu32, run->cores ? run->cores : 1));
    uint64_t job = hash_mix(0x726f7461, run->task.job);
    uint64_t span = hash_mix(hash_mix(job, run->task.task), run->attempt);
    add(variables,
        fill_format(filler, "TRACEPARENT=00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01", job,
                    hash_mix(job, 1), span | 1));
}

static bool is_set_by(const wire_texts *env, const char *item)
{
    size_t length = strcspn(item, "=") + 1;
    for (uint32_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i].bytes, item, length) == 0) return true;
    return false;
}

static void add_inherited(struct variables *variables, const struct wire_run *run,
                          const struct environment *environment)
{
    for (uint32_t i = 0; i < environment->count; i++)
        if (!run->env.count || !is_set_by(&run->env, environment->items[i]))
            add(variables, environment->items[i]);
    for (uint32_t i = 0; i < run->env.count; i++) {
        const char *item = run->env.items[i].bytes;
        if (worker_sets(item)) continue;
        add(variables,
            fill(variables->filler, item, (size_t)run->env.items[i].length + 1));
    }
}

static void fill_environment(struct filler *filler, struct command *command,
                             const struct wire_run *run, const struct environment *environment,
                             const struct places *places)
{
    enum { MARKS = 6 };
    uint32_t most = environment->count + run->env.count + run->inputs.count + run->outputs.count;
    char **items = fill_room(filler, (most + MARKS + 1) * sizeof *items);
    struct variables variables = {filler, items, 0};
    add_marks(&variables, run);
    add_files(&variables, "ROTA_IN_", &run->inputs, run, places);
    add_files(&variables, "ROTA_OUT_", &run->outputs, run, places);
    add_inherited(&variables, run, environment);
    add(&variables, NULL);
    command->envp = items;
}

static size_t fill_all(struct filler filler, struct command *command, const struct wire_run *run,
                       const struct environment *environment, const struct places *places)
{
    fill_run(&filler, command, run);
    fill_paths(&filler, command, run, places);
    fill_environment(&filler, command, run, environment, places);
    return filler.used;
}

bool command_copy(struct command *command, const struct wire_run *run,
                  const struct environment *environment, const char *folder)
{
    struct places places = {.folder = folder};
    if (run->flags & WIRE_RUN_PRIVATE)
        snprintf(places.directory, sizeof places.directory,
                 "%s/work/%" PRIu32 ".%" PRIu32 ".%" PRIu32, folder, run->task.job, run->task.task,
                 run->attempt);
    else
        snprintf(places.directory, sizeof places.directory, "%s",
                 run->cwd.length ? run->cwd.bytes : ".");
    size_t need = fill_all((struct filler){0}, command, run, environment, &places);
    if (need > command->capacity) {
        char *block = realloc(command->block, need);
        if (!block) return false;
        command->block = block;
        command->capacity = need;
    }
    fill_all((struct filler){.block = command->block}, command, run, environment, &places);
    return true;
}

const char *command_path_variable(const struct command *command)
{
    for (char **item = command->envp; *item; item++)
        if (strncmp(*item, "PATH=", 5) == 0) return *item + 5;
    return NULL;
}
