// bad_file_test.c - files that are not a database of rota, or are in use: refused and unchanged.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "both.h"
#include "store/sqlite/open.h"
#include "scene.h"
#include "store/sqlite/query.h"

static char path[128];

// ---- Tools ------------------------------------------------------------------------------

static struct store_options options_make(void)
{
    struct store_options options = store_options_default();
    options.ballast_bytes = 0;
    options.wal_pages = 50;
    return options;
}

static void file_write(const void *data, size_t size)
{
    both_remove(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static size_t file_read(unsigned char **data)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *data = malloc(1 << 22);
    assert_non_null(*data);
    size_t size = fread(*data, 1, 1 << 22, file);
    fclose(file);
    return size;
}

// A sound file, closed properly, with some history.
static void file_make(void)
{
    struct scene scene = {.path = path, .options = options_make()};
    assert_true(scene_run(&scene));
}

static void sql_run(const char *sql)
{
    assert_true(both_change(path, sql) >= 0);
}

// The file is refused with these words and status 2, and not one byte of it has changed.
static void refused(const char *words)
{
    struct store_options options = options_make();
    struct store_error error;
    unsigned char *before, *after;
    size_t size = file_read(&before);
    struct store *store = store_open_sqlite(path, &options, &error);
    assert_null(store);
    if (!strstr(error.text, words)) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    assert_int_equal(store_exit_status(&error), 2);
    assert_int_equal(file_read(&after), size);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

// ---- Files ---------------------------------------------------------------------------------

static void a_text_file_is_refused(void **state)
{
    (void)state;
    file_write("once upon a time there was a file that was no database at all", 60);
    refused("is not a database");
    file_write("SQL", 3);
    refused("is truncated");
}

static void a_truncated_database_is_refused(void **state)
{
    (void)state;
    struct stat status;
    file_make();
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    refused("is truncated");
}

static void beside_write(const char *suffix, const void *data, size_t size)
{
    char name[200];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

// The log of the database that was there would be played into the new one.
static void an_emptied_database_is_refused(void **state)
{
    (void)state;
    static const unsigned char log[4096] = {0x37, 0x7f, 0x06, 0x82};
    file_write("", 0);
    beside_write("-wal", log, sizeof log);
    refused("is empty, but its log");
    file_write("", 0);
    beside_write("-saved", "x", 1);
    refused("saved all records in");
    char saved[200];
    snprintf(saved, sizeof saved, "%s-saved", path);
    unlink(saved);
}

// Its log was removed with it, but the lock file notes how long the database was.
static void a_database_emptied_after_its_server_ended_is_refused(void **state)
{
    (void)state;
    char name[200];
    file_make();
    assert_int_equal(truncate(path, 0), 0);
    refused("is empty, but");
    snprintf(name, sizeof name, "%s-wal", path);
    unlink(name);
    refused("is empty, but");
    refused("is empty, but");
    snprintf(name, sizeof name, "%s-lock", path);
    unlink(name);
    file_make();
}

static void turn_make(struct store *store)
{
    const struct store_request request = {.id = "a request", .answer = "done"};
    store_begin(store, 1000);
    store_answer(store, &request);
    assert_true(store_commit(store));
}

// A process that is killed after it has recorded some turns; it never closes the files.
static void file_leave(uint32_t turns, bool is_run)
{
    int status;
    both_remove(path);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store_options options = options_make();
        struct store_error error;
        options.is_run = options.brief = is_run;
        struct store *store = store_open_sqlite(path, &options, &error);
        for (uint32_t i = 0; store && i < turns; i++) turn_make(store);
        _exit(store ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void beside_remove(const char *suffix)
{
    char name[200];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    unlink(name);
}

static struct store_error open_error(bool is_run)
{
    struct store_options options = options_make();
    struct store_error error;
    options.is_run = options.brief = is_run;
    struct store *store = store_open_sqlite(path, &options, &error);
    store_close(store);
    return error;
}

static void a_database_emptied_or_removed_after_its_server_was_killed_is_refused(void **state)
{
    (void)state;
    char lock[200];
    snprintf(lock, sizeof lock, "remove %s-lock", path);
    file_leave(1, false);
    assert_int_equal(truncate(path, 0), 0);
    beside_remove("-wal"), beside_remove("-shm");
    refused("is empty, but");
    file_leave(1, false);
    beside_remove(""), beside_remove("-wal"), beside_remove("-shm");
    for (int i = 0; i < 2; i++) {
        struct store_error error = open_error(false);
        assert_int_equal(store_exit_status(&error), 2);
        assert_non_null(strstr(error.text, "is missing, but"));
        assert_non_null(strstr(error.text, lock));
        assert_int_equal(access(path, F_OK), -1);
    }
    beside_remove("-lock");
    assert_false(open_error(false).fault);
}

static void a_database_without_records_may_be_removed(void **state)
{
    (void)state;
    file_leave(0, false);
    beside_remove(""), beside_remove("-wal"), beside_remove("-shm");
    assert_false(open_error(false).fault);
}

// Then the tasks of its job files run again.
static void the_database_of_a_run_may_be_removed(void **state)
{
    (void)state;
    file_leave(1, true);
    beside_remove(""), beside_remove("-wal"), beside_remove("-shm");
    assert_false(open_error(true).fault);
}

// Power failed before the first turn of a new database was durable: nothing was ever recorded.
static void an_empty_file_beside_an_empty_log_is_new(void **state)
{
    (void)state;
    static const unsigned char zeros[4096];
    struct store_options options = options_make();
    struct store_error error;
    file_write("", 0);
    beside_write("-wal", zeros, sizeof zeros);
    struct store *store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    store_close(store);
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    unsigned char *data;
    file_make();
    size_t size = file_read(&data);
    uint32_t found = 0, tried = 0;
    for (size_t page = 0; page + 2048 <= size; page += 2048) {
        struct store_options options = options_make();
        struct store_error error;
        data[page + (page ? 3 : 103)] ^= 0x55;  // how many cells the page has
        file_write(data, size);
        struct store *store = store_open_sqlite(path, &options, &error);
        found += store == NULL;
        tried++;
        if (!store) assert_int_equal(store_exit_status(&error), 2);
        store_close(store);
        data[page + (page ? 3 : 103)] ^= 0x55;
    }
    print_message("%u of %u damaged pages found\n", found, tried);
    assert_true(found * 10 >= tried * 9);  // a page on the free list may say anything
    free(data);
}

// The note of the last server says how the file was left. It is not believed of a file that was
// touched, whatever time that file claims.
static void harm_is_found_in_a_file_with_its_old_time(void **state)
{
    (void)state;
    struct stat status;
    file_make();
    assert_int_equal(stat(path, &status), 0);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 2048 + 3, SEEK_SET);
    fputc(0x55, file);
    fclose(file);
    const struct timespec times[] = {status.st_atim, status.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    refused("page 2 does not match its checksum");
}

static void a_database_of_another_version_is_refused(void **state)
{
    (void)state;
    file_make();
    sql_run("PRAGMA user_version = 99");
    refused("has schema version 99, but this rota uses version 1");
    sql_run("PRAGMA user_version = 0");
    refused("has schema version 0");
}

static void the_database_of_others_is_refused(void **state)
{
    (void)state;
    both_remove(path);
    sql_run("CREATE TABLE friends(name TEXT)");
    refused("is a database of another program");
    both_remove(path);
    sql_run("PRAGMA application_id = 7; PRAGMA user_version = 1");
    refused("is a database of another program");
    both_remove(path);
    sql_run("PRAGMA user_version = 9");
    refused("is a database of another program");
}

static void a_file_with_two_hard_links_is_refused(void **state)
{
    (void)state;
    char other[160];
    file_make();
    snprintf(other, sizeof other, "%s-other", path);
    unlink(other);
    assert_int_equal(link(path, other), 0);
    refused("has several hard links");
    unlink(other);
}

static void a_path_that_is_not_a_file_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/dev/null", "/nowhere/at/all", "/proc/version"};
    struct store_error error;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_null(store_open_sqlite(paths[i], NULL, &error));
        assert_int_equal(store_exit_status(&error), 2);
        assert_non_null(strstr(error.text, paths[i]));
    }
}

static void invalid_rows_stop_the_restore(void **state)
{
    (void)state;
    static const char *const faults[] = {
        "INSERT INTO sched_graph VALUES (99, 'LAST', 'plan', 'block', 1, 0, 0);"
        "INSERT INTO sched_submit(job, sequence, first, tasks) VALUES (99, 99, 1, 2)",
        "INSERT INTO sched_lane VALUES (1, 0, 0);"
        "INSERT INTO sched_graph VALUES (98, 'ODD', 'plan', 'block', 1, 0, 0)",
        "INSERT INTO sched_graph VALUES (97, 'LAST', 'plan', 'block', 1, 0, 0);"
        "INSERT INTO sched_submit(job, sequence, first, tasks, policy, on_failure)"
        " VALUES (97, 97, 1, 1, 'plan', 'block');"
        "INSERT INTO sched_task(id, kind, status) VALUES (97 << 32 | 1, 'callable', 'ODD')",
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct store_options options = options_make();
        struct store_error error;
        uint32_t count;
        file_make();
        sql_run("DELETE FROM sched_lane");
        sql_run(faults[i]);
        struct store *store = store_open_sqlite(path, &options, &error);
        assert_non_null(store);
        assert_null(store_rows(store, &count));
        assert_int_equal(store_exit_status(store_error(store)), 70);
        store_close(store);
    }
}

// SQLite does not fold its log when the database was replaced, but does when the log was: then
// it removes the file that has the name of its log.
static void a_failed_store_does_not_touch_the_log_of_others(void **state)
{
    (void)state;
    struct store_options options = options_make();
    struct store_error error;
    struct stat about;
    uint32_t count;
    char name[200], log[200], saved[200];
    snprintf(name, sizeof name, "%s-other", path);
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(saved, sizeof saved, "%s-saved", path);
    file_make();
    sql_run("INSERT INTO sched_graph VALUES (98, 'ODD', 'plan', 'block', 1, 0, 0)");
    struct store *store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    assert_null(store_rows(store, &count));
    assert_true(store_error(store)->fault);
    beside_write("-other", "not ours", 8);
    assert_int_equal(rename(name, log), 0);
    store_close(store);
    assert_int_equal(stat(log, &about), 0);
    assert_int_equal(about.st_size, 8);
    assert_int_equal(access(saved, F_OK), 0);
    unlink(saved);
    unlink(log);
}

// ---- Owners -----------------------------------------------------------------------------------

static void a_second_server_is_refused(void **state)
{
    (void)state;
    struct store_options options = options_make();
    struct store_error error;
    char pid[40];
    both_remove(path);
    struct store *first = store_open_sqlite(path, &options, &error);
    assert_non_null(first);
    assert_null(store_open_sqlite(path, &options, &error));
    snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
    assert_non_null(strstr(error.text, pid));
    assert_int_equal(store_exit_status(&error), 2);
    store_close(first);
    first = store_open_sqlite(path, &options, &error);
    assert_non_null(first);
    store_close(first);
}

static void other_users_cannot_read_the_files(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-ballast"};
    struct store_options options = options_make();
    struct store_error error;
    options.ballast_bytes = 4096;
    both_remove(path);
    struct store *store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[200];
        struct stat status;
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        assert_int_equal(stat(name, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    store_close(store);
}

static void queries_cannot_write(void **state)
{
    (void)state;
    static const char *const statements[] = {"DELETE FROM sched_job",
                                             "INSERT INTO sched_lane VALUES (7, 0, 0)",
                                             "DROP TABLE sched_job",
                                             "PRAGMA journal_mode = DELETE",
                                             "ATTACH '/tmp/x' AS x",
                                             "SELECT 1; DELETE FROM sched_job",
                                             "BEGIN",
                                             "VACUUM",
                                             "",
                                             "SELECT nothing FROM nowhere"};
    file_make();
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        struct store_error error;
        assert_false(store_query(path, statements[i], QUERY_TABLE, stdout, &error));
        assert_int_equal(store_exit_status(&error), 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_file_is_refused),
        cmocka_unit_test(a_truncated_database_is_refused),
        cmocka_unit_test(an_emptied_database_is_refused),
        cmocka_unit_test(a_database_emptied_after_its_server_ended_is_refused),
        cmocka_unit_test(a_database_emptied_or_removed_after_its_server_was_killed_is_refused),
        cmocka_unit_test(a_database_without_records_may_be_removed),
        cmocka_unit_test(the_database_of_a_run_may_be_removed),
        cmocka_unit_test(an_empty_file_beside_an_empty_log_is_new),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(harm_is_found_in_a_file_with_its_old_time),
        cmocka_unit_test(a_database_of_another_version_is_refused),
        cmocka_unit_test(the_database_of_others_is_refused),
        cmocka_unit_test(a_file_with_two_hard_links_is_refused),
        cmocka_unit_test(a_path_that_is_not_a_file_is_refused),
        cmocka_unit_test(invalid_rows_stop_the_restore),
        cmocka_unit_test(a_failed_store_does_not_touch_the_log_of_others),
        cmocka_unit_test(a_second_server_is_refused),
        cmocka_unit_test(other_users_cannot_read_the_files),
        cmocka_unit_test(queries_cannot_write),
    };
    snprintf(path, sizeof path, "%s/rota-bad-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_remove(path);
    return failed;
}
