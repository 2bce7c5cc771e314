// cache_text.c - entries as text, names of contents, and sentences for errors.
#include "worker/cache_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cache_fail(struct cache_error *error, enum cache_fault fault, const char *format, ...)
{
    if (!error) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->fault = fault;
    return false;
}

bool cache_fail_system(struct cache_error *error, const char *doing, const char *path)
{
    return cache_fail(error, CACHE_BROKEN, "cannot %s %s: %s", doing, path, strerror(errno));
}

void cache_hex(const uint8_t hash[CACHE_HASH], char text[CACHE_HEX + 1])
{
    for (int i = 0; i < CACHE_HASH; i++) {
        text[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    text[CACHE_HEX] = '\0';
}

static int digit_read(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool cache_hex_read(const char *text, uint8_t hash[CACHE_HASH])
{
    for (int i = 0; i < CACHE_HASH; i++) {
        int high = digit_read(text[2 * i]);
        int low = high < 0 ? -1 : digit_read(text[2 * i + 1]);
        if (low < 0) return false;
        hash[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

static const char *suffix(const struct cache_entry *entry)
{
    if (entry->kind == CACHE_DIRECTORY) return ".d";
    return entry->executable ? ".x" : "";
}

void cache_name(const struct cache_entry *entry, char name[CACHE_NAME])
{
    char hex[CACHE_HEX + 1];
    cache_hex(entry->hash, hex);
    snprintf(name, CACHE_NAME, "%.2s/%s%s", hex, hex + 2, suffix(entry));
}

bool cache_name_read(const char *folder, const char *file, struct cache_entry *entry)
{
    size_t length = strlen(file);
    char hex[CACHE_HEX + 1];
    *entry = (struct cache_entry){.kind = CACHE_FILE};
    if (strlen(folder) != 2 || (length != CACHE_HEX - 2 && length != CACHE_HEX)) return false;
    snprintf(hex, sizeof hex, "%s%.*s", folder, CACHE_HEX - 2, file);
    if (!cache_hex_read(hex, entry->hash)) return false;
    const char *rest = file + CACHE_HEX - 2;
    if (strcmp(rest, ".d") == 0) entry->kind = CACHE_DIRECTORY;
    entry->executable = strcmp(rest, ".x") == 0;
    return strcmp(rest, suffix(entry)) == 0;
}

void cache_entry_write(const struct cache_entry *entry, char text[CACHE_ENTRY_TEXT])
{
    char hex[CACHE_HEX + 1];
    char letter = entry->kind == CACHE_DIRECTORY ? 'd' : entry->executable ? 'x' : 'f';
    cache_hex(entry->hash, hex);
    snprintf(text, CACHE_ENTRY_TEXT, "%c:%" PRIu64 ":%s", letter, entry->bytes, hex);
}

bool cache_entry_read(const char *text, struct cache_entry *entry)
{
    char *end, letter = text[0];
    *entry = (struct cache_entry){.kind = letter == 'd' ? CACHE_DIRECTORY : CACHE_FILE};
    entry->executable = letter == 'x';
    if (!letter || !strchr("dfx", letter) || text[1] != ':') return false;
    if (digit_read(text[2]) < 0 || digit_read(text[2]) > 9) return false;
    errno = 0;
    entry->bytes = strtoull(text + 2, &end, 10);
    if (errno || *end != ':' || strlen(end + 1) != CACHE_HEX) return false;
    return cache_hex_read(end + 1, entry->hash);
}

bool cache_entry_is(const struct cache_entry *one, const struct cache_entry *other)
{
    return one->kind == other->kind && one->executable == other->executable
           && memcmp(one->hash, other->hash, CACHE_HASH) == 0;
}

uint64_t cache_entry_key(const struct cache_entry *entry)
{
    uint64_t start;
    memcpy(&start, entry->hash, sizeof start);
    return hash_mix(start, (uint64_t)entry->kind * 2 + entry->executable);
}
