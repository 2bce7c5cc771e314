// overwritten_test.c - another program truncates a file of the database in use, or writes into it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
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
#include <sqlite3.h>

#include "both.h"
#include "store/sqlite/open.h"

enum { LOG_PAGES = 60, MANY = 401 };

static char path[128];
static struct store *store;
static uint32_t turns;  // that were acknowledged

// ---- Tools ------------------------------------------------------------------------------

static struct store *store_again(struct store_error *error)
{
    struct store_options options = store_options_default();
    options.ballast_bytes = 0;
    options.wal_pages = LOG_PAGES;
    return store_open_sqlite(path, &options, error);
}

static const char *beside(const char *suffix)
{
    static char name[200];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return name;
}

static void request_name(struct store_request *request, uint32_t number)
{
    memset(request->id, 0, sizeof request->id);
    memcpy(request->id, &number, sizeof number);
}

static bool turn(void)
{
    char answer[900];
    struct store_request request = {.answer = answer};
    memset(answer, 'a' + (int)(turns % 26), sizeof answer - 1);
    answer[sizeof answer - 1] = 0;
    request_name(&request, turns + 1);
    store_begin(store, 1000 + turns);
    store_answer(store, &request);
    if (!store_commit(store)) return false;
    turns++;
    return true;
}

static void turns_run(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!turn()) fail_msg("turn %u: %s", turns, store_error(store)->text);
}

static int begin(void **state)
{
    (void)state;
    struct store_error error;
    both_remove(path);
    both_remove(beside("-saved"));
    unlink(beside("-lost"));
    unlink(beside("-wal-old"));
    turns = 0;
    store = store_again(&error);
    return store ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    store_close(store);
    store = NULL;
    both_remove(path);
    both_remove(beside("-saved"));
    unlink(beside("-lost"));
    unlink(beside("-wal-old"));
    return 0;
}

static off_t size_of(const char *suffix)
{
    struct stat status;
    return stat(beside(suffix), &status) == 0 ? status.st_size : -1;
}

// By another process: closing the file in this one would drop its locks.
static void command(const char *format)
{
    char line[800], shell[] = "sh", option[] = "-c";
    char *words[] = {shell, option, line, NULL};
    int status;
    pid_t child;
    snprintf(line, sizeof line, format, path, path, path);
    assert_int_equal(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void sql_run(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

// A turn that could not be acknowledged may be there, too.
static void answers_are_in(const char *file, uint32_t most)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM sched_request", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_in_range(sqlite3_column_int(row, 0), turns, most);
    sqlite3_finalize(row);
    sqlite3_close(db);
}

// The store has stopped with a sentence, and all is saved, or the next one is not started.
static void is_lost(const char *suffix)
{
    const struct store_error *error = store_error(store);
    char words[200];
    struct store_error next;
    snprintf(words, sizeof words, "%s%s was overwritten", path, suffix);
    if (!strstr(error->text, words)) fail_msg("\"%s\" does not say \"%s\"", error->text, words);
    assert_int_equal(store_exit_status(error), 70);
    if (size_of("-saved") > 0) answers_are_in(beside("-saved"), turns + 1);
    store_close(store);
    store = store_again(&next);
    assert_null(store);
    assert_int_equal(store_exit_status(&next), 2);
    assert_true(strstr(next.text, "-saved") || strstr(next.text, "-lost"));
}

// ---- The log -----------------------------------------------------------------------------

static void an_emptied_log_is_noticed(void **state)
{
    (void)state;
    turns_run(5);
    assert_int_equal(truncate(beside("-wal"), 0), 0);
    assert_false(store_check(store));
    is_lost("-wal");
}

static void a_turn_notices_an_emptied_log(void **state)
{
    (void)state;
    turns_run(5);
    assert_int_equal(truncate(beside("-wal"), 0), 0);
    assert_false(turn());
    is_lost("-wal");
}

static void all_turns_are_in_memory_and_are_saved(void **state)
{
    (void)state;
    turns_run(5);
    assert_int_equal(truncate(beside("-wal"), 0), 0);
    assert_false(turn());
    answers_are_in(beside("-saved"), turns + 1);
}

static void a_turn_notices_half_a_log(void **state)
{
    (void)state;
    turns_run(5);
    assert_int_equal(truncate(beside("-wal"), 32 + 2 * (2048 + 24)), 0);
    assert_false(turn());
    is_lost("-wal");
}

static void another_log_is_noticed(void **state)
{
    (void)state;
    turns_run(5);
    command("cp %s-wal %s-wal.copy");
    turns_run(MANY);  // the log starts again
    command("cat %s-wal.copy > %s-wal");
    assert_false(store_check(store));
    is_lost("-wal");
    unlink(beside("-wal.copy"));
}

// ---- The database ------------------------------------------------------------------------

static void an_emptied_database_is_noticed(void **state)
{
    (void)state;
    turns_run(MANY);
    assert_int_equal(truncate(path, 0), 0);
    assert_false(store_check(store));
    is_lost("");
}

static void half_a_database_is_noticed(void **state)
{
    (void)state;
    turns_run(MANY);
    assert_int_equal(truncate(path, size_of("") / 2), 0);
    assert_false(store_check(store));
    is_lost("");
}

// Nothing is known of a larger one but its pages. Before the fold: without the check that is made
// once a second.
static void an_old_database_is_noticed(void **state)
{
    bool is_checked = *state == NULL;
    turns_run(MANY);
    command("cp %s %s.copy");
    turns_run(MANY);
    off_t now = size_of("");
    assert_true(size_of(".copy") < now);
    command("cat %s.copy > %s");
    assert_int_equal(truncate(path, now), 0);
    unlink(beside(".copy"));
    if (is_checked) assert_false(store_check(store));
    for (uint32_t i = 0; !is_checked && i < MANY && !store_error(store)->fault; i++) turn();
    is_lost("");
}

static void a_program_that_writes_is_noticed(void **state)
{
    (void)state;
    turns_run(MANY);
    sql_run("ANALYZE");
    turn();
    assert_int_equal(store_exit_status(store_error(store)), 70);
    assert_non_null(strstr(store_error(store)->text, "does not match its checksum"));
    assert_non_null(strstr(store_error(store)->text, "another program wrote to this database"));
    assert_int_not_equal(access(beside("-lost"), F_OK), 0);
    answers_are_in(path, turns);
}

// ---- What is no loss -----------------------------------------------------------------------

static void other_programs_may_make_a_checkpoint(void **state)
{
    (void)state;
    static const char *const orders[]
        = {"PRAGMA wal_checkpoint",           "PRAGMA wal_checkpoint(TRUNCATE)",
           "PRAGMA wal_checkpoint(RESTART)",  "VACUUM",
           "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(TRUNCATE)"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        for (int times = 0; times < 3; times++) {
            turns_run((uint32_t)i * 7 + 1);
            if (times == 1) assert_true(store_check(store));
            sql_run(orders[i]);
            if (times == 2) turns_run(2);
            if (!store_check(store)) fail_msg("%s: %s", orders[i], store_error(store)->text);
        }
    }
    turns_run(MANY);
    assert_true(store_check(store));
    answers_are_in(path, turns);
}

static void a_new_time_is_no_loss(void **state)
{
    (void)state;
    turns_run(MANY);
    assert_true(store_check(store));
    command("touch -d '2001-02-03' %s %s-wal %s-shm");
    assert_true(store_check(store));
    turns_run(MANY);
    assert_true(store_check(store));
}

// ---- The index -----------------------------------------------------------------------------

static void an_emptied_index_is_noticed(void **state)
{
    (void)state;
    turns_run(5);
    assert_true(store_check(store));
    pid_t child = fork();
    if (child == 0) _exit(truncate(beside("-shm"), 0) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(store_check(store));
    assert_non_null(strstr(store_error(store)->text, "no record is lost"));
    store_close(store);
    struct store_error error;
    store = store_again(&error);
    assert_non_null(store);
    answers_are_in(path, turns);
}

static void child_run(int out)
{
    struct store_error error;
    dup2(out, 2);
    store = store_again(&error);
    if (!store) _exit(1);
    turns_run(5);
    if (truncate(beside("-shm"), 0) < 0) _exit(2);
    turn();
    _exit(3);
}

static void a_turn_without_its_index_ends_with_a_message(void **state)
{
    (void)state;
    int ends[2], status;
    char said[600] = "";
    store_close(store);
    store = NULL;
    both_remove(path);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) child_run(ends[1]);
    close(ends[1]);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    assert_non_null(strstr(said, "no record is lost"));
    turns = 5;
    answers_are_in(path, turns);
}

// ---- Deleted files --------------------------------------------------------------------------

static void a_checkpoint_notices_a_deleted_log(void **state)
{
    (void)state;
    turns_run(5);
    assert_int_equal(unlink(beside("-wal")), 0);
    for (uint32_t i = 0; i < MANY && !store_error(store)->fault; i++) turn();
    assert_non_null(strstr(store_error(store)->text, "-wal was deleted"));
    answers_are_in(beside("-saved"), turns + 1);
    assert_true(turns < MANY);
}

int main(void)
{
    static int no_check;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_emptied_log_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(a_turn_notices_an_emptied_log, begin, end),
        cmocka_unit_test_setup_teardown(all_turns_are_in_memory_and_are_saved, begin, end),
        cmocka_unit_test_setup_teardown(a_turn_notices_half_a_log, begin, end),
        cmocka_unit_test_setup_teardown(another_log_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(an_emptied_database_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(half_a_database_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(an_old_database_is_noticed, begin, end),
        {"an_old_database_is_noticed before a fold", an_old_database_is_noticed, begin, end,
         &no_check},
        cmocka_unit_test_setup_teardown(other_programs_may_make_a_checkpoint, begin, end),
        cmocka_unit_test_setup_teardown(a_program_that_writes_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(a_new_time_is_no_loss, begin, end),
        cmocka_unit_test_setup_teardown(an_emptied_index_is_noticed, begin, end),
        cmocka_unit_test_setup_teardown(a_turn_without_its_index_ends_with_a_message, begin, end),
        cmocka_unit_test_setup_teardown(a_checkpoint_notices_a_deleted_log, begin, end),
    };
    snprintf(path, sizeof path, "%s/overwritten-%d", both_folder(), getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
