// files_key.c - the content key of a command: a hash of everything that determines its outputs.
#define _GNU_SOURCE
#include "object/cache/cache.h"
#include "worker/process/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A command with streams has no content key.
static bool has_streams(const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (files->items[i].kind == WIRE_STREAM) return true;
    return false;
}

// ---- Texts in a defined order ---------------------------------------------------------------

static int text_compare(const void *one, const void *other)
{
    return strcmp(((const wire_text *)one)->bytes, ((const wire_text *)other)->bytes);
}

static int input_compare(const void *one, const void *other)
{
    const struct cache_output *a = one, *b = other;
    return strcmp(a->name.bytes, b->name.bytes);
}

static bool environment_make(const struct wire_run *run, wire_texts *environment)
{
    environment->items = calloc(run->env.count + 1, sizeof *environment->items);
    environment->count = run->env.count;
    if (!environment->items) return false;
    if (run->env.count)
        memcpy(environment->items, run->env.items, run->env.count * sizeof *run->env.items);
    qsort(environment->items, environment->count, sizeof *environment->items, text_compare);
    return true;
}

// Outputs with their kinds, then its name, which it can read in ROTA_TASK, and which of its inputs
// is standard input.
static bool outputs_make(const struct wire_run *run, wire_texts *outputs)
{
    uint32_t count = run->outputs.count;
    outputs->items = calloc(count + 2, sizeof *outputs->items);
    if (!outputs->items) return false;
    for (uint32_t i = 0; i < count + 2; i++) {
        wire_text text = i < count    ? run->outputs.items[i].name
                         : i == count ? run->name
                                      : run->stdin_path;
        char mark = i == count                                     ? '@'
                    : i > count                                    ? '<'
                    : run->outputs.items[i].kind == WIRE_DIRECTORY ? 'd'
                                                                   : 'f';
        char *item = malloc((size_t)text.length + 2);
        if (!item) return false;
        item[0] = mark;
        memcpy(item + 1, text.bytes, (size_t)text.length + 1);
        outputs->items[outputs->count++] = (wire_text){item, text.length + 1};
    }
    return true;
}

static void outputs_release(wire_texts *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) free((char *)outputs->items[i].bytes);
    free(outputs->items);
}

// ---- Inputs -----------------------------------------------------------------------------------

// False with a reason: an input is lost. A source that cannot be hashed only makes the key unknown.
static bool inputs_make(struct files *files, struct attempt *attempt, struct cache_output *inputs,
                        uint32_t *count, bool *is_known)
{
    const struct wire_run *message = &attempt->command.run;
    bool fine = true;
    for (uint32_t i = 0; i < message->inputs.count; i++) {
        const struct wire_file *file = &message->inputs.items[i];
        struct cache_output *input = &inputs[(*count)++];
        input->name = file->name;
        if (file->kind == WIRE_SOURCE) {
            *is_known &= files_source_hash(files, file->path.bytes, &input->entry);
        } else if (!cache_find_input(files->cache, file, &input->entry)) {
            files_lost_add(files, file->object);
            snprintf(attempt->reason, sizeof attempt->reason,
                     "the input %s: is not in the cache any more", file->name.bytes);
            fine = false;
        }
    }
    if (message->stdin_path.length && message->stdin_path.bytes[0] == '/') {
        struct cache_output *input = &inputs[(*count)++];
        input->name = wire_text_of("");  // no other input has that name
        *is_known &= files_source_hash(files, message->stdin_path.bytes, &input->entry);
    }
    return fine;
}

enum files_result files_key_make(struct files *files, struct attempt *attempt,
                                 struct files_key *key)
{
    const struct wire_run *message = &attempt->command.run;
    struct cache_error error;
    *key = (struct files_key){.is_known = false};
    if (has_streams(&message->inputs) || has_streams(&message->outputs)) return FILES_READY;
    if (!files_cache(files, &error)) return FILES_READY;
    struct cache_command command = {.argv = message->argv, .directory = message->cwd};
    struct cache_output *inputs = calloc(message->inputs.count + 1, sizeof *inputs);
    bool is_known = inputs && environment_make(message, &command.environment)
                    && outputs_make(message, &command.outputs);
    bool fine = !is_known || inputs_make(files, attempt, inputs, &command.input_count, &is_known);
    if (fine && is_known) {
        qsort(inputs, command.input_count, sizeof *inputs, input_compare);
        command.inputs = inputs;
        key->is_known = cache_key(files->cache, &command, key->hash, &error);
    }
    free(command.environment.items);
    outputs_release(&command.outputs);
    free(inputs);
    return fine ? FILES_READY : FILES_BAD;
}
