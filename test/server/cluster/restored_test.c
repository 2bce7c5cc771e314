// restored_test.c - reports count only with their token, and a restored database is noticed.
#include "server/cluster/tokens.h"
#include "scene.h"

#include <string.h>

static enum rota_task_state state_of(uint32_t job, uint32_t task)
{
    return rota_task_state(peers.server.rota, (rota_task_id){job, task});
}

static uint32_t recorded(struct played *played)
{
    struct wire_message message;
    peers_turn(&peers);
    return played_hears_kind(played, WIRE_RECORDED_MESSAGE, &message) ? message.recorded.how : 0;
}

static void only_its_token_counts(rota_object_id key)
{
    a_cluster_of_one();
    peers_key = key;
    submits(7, 1, 0, 0);
    peers_key = (rota_object_id){0};
    peers_turn(&peers);
    struct wire_run run = given(&worker), other = run;
    for (uint64_t token = 0; token < 3; token++) {
        other.token = token ? run.token + token : run.token - 1;
        reports(&worker, &other, WIRE_EXITED, 0);
        assert_int_equal(recorded(&worker), WIRE_IS_STALE);
        assert_int_not_equal(state_of(1, 1), ROTA_TASK_SUCCEEDED);
    }
    reports(&worker, &run, WIRE_EXITED, 0);
    assert_int_equal(recorded(&worker), WIRE_NOW_RECORDED);
    assert_int_equal(state_of(1, 1), ROTA_TASK_SUCCEEDED);
    reports(&worker, &run, WIRE_EXITED, 0);
    assert_int_not_equal(recorded(&worker), WIRE_NOW_RECORDED);
}

static void a_report_counts_only_with_the_token_of_its_attempt(void **state)
{
    (void)state;
    only_its_token_counts((rota_object_id){0});
}

// A late result is accepted by its content key, but not while its attempt is still waited for.
static void a_result_with_a_content_key_needs_its_token(void **state)
{
    (void)state;
    only_its_token_counts((rota_object_id){3, 4});
}

// The attempt is lost, so its token is removed; one that was never issued is not accepted.
static void a_late_result_with_a_token_of_the_future_is_stale(void **state)
{
    (void)state;
    a_cluster_of_one();
    peers_key = (rota_object_id){3, 4};
    submits(7, 1, 0, 0);
    peers_key = (rota_object_id){0};
    peers_turn(&peers);
    struct wire_run run = given(&worker), other = run;
    joins(&worker, NULL, 0);
    peers_turn(&peers);
    assert_int_equal(given(&worker).attempt, run.attempt + 1);
    other.token = peers.cluster.token + 1;
    reports(&worker, &other, WIRE_EXITED, 0);
    assert_int_equal(recorded(&worker), WIRE_IS_STALE);
    reports(&worker, &run, WIRE_EXITED, 0);
    assert_int_equal(recorded(&worker), WIRE_NOW_RECORDED);
}

// The server is another process by then, and has no tokens in memory.
static void a_report_for_an_earlier_server_counts(void **state)
{
    (void)state;
    struct wire_run run = given_first(7, 0);
    struct wire_attempt listed
        = {.task = run.task, .attempt = run.attempt, .token = run.token, .state = 2};
    end(NULL);
    begin_on_disk(NULL);
    greets(&worker, WIRE_WORKER, "one", 2);
    joins(&worker, &listed, 1);
    reports(&worker, &run, WIRE_EXITED, 0);
    assert_int_equal(recorded(&worker), WIRE_NOW_RECORDED);
    assert_int_equal(state_of(1, 1), ROTA_TASK_SUCCEEDED);
}

static void is_refused(struct wire_message *join)
{
    struct wire_message message;
    struct played other;
    static uint64_t connection = 10;
    played_open(&peers, &other, WIRE_WORKER);
    greets(&other, WIRE_WORKER, "two", ++connection);
    assert_false(played_says(&peers, &other, join));
    assert_true(played_hears_kind(&other, WIRE_REFUSE_MESSAGE, &message));
    assert_non_null(strstr(message.refuse.reason.bytes, "--restored"));
    assert_string_equal(peers.cluster.ahead_of_us, "two");
    played_close(&peers, &other);
    peers_turn(&peers);
}

static void a_worker_that_knows_more_than_the_database_is_refused(void **state)
{
    (void)state;
    struct wire_run run = given_first(7, 0);
    struct wire_attempt later = {.task = run.task, .attempt = run.attempt + 1, .token = run.token};
    struct wire_message message = join_of(2, NULL, 0);
    message.join.epoch = peers.cluster.epoch + 1;
    is_refused(&message);
    message.join.epoch = peers.cluster.epoch;
    message.join.opened = peers.cluster.opened + 1;  // another copy of the database had that epoch
    is_refused(&message);
    message = join_of(2, &later, 1);  // an attempt that was never assigned
    is_refused(&message);
    later = (struct wire_attempt){.task = {2, 1}, .attempt = 1, .token = run.token};
    is_refused(&message);  // a job that was never accepted
    later = (struct wire_attempt){.task = run.task, .attempt = 1, .token = peers.cluster.token + 1};
    is_refused(&message);
}

static void a_worker_of_another_server_is_refused(void **state)
{
    (void)state;
    struct wire_message message = join_of(2, NULL, 0);
    message.join.epoch = peers.cluster.epoch;
    message.join.opened = peers.cluster.opened;
    end(NULL);
    begin_on_disk(NULL);
    assert_true(peers.cluster.epoch > message.join.epoch);
    a_cluster_of_one();
    message.join.opened++;
    is_refused(&message);
    struct played other;
    message.join.opened--;  // this database had that epoch
    played_open(&peers, &other, WIRE_WORKER);
    greets(&other, WIRE_WORKER, "three", 1);
    assert_true(played_says(&peers, &other, &message));
    played_close(&peers, &other);
}

// More tokens than an epoch has: the next epoch is stored, and no token is repeated.
static void tokens_grow_beyond_their_epoch(void **state)
{
    (void)state;
    a_cluster_of_one();
    uint64_t epoch = peers.cluster.epoch;
    peers.cluster.token = ((epoch + 1) << CLUSTER_TOKENS) - 1;
    submits(7, 2, 0, 0);
    peers_turn(&peers);
    struct wire_run first = given(&worker), second = given(&worker);
    assert_true(first.token > epoch << CLUSTER_TOKENS && second.token > first.token);
    assert_int_equal(peers.cluster.epoch, epoch + 1);
    end(NULL);
    begin_on_disk(NULL);
    assert_int_equal(peers.cluster.epoch, epoch + 2);
    assert_true(peers.cluster.token > second.token);
}

static uint64_t epoch_of_a_restored_database(rota_time now)
{
    end(NULL);
    peers_restored = true;
    begin_on_disk_at(now);
    peers_restored = false;
    return peers.cluster.epoch;
}

// The lost server was started many times after the backup was made; the clock shows an earlier time
// than then, by a day or by a second.
static void tokens_grow_even_if_the_clock_is_earlier_than_the_backup(void **state)
{
    (void)state;
    enum { STARTS = 60000 };
    end(NULL);
    begin_on_disk_at(86400000000);
    uint64_t epoch = peers.cluster.epoch;
    uint64_t first = epoch_of_a_restored_database(1000000);
    assert_true(first > epoch + STARTS);
    assert_true(epoch_of_a_restored_database(999999) > first + STARTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_report_counts_only_with_the_token_of_its_attempt,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_result_with_a_content_key_needs_its_token, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_late_result_with_a_token_of_the_future_is_stale,
                                        begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(a_report_for_an_earlier_server_counts, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(a_worker_that_knows_more_than_the_database_is_refused,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_worker_of_another_server_is_refused, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(tokens_grow_beyond_their_epoch, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(tokens_grow_even_if_the_clock_is_earlier_than_the_backup,
                                        begin_on_disk, end_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
