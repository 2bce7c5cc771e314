// claim_test.c - claims: which handler has a task, when the task has started, how it failed.
#include "story.h"

static void submit_two(struct story *story, struct rota_task_spec one, struct rota_task_spec other)
{
    struct rota_task_spec tasks[] = {one, other};
    does(story, (struct rota_event){.kind = ROTA_EVENT_SUBMIT,
                                    .submit = {.client = 5,
                                               .policy = ROTA_POLICY_CLAIM,
                                               .tasks = tasks,
                                               .task_count = 2}});
}

static struct rota_event claim(enum rota_event_kind kind, uint32_t task, uint32_t flags)
{
    return (struct rota_event){.kind = kind,
                               .claim = {.handler = 9, .task = {task ? 1 : 0, task},
                                         .flags = flags}};
}

static void a_claim_gets_only_tasks_for_the_machine_of_the_handler(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    submit_two(&story, (struct rota_task_spec){.machine = 2, .priority = 3},
               (struct rota_task_spec){.machine = 1});
    int32_t priority = -1;
    assert_true(rota_claimable(story.rota, 1, &priority));
    assert_int_equal(priority, 0);
    assert_true(rota_claimable(story.rota, 2, &priority));
    assert_int_equal(priority, 3);
    assert_false(rota_claimable(story.rota, 3, &priority));
    struct rota_event any = claim(ROTA_EVENT_CLAIM, 0, 0);
    any.claim.machine = 3;
    refused(&story, any, ROTA_NOT_NOW);
    any.claim.machine = 1;
    does(&story, any);
    assert_int_equal(rota_task_state(story.rota, (rota_task_id){1, 2}), ROTA_TASK_RUNNING);
    refused(&story, any, ROTA_NOT_NOW);
    any.claim.machine = 0;
    does(&story, any);
    assert_int_equal(rota_task_state(story.rota, (rota_task_id){1, 1}), ROTA_TASK_RUNNING);
    story_close(&story);
}

static void a_strict_lane_waits_until_a_claimed_task_has_started(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    lane_opens(&story, 1, ROTA_LANE_STRICT);
    struct rota_task_spec reader = {.lane = 1, .access = ROTA_ACCESS_READ};
    submit_two(&story, reader, reader);
    does(&story, claim(ROTA_EVENT_CLAIM, 1, ROTA_STARTS_LATER));
    refused(&story, claim(ROTA_EVENT_CLAIM, 2, 0), ROTA_NOT_NOW);
    assert_int_equal(rota_why(story.rota, (rota_task_id){1, 2}).hold, ROTA_HOLD_START);
    struct rota_event stranger = claim(ROTA_EVENT_CLAIM_STARTED, 1, 0);
    stranger.claim.handler = 8;
    refused(&story, stranger, ROTA_NOT_NOW);
    does(&story, claim(ROTA_EVENT_CLAIM_STARTED, 1, 0));
    does(&story, claim(ROTA_EVENT_CLAIM_STARTED, 1, 0));  // a repetition is harmless
    does(&story, claim(ROTA_EVENT_CLAIM, 2, ROTA_STARTS_LATER));
    does(&story, claim(ROTA_EVENT_DELIVER, 2, 0));  // a delivery implies the start
    does(&story, claim(ROTA_EVENT_DELIVER, 1, 0));
    story_close(&story);
}

static void other_lanes_do_not_wait_for_starts(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    struct rota_task_spec reader = {.lane = 1, .access = ROTA_ACCESS_READ};
    lane_opens(&story, 1, 0);
    submit_two(&story, reader, reader);
    does(&story, claim(ROTA_EVENT_CLAIM, 1, ROTA_STARTS_LATER));
    does(&story, claim(ROTA_EVENT_CLAIM, 2, ROTA_STARTS_LATER));
    story_close(&story);
}

static void a_failure_has_its_status(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    submit_two(&story, (struct rota_task_spec){0}, (struct rota_task_spec){0});
    does(&story, claim(ROTA_EVENT_CLAIM, 1, 0));
    struct rota_event fails = claim(ROTA_EVENT_FAIL, 1, 0);
    fails.claim.status = 42;
    does(&story, fails);
    assert_int_equal(story.action_count, 1);
    assert_int_equal(story.actions[0].confirm.status, 42);
    does(&story, claim(ROTA_EVENT_CLAIM, 2, 0));
    does(&story, claim(ROTA_EVENT_FAIL, 2, 0));
    assert_int_equal(story.actions[0].confirm.status, 1);
    story_close(&story);
}

static void a_job_that_grows_ends_again(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    struct rota_task_spec task = {0};
    does(&story, (struct rota_event){.kind = ROTA_EVENT_SUBMIT,
                                     .submit = {.client = 5, .policy = ROTA_POLICY_CLAIM,
                                                .last = true, .tasks = &task, .task_count = 1}});
    for (int i = 0; i < 2; i++) {
        does(&story, claim(ROTA_EVENT_CLAIM, 1, ROTA_FAILED_OK));
        does(&story, claim(ROTA_EVENT_FAIL, 1, 0));
        assert_int_equal(story.action_count, 2);
        assert_int_equal(story.actions[1].kind, ROTA_ACTION_JOB_OVER);
        assert_int_equal(story.actions[1].job_over.failed, 1);
    }
    story_close(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_gets_only_tasks_for_the_machine_of_the_handler),
        cmocka_unit_test(a_strict_lane_waits_until_a_claimed_task_has_started),
        cmocka_unit_test(other_lanes_do_not_wait_for_starts),
        cmocka_unit_test(a_failure_has_its_status),
        cmocka_unit_test(a_job_that_grows_ends_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
