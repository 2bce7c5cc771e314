// checksum_test.c - pages and their checksums, for all sizes of pages, in the database and the log.
#include "store/log/log.h"
#include "store/log/page_checksum.h"

#include "both.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 300, FRAME = 24, LOG_START = 32 };

static char path[300];
static struct batch batch;

static sqlite3 *database_open(void)
{
    sqlite3 *db;
    batch = (struct batch){.image = -1};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
    assert_int_equal(batch_open(path, &db, flags, NULL, &batch), SQLITE_OK);
    return db;
}

static void sql_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static int rows_count(sqlite3 *db, int *count)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(db, "SELECT sum(length(text) > 0) FROM t", -1, &row, NULL);
    if (!result) result = sqlite3_step(row);
    *count = result == SQLITE_ROW ? sqlite3_column_int(row, 0) : 0;
    sqlite3_finalize(row);
    return result;
}

// Its log has all rows, but the database only the table.
static sqlite3 *database_make(int page_size, int reserved)
{
    char sql[400];
    both_remove(path);
    sqlite3 *db = database_open();
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    snprintf(sql, sizeof sql, "PRAGMA page_size = %d; PRAGMA journal_mode = WAL;"
             " PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT);"
             " PRAGMA wal_checkpoint", page_size);
    sql_run(db, sql);
    snprintf(sql, sizeof sql, "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO t SELECT i, hex(randomblob(100 + i)) FROM n", ROWS);
    sql_run(db, sql);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return db;
}

static void byte_flip(const char *suffix, off_t at)
{
    char name[320];
    unsigned char byte;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    int file = open(name, O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static void damage_count(void *context, struct page_damage damage)
{
    (void)damage;
    ++*(int *)context;
}

static int damaged(void)
{
    int count = 0;
    assert_true(pages_scan(&batch.pages, damage_count, &count));
    return count;
}

// As the sqlite3 program does: it recovers the log, and makes a checkpoint.
static void foreign_read(void)
{
    sqlite3 *db;
    int count;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(rows_count(db, &count), SQLITE_ROW);
    assert_int_equal(count, ROWS);
    sql_run(db, "PRAGMA integrity_check");
    sqlite3_close(db);
}

static void pages_have_checksums(int page_size)
{
    struct stat status;
    unsigned char *page = malloc((size_t)page_size);
    int file = open(path, O_RDONLY);
    assert_non_null(page);
    assert_int_equal(fstat(file, &status), 0);
    assert_true(status.st_size > page_size);
    for (off_t at = 0; at < status.st_size; at += page_size) {
        assert_int_equal(pread(file, page, (size_t)page_size, at), page_size);
        uint64_t checksum = page_checksum(page, page_size, (uint32_t)(at / page_size) + 1);
        assert_true(page_matches(page, page_size, checksum));
    }
    close(file);
    free(page);
}

static void each_size_of_pages_is_written_and_read(void **state)
{
    (void)state;
    for (int size = PAGE_MIN; size <= PAGE_MAX; size *= 2) {
        int count;
        sqlite3_close(database_make(size, PAGE_RESERVED));
        foreign_read();  // SQLite itself accepts the log, and its pages bring their checksums
        pages_have_checksums(size);
        sqlite3 *db = database_open();
        assert_int_equal(rows_count(db, &count), SQLITE_ROW);
        assert_int_equal(count, ROWS);
        sql_run(db, "UPDATE t SET text = text || 'x'; PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(damaged(), 0);
        sqlite3_close(db);
        pages_have_checksums(size);
        byte_flip("", 2 * size - PAGE_RESERVED - 1);
        db = database_open();
        assert_int_equal(rows_count(db, &count), SQLITE_IOERR_DATA);
        assert_int_equal(batch.pages.damage.page, 2);
        assert_false(batch.pages.damage.is_in_log);
        assert_int_equal(damaged(), 1);
        sqlite3_close(db);
    }
}

// Another connection keeps the index, so SQLite does not look at the log's own checksums.
static void a_damaged_page_of_the_log_is_refused(void **state)
{
    (void)state;
    int count, size = 2048;
    sqlite3_close(database_make(size, PAGE_RESERVED));
    sqlite3 *keeper = database_open(), *db;
    assert_int_equal(rows_count(keeper, &count), SQLITE_ROW);
    byte_flip("-wal", LOG_START + 3 * (FRAME + size) + FRAME + 1000);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE;
    struct batch second = {.image = -1};
    assert_int_equal(batch_open(path, &db, flags, NULL, &second), SQLITE_OK);
    assert_int_equal(rows_count(db, &count), SQLITE_IOERR_DATA);
    assert_true(second.pages.damage.is_in_log);
    assert_int_equal(
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
        SQLITE_IOERR_DATA);
    sqlite3_close(db);
    assert_int_equal(damaged(), 1);
    sqlite3_db_config(keeper, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(keeper);
}

// SQLite writes a page to the log again in its place when a transaction is larger than its memory.
static void a_large_transaction_is_sound(void **state)
{
    (void)state;
    int count;
    sqlite3 *db = database_make(1024, PAGE_RESERVED);
    sql_run(db, "PRAGMA cache_size = 5; BEGIN");
    for (int i = 0; i < 4; i++) sql_run(db, "UPDATE t SET text = text || 'y'");
    sql_run(db, "COMMIT");
    assert_int_equal(rows_count(db, &count), SQLITE_ROW);
    assert_int_equal(damaged(), 0);
    sqlite3_close(db);
    foreign_read();
    db = database_open();
    assert_int_equal(rows_count(db, &count), SQLITE_ROW);
    assert_int_equal(damaged(), 0);
    sqlite3_close(db);
}

static void other_databases_have_no_checksums(void **state)
{
    (void)state;
    static const int reserved[] = {0, 8, 32};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        int count;
        sqlite3_close(database_make(2048, reserved[i]));
        foreign_read();
        byte_flip("", 2 * 2048 - 3);
        sqlite3 *db = database_open();
        assert_int_not_equal(rows_count(db, &count), SQLITE_IOERR_DATA);
        assert_int_equal(damaged(), 0);
        sqlite3_close(db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_of_pages_is_written_and_read),
        cmocka_unit_test(a_damaged_page_of_the_log_is_refused),
        cmocka_unit_test(a_large_transaction_is_sound),
        cmocka_unit_test(other_databases_have_no_checksums),
    };
    snprintf(path, sizeof path, "%s/rota-checksum-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_remove(path);
    return failed;
}
