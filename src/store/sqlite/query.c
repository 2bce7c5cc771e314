// query.c - runs a query on a database file, on a read-only connection.
#include "store/sqlite/reader.h"
#include "os/json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// ---- The connection --------------------------------------------------------------

static int only_reading(void *context, int action, const char *first, const char *second,
                        const char *database, const char *trigger)
{
    (void)context, (void)second, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_PRAGMA:
        return sqlite3_stricmp(first, "table_info") == 0
                       || sqlite3_stricmp(first, "table_list") == 0
                   ? SQLITE_OK
                   : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static bool refuse(struct store_error *error, const char *path, const struct batch *batch,
                   sqlite3 *db)
{
    if (damage_say(&batch->pages, path, false, error)) return false;
    store_fail(error, STORE_REFUSED, "%s: %s", path, db ? sqlite3_errmsg(db) : "out of memory");
    return false;
}

bool reader_is_ours(sqlite3 *db, const char *path, const struct batch *batch,
                    struct store_error *error)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(db,
                                    "SELECT application_id, user_version FROM"
                                    " pragma_application_id, pragma_user_version",
                                    -1, &row, NULL);
    if (!result && sqlite3_step(row) == SQLITE_ROW) {
        int application = sqlite3_column_int(row, 0), version = sqlite3_column_int(row, 1);
        if (application != SCHEMA_APPLICATION) {
            store_fail(error, STORE_REFUSED, "%s: is a database of another program", path);
        } else if (version != SCHEMA_VERSION) {
            schema_refuse(error, path, version);
        }
    } else {
        refuse(error, path, batch, db);
    }
    sqlite3_finalize(row);
    return !error->fault;
}

sqlite3 *reader_connect(const char *path, struct batch *batch, struct store_error *error)
{
    sqlite3 *db = NULL;
    if (access(path, R_OK) != 0) {
        store_fail(error, STORE_REFUSED, "%s: %s", path, strerror(errno));
        return NULL;
    }
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    batch->pages.path = path;
    if (batch_open(path, &db, flags, NULL, batch)) {
        refuse(error, path, batch, db);
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(db, 0);
    sqlite3_busy_timeout(db, 2000);
    return db;
}

sqlite3 *reader_open(const char *path, struct batch *batch, struct store_error *error)
{
    sqlite3 *db = reader_connect(path, batch, error);
    if (!db || reader_is_ours(db, path, batch, error)) return db;
    sqlite3_close(db);
    return NULL;
}

// ---- Printing --------------------------------------------------------------------

static void json_blob(struct json *json, const char *name, sqlite3_stmt *row, int column)
{
    size_t length = (size_t)sqlite3_column_bytes(row, column);
    json_hex(json, name, sqlite3_column_blob(row, column), length);
}

static void json_value(struct json *json, sqlite3_stmt *row, int column)
{
    const char *name = sqlite3_column_name(row, column), *text;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        json_number(json, name, "%lld", (long long)sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT: json_real(json, name, "%.17g", sqlite3_column_double(row, column)); break;
    case SQLITE_NULL: json_string(json, name, NULL); break;
    case SQLITE_BLOB: json_blob(json, name, row, column); break;
    default:
        text = (const char *)sqlite3_column_text(row, column);
        json_string(json, name, text ? text : "");
    }
}

static void json_row(FILE *out, sqlite3_stmt *row)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    for (int i = 0; i < sqlite3_column_count(row); i++) json_value(&json, row, i);
    json_line(&json);
}

// Fields are separated by tabs; characters that would break a line or a terminal become "?".
static void plain_text(FILE *out, const char *text)
{
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        fputc(c < 32 || c == 127 ? (c == '\n' ? ';' : '?') : c, out);
    }
}

static void plain_row(FILE *out, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        if (i) fputc('\t', out);
        struct json json = {.out = out};
        if (sqlite3_column_type(row, i) == SQLITE_BLOB)
            json_blob(&json, NULL, row, i);
        else
            plain_text(out, (const char *)sqlite3_column_text(row, i));
    }
    fputc('\n', out);
}

static void plain_head(FILE *out, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        fprintf(out, "%s%s", i ? "\t" : "", sqlite3_column_name(row, i));
    }
    fputc('\n', out);
}

// ---- Functions -------------------------------------------------------------------

static const char *value_text(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return text ? text : "";
}

// end_text(end, end_status, end_flags, reason, result, result_exit): the end of an attempt, as all
// commands show it. Without a report of a worker, only the result is known.
static void end_text(sqlite3_context *context, int count, sqlite3_value **values)
{
    enum { END, STATUS, FLAGS, REASON, RESULT, EXIT };
    char text[600];
    (void)count;
    struct store_attempt_end end = {value_text(values[END]), sqlite3_value_int(values[STATUS]),
                                    (uint32_t)sqlite3_value_int(values[FLAGS]),
                                    value_text(values[REASON]), value_text(values[RESULT])};
    bool has_report = sqlite3_value_type(values[END]) != SQLITE_NULL;
    bool has_status = sqlite3_value_type(values[EXIT]) != SQLITE_NULL;
    if (!has_report && has_status) end = store_status_read(sqlite3_value_int(values[EXIT]));
    store_attempt_text(&end, text, sizeof text);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

// ---- The query --------------------------------------------------------------------

static bool question_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **row,
                             struct store_error *error)
{
    const char *rest = NULL;
    sqlite3_set_authorizer(db, only_reading, NULL);
    sqlite3_create_function(db, "end_text", 6, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, end_text,
                            NULL, NULL);
    int result = sqlite3_prepare_v2(db, sql, -1, row, &rest);
    if (result == SQLITE_AUTH) {
        store_fail(error, STORE_REFUSED, "the statement does more than read: %s",
                   sqlite3_errmsg(db));
    } else if (result) {
        store_fail(error, STORE_REFUSED, "%s", sqlite3_errmsg(db));
    } else if (!*row) {
        store_fail(error, STORE_REFUSED, "no SQL statement in \"%.100s\"", sql);
    } else if (!sqlite3_stmt_readonly(*row)) {
        store_fail(error, STORE_REFUSED, "the statement writes; only queries are allowed here");
    } else if (rest[strspn(rest, " \t\n;")]) {
        store_fail(error, STORE_REFUSED, "only one statement is allowed, not \"%.100s\"", rest);
    }
    return !error->fault;
}

bool store_query(const char *path, const char *sql, enum query_format format, FILE *out,
                 struct store_error *error)
{
    *error = (struct store_error){0};
    struct batch batch = {.image = -1};
    sqlite3 *db = reader_open(path, &batch, error);
    sqlite3_stmt *row = NULL;
    if (!db) return false;
    if (question_prepare(db, sql, &row, error)) {
        int result;
        if (format == QUERY_TABLE) plain_head(out, row);
        while ((result = sqlite3_step(row)) == SQLITE_ROW) {
            if (format == QUERY_JSON)
                json_row(out, row);
            else
                plain_row(out, row);
        }
        if (result != SQLITE_DONE) refuse(error, path, &batch, db);
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    return !error->fault;
}
