// snapshot_test.c - attempts are stored; all reads of a snapshot see the same moment.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "both.h"
#include "store/sqlite/open.h"
#include "scene.h"
#include "store/sqlite/definition_rows.h"
#include "store/sqlite/snapshot.h"
#include "store/sqlite/query.h"

static char path[128];
static struct scene scene;

// ---- Tools ------------------------------------------------------------------------------

static void file_make(void)
{
    scene = (struct scene){.path = path, .turns = 9, .options = store_options_default()};
    scene.options.ballast_bytes = 0;
    scene.options.wal_pages = 50;
    both_remove(path);
    assert_true(scene_run(&scene));
}

static void sql_run(const char *sql)
{
    assert_true(both_change(path, sql) >= 0);
}

static struct store *server_open_there(void)
{
    struct store_error error;
    struct store *store = store_open_sqlite(path, &scene.options, &error);
    if (!store) fail_msg("%s", error.text);
    return store;
}

static struct store *look_open(void)
{
    struct store_error error;
    struct store *store = snapshot_open(path, &error);
    if (!store) fail_msg("%s", error.text);
    return store;
}

static uint64_t digest_of(struct store *store)
{
    struct rota_config config = rota_config_default();
    struct rota *rota;
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    assert_int_equal(rota_open(&config, &rota), ROTA_OK);
    event.restore.records = store_rows(store, &event.restore.count);
    assert_true(event.restore.count > 0);
    assert_int_equal(rota_step(rota, &event), ROTA_OK);
    uint64_t digest = rota_digest(rota);
    rota_close(rota);
    return digest;
}

static bool first_take(void *context, const struct snapshot_attempt *attempt)
{
    struct snapshot_attempt *first = context;
    if (!first->it.attempt) *first = *attempt;
    return true;
}

static bool one_take(void *context, const struct snapshot_attempt *attempt)
{
    struct snapshot_attempt *wanted = context;
    bool same = attempt->it.task.task == wanted->it.task.task
                && attempt->it.attempt == wanted->it.attempt;
    if (!same) return true;
    *wanted = *attempt;
    wanted->it.end = strdup(attempt->it.end);
    wanted->it.reason = attempt->it.reason ? strdup(attempt->it.reason) : NULL;
    return true;
}

static bool names_count(void *context, const struct snapshot_task *task)
{
    assert_non_null(task->status);
    *(uint32_t *)context += task->id.task != 0;
    return true;
}

static void a_snapshot_of_another_schema_version_says_what_to_do(void **state)
{
    (void)state;
    struct store_error error;
    for (int version = 0; version < 4; version += 2) {
        file_make();
        sql_run(version ? "PRAGMA user_version = 2" : "PRAGMA user_version = 0");
        assert_null(snapshot_open(path, &error));
        assert_non_null(strstr(error.text, "but this rota uses version 1 (use the rota that"));
        assert_int_equal(store_exit_status(&error), 2);
    }
}

// ---- Looking ----------------------------------------------------------------------------

static void a_snapshot_restores_the_core_while_a_server_runs(void **state)
{
    (void)state;
    uint32_t tasks = 0;
    file_make();
    struct store *server = server_open_there(), *look = look_open();
    assert_int_equal(digest_of(look), scene.digests[9]);
    assert_true(snapshot_last_job(look) > 0);
    assert_true(snapshot_tasks(look, 1, names_count, &tasks));
    assert_true(tasks > 0);
    struct catalog_rows rows;
    assert_true(store_catalog(look, &rows));
    catalog_rows_release(&rows);
    store_close(look);
    store_close(server);
}

static bool is_answered(struct store *store)
{
    struct store_request request = {.id = "look"};
    return store_answer_find(store, &request) && strcmp(request.answer, "seen") == 0;
}

static void a_snapshot_does_not_change(void **state)
{
    (void)state;
    struct store_request request = {.id = "look", .answer = "seen"};
    file_make();
    struct store *server = server_open_there(), *before = look_open();
    assert_false(is_answered(before));
    store_begin(server, 1000);
    store_answer(server, &request);
    assert_true(store_commit(server));
    assert_false(is_answered(before));
    struct store *after = look_open();
    assert_true(is_answered(after));
    store_close(before);
    store_close(after);
    store_close(server);
}

static void reports_of_workers_are_stored(void **state)
{
    (void)state;
    struct store_error error;
    struct snapshot_attempt first = {0};
    file_make();
    struct store *server = server_open_there(), *look = look_open();
    assert_true(snapshot_attempts(look, 1, first_take, &first));
    assert_true(first.it.attempt > 0);
    store_close(look);

    struct store_attempt said = {
        .task = first.it.task, .attempt = first.it.attempt, .end = "signal", .status = 9,
        .reason = "it was \"killed\"", .began = 100, .ended = 250, .user = 7, .system = 8,
        .memory_bytes = 1ull << 40, .log_bytes = 12, .flags = 4};
    store_begin(server, 1000);
    store_put_attempt(server, &said);
    store_put_attempt(server, &said);  // twice is as good as once
    assert_true(store_commit(server));
    store_close(server);

    look = look_open();
    assert_true(snapshot_attempts(look, 1, one_take, &first));
    assert_string_equal(first.it.end, "signal");
    assert_string_equal(first.it.reason, "it was \"killed\"");
    assert_int_equal(first.it.status, 9);
    assert_int_equal(first.it.ended - first.it.began, 150);
    assert_int_equal(first.it.user + first.it.system, 15);
    assert_true(first.it.memory_bytes == 1ull << 40);
    assert_int_equal(first.it.log_bytes, 12);
    assert_int_equal(first.it.flags, 4);
    free((void *)(uintptr_t)first.it.end);
    free((void *)(uintptr_t)first.it.reason);
    store_close(look);
    assert_int_equal(store_verify(path, stderr, &error), 0);
}

// Others take and release locks all the time: lists of them are never whole.
static void *locks_churn(void *over)
{
    char name[200];
    snprintf(name, sizeof name, "%s-other", path);
    while (!atomic_load((atomic_bool *)over)) {
        int files[50];
        for (int i = 0; i < 50; i++) {
            files[i] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            flock(files[i], LOCK_SH);
        }
        for (int i = 0; i < 50; i++) close(files[i]);
    }
    unlink(name);
    return NULL;
}

static void a_lock_test_ignores_other_locks(void **state)
{
    (void)state;
    atomic_bool over = false;
    pthread_t churns;
    file_make();
    assert_false(store_is_held(path));
    struct store *server = server_open_there();
    assert_int_equal(pthread_create(&churns, NULL, locks_churn, &over), 0);
    uint32_t seen = 0;
    for (int i = 0; i < 3000; i++) seen += store_is_held(path);
    atomic_store(&over, true);
    pthread_join(churns, NULL);
    assert_int_equal(seen, 3000);
    store_close(server);
    assert_false(store_is_held(path));
}

static void a_file_that_is_not_a_database_is_refused(void **state)
{
    (void)state;
    struct store_error error;
    both_remove(path);
    assert_null(snapshot_open(path, &error));
    assert_int_equal(store_exit_status(&error), 2);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("once upon a time there was no database at all", file);
    fclose(file);
    assert_null(snapshot_open(path, &error));
    assert_non_null(strstr(error.text, "is not a database"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_of_another_schema_version_says_what_to_do),
        cmocka_unit_test(a_snapshot_restores_the_core_while_a_server_runs),
        cmocka_unit_test(a_snapshot_does_not_change),
        cmocka_unit_test(reports_of_workers_are_stored),
        cmocka_unit_test(a_lock_test_ignores_other_locks),
        cmocka_unit_test(a_file_that_is_not_a_database_is_refused),
    };
    snprintf(path, sizeof path, "%s/rota-look-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_remove(path);
    return failed;
}
