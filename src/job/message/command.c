// command.c - builds the RUN message that a worker gets for a task of a job file.
#include "job/message/submission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The parts of a message that is being built. If a part fails, the message is not sent.
struct draft {
    const struct submit_command *command;
    struct wire_run run;
    char *cwd, *stdin_path;
    bool failed;
};

static void *take(struct draft *draft, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) draft->failed = true;
    return memory;
}

static wire_texts texts_of(struct draft *draft, char **items, uint32_t count)
{
    wire_texts texts = {take(draft, count, sizeof *texts.items), 0};
    for (; texts.items && texts.count < count; texts.count++)
        texts.items[texts.count] = wire_text_of(items[texts.count]);
    return texts;
}

char *submit_path_in(const char *folder, const char *path)
{
    size_t size = strlen(folder) + strlen(path) + 2;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%s%s%s", path[0] == '/' ? "" : folder,
                      path[0] == '/' ? "" : "/", path);
    return out;
}

static char *path_take(struct draft *draft, const char *path)
{
    char *place = submit_path_in(draft->command->folder, path);
    if (!place) draft->failed = true;
    return place;
}

#define STDIN_NAME ".rota-stdin"

// A file of the user: its path, or the object it was uploaded as.
static void source_fill(struct draft *draft, const char *path, struct wire_file *file)
{
    const struct submit_command *command = draft->command;
    char *place = path_take(draft, path);
    const struct submit_upload *upload
        = place && command->upload ? command->upload(command->context, place) : NULL;
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

// A worker without access to the user's files gets standard input as an additional input file.
static bool has_far_stdin(const struct submit_command *command, const struct jobfile_task *task)
{
    return command->upload && task->stdin_path && !task->stdin_input;
}

static void input_fill(struct draft *draft, const struct jobfile_input *input,
                       struct wire_file *file)
{
    const struct submit_command *command = draft->command;
    file->name = wire_text_of(input->name);
    if (!input->producer) {
        source_fill(draft, input->path, file);
        return;
    }
    const struct jobfile_task *producer = &command->file->tasks[input->producer - 1];
    file->kind = WIRE_FILE + producer->outputs[input->output - 1].kind;
    file->path = wire_text_of("");
    file->object = command->object(command->context, input->producer - 1, input->output - 1);
}

static wire_files inputs_of(struct draft *draft, const struct jobfile_task *task)
{
    uint32_t count = task->input_count + has_far_stdin(draft->command, task);
    wire_files files = {take(draft, count, sizeof *files.items), count};
    if (!files.items) return (wire_files){NULL, 0};
    if (count > task->input_count) {
        files.items[count - 1].name = wire_text_of(STDIN_NAME);
        source_fill(draft, task->stdin_path, &files.items[count - 1]);
    }
    for (uint32_t i = 0; i < task->input_count; i++)
        input_fill(draft, &task->inputs[i], &files.items[i]);
    return files;
}

static wire_files outputs_of(struct draft *draft, uint32_t at)
{
    const struct submit_command *command = draft->command;
    const struct jobfile_task *task = &command->file->tasks[at];
    wire_files files = {take(draft, task->output_count, sizeof *files.items), task->output_count};
    if (!files.items) return (wire_files){NULL, 0};
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        struct wire_file *file = &files.items[i];
        file->kind = WIRE_FILE + output->kind;
        bool is_put = output->keep && !command->upload;
        file->flags = is_put ? WIRE_KEEP : 0;
        file->name = wire_text_of(output->name);
        file->path = wire_text_of(is_put ? path_take(draft, output->name) : "");
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

static void paths_take(struct draft *draft, const struct jobfile_task *task)
{
    if (task->cwd) draft->cwd = path_take(draft, task->cwd);
    if (task->stdin_input)
        draft->stdin_path = strdup(task->inputs[task->stdin_input - 1].name);
    else if (has_far_stdin(draft->command, task))
        draft->stdin_path = strdup(STDIN_NAME);
    else if (task->stdin_path)
        draft->stdin_path = path_take(draft, task->stdin_path);
    if (task->stdin_path && !draft->stdin_path) draft->failed = true;
}

void submit_command_put(const struct submit_command *command, uint32_t at,
                        const struct wire_run *numbers, struct wire_out *out)
{
    const struct jobfile_task *task = &command->file->tasks[at];
    struct draft draft = {.command = command, .run = *numbers};
    struct wire_run *it = &draft.run;
    bool private = task->input_count || task->output_count || has_far_stdin(command, task);
    paths_take(&draft, task);
    it->name = wire_text_of(task->name);
    it->argv = texts_of(&draft, task->argv, task->argc);
    it->env = texts_of(&draft, task->env, task->env_count);
    it->cwd = wire_text_of(draft.cwd ? draft.cwd : private ? "" : command->folder);
    it->stdin_path = wire_text_of(draft.stdin_path);
    it->timeout = task->timeout > 0 ? task->timeout : 0;
    it->grace = task->grace >= 0 ? task->grace : WIRE_GRACE;
    it->cores = task->cores;
    it->memory_mib = task->memory_mib;
    it->flags
        = numbers->flags | (private ? WIRE_RUN_PRIVATE : 0) | (task->cache ? WIRE_RUN_CACHE : 0);
    if (command->upload && !task->cwd && !private) it->flags |= WIRE_RUN_ANYWHERE;
    it->inputs = inputs_of(&draft, task);
    it->outputs = outputs_of(&draft, at);
    if (draft.failed)
        out->failed = true;
    else
        wire_put(out, &(struct wire_message){.kind = WIRE_RUN_MESSAGE, .run = *it});
    files_release(&it->inputs);
    files_release(&it->outputs);
    free(it->argv.items);
    free(it->env.items);
    free(draft.cwd);
    free(draft.stdin_path);
}

// ---- Details shown by commands ---------------------------------------------------------------

// Writes one line, or only computes its length if `out` is null. Returns the length.
static size_t detail(char *out, const char *word, const char *text)
{
    size_t word_length = strlen(word), length = text ? strlen(text) : 0;
    if (!text) return 0;
    if (!out) return word_length + length + 2;
    memcpy(out, word, word_length);
    out[word_length] = ' ';
    for (size_t i = 0; i < length; i++)
        out[word_length + 1 + i] = text[i] == '\n' ? '?' : text[i];
    out[word_length + length + 1] = '\n';
    return word_length + length + 2;
}

size_t submit_details(const struct jobfile_task *task, char *out)
{
    static const char *const kinds[] = {"out", "out-directory", "out-stream"};
    size_t length = detail(out, "group", task->lane ? task->group : NULL);
#define DETAIL(word, text) length += detail(out ? out + length : NULL, (word), (text))
    DETAIL("cwd", task->cwd);
    for (uint32_t i = 0; i < task->input_count; i++)
        DETAIL(task->inputs[i].producer ? "in" : "in-file", task->inputs[i].path);
    for (uint32_t i = 0; i < task->output_count; i++)
        DETAIL(kinds[task->outputs[i].kind], task->outputs[i].name);
#undef DETAIL
    return length;
}
