// definitions.c - reads all definitions from the store, finds them by name, and numbers names.
#include "turn/definitions.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    const struct entry *one = left, *other = right;
    return strcmp(one->what.name, other->what.name);
}

void catalog_sort(struct catalog *catalog)
{
    if (catalog->count) qsort(catalog->entries, catalog->count, sizeof(struct entry), by_name);
}

struct entry *catalog_add(struct catalog *catalog, const struct definition *what)
{
    assert(what);
    if (!ARRAY_MORE(&memory_heap, catalog->entries, catalog->count, catalog->capacity)) return NULL;
    struct entry *entry = &catalog->entries[catalog->count++];
    *entry = (struct entry){.what = *what};
    return entry;
}

static bool refuse(struct catalog *catalog, const char *reason)
{
    assert(reason);
    snprintf(catalog->server->reason, sizeof catalog->server->reason,
             "cannot use the stored definitions: %.150s", reason);
    return false;
}

// Parses all definitions as one file: `rota define` checked them together, and they are small.
static char *texts_join(const struct catalog_rows *rows, size_t *size)
{
    *size = 0;
    for (uint32_t i = 0; i < rows->row_count; i++) *size += strlen(rows->rows[i].text);
    char *text = malloc(*size + 1), *at = text;
    for (uint32_t i = 0; i < rows->row_count && text; i++) {
        size_t length = strlen(rows->rows[i].text);
        memcpy(at, rows->rows[i].text, length);
        at += length;
    }
    return text;
}

static bool texts_parse(struct catalog *catalog)
{
    size_t size;
    char *text = texts_join(&catalog->rows, &size);
    struct definitions *parsed = &catalog->parsed;
    if (!text) return refuse(catalog, "out of memory");
    bool fine = definitions_parse(parsed, text, size);
    free(text);
    if (!fine) return refuse(catalog, parsed->errors[0].reason);
    return parsed->count == catalog->rows.row_count
           || refuse(catalog, "a stored row has an invalid definition");
}

bool catalog_open(struct catalog *catalog, struct server *server)
{
    *catalog = (struct catalog){.server = server};
    if (!store_catalog(server->store, &catalog->rows) || !texts_parse(catalog)) return false;
    for (uint32_t i = 0; i < catalog->rows.row_count; i++) {
        const struct catalog_row *row = &catalog->rows.rows[i];
        struct entry *entry = catalog_add(catalog, &catalog->parsed.items[i]);
        if (!entry) return refuse(catalog, "out of memory");
        entry->text = row->text;
        entry->task = row->task;
        entry->state = row->state;
    }
    return true;
}

void catalog_close(struct catalog *catalog)
{
    definitions_release(&catalog->parsed);
    free(catalog->entries);
    catalog_rows_release(&catalog->rows);
    *catalog = (struct catalog){0};
}

// ---- Finding -----------------------------------------------------------------------

static int name_compare(const char *name, size_t length, const char *other)
{
    int order = strncmp(name, other, length);
    return order ? order : other[length] ? -1 : 0;
}

struct entry *catalog_find(const struct catalog *catalog, const char *name, size_t length)
{
    uint32_t first = 0, end = catalog->count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        int order = name_compare(name, length, catalog->entries[middle].what.name);
        if (order == 0) return &catalog->entries[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

struct entry *catalog_find_task(const struct catalog *catalog, rota_task_id task)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        struct entry *entry = &catalog->entries[i];
        if (SAME_TASK(entry->task, task)) return entry;
    }
    return NULL;
}

// ---- Numbers -----------------------------------------------------------------------

static struct catalog_name *name_add(struct catalog_rows *rows)
{
    bool there = ARRAY_MORE_RAW(&memory_heap, rows->names, rows->name_count, rows->name_capacity);
    return there ? &rows->names[rows->name_count++] : NULL;
}

uint32_t catalog_number(struct catalog *catalog, enum catalog_kind kind, const char *name)
{
    assert(name);
    assert(kind < CATALOG_KINDS);
    struct catalog_rows *rows = &catalog->rows;
    uint32_t last = 0;
    for (uint32_t i = 0; i < rows->name_count; i++) {
        if (rows->names[i].kind != kind) continue;
        if (strcmp(rows->names[i].name, name) == 0) return rows->names[i].number;
        last = rows->names[i].number;
    }
    char *copy = strdup(name);
    struct catalog_name *row = copy ? name_add(rows) : NULL;
    if (!row) {
        free(copy);
        return 0;
    }
    *row = (struct catalog_name){kind, last + 1, copy};
    store_put_name(catalog->server->store, row);
    return row->number;
}
