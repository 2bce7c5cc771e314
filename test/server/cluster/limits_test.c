// limits_test.c - texts of peers that are too long are refused or cut, and disturb no other peer.
#include "scene.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 1 << 20, ADDRESS_MAX = 512, REASON_MAX = 4096 };

// As many characters of three bytes each as fit.
static wire_text long_text(uint32_t length)
{
    char *text = calloc(1, (size_t)length + 4);
    assert_non_null(text);
    for (uint32_t i = 0; i + 3 <= length; i += 3) memcpy(text + i, "\xe2\x82\xac", 3);
    return wire_text_of(text);
}

static bool may_join(struct played *played, uint64_t connection, uint32_t length)
{
    struct wire_message message = join_of(1, NULL, 0);
    char *address = malloc((size_t)length + 1);
    memset(address, 'a', length);
    address[length] = 0;
    message.join.address = wire_text_of(address);
    greets(played, WIRE_WORKER, "one", connection);
    bool joined = played_says(&peers, played, &message);
    free(address);
    return joined;
}

static void a_long_address_is_refused(void **state)
{
    (void)state;
    assert_false(may_join(&worker, 1, ADDRESS_MAX + 1));
    played_close(&peers, &worker);
    played_open(&peers, &worker, WIRE_WORKER);
    assert_true(may_join(&worker, 2, ADDRESS_MAX));
}

static void a_message_that_is_too_long_ends_only_its_connection(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_DONE_MESSAGE};
    wire_text text = long_text(WIRE_FRAME_MAX + LONG);
    struct wire_run run = given_first(7, 0);
    message.done.answer = text;
    wire_put(cluster_later(&peers.cluster, client.peer), &message);
    reports(&worker, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    assert_true(client.peer->closing && client.out.failed);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    free((char *)text.bytes);
}

static void is_cut(const char *reason)
{
    assert_int_equal(strlen(reason), REASON_MAX / 3 * 3);
}

static void the_reason_of_a_worker_is_cut(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
    wire_text text = long_text(LONG);
    struct wire_run run = given_first(7, 0);
    assert_true(played_says(&peers, &client, &message));
    message = (struct wire_message){.kind = WIRE_FINISHED_MESSAGE};
    message.finished.task = run.task;
    message.finished.attempt = run.attempt;
    message.finished.token = run.token;
    message.finished.end = WIRE_EXITED;
    message.finished.status = 1;
    message.finished.reason = text;
    assert_true(played_says(&peers, &worker, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_ENDED_MESSAGE, &message));
    is_cut(message.ended.reason.bytes);
    rows_are("sched_attempt WHERE length(reason) = 1365", 1);
    free((char *)text.bytes);
}

static void the_processor_time_of_a_report_is_bounded(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    struct wire_run run = given_first(7, 0);
    message.finished.task = run.task;
    message.finished.attempt = run.attempt;
    message.finished.token = run.token;
    message.finished.end = WIRE_EXITED;
    message.finished.status = 1;
    message.finished.began = 1000000;
    message.finished.ended = 3000000;
    message.finished.user = INT64_MAX;
    message.finished.system = INT64_MIN;
    message.finished.reason = wire_text_of("");
    assert_true(played_says(&peers, &worker, &message));
    peers_turn(&peers);
    rows_are("sched_attempt WHERE user_us = 3000000 * 4096 AND system_us = 0", 1);
}

static void claims(struct played *handler, struct wire_granted *grant)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    message.claim.high = 2;
    message.claim.low = 1;
    assert_true(played_says(&peers, handler, &message));
    peers_turn(&peers);
    assert_true(played_hears_kind(handler, WIRE_GRANTED_MESSAGE, &message));
    *grant = message.granted;
}

static void the_reason_of_a_handler_is_cut(void **state)
{
    (void)state;
    struct wire_submit submit = {.low = 7, .policy = ROTA_POLICY_CLAIM};
    struct wire_message message = {.kind = WIRE_FAIL_MESSAGE};
    wire_text text = long_text(LONG);
    struct played handler;
    struct wire_granted grant;
    greets(&client, WIRE_CLIENT, "client", 0);
    assert_true(played_submits(&peers, &client, &submit, "true", 1, 0));
    peers_turn(&peers);
    played_open(&peers, &handler, WIRE_WORKER);
    greets(&handler, WIRE_HANDLER, "handler", 1);
    claims(&handler, &grant);
    message.fail = (struct wire_fail){
        .high = 2, .low = 2, .task = grant.task, .token = grant.token, .status = 1, .reason = text};
    assert_true(played_says(&peers, &handler, &message));
    peers_turn(&peers);
    rows_are("sched_attempt WHERE length(reason) = 1365", 1);
    played_close(&peers, &handler);
    free((char *)text.bytes);
}

// They are in memory, one after the other.
static void the_commands_of_a_job_are_limited(void **state)
{
    (void)state;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 1, 0, WIRE_SUBMIT_OPEN);
    grows_to = accepted();
    struct cluster_job *job = cluster_job_get(&peers.cluster, (rota_job_id){grows_to});
    uint32_t length = job->length;
    job->length = 1 << 30;
    submits(8, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 0);
    job->length = length;
    submits(9, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), grows_to);
    grows_to = 0;
}

static void commands_without_an_attempt_are_read_again(void **state)
{
    (void)state;
    peers.cluster.limits.commands = peers.cluster.frames_next = 1;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 2, 0, 0);
    assert_int_equal(accepted(), 1);
    assert_true(peers.cluster.frame_bytes > 0);
    peers_turn(&peers);
    greets(&worker, WIRE_WORKER, "one", 1);
    assert_true(peers.cluster.frame_bytes == 0);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    peers_turn(&peers);
    assert_true(peers.cluster.frame_bytes > 0);  // it has an attempt
    reports(&worker, &run, WIRE_EXITED, 0);
    peers_turn(&peers);
    given(&worker);
}

// The share of a job is given back when the job is closed, also after its client has left.
static void the_commands_of_a_key_are_limited(void **state)
{
    (void)state;
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    peers.cluster.limits.shares[CLUSTER_SHARE_COMMANDS] = 200;
    greets(&client, WIRE_CLIENT, "client", 0);
    submits(7, 1, 0, 0);
    assert_int_equal(accepted(), 1);
    played_close(&peers, &client);
    played_open(&peers, &client, WIRE_CLIENT);
    greets(&client, WIRE_CLIENT, "client", 1);
    submits(8, 1, 0, 0);
    peers_turn(&peers);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, WIRE_REFUSED_BUSY);
    message = (struct wire_message){.kind = WIRE_CHANGE_MESSAGE};
    message.change.high = 1;
    message.change.low = 9;
    message.change.verb = WIRE_CLOSE;
    message.change.task.job = 1;
    assert_true(played_says(&peers, &client, &message));
    peers_turn(&peers);
    submits(10, 1, 0, 0);
    assert_int_equal(accepted(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_address_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_ends_only_its_connection, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_commands_of_a_job_are_limited, begin, end),
        cmocka_unit_test_setup_teardown(commands_without_an_attempt_are_read_again, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(the_commands_of_a_key_are_limited, begin, end),
        cmocka_unit_test_setup_teardown(the_reason_of_a_worker_is_cut, begin_on_disk, end_on_disk),
        cmocka_unit_test_setup_teardown(the_processor_time_of_a_report_is_bounded, begin_on_disk,
                                        end_on_disk),
        cmocka_unit_test_setup_teardown(the_reason_of_a_handler_is_cut, begin_on_disk,
                                        end_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
