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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_extension_without_tasks_is_not_planned, begin_planned,
                                        end_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
