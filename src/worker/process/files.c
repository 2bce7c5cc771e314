// files.c - copies inputs and outputs of a command between its directory and the cache.
#define _GNU_SOURCE
#include "object/cache/cache.h"
#include "worker/process/stream_tee.h"
#include "worker/process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool files_name_is_safe(const char *name)
{
    for (const char *at = name;; at++) {
        size_t length = strcspn(at, "/");
        if (length == 0) return false;
        if (length == 1 && at[0] == '.') return false;
        if (length == 2 && at[0] == '.' && at[1] == '.') return false;
        at += length;
        if (!*at) return true;
    }
}

static bool is_private(const struct attempt *attempt)
{
    return attempt->command.run.flags & WIRE_RUN_PRIVATE;
}

static enum cache_kind kind_of(const struct wire_file *file)
{
    return file->kind == WIRE_DIRECTORY ? CACHE_DIRECTORY : CACHE_FILE;
}

static enum files_result bad(struct attempt *attempt, const char *what,
                             const struct wire_file *file, const char *why)
{
    snprintf(attempt->reason, sizeof attempt->reason, "%s %s: %s", what, file->name.bytes, why);
    return FILES_BAD;
}

// Most messages of the cache already begin with the name.
static enum files_result bad_output(struct attempt *attempt, const struct wire_file *file,
                                    const struct cache_error *error)
{
    bool is_named = strncmp(error->text, file->name.bytes, file->name.length) == 0;
    snprintf(attempt->reason, sizeof attempt->reason, "the output %s%s%s",
             is_named ? "" : file->name.bytes, is_named ? "" : ": ", error->text);
    return FILES_BAD;
}

// ---- Before -------------------------------------------------------------------------------------

// An input that is a link leads to folders of others; nothing is created below it.
static enum files_result bad_place(struct attempt *attempt, const char *what,
                                   const struct wire_file *file)
{
    bool is_blocked = errno == ELOOP || errno == ENOTDIR;
    return bad(attempt, what, file, is_blocked ? "it is below a link or a file" : strerror(errno));
}

static bool put_link(int directory, const char *name, const char *target)
{
    const char *leaf;
    int parent = tree_open_parent(directory, name, &leaf);
    bool made = parent >= 0 && symlinkat(target, parent, leaf) == 0;
    int reason = errno;
    tree_close_parent(directory, parent);
    errno = reason;
    return made;
}

static bool is_there(void *path)
{
    struct stat at;
    return stat(path, &at) == 0;
}

static enum files_result prepare_link(struct attempt *attempt, int directory,
                                      const struct wire_file *file, const char *target,
                                      const char *what)
{
    if (!is_private(attempt) || put_link(directory, file->name.bytes, target)) return FILES_READY;
    return bad_place(attempt, what, file);
}

static enum files_result prepare_source(struct files *files, struct attempt *attempt, int directory,
                                        const struct wire_file *file)
{
    char stream[PATH_MAX];
    stream_path(stream, sizeof stream, files->folder, file->object);
    if (file->kind == WIRE_STREAM)
        return prepare_link(attempt, directory, file, stream, "the input");
    if (!user_call(files->user, is_there, (char *)file->path.bytes))
        return bad(attempt, "the input", file,
                   file->path.length ? strerror(errno) : "it has no path");
    return prepare_link(attempt, directory, file, file->path.bytes, "the input");
}

static enum files_result prepare_object(struct files *files, struct attempt *attempt, int directory,
                                        const struct wire_file *file)
{
    struct cache_entry entry;
    struct cache_error error = {.fault = CACHE_LOST, .text = "is not in the cache any more"};
    if (!is_private(attempt))
        return bad(attempt, "the input", file, "it needs a private folder of the task");
    struct cache *cache = files_cache(files, &error);
    if (cache && cache_find_input(cache, file, &entry)
        && cache_take(cache, &entry, directory, file->name.bytes, &error))
        return FILES_READY;
    if (cache && error.fault == CACHE_LOST) files_lost_add(files, file->object);
    attempt->lacks_room |= error.is_full;
    snprintf(attempt->reason, sizeof attempt->reason, "the input %s: %s", file->name.bytes,
             error.text);
    return FILES_BAD;
}

// All inputs are checked, so that all missing ones are reported at once.
static enum files_result prepare_inputs(struct files *files, struct attempt *attempt, int directory)
{
    const wire_files *inputs = &attempt->command.run.inputs;
    enum files_result result = FILES_READY;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct wire_file *file = &inputs->items[i];
        bool is_object = file->kind == WIRE_FILE || file->kind == WIRE_DIRECTORY;
        enum files_result one = is_object ? prepare_object(files, attempt, directory, file)
                                          : prepare_source(files, attempt, directory, file);
        if (one != FILES_READY) result = one;
    }
    return result;
}

static enum files_result prepare_output(struct files *files, struct attempt *attempt, int directory,
                                        uint32_t at)
{
    char path[PATH_MAX];
    const char *leaf;
    const wire_files *outputs = &attempt->command.run.outputs;
    const struct wire_file *file = &outputs->items[at];
    if (stream_tee_is_again(outputs, at)) return FILES_READY;
    if (file->kind == WIRE_STREAM) {
        stream_tee_path(path, sizeof path, files->folder, outputs, at);
        return prepare_link(attempt, directory, file, path, "the output");
    }
    int parent = tree_open_parent(directory, file->name.bytes, &leaf);
    if (parent < 0) return bad_place(attempt, "the output", file);
    tree_close_parent(directory, parent);
    return FILES_READY;
}

enum files_result files_prepare(struct files *files, struct attempt *attempt)
{
    const wire_files *outputs = &attempt->command.run.outputs;
    const char *path = attempt->command.directory;
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        snprintf(attempt->reason, sizeof attempt->reason, "the folder %s: %s", path,
                 strerror(errno));
        return FILES_BAD;
    }
    enum files_result result = prepare_inputs(files, attempt, directory);
    for (uint32_t i = 0; i < outputs->count && result == FILES_READY; i++)
        result = prepare_output(files, attempt, directory, i);
    close(directory);
    return result;
}

// ---- After --------------------------------------------------------------------------------------

// Files may be moved only out of a private directory of the task.
static enum files_result add_outputs(struct cache *cache, struct attempt *attempt, int directory,
                                     struct cache_output *made)
{
    const wire_files *outputs = &attempt->command.run.outputs;
    struct cache_error error = {0};
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        attempt->command.made[i] = *file;
        made[i].name = file->name;
        if (file->kind == WIRE_STREAM) continue;
        bool fine = is_private(attempt) ? cache_add(cache, directory, file->name.bytes,
                                                    kind_of(file), &made[i].entry, &error)
                                        : cache_add_copy(cache, directory, file->name.bytes,
                                                         kind_of(file), &made[i].entry, &error);
        if (!fine) return bad_output(attempt, file, &error);
        attempt->command.made[i].bytes = made[i].entry.bytes;
        attempt->command.made[i].content = cache_entry_content(&made[i].entry);
    }
    return FILES_READY;
}

enum files_result files_hand_over(struct files *files, struct attempt *attempt,
                                  const struct cache_output *made)
{
    const wire_files *outputs = &attempt->command.run.outputs;
    struct cache_error error = {0};
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        if (file->kind == WIRE_STREAM || !(file->flags & WIRE_KEEP)) continue;
        if (!cache_deliver(files->cache, &made[i].entry, file->path.bytes, &error))
            return bad_output(attempt, file, &error);
    }
    if (attempt->key.is_known && !attempt->was_cached) files_result_put(files, attempt, made);
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        bool is_named = file->object.high || file->object.low;
        if (file->kind == WIRE_STREAM || !is_named) continue;
        if (!cache_bind(files->cache, file->object, &made[i].entry, &error))
            return bad_output(attempt, file, &error);
    }
    return FILES_READY;
}

enum files_result files_collect(struct files *files, struct attempt *attempt)
{
    uint32_t count = attempt->command.run.outputs.count;
    struct cache_error error = {0};
    struct cache *cache = files_cache(files, &error);
    struct cache_output *made = calloc(count + 1, sizeof *made);
    int directory = open(attempt->command.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum files_result result = FILES_BAD;
    if (!cache)
        snprintf(attempt->reason, sizeof attempt->reason, "cannot store outputs: %s", error.text);
    else if (!made || (count && directory < 0))
        snprintf(attempt->reason, sizeof attempt->reason, "cannot read outputs: %s",
                 strerror(errno));
    else
        result = add_outputs(cache, attempt, directory, made);
    if (result == FILES_READY) result = files_hand_over(files, attempt, made);
    for (uint32_t i = 0; cache && made && i < count && result == FILES_BAD; i++)
        if (made[i].entry.kind != CACHE_NONE) cache_release(cache, &made[i].entry);
    if (directory >= 0) close(directory);
    free(made);
    return result;
}
