// text.c - entries as text, names of contents, and error messages.
#include "object/cache/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool cache_fail(struct cache_error *error, enum cache_fault fault, const char *format, ...)
{
    if (!error) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->fault = fault;
    error->is_full = false;
    return false;
}

bool cache_fail_system(struct cache_error *error, const char *doing, const char *path)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    cache_fail(error, CACHE_BROKEN, "cannot %s %s: %s", doing, path, strerror(errno));
    if (error) error->is_full = is_full;
    return false;
}

static const char *suffix(const struct cache_entry *entry)
{
    if (entry->kind == CACHE_DIRECTORY) return ".d";
    return entry->executable ? ".x" : "";
}

void cache_name(const struct cache_entry *entry, char name[CACHE_NAME])
{
    char hex[CACHE_HEX + 1];
    wire_hex(entry->hash, hex);
    snprintf(name, CACHE_NAME, "%.2s/%s%s", hex, hex + 2, suffix(entry));
}

bool cache_name_read(const char *folder, const char *file, struct cache_entry *entry)
{
    size_t length = strlen(file);
    char hex[CACHE_HEX + 1];
    *entry = (struct cache_entry){.kind = CACHE_FILE};
    if (strlen(folder) != 2 || (length != CACHE_HEX - 2 && length != CACHE_HEX)) return false;
    snprintf(hex, sizeof hex, "%s%.*s", folder, CACHE_HEX - 2, file);
    if (!wire_hex_read(hex, entry->hash)) return false;
    const char *rest = file + CACHE_HEX - 2;
    if (strcmp(rest, ".d") == 0) entry->kind = CACHE_DIRECTORY;
    entry->executable = strcmp(rest, ".x") == 0;
    return strcmp(rest, suffix(entry)) == 0;
}

static struct wire_entry plain_of(const struct cache_entry *entry)
{
    struct wire_entry plain = {.letter = 'f', .bytes = entry->bytes};
    if (entry->executable) plain.letter = 'x';
    if (entry->kind == CACHE_DIRECTORY) plain.letter = 'd';
    memcpy(plain.hash, entry->hash, CACHE_HASH);
    return plain;
}

void cache_entry_write(const struct cache_entry *entry, char text[CACHE_ENTRY_TEXT])
{
    struct wire_entry plain = plain_of(entry);
    wire_entry_write(&plain, text);
}

bool cache_entry_read(const char *text, struct cache_entry *entry)
{
    struct wire_entry plain;
    bool fine = wire_entry_read(text, &plain);
    *entry = (struct cache_entry){.bytes = plain.bytes, .executable = plain.letter == 'x'};
    entry->kind = plain.letter == 'd' ? CACHE_DIRECTORY : CACHE_FILE;
    memcpy(entry->hash, plain.hash, CACHE_HASH);
    return fine;
}

rota_object_id cache_entry_object(const struct cache_entry *entry)
{
    struct wire_entry plain = plain_of(entry);
    return wire_entry_object(&plain);
}

bool cache_entry_is(const struct cache_entry *one, const struct cache_entry *other)
{
    return one->kind == other->kind && one->executable == other->executable
           && memcmp(one->hash, other->hash, CACHE_HASH) == 0;
}

wire_content cache_entry_content(const struct cache_entry *entry)
{
    struct wire_entry plain = plain_of(entry);
    return wire_entry_content(&plain);
}

struct wire_file cache_entry_file(rota_object_id object, const struct cache_entry *entry)
{
    return (struct wire_file){
        .kind = entry->kind == CACHE_DIRECTORY ? WIRE_DIRECTORY : WIRE_FILE,
        .object = object,
        .bytes = entry->bytes,
        .content = cache_entry_content(entry),
        .name = wire_text_of(NULL),
        .path = wire_text_of(NULL),
    };
}

bool cache_entry_has(const struct cache_entry *entry, const wire_content *content)
{
    struct wire_entry plain = plain_of(entry);
    return !content->kind || wire_entry_is(&plain, content);
}

uint64_t cache_entry_key(const struct cache_entry *entry)
{
    uint64_t start;
    memcpy(&start, entry->hash, sizeof start);
    return hash_mix(start, (uint64_t)entry->kind * 2 + entry->executable);
}
