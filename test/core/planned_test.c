// planned_test.c - tasks that a plan binds to workers before they are ready.
#include "story.h"

static rota_task_id t(uint32_t task)
{
    return (rota_task_id){1, task};
}

// Submits "a" (task 1), which makes object 1, and "b", "c" (2 and 3), which read it.
static void submit_fork(struct story *story)
{
    static const struct rota_task_spec tasks[3] = {{.cores = 1}, {.cores = 1}, {.cores = 1}};
    static const struct rota_output outputs[1] = {{1, 0, {1, 1}, 1000, {{0}, 0}}};
    static const struct rota_input inputs[2] = {{2, 0, {1, 1}}, {3, 0, {1, 1}}};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .last = true, .tasks = tasks,
                                          .outputs = outputs, .inputs = inputs, .task_count = 3,
                                          .input_count = 2, .output_count = 1};
    assert_int_equal(step(story, event), ROTA_OK);
}

static void submit_many(struct story *story, uint32_t count)
{
    struct rota_task_spec tasks[16];
    for (uint32_t i = 0; i < count; i++) tasks[i] = (struct rota_task_spec){.cores = 1};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .tasks = tasks, .task_count = count};
    assert_int_equal(step(story, event), ROTA_OK);
    struct rota_effects effects = rota_take(story->rota);
    while (effects.more) effects = rota_take(story->rota);
}

static struct rota_event plan(const struct rota_placement *placements, uint32_t count)
{
    return (struct rota_event){.kind = ROTA_EVENT_PLAN,
                               .plan = {.job = {1}, .placements = placements, .count = count}};
}

static void begins(struct story *story, const struct rota_config *config, uint32_t workers)
{
    if (config) story_open_with(story, config);
    else story_open(story);
    for (uint32_t i = 1; i <= workers; i++) worker_joins(story, i, 1);
}

static void a_bound_task_runs_on_its_worker(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement places[] = {{1, {3}, 9}, {2, {2}, 8}};
    begins(&story, NULL, 3);
    submit_many(&story, 2);
    does(&story, plan(places, 2));
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w3 1.2#1>w2");
    assert_int_equal(story.actions[0].run.order, 9);
    story_close(&story);
}

static void a_bound_task_beyond_the_limit_runs_on_another_worker(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    static const struct rota_placement places[] = {{1, {1}, 9}, {2, {1}, 8}, {3, {1}, 7}};
    config.plan_submit = config.plan_update = config.plan_idle = 1000000;
    config.bound_max = 1;
    begins(&story, &config, 2);
    submit_many(&story, 3);
    does(&story, plan(places, 3));
    // The third task exceeds what may wait there, and takes the room on another worker.
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1 1.2#1>w1 1.3#1>w2");
    story.now = 10;
    does(&story, (struct rota_event){.kind = ROTA_EVENT_TIME});
    assert_string_equal(told(&story, ROTA_ACTION_STOP), "");  // bound: not recalled
    story_close(&story);
}

static void inputs_go_ahead_of_a_task_that_waits(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement places[] = {{1, {1}, 9}, {2, {2}, 8}, {3, {1}, 7}};
    begins(&story, NULL, 2);
    submit_fork(&story);
    does(&story, plan(places, 3));
    struct rota_plan_view view;
    assert_true(rota_plan_look(story.rota, t(2), &view));
    assert_string_equal(view.state, "NotAssigned");  // not assigned, scheduled
    assert_int_equal(view.scheduled.number, 2);
    assert_int_equal(view.assigned.number, 0);
    starts(&story, t(1));
    ends(&story, t(1), ROTA_OUTCOME_OK);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w2 1.3#1>w1");
    uint32_t ahead = 0, again = 0;
    for (uint32_t i = 0; i < story.action_count; i++) {
        if (story.actions[i].kind != ROTA_ACTION_FETCH) continue;
        assert_int_equal(story.actions[i].fetch.worker.number, 2);
        assert_int_equal(story.actions[i].fetch.from.number, 1);
        assert_int_equal(story.actions[i].fetch.order, 8);
        assert_true(story.actions[i].fetch.soon);
        ahead += !story.actions[i].fetch.again;
        again += story.actions[i].fetch.again;
    }
    assert_int_equal(ahead, 1);
    assert_int_equal(again, 1);
    story_close(&story);
}

static uint32_t called_off(const struct story *story)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->action_count; i++)
        count += story->actions[i].kind == ROTA_ACTION_DROP && story->actions[i].drop.ahead;
    return count;
}

// Tasks 2 and 3 also wait for task 4; their input is being fetched to worker 2.
static void prefetches_for_a_task_that_moves_are_cancelled(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_task_spec tasks[4] = {{.cores = 1}, {.cores = 1}, {.cores = 1},
                                                   {.cores = 1}};
    static const struct rota_output outputs[1] = {{1, 0, {1, 1}, 1000, {{0}, 0}}};
    static const struct rota_input inputs[2] = {{2, 0, {1, 1}}, {3, 0, {1, 1}}};
    static const struct rota_edge edges[2] = {{4, 2}, {4, 3}};
    static const struct rota_placement places[] = {{1, {1}, 9}, {4, {1}, 8}, {2, {2}, 7},
                                                   {3, {2}, 6}};
    static const struct rota_placement second[] = {{2, {3}, 7}}, third[] = {{3, {3}, 6}};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .tasks = tasks, .outputs = outputs,
                                          .inputs = inputs, .edges = edges, .task_count = 4,
                                          .input_count = 2, .output_count = 1, .edge_count = 2};
    begins(&story, NULL, 3);
    assert_int_equal(step(&story, event), ROTA_OK);
    does(&story, plan(places, 4));
    starts(&story, t(1));
    ends(&story, t(1), ROTA_OUTCOME_OK);
    does(&story, plan(second, 1));
    assert_int_equal(called_off(&story), 0);  // task 3 will read it there
    does(&story, plan(third, 1));
    assert_int_equal(called_off(&story), 1);
    story_close(&story);
}

static void a_late_plan_fetches_existing_inputs(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement first[] = {{1, {1}, 9}}, second[] = {{2, {3}, 8}};
    begins(&story, NULL, 3);
    submit_fork(&story);
    does(&story, plan(first, 1));
    starts(&story, t(1));
    ends(&story, t(1), ROTA_OUTCOME_OK);
    starts(&story, t(2));  // it runs where the core put it,
    does(&story, plan(second, 1));
    assert_string_equal(told(&story, ROTA_ACTION_STOP), "");  // and stays there
    assert_string_equal(told(&story, ROTA_ACTION_FETCH), "");
    static const struct rota_placement third[] = {{3, {3}, 8}};
    does(&story, plan(third, 1));  // this one has not started
    assert_string_equal(told(&story, ROTA_ACTION_STOP), "1.3#1>w2");
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.3#2>w3");
    struct rota_task_view view;
    assert_true(rota_task_look(story.rota, t(3), &view));
    assert_int_equal(view.tries, 1);  // a move is not a failure
    story_close(&story);
}

static void an_unbound_task_runs_anywhere(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement places[] = {{1, {7}, 9}, {2, {2}, 8}, {3, {0}, 0}};
    begins(&story, NULL, 2);
    submit_fork(&story);
    does(&story, plan(places, 3));
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_LEFT, .worker = {.id = {2}}});
    starts(&story, t(1));
    ends(&story, t(1), ROTA_OUTCOME_OK);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w1");
    story_close(&story);
}

static void a_plan_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement nobody[] = {{1, {1}, 1}, {4, {1}, 1}};
    static const struct rota_placement large[] = {{1, {1}, 1u << 30}};
    begins(&story, NULL, 1);
    refused(&story, plan(nobody, 1), ROTA_NOT_FOUND);
    submit_fork(&story);
    turn(&story);
    refused(&story, plan(nobody, 2), ROTA_NOT_FOUND);
    refused(&story, plan(large, 1), ROTA_BAD_EVENT);
    struct rota_task_spec task = {.cores = 1};
    struct rota_event pull = {.kind = ROTA_EVENT_SUBMIT};
    pull.submit = (struct rota_job_spec){.client = 5, .policy = ROTA_POLICY_PULL, .tasks = &task,
                                         .task_count = 1};
    does(&story, pull);
    struct rota_event other = plan(nobody, 1);
    other.plan.job.number = 2;
    refused(&story, other, ROTA_NOT_NOW);
    story_close(&story);
}

static void a_removed_job_removes_its_plan(void **state)
{
    (void)state;
    struct story story;
    static const struct rota_placement places[] = {{1, {1}, 9}, {2, {2}, 8}, {3, {1}, 7}};
    begins(&story, NULL, 2);
    submit_fork(&story);
    assert_int_equal(step(&story, plan(places, 3)), ROTA_OK);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_CLOSE, .close = {.job = {1}}});
    submit_many(&story, 3);  // takes the same rows
    turn(&story);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "2.1#1>w1 2.2#1>w2");
    story_close(&story);
}

static void pull_may_go_by_rank(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    config.pull_by_rank = true;
    config.cached_wait = config.inputs_wait = 0;
    story_open_with(&story, &config);
    static const struct rota_task_spec tasks[3] = {{.cores = 1}, {.cores = 1}, {.cores = 1}};
    static const struct rota_edge edges[1] = {{2, 3}};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .policy = ROTA_POLICY_PULL, .tasks = tasks,
                                          .edges = edges, .task_count = 3, .edge_count = 1};
    does(&story, event);
    worker_joins(&story, 1, 1);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS,
                                     .asks = {.id = {1}, .count = 1}});
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w1");
    story_close(&story);
}

static void by_rank_a_wide_task_is_not_kept_out_by_narrow_ones(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    config.pull_by_rank = true;
    config.cached_wait = config.inputs_wait = 0;
    story_open_with(&story, &config);
    static const struct rota_task_spec tasks[6]
        = {{.cores = 1}, {.cores = 2}, {.cores = 1}, {.cores = 1}, {.cores = 1}, {.cores = 3}};
    static const struct rota_edge edges[3] = {{1, 4}, {2, 5}, {4, 5}};
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT};
    event.submit = (struct rota_job_spec){.client = 5, .policy = ROTA_POLICY_PULL, .tasks = tasks,
                                          .edges = edges, .task_count = 6, .edge_count = 3};
    does(&story, event);
    worker_joins(&story, 1, 2);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS,
                                     .asks = {.id = {1}, .count = ROTA_ASK_ALWAYS}});
    // 3 would fit beside 1, but 2 has a higher rank; 6 never fits and blocks no other task.
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1");
    ends(&story, t(1), ROTA_OUTCOME_OK);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w1");
    story_close(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_task_runs_on_its_worker),
        cmocka_unit_test(a_bound_task_beyond_the_limit_runs_on_another_worker),
        cmocka_unit_test(inputs_go_ahead_of_a_task_that_waits),
        cmocka_unit_test(prefetches_for_a_task_that_moves_are_cancelled),
        cmocka_unit_test(a_late_plan_fetches_existing_inputs),
        cmocka_unit_test(an_unbound_task_runs_anywhere),
        cmocka_unit_test(a_plan_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_removed_job_removes_its_plan),
        cmocka_unit_test(pull_may_go_by_rank),
        cmocka_unit_test(by_rank_a_wide_task_is_not_kept_out_by_narrow_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
