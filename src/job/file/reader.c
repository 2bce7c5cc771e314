// reader.c - errors, their positions, and suggestions for misspelt names.
#define _GNU_SOURCE
#include "base/base.h"
#include "job/file/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { REASON_MAX = 16 << 10, NAMES_LOOKED_AT = 20000 };
static const uint64_t memory_max = 2ull << 30;

// ---- Positions --------------------------------------------------------------

struct jobfile_place node_place(const struct reader *reader, uint32_t node)
{
    const struct node *where = &reader->tree.nodes[node];
    return (struct jobfile_place){where->line, where->column};
}

struct jobfile_place node_place_inside(const struct reader *reader, uint32_t node, uint32_t byte)
{
    const struct node *where = &reader->tree.nodes[node];
    struct jobfile_place place = node_place(reader, node);
    if (!(where->style & NODE_EXACT)) return place;
    place.column += (where->style & NODE_SHIFTED) != 0;
    const char *text = reader->tree.text + where->text;
    for (uint32_t i = 0; i < byte && i < where->length; i++)
        place.column += (text[i] & 0xc0) != 0x80;
    return place;
}

// ---- Errors -----------------------------------------------------------------

// The number of leading bytes that would affect a terminal instead of being shown: control
// characters, and characters that change the direction of text or have no width.
static size_t odd_length(const char *text)
{
    const uint8_t *byte = (const uint8_t *)text;
    if (byte[0] < 0x20 || byte[0] == 0x7f) return 1;
    if (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0) return 2;
    if (byte[0] != 0xe2) return 0;
    bool turns = byte[1] == 0x80
                 && ((byte[2] >= 0x8b && byte[2] <= 0x8f) || (byte[2] >= 0xa8 && byte[2] <= 0xae));
    return turns || (byte[1] == 0x81 && byte[2] >= 0xa0 && byte[2] <= 0xaf) ? 3 : 0;
}

struct quoted quoted(const char *text, size_t length)
{
    struct quoted out = {"\""};
    size_t at = 1, room = sizeof out.text - 12, i = 0;
    char safe[4] = {0};
    while (i < length && at < room) {
        for (size_t k = 0; k < 3; k++) safe[k] = i + k < length ? text[i + k] : 0;
        size_t odd = odd_length(safe);
        out.text[at++] = odd ? '?' : text[i];
        i += odd ? odd : 1;
        while (!odd && i < length && (text[i] & 0xc0) == 0x80) out.text[at++] = text[i++];
    }
    snprintf(out.text + at, sizeof out.text - at, i < length ? "...\"" : "\"");
    return out;
}

static bool is_known(const struct jobfile *file, struct jobfile_place place, const char *reason)
{
    for (uint32_t i = 0; i < file->error_count; i++) {
        const struct jobfile_error *error = &file->errors[i];
        if (error->place.line == place.line && error->place.column == place.column
            && strcmp(error->reason, reason) == 0)
            return true;
    }
    return false;
}

static void refuse_text(struct jobfile *file, struct jobfile_place place, const char *format,
                        va_list arguments)
{
    char reason[REASON_MAX];
    if (file->lacks_memory || file->error_count == JOBFILE_ERRORS_MAX) return;
    vsnprintf(reason, sizeof reason, format, arguments);
    if (is_known(file, place, reason)) return;
    const char *kept = jobfile_text(file, reason, strlen(reason));
    if (kept) file->errors[file->error_count++] = (struct jobfile_error){place, kept};
}

void refuse_at(struct jobfile *file, struct jobfile_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse_text(file, place, format, arguments);
    va_end(arguments);
}

void reject(struct reader *reader, uint32_t node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse_text(reader->file, node_place(reader, node), format, arguments);
    va_end(arguments);
}

bool reader_is_done(const struct reader *reader)
{
    struct jobfile *file = reader->file;
    if (file->memory_size > memory_max)
        refuse_at(file, (struct jobfile_place){0}, "the tasks need more than 2 GiB of memory");
    return file->error_count == JOBFILE_ERRORS_MAX || file->memory_size > memory_max
           || file->lacks_memory;
}

// ---- Suggestions -------------------------------------------------------------

const char *suggestion(const char *word, const char *const *words, uint32_t count)
{
    struct word_meant meant = {0};
    for (uint32_t i = 0; i < count; i++) word_try(&meant, word, words[i]);
    return meant.word;
}

const char *suggestion_text(struct reader *reader, const char *word)
{
    const struct jobfile *file = reader->file;
    struct word_meant meant = {0};
    for (uint32_t i = 0; i < file->task_count && i < NAMES_LOOKED_AT; i++)
        if (file->tasks[i].name) word_try(&meant, word, file->tasks[i].name);
    char text[sizeof(struct quoted) + 40];
    if (!meant.word) return "";
    snprintf(text, sizeof text, " (did you mean %s?)", QUOTED(meant.word));
    const char *kept = jobfile_text(reader->file, text, strlen(text));
    return kept ? kept : "";
}
