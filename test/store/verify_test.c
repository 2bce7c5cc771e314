// verify_test.c - rota verify accepts a valid file and finds each planted fault.
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

#include "both.h"
#include "scene.h"
#include "store/sqlite/query.h"

static char path[128];

#define AUDIT "DROP TRIGGER sched_audit_changes; DROP TRIGGER sched_audit_goes;"

static const struct {
    const char *sql, *words;
} faults[] = {
    {"UPDATE sched_state SET worker = NULL WHERE status IN ('ASSIGNED', 'RUNNING')",
     "is assigned without a worker"},
    {"DELETE FROM sched_state WHERE status IN ('ASSIGNED', 'RUNNING');"
     "UPDATE sched_task SET status = 'RUNNING' WHERE id & 65535 = 8",
     "is assigned but has no state row"},
    {"UPDATE sched_state SET status = 'ODD' WHERE status = 'SUCCESS'", "has an unknown status"},
    {"UPDATE sched_task SET status = NULL WHERE id NOT IN (SELECT id FROM sched_state)",
     "has an unknown status"},
    {"INSERT INTO sched_bundle SELECT max(id) FROM sched_exec", "is not an active bundle"},
    {"UPDATE sched_state SET worker = 77 WHERE status IN ('ASSIGNED', 'RUNNING')",
     "runs on an unknown worker"},
    {"DELETE FROM sched_lane", "is in an unknown lane"},
    {"DELETE FROM sched_graph", "is active in a removed job"},
    {"DELETE FROM sched_submit", "has no submission"},
    {"UPDATE sched_submit SET first = 2", "has a gap between its submissions"},
    {"DELETE FROM sched_event WHERE sequence = 3", "turns missing from the journal"},
    {"INSERT INTO sched_run(id, attempt, seq, started, ended) SELECT id, attempt, 9999, 0, 0"
     " FROM sched_state WHERE seq IS NOT NULL LIMIT 1",
     "an attempt twice"},
    {"UPDATE sched_state SET seq = 1 WHERE seq IS NOT NULL", "is not unique"},
    {"UPDATE sched_state SET seq = NULL WHERE status = 'SUCCESS'", "not in the history"},
    {"UPDATE sched_state SET ended = started - 1 WHERE seq IS NOT NULL", "ended before it started"},
    {"UPDATE sched_state SET seq = 9999 WHERE status IN ('ASSIGNED', 'RUNNING')",
     "ended but is running"},
    {"INSERT INTO sched_run(id, attempt, seq) VALUES (77 << 32 | 1, 1, 9999)",
     "has earlier attempts but no definition"},
    {"UPDATE sched_state SET \"end\" = 'exit' WHERE seq IS NULL",
     "reported attempt that is not in the history"},
    {"INSERT INTO sched_state(id, status) VALUES (77 << 32 | 1, 'IDLE')",
     "has a state row but no definition"},
    {"UPDATE sched_request SET turn = 1000", "requests answered in a turn that does not exist"},
    {AUDIT "DELETE FROM sched_audit WHERE number = 1", "1 lines missing from the audit log"},
    {AUDIT "UPDATE sched_audit SET turn = 1000", "audit log in a turn that does not exist"},
    {AUDIT "UPDATE sched_audit SET turn = 1 WHERE number = 2", "audit log out of order"},
    {AUDIT "UPDATE sched_audit SET line = '{}'", "2 missing triggers that protect the audit log"},
    {"DELETE FROM sched_task WHERE id IN (SELECT id FROM sched_state)", "but no definition"},
    {"UPDATE sched_task SET needs = '1 99' WHERE id & 65535 = 8", "the core refuses these rows"},
    {"UPDATE sched_task SET condition = 'su(' WHERE id & 65535 = 7", "has an invalid column"},
    {"UPDATE sched_task SET outputs = '0-zz' WHERE id & 65535 = 1", "has an invalid column"},
    {"UPDATE sched_state SET outcome = 'odd'", "has an invalid state"},
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

static void a_valid_file_has_no_findings(void **state)
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
        char *said;
        file_make();
        assert_true(both_change(path, faults[i].sql) > 0);
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
        cmocka_unit_test(a_valid_file_has_no_findings),
        cmocka_unit_test(each_planted_fault_is_found),
    };
    snprintf(path, sizeof path, "%s/rota-verify-%ld", both_folder(), (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_remove(path);
    return failed;
}
