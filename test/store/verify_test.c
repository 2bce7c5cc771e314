// verify_test.c - the verifier is content with a sound file and finds each planted fault.
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
#include "store/query.h"

static char path[128];

static const struct {
    const char *sql, *words;
} faults[] = {
    {"INSERT INTO sched_wait(id, status) SELECT id, 'WAITING' FROM sched_exec", "more than one"},
    {"DELETE FROM sched_exec", "is staged and in no table"},
    {"INSERT INTO sched_last(id, status) SELECT id, 'SUCCESS' FROM sched_exec",
     "is in a table and not staged"},
    {"UPDATE sched_exec SET status = 'WAITING'", "another table than sched_exec"},
    {"UPDATE sched_wait SET status = 'RUNNING'", "another table than sched_wait"},
    {"UPDATE sched_last SET status = 'ODD' WHERE status = 'SUCCESS'", "cannot have"},
    {"INSERT INTO sched_unstage(id, status) VALUES (1, 'SUCCESS')", "sched_unstage"},
    {"UPDATE sched_exec SET worker = 77", "runs on a worker that is not there"},
    {"DELETE FROM sched_lane", "stands in a lane that is not there"},
    {"DELETE FROM sched_graph", "in a job that is gone"},
    {"DELETE FROM sched_submit", "has no submission"},
    {"UPDATE sched_submit SET first = 2", "do not follow each other"},
    {"DELETE FROM sched_event WHERE sequence = 3", "turns missing in the journal"},
    {"INSERT INTO sched_run(id, attempt, status, started, ended)"
     " SELECT id, attempt, status, started, ended FROM sched_run",
     "one attempt twice"},
    {"DELETE FROM sched_run", "not in the history"},
    {"UPDATE sched_run SET ended = started - 1", "before it began"},
    {"INSERT INTO sched_attempt(id, attempt, end) VALUES (77 << 32 | 1, 1, 'exit')",
     "reported and was never defined"},
    {"INSERT INTO sched_attempt(id, attempt, end) SELECT id, 999, 'exit' FROM sched_job LIMIT 1",
     "reported and is not in the history"},
    {"INSERT INTO sched_last(id, status) VALUES (77 << 32 | 1, 'IDLE')",
     "how far it is and was never defined"},
    {"UPDATE sched_request SET turn = 1000", "a turn that never was"},
    {"DELETE FROM sched_task WHERE id & 65535 = 8", "is in a table and not staged"},
    {"UPDATE sched_task SET needs = '1 99' WHERE id & 65535 = 8", "no core can be made of it"},
    {"UPDATE sched_task SET condition = 'su(' WHERE id & 65535 = 7", "cannot be read"},
    {"UPDATE sched_task SET outputs = '0-zz' WHERE id & 65535 = 1", "cannot be read"},
    {"UPDATE sched_exec SET outcome = 'odd'", "does not exist"},
};

// The file of a server that was killed in the middle of the story.
static void file_make(void)
{
    struct scene scene = {.path = path, .turns = 9};
    scene.options = store_options_default();
    scene.options.ballast_bytes = 0;
    scene.options.wal_pages = 50;
    assert_true(scene_run(&scene));
}

static uint32_t verify(char **said)
{
    struct store_error error;
    size_t size;
    FILE *out = open_memstream(said, &size);
    assert_non_null(out);
    uint32_t broken = store_verify(path, out, &error);
    fclose(out);
    assert_int_equal(error.fault, STORE_FINE);
    return broken;
}

static void a_sound_file_is_sound(void **state)
{
    (void)state;
    char *said;
    file_make();
    if (verify(&said)) fail_msg("%s", said);
    free(said);
}

static void each_planted_fault_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sqlite3 *db;
        char *said;
        file_make();
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        if (sqlite3_exec(db, faults[i].sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(db));
        assert_true(sqlite3_changes(db) > 0);
        sqlite3_close(db);
        uint32_t broken = verify(&said);
        if (!broken || !strstr(said, faults[i].words)) {
            fail_msg("%s: %u found: %s", faults[i].sql, broken, said);
        }
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_sound),
        cmocka_unit_test(each_planted_fault_is_found),
    };
    snprintf(path, sizeof path, "%s/rota-verify-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_remove(path);
    return failed;
}
