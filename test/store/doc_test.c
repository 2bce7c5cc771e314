// doc_test.c - doc/database-schema.md has every table and column, and its queries work.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "both.h"
#include "scene.h"
#include "store/sqlite/query.h"

enum { QUESTIONS = 10 };

static char path[128], *doc;

static int page_read(void **state)
{
    (void)state;
    FILE *file = fopen("doc/database-schema.md", "r");
    if (!file) return -1;
    doc = calloc(1, 1 << 17);
    if (!doc || !fread(doc, 1, (1 << 17) - 1, file)) return -1;
    fclose(file);
    struct scene scene = {.path = path, .turns = 9};
    scene.options = store_options_default();
    scene.options.ballast_bytes = 0;
    scene.options.wal_pages = 50;
    return scene_run(&scene) ? 0 : -1;
}

static void each_query_has_an_answer(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (const char *at = doc; (at = strstr(at, "```sql\n")); count++) {
        at += strlen("```sql\n");
        const char *end = strstr(at, "```");
        assert_non_null(end);
        char *sql = strndup(at, (size_t)(end - at)), *said = NULL;
        size_t size;
        struct store_error error;
        FILE *out = open_memstream(&said, &size);
        assert_non_null(out);
        if (!store_query(path, sql, QUERY_JSON, out, &error)) fail_msg("%s%s", sql, error.text);
        fclose(out);
        free(sql);
        free(said);
        at = end;
    }
    assert_int_equal(count, QUESTIONS);
}

static void each_table_and_column_is_described(void **state)
{
    (void)state;
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    const char *sql = "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c"
                      " WHERE s.type IN ('table', 'view')";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    uint32_t columns = 0;
    for (; sqlite3_step(row) == SQLITE_ROW; columns++) {
        char table[80], column[80];
        snprintf(table, sizeof table, "**%s**", (const char *)sqlite3_column_text(row, 0));
        snprintf(column, sizeof column, "`%s`", (const char *)sqlite3_column_text(row, 1));
        if (!strstr(doc, table)) fail_msg("%s is not described", table);
        if (!strstr(doc, column)) fail_msg("%s of %s is not described", column, table);
    }
    assert_true(columns > 100);
    sqlite3_finalize(row);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_query_has_an_answer),
        cmocka_unit_test(each_table_and_column_is_described),
    };
    snprintf(path, sizeof path, "%s/rota-doc-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, page_read, NULL);
    free(doc);
    both_remove(path);
    return failed;
}
