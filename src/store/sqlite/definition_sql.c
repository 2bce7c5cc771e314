// definition_sql.c - runs a SQL statement that changes definitions in sched_job (`rota sql`).
//
// The statement never sees the file. It runs on a table in memory with the columns of sched_job
// that a definition can set. The differences afterwards are written as a definition file, which is
// applied like any other.
#include "store/sqlite/definition_rows.h"
#include "job/definition/internal.h"
#include "store/store_kind.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The first columns are the id and the name; the others are keys of a definition.
enum { COLUMN_ID, COLUMN_NAME, COLUMN_KEYS };

static const struct column {
    const char *name, *key;
} columns[] = {
    {"id", NULL},
    {"name", NULL},
    {"kind", "type"},
    {"command", "command"},
    {"condition", "condition"},
    {"parent", "parent"},
    {"machine", "machine"},
    {"priority", "priority"},
    {"lane", "lane"},
    {"grp", "group"},
    {"access", "access"},
    {"cores", "cores"},
    {"memory_mib", "memory"},
    {"retries", "retries"},
    {"timeout", "timeout"},
    {"run_days", "run_days"},
    {"start_times", "start_times"},
    {"run_window", "run_window"},
    {"start_mins", "start_mins"},
    {"cron", "cron"},
    {"zone", "zone"},
    {"overlap", "overlap"},
    {"catch_up", "catch_up"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct shadow {
    sqlite3 *db;
    struct store_error *error;
    FILE *out;  // the definition file
};

static bool refuse(struct shadow *shadow, const char *what)
{
    store_fail(shadow->error, STORE_REFUSED, "%s", what);
    return false;
}

static bool sql_run(struct shadow *shadow, const char *sql)
{
    return !sqlite3_exec(shadow->db, sql, NULL, NULL, NULL)
           || refuse(shadow, sqlite3_errmsg(shadow->db));
}

// ---- The table -----------------------------------------------------------------------

static bool table_make(struct shadow *shadow)
{
    char sql[600];
    size_t length = (size_t)snprintf(sql, sizeof sql, "CREATE TABLE sched_job(");
    for (int i = 0; i < COLUMNS; i++) {
        const char *more = i == COLUMN_ID ? " INTEGER PRIMARY KEY" : "";
        length += (size_t)snprintf(sql + length, sizeof sql - length, "%s%s%s", i ? ", " : "",
                                   columns[i].name, more);
    }
    snprintf(sql + length, sizeof sql - length, ")");
    return sql_run(shadow, sql);
}

// Here memory is a plain number of MiB; definition files have units.
static void value_bind(sqlite3_stmt *row, int column, struct definition *definition)
{
    enum definition_key key = key_find(columns[column].key);
    char number[64];
    const char *text = number;
    if (!definition_has(definition, key)) {
        sqlite3_bind_null(row, column + 1);
        return;
    }
    if (definition_keys[key].kind <= KEY_NAME)
        text = *key_text(definition, key);
    else if (key == DEFINITION_MEMORY)
        snprintf(number, sizeof number, "%u", definition->memory_mib);
    else
        value_write(definition, key, number, sizeof number);
    sqlite3_bind_text(row, column + 1, text, -1, SQLITE_TRANSIENT);
}

static bool row_insert(struct shadow *shadow, sqlite3_stmt *row, const struct catalog_row *from)
{
    struct definitions parsed = {0};
    bool fine = definitions_parse(&parsed, from->text, strlen(from->text)) && parsed.count == 1;
    int64_t id = (int64_t)((uint64_t)from->task.job << 32 | from->task.task);
    sqlite3_bind_int64(row, COLUMN_ID + 1, id);
    sqlite3_bind_text(row, COLUMN_NAME + 1, from->name, -1, SQLITE_TRANSIENT);
    for (int i = COLUMN_KEYS; i < COLUMNS && fine; i++) value_bind(row, i, &parsed.items[0]);
    fine = fine && sqlite3_step(row) == SQLITE_DONE;
    sqlite3_reset(row);
    definitions_release(&parsed);
    return fine || refuse(shadow, "a stored definition is invalid");
}

static bool table_fill(struct shadow *shadow, const struct catalog_rows *rows)
{
    char sql[200] = "INSERT INTO sched_job VALUES (?";
    size_t length = strlen(sql);
    for (int i = 1; i < COLUMNS; i++)
        length += (size_t)snprintf(sql + length, sizeof sql - length, ", ?");
    snprintf(sql + length, sizeof sql - length, ")");
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(shadow->db, sql, -1, &row, NULL))
        return refuse(shadow, sqlite3_errmsg(shadow->db));
    bool fine = true;
    for (uint32_t i = 0; i < rows->row_count && fine; i++)
        fine = row_insert(shadow, row, &rows->rows[i]);
    sqlite3_finalize(row);
    return fine && sql_run(shadow, "CREATE TABLE before AS SELECT * FROM sched_job");
}

// ---- The statement ---------------------------------------------------------------------

static int only_definitions(void *context, int action, const char *first, const char *second,
                            const char *database, const char *trigger)
{
    (void)context, (void)second, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE: return strcmp(first, "sched_job") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

static bool statement_run(struct shadow *shadow, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    sqlite3_set_authorizer(shadow->db, only_definitions, NULL);
    int result = sqlite3_prepare_v2(shadow->db, sql, -1, &statement, &rest);
    if (!result && rest[strspn(rest, " \t\n;")]) {
        store_fail(shadow->error, STORE_REFUSED, "only one statement is allowed, not \"%.100s\"",
                   rest);
    } else if (!result && statement) {
        do result = sqlite3_step(statement);
        while (result == SQLITE_ROW);
    }
    if (result && result != SQLITE_DONE)
        store_fail(shadow->error, STORE_REFUSED, "%s; only definitions in sched_job can be written",
                   sqlite3_errmsg(shadow->db));
    sqlite3_finalize(statement);
    sqlite3_set_authorizer(shadow->db, NULL, NULL);
    return !shadow->error->fault;
}

// ---- Its changes -----------------------------------------------------------------------

// In a definition file a line break or a comment ends a value, unless the value is a command.
static bool value_fits(struct shadow *shadow, const char *column, const char *value)
{
    bool comment = strcmp(column, "command") != 0 && strchr(value, '#') != NULL;
    if (!comment && !text_fault(value, strlen(value))) return true;
    store_fail(shadow->error, STORE_REFUSED, "%s: %.80s", column,
               comment ? "must not contain #" : "must not be empty or contain a line break");
    return false;
}

static bool key_write(struct shadow *shadow, sqlite3_stmt *row, int column)
{
    const char *value = (const char *)sqlite3_column_text(row, column);
    if (!value) value = "";
    if (!value_fits(shadow, columns[column].name, value)) return false;
    bool mib = strcmp(columns[column].name, "memory_mib") == 0 && *value;
    fprintf(shadow->out, "    %s: %s%s\n", columns[column].key, value, mib ? "M" : "");
    return true;
}

static bool name_write(struct shadow *shadow, const char *action, sqlite3_stmt *row, int column)
{
    const char *name = (const char *)sqlite3_column_text(row, column);
    if (!name) return refuse(shadow, "a definition needs a name");
    if (!value_fits(shadow, "name", name)) return false;
    fprintf(shadow->out, "%s: %s\n", action, name);
    return true;
}

// The columns of the row are followed by those of the old row, if there was one.
static bool row_write(struct shadow *shadow, sqlite3_stmt *row)
{
    bool known = sqlite3_column_type(row, COLUMNS) != SQLITE_NULL, named = false;
    if (!known && !name_write(shadow, "insert_task", row, COLUMN_NAME)) return false;
    for (int i = COLUMN_NAME; i < COLUMNS; i++) {
        const char *now = (const char *)sqlite3_column_text(row, i);
        const char *before = (const char *)sqlite3_column_text(row, COLUMNS + i);
        bool same = now && before ? strcmp(now, before) == 0 : now == before;
        if (same || (i == COLUMN_NAME && !known)) continue;
        if (i == COLUMN_NAME) return refuse(shadow, "a definition cannot be renamed");
        if (known && !named && !name_write(shadow, "update_task", row, COLUMN_NAME)) return false;
        named = true;
        if (!key_write(shadow, row, i)) return false;
    }
    return true;
}

static bool deleted_write(struct shadow *shadow, sqlite3_stmt *row)
{
    return name_write(shadow, "delete_task", row, 0);
}

static bool rows_write(struct shadow *shadow, const char *sql,
                       bool (*write)(struct shadow *shadow, sqlite3_stmt *row))
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(shadow->db, sql, -1, &row, NULL);
    while (!result && sqlite3_step(row) == SQLITE_ROW && write(shadow, row)) continue;
    if (result) refuse(shadow, sqlite3_errmsg(shadow->db));
    sqlite3_finalize(row);
    return !shadow->error->fault;
}

static bool shadow_work(struct shadow *shadow, const struct catalog_rows *rows, const char *sql)
{
    return table_make(shadow) && table_fill(shadow, rows) && statement_run(shadow, sql)
           && rows_write(shadow,
                         "SELECT name FROM before WHERE id NOT IN (SELECT id FROM sched_job)",
                         deleted_write)
           && rows_write(
               shadow, "SELECT * FROM sched_job j LEFT JOIN before b ON b.id = j.id ORDER BY j.id",
               row_write);
}

char *catalog_sql(const struct catalog_rows *rows, const char *sql, struct store_error *error)
{
    char *text = NULL;
    size_t size = 0;
    *error = (struct store_error){0};
    struct shadow shadow = {.error = error, .out = open_memstream(&text, &size)};
    bool fine = shadow.out && sqlite3_open(":memory:", &shadow.db) == SQLITE_OK
                && shadow_work(&shadow, rows, sql);
    sqlite3_close(shadow.db);
    if (shadow.out && fclose(shadow.out) != 0) fine = false;
    if (fine) return text;
    refuse(&shadow, "out of memory for the statement");  // unless there is a better reason
    free(text);
    return NULL;
}
