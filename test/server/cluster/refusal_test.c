// refusal_test.c - a refused request stays refused when it is repeated, even if it would succeed.
#include "scene.h"

#include <stdio.h>

static struct wire_message change_of(uint64_t low, enum wire_verb verb, rota_task_id task)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    message.change.high = 1;
    message.change.low = low;
    message.change.verb = verb;
    message.change.task = task;
    return message;
}

// The answer when the turn is durable: DONE or ACCEPTED are 0, else the code.
static uint32_t told(const struct wire_message *message, char reason[200])
{
    struct wire_message answer;
    assert_true(played_says(&peers, &client, message));
    peers_turn(&peers);
    enum wire_kind kind = played_hears(&client, &answer);
    assert_int_not_equal(kind, WIRE_NONE);
    if (kind != WIRE_REFUSE_MESSAGE) return 0;
    assert_int_equal(answer.refuse.high, 1);
    if (reason) snprintf(reason, 200, "%s", answer.refuse.reason.bytes);
    return answer.refuse.code;
}

static uint32_t changed(uint64_t low, enum wire_verb verb, rota_task_id task)
{
    struct wire_message message = change_of(low, verb, task);
    return told(&message, NULL);
}

static int begin_refused(void **state)
{
    begin_on_disk(state);
    greets(&client, WIRE_CLIENT, "client", 0);
    return 0;
}

static void the_server_starts_again(void)
{
    end(NULL);
    begin_refused(NULL);
}

// ---- Stored refusals ------------------------------------------------------------------------

static void a_change_stays_refused_when_the_state_has_changed(void **state)
{
    (void)state;
    rota_task_id task = {1, 1};
    struct wire_message again = change_of(20, WIRE_RETRY, task);
    char first[200], second[200];
    submits(7, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    assert_int_equal(told(&again, first), WIRE_REFUSED_STATE);
    assert_int_equal(changed(21, WIRE_CANCEL, task), 0);
    for (int life = 0; life < 3; life++) {
        assert_int_equal(told(&again, second), WIRE_REFUSED_STATE);
        assert_string_equal(second, first);
        the_server_starts_again();
    }
    assert_int_equal(rota_task_state(peers.server.rota, task), ROTA_TASK_ABORTED);
    assert_int_equal(changed(22, WIRE_RETRY, task), 0);  // under another id it is another request
    rows_are("sched_refusal", 1);
}

static void a_request_for_a_missing_task_stays_refused(void **state)
{
    (void)state;
    rota_task_id task = {1, 1};
    struct wire_spec specs[1] = {{.cores = 1}};
    struct wire_message more = draft_of(30, 1, specs, 1);  // a job that does not exist yet
    assert_int_equal(changed(20, WIRE_CANCEL, task), WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(told(&more, NULL), WIRE_REFUSED_NOT_FOUND);
    submits(7, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    assert_int_equal(changed(20, WIRE_CANCEL, task), WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(told(&more, NULL), WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(rota_task_state(peers.server.rota, (rota_task_id){1, 2}), ROTA_TASK_NONE);
    more.submit.low = 31;
    assert_int_equal(told(&more, NULL), 0);
}

static void a_job_that_was_not_there_is_not_paused_later(void **state)
{
    (void)state;
    struct wire_message pause = {.kind = WIRE_REST_MESSAGE};
    pause.rest = (struct wire_rest){1, 20, WIRE_PAUSE, WIRE_PART_JOB, wire_text_of("1")};
    assert_int_equal(told(&pause, NULL), WIRE_REFUSED_NOT_FOUND);
    submits(7, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    assert_int_equal(told(&pause, NULL), WIRE_REFUSED_NOT_FOUND);
    pause.rest.low = 21;
    assert_int_equal(told(&pause, NULL), 0);
}

static void another_request_with_its_id_is_a_conflict(void **state)
{
    (void)state;
    assert_int_equal(changed(20, WIRE_CANCEL, (rota_task_id){1, 1}), WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(changed(20, WIRE_CANCEL, (rota_task_id){1, 2}), WIRE_REFUSED_CONFLICT);
    assert_int_equal(changed(20, WIRE_RETRY, (rota_task_id){1, 1}), WIRE_REFUSED_CONFLICT);
    submits(20, 1, 0, 0);
    assert_int_equal(accepted(), 0);
    assert_int_equal(changed(20, WIRE_CANCEL, (rota_task_id){1, 1}), WIRE_REFUSED_NOT_FOUND);
}

// A client that got the refusal and repeats its request after a crash must get the same answer.
static void a_refusal_waits_for_the_disk(void **state)
{
    (void)state;
    struct wire_message message = change_of(20, WIRE_CANCEL, (rota_task_id){1, 1}), answer;
    assert_true(played_says(&peers, &client, &message));
    assert_true(played_says(&peers, &client, &message));
    assert_int_equal(played_hears(&client, &answer), WIRE_NONE);
    uint64_t turn = peers_write(&peers);
    assert_true(played_says(&peers, &client, &message));  // found, and no more durable than that
    assert_int_equal(played_hears(&client, &answer), WIRE_NONE);
    cluster_settled(&peers.cluster, turn);
    for (int i = 0; i < 2; i++)
        assert_int_equal(played_hears(&client, &answer), WIRE_REFUSE_MESSAGE);
    assert_int_equal(played_hears(&client, &answer), WIRE_NONE);
    peers_turn(&peers);
    assert_int_equal(played_hears(&client, &answer), WIRE_REFUSE_MESSAGE);
    rows_are("sched_refusal", 1);
}

static void only_the_latest_refusals_are_stored(void **state)
{
    (void)state;
    enum { EACH = 512 };
    struct wire_message answer;
    for (uint64_t low = 1; low <= STORE_REFUSALS + EACH; low++) {
        struct wire_message message = change_of(low, WIRE_CANCEL, (rota_task_id){1, 1});
        assert_true(played_says(&peers, &client, &message));
        if (low % EACH) continue;
        peers_turn(&peers);
        while (played_hears(&client, &answer) != WIRE_NONE) continue;
    }
    rows_are("sched_refusal", STORE_REFUSALS);
    submits(STORE_REFUSALS * 2, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    assert_int_equal(changed(EACH + 1, WIRE_CANCEL, (rota_task_id){1, 1}), WIRE_REFUSED_NOT_FOUND);
    assert_int_equal(changed(EACH, WIRE_CANCEL, (rota_task_id){1, 1}), 0);
}

// ---- Refusals that are not stored -----------------------------------------------------------

static void a_request_refused_for_lack_of_space_may_be_repeated(void **state)
{
    (void)state;
    struct wire_spec specs[1] = {{.cores = 1}};
    struct wire_message message = draft_of(30, 0, specs, 1);
    peers_jobs_max = 1;
    the_server_starts_again();
    peers_jobs_max = 0;
    submits(7, 1, 0, WIRE_SUBMIT_OPEN);
    assert_int_equal(accepted(), 1);
    assert_int_equal(told(&message, NULL), WIRE_REFUSED_FULL);
    assert_int_equal(told(&message, NULL), WIRE_REFUSED_FULL);
    assert_int_equal(changed(20, WIRE_CLOSE, (rota_task_id){1, 0}), 0);
    assert_int_equal(told(&message, NULL), 0);
    rows_are("sched_refusal", 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_refused, end_on_disk)
    const struct CMUnitTest tests[] = {
        TEST(a_change_stays_refused_when_the_state_has_changed),
        TEST(a_request_for_a_missing_task_stays_refused),
        TEST(a_job_that_was_not_there_is_not_paused_later),
        TEST(another_request_with_its_id_is_a_conflict),
        TEST(a_refusal_waits_for_the_disk),
        TEST(only_the_latest_refusals_are_stored),
        TEST(a_request_refused_for_lack_of_space_may_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
