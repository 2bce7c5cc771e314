// names.c - numbers for names, from 1 in order of appearance.
#include "sim/play/internal.h"

#include <stdlib.h>
#include <string.h>

static uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

// The slot of that name, or the free slot for it.
static uint32_t *slot_find(const struct names *names, const char *text)
{
    uint32_t mask = names->slot_count - 1;
    for (uint32_t at = text_hash(text) & mask;; at = (at + 1) & mask) {
        uint32_t number = names->slots[at];
        if (!number || strcmp(names->texts[number - 1], text) == 0) return &names->slots[at];
    }
}

static void slots_grow(struct names *names)
{
    names->slot_count = names->slot_count ? names->slot_count * 2 : 16;
    names->slots = array_resize(names->slots, names->slot_count, sizeof *names->slots);
    memset(names->slots, 0, names->slot_count * sizeof *names->slots);
    for (uint32_t i = 0; i < names->count; i++) *slot_find(names, names->texts[i]) = i + 1;
}

uint32_t names_find(const struct names *names, const char *text)
{
    return names->slot_count ? *slot_find(names, text) : 0;
}

uint32_t names_add(struct names *names, const char *text)
{
    uint32_t number = names_find(names, text);
    if (number) return number;
    if (names->count * 2 >= names->slot_count) slots_grow(names);
    ARRAY_GROW(names->texts, names->count, names->capacity);
    names->texts[names->count++] = text_copy(text, strlen(text));
    *slot_find(names, text) = names->count;
    return names->count;
}

const char *names_text(const struct names *names, uint32_t number)
{
    return number && number <= names->count ? names->texts[number - 1] : "?";
}

void names_release(struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++) free(names->texts[i]);
    free(names->texts);
    free(names->slots);
    *names = (struct names) { 0 };
}
