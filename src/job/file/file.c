// file.c - parses a job file in memory.
#include "job/file/internal.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

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

// ---- Bytes ------------------------------------------------------------------------------------

static bool is_control(uint32_t number)
{
    return (number < 0x20 && number != '\t' && number != '\n' && number != '\r')
           || number == 0x7f;
}

// Eight bytes at a time: true if all are between 0x20 and 0x7e.
static bool all_plain(const char *bytes)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    uint64_t below = (eight - each * 0x20) & ~eight, above = eight + each;
    return !((eight | below | above) & each * 0x80);
}

static struct jobfile_place place_of(const char *bytes, size_t at)
{
    struct jobfile_place place = {1, 1};
    for (size_t i = 0; i < at; i++) {
        if (bytes[i] == '\n')
            place = (struct jobfile_place){place.line + 1, 1};
        else
            place.column += (bytes[i] & 0xc0) != 0x80;
    }
    return place;
}

static bool wrong(struct jobfile *file, const char *bytes, size_t at, const char *reason)
{
    refuse_at(file, place_of(bytes, at), "%s", reason);
    return false;
}

// Accepts UTF-8 without control characters. False: the error is reported.
static bool bytes_check(struct jobfile *file, const char *bytes, size_t size)
{
    size_t i = 0;
    while (i < size) {
        if (size - i >= 8 && all_plain(bytes + i)) {
            i += 8;
            continue;
        }
        uint32_t number;
        size_t length = character_read(bytes + i, size - i, &number);
        if (!length) return wrong(file, bytes, i, "not valid UTF-8");
        if (!number) return wrong(file, bytes, i, "a zero byte; this is not a text file");
        if (is_control(number)) return wrong(file, bytes, i, "a control character");
        i += length;
    }
    return true;
}

bool file_tree_read(struct reader *reader, enum jobfile_format format, char *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (!bytes_check(reader->file, bytes, size)) return false;
    if (size >= 3 && memcmp(bytes, mark, 3) == 0) {
        bytes += 3;
        size -= 3;
    }
    if (!tree_init(&reader->tree, reader->file, size)) return false;
    if (!bytes[strspn(bytes, " \t\r\n")]) return true;  // an empty file is reported later
    return format == JOBFILE_YAML ? yaml_read(reader, bytes, size)
                                  : json_read(reader, bytes, size, format);
}

// Names are resolved and cycles searched only if everything before was valid.
bool file_parse(struct reader *reader, enum jobfile_format format, char *bytes, size_t size)
{
    struct jobfile *file = reader->file;
    bool whole = file_tree_read(reader, format, bytes, size);
    if (whole) top_read(reader, format);
    if (whole && !reader_is_done(reader)) names_resolve(reader);
    if (!file->error_count) streams_gather(file);
    if (!file->error_count) cycle_check(reader);
    if (!file->error_count) streams_branch(file);
    if (format == JOBFILE_YAML) free(reader->tree.text);
    reader_release(reader);
    return !file->error_count;
}

bool file_begin(struct jobfile *file, const char *path)
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

bool jobfile_parse(struct jobfile *file, const char *path, enum jobfile_format format,
                   const char *bytes, size_t size)
{
    struct reader reader = {.file = file};
    if (!file_begin(file, path)) return false;
    if (size > JOBFILE_SIZE_MAX) {
        refuse_at(file, (struct jobfile_place){0}, "the file is larger than 256 MiB");
        return false;
    }
    char *copy = NULL;
    uint32_t capacity = 0;
    if (!jobfile_reserve(file, &copy, &capacity, (uint32_t)size, 1)) return false;
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    bool fine = file_parse(&reader, format, copy, size);
    free(copy);
    return fine;
}
