// restart_test.c - a server with a database, and its state after a restart.
#include "server/cluster/tokens.h"
#include "scene.h"

#include <errno.h>

static void a_request_is_carried_out_once_also_after_a_restart(void **state)
{
    (void)state;
    struct wire_message message;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    uint64_t id = peers.cluster.id;
    end(NULL);
    begin_on_disk(NULL);
    assert_true(id && peers.cluster.id == id);
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

// Each server process sees an earlier time than the one before.
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

static struct wire_run given_soon(void)
{
    for (int i = 0; i < 20; i++) {
        peers.now += 100000;
        peers_turn(&peers);
    }
    return given(&worker);
}

// The server is killed while the worker is connected, and its next process sees an earlier time.
static void a_backoff_ends_though_the_clock_is_set_back(void **state)
{
    (void)state;
    struct wire_submit submit = {.low = 1, .policy = ROTA_POLICY_PULL};
    a_cluster_of_one();
    assert_true(played_submits(&peers, &client, &submit, command, 1, 1));
    struct wire_run run = given_soon();
    peers.now += 1000000000;
    reports(&worker, &run, WIRE_BAD_INPUT, ENODATA);
    peers_turn(&peers);
    peers_close(&peers);
    played_forget(&client);
    played_forget(&worker);
    store_close(store);
    begin_on_disk_at(1000000);
    a_cluster_of_one();
    assert_int_equal(given_soon().attempt, 2);
}

// It names new lanes, groups and machines, and an unknown task.
static void a_refused_submission_stores_nothing(void **state)
{
    (void)state;
    struct wire_spec specs[2] = {{.lane = 1, .group = 1, .machine = 1, .access = ROTA_ACCESS_READ},
                                 {.lane = 2, .access = ROTA_ACCESS_WRITE}};
    struct wire_message message = draft_of(7, 0, specs, 2), answer;
    struct wire_lane lanes[2] = {{wire_text_of("new"), ROTA_LANE_STRICT}, {wire_text_of("x"), 0}};
    wire_text group = wire_text_of("group"), machine = wire_text_of("machine");
    struct wire_edge edges[2] = {{1, 2}, {2, 1}};
    message.submit.lanes = (wire_lanes){lanes, 2};
    message.submit.groups = (wire_texts){&group, 1};
    message.submit.machines = (wire_texts){&machine, 1};
    message.submit.edges = (wire_edges){edges, 2};
    greets(&client, WIRE_CLIENT, "client", 0);
    for (int i = 0; i < 2; i++) {
        assert_true(played_says(&peers, &client, &message));
        peers_turn(&peers);
        assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &answer));
        assert_int_equal(answer.refuse.code, WIRE_REFUSED_REQUEST);
        rows_are("sched_lane", 0);
        rows_are("sched_name", 0);
        rows_are("sched_body", 0);
        lanes[0].flags = ROTA_LANE_GONE;  // only the core may use this flag
        message.submit.low++;
    }
    lanes[0].flags = 0;
    message.submit.edges.count = 1;
    assert_true(played_says(&peers, &client, &message));
    assert_int_equal(accepted(), 1);
    rows_are("sched_lane", 2);
    rows_are("sched_name", 4);
    message = draft_of(20, 9, specs, 1);  // no such job
    message.submit.lanes = (wire_lanes){lanes, 1};
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &answer));
    assert_int_equal(answer.refuse.code, WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(peers.cluster.job_count, 1);
}

// Stored bodies are counted, although they were not loaded in this process.
static void an_open_job_grows_also_after_a_restart(void **state)
{
    (void)state;
    struct wire_message message;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    end(NULL);
    begin_on_disk(NULL);
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, NULL, 0);
    grows_to = 1;
    command = "false";
    submits(8, 1, 0, 0);
    grows_to = 0;
    command = "true";
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    assert_int_equal(message.accepted.job, 1);
    assert_int_equal(message.accepted.first, 3);
    for (uint32_t i = 1; i <= 3; i++) {
        struct wire_run run = given(&worker);
        assert_int_equal(run.task.task, i);
        assert_string_equal(run.argv.items[0].bytes, i < 3 ? "true" : "false");
        reports(&worker, &run, WIRE_EXITED, 0);
        peers_turn(&peers);
    }
}

// A client submits a job, the server is restarted, and then a worker joins.
static void restarts_with_job_of(uint32_t tasks)
{
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, tasks, 0, 0);
    assert_int_equal(accepted(), 1);
    end(NULL);
    begin_on_disk(NULL);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
}

// Commands are found again by a server process that never saw the job file.
static void a_job_resumes_after_a_restart(void **state)
{
    (void)state;
    restarts_with_job_of(1);
    struct wire_run run = given(&worker);
    assert_string_equal(run.argv.items[0].bytes, "true");
    reports(&worker, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_SUCCEEDED);
}

static void a_job_that_ends_after_a_restart_is_forgotten_too(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = 1}};
    restarts_with_job_of(2);
    for (int i = 0; i < 2; i++) {
        struct wire_run run = given(&worker);
        reports(&worker, &run, WIRE_EXITED, 0);
    }
    peers_turn(&peers);  // it has ended; the next turn would close it
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "SUCCESS");
    cluster_close(&peers.cluster), server_close(&peers.server);
    played_forget(&client), played_forget(&worker);
    store_close(store);
    begin_on_disk(NULL);
    peers_turn(&peers);
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "");
    assert_int_equal(peers.cluster.job_count, 0);
    greets(&client, WIRE_CLIENT, "client", 0);
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_OVER_MESSAGE, &message));
    assert_int_equal(message.over.tasks, 2);
    assert_int_equal(message.over.succeeded, 2);
}

static void a_job_is_closed_by_hand(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    message.change.high = 1;
    message.change.low = 9;
    message.change.verb = WIRE_CLOSE;
    message.change.task.job = 1;
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    assert_int_equal(accepted(), 1);
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "FAILED");
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_DONE_MESSAGE, &message));
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "");
    message = (struct wire_message){.kind = WIRE_WATCH_MESSAGE, .watch = {.job = 1}};
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_OVER_MESSAGE, &message));
    assert_int_equal(message.over.failed, 1);
}

static void a_job_that_is_started_again_as_it_ends_stays(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    assert_int_equal(accepted(), 1);
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 0);
    message.change.high = message.change.low = 9;
    message.change.verb = WIRE_START;
    message.change.task = run.task;
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);  // it has ended, and is started again
    assert_true(played_hears_kind(&client, WIRE_DONE_MESSAGE, &message));
    peers_turn(&peers);
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "RUNNING");
    run = given(&worker);
    assert_int_equal(run.attempt, 2);
    reports(&worker, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    peers_turn(&peers);
    assert_string_equal(rota_job_status(peers.server.rota, (rota_job_id){1}), "");
}

// ---- A shorter lease -----------------------------------------------------------------------

enum { LONG = 10000000, SHORT = 1000000 };

static void starts_with(rota_time lease)
{
    peers_lease = lease;
    begin_on_disk(NULL);
}

static void starts_again_with(rota_time lease)
{
    end(NULL);
    starts_with(lease);
}

// The worker was told LONG, and its server is gone.
static int begin_with_a_worker(void **state)
{
    (void)state;
    starts_with(LONG);
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    given(&worker);
    starts_again_with(SHORT);
    return 0;
}

static int end_with_the_usual_lease(void **state)
{
    peers_lease = SHORT;
    peers_restored = false;
    return end_on_disk(state);
}

static void seconds_pass(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        struct wire_message beat = {.kind = WIRE_BEAT_MESSAGE, .beat = {.sent = 5}};
        peers.now += 1000000;
        if (worker.peer->worker) assert_true(played_says(&peers, &worker, &beat));
        peers_turn(&peers);
    }
}

static bool is_given(void)
{
    struct wire_message message;
    return played_hears_kind(&worker, WIRE_RUN_MESSAGE, &message);
}

static void a_worker_keeps_a_longer_lease_it_was_granted(void **state)
{
    (void)state;
    greets(&worker, WIRE_WORKER, "two", 1);
    joins(&worker, NULL, 0);
    seconds_pass(12);
    assert_false(is_given());
    seconds_pass(4);
    assert_true(is_given());
    starts_again_with(SHORT);  // no worker relies on the longer one any more
    assert_int_equal(cluster_lease(store, &peers.cluster.limits, 1), 1);
}

static void a_server_that_is_started_twice_waits_for_the_longer_lease(void **state)
{
    (void)state;
    seconds_pass(10);
    starts_again_with(SHORT);
    greets(&worker, WIRE_WORKER, "two", 1);
    joins(&worker, NULL, 0);
    seconds_pass(12);
    assert_false(is_given());
    seconds_pass(4);
    assert_true(is_given());
}

static void a_restored_database_is_quiet_for_the_longer_lease(void **state)
{
    (void)state;
    peers_restored = true;
    starts_again_with(SHORT);
    seconds_pass(12);
    assert_true(cluster_is_quiet(&peers.cluster));
    seconds_pass(4);
    assert_false(cluster_is_quiet(&peers.cluster));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_carried_out_once_also_after_a_restart,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(the_same_request_twice_in_a_turn_is_carried_out_once,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(tokens_grow_though_the_clock_is_set_back, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_backoff_ends_though_the_clock_is_set_back, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_refused_submission_stores_nothing, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(an_open_job_grows_also_after_a_restart, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_job_resumes_after_a_restart, begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(a_job_that_ends_after_a_restart_is_forgotten_too,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(a_job_is_closed_by_hand, begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(a_job_that_is_started_again_as_it_ends_stays, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_worker_keeps_a_longer_lease_it_was_granted,
                                        begin_with_a_worker, end_with_the_usual_lease),
        cmocka_unit_test_setup_teardown(a_server_that_is_started_twice_waits_for_the_longer_lease,
                                        begin_with_a_worker, end_with_the_usual_lease),
        cmocka_unit_test_setup_teardown(a_restored_database_is_quiet_for_the_longer_lease,
                                        begin_with_a_worker, end_with_the_usual_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
