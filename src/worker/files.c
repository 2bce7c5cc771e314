// files.c - what goes into a command and what comes out, between its directory and the cache.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/cache.h"
#include "worker/spread.h"
#include "worker/worker_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static bool join(char *out, const char *directory, const char *name)
{
    bool is_absolute = name[0] == '/';
    int length = snprintf(out, PATH_MAX, "%s%s%s", is_absolute ? "" : directory,
                          is_absolute ? "" : "/", name);
    errno = ENAMETOOLONG;
    return length > 0 && length < PATH_MAX;
}

static bool is_private(const struct run *run)
{
    return run->command.run.flags & WIRE_RUN_PRIVATE;
}

static enum cache_kind kind_of(const struct wire_file *file)
{
    return file->kind == WIRE_DIRECTORY ? CACHE_DIRECTORY : CACHE_FILE;
}

static enum files_result bad(struct run *run, const char *what, const struct wire_file *file,
                             const char *why)
{
    snprintf(run->reason, sizeof run->reason, "%s %s: %s", what, file->name.bytes, why);
    return FILES_BAD;
}

// Most sentences of the cache begin with the name already.
static enum files_result bad_output(struct run *run, const struct wire_file *file,
                                    const struct cache_error *error)
{
    bool is_named = strncmp(error->text, file->name.bytes, file->name.length) == 0;
    snprintf(run->reason, sizeof run->reason, "the output %s%s%s", is_named ? "" : file->name.bytes,
             is_named ? "" : ": ", error->text);
    return FILES_BAD;
}

// ---- Before -------------------------------------------------------------------------------------

static bool put_link(const char *directory, const char *name, const char *target)
{
    char path[PATH_MAX];
    return join(path, directory, name) && os_parents_make(path) && symlink(target, path) == 0;
}

static enum files_result prepare_link(struct run *run, const struct wire_file *file,
                                      const char *target, const char *what)
{
    if (file->kind != WIRE_STREAM && access(target, F_OK) != 0)
        return bad(run, what, file, file->path.length ? strerror(errno) : "it has no path");
    if (!is_private(run) || put_link(run->command.directory, file->name.bytes, target))
        return FILES_READY;
    return bad(run, what, file, strerror(errno));
}

static enum files_result prepare_source(struct files *files, struct run *run,
                                        const struct wire_file *file)
{
    char stream[PATH_MAX];
    stream_path(stream, sizeof stream, files->folder, file->object);
    return prepare_link(run, file, file->kind == WIRE_STREAM ? stream : file->path.bytes,
                        "the input");
}

static enum files_result prepare_object(struct files *files, struct run *run, int directory,
                                        const struct wire_file *file)
{
    struct cache_entry entry;
    struct cache_error error = {.fault = CACHE_LOST, .text = "is not in the cache any more"};
    if (directory < 0) return bad(run, "the input", file, "it needs a directory of the task's own");
    struct cache *cache = files_cache(files, &error);
    if (cache && cache_find(cache, file->object, &entry)
        && cache_take(cache, &entry, directory, file->name.bytes, &error))
        return FILES_READY;
    if (cache && error.fault == CACHE_LOST) files_lost_add(files, file->object);
    snprintf(run->reason, sizeof run->reason, "the input %s: %s", file->name.bytes, error.text);
    return FILES_BAD;
}

// All are looked at, so that all that is lost is told at once.
static enum files_result prepare_inputs(struct files *files, struct run *run, int directory)
{
    const wire_files *inputs = &run->command.run.inputs;
    enum files_result result = FILES_READY;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct wire_file *file = &inputs->items[i];
        bool is_object = file->kind == WIRE_FILE || file->kind == WIRE_DIRECTORY;
        enum files_result one = is_object ? prepare_object(files, run, directory, file)
                                          : prepare_source(files, run, file);
        if (one != FILES_READY) result = one;
    }
    return result;
}

static enum files_result prepare_output(struct files *files, struct run *run, uint32_t at)
{
    char path[PATH_MAX];
    const wire_files *outputs = &run->command.run.outputs;
    const struct wire_file *file = &outputs->items[at];
    if (spread_is_again(outputs, at)) return FILES_READY;
    if (file->kind == WIRE_STREAM) {
        spread_path(path, sizeof path, files->folder, outputs, at);
        return prepare_link(run, file, path, "the output");
    }
    if (!strchr(file->name.bytes, '/')) return FILES_READY;
    bool made = join(path, run->command.directory, file->name.bytes) && os_parents_make(path);
    return made ? FILES_READY : bad(run, "the output", file, strerror(errno));
}

enum files_result files_prepare(struct files *files, struct run *run)
{
    const wire_files *outputs = &run->command.run.outputs;
    int directory
        = is_private(run) ? open(run->command.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    enum files_result result = prepare_inputs(files, run, directory);
    if (directory >= 0) close(directory);
    for (uint32_t i = 0; i < outputs->count && result == FILES_READY; i++)
        result = prepare_output(files, run, i);
    return result;
}

// ---- After --------------------------------------------------------------------------------------

// Only what lies in a directory of the task's own may be taken away from there.
static enum files_result add_outputs(struct cache *cache, struct run *run, int directory,
                                     struct cache_output *made)
{
    const wire_files *outputs = &run->command.run.outputs;
    struct cache_error error = {0};
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        run->command.made[i] = *file;
        made[i].name = file->name;
        if (file->kind == WIRE_STREAM) continue;
        bool fine = is_private(run) ? cache_add(cache, directory, file->name.bytes, kind_of(file),
                                                &made[i].entry, &error)
                                    : cache_add_copy(cache, directory, file->name.bytes,
                                                     kind_of(file), &made[i].entry, &error);
        if (!fine) return bad_output(run, file, &error);
        run->command.made[i].bytes = made[i].entry.bytes;
    }
    return FILES_READY;
}

enum files_result files_hand_over(struct files *files, struct run *run,
                                  const struct cache_output *made)
{
    const wire_files *outputs = &run->command.run.outputs;
    struct cache_error error = {0};
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        if (file->kind == WIRE_STREAM || !(file->flags & WIRE_KEEP)) continue;
        if (!cache_deliver(files->cache, &made[i].entry, file->path.bytes, &error))
            return bad_output(run, file, &error);
    }
    if (run->key.is_known && !run->was_cached) files_result_put(files, run, made);
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct wire_file *file = &outputs->items[i];
        bool is_named = file->object.high || file->object.low;
        if (file->kind == WIRE_STREAM || !is_named) continue;
        if (!cache_bind(files->cache, file->object, &made[i].entry, &error))
            return bad_output(run, file, &error);
    }
    return FILES_READY;
}

enum files_result files_collect(struct files *files, struct run *run)
{
    uint32_t count = run->command.run.outputs.count;
    struct cache_error error = {0};
    struct cache *cache = files_cache(files, &error);
    struct cache_output *made = calloc(count + 1, sizeof *made);
    int directory = open(run->command.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum files_result result = FILES_BAD;
    if (!cache)
        snprintf(run->reason, sizeof run->reason, "no output can be kept: %s", error.text);
    else if (!made || (count && directory < 0))
        snprintf(run->reason, sizeof run->reason, "no output can be read: %s", strerror(errno));
    else
        result = add_outputs(cache, run, directory, made);
    if (result == FILES_READY) result = files_hand_over(files, run, made);
    for (uint32_t i = 0; cache && made && i < count && result == FILES_BAD; i++)
        if (made[i].entry.kind != CACHE_NONE) cache_release(cache, &made[i].entry);
    if (directory >= 0) close(directory);
    free(made);
    return result;
}
