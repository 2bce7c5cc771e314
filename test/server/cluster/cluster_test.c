// cluster_test.c - the messages of a server, each sent only after its turn is durable.
#include "scene.h"

#include <errno.h>

static void nothing_leaves_before_it_is_durable(void **state)
{
    (void)state;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    uint64_t turn = peers_write(&peers);
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
    assert_int_equal(played_hears(&worker, &message), WIRE_NONE);
    cluster_settled(&peers.cluster, turn);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
    struct wire_run run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 0);
    turn = peers_write(&peers);
    assert_false(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    cluster_settled(&peers.cluster, turn);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_NOW_RECORDED);
}

static void a_repeated_report_is_answered_again(void **state)
{
    (void)state;
    struct wire_message message;
    struct wire_run run = given_first(7, 0);
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

// Pieces after a refused one are ignored.
static void a_refused_piece_refuses_the_submission(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    wire_text word = wire_text_of("true");
    a_cluster_of_one();
    message.submit.high = 1;
    message.submit.low = 7;
    message.submit.flags = WIRE_SUBMIT_MORE;
    message.submit.name = wire_text_of("");
    message.submit.commands = (wire_texts){&word, 1};
    assert_true(played_says(&peers, &client, &message));
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(played_hears(&client, &message), WIRE_NONE);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_NONE);
    submits(8, 1, 0, 0);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message));
}

// The rest of the first one would otherwise be taken for a complete submission.
static void pieces_of_two_submissions_are_not_mixed(void **state)
{
    (void)state;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 1, 0, WIRE_SUBMIT_MORE);
    submits(8, 1, 0, 0);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, WIRE_REFUSED_REQUEST);
    assert_true(client.peer->closing);
    struct wire_submit rest = {.low = 7};
    assert_false(played_submits(&peers, &client, &rest, command, 1, 0));
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_NONE);
}

static void an_incomplete_submission_ends_after_a_minute(void **state)
{
    (void)state;
    static const rota_time minute = 60000000;
    struct wire_message message;
    a_cluster_of_one();
    submits(7, 1, 0, WIRE_SUBMIT_MORE);
    peers_turn(&peers);
    assert_in_range(cluster_deadline(&peers.cluster), peers.now, peers.now + minute);
    peers.now += minute - 10000;
    submits(7, 1, 0, WIRE_SUBMIT_MORE);  // it continues
    peers_turn(&peers);
    peers.now += minute - 10000;
    peers_turn(&peers);
    assert_false(client.peer->closing);
    assert_int_not_equal(peers.cluster.draft_bytes, 0);
    peers.now += 20000;
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_true(client.peer->closing);
    assert_int_equal(peers.cluster.draft_bytes, 0);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 1}), ROTA_TASK_NONE);
}

static void attempts_missing_in_a_new_connection_are_lost(void **state)
{
    (void)state;
    struct played next;
    a_cluster_of_one();
    submits(7, 2, 0, 0);
    peers_turn(&peers);
    struct wire_run first = given(&worker), second = given(&worker);
    struct wire_attempt listed
        = {.task = first.task, .attempt = first.attempt, .token = first.token};
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

static void unknown_attempts_are_stopped(void **state)
{
    (void)state;
    struct wire_message message;
    struct wire_attempt stranger = {.task = {1, 9}, .attempt = 4, .state = WIRE_ATTEMPT_RUNNING};
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, &stranger, 1);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_STOP_MESSAGE, &message));
    assert_int_equal(message.stop.task.task, 9);
}

static void a_task_cancelled_while_its_worker_is_away_is_stopped(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_STARTED_MESSAGE};
    struct played next;
    struct wire_run run = given_first(7, 0);
    message.started.task = run.task;
    message.started.attempt = run.attempt;
    assert_true(played_says(&peers, &worker, &message));
    played_close(&peers, &worker);
    message = (struct wire_message){.kind = WIRE_CHANGE_MESSAGE};
    message.change.high = message.change.low = 5;
    message.change.verb = WIRE_CANCEL;
    message.change.task = run.task;
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    struct wire_attempt listed = {.task = run.task, .attempt = run.attempt, .token = run.token};
    listed.state = WIRE_ATTEMPT_RUNNING;
    played_open(&peers, &next, WIRE_WORKER);
    greets(&next, WIRE_WORKER, "one", 2);
    joins(&next, &listed, 1);
    peers_turn(&peers);
    assert_true(played_hears_kind(&next, WIRE_STOP_MESSAGE, &message));
    assert_int_equal(message.stop.attempt, run.attempt);
    assert_int_equal(message.stop.grace, WIRE_GRACE);
    played_close(&peers, &next);
    peers_turn(&peers);
}

static void a_task_started_without_a_server_is_running(void **state)
{
    (void)state;
    struct played next;
    struct wire_run run = given_first(7, 0);
    played_close(&peers, &worker);
    struct wire_attempt listed = {.task = run.task, .attempt = run.attempt, .token = run.token};
    listed.state = WIRE_ATTEMPT_RUNNING;
    played_open(&peers, &next, WIRE_WORKER);
    greets(&next, WIRE_WORKER, "one", 2);
    joins(&next, &listed, 1);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_RUNNING);
    played_close(&peers, &next);
    peers_turn(&peers);
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
    struct wire_run run = given_first(7, 1);
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    run = given(&worker);
    reports(&worker, &run, WIRE_EXITED, 3);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_FAILED);
    submits(8, 1, 0, 0);
    peers_turn(&peers);
    for (int i = 0; i < CLUSTER_LOSSES; i++) {
        run = given(&worker);
        reports(&worker, &run, WIRE_STOPPED, 15);  // the server did not ask for that
        peers_turn(&peers);
    }
    run = given(&worker);
    reports(&worker, &run, WIRE_STOPPED, 15);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_ABORTED);
}

// A command that a worker refused, or that never reached it, is not to blame.
static void an_attempt_that_never_started_does_not_count(void **state)
{
    (void)state;
    struct played next[CLUSTER_LOSSES + 2];
    struct wire_run run = given_first(7, 0);
    for (uint32_t i = 0; i < CLUSTER_LOSSES + 2; i++) {
        reports(i ? &next[i - 1] : &worker, &run, WIRE_NOT_STARTED, ESTALE);
        peers_turn(&peers);
        run = given(i ? &next[i - 1] : &worker);
        played_open(&peers, &next[i], WIRE_WORKER);
        greets(&next[i], WIRE_WORKER, "one", i + 2);
        joins(&next[i], NULL, 0);
        peers_turn(&peers);
        run = given(&next[i]);
    }
    reports(&next[CLUSTER_LOSSES + 1], &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_SUCCEEDED);
    for (uint32_t i = 0; i < CLUSTER_LOSSES + 2; i++) played_close(&peers, &next[i]);
    peers_turn(&peers);
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
    assert_false(played_says(&peers, &other, &join));  // before it introduced itself
    played_close(&peers, &other);
    peers_turn(&peers);
}

static void a_silent_worker_is_lost_after_its_lease(void **state)
{
    (void)state;
    struct wire_run run = given_first(7, 0);
    peers.now += 1500000;  // no heartbeat for longer than three
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_ASSIGNED);
    peers.now += 2500000;
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_OFFERED);
}

// A task with a content key is lost with its worker, and assigned to another one.
static struct wire_run given_up(struct played *other)
{
    a_cluster_of_one();
    peers_key = (rota_object_id){3, 4};
    submits(7, 1, 0, 0);
    peers_key = (rota_object_id){0};
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    for (int i = 0; i < 2; i++) {
        peers.now += 2500000;
        peers_turn(&peers);
    }
    played_open(&peers, other, WIRE_WORKER);
    greets(other, WIRE_WORKER, "two", 1);
    joins(other, NULL, 0);
    peers_turn(&peers);
    assert_int_equal(given(other).attempt, run.attempt + 1);
    return run;
}

static void a_late_result_counts_from_the_worker_that_had_the_attempt(void **state)
{
    (void)state;
    struct played other, back;
    struct wire_run run = given_up(&other);
    reports(&other, &run, WIRE_EXITED, 0);  // which it was never assigned
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_ASSIGNED);
    played_open(&peers, &back, WIRE_WORKER);
    greets(&back, WIRE_WORKER, "one", 2);
    joins(&back, NULL, 0);
    reports(&back, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_int_equal(rota_task_state(peers.server.rota, run.task), ROTA_TASK_SUCCEEDED);
    played_close(&peers, &other);
    played_close(&peers, &back);
    peers_turn(&peers);
}

// The worker of an attempt disconnects; true: the attempt is still its own.
static bool is_waited_for(void)
{
    struct rota_task_view view;
    peers_turn(&peers);
    assert_true(rota_task_look(peers.server.rota, (rota_task_id){1, 1}, &view));
    return view.worker.number != 0;
}

static void a_worker_goes_away_with_a_task(void)
{
    a_cluster_of_one();
    submits(7, 1, 0, 0);
    peers_turn(&peers);
    given(&worker);
    played_close(&peers, &worker);
    assert_true(is_waited_for());
}

static void a_clock_that_is_set_ahead_ends_no_lease(void **state)
{
    (void)state;
    a_worker_goes_away_with_a_task();
    peers.wall += 3600000000;
    assert_true(is_waited_for());
    peers.now += 1900000;
    assert_true(is_waited_for());
    peers.now += 200000;
    assert_false(is_waited_for());
    played_open(&peers, &worker, WIRE_WORKER);
}

static void a_clock_that_is_set_back_prolongs_no_lease(void **state)
{
    (void)state;
    a_worker_goes_away_with_a_task();
    peers.wall -= 3600000000;
    peers.now += 1900000;
    assert_true(is_waited_for());
    assert_true(cluster_deadline(&peers.cluster) <= peers.now + 100000);
    peers.now += 200000;
    assert_false(is_waited_for());
    played_open(&peers, &worker, WIRE_WORKER);
}

// The connection that was to carry it is closed, too.
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_leaves_before_it_is_durable, begin, end),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_ahead_ends_no_lease, begin, end),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_prolongs_no_lease, begin, end),
        cmocka_unit_test_setup_teardown(a_repeated_report_is_answered_again, begin, end),
        cmocka_unit_test_setup_teardown(pieces_become_one_job, begin, end),
        cmocka_unit_test_setup_teardown(a_refused_piece_refuses_the_submission, begin, end),
        cmocka_unit_test_setup_teardown(pieces_of_two_submissions_are_not_mixed, begin, end),
        cmocka_unit_test_setup_teardown(an_incomplete_submission_ends_after_a_minute, begin, end),
        cmocka_unit_test_setup_teardown(attempts_missing_in_a_new_connection_are_lost, begin, end),
        cmocka_unit_test_setup_teardown(unknown_attempts_are_stopped, begin, end),
        cmocka_unit_test_setup_teardown(a_task_started_without_a_server_is_running, begin, end),
        cmocka_unit_test_setup_teardown(a_task_cancelled_while_its_worker_is_away_is_stopped,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_older_connection_is_turned_away, begin, end),
        cmocka_unit_test_setup_teardown(failures_and_losses_are_counted_apart, begin, end),
        cmocka_unit_test_setup_teardown(an_attempt_that_never_started_does_not_count, begin, end),
        cmocka_unit_test_setup_teardown(roles_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_silent_worker_is_lost_after_its_lease, begin, end),
        cmocka_unit_test_setup_teardown(a_late_result_counts_from_the_worker_that_had_the_attempt,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_late_result_counts_from_the_worker_that_had_the_attempt,
                                        begin_on_disk, end_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
