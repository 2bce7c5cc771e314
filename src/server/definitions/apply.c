// apply.c - executes `rota define`: a file of actions becomes one turn, or nothing.
#include "server/definitions/definitions.h"
#include "job/definition/definition.h"
#include "store/sqlite/definition_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool define_refuse(struct define *define, const struct entry *entry, const char *format, ...)
{
    struct definition_error *error = define->error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    error->line = entry ? entry->what.line : 1;
    error->column = 1;
    return false;
}

bool define_no_memory(struct define *define)
{
    return define_refuse(define, NULL, "out of memory");
}

// ---- Actions ---------------------------------------------------------------------------

// The text that is stored, which is also used for checking all definitions.
static bool text_write(struct define *define, struct entry *entry)
{
    struct definitions again = {0};
    entry->what.action = DEFINITION_INSERT;
    int length = definition_write(&entry->what, NULL, 0);
    if (length < 0)
        return define_refuse(define, entry, "\"%s\" cannot be written", entry->what.name);
    char *text = server_keep(define->catalog.server, (size_t)length + 1, 1);
    if (!text) return define_no_memory(define);
    definition_write(&entry->what, text, (size_t)length + 1);
    entry->text = text;
    bool fine = definitions_parse(&again, text, (size_t)length);
    if (!fine) define_refuse(define, entry, "%s", again.errors[0].reason);
    definitions_release(&again);
    return fine;
}

static bool task_insert(struct define *define, const struct definition *action)
{
    struct entry *entry = catalog_add(&define->catalog, action);
    if (!entry) return define_no_memory(define);
    entry->fate = ENTRY_NEW;
    entry->state = (struct calendar_state){define->now, CALENDAR_NONE};
    return text_write(define, entry);
}

static bool task_update(struct define *define, struct entry *entry, const struct definition *action)
{
    definition_merge(&entry->what, action);
    entry->fate = ENTRY_CHANGED;
    entry->state = (struct calendar_state){define->now, CALENDAR_NONE};
    if (action->given) return text_write(define, entry);
    return define_refuse(define, entry, "update_task changes nothing");
}

static bool action_apply(struct define *define, struct entry *entry,
                         const struct definition *action)
{
    if (action->action == DEFINITION_INSERT) {
        struct entry at = {.what = *action};
        if (!entry) return task_insert(define, action);
        return define_refuse(define, &at, "task \"%.100s\" already exists", action->name);
    }
    if (!entry) {
        struct entry at = {.what = *action};
        return define_refuse(define, &at, "no such task: \"%.100s\"", action->name);
    }
    entry->what.line = action->line;
    if (task_is_active(define->catalog.server, entry->task))
        return define_refuse(define, entry, "not possible while task \"%.100s\" is active",
                             action->name);
    if (action->action == DEFINITION_UPDATE) return task_update(define, entry, action);
    entry->fate = ENTRY_DELETED;
    return true;
}

// Names are unique within a file, so only those of the store have to be searched; new ones are
// appended and sorted at the end.
static bool actions_apply(struct define *define, const struct definitions *file)
{
    struct catalog *catalog = &define->catalog;
    uint32_t known = catalog->count;
    for (uint32_t i = 0; i < known; i++) catalog->entries[i].what.line = 1;
    for (uint32_t i = 0; i < file->count; i++) {
        const struct definition *action = &file->items[i];
        struct catalog before = *catalog;
        before.count = known;
        struct entry *entry = catalog_find(&before, action->name, strlen(action->name));
        if (!action_apply(define, entry, action)) return false;
    }
    catalog_sort(catalog);
    return true;
}

// ---- The complete file ----------------------------------------------------------------------

static void rows_put(struct define *define)
{
    struct catalog *catalog = &define->catalog;
    struct store *store = catalog->server->store;
    for (uint32_t i = 0; i < catalog->rows.row_count; i++) {
        struct catalog_row row = catalog->rows.rows[i];
        const struct entry *entry = catalog_find(catalog, row.name, strlen(row.name));
        bool gone = entry->fate == ENTRY_DELETED || entry->rebuilt;
        row.text = NULL;
        if (gone) store_put_definition(store, &row);
    }
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct entry *entry = &catalog->entries[i];
        struct catalog_row row = {entry->task, entry->what.name, entry->text, entry->state};
        if (entry->rebuilt) store_put_definition(store, &row);
    }
}

static enum define_result turn_do(struct define *define, const struct definitions *file)
{
    struct server *server = define->catalog.server;
    if (!catalog_open(&define->catalog, server)) return DEFINE_BROKEN;
    server_begin(server, define->now);
    bool fine = actions_apply(define, file) && define_check(define) && define_spread(define)
                && define_submit(define);
    if (!fine) return server_undo(server) ? DEFINE_REFUSED : DEFINE_BROKEN;
    rows_put(define);
    return server_commit(server) ? DEFINE_DONE : DEFINE_BROKEN;
}

enum define_result define_all(struct server *server, const struct definitions *file, rota_time now,
                              zone_read_fn *zone_read, struct definition_error *error)
{
    struct define define
        = {.catalog = {.server = server}, .error = error, .zone_read = zone_read, .now = now};
    *error = (struct definition_error){.line = 1, .column = 1};
    enum define_result result = turn_do(&define, file);
    catalog_close(&define.catalog);
    return result;
}
