// value.c - parses and formats numbers, sizes, times and choices.
#include "job/definition/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t value;
};

// Sorted from large to small, so that values are written in their shortest form.
static const struct unit time_units[] = {
    {"d", 86400000000}, {"h", 3600000000}, {"m", 60000000}, {"s", 1000000},
    {"ms", 1000},       {"us", 1},         {NULL, 0},
};
static const struct unit size_units[] = {
    {"T", (uint64_t)1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}, {NULL, 0},
};
static const uint64_t mib = 1 << 20;

// ---- Parsing ----------------------------------------------------------------

// Parses digits; `rest` is the text after them.
static bool digits_read(const char *text, uint64_t max, uint64_t *number, const char **rest)
{
    *number = 0;
    for (*rest = text; **rest >= '0' && **rest <= '9'; ++*rest) {
        uint64_t digit = (uint64_t)(**rest - '0');
        if (*number > (max - digit) / 10 || digit > max) return false;
        *number = *number * 10 + digit;
    }
    return *rest > text;
}

static bool quantity_read(const char *text, const struct unit *units, uint64_t *quantity)
{
    const char *rest;
    uint64_t number;
    if (!digits_read(text, INT64_MAX, &number, &rest)) return false;
    const struct unit *unit = units;
    while (unit->name && strcmp(unit->name, rest) != 0) unit++;
    if (!unit->name || number > INT64_MAX / unit->value) return false;
    *quantity = number * unit->value;
    return true;
}

static bool number_read(uint32_t *place, uint32_t max, const char *text)
{
    const char *rest;
    uint64_t number;
    if (!digits_read(text, max, &number, &rest) || *rest) return false;
    *place = (uint32_t)number;
    return true;
}

static bool size_read(uint32_t *place, const char *text)
{
    uint64_t bytes;
    if (!quantity_read(text, size_units, &bytes) || bytes / mib >= UINT32_MAX) return false;
    *place = (uint32_t)((bytes + mib - 1) / mib);
    return true;
}

static bool time_read(rota_time *place, const char *text)
{
    uint64_t time;
    if (!quantity_read(text, time_units, &time)) return false;
    *place = (rota_time)time;
    return true;
}

static bool choice_read(uint32_t *place, const struct choice *choice, const char *text)
{
    while (choice->word && strcmp(choice->word, text) != 0) choice++;
    if (!choice->word) return false;
    *place = choice->value;
    return true;
}

static bool figure_read(struct definition *definition, enum definition_key key, const char *text)
{
    const struct key *about = &definition_keys[key];
    if (about->kind == KEY_TIME) return time_read(&definition->timeout, text);
    uint32_t *place = key_number(definition, key);
    if (about->kind == KEY_CHOICE) return choice_read(place, about->choices, text);
    if (about->kind == KEY_SIZE) return size_read(place, text);
    return number_read(place, about->max, text);
}

const char *name_fault(const char *name)
{
    size_t length = strlen(name);
    if (length == 0) return "is not a name (it is empty)";
    if (length > DEFINITION_NAME_MAX) return "is not a name (more than 255 bytes)";
    if (name[strcspn(name, " \t()&|")]) return "is not a name (blanks and ( ) & | are not allowed)";
    return NULL;
}

const char *value_read(struct definition *definition, enum definition_key key, const char *text)
{
    const struct key *about = &definition_keys[key];
    if (about->kind <= KEY_NAME) {
        *key_text(definition, key) = text;
        return about->kind == KEY_NAME && *text ? name_fault(text) : NULL;
    }
    return !*text || figure_read(definition, key, text) ? NULL : about->refusal;
}

// ---- Formatting -------------------------------------------------------------

static void quantity_write(uint64_t quantity, const struct unit *unit, char *out, size_t size)
{
    while (quantity % unit->value) unit++;
    snprintf(out, size, "%" PRIu64 "%s", quantity / unit->value, unit->name);
}

static void choice_write(const struct choice *choice, uint32_t value, char *out, size_t size)
{
    while (choice->word && choice->value != value) choice++;
    snprintf(out, size, "%s", choice->word ? choice->word : "");
}

void value_write(const struct definition *definition, enum definition_key key, char *out,
                 size_t size)
{
    const struct key *about = &definition_keys[key];
    struct definition copy = *definition;
    uint32_t number = *key_number(&copy, key);
    switch (about->kind) {
    case KEY_TIME: quantity_write((uint64_t)copy.timeout, time_units, out, size); break;
    case KEY_SIZE: quantity_write(number * mib, size_units, out, size); break;
    case KEY_CHOICE: choice_write(about->choices, number, out, size); break;
    default: snprintf(out, size, "%" PRIu32, number); break;
    }
}
