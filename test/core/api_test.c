// api_test.c - the behaviour of the core, as short stories through rota.h.
#include "story.h"

static rota_task_id t(uint32_t task)
{
    return (rota_task_id){1, task};
}

static rota_object_id o(uint64_t low)
{
    return (rota_object_id){1, low};
}

static struct rota_event submit(const struct rota_job_spec *spec)
{
    return (struct rota_event){.kind = ROTA_EVENT_SUBMIT, .submit = *spec};
}

// Tasks of one core from text: "r" a reader of lane 1, "w" a writer, "." a task outside lanes.
static void submit_text(struct story *story, const char *text)
{
    struct rota_task_spec tasks[16];
    struct rota_job_spec spec = {.client = 5, .tasks = tasks};
    for (; *text; text++) {
        if (*text == ' ') continue;
        struct rota_task_spec task = {.cores = 1, .body = spec.task_count + 1};
        if (*text != '.') {
            task.lane = 1;
            task.access = *text == 'r' ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE;
        }
        tasks[spec.task_count++] = task;
    }
    does(story, submit(&spec));
}

static void runs(struct story *story, uint32_t task)
{
    starts(story, t(task));
    ends(story, t(task), ROTA_OUTCOME_OK);
}

// ---- Lanes -----------------------------------------------------------------------------

static void readers_run_together_and_a_writer_waits(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 9);
    lane_opens(&story, 1, 0);
    submit_text(&story, "r r w r");
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1 1.2#1>w1");
    assert_string_equal(listed(&story, ROTA_LIST_HELD, 0), "1.3 1.4");
    runs(&story, 1);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "");
    runs(&story, 2);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.3#1>w1");
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "1.2:ok");
    runs(&story, 3);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.4#1>w1");
    story_close(&story);
}

static void a_strict_lane_waits_for_each_start(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 9);
    lane_opens(&story, 1, ROTA_LANE_STRICT);
    submit_text(&story, "r r");
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1");
    starts(&story, t(1));
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w1");
    story_close(&story);
}

// ---- Graphs ----------------------------------------------------------------------------

static void a_chain(struct story *story, uint32_t retries_max)
{
    struct rota_task_spec tasks[3]
        = {{.cores = 1, .retries_max = retries_max}, {.cores = 1}, {.cores = 1}};
    struct rota_edge edges[2] = {{1, 2}, {2, 3}};
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = tasks,
                                 .task_count = 3,
                                 .edges = edges,
                                 .edge_count = 2,
                                 .last = true};
    does(story, submit(&spec));
}

static void a_chain_runs_in_order_and_its_client_is_notified(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 4);
    a_chain(&story, 0);
    assert_string_equal(told(&story, ROTA_ACTION_ACCEPT), "1");
    a_chain(&story, 0);  // without a key it is another job
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "2.1#1>w1");
    const char *const confirmed[] = {"", "1.1:ok", "1.2:ok", "1.3:ok"};
    const char *const sent[] = {"", "1.2#1>w1", "1.3#1>w1", ""};
    for (uint32_t task = 1; task <= 3; task++) {
        runs(&story, task);
        assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), confirmed[task]);
        assert_string_equal(told(&story, ROTA_ACTION_RUN), sent[task]);
    }
    assert_string_equal(rota_job_status(story.rota, (rota_job_id){1}), "SUCCESS");
    assert_string_equal(rota_job_status(story.rota, (rota_job_id){2}), "RUNNING");
    story_close(&story);
}

static void a_failed_task_blocks_until_it_is_retried(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 4);
    a_chain(&story, 0);
    starts(&story, t(1));
    ends(&story, t(1), ROTA_OUTCOME_EXIT);
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "1.1:exit");
    assert_string_equal(listed(&story, ROTA_LIST_BLOCKED, 0), "1.2");
    assert_string_equal(listed(&story, ROTA_LIST_UNKNOWN, 0), "1.3");
    assert_int_equal(rota_task_state(story.rota, t(3)), ROTA_TASK_BLOCKED);
    assert_string_equal(rota_job_status(story.rota, (rota_job_id){1}), "FAILED");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_RETRY, .task = {t(1)}});
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#2>w1");
    assert_string_equal(listed(&story, ROTA_LIST_BLOCKED, 0), "");
    runs(&story, 1);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w1");
    story_close(&story);
}

static void a_handler_claims_and_delivers(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    a_chain(&story, 0);
    struct rota_event claim = {.kind = ROTA_EVENT_CLAIM, .claim = {.handler = 9, .task = t(1)}};
    does(&story, claim);
    assert_string_equal(told(&story, ROTA_ACTION_GRANT), "1.1#1>h9");
    refused(&story, claim, ROTA_NOT_NOW);
    claim.kind = ROTA_EVENT_DELIVER;
    claim.claim.handler = 8;
    refused(&story, claim, ROTA_NOT_NOW);
    claim.claim.handler = 9;
    does(&story, claim);
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "1.1:ok");
    assert_string_equal(listed(&story, ROTA_LIST_FETCHABLE, 0), "1.2");
    story_close(&story);
}

// ---- Workers and objects -----------------------------------------------------------------

static void a_lost_worker_gives_its_task_to_another(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 1);
    a_chain(&story, 1);
    starts(&story, t(1));
    struct rota_event late = report(&story, ROTA_EVENT_TASK_FINISHED, t(1), ROTA_OUTCOME_OK);
    worker_joins(&story, 2, 1);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_SILENT, .worker = {.id = {1}}});
    story.now = rota_deadline(story.rota);
    assert_int_equal(story.now, 1000);
    turn(&story);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#2>w2");
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "");
    refused(&story, late, ROTA_STALE);
    runs(&story, 1);
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "1.1:ok");
    story_close(&story);
}

static void an_object_is_made_copied_and_dropped(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 1);
    worker_joins(&story, 2, 2);
    struct rota_task_spec tasks[2] = {{.cores = 1}, {.cores = 2}};
    struct rota_output outputs[1] = {{.task = 1, .object = o(7), .bytes = 100}};
    struct rota_input inputs[1] = {{.task = 2, .object = o(7)}};
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = tasks,
                                 .task_count = 2,
                                 .outputs = outputs,
                                 .output_count = 1,
                                 .inputs = inputs,
                                 .input_count = 1};
    does(&story, submit(&spec));
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1");
    assert_int_equal(rota_object_state(story.rota, o(7)), ROTA_OBJECT_UNFINISHED);
    runs(&story, 1);
    assert_int_equal(rota_object_state(story.rota, o(7)), ROTA_OBJECT_FINISHED);
    assert_int_equal(rota_locate(story.rota, o(7)).number, 1);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w2");
    assert_string_equal(told(&story, ROTA_ACTION_FETCH), "o7>w2<w1");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{2}, o(7), 100}});
    runs(&story, 2);
    assert_string_equal(told(&story, ROTA_ACTION_DROP), "o7>w1 o7>w2");
    assert_int_equal(rota_object_state(story.rota, o(7)), ROTA_OBJECT_REMOVED);
    story_close(&story);
}

// Workers 1 to 3 have the object, and too little room for the six tasks that read it.
static void copies_come_from_all_that_have_one(void **state)
{
    (void)state;
    struct story story;
    struct rota_task_spec tasks[8] = {{.cores = 1}, {.cores = 1}};
    struct rota_output outputs[1] = {{.task = 1, .object = o(7), .bytes = 100}};
    struct rota_input inputs[6];
    struct rota_edge edges[6];
    uint32_t served[4] = {0};
    story_open(&story);
    for (uint32_t i = 1; i <= 9; i++) worker_joins(&story, i, i <= 3 ? 1 : 2);
    for (uint32_t i = 0; i < 6; i++) {
        tasks[i + 2] = (struct rota_task_spec){.cores = 2};
        inputs[i] = (struct rota_input){.task = i + 3, .object = o(7)};
        edges[i] = (struct rota_edge){2, i + 3};
    }
    struct rota_job_spec spec = {.client = 5, .tasks = tasks, .task_count = 8, .inputs = inputs,
                                 .input_count = 6, .outputs = outputs, .output_count = 1,
                                 .edges = edges, .edge_count = 6};
    does(&story, submit(&spec));
    runs(&story, 1);
    for (uint32_t i = 2; i <= 3; i++)
        does(&story,
             (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{i}, o(7), 100}});
    runs(&story, 2);
    for (uint32_t i = 0; i < story.action_count; i++)
        if (story.actions[i].kind == ROTA_ACTION_FETCH)
            served[story.actions[i].fetch.from.number]++;
    for (uint32_t i = 1; i <= 3; i++) assert_int_equal(served[i], 2);
    story_close(&story);
}

static void a_copy_is_dropped_when_the_other_was_shown(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 1);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_JOINED,
                                     .worker = {.id = {2}, .cores = 1, .machine = 2}});
    struct rota_task_spec tasks[2] = {{.cores = 1}, {.cores = 1, .machine = 2}};
    struct rota_output outputs[1]
        = {{.task = 1, .object = o(7), .flags = ROTA_OBJECT_KEEP, .bytes = 100}};
    struct rota_input inputs[1] = {{.task = 2, .object = o(7)}};
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = tasks,
                                 .task_count = 2,
                                 .outputs = outputs,
                                 .output_count = 1,
                                 .inputs = inputs,
                                 .input_count = 1};
    does(&story, submit(&spec));
    runs(&story, 1);
    struct rota_event held = {.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{2}, o(7), 100}};
    does(&story, held);
    runs(&story, 2);
    assert_string_equal(told(&story, ROTA_ACTION_DROP), "");
    assert_string_equal(told(&story, ROTA_ACTION_SHOW), "o7>w1");
    does(&story, held);  // the wrong one
    assert_string_equal(told(&story, ROTA_ACTION_DROP), "");
    assert_string_equal(told(&story, ROTA_ACTION_SHOW), "o7>w1");
    held.replica.worker.number = 1;
    does(&story, held);
    assert_string_equal(told(&story, ROTA_ACTION_DROP), "o7>w2");
    assert_string_equal(told(&story, ROTA_ACTION_SHOW), "");
    story_close(&story);
}

static void a_lost_result_is_produced_again_without_a_report(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 1);
    struct rota_task_spec tasks[2] = {{.cores = 1}, {.cores = 1, .machine = 2}};
    struct rota_output outputs[1] = {{.task = 1, .object = o(7), .bytes = 100}};
    struct rota_input inputs[1] = {{.task = 2, .object = o(7)}};
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = tasks,
                                 .task_count = 2,
                                 .outputs = outputs,
                                 .output_count = 1,
                                 .inputs = inputs,
                                 .input_count = 1};
    does(&story, submit(&spec));
    runs(&story, 1);
    assert_string_equal(listed(&story, ROTA_LIST_OFFERED, 0), "1.2");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_OBJECT_LOST, .replica = {{1}, o(7), 0}});
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#2>w1");
    assert_int_equal(rota_task_state(story.rota, t(1)), ROTA_TASK_SUCCEEDED);
    assert_int_equal(rota_task_state(story.rota, t(2)), ROTA_TASK_WAITING);
    runs(&story, 1);
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "");
    assert_string_equal(listed(&story, ROTA_LIST_OFFERED, 0), "1.2");
    story_close(&story);
}

static void pull_offers_a_task_to_holders_of_its_result_first(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    config.policy = ROTA_POLICY_PULL;
    config.cached_wait = 100;
    config.inputs_wait = 500;
    story_open_with(&story, &config);
    worker_joins(&story, 1, 1);
    worker_joins(&story, 2, 1);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{1}, o(3), 10}});
    struct rota_task_spec tasks[2] = {{.cores = 1, .key = o(3)}, {.cores = 1, .key = o(4)}};
    struct rota_job_spec spec = {.client = 5, .tasks = tasks, .task_count = 2};
    does(&story, submit(&spec));
    assert_string_equal(listed(&story, ROTA_LIST_NEAR, 1), "1.1");
    assert_string_equal(listed(&story, ROTA_LIST_NEAR, 2), "");
    assert_string_equal(listed(&story, ROTA_LIST_GLOBAL, 0), "");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS, .asks = {{2}, 1}});
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "");
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS, .asks = {{1}, 1}});
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.1#1>w1");
    assert_int_equal(rota_deadline(story.rota), 500);
    story.now = 500;
    turn(&story);
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "1.2#1>w2");
    story_close(&story);
}

static void two_jobs_share_one_execution(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 4);
    struct rota_task_spec task = {.cores = 1, .key = o(3)};
    struct rota_job_spec spec = {.client = 5, .tasks = &task, .task_count = 1};
    does(&story, submit(&spec));
    does(&story, submit(&spec));
    assert_string_equal(told(&story, ROTA_ACTION_RUN), "");
    assert_int_equal(rota_task_state(story.rota, (rota_task_id){2, 1}), ROTA_TASK_SHARED);
    starts(&story, t(1));
    does(&story, (struct rota_event){.kind = ROTA_EVENT_CLOSE, .close = {{1}}});
    assert_string_equal(told(&story, ROTA_ACTION_STOP), "");
    assert_int_equal(rota_task_state(story.rota, (rota_task_id){2, 1}), ROTA_TASK_RUNNING);
    ends(&story, (rota_task_id){2, 1}, ROTA_OUTCOME_OK);
    assert_string_equal(told(&story, ROTA_ACTION_CONFIRM), "2.1:ok");
    story_close(&story);
}

// ---- Everything together --------------------------------------------------------------------

static void an_unused_lane_is_removed(void **state)
{
    (void)state;
    struct story story;
    struct rota_event gone = {.kind = ROTA_EVENT_LANE, .lane = {1, ROTA_LANE_GONE, 0}};
    int32_t counter;
    story_open(&story);
    uint64_t before = rota_digest(story.rota);
    assert_int_equal(step(&story, gone), ROTA_NOT_FOUND);
    lane_opens(&story, 1, ROTA_LANE_STRICT);
    does(&story, gone);
    assert_false(rota_lane_counter(story.rota, 1, &counter));
    assert_true(rota_digest(story.rota) == before);
    lane_opens(&story, 1, 0);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_PAUSE, .pause = {.lane = 1}});
    assert_int_equal(step(&story, gone), ROTA_NOT_NOW);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_RESUME, .pause = {.lane = 1}});
    submit_text(&story, "r");
    assert_int_equal(step(&story, gone), ROTA_NOT_NOW);
    story_close(&story);
}

static void equal_events_give_equal_digests(void **state)
{
    (void)state;
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        struct story story;
        story_open(&story);
        worker_joins(&story, 1, 4);
        lane_opens(&story, 1, 0);
        submit_text(&story, "r w . r .");
        runs(&story, 1);
        digests[i] = rota_digest(story.rota);
        story_close(&story);
    }
    assert_true(digests[0] == digests[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_run_together_and_a_writer_waits),
        cmocka_unit_test(a_strict_lane_waits_for_each_start),
        cmocka_unit_test(a_chain_runs_in_order_and_its_client_is_notified),
        cmocka_unit_test(a_failed_task_blocks_until_it_is_retried),
        cmocka_unit_test(a_handler_claims_and_delivers),
        cmocka_unit_test(a_lost_worker_gives_its_task_to_another),
        cmocka_unit_test(an_object_is_made_copied_and_dropped),
        cmocka_unit_test(copies_come_from_all_that_have_one),
        cmocka_unit_test(a_copy_is_dropped_when_the_other_was_shown),
        cmocka_unit_test(a_lost_result_is_produced_again_without_a_report),
        cmocka_unit_test(pull_offers_a_task_to_holders_of_its_result_first),
        cmocka_unit_test(two_jobs_share_one_execution),
        cmocka_unit_test(an_unused_lane_is_removed),
        cmocka_unit_test(equal_events_give_equal_digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
