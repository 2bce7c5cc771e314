// file.c - a file on disk or in memory, from its bytes to tasks.
#define _GNU_SOURCE
#include "jobfile/jobfile_parts.h"

#include <errno.h>
#include <fcntl.h>
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

// Reads to the end, whatever was said about the size; at most a byte more than is allowed.
static bool bytes_read(struct jobfile *file, int handle, struct bytes *bytes)
{
    for (;;) {
        if (!jobfile_reserve(file, (void **)&bytes->items, &bytes->capacity, bytes->count + 1, 1))
            return false;
        ssize_t got = read(handle, bytes->items + bytes->count, bytes->capacity - bytes->count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(file, strerror(errno));
        if (got == 0) return true;
        bytes->count += (uint32_t)got;
        if (bytes->count > JOBFILE_SIZE_MAX) return fail(file, "the file has more than 256 MiB");
    }
}

// A pipe or a device could be read for ever, and a pipe nobody writes to could not even be opened.
static bool file_read(struct jobfile *file, struct bytes *bytes)
{
    struct stat about;
    int handle = open(file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (handle < 0) return fail(file, strerror(errno));
    bool fine = fstat(handle, &about) == 0 || fail(file, strerror(errno));
    if (fine && !S_ISREG(about.st_mode)) fine = fail(file, "this is not a regular file");
    if (fine && about.st_size > JOBFILE_SIZE_MAX)
        fine = fail(file, "the file has more than 256 MiB");
    fine = fine
           && jobfile_reserve(file, (void **)&bytes->items, &bytes->capacity,
                              (uint32_t)about.st_size + 1, 1);
    fine = fine && bytes_read(file, handle, bytes);
    close(handle);
    return fine;
}

// ---- Parsing ---------------------------------------------------------------

static void reader_release(struct reader *reader)
{
    free(reader->tree.nodes);
    table_release(&reader->names);
    table_release(&reader->outputs);
    table_release(&reader->lanes);
    free(reader->families);
    free(reader->made);
    free(reader->needs.items);
    free(reader->conditions.items);
    free(reader->bundles.items);
    free(reader->clauses);
}

static bool tree_read(struct reader *reader, enum jobfile_format format, char *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (!bytes_check(reader->file, bytes, size)) return false;
    if (size >= 3 && memcmp(bytes, mark, 3) == 0) {
        bytes += 3;
        size -= 3;
    }
    if (!tree_init(&reader->tree, reader->file, size)) return false;
    if (!bytes[strspn(bytes, " \t\r\n")]) return true;  // an empty file is told about later
    return format == JOBFILE_YAML ? yaml_read(reader, bytes, size)
                                  : json_read(reader, bytes, size, format);
}

// Names can only be looked up, and cycles searched for, when everything before was understood.
static bool bytes_parse(struct reader *reader, enum jobfile_format format, char *bytes, size_t size)
{
    struct jobfile *file = reader->file;
    bool whole = tree_read(reader, format, bytes, size);
    if (whole) top_read(reader, format);
    if (whole && !reader_is_done(reader)) names_resolve(reader);
    if (!file->error_count) streams_gather(file);
    if (!file->error_count) cycle_check(reader);
    if (!file->error_count) streams_branch(file);
    if (format == JOBFILE_YAML) free(reader->tree.text);
    reader_release(reader);
    return !file->error_count;
}

static bool file_begin(struct jobfile *file, const char *path)
{
    *file = (struct jobfile){0};
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    const char *copy = jobfile_text(file, path, strlen(path));
    file->path = copy ? copy : "";
    file->folder = ".";
    if (slash) file->folder = length ? jobfile_text(file, path, length) : "/";
    return !file->lacks_memory;
}

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
    struct reader reader = {.file = file};
    if (!file_begin(file, path)) return false;
    bool input = strcmp(path, "-") == 0;
    bool fine = input ? bytes_read(file, STDIN_FILENO, &bytes) : file_read(file, &bytes);
    if (fine) {
        bytes.items[bytes.count] = 0;
        fine = bytes_parse(&reader, format_of(path), bytes.items, bytes.count);
    }
    free(bytes.items);
    return fine;
}

// The nodes point into the bytes, which the caller gives back.
bool jobfile_tree_read(struct reader *reader, const char *path, char **bytes)
{
    struct bytes read = {0};
    bool fine = file_begin(reader->file, path) && file_read(reader->file, &read);
    *bytes = read.items;
    if (!fine) return false;
    read.items[read.count] = 0;
    if (!tree_read(reader, JOBFILE_JSON, read.items, read.count)) return false;
    return reader->tree.count > 1 || fail(reader->file, "the file is empty");
}

bool jobfile_parse(struct jobfile *file, const char *path, enum jobfile_format format,
                   const char *bytes, size_t size)
{
    struct reader reader = {.file = file, .in_memory = true};
    if (!file_begin(file, path)) return false;
    if (size > JOBFILE_SIZE_MAX) return fail(file, "the file has more than 256 MiB");
    char *copy = NULL;
    uint32_t capacity = 0;
    if (!jobfile_reserve(file, (void **)&copy, &capacity, (uint32_t)size, 1)) return false;
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    bool fine = bytes_parse(&reader, format, copy, size);
    free(copy);
    return fine;
}
