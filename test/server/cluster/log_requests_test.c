// log_requests_test.c - the answer to a request for a log comes from the worker that was asked.
#include "scene.h"

#include <string.h>

static struct played other;
static struct wire_run run;  // of a task of the first worker

static int begin_with_two(void **state)
{
    begin(state);
    run = given_first(7, 0);
    played_open(&peers, &other, WIRE_WORKER);
    greets(&other, WIRE_WORKER, "two", 1);
    joins(&other, NULL, 0);
    peers_turn(&peers);
    return 0;
}

static int end_with_two(void **state)
{
    played_close(&peers, &other);
    return end(state);
}

static void asks(uint64_t request)
{
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE};
    message.log.request = request;
    message.log.task = run.task;
    assert_true(played_says(&peers, &client, &message));
}

// The request that the first worker gets, as the answer that it or another worker sends.
static struct wire_message answer_of(const char *text)
{
    struct wire_message asked, message = {.kind = WIRE_LOGGED_MESSAGE};
    assert_true(played_hears_kind(&worker, WIRE_LOG_MESSAGE, &asked));
    message.logged.request = asked.log.request;
    message.logged.task = asked.log.task;
    message.logged.attempt = asked.log.attempt;
    message.logged.bytes = wire_text_of(text);
    return message;
}

// Whether the client hears it.
static bool is_heard(struct played *from, const struct wire_message *answer)
{
    struct wire_message message;
    assert_true(played_says(&peers, from, answer));
    return played_hears_kind(&client, WIRE_LOGGED_MESSAGE, &message);
}

static void a_log_is_accepted_only_from_the_worker_that_was_asked(void **state)
{
    (void)state;
    asks(5);
    struct wire_message answer = answer_of("text"), of_another = answer, of_none = answer;
    of_another.logged.task.task++;
    of_none.logged.request++;
    assert_false(is_heard(&other, &answer));
    assert_false(is_heard(&worker, &of_another));
    assert_false(is_heard(&worker, &of_none));
    assert_true(is_heard(&worker, &answer));
}

static void a_request_is_answered_once(void **state)
{
    (void)state;
    asks(5);
    struct wire_message answer = answer_of("text");
    assert_true(is_heard(&worker, &answer));
    assert_false(is_heard(&worker, &answer));
}

static void requests_without_an_answer_are_limited(void **state)
{
    (void)state;
    struct wire_message message;
    for (uint32_t i = 0; i < 64; i++) asks(i);
    assert_false(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    asks(64);
    assert_true(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    assert_int_equal(message.refuse.code, WIRE_REFUSED_BUSY);
    struct wire_message answer = answer_of("text");
    assert_true(is_heard(&worker, &answer));
    asks(65);
    assert_false(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
}

static void a_worker_that_disconnects_answers_no_more(void **state)
{
    (void)state;
    struct wire_message message;
    struct wire_attempt attempt = {run.task, run.attempt, run.token, WIRE_ATTEMPT_RUNNING};
    for (uint32_t i = 0; i < 64; i++) asks(i);
    played_close(&peers, &worker);
    played_open(&peers, &worker, WIRE_WORKER);
    greets(&worker, WIRE_WORKER, "one", 2);
    joins(&worker, &attempt, 1);
    asks(64);
    assert_false(played_hears_kind(&client, WIRE_REFUSE_MESSAGE, &message));
    struct wire_message answer = answer_of("text");
    assert_true(is_heard(&worker, &answer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_with_two, end_with_two)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_log_is_accepted_only_from_the_worker_that_was_asked),
        TEST(a_request_is_answered_once),
        TEST(requests_without_an_answer_are_limited),
        TEST(a_worker_that_disconnects_answers_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
