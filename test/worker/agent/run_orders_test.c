// run_orders_test.c - RUN and STOP with a host that only records the calls.
#include "worker/agent/run_orders.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, OBJECT = 5 };
#define NOW ((int64_t)1000 * SECOND)

struct worker {
    struct decide decide;
    struct run_orders orders;
    bool has_stream, has_object, is_fetching;
    char calls[400];
};

static void note(struct worker *worker, const char *call, uint32_t attempt)
{
    size_t length = strlen(worker->calls);
    snprintf(worker->calls + length, sizeof worker->calls - length, "%s%s %u", length ? ", " : "",
             call, attempt);
}

static bool accepts(void *context, const struct wire_run *run)
{
    (void)run;
    return ((struct worker *)context)->has_stream;
}

static bool has_object(void *context, const struct wire_file *input)
{
    assert_int_equal(input->object.low, OBJECT);
    return ((struct worker *)context)->has_object;
}

static bool is_fetching(void *context, rota_object_id object)
{
    assert_int_equal(object.low, OBJECT);
    return ((struct worker *)context)->is_fetching;
}

static void object_lost(void *context, const struct wire_run *run, rota_object_id object)
{
    assert_int_equal(object.low, OBJECT);
    note(context, "lost", run->attempt);
}

static bool start(void *context, const struct wire_message *message)
{
    note(context, "start", message->run.attempt);
    return true;
}

static void stop(void *context, const struct attempt *attempt, int64_t grace)
{
    (void)grace;
    note(context, "stop", attempt->number);
}

static void report(void *context, struct attempt *attempt, enum wire_end end, int error,
                   const char *reason)
{
    struct worker *worker = context;
    (void)reason;
    if (attempt->state != ATTEMPT_ENDED)
        attempts_move(&worker->decide.attempts, attempt, ATTEMPT_ENDED);
    note(worker, end == WIRE_STOPPED ? error ? "no stream" : "stopped" : "refused",
         attempt->number);
}

static void report_input(void *context, struct attempt *attempt)
{
    struct worker *worker = context;
    attempts_move(&worker->decide.attempts, attempt, ATTEMPT_ENDED);
    note(worker, "no input", attempt->number);
}

static int set_up(void **state)
{
    static const struct run_host host = {accepts, has_object, is_fetching, object_lost, start,
                                         stop,    report,     report_input};
    const struct wire_welcome welcome
        = {.version = WIRE_VERSION, .lease = 40 * SECOND, .beat = SECOND};
    struct worker *worker = calloc(1, sizeof *worker);
    decide_init(&worker->decide, NOW, (int64_t)3600 * SECOND);
    decide_connect(&worker->decide, NOW);
    assert_true(decide_welcome(&worker->decide, &welcome, NOW));
    worker->orders
        = (struct run_orders){.host = &host, .context = worker, .decide = &worker->decide};
    worker->has_stream = worker->has_object = true;
    *state = worker;
    return 0;
}

static int tear_down(void **state)
{
    struct worker *worker = *state;
    run_orders_release(&worker->orders);
    decide_release(&worker->decide);
    free(worker);
    return 0;
}

static void run(struct worker *worker, uint32_t attempt)
{
    struct wire_file input = {.kind = WIRE_FILE, .object = {0, OBJECT}};
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    input.name = input.path = wire_text_of("x");
    message.run.task = (rota_task_id){7, 1};
    message.run.attempt = attempt;
    message.run.name = message.run.cwd = wire_text_of("");
    message.run.inputs = (wire_files){&input, 1};
    assert_true(run_orders_take(&worker->orders, &message, NOW));
}

static struct attempt *attempt_of(struct worker *worker, uint32_t number)
{
    return attempts_find(&worker->decide.attempts, (rota_task_id){7, 1}, number);
}

static void end(struct worker *worker, uint32_t number)
{
    attempts_move(&worker->decide.attempts, attempt_of(worker, number), ATTEMPT_ENDED);
    run_orders_ended(&worker->orders, (rota_task_id){7, 1}, NOW);
}

static void a_command_with_its_inputs_starts(void **state)
{
    run(*state, 1);
    assert_string_equal(((struct worker *)*state)->calls, "start 1");
}

static void a_command_waits_for_an_input_that_is_being_fetched(void **state)
{
    struct worker *worker = *state;
    worker->has_object = false, worker->is_fetching = true;
    run(worker, 1);
    run_orders_inputs(&worker->orders);
    assert_string_equal(worker->calls, "");
    worker->has_object = true;
    run_orders_inputs(&worker->orders);
    assert_string_equal(worker->calls, "start 1");
}

static void an_input_that_cannot_be_fetched_is_reported(void **state)
{
    struct worker *worker = *state;
    worker->has_object = false, worker->is_fetching = true;
    run(worker, 1);
    worker->is_fetching = false;
    run_orders_inputs(&worker->orders);
    assert_string_equal(worker->calls, "no input 1");
}

static void a_missing_input_is_reported_before_the_attempt(void **state)
{
    struct worker *worker = *state;
    worker->has_object = false;
    run(worker, 1);
    assert_string_equal(worker->calls, "lost 1, no input 1");
}

static void a_reader_without_its_stream_does_not_start(void **state)
{
    struct worker *worker = *state;
    worker->has_stream = false;
    run(worker, 1);
    assert_string_equal(worker->calls, "no stream 1");
}

static void a_newer_attempt_starts_when_the_older_one_has_ended(void **state)
{
    struct worker *worker = *state;
    run(worker, 1);
    run(worker, 2);
    assert_string_equal(worker->calls, "start 1, stop 1");
    end(worker, 1);
    assert_string_equal(worker->calls, "start 1, stop 1, start 2");
}

static void a_stop_of_a_waiting_command_is_reported_at_once(void **state)
{
    struct worker *worker = *state;
    run(worker, 1);
    run(worker, 2);
    run_orders_stop(&worker->orders, attempt_of(worker, 2), 0);
    end(worker, 1);
    assert_string_equal(worker->calls, "start 1, stop 1, stopped 2");
}

static void a_stop_while_inputs_are_fetched_is_reported_at_once(void **state)
{
    struct worker *worker = *state;
    worker->has_object = false, worker->is_fetching = true;
    run(worker, 1);
    run_orders_stop(&worker->orders, attempt_of(worker, 1), 0);
    worker->has_object = true;
    run_orders_inputs(&worker->orders);
    assert_string_equal(worker->calls, "stopped 1");
}

static void a_worker_that_drains_refuses_commands_without_their_inputs(void **state)
{
    struct worker *worker = *state;
    worker->has_object = false, worker->is_fetching = true;
    run(worker, 1);
    run_orders_refuse(&worker->orders, ECANCELED, "the worker is draining");
    run_orders_inputs(&worker->orders);
    assert_string_equal(worker->calls, "refused 1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_command_with_its_inputs_starts),
        TEST(a_command_waits_for_an_input_that_is_being_fetched),
        TEST(an_input_that_cannot_be_fetched_is_reported),
        TEST(a_missing_input_is_reported_before_the_attempt),
        TEST(a_reader_without_its_stream_does_not_start),
        TEST(a_newer_attempt_starts_when_the_older_one_has_ended),
        TEST(a_stop_of_a_waiting_command_is_reported_at_once),
        TEST(a_stop_while_inputs_are_fetched_is_reported_at_once),
        TEST(a_worker_that_drains_refuses_commands_without_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
