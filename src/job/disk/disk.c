// disk.c - reads job files from disk, expands globs, and prints errors.
#define _GNU_SOURCE
#include "job/disk/disk.h"
#include "job/file/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bytes {
    char *items;
    uint32_t count, capacity;
};

static bool fail(struct jobfile *file, const char *reason)
{
    refuse_at(file, (struct jobfile_place){0}, "%s", reason);
    return false;
}

// ---- Bytes -----------------------------------------------------------------

// Reads to the end, because the size may change meanwhile; at most one byte more than is allowed.
static bool bytes_read(struct jobfile *file, int handle, struct bytes *bytes)
{
    for (;;) {
        if (!jobfile_reserve(file, &bytes->items, &bytes->capacity, bytes->count + 1, 1))
            return false;
        ssize_t got = read(handle, bytes->items + bytes->count, bytes->capacity - bytes->count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(file, strerror(errno));
        if (got == 0) return true;
        bytes->count += (uint32_t)got;
        if (bytes->count > JOBFILE_SIZE_MAX) return fail(file, "the file is larger than 256 MiB");
    }
}

// Refuses pipes and devices: reading one may never end, and opening a pipe without a writer blocks.
static bool file_read(struct jobfile *file, struct bytes *bytes)
{
    struct stat about;
    int handle = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (handle < 0) return fail(file, strerror(errno));
    bool fine = fstat(handle, &about) == 0 || fail(file, strerror(errno));
    if (fine && !S_ISREG(about.st_mode)) fine = fail(file, "not a regular file");
    if (fine && about.st_size > JOBFILE_SIZE_MAX)
        fine = fail(file, "the file is larger than 256 MiB");
    fine
        = fine
          && jobfile_reserve(file, &bytes->items, &bytes->capacity, (uint32_t)about.st_size + 1, 1);
    fine = fine && bytes_read(file, handle, bytes);
    close(handle);
    return fine;
}

// ---- Globs -----------------------------------------------------------------

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// The pattern after the folder of the file, whose own stars and brackets are escaped.
static char *pattern_make(struct reader *reader, const char *pattern, size_t *folder_length)
{
    const char *folder = pattern[0] == '/' ? "" : reader->file->folder;
    char *whole = jobfile_take(reader->file, strlen(folder) * 2 + strlen(pattern) + 2);
    char *out = whole;
    if (!whole) return NULL;
    for (const char *at = folder; *at; at++) {
        if (strchr("*?[]\\", *at)) *out++ = '\\';
        *out++ = *at;
    }
    if (*folder) *out++ = '/';
    memcpy(out, pattern, strlen(pattern));
    *folder_length = *folder ? strlen(folder) + 1 : 0;
    return whole;
}

static const char **paths_take(struct reader *reader, const glob_t *found, size_t skip)
{
    const char **paths = jobfile_take(reader->file, found->gl_pathc * sizeof *paths);
    for (size_t i = 0; paths && i < found->gl_pathc; i++) {
        const char *path = found->gl_pathv[i] + skip;
        paths[i] = jobfile_text(reader->file, path, strlen(path));
        if (!paths[i]) return NULL;
    }
    if (paths) qsort(paths, found->gl_pathc, sizeof *paths, by_text);
    return paths;
}

static bool glob_find(struct reader *reader, uint32_t node, const char *pattern,
                      const char ***paths, uint32_t *count)
{
    glob_t found = {0};
    size_t skip;
    const char *whole = pattern_make(reader, pattern, &skip);
    int status = whole ? glob(whole, GLOB_NOSORT, NULL, &found) : GLOB_NOSPACE;
    if (status == GLOB_NOSPACE) jobfile_no_memory(reader->file);
    if (status)
        reject(reader, node, "no file matches %s", QUOTED(pattern));
    else if (found.gl_pathc > JOBFILE_TASKS_MAX)
        reject(reader, node, "more than %d files match", JOBFILE_TASKS_MAX);
    else if ((*paths = paths_take(reader, &found, skip)))
        *count = (uint32_t)found.gl_pathc;
    globfree(&found);
    return *count > 0;
}

// ---- Files -----------------------------------------------------------------

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

static enum jobfile_format format_of(const char *path)
{
    if (ends_with(path, ".json")) return JOBFILE_JSON;
    bool lines = ends_with(path, ".jsonl") || ends_with(path, ".ndjson");
    return lines ? JOBFILE_JSON_LINES : JOBFILE_YAML;
}

bool jobfile_read(struct jobfile *file, const char *path)
{
    struct bytes bytes = {0};
    struct reader reader = {.file = file, .glob = glob_find};
    if (!file_begin(file, path)) return false;
    bool input = strcmp(path, "-") == 0;
    bool fine = input ? bytes_read(file, STDIN_FILENO, &bytes) : file_read(file, &bytes);
    if (fine) {
        bytes.items[bytes.count] = 0;
        fine = file_parse(&reader, format_of(path), bytes.items, bytes.count);
    }
    free(bytes.items);
    return fine;
}

// The nodes point into the bytes, which the caller frees.
bool jobfile_tree_read(struct reader *reader, const char *path, char **bytes)
{
    struct bytes read = {0};
    bool fine = file_begin(reader->file, path) && file_read(reader->file, &read);
    *bytes = read.items;
    if (!fine) return false;
    read.items[read.count] = 0;
    if (!file_tree_read(reader, JOBFILE_JSON, read.items, read.count)) return false;
    return reader->tree.count > 1 || fail(reader->file, "the file is empty");
}

// ---- Errors -----------------------------------------------------------------------------------

void jobfile_errors_write(const struct jobfile *file, FILE *out)
{
    for (uint32_t i = 0; i < file->error_count; i++) {
        const struct jobfile_error *error = &file->errors[i];
        fputs(file->path, out);
        if (error->place.line) fprintf(out, ":%u:%u", error->place.line, error->place.column);
        fprintf(out, ": %s\n", error->reason);
    }
    if (file->error_count == JOBFILE_ERRORS_MAX)
        fprintf(out, "%s: too many errors; only the first %d are listed\n", file->path,
                JOBFILE_ERRORS_MAX);
}
