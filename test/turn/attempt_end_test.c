// attempt_end_test.c - a worker's report becomes the same event in rota run and on a server.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "turn/attempt_end.h"

static const enum attempt_stop both[] = {ATTEMPT_STOP_ABORTS, ATTEMPT_STOP_LOSES};

static struct rota_event event_of(enum wire_end end, int32_t status, enum attempt_stop stop)
{
    struct wire_finished finished = {.task = {7, 3}, .attempt = 2, .end = end, .status = status};
    struct rota_task_view view = {.state = ROTA_TASK_RUNNING};
    struct rota_event event;
    attempt_end_event(&finished, &view, stop, &event);
    assert_int_equal(event.kind, ROTA_EVENT_TASK_FINISHED);
    assert_true(SAME_TASK(event.report.task, finished.task));
    assert_int_equal(event.report.attempt, 2);
    return event;
}

static void ends_of_a_command_are_the_same_everywhere(void **state)
{
    (void)state;
    static const struct {
        enum wire_end end;
        int32_t status;
        enum rota_outcome outcome;
        int32_t told;
    } rows[] = {
        {WIRE_EXITED, 0, ROTA_OUTCOME_OK, 0},
        {WIRE_EXITED, 3, ROTA_OUTCOME_EXIT, 3},
        {WIRE_EXITED, 127, ROTA_OUTCOME_ERROR, 127},
        {WIRE_SIGNALED, SIGKILL, ROTA_OUTCOME_ERROR, 256 + SIGKILL},
        {WIRE_TIMED_OUT, SIGTERM, ROTA_OUTCOME_ERROR, 512 + SIGTERM},
        {WIRE_OUT_OF_MEMORY, 0, ROTA_OUTCOME_ERROR, 768},
        {WIRE_NOT_STARTED, ENOENT, ROTA_OUTCOME_ERROR, 1024 + ENOENT},
        {WIRE_BAD_OUTPUT, 0, ROTA_OUTCOME_ERROR, 1280},
        {WIRE_BAD_INPUT, ENOENT, ROTA_OUTCOME_ERROR, 1536 + ENOENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < 2; k++) {
            struct rota_event event = event_of(rows[i].end, rows[i].status, both[k]);
            assert_int_equal(event.report.outcome, rows[i].outcome);
            assert_int_equal(event.report.status, rows[i].told);
            assert_false(event.report.unstarted);
        }
}

static void an_input_without_a_copy_or_without_room_is_a_loss_everywhere(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(event_of(WIRE_BAD_INPUT, ENODATA, both[k]).report.outcome,
                         ROTA_OUTCOME_LOST);
        assert_int_equal(event_of(WIRE_BAD_INPUT, ENOSPC, both[k]).report.outcome,
                         ROTA_OUTCOME_LOST);
    }
}

static void a_stop_that_the_core_did_not_ask_for_is_a_loss_on_a_server_only(void **state)
{
    (void)state;
    assert_int_equal(event_of(WIRE_STOPPED, 0, ATTEMPT_STOP_ABORTS).report.outcome,
                     ROTA_OUTCOME_ABORTED);
    struct rota_event lost = event_of(WIRE_STOPPED, 0, ATTEMPT_STOP_LOSES);
    assert_int_equal(lost.report.outcome, ROTA_OUTCOME_LOST);
    assert_false(lost.report.unstarted);
    assert_true(event_of(WIRE_STOPPED, ENOLINK, ATTEMPT_STOP_LOSES).report.unstarted);
    lost = event_of(WIRE_STOPPED, ESHUTDOWN, ATTEMPT_STOP_LOSES);
    assert_int_equal(lost.report.outcome, ROTA_OUTCOME_LOST);
    assert_true(lost.report.unstarted);  // it ended with its worker
    struct wire_finished finished = {.end = WIRE_STOPPED};
    struct rota_task_view view = {.state = ROTA_TASK_RUNNING, .stopping = true};
    attempt_end_event(&finished, &view, ATTEMPT_STOP_LOSES, &lost);
    assert_int_equal(lost.report.outcome, ROTA_OUTCOME_ABORTED);
}

static void an_attempt_that_its_worker_refuses_is_lost_and_no_try(void **state)
{
    (void)state;
    struct rota_event event = event_of(WIRE_NOT_STARTED, ECANCELED, ATTEMPT_STOP_LOSES);
    assert_int_equal(event.report.outcome, ROTA_OUTCOME_LOST);
    assert_true(event.report.unstarted);
}

// A task with two retries, of which the server's core knows two and `losses` more.
static struct rota_event retried_of(int32_t status, uint32_t tries, uint32_t losses,
                                    const struct attempt_retry *repeat)
{
    struct wire_finished finished = {.end = WIRE_EXITED, .status = status};
    struct rota_task_view view = {.state = ROTA_TASK_RUNNING, .tries = tries,
                                  .retries_max = 2 + losses};
    struct rota_event event;
    attempt_end_event(&finished, &view, ATTEMPT_STOP_ABORTS, &event);
    if (attempt_end_may_retry(&event, &view))
        attempt_end_retry(repeat, &finished, &view, losses, &event);
    return event;
}

static struct rota_event retried(int32_t status, uint32_t tries, const struct attempt_retry *repeat)
{
    return retried_of(status, tries, ATTEMPT_LOSSES_MAX, repeat);
}

static void failures_are_retried_by_the_rules_of_the_task(void **state)
{
    (void)state;
    static const int32_t exits[] = {75};
    struct attempt_retry repeat
        = {.backoff = 1000, .percent = 200, .exits = exits, .exit_count = 1};
    assert_false(retried(75, 1, &repeat).report.final);
    assert_int_equal(retried(75, 1, &repeat).report.rest, 1000);
    assert_int_equal(retried(75, 2, &repeat).report.rest, 2000);
    assert_true(retried(75, 3, &repeat).report.final);
    assert_false(retried_of(75, 3, 0, &repeat).report.final);  // the core counts two retries
    assert_true(retried(76, 1, &repeat).report.final);
    assert_false(retried(0, 1, &repeat).report.final);
}

static void lost_inputs_have_a_backoff_and_an_end(void **state)
{
    (void)state;
    struct rota_event event = {0};
    rota_time before = 0;
    for (uint32_t times = 1; times <= ATTEMPT_LOSSES_MAX; times++) {
        attempt_end_lack(&event, times, ATTEMPT_LOSSES_MAX);
        assert_false(event.report.final);
        assert_true(event.report.rest > before);
        before = event.report.rest;
    }
    attempt_end_lack(&event, ATTEMPT_LOSSES_MAX + 1, ATTEMPT_LOSSES_MAX);
    assert_true(event.report.final);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_a_command_are_the_same_everywhere),
        cmocka_unit_test(an_input_without_a_copy_or_without_room_is_a_loss_everywhere),
        cmocka_unit_test(a_stop_that_the_core_did_not_ask_for_is_a_loss_on_a_server_only),
        cmocka_unit_test(an_attempt_that_its_worker_refuses_is_lost_and_no_try),
        cmocka_unit_test(failures_are_retried_by_the_rules_of_the_task),
        cmocka_unit_test(lost_inputs_have_a_backoff_and_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
