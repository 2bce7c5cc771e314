// content_key.c - content keys: tasks with the same command and inputs have the same key, in any
// job.
//
// The content of a future output is unknown, so the key of its producer stands for it: a task has
// no key if one of its producers has none.
#include "client/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct keys {
    const struct client_submission *given;
    struct cache cache;  // for hashes
    uint8_t (*hashes)[CACHE_HASH];
    rota_object_id *ids;
    uint8_t *seen;
    char **texts;        // of the present task, to be freed
    uint32_t text_count;
};

static wire_text keep(struct keys *keys, char mark, const char *first, const char *second)
{
    size_t length = 1 + strlen(first) + 1 + (second ? strlen(second) : 0);
    char *text = os_allocate(length + 1, 1);
    text[0] = mark;
    memcpy(text + 1, first, strlen(first));
    if (second) memcpy(text + 2 + strlen(first), second, strlen(second));
    keys->texts[keys->text_count++] = text;
    return (wire_text){text, (uint32_t)length};
}

// ---- Tasks with a content key ------------------------------------------------------------------

// Not in a lane: a task must not wait for the turn of another one.
static bool is_asked_for(const struct jobfile_task *task)
{
    if (!task->cache || task->is_bundle || task->lane) return false;
    for (uint32_t i = 0; i < task->output_count; i++)
        if (task->outputs[i].kind == JOBFILE_STREAM) return false;
    return true;
}

static bool inputs_are_known(const struct keys *keys, const struct jobfile_task *task)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        uint32_t producer = task->inputs[i].producer;
        if (producer && !keys->ids[producer - 1].high) return false;
    }
    return true;
}

// ---- What it is made of ------------------------------------------------------------------------

static void source_fill(const struct keys *keys, const char *path, struct cache_output *input)
{
    char *place = client_path_in(keys->given->folder, path);
    const struct client_upload *upload = client_upload_look(keys->given->uploads, place);
    if (upload) input->entry = upload->survey.entry;
    free(place);
}

static uint32_t inputs_fill(struct keys *keys, const struct jobfile_task *task,
                            struct cache_output *inputs)
{
    const struct jobfile *file = keys->given->file;
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        if (input->producer) {
            uint32_t producer = input->producer - 1;
            const char *output = file->tasks[producer].outputs[input->output - 1].name;
            inputs[i].name = keep(keys, 'o', input->name, output);
            memcpy(inputs[i].entry.hash, keys->hashes[producer], CACHE_HASH);
        } else {
            inputs[i].name = keep(keys, 's', input->name, NULL);
            source_fill(keys, input->path, &inputs[i]);
        }
    }
    if (!task->stdin_path || task->stdin_input) return task->input_count;
    inputs[task->input_count].name = keep(keys, '<', "", NULL);
    source_fill(keys, task->stdin_path, &inputs[task->input_count]);
    return task->input_count + 1;
}

// Outputs with their kinds, then the other properties that a command can see or depends on.
static wire_texts outputs_make(struct keys *keys, const struct jobfile_task *task)
{
    wire_texts texts = {os_allocate(task->output_count + 3, sizeof *texts.items), 0};
    for (uint32_t i = 0; i < task->output_count; i++)
        texts.items[texts.count++]
            = keep(keys, task->outputs[i].kind == JOBFILE_DIRECTORY ? 'd' : 'f',
                   task->outputs[i].name, NULL);
    const char *stdin_name = task->stdin_input ? task->inputs[task->stdin_input - 1].name : "";
    texts.items[texts.count++] = keep(keys, '@', task->name, NULL);
    texts.items[texts.count++] = keep(keys, '<', stdin_name, NULL);
    texts.items[texts.count++] = keep(keys, 'm', task->machine ? task->machine : "", NULL);
    return texts;
}

static wire_texts texts_of(char **items, uint32_t count)
{
    wire_texts texts = {os_allocate(count, sizeof *texts.items), count};
    for (uint32_t i = 0; i < count; i++) texts.items[i] = wire_text_of(items[i]);
    return texts;
}

static void key_make(struct keys *keys, uint32_t at)
{
    const struct jobfile_task *task = &keys->given->file->tasks[at];
    if (!is_asked_for(task) || !inputs_are_known(keys, task)) return;
    bool is_private = task->input_count || task->output_count || task->stdin_path;
    char *directory = task->cwd ? client_path_in(keys->given->folder, task->cwd) : NULL;
    keys->texts = os_allocate(task->input_count + task->output_count + 4, sizeof *keys->texts);
    keys->text_count = 0;
    struct cache_output *inputs = os_allocate(task->input_count + 1, sizeof *inputs);
    struct cache_command command = {.argv = texts_of(task->argv, task->argc),
                                    .environment = texts_of(task->env, task->env_count),
                                    .outputs = outputs_make(keys, task),
                                    .inputs = inputs};
    command.directory = wire_text_of(directory    ? directory
                                     : is_private ? ""
                                                  : keys->given->folder);
    command.input_count = inputs_fill(keys, task, inputs);
    if (!cache_key(&keys->cache, &command, keys->hashes[at], NULL)) os_out_of_memory();
    memcpy(&keys->ids[at], keys->hashes[at], sizeof keys->ids[at]);
    keys->ids[at].high |= 1;  // never the id "none"
    for (uint32_t i = 0; i < keys->text_count; i++) free(keys->texts[i]);
    free(keys->texts), free(inputs), free(directory);
    free(command.argv.items), free(command.environment.items), free(command.outputs.items);
}

// ---- All tasks, producers before their readers -------------------------------------------------

static bool producer_next(const struct keys *keys, const struct jobfile_task *task, uint32_t *next)
{
    for (uint32_t i = 0; i < task->input_count; i++) {
        if (!task->inputs[i].producer || keys->seen[task->inputs[i].producer - 1]) continue;
        *next = task->inputs[i].producer - 1;
        return true;
    }
    return false;
}

static void keys_make(struct keys *keys, uint32_t *stack, uint32_t first)
{
    const struct jobfile *file = keys->given->file;
    uint32_t depth = 0, next;
    if (keys->seen[first]) return;
    keys->seen[stack[depth++] = first] = 1;
    while (depth) {
        uint32_t at = stack[depth - 1];
        if (producer_next(keys, &file->tasks[at], &next)) {
            keys->seen[stack[depth++] = next] = 1;
            continue;
        }
        key_make(keys, at);
        depth--;
    }
}

rota_object_id *client_keys(const struct client_submission *given)
{
    uint32_t count = given->file->task_count;
    struct keys keys = {.given = given, .ids = os_allocate(count, sizeof *keys.ids)};
    if (!given->uploads) return keys.ids;  // the inputs are not hashed
    uint32_t *stack = os_allocate(count, sizeof *stack);
    keys.hashes = os_allocate(count, sizeof *keys.hashes);
    keys.seen = os_allocate(count, 1);
    cache_init(&keys.cache);
    for (uint32_t i = 0; i < count; i++) keys_make(&keys, stack, i);
    cache_close(&keys.cache);
    free(stack), free(keys.hashes), free(keys.seen);
    return keys.ids;
}
