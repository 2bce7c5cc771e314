// read.c - parses the lines of a definition file.
#include "base/base.h"
#include "job/definition/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Errors -----------------------------------------------------------------

static void place_count(const struct reader *reader, size_t offset, struct definition_error *error)
{
    error->line = error->column = 1;
    for (size_t i = 0; i < offset && i < reader->size; i++) {
        bool newline = reader->bytes[i] == '\n';
        bool continued = ((uint8_t)reader->bytes[i] & 0xc0) == 0x80;
        error->line += newline;
        error->column = newline ? 1 : error->column + !continued;
    }
}

void reader_refuse(struct reader *reader, const char *place, const char *format, ...)
{
    struct definitions *definitions = reader->definitions;
    if (definitions->error_count == DEFINITION_ERRORS_MAX) return;
    struct definition_error *error = &definitions->errors[definitions->error_count++];
    place_count(reader, (size_t)(place - definitions->text), error);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
}

struct quoted text_quote(const char *text)
{
    return piece_quote(piece_whole(text));
}

int definition_error_text(const struct definition_error *error, const char *file, char *out,
                          size_t size)
{
    return snprintf(out, size, "%s:%u:%u: %s", file, error->line, error->column, error->reason);
}

// ---- Bytes -----------------------------------------------------------------

const char *text_fault(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t code;
        size_t size = character_read(text + i, length - i, &code);
        bool control = size && ((code < ' ' && code != '\t') || code == 0x7f);
        if (!size || control) return text + i;
        i += size;
    }
    return NULL;
}

// ---- Lines -----------------------------------------------------------------

static void trim_end(char *start, char *end)
{
    while (end > start && is_blank(end[-1])) end--;
    *end = 0;
}

// A comment begins with a # at the start or after a blank.
static void comment_cut(char *value)
{
    char *at = value;
    while (*at && !(*at == '#' && (at == value || is_blank(at[-1])))) at++;
    *at = 0;
}

static struct definition *definition_add(struct reader *reader, const char *place)
{
    struct definitions *definitions = reader->definitions;
    if (definitions->count == DEFINITION_ACTIONS_MAX) {
        reader_refuse(reader, place, "more than %d actions", DEFINITION_ACTIONS_MAX);
        return NULL;
    }
    if (!ARRAY_MORE_RAW(&memory_heap, definitions->items, definitions->count,
                        definitions->capacity)) {
        reader_refuse(reader, place, "out of memory");
        return NULL;
    }
    return &definitions->items[definitions->count++];
}

static struct definition *definition_last(const struct reader *reader)
{
    struct definitions *definitions = reader->definitions;
    return definitions->count ? &definitions->items[definitions->count - 1] : NULL;
}

static void action_read(struct reader *reader, enum definition_action action, const char *name)
{
    struct definition *before = definition_last(reader);
    if (before) definition_check(reader, before);
    struct definition *definition = definition_add(reader, name);
    if (!definition) return;
    *definition = definition_begin(action, name);
    definition->line = reader->line;
    const char *fault = name_fault(name);
    if (fault) reader_refuse(reader, name, "%s %s", text_quote(name).text, fault);
}

// A misspelt action still starts a definition; otherwise its keys would belong to the one before.
static void word_refuse(struct reader *reader, const char *word, const char *value)
{
    const char *meant = word_suggest(word);
    reader_refuse(reader, word, "unknown key %s%s%s%s", text_quote(word).text,
                  meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
    int action = meant ? action_find(meant) : -1;
    if (action >= 0) action_read(reader, (enum definition_action)action, value);
}

static void key_read(struct reader *reader, const char *word, enum definition_key key,
                     const char *value)
{
    struct definition *definition = definition_last(reader);
    if (!definition) {
        reader_refuse(reader, word, "%s before the first action", word);
        return;
    }
    if (definition_has(definition, key)) {
        reader_refuse(reader, word, "duplicate key %s", word);
        return;
    }
    definition->given |= 1u << key;
    reader->words[key] = word;
    if (!*value && definition->action == DEFINITION_INSERT)
        reader_refuse(reader, value, "%s is empty", word);
    const char *fault = value_read(definition, key, value);
    if (fault) reader_refuse(reader, value, "%s %s", text_quote(value).text, fault);
}

// One line, ended by a zero: "word: value", or only blanks and a comment.
static void line_read(struct reader *reader, char *line)
{
    while (is_blank(*line)) line++;
    if (!*line || *line == '#') return;
    char *colon = strchr(line, ':');
    if (!colon) {
        reader_refuse(reader, line, "expected a key, a colon and a value");
        return;
    }
    trim_end(line, colon);
    char *value = colon + 1;
    while (is_blank(*value)) value++;
    enum definition_key key = key_find(line);
    int action = action_find(line);
    if (key != DEFINITION_COMMAND) comment_cut(value);
    trim_end(value, value + strlen(value));
    if (action >= 0)
        action_read(reader, (enum definition_action)action, value);
    else if (key != DEFINITION_KEYS)
        key_read(reader, line, key, value);
    else
        word_refuse(reader, line, value);
}

// Cuts off the next line, without its newline of one or two bytes.
static char *line_cut(char **at, char *end)
{
    char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
    char *last = newline ? newline : end;
    *at = newline ? newline + 1 : end;
    if (last > line && last[-1] == '\r') last--;
    *last = 0;
    return last;
}

static void lines_read(struct reader *reader, char *text, char *end)
{
    const uint32_t errors_max = DEFINITION_ERRORS_MAX;
    for (char *at = text; at < end && reader->definitions->error_count < errors_max;) {
        char *line = at, *last = line_cut(&at, end);
        const char *fault = text_fault(line, (size_t)(last - line));
        reader->line++;
        if (fault)
            reader_refuse(reader, fault, "not printable UTF-8");
        else
            line_read(reader, line);
    }
    if (definition_last(reader)) definition_check(reader, definition_last(reader));
    definitions_check(reader);
}

bool definitions_parse(struct definitions *definitions, const char *bytes, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";  // a byte order mark, which some editors write
    memset(definitions, 0, sizeof *definitions);
    if (size >= 3 && memcmp(bytes, mark, 3) == 0) {
        bytes += 3;
        size -= 3;
    }
    struct reader reader = {.definitions = definitions, .bytes = bytes, .size = size};
    if (size > DEFINITION_FILE_MAX) {
        reader_refuse(&reader, NULL, "the file is larger than 64 MiB");
        return false;
    }
    definitions->text = malloc(size + 1);
    if (!definitions->text) {
        reader_refuse(&reader, NULL, "out of memory");
        return false;
    }
    if (size) memcpy(definitions->text, bytes, size);
    definitions->text[size] = 0;
    lines_read(&reader, definitions->text, definitions->text + size);
    return definitions->error_count == 0;
}

void definitions_release(struct definitions *definitions)
{
    free(definitions->items);
    free(definitions->text);
    memset(definitions, 0, sizeof *definitions);
}
