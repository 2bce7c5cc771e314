// turn_test.c - a turn changes the core and the store together, or neither.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "turn/turn.h"
#include "store/store_kind.h"

static const struct rota_task_spec one_task[] = {{.cores = 1}};
static const struct store_text one_text[] = {{.name = "one", .command = "true"}};
static const struct rota_job_spec one_job = {.tasks = one_task, .task_count = 1};
static const rota_task_id first = {1, 1};

// A store in memory whose disk is full, or whose commits fail, when the test says so.
struct bad_store {
    struct store store;
    struct store_kind kind;
    struct store *inner;
    bool full, fails;
};

static void bad_close(struct store *store)
{
    store_close(((struct bad_store *)store)->inner);
}

static void bad_begin(struct store *store, rota_time now)
{
    store_begin(((struct bad_store *)store)->inner, now);
}

static void bad_put(struct store *store, const struct rota *rota, const struct rota_record *records,
                    uint32_t count)
{
    store_put(((struct bad_store *)store)->inner, rota, records, count);
}

static bool bad_commit(struct store *store)
{
    struct bad_store *bad = (struct bad_store *)store;
    if (bad->fails) store_fail(&store->error, STORE_BROKEN, "the disk is gone");
    return !bad->fails && store_commit(bad->inner);
}

static bool bad_is_full(const struct store *store)
{
    return ((const struct bad_store *)store)->full;
}

static const struct rota_record *bad_rows(struct store *store, uint32_t *count)
{
    return store_rows(((struct bad_store *)store)->inner, count);
}

static void bad_rows_release(struct store *store)
{
    store_rows_release(((struct bad_store *)store)->inner);
}

struct stage {
    struct bad_store bad;
    struct server server;
};

static int stage_open(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    if (!stage) return -1;
    stage->bad.kind = (struct store_kind){.close = bad_close,
                                          .begin = bad_begin,
                                          .put = bad_put,
                                          .commit = bad_commit,
                                          .is_full = bad_is_full,
                                          .rows = bad_rows,
                                          .rows_release = bad_rows_release};
    stage->bad.store.kind = &stage->bad.kind;
    stage->bad.inner = store_open_memory();
    struct rota_config config = rota_config_default();
    *state = stage;
    return server_open(&stage->server, &stage->bad.store, &config) ? 0 : -1;
}

static int stage_close(void **state)
{
    struct stage *stage = *state;
    server_close(&stage->server);
    store_close(&stage->bad.store);
    free(stage);
    return 0;
}

static void one_submit(struct server *server)
{
    server_begin(server, 1000);
    assert_int_equal(server_submit(server, &one_job, one_text), ROTA_OK);
    assert_true(server_commit(server));
}

static void actions_come_with_the_commit(void **state)
{
    struct server *server = &((struct stage *)*state)->server;
    server_begin(server, 1000);
    assert_int_equal(server->next_job.number, 1);
    assert_int_equal(server_submit(server, &one_job, one_text), ROTA_OK);
    assert_int_equal(server->action_count, 0);
    assert_true(server_commit(server));
    assert_int_equal(server->action_count, 1);
    assert_int_equal(server->actions[0].accept.job.number, 1);
    assert_int_equal(server->next_job.number, 2);
}

static void a_refused_event_changes_nothing(void **state)
{
    struct server *server = &((struct stage *)*state)->server;
    struct rota_event event = {.kind = ROTA_EVENT_STAGE, .task = {first}};
    uint64_t before = rota_digest(server->rota);
    server_begin(server, 1000);
    assert_int_equal(server_step(server, &event), ROTA_NOT_FOUND);
    assert_string_equal(server->reason, "no such task: 1.1");
    assert_int_equal(rota_digest(server->rota), before);
}

static void a_turn_can_be_undone(void **state)
{
    struct server *server = &((struct stage *)*state)->server;
    one_submit(server);
    uint64_t before = rota_digest(server->rota);
    server_begin(server, 5000);
    assert_int_equal(server_submit(server, &one_job, one_text), ROTA_OK);
    assert_int_not_equal(rota_digest(server->rota), before);
    assert_true(server_undo(server));
    assert_int_equal(rota_digest(server->rota), before);
    assert_int_equal(server->next_job.number, 2);
    one_submit(server);
}

static void a_restart_resumes(void **state)
{
    struct stage *stage = *state;
    one_submit(&stage->server);
    uint64_t before = rota_digest(stage->server.rota);
    struct rota_config config = stage->server.config;
    server_close(&stage->server);
    assert_true(server_open(&stage->server, &stage->bad.store, &config));
    assert_int_equal(rota_digest(stage->server.rota), before);
    assert_int_equal(stage->server.next_job.number, 2);
}

static void a_full_disk_takes_ends_and_no_new_work(void **state)
{
    struct stage *stage = *state;
    struct server *server = &stage->server;
    one_submit(server);
    stage->bad.full = true;
    server_begin(server, 5000);
    assert_int_equal(server_submit(server, &one_job, one_text), ROTA_TOO_MANY);
    assert_non_null(strstr(server->reason, "full"));
    struct rota_event event = {.kind = ROTA_EVENT_CANCEL, .task = {first}};
    assert_int_equal(server_step(server, &event), ROTA_OK);
    event.kind = ROTA_EVENT_STAGE;
    assert_int_equal(server_step(server, &event), ROTA_TOO_MANY);
    assert_true(server_commit(server));
    assert_int_equal(rota_task_state(server->rota, first), ROTA_TASK_ABORTED);
}

static void a_failed_commit_sends_no_actions(void **state)
{
    struct stage *stage = *state;
    stage->bad.fails = true;
    server_begin(&stage->server, 1000);
    assert_int_equal(server_submit(&stage->server, &one_job, one_text), ROTA_OK);
    assert_false(server_commit(&stage->server));
    assert_int_equal(stage->server.action_count, 0);
    assert_int_equal(server_exit_status(&stage->server), 70);
}

// Small and large pieces, more than one block has, and again in the memory of an earlier turn.
static void memory_of_a_turn_is_zero_and_its_own(void **state)
{
    static const size_t sizes[] = {0, 1, 24, 1000, 60000, 65536, 65537, 300000, 8};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct stage *stage = *state;
    for (unsigned turn = 0; turn < 4; turn++) {
        unsigned char *pieces[COUNT];
        unsigned count = turn % 2 ? COUNT : 4;
        server_begin(&stage->server, 1000);
        for (unsigned i = 0; i < count; i++) {
            pieces[i] = server_keep(&stage->server, sizes[i], 1);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % sizeof(void *), 0);
            for (size_t at = 0; at < sizes[i]; at++) assert_int_equal(pieces[i][at], 0);
            memset(pieces[i], (int)i + 1, sizes[i]);
        }
        for (unsigned i = 0; i < count; i++)
            for (size_t at = 0; at < sizes[i]; at++) assert_int_equal(pieces[i][at], i + 1);
        assert_true(server_commit(&stage->server));
    }
    assert_null(server_keep(&stage->server, SIZE_MAX / 2, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(actions_come_with_the_commit, stage_open, stage_close),
        cmocka_unit_test_setup_teardown(a_refused_event_changes_nothing, stage_open, stage_close),
        cmocka_unit_test_setup_teardown(a_turn_can_be_undone, stage_open, stage_close),
        cmocka_unit_test_setup_teardown(a_restart_resumes, stage_open, stage_close),
        cmocka_unit_test_setup_teardown(a_full_disk_takes_ends_and_no_new_work, stage_open,
                                        stage_close),
        cmocka_unit_test_setup_teardown(a_failed_commit_sends_no_actions, stage_open, stage_close),
        cmocka_unit_test_setup_teardown(memory_of_a_turn_is_zero_and_its_own, stage_open,
                                        stage_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
