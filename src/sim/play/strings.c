// strings.c - words, numbers, times, sizes, and lists of strings.
#include "sim/play/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---- Memory ----------------------------------------------------------------

// Without memory a play just ends: there is no state worth saving.
void *array_resize(void *old, size_t count, size_t size)
{
    void *memory = realloc(old, (count ? count : 1) * size);
    if (!memory) abort();
    return memory;
}

void *array_grow(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return array;
    uint32_t grown = count < 4 ? 8 : count * 2;
    array = array_resize(array, grown, size);
    memset((char *)array + *capacity * size, 0, (grown - *capacity) * size);
    *capacity = grown;
    return array;
}

char *text_copy(const char *text, size_t length)
{
    char *copy = array_resize(NULL, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

// ---- Lists of strings ------------------------------------------------------

void strings_add_piece(struct strings *strings, const char *text, size_t length)
{
    ARRAY_GROW(strings->items, strings->count, strings->capacity);
    strings->items[strings->count++] = text_copy(text, length);
}

void strings_add(struct strings *strings, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    strings_add_piece(strings, text, strlen(text));
}

void strings_add_all(struct strings *strings, const struct strings *others)
{
    for (uint32_t i = 0; i < others->count; i++) strings_add(strings, "%s", others->items[i]);
}

void strings_split(struct strings *strings, const char *text, char separator)
{
    char ends[] = { separator, 0 };
    while (text && *text) {
        size_t length = strcspn(text, ends);
        if (length) strings_add_piece(strings, text, length);
        text += length;
        text += *text == separator;
    }
}

void strings_drop_first(struct strings *strings)
{
    free(strings->items[0]);
    strings->count--;
    memmove(strings->items, strings->items + 1, strings->count * sizeof *strings->items);
}

void strings_release(struct strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++) free(strings->items[i]);
    free(strings->items);
    *strings = (struct strings) { 0 };
}

char *strings_join(const struct strings *strings, const char *separator)
{
    size_t length = 1;
    for (uint32_t i = 0; i < strings->count; i++) {
        length += strlen(strings->items[i]) + strlen(separator);
    }
    char *text = array_resize(NULL, length, 1), *end = text;
    *end = 0;
    for (uint32_t i = 0; i < strings->count; i++) {
        if (i) end = stpcpy(end, separator);
        end = stpcpy(end, strings->items[i]);
    }
    return text;
}

// ---- Words -----------------------------------------------------------------

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool ends_line(char byte)
{
    return byte == 0 || byte == '#';
}

// Removes the quotes from one word and splits a pair. Returns the place after it, or null if a
// quote is not closed.
static char *word_cut(char *read, struct word *word)
{
    char *write = read;
    *word = (struct word) { .text = write };
    while (!is_blank(*read) && !ends_line(*read)) {
        if (*read == '"' || *read == '\'') {
            char quote = *read++;
            while (*read && *read != quote) *write++ = *read++;
            if (!*read++) return NULL;
        } else if (*read == '=' && !word->value && write > word->text) {
            *write++ = 0;
            word->value = write;
            read++;
        } else {
            *write++ = *read++;
        }
    }
    // The end mark may replace the byte that ended the word: a blank is skipped, and a comment or
    // the end of the line stays an end.
    if (is_blank(*read)) read++;
    *write = 0;
    return read;
}

const char *words_cut(char **place, struct word **words, uint32_t *count, uint32_t *capacity)
{
    char *read = *place, *end = read + strcspn(read, "\n");
    *place = *end ? end + 1 : end;
    *end = 0;
    for (*count = 0;; (*count)++) {
        while (is_blank(*read)) read++;
        if (ends_line(*read)) return NULL;
        ARRAY_GROW(*words, *count, *capacity);
        read = word_cut(read, &(*words)[*count]);
        if (!read) return "a quote is not closed";
    }
}

// ---- Numbers, times, sizes -------------------------------------------------

bool number_parse(const char *text, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (max - digit) / 10 || digit > max) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

struct unit { const char *name; uint64_t value; };

// A number, perhaps with a fraction, and one of the units.
static bool quantity_parse(const char *text, const struct unit *units, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789.");
    const struct unit *unit = units;
    while (unit->name && strcmp(unit->name, text + digits) != 0) unit++;
    if (!unit->name || digits == 0 || digits > 40) return false;
    char copy[48];
    snprintf(copy, sizeof copy, "%.*s", (int)digits, text);
    char *fraction = strchr(copy, '.');
    if (fraction) *fraction++ = 0;
    uint64_t whole, value = 0, scale = unit->value;
    if (!number_parse(copy, INT64_MAX / unit->value, &whole)) return false;
    for (; fraction && *fraction; fraction++) {
        if (*fraction == '.' || scale % 10) return false;
        scale /= 10;
        value += scale * (uint64_t)(*fraction - '0');
    }
    *out = whole * unit->value + value;
    return true;
}

bool time_parse(const char *text, rota_time *time)
{
    static const struct unit units[] = {
        { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", 3600000000u },
        { NULL, 0 },
    };
    uint64_t value = 0;
    if (strcmp(text, "0") != 0 && !quantity_parse(text, units, &value)) return false;
    *time = (rota_time)value;
    return true;
}

bool size_parse(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {
        { "", 1 }, { "K", 1u << 10 }, { "M", 1u << 20 }, { "G", 1u << 30 },
        { "T", (uint64_t)1 << 40 }, { NULL, 0 },
    };
    return quantity_parse(text, units, bytes);
}

void time_text(rota_time time, char *out, size_t size)
{
    if (time == ROTA_NEVER) snprintf(out, size, "never");
    else if (time % 1000) snprintf(out, size, "%" PRId64 "us", time);
    else if (time % 1000000) snprintf(out, size, "%" PRId64 "ms", time / 1000);
    else snprintf(out, size, "%" PRId64 "s", time / 1000000);
}

void size_text(uint64_t bytes, char *out, size_t size)
{
    static const char letters[] = "KMGT";
    uint64_t value = bytes;
    char unit[2] = "";
    for (int i = 0; value && value % 1024 == 0 && letters[i]; i++) {
        value /= 1024;
        unit[0] = letters[i];
    }
    snprintf(out, size, "%" PRIu64 "%s", value, unit);
}
