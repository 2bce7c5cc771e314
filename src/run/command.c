// command.c - what a worker is told to run for a task of a job file.
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRACE = 5000000 };

static wire_texts texts_of(char **items, uint32_t count)
{
    wire_texts texts = {run_allocate(count, sizeof *texts.items), count};
    for (uint32_t i = 0; i < count; i++) texts.items[i] = wire_text_of(items[i]);
    return texts;
}

char *run_path_in(const char *folder, const char *path)
{
    size_t size = strlen(folder) + strlen(path) + 2;
    char *out = run_allocate(size, 1);
    if (path[0] == '/')
        memcpy(out, path, strlen(path));
    else
        snprintf(out, size, "%s/%s", folder, path);
    return out;
}

#define STDIN_NAME ".rota-stdin"

// A file of the user's: where it is, or what it has become.
static void source_fill(const struct run_command *command, const char *path, struct wire_file *file)
{
    char *place = run_path_in(command->folder, path);
    const struct run_upload *upload
        = command->upload ? command->upload(command->context, place) : NULL;
    if (!upload) {
        file->kind = WIRE_SOURCE;
        file->path = wire_text_of(place);
        return;
    }
    file->kind = upload->kind;
    file->path = wire_text_of("");
    file->object = upload->object;
    free(place);
}

// A worker that does not see the user's files gets his standard input as one more of them.
static bool has_far_stdin(const struct run_command *command, const struct jobfile_task *task)
{
    return command->upload && task->stdin_path && !task->stdin_input;
}

static wire_files inputs_of(const struct run_command *command, const struct jobfile_task *task)
{
    uint32_t count = task->input_count + has_far_stdin(command, task);
    wire_files files = {run_allocate(count, sizeof *files.items), count};
    if (count > task->input_count) {
        files.items[count - 1].name = wire_text_of(STDIN_NAME);
        source_fill(command, task->stdin_path, &files.items[count - 1]);
    }
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        struct wire_file *file = &files.items[i];
        file->name = wire_text_of(input->name);
        if (!input->producer) {
            source_fill(command, input->path, file);
            continue;
        }
        const struct jobfile_task *producer = &command->file->tasks[input->producer - 1];
        file->kind = WIRE_FILE + producer->outputs[input->output - 1].kind;
        file->path = wire_text_of("");
        file->object = command->object(command->context, input->producer - 1, input->output - 1);
    }
    return files;
}

static wire_files outputs_of(const struct run_command *command, uint32_t at)
{
    const struct jobfile_task *task = &command->file->tasks[at];
    wire_files files = {run_allocate(task->output_count, sizeof *files.items), task->output_count};
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        struct wire_file *file = &files.items[i];
        file->kind = WIRE_FILE + output->kind;
        bool is_put = output->keep && !command->upload;
        file->flags = is_put ? WIRE_KEEP : 0;
        file->name = wire_text_of(output->name);
        file->path = wire_text_of(is_put ? run_path_in(command->folder, output->name) : "");
        file->object = command->object(command->context, at, i);
    }
    return files;
}

static void files_release(wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (files->items[i].path.length) free((char *)files->items[i].path.bytes);
    free(files->items);
}

void run_command_put(const struct run_command *command, uint32_t at, const struct wire_run *numbers,
                     struct wire_out *out)
{
    const struct jobfile_task *task = &command->file->tasks[at];
    bool is_far_stdin = has_far_stdin(command, task);
    bool private = task->input_count || task->output_count || is_far_stdin;
    char *cwd = task->cwd ? run_path_in(command->folder, task->cwd) : NULL;
    char *stdin_path = NULL;
    if (task->stdin_input)
        stdin_path = strdup(task->inputs[task->stdin_input - 1].name);
    else if (is_far_stdin)
        stdin_path = strdup(STDIN_NAME);
    else if (task->stdin_path)
        stdin_path = run_path_in(command->folder, task->stdin_path);
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE, .run = *numbers};
    struct wire_run *it = &message.run;
    it->name = wire_text_of(task->name);
    it->argv = texts_of(task->argv, task->argc);
    it->env = texts_of(task->env, task->env_count);
    it->cwd = wire_text_of(cwd ? cwd : private ? "" : command->folder);
    it->stdin_path = wire_text_of(stdin_path);
    it->timeout = task->timeout > 0 ? task->timeout : 0;
    it->grace = task->grace >= 0 ? task->grace : GRACE;
    it->cores = task->cores;
    it->memory_mib = task->memory_mib;
    it->flags
        = numbers->flags | (private ? WIRE_RUN_PRIVATE : 0) | (task->cache ? WIRE_RUN_CACHE : 0);
    if (command->upload && !cwd && !private) it->flags |= WIRE_RUN_ANYWHERE;
    it->inputs = inputs_of(command, task);
    it->outputs = outputs_of(command, at);
    wire_put(out, &message);
    files_release(&it->inputs);
    files_release(&it->outputs);
    free(it->argv.items);
    free(it->env.items);
    free(cwd);
    free(stdin_path);
}
