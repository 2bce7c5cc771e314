// definition_rows.c - the rows of definitions and names: written in a turn, read all at once.
#include "store/sqlite/definition_rows.h"
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[CATALOG_KINDS] = {"lane", "group", "machine", "worker"};

// A row that no record of the core has: a statement and its values.
enum note_kind { NOTE_DEFINE, NOTE_DROP, NOTE_CALENDAR, NOTE_NAME, NOTE_USER, NOTES };

struct note {
    enum note_kind kind;
    int64_t key;
    const char *texts[2];
    struct calendar_state state;
};

// Definitions are rare, so these are prepared when they are needed.
static const char *const statements[NOTES] = {
    [NOTE_DEFINE] = "REPLACE INTO sched_define VALUES (?1, ?2, ?3, ?4, ?5)",
    [NOTE_DROP] = "DELETE FROM sched_define WHERE id = ?1",
    [NOTE_CALENDAR] = "UPDATE sched_define SET settled = ?4, remembered = ?5 WHERE id = ?1",
    [NOTE_NAME] = "REPLACE INTO sched_name(number, kind, name) VALUES (?1, ?2, ?3)",
    [NOTE_USER] = "UPDATE sched_name SET user = ?2 WHERE kind = 'worker' AND number = ?1",
};

// ---- Writing --------------------------------------------------------------------------

// Stores in memory have no definitions: plays do not need them, nor does the cluster simulator.
static bool keeps_notes(const struct store *store)
{
    return store->kind->catalog == sqlite_catalog;
}

static void note_add(struct store *base, const struct note *note)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!keeps_notes(base)) return;
    bool there
        = ARRAY_MORE_RAW(&memory_heap, store->notes, store->note_count, store->note_capacity);
    if (there)
        store->notes[store->note_count++] = *note;
    else
        turn_fail(store, SQLITE_NOMEM);
}

void store_put_definition(struct store *store, const struct catalog_row *row)
{
    struct note note = {.kind = row->text ? NOTE_DEFINE : NOTE_DROP,
                        .key = row_id(row->task),
                        .texts = {row->name, row->text},
                        .state = row->state};
    note_add(store, &note);
}

void store_put_calendar(struct store *store, rota_task_id task, const struct calendar_state *state)
{
    struct note note = {.kind = NOTE_CALENDAR, .key = row_id(task), .state = *state};
    note_add(store, &note);
}

void sqlite_name(struct store *store, const struct catalog_name *name)
{
    struct note note
        = {.kind = NOTE_NAME, .key = name->number, .texts = {kinds[name->kind], name->name}};
    note_add(store, &note);
}

void store_put_user(struct store *store, uint32_t worker, const char *user)
{
    struct note note = {.kind = NOTE_USER, .key = worker, .texts = {user, NULL}};
    note_add(store, &note);
}

static void bind_time(sqlite3_stmt *statement, int place, rota_time time)
{
    if (time == CALENDAR_NONE)
        sqlite3_bind_null(statement, place);
    else
        sqlite3_bind_int64(statement, place, time);
}

static void note_bind(sqlite3_stmt *statement, const struct note *note)
{
    int places = sqlite3_bind_parameter_count(statement);
    bind_number(statement, 1, note->key);
    if (note->texts[0] && places > 1) bind_text(statement, 2, note->texts[0]);
    if (note->texts[1]) bind_text(statement, 3, note->texts[1]);
    if (places < 5) return;
    bind_time(statement, 4, note->state.settled);
    bind_time(statement, 5, note->state.remembered);
}

void put_notes(struct sqlite_store *store)
{
    sqlite3_stmt *prepared[NOTES] = {NULL};
    for (uint32_t i = 0; i < store->note_count && !store->result; i++) {
        const struct note *note = &store->notes[i];
        sqlite3_stmt **statement = &prepared[note->kind];
        int result = SQLITE_OK;
        if (!*statement)
            result = sqlite3_prepare_v2(store->db, statements[note->kind], -1, statement, NULL);
        if (!result) {
            note_bind(*statement, note);
            if (sqlite3_step(*statement) != SQLITE_DONE)
                result = sqlite3_extended_errcode(store->db);
            sqlite3_reset(*statement);
        }
        if (result) turn_fail(store, result);
    }
    for (int kind = 0; kind < NOTES; kind++) sqlite3_finalize(prepared[kind]);
}

// ---- Reading --------------------------------------------------------------------------

static rota_time column_time(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? CALENDAR_NONE
                                                           : sqlite3_column_int64(row, column);
}

static char *column_copy(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return strdup(text ? text : "");
}

static bool row_read(struct catalog_rows *rows, sqlite3_stmt *at)
{
    if (!ARRAY_MORE_RAW(&memory_heap, rows->rows, rows->row_count, rows->row_capacity))
        return false;
    struct catalog_row *row = &rows->rows[rows->row_count++];
    row->task = row_task(sqlite3_column_int64(at, 0));
    row->name = column_copy(at, 1);
    row->text = column_copy(at, 2);
    row->state = (struct calendar_state){column_time(at, 3), column_time(at, 4)};
    return row->name && row->text;
}

static bool name_read(struct catalog_rows *rows, sqlite3_stmt *at)
{
    if (!ARRAY_MORE_RAW(&memory_heap, rows->names, rows->name_count, rows->name_capacity))
        return false;
    struct catalog_name *name = &rows->names[rows->name_count++];
    const char *kind = (const char *)sqlite3_column_text(at, 0);
    int number = 0;
    while (kind && number < CATALOG_WORKER && strcmp(kinds[number], kind) != 0) number++;
    name->kind = (enum catalog_kind)number;
    name->number = (uint32_t)sqlite3_column_int64(at, 1);
    name->name = column_copy(at, 2);
    return name->name != NULL;
}

static bool table_read(struct sqlite_store *store, struct catalog_rows *rows, const char *sql,
                       bool (*read)(struct catalog_rows *rows, sqlite3_stmt *at))
{
    sqlite3_stmt *at = load_prepare(store, sql);
    int result = SQLITE_ROW;
    while (at && (result = sqlite3_step(at)) == SQLITE_ROW)
        if (!read(rows, at)) {
            load_no_memory(store);
            break;
        }
    return load_end(store, at, result);
}

bool sqlite_catalog(struct store *base, struct catalog_rows *rows)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (store->is_new) return true;
    return table_read(store, rows,
                      "SELECT id, name, definition, settled, remembered FROM sched_define"
                      " ORDER BY name",
                      row_read)
           && table_read(store, rows, "SELECT kind, number, name FROM sched_name ORDER BY 1, 2",
                         name_read);
}

void store_put_name(struct store *store, const struct catalog_name *name)
{
    if (store->kind->name) store->kind->name(store, name);
}

bool store_catalog(struct store *store, struct catalog_rows *rows)
{
    *rows = (struct catalog_rows){0};
    return store->kind->catalog && !store->error.fault && store->kind->catalog(store, rows);
}

void catalog_rows_release(struct catalog_rows *rows)
{
    for (uint32_t i = 0; i < rows->row_count; i++) {
        free((void *)(uintptr_t)rows->rows[i].name);
        free((void *)(uintptr_t)rows->rows[i].text);
    }
    for (uint32_t i = 0; i < rows->name_count; i++) free((void *)(uintptr_t)rows->names[i].name);
    free(rows->rows);
    free(rows->names);
    *rows = (struct catalog_rows){0};
}

// Only of jobs that exist, as the jobs of all definitions do.
#define ENDS_OF(table)                                                                             \
    "SELECT e.id, e.ended, e.seq FROM sched_graph g CROSS JOIN " table " e WHERE e.id"             \
    " BETWEEN g.job << 32 AND (g.job << 32) + 4294967295 AND e.ended >= ?1"
static const char ends_sql[]
    = ENDS_OF("sched_state") " UNION ALL " ENDS_OF("sched_run") " ORDER BY 3 DESC";

uint32_t store_ends(struct store *base, rota_time since, struct catalog_end *ends, uint32_t max)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    uint32_t count = 0;
    if (!keeps_notes(base) || base->error.fault) return 0;
    sqlite3_stmt *at = load_prepare(store, ends_sql);
    int result = SQLITE_ROW;
    if (at) bind_number(at, 1, since);
    while (at && count < max && (result = sqlite3_step(at)) == SQLITE_ROW) {
        ends[count++] = (struct catalog_end){row_task(sqlite3_column_int64(at, 0)),
                                             sqlite3_column_int64(at, 1)};
    }
    load_end(store, at, result);
    return count;
}
