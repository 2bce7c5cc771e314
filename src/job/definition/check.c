// check.c - validates one definition, and definitions against each other.
#include "job/definition/internal.h"

#include <stdlib.h>
#include <string.h>

#include "rota_ask.h"

enum { CLAUSES_MAX = 4096 };

struct clauses {
    struct rota_clause clauses[CLAUSES_MAX];
    const char *names[CLAUSES_MAX];
    uint32_t lengths[CLAUSES_MAX];
};

// ---- One definition --------------------------------------------------------

static void condition_read(struct reader *reader, const char *text, struct clauses *room)
{
    uint32_t place;
    const char *reason;
    int count = rota_condition_parse(text, room->clauses, room->names, room->lengths, CLAUSES_MAX,
                                     &place, &reason);
    if (count < 0) reader_refuse(reader, text + place, "%s", reason);
    for (int i = 0; i < count; i++) {
        if (!room->names[i] || room->lengths[i] <= DEFINITION_NAME_MAX) continue;
        reader_refuse(reader, room->names[i], "a name is longer than 255 bytes");
        return;
    }
}

static void condition_check(struct reader *reader, const struct definition *definition)
{
    const char *text = definition->condition;
    if (!text || !*text) return;
    struct clauses *room = malloc(sizeof *room);
    if (room)
        condition_read(reader, text, room);
    else
        reader_refuse(reader, text, "out of memory");
    free(room);
}

// An update is checked field by field, because the stored definition may have the other fields.
static void schedule_check(struct reader *reader, struct definition *definition)
{
    struct calendar calendar;
    struct calendar_error error;
    const struct calendar_fields *fields = &definition->schedule;
    bool good = definition->action == DEFINITION_INSERT ? calendar_parse(fields, &calendar, &error)
                                                        : calendar_check(fields, &error);
    if (good) return;
    const char *text = *key_text(definition, key_find(error.field));
    reader_refuse(reader, text + error.column - 1, "%s: %s", error.field, error.reason);
}

static void bundle_check(struct reader *reader, const struct definition *definition)
{
    for (int key = 0; key < DEFINITION_KEYS; key++) {
        if (!definition_has(definition, (enum definition_key)key)) continue;
        if (definition_keys[key].of_bundle) continue;
        reader_refuse(reader, reader->words[key], "a bundle cannot have %s",
                      definition_keys[key].word);
    }
}

static void callable_check(struct reader *reader, const struct definition *definition)
{
    const char *const *words = reader->words;
    bool lane = definition_has(definition, DEFINITION_LANE);
    bool access = definition_has(definition, DEFINITION_ACCESS);
    if (!definition_has(definition, DEFINITION_COMMAND))
        reader_refuse(reader, definition->name, "%s has no command",
                      text_quote(definition->name).text);
    if (lane && !access)
        reader_refuse(reader, words[DEFINITION_LANE], "lane needs access (read or write)");
    if (!lane && definition_has(definition, DEFINITION_GROUP))
        reader_refuse(reader, words[DEFINITION_GROUP], "group needs a lane");
    if (!lane && access) reader_refuse(reader, words[DEFINITION_ACCESS], "access needs a lane");
}

static void update_check(struct reader *reader, const struct definition *definition)
{
    const char *const *words = reader->words;
    if (definition_has(definition, DEFINITION_TYPE))
        reader_refuse(reader, words[DEFINITION_TYPE], "the type of a task cannot be changed");
    if (definition_has(definition, DEFINITION_COMMAND) && !*definition->command)
        reader_refuse(reader, words[DEFINITION_COMMAND], "command is empty");
}

static void delete_check(struct reader *reader, const struct definition *definition)
{
    for (int key = 0; key < DEFINITION_KEYS; key++)
        if (definition_has(definition, (enum definition_key)key))
            reader_refuse(reader, reader->words[key], "delete_task takes only a name");
}

void definition_check(struct reader *reader, struct definition *definition)
{
    if (definition->action == DEFINITION_DELETE) {
        delete_check(reader, definition);
        return;
    }
    condition_check(reader, definition);
    schedule_check(reader, definition);
    if (definition->action == DEFINITION_UPDATE)
        update_check(reader, definition);
    else if (definition->type == DEFINITION_BUNDLE)
        bundle_check(reader, definition);
    else
        callable_check(reader, definition);
}

// ---- All definitions of a file ----------------------------------------------

static int by_name(const void *left, const void *right)
{
    const struct definition *const *one = left, *const *other = right;
    int order = strcmp((*one)->name, (*other)->name);
    return order ? order : ((*one)->line > (*other)->line) - ((*one)->line < (*other)->line);
}

static int name_compare(const void *name, const void *item)
{
    const struct definition *const *definition = item;
    return strcmp(name, (*definition)->name);
}

static void names_check(struct reader *reader, const struct definition **sorted, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) != 0) continue;
        reader_refuse(reader, sorted[i]->name, "duplicate task %s, first in line %u",
                      text_quote(sorted[i]->name).text, sorted[i - 1]->line);
    }
}

static void parent_check(struct reader *reader, const struct definition *definition,
                         const struct definition **sorted, uint32_t count)
{
    const char *parent = definition->parent;
    if (!parent || !*parent || definition->type == DEFINITION_BUNDLE) return;
    const struct definition **found = bsearch(parent, sorted, count, sizeof *sorted, name_compare);
    if (!found || (*found)->action == DEFINITION_UPDATE) return;
    if ((*found)->action == DEFINITION_DELETE)
        reader_refuse(reader, parent, "%s is deleted in line %u", text_quote(parent).text,
                      (*found)->line);
    else if ((*found)->type == DEFINITION_CALLABLE)
        reader_refuse(reader, parent, "%s is not a bundle", text_quote(parent).text);
}

void definitions_check(struct reader *reader)
{
    const struct definitions *definitions = reader->definitions;
    if (!definitions->count) return;
    const struct definition **sorted = malloc(definitions->count * sizeof *sorted);
    if (!sorted) {
        reader_refuse(reader, definitions->text, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < definitions->count; i++) sorted[i] = &definitions->items[i];
    qsort(sorted, definitions->count, sizeof *sorted, by_name);
    names_check(reader, sorted, definitions->count);
    for (uint32_t i = 0; i < definitions->count; i++)
        parent_check(reader, &definitions->items[i], sorted, definitions->count);
    free(sorted);
}
