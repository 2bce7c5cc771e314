// decide_test.c - the rules of a worker; each test fails if one rule of model/README.md is missing.
#include "worker/agent/decide.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SECOND = 1000000, LEASE = 45 * SECOND, BEAT = 5 * SECOND, HOUR_S = 3600 };
#define HOUR ((int64_t)HOUR_S * SECOND)
#define BEGIN ((int64_t)1000 * SECOND)

static int set_up(void **state)
{
    struct decide *decide = malloc(sizeof *decide);
    decide_init(decide, BEGIN, HOUR);
    decide_connect(decide, BEGIN);
    const struct wire_welcome welcome = {.version = WIRE_VERSION, .lease = LEASE, .beat = BEAT};
    assert_true(decide_welcome(decide, &welcome, BEGIN));
    *state = decide;
    return 0;
}

static int tear_down(void **state)
{
    decide_release(*state);
    free(*state);
    return 0;
}

static struct wire_run run_of(uint32_t task, uint32_t attempt)
{
    return (struct wire_run){.task = {7, task}, .attempt = attempt, .token = 100 + attempt};
}

static struct wire_run exclusive_of(uint32_t task, uint32_t attempt, int64_t beat)
{
    struct wire_run run = run_of(task, attempt);
    run.flags = WIRE_RUN_EXCLUSIVE;
    run.beat = (uint64_t)beat;
    return run;
}

static struct decide_answer give(struct decide *decide, struct wire_run run, int64_t now)
{
    return decide_run(decide, decide->connection, &run, now);
}

static void reconnect(struct decide *decide, int64_t now)
{
    const struct wire_welcome welcome = {.version = WIRE_VERSION, .lease = LEASE, .beat = BEAT};
    decide_connect(decide, now);
    assert_true(decide_welcome(decide, &welcome, now));
}

static uint32_t must_end_count(struct decide *decide, int64_t now)
{
    uint32_t count = 0;
    struct attempt *attempt = NULL;
    while ((attempt = decide_must_end(decide, attempt, now))) count++;
    return count;
}

// ---- Connections -----------------------------------------------------------------------------

static void the_number_of_a_connection_only_grows(void **state)
{
    struct decide *decide = *state;
    uint64_t first = decide->connection;
    assert_true(first == (uint64_t)BEGIN * 1000);
    uint64_t second = decide_connect(decide, BEGIN);
    assert_true(second > first);
    assert_true(decide_connect(decide, BEGIN - SECOND) > second);
    struct decide next;  // the agent was started again
    decide_init(&next, BEGIN + SECOND, HOUR);
    assert_true(decide_connect(&next, BEGIN + SECOND) > decide->connection);
    decide_release(&next);
}

// ANY_CONNECTION
static void a_run_of_another_connection_is_ignored(void **state)
{
    struct decide *decide = *state;
    struct wire_run run = run_of(1, 1);
    uint64_t old = decide->connection;
    reconnect(decide, BEGIN + SECOND);
    assert_int_equal(decide_run(decide, old, &run, BEGIN + SECOND).verdict, DECIDE_IGNORE);
    assert_int_equal(attempts_count(&decide->attempts), 0);
    assert_int_equal(give(decide, run, BEGIN + SECOND).verdict, DECIDE_GIVE);
}

static void nothing_is_run_before_a_welcome(void **state)
{
    struct decide *decide = *state;
    struct wire_run run = run_of(1, 1);
    decide_connect(decide, BEGIN + SECOND);
    assert_int_equal(give(decide, run, BEGIN + SECOND).verdict, DECIDE_IGNORE);
    decide_disconnect(decide);
    assert_int_equal(give(decide, run, BEGIN + SECOND).verdict, DECIDE_IGNORE);
}

static void an_invalid_welcome_is_refused(void **state)
{
    struct decide *decide = *state;
    static const struct wire_welcome bad[]
        = {{.version = WIRE_VERSION + 1, .lease = LEASE, .beat = BEAT},
           {.version = WIRE_VERSION, .lease = LEASE, .beat = 0},
           {.version = WIRE_VERSION, .lease = LEASE, .beat = -1},
           {.version = WIRE_VERSION, .lease = 0, .beat = BEAT},
           {.version = WIRE_VERSION, .lease = INT64_MAX, .beat = BEAT},
           {.version = WIRE_VERSION, .lease = 3 * BEAT, .beat = BEAT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        decide_connect(decide, BEGIN);
        assert_false(decide_welcome(decide, &bad[i], BEGIN));
        assert_false(decide->is_connected);
    }
}

// ---- The lease -------------------------------------------------------------------------------

// ACK_TIME
static void the_lease_counts_from_the_sending_of_a_beat(void **state)
{
    struct decide *decide = *state;
    assert_true(decide_lease_is_over(decide, BEGIN));
    assert_true(decide_beat_is_due(decide, BEGIN));
    decide_beat(decide, BEGIN);
    assert_false(decide_beat_is_due(decide, BEGIN + BEAT - 1));
    assert_true(decide_beat_is_due(decide, BEGIN + BEAT));
    decide_beaten(decide, decide->connection, BEGIN, BEGIN + 20 * SECOND);
    assert_false(decide_lease_is_over(decide, BEGIN + LEASE - 1));
    assert_true(decide_lease_is_over(decide, BEGIN + LEASE));
}

static void a_new_connection_begins_with_nothing(void **state)
{
    struct decide *decide = *state;
    struct attempt *attempt = give(decide, run_of(1, 1), BEGIN).attempt;
    attempts_move(&decide->attempts, attempt, ATTEMPT_SPOOLED);
    attempts_remove(&decide->attempts, attempt);
    decide_beat(decide, BEGIN);
    reconnect(decide, BEGIN + SECOND);
    assert_true(decide_beat_is_due(decide, BEGIN + SECOND));
    decide_beaten(decide, decide->connection, BEGIN, BEGIN + SECOND);
    assert_true(decide_lease_is_over(decide, BEGIN + SECOND));
    assert_int_equal(give(decide, run_of(1, 1), BEGIN + SECOND).verdict, DECIDE_GIVE);
}

static void an_older_acknowledgement_takes_nothing_back(void **state)
{
    struct decide *decide = *state;
    decide_beat(decide, BEGIN + 9);
    decide_beaten(decide, decide->connection, BEGIN + 9, BEGIN + 10);
    decide_beaten(decide, decide->connection, BEGIN + 3, BEGIN + 11);
    assert_true(decide->lease_until == BEGIN + 9 + LEASE);
}

static void acknowledgements_of_unsent_heartbeats_do_not_count(void **state)
{
    struct decide *decide = *state;
    decide_beat(decide, BEGIN);
    decide_beaten(decide, decide->connection, BEGIN + 1, BEGIN + 2);
    decide_beaten(decide, decide->connection, UINT64_MAX, BEGIN + 2);
    decide_beaten(decide, decide->connection, 0, BEGIN + 2);
    decide_beaten(decide, decide->connection - 1, BEGIN, BEGIN + 2);
    assert_true(decide_lease_is_over(decide, BEGIN + 2));
    uint64_t old = decide->connection;
    reconnect(decide, BEGIN + SECOND);
    decide_beat(decide, BEGIN + SECOND);
    decide_beaten(decide, old, BEGIN, BEGIN + 2 * SECOND);
    assert_true(decide_lease_is_over(decide, BEGIN + 2 * SECOND));
}

static void exclusive_attempts_end_with_the_lease_and_others_do_not(void **state)
{
    struct decide *decide = *state;
    assert_int_equal(give(decide, exclusive_of(1, 1, BEGIN), BEGIN).verdict, DECIDE_GIVE);
    assert_int_equal(give(decide, run_of(2, 1), BEGIN).verdict, DECIDE_GIVE);
    decide_disconnect(decide);
    assert_true(decide_due(decide) == BEGIN + LEASE);
    assert_int_equal(must_end_count(decide, BEGIN + LEASE - 1), 0);
    struct attempt *attempt = decide_must_end(decide, NULL, BEGIN + LEASE);
    assert_int_equal(attempt->task.task, 1);
    attempts_fence(&decide->attempts, attempt);
    assert_int_equal(must_end_count(decide, BEGIN + LEASE), 0);
    assert_true(decide_due(decide) == BEGIN + HOUR);
}

static void a_stop_with_grace_is_no_way_around_the_lease(void **state)
{
    struct decide *decide = *state;
    struct decide_answer answer = give(decide, exclusive_of(1, 1, BEGIN), BEGIN);
    attempts_stop(&decide->attempts, answer.attempt);
    assert_int_equal(must_end_count(decide, BEGIN + LEASE), 1);
}

static void the_worker_ends_if_exclusive_processes_cannot_be_killed(void **state)
{
    struct decide *decide = *state;
    assert_true(decide_fence_due(decide) == INT64_MAX);
    struct attempt *attempt = give(decide, exclusive_of(1, 1, BEGIN), BEGIN).attempt;
    give(decide, run_of(2, 1), BEGIN);
    assert_true(decide_fence_due(decide) == BEGIN + LEASE + 2 * SECOND);
    assert_true(decide_fence_last(decide) == BEGIN + LEASE + 4 * SECOND);
    attempts_fence(&decide->attempts, attempt);  // told to end, but not gone
    assert_true(decide_fence_due(decide) == BEGIN + LEASE + 2 * SECOND);
    attempts_move(&decide->attempts, attempt, ATTEMPT_ENDED);
    assert_true(decide_fence_due(decide) == INT64_MAX);
    assert_true(decide_fence_last(decide) == INT64_MAX);
}

// A server with --lease 4 tells its workers 3 s, and gives the group to another one after 4 s.
static void a_short_lease_is_fenced_before_the_server_ends_it(void **state)
{
    struct decide *decide = *state;
    decide->lease = 3 * SECOND;
    give(decide, exclusive_of(1, 1, BEGIN), BEGIN);
    assert_true(decide_fence_due(decide) == BEGIN + 3 * SECOND + SECOND / 2);
    assert_true(decide_fence_last(decide) == BEGIN + 3 * SECOND + SECOND / 4 * 3);
}

static void others_end_after_an_hour_without_a_server(void **state)
{
    struct decide *decide = *state;
    give(decide, run_of(1, 1), BEGIN);
    decide_beat(decide, BEGIN + BEAT);
    decide_beaten(decide, decide->connection, BEGIN + BEAT, BEGIN + 2 * BEAT);
    decide_disconnect(decide);
    assert_int_equal(must_end_count(decide, BEGIN + 2 * BEAT + HOUR - 1), 0);
    struct attempt *attempt = decide_must_end(decide, NULL, BEGIN + 2 * BEAT + HOUR);
    assert_non_null(attempt);
    attempts_stop(&decide->attempts, attempt);
    assert_int_equal(must_end_count(decide, BEGIN + 2 * BEAT + HOUR), 0);
    assert_true(decide_due(decide) == INT64_MAX);
}

static void a_server_that_answers_no_beats_is_left(void **state)
{
    struct decide *decide = *state;
    decide_beat(decide, BEGIN);
    assert_false(decide_is_cut_off(decide, BEGIN + LEASE / 2 - 1));
    assert_true(decide_is_cut_off(decide, BEGIN + LEASE / 2));
    decide_beaten(decide, decide->connection, BEGIN, BEGIN + SECOND);
    assert_false(decide_is_cut_off(decide, BEGIN + LEASE / 2));
}

// ---- RUN ---------------------------------------------------------------------------------------

// STALE_START
static void a_late_exclusive_run_is_refused(void **state)
{
    struct decide *decide = *state;
    struct decide_answer answer = give(decide, exclusive_of(1, 1, BEGIN), BEGIN + LEASE);
    assert_int_equal(answer.verdict, DECIDE_REFUSE);
    assert_int_equal(answer.error, ESTALE);
    assert_int_equal(answer.attempt->state, ATTEMPT_ENDED);
    assert_int_equal(answer.attempt->token, 101);
    assert_int_equal(give(decide, exclusive_of(2, 1, BEGIN), BEGIN + LEASE - 1).verdict,
                     DECIDE_GIVE);
    struct wire_run other = run_of(3, 1);
    other.beat = BEGIN;
    assert_int_equal(give(decide, other, BEGIN + LEASE).verdict, DECIDE_GIVE);
}

static void an_exclusive_run_without_a_beat_or_of_the_future_is_refused(void **state)
{
    struct decide *decide = *state;
    assert_int_equal(give(decide, exclusive_of(1, 1, 0), BEGIN).verdict, DECIDE_REFUSE);
    assert_int_equal(give(decide, exclusive_of(2, 1, BEGIN + 1), BEGIN).verdict, DECIDE_REFUSE);
    assert_int_equal(give(decide, exclusive_of(3, 1, -1), BEGIN).verdict, DECIDE_REFUSE);
    // The machine was booted just now.
    assert_int_equal(give(decide, exclusive_of(4, 1, 0), SECOND).verdict, DECIDE_REFUSE);
}

static void the_stamp_of_a_run_renews_the_lease_and_never_shortens_it(void **state)
{
    struct decide *decide = *state;
    give(decide, exclusive_of(1, 1, BEGIN), BEGIN + SECOND);
    assert_true(decide->lease_until == BEGIN + LEASE);
    give(decide, exclusive_of(2, 1, BEGIN - SECOND), BEGIN + SECOND);
    assert_true(decide->lease_until == BEGIN + LEASE);
}

// FORGET_START
static void a_repeated_run_order_starts_once(void **state)
{
    struct decide *decide = *state;
    struct attempt *attempt = give(decide, run_of(1, 2), BEGIN).attempt;
    assert_int_equal(give(decide, run_of(1, 2), BEGIN).verdict, DECIDE_IGNORE);
    assert_int_equal(give(decide, run_of(1, 1), BEGIN).verdict, DECIDE_IGNORE);
    attempts_move(&decide->attempts, attempt, ATTEMPT_SPOOLED);
    attempts_remove(&decide->attempts, attempt);
    assert_int_equal(give(decide, run_of(1, 2), BEGIN).verdict, DECIDE_IGNORE);
    assert_int_equal(give(decide, run_of(1, 1), BEGIN).verdict, DECIDE_IGNORE);
}

static void orders_of_an_earlier_connection_are_not_run_again(void **state)
{
    struct decide *decide = *state;
    give(decide, run_of(1, 1), BEGIN);
    reconnect(decide, BEGIN + SECOND);
    assert_int_equal(give(decide, run_of(1, 1), BEGIN + SECOND).verdict, DECIDE_IGNORE);
}

static void an_older_attempt_of_the_task_ends_first(void **state)
{
    struct decide *decide = *state;
    give(decide, run_of(1, 1), BEGIN);
    struct decide_answer answer = give(decide, exclusive_of(1, 2, BEGIN), BEGIN);
    assert_int_equal(answer.verdict, DECIDE_HOLD);
    assert_int_equal(decide->attempts.exclusive, 0);
    struct attempt *second = attempts_find(&decide->attempts, (rota_task_id){7, 1}, 2);
    struct attempt *first = attempts_find(&decide->attempts, (rota_task_id){7, 1}, 1);
    assert_int_equal(decide_continue(decide, second, BEGIN).verdict, DECIDE_IGNORE);
    attempts_move(&decide->attempts, first, ATTEMPT_ENDED);
    assert_int_equal(decide_continue(decide, second, BEGIN).verdict, DECIDE_GIVE);
    assert_true(decide->lease_until == BEGIN + LEASE);
}

static void a_run_that_waited_too_long_for_an_older_attempt_is_refused(void **state)
{
    struct decide *decide = *state;
    give(decide, run_of(1, 1), BEGIN);
    give(decide, exclusive_of(1, 2, BEGIN), BEGIN);
    struct attempt *first = attempts_find(&decide->attempts, (rota_task_id){7, 1}, 1);
    attempts_move(&decide->attempts, first, ATTEMPT_ENDED);
    struct attempt *second = attempts_find(&decide->attempts, (rota_task_id){7, 1}, 2);
    assert_int_equal(decide_continue(decide, second, BEGIN + LEASE).verdict, DECIDE_REFUSE);
}

static void a_worker_that_drains_refuses(void **state)
{
    struct decide *decide = *state;
    decide->is_draining = true;
    struct decide_answer answer = give(decide, run_of(1, 1), BEGIN);
    assert_int_equal(answer.verdict, DECIDE_REFUSE);
    assert_int_equal(answer.error, ECANCELED);
}

static void unknown_numbers_close_the_connection(void **state)
{
    struct decide *decide = *state;
    assert_int_equal(give(decide, run_of(1, 0), BEGIN).verdict, DECIDE_BREAK);
    assert_int_equal(give(decide, run_of(0, 1), BEGIN).verdict, DECIDE_BREAK);
}

// ---- JOIN ----------------------------------------------------------------------------------

// HELLO_WITHOUT_SPOOL
static void a_join_lists_all_that_is_not_recorded(void **state)
{
    struct decide *decide = *state;
    static const uint32_t expected[]
        = {WIRE_ATTEMPT_QUEUED, WIRE_ATTEMPT_RUNNING, WIRE_ATTEMPT_SPOOLED,
           WIRE_ATTEMPT_QUEUED, WIRE_ATTEMPT_RUNNING, WIRE_ATTEMPT_QUEUED};
    struct wire_attempt items[8];
    for (uint32_t task = 1; task <= 6; task++) give(decide, run_of(task, 1), BEGIN);
    struct attempts *attempts = &decide->attempts;
    attempts_move(attempts, attempts_find(attempts, (rota_task_id){7, 2}, 1), ATTEMPT_RUNNING);
    attempts_move(attempts, attempts_find(attempts, (rota_task_id){7, 3}, 1), ATTEMPT_SPOOLED);
    attempts_move(attempts, attempts_find(attempts, (rota_task_id){7, 5}, 1), ATTEMPT_RUNNING);
    attempts_move(attempts, attempts_find(attempts, (rota_task_id){7, 5}, 1), ATTEMPT_ENDED);
    attempts_move(attempts, attempts_find(attempts, (rota_task_id){7, 6}, 1), ATTEMPT_ENDED);
    reconnect(decide, BEGIN + SECOND);
    wire_attempts list = decide_join(decide, items);
    assert_int_equal(list.count, 6);
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(items[i].task.task, i + 1);
        assert_int_equal(items[i].attempt, 1);
        assert_int_equal(items[i].token, 101);
        assert_int_equal(items[i].state, expected[i]);
    }
    attempts_remove(attempts, attempts_find(attempts, (rota_task_id){7, 3}, 1));
    assert_int_equal(decide_join(decide, items).count, 5);
}

static void attempts_of_one_task_are_kept_apart(void **state)
{
    struct attempts *attempts = &((struct decide *)*state)->attempts;
    static const uint32_t order[] = {3, 1, 4, 2};
    for (uint32_t i = 0; i < 4; i++) {
        struct attempt fresh
            = {.task = {7, 1}, .number = order[i], .token = order[i], .state = ATTEMPT_SPOOLED};
        assert_true(attempts_reserve(attempts));
        attempts_add(attempts, &fresh);
    }
    static const uint32_t removed[] = {4, 2, 1, 3};
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = i; k < 4; k++)
            assert_int_equal(attempts_find(attempts, (rota_task_id){7, 1}, removed[k])->token,
                             removed[k]);
        attempts_remove(attempts, attempts_find(attempts, (rota_task_id){7, 1}, removed[i]));
    }
    assert_null(attempts_newest(attempts, (rota_task_id){7, 1}));
    assert_int_equal(attempts_count(attempts), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_number_of_a_connection_only_grows),
        TEST(a_run_of_another_connection_is_ignored),
        TEST(nothing_is_run_before_a_welcome),
        TEST(an_invalid_welcome_is_refused),
        TEST(the_lease_counts_from_the_sending_of_a_beat),
        TEST(a_new_connection_begins_with_nothing),
        TEST(an_older_acknowledgement_takes_nothing_back),
        TEST(acknowledgements_of_unsent_heartbeats_do_not_count),
        TEST(exclusive_attempts_end_with_the_lease_and_others_do_not),
        TEST(a_stop_with_grace_is_no_way_around_the_lease),
        TEST(the_worker_ends_if_exclusive_processes_cannot_be_killed),
        TEST(a_short_lease_is_fenced_before_the_server_ends_it),
        TEST(others_end_after_an_hour_without_a_server),
        TEST(a_server_that_answers_no_beats_is_left),
        TEST(a_late_exclusive_run_is_refused),
        TEST(an_exclusive_run_without_a_beat_or_of_the_future_is_refused),
        TEST(the_stamp_of_a_run_renews_the_lease_and_never_shortens_it),
        TEST(a_repeated_run_order_starts_once),
        TEST(orders_of_an_earlier_connection_are_not_run_again),
        TEST(an_older_attempt_of_the_task_ends_first),
        TEST(a_run_that_waited_too_long_for_an_older_attempt_is_refused),
        TEST(a_worker_that_drains_refuses),
        TEST(unknown_numbers_close_the_connection),
        TEST(a_join_lists_all_that_is_not_recorded),
        TEST(attempts_of_one_task_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
