// planned_test.c - a server that plans ahead: messages that no plan can be made of change nothing.
#include "scene.h"

#include <limits.h>

static struct played other;
static const rota_object_id made = {7, 1};

static int begin_planned(void **state)
{
    peers_plan = true;
    begin_on_disk(state);
    played_open(&peers, &other, WIRE_WORKER);
    greets(&client, WIRE_CLIENT, "client", 0);
    return 0;
}

static int end_planned(void **state)
{
    played_close(&peers, &other);
    end_on_disk(state);
    peers_plan = false;
    return 0;
}

// A job of two tasks, of which the second reads what the first makes: such a job is planned.
static void submits_flow(uint32_t flags)
{
    struct wire_make make = {.task = 1, .object = made, .bytes = 10};
    struct wire_use use = {.task = 2, .object = made};
    struct wire_submit submit = {.low = 7, .flags = flags};
    submit.outputs = (wire_makes){&make, 1};
    submit.inputs = (wire_uses){&use, 1};
    assert_true(played_submits(&peers, &client, &submit, "true", 2, 0));
    assert_int_equal(accepted(), 1);
}

static void starts_again(void)
{
    played_close(&peers, &other);
    end(NULL);
    begin_on_disk(NULL);
    played_open(&peers, &other, WIRE_WORKER);
}

static void an_extension_without_tasks_is_not_planned(void **state)
{
    (void)state;
    submits_flow(WIRE_SUBMIT_OPEN);
    struct wire_message nothing = draft_of(8, 1, NULL, 0);
    assert_true(played_says(&peers, &client, &nothing));
    assert_int_equal(accepted(), 1);
    starts_again();
}

static void joins_as(struct played *played, const char *name, uint32_t cores)
{
    struct wire_message message = join_of(cores, NULL, 0);
    greets(played, WIRE_WORKER, name, 1);
    played_says(&peers, played, &message);
}

// The first task ends; its worker reports these times.
static void ends_with(rota_time began, rota_time ended)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    struct wire_file output = {.kind = WIRE_FILE, .object = made, .bytes = UINT64_MAX};
    joins_as(&worker, "one", 1);
    submits_flow(0);
    peers_turn(&peers);
    struct wire_run run = given(&worker);
    output.name = output.path = wire_text_of("");
    output.content.kind = 'f';
    message.finished = (struct wire_finished){.task = run.task,
                                              .attempt = run.attempt,
                                              .token = run.token,
                                              .end = WIRE_EXITED,
                                              .began = began,
                                              .ended = ended,
                                              .user = began,
                                              .system = ended,
                                              .memory_bytes = UINT64_MAX,
                                              .log_bytes = UINT64_MAX,
                                              .reason = wire_text_of("")};
    message.finished.outputs = (wire_files){&output, 1};
    assert_true(played_says(&peers, &worker, &message));
    joins_as(&other, "two", 1);
    peers_turn(&peers);
    assert_true(played_hears_kind(&worker, WIRE_RECORDED_MESSAGE, &message));
    assert_int_equal(message.recorded.how, WIRE_NOW_RECORDED);
    starts_again();
}

static void times_out_of_range_are_replaced(void **state)
{
    (void)state;
    ends_with(INT64_MIN, INT64_MAX);
    rows_are("sched_attempt WHERE began > 0 AND ended = began AND user_us = 0 AND system_us >= 0"
             " AND memory_bytes > 0 AND log_bytes > 0",
             1);
}

static void an_end_before_the_beginning_is_replaced(void **state)
{
    (void)state;
    ends_with(5000000, 4000000);
    rows_are("sched_attempt WHERE began > 0 AND ended = began", 1);
}

static bool may_join(struct played *played, const char *name, uint32_t cores, uint32_t memory)
{
    struct wire_message message = join_of(cores, NULL, 0);
    message.join.memory_mib = memory;
    greets(played, WIRE_WORKER, name, 1);
    return played_says(&peers, played, &message);
}

static void a_worker_with_too_many_cores_is_refused(void **state)
{
    (void)state;
    assert_false(may_join(&worker, "one", UINT32_MAX, 1000));
    assert_false(may_join(&other, "two", 100001, 1000));
    submits_flow(0);
    peers_turn(&peers);
}

static void a_worker_with_too_much_memory_is_refused(void **state)
{
    (void)state;
    assert_false(may_join(&worker, "one", 2, UINT32_MAX));
    assert_true(may_join(&other, "two", 100000, 1 << 30));
}

#define PLANNED_TEST(name) cmocka_unit_test_setup_teardown(name, begin_planned, end_planned)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANNED_TEST(an_extension_without_tasks_is_not_planned),
        PLANNED_TEST(times_out_of_range_are_replaced),
        PLANNED_TEST(an_end_before_the_beginning_is_replaced),
        PLANNED_TEST(a_worker_with_too_many_cores_is_refused),
        PLANNED_TEST(a_worker_with_too_much_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
