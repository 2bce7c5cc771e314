// hub_test.c - what a server says, and what it does not say before it may.
#include "peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct peers peers;
static struct played client, worker;
static struct store *store;

static int begin(void **state)
{
    (void)state;
    store = store_open_memory();
    assert_non_null(store);
    peers_open(&peers, store);
    played_open(&peers, &client, WIRE_CLIENT);
    played_open(&peers, &worker, WIRE_WORKER);
    return 0;
}

static int end(void **state)
{
    (void)state;
    played_close(&peers, &client);
    played_close(&peers, &worker);
    peers_turn(&peers);
    peers_close(&peers);
    store_close(store);
    return 0;
}

// ---- What they say -------------------------------------------------------------------------

static void greets(struct played *played, enum wire_role role, const char *name, uint64_t number)
{
    struct wire_message message = greet_of(role, name, number);
    assert_true(played_says(&peers, played, &message));
    assert_true(played_hears_kind(played, WIRE_WELCOME_MESSAGE, &message));
}

static void joins(struct played *played, struct wire_attempt *attempts, uint32_t count)
{
    struct wire_message message = join_of(2, attempts, count);
    assert_true(played_says(&peers, played, &message));
}

static void submits(uint64_t low, uint32_t tasks, uint32_t retries, uint32_t flags)
{
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE}, message = {.kind = WIRE_SUBMIT_MESSAGE};
    struct wire_spec specs[8];
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true"), body;
    run.run.name = run.run.cwd = run.run.stdin_path = wire_text_of("");
    run.run.argv = (wire_texts){&word, 1};
    wire_put(&frame, &run);
    body = (wire_text){frame.bytes, frame.length};
    for (uint32_t i = 0; i < tasks; i++) {
        specs[i] = (struct wire_spec){.body = 1, .cores = 1, .retries = retries};
        specs[i].name = specs[i].details = wire_text_of("");
    }
    message.submit.high = 1;
    message.submit.low = low;
    message.submit.flags = flags;
    message.submit.name = wire_text_of("");
    message.submit.bodies = (wire_texts){&body, 1};
    message.submit.commands = (wire_texts){&word, 1};
    message.submit.tasks = (wire_specs){specs, tasks};
    assert_true(played_says(&peers, &client, &message));
    wire_out_release(&frame);
}

static void reports(struct played *played, const struct wire_run *run, enum wire_end how,
                    int32_t status)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    message.finished.task = run->task;
    message.finished.attempt = run->attempt;
    message.finished.token = run->token;
    message.finished.end = how;
    message.finished.status = status;
    message.finished.reason = wire_text_of("");
    assert_true(played_says(&peers, played, &message));
}

// The first RUN that the worker gets.
static struct wire_run given(struct played *played)
{
    struct wire_message message;
    assert_true(played_hears_kind(played, WIRE_RUN_MESSAGE, &message));
    return message.run;
}

static void a_cluster_of_one(void)
{
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
}

// ---- Tests -----------------------------------------------------------------------------------

static void nothing_leaves_before_it_is_durable(void **state)
{
    (void)state;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    uint64_t turn = peers_write(&peers);
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
    assert_int_equal(played_hears(&worker, &message), WIRE_NONE);
    hub_settled(&peers.hub, turn);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 0);
    turn = peers_write(&peers);
    assert_false(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    hub_settled(&peers.hub, turn);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_NOW_RECORDED);
}

static void a_report_that_comes_again_is_answered_again(void **state)
{
    (void)state;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 0);
    reports(&worker, &run, WIRE_EXITED, 3);
    run.attempt++;
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_NOW_RECORDED);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_WAS_RECORDED);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_IS_STALE);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_SUCCEEDED);
}

static void pieces_become_one_job(void **state)
{
    (void)state;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 3, 0, WIRE_SUBMIT_MORE);
    peers_turn(&peers);
    assert_false(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_NONE);
    submits(7, 2, 0, 0);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    assert_int_not_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 5}), ROTA_TASK_NONE);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 6}), ROTA_TASK_NONE);
}

static void what_a_new_connection_does_not_list_is_lost(void **state)
{
    (void)state;
    struct played next;
    a_cluster_of_one();
    submits(7, 2, 0, 0);
    peers_turn(&peers);
    struct wire_run first = given(&worker), second = given(&worker);
    struct wire_attempt listed = {.task = first.task, .attempt = first.attempt};
    listed.state = WIRE_ATTEMPT_RUNNING;
    played_open(&peers, &next, WIRE_WORKER);
    greets(&next, WIRE_WORKER, "one", 2);
    joins(&next, &listed, 1);
    peers_turn(&peers);
    struct wire_run again = given(&next);
    assert_int_equal(again.task.task, second.task.task);
    assert_int_equal(again.attempt, second.attempt + 1);
    reports(&next, &first, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, first.task), ROTA_TASK_SUCCEEDED);
    played_close(&peers, &next);
    peers_turn(&peers);
}

static void strangers_are_stopped(void **state)
{
    (void)state;
    struct wire_message message;
    struct wire_attempt stranger = {.task = {9, 9}, .attempt = 4, .state = WIRE_ATTEMPT_RUNNING};
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, &stranger, 1);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_STOP_MESSAGE, &message));
    assert_int_equal(message.stop.task.job, 9);
}

static void an_older_connection_is_turned_away(void **state)
{
    (void)state;
    struct played late;
    greets(&worker, WIRE_WORKER, "one", 5);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
    played_open(&peers, &late, WIRE_WORKER);
    struct wire_message message = greet_of(WIRE_WORKER, "one", 4);
    assert_false(played_says(&peers, &late, &message));
    assert_true(played_hears_kind(&late, WIRE_REFUSE_MESSAGE, &message));
    played_close(&peers, &late);
    peers_turn(&peers);
}

static void failures_and_losses_are_counted_apart(void **state)
{
    (void)state;
    a_cluster_of_one();
    submits(7, 1, 1, 0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_FAILED);
    submits(8, 1, 0, 0);
    peers_turn(&peers);
    for (int i = 0; i < HUB_LOSSES; i++) {
        run = given(&worker);
        reports(&worker, &run, WIRE_STOPPED, 15);  // nobody has asked for that
        peers_turn(&peers);
    }
    run = given(&worker);
    reports(&worker, &run, WIRE_STOPPED, 15);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_ABORTED);
}

static void roles_are_kept(void **state)
{
    (void)state;
    struct wire_message message = greet_of(WIRE_WORKER, "x", 1), join = join_of(1, NULL, 0);
    assert_false(played_says(&peers, &client, &message));
    struct played other;
    played_open(&peers, &other, WIRE_CLIENT);
    greets(&other, WIRE_CLIENT, "x", 0);
    assert_false(played_says(&peers, &other, &join));
    played_close(&peers, &other);
    played_open(&peers, &other, WIRE_CLIENT);
    assert_false(played_says(&peers, &other, &join));  // before it said who it is
    played_close(&peers, &other);
    peers_turn(&peers);
}

static void a_silent_worker_is_lost_after_its_lease(void **state)
{
    (void)state;
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    peers.now += 1500000;  // no heartbeat for longer than three
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_ASSIGNED);
    peers.now += 2500000;
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_OFFERED);
}

// ---- With a database -------------------------------------------------------------------------

static char path[64];

static int begin_on_disk_at(rota_time now)
{
    struct store_options options = store_options_default();
    struct store_error error;
    snprintf(path, sizeof path, "/tmp/rota-hub-%d.db", (int)getpid());
    options.ballast_bytes = 0;
    store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    peers_open_at(&peers, store, now);
    played_open(&peers, &client, WIRE_CLIENT);
    played_open(&peers, &worker, WIRE_WORKER);
    return 0;
}

static int begin_on_disk(void **state)
{
    (void)state;
    return begin_on_disk_at(4000000);
}

static void files_remove(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char name[80];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

static int end_on_disk(void **state)
{
    end(state);
    files_remove();
    return 0;
}

static uint32_t accepted(void)
{
    struct wire_message message;
    peers_turn(&peers);
    return played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message) ? message.accepted.job : 0;
}

static void a_request_is_carried_out_once_also_after_a_restart(void **state)
{
    (void)state;
    struct wire_message message;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    uint64_t id = peers.hub.id;
    end(NULL);
    begin_on_disk(NULL);
    assert_true(id && peers.hub.id == id);
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    submits(7, 3, 0, 0);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, WIRE_REFUSED_CONFLICT);
    submits(8, 1, 0, 0);
    assert_int_equal(accepted(), 2);
}

static void the_same_request_twice_in_a_turn_is_carried_out_once(void **state)
{
    (void)state;
    struct wire_message message;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, 0);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    assert_int_equal(message.accepted.job, 1);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){2, 1}), ROTA_TASK_NONE);
}

// Each life of the server is told an earlier time than the one before.
static void tokens_grow_though_the_clock_is_set_back(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (uint64_t life = 1; life <= 3; life++) {
        if (life > 1) end(NULL), begin_on_disk_at(4000000 - (rota_time)life * 1000000);
        greets(&client, WIRE_CLIENT, "client", 0);
        greets(&worker, WIRE_WORKER, "one", life);
        joins(&worker, NULL, 0);
        submits(life, 2, 0, 0);
        peers_turn(&peers);
        for (int i = 0; i < 2; i++) {
            struct wire_run run = given(&worker);
            assert_true(run.token > last);
            last = run.token;
            reports(&worker, &run, WIRE_EXITED, 0);
        }
        peers_turn(&peers);
    }
}

// What workers are told is found again by a server that never saw the job file.
static void a_job_goes_on_after_a_restart(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 1, 0, 0);
    assert_int_equal(accepted(), 1);
    end(NULL);
    begin_on_disk(NULL);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    assert_string_equal(run.argv.items[0].bytes, "true");
    reports(&worker, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_SUCCEEDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_leaves_before_it_is_durable, begin, end),
        cmocka_unit_test_setup_teardown(a_report_that_comes_again_is_answered_again, begin, end),
        cmocka_unit_test_setup_teardown(pieces_become_one_job, begin, end),
        cmocka_unit_test_setup_teardown(what_a_new_connection_does_not_list_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(strangers_are_stopped, begin, end),
        cmocka_unit_test_setup_teardown(an_older_connection_is_turned_away, begin, end),
        cmocka_unit_test_setup_teardown(failures_and_losses_are_counted_apart, begin, end),
        cmocka_unit_test_setup_teardown(roles_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_silent_worker_is_lost_after_its_lease, begin, end),
        cmocka_unit_test_setup_teardown(a_request_is_carried_out_once_also_after_a_restart,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(the_same_request_twice_in_a_turn_is_carried_out_once,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(tokens_grow_though_the_clock_is_set_back, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_job_goes_on_after_a_restart, begin_on_disk, end_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
