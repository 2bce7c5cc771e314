// limits_test.c - huge numbers, the configured limits, and very large graphs.
#include <stdlib.h>

#include "story.h"

enum { MILLION = 1000000 };

static struct rota_event submit(const struct rota_job_spec *spec)
{
    return (struct rota_event){.kind = ROTA_EVENT_SUBMIT, .submit = *spec};
}

// ---- Huge numbers -----------------------------------------------------------------------

// A number may be refused or accepted, but nothing may break: sums, plan and end stay correct.
static void survives(struct story *story, struct rota_task_spec task)
{
    struct rota_task_spec tasks[3] = {task, task, task};
    struct rota_job_spec spec = {.client = 5, .tasks = tasks, .task_count = 3};
    uint64_t digest = rota_digest(story->rota);
    if (step(story, submit(&spec)) != ROTA_OK) assert_true(rota_digest(story->rota) == digest);
    turn(story);
    for (uint32_t i = 0; i < story->action_count; i++) {
        if (story->actions[i].kind != ROTA_ACTION_RUN) continue;
        rota_task_id id = story->actions[i].run.task;
        struct rota_action kept[STORY_ACTIONS];
        uint32_t count = story->action_count;
        memcpy(kept, story->actions, sizeof kept);
        ends(story, id, ROTA_OUTCOME_EXIT);
        memcpy(story->actions, kept, sizeof kept);
        story->action_count = count;
    }
}

static void huge_numbers_break_nothing(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    config.overbook = UINT32_MAX;
    story_open_with(&story, &config);
    for (uint32_t number = 1; number <= 2; number++) {
        does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_JOINED,
                                         .worker = {.id = {number},
                                                    .cores = UINT32_MAX,
                                                    .memory_mib = UINT32_MAX,
                                                    .slots = UINT32_MAX,
                                                    .machine = UINT32_MAX}});
    }
    survives(&story, (struct rota_task_spec){.cores = 0});
    survives(&story, (struct rota_task_spec){.cores = UINT32_MAX});
    survives(&story, (struct rota_task_spec){.cores = 1, .memory_mib = UINT32_MAX});
    survives(&story, (struct rota_task_spec){
                         .cores = UINT32_MAX, .memory_mib = UINT32_MAX, .machine = UINT32_MAX});
    survives(&story, (struct rota_task_spec){.cores = 1, .retries_max = UINT32_MAX});
    survives(&story, (struct rota_task_spec){.cores = 1, .estimate = INT64_MAX});
    survives(&story, (struct rota_task_spec){.cores = 1, .estimate = INT64_MIN});
    survives(&story, (struct rota_task_spec){.cores = 1, .estimate = -1, .priority = -128});
    survives(&story, (struct rota_task_spec){.cores = 1, .body = UINT64_MAX, .group = UINT32_MAX});
    rota_check(story.rota);
    story_close(&story);
}

static void sums_of_estimates_and_bytes_do_not_overflow(void **state)
{
    (void)state;
    struct story story;
    story_open(&story);
    worker_joins(&story, 1, 1);
    worker_joins(&story, 2, 1);
    struct rota_task_spec tasks[4];
    struct rota_edge edges[3] = {{1, 2}, {2, 3}, {3, 4}};
    struct rota_output outputs[3];
    struct rota_input inputs[3];
    for (uint32_t i = 0; i < 4; i++)
        tasks[i] = (struct rota_task_spec){.cores = 1, .estimate = INT64_MAX};
    for (uint32_t i = 0; i < 3; i++) {
        outputs[i] = (struct rota_output){.object = {1, i + 1}, .bytes = UINT64_MAX};
        inputs[i] = (struct rota_input){.task = 1, .object = {1, i + 1}};
    }
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = tasks,
                                 .task_count = 4,
                                 .edges = edges,
                                 .edge_count = 3,
                                 .outputs = outputs,
                                 .output_count = 3,
                                 .inputs = inputs,
                                 .input_count = 3};
    if (step(&story, submit(&spec)) == ROTA_OK) {
        for (uint32_t i = 0; i < 3; i++) {
            does(&story, (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD,
                                             .replica = {{1 + i % 2}, {1, i + 1}, UINT64_MAX}});
        }
    }
    turn(&story);
    rota_check(story.rota);
    story.now = INT64_MAX - 1;
    turn(&story);
    story_close(&story);
}

// ---- Limits of the configuration ----------------------------------------------------------

static struct rota_config small_config(void)
{
    struct rota_config config = story_config();
    config.tasks_max = 4;
    config.edges_max = 3;
    config.lanes_max = 2;
    config.groups_max = 2;
    config.workers_max = 2;
    config.objects_max = 2;
    config.jobs_max = 2;
    return config;
}

static struct rota_event submit_many(struct rota_job_spec *spec)
{
    static struct rota_task_spec tasks[8];
    static struct rota_edge edges[8];
    static struct rota_output outputs[8];
    for (uint32_t i = 0; i < 8; i++) {
        tasks[i] = (struct rota_task_spec){.cores = 1};
        edges[i] = (struct rota_edge){1, 2 + i % 3};
        outputs[i] = (struct rota_output){.task = 1, .object = {3, i + 1}};
    }
    spec->client = 5;
    spec->tasks = tasks;
    spec->edges = edges;
    spec->outputs = outputs;
    return submit(spec);
}

static void limits_of_a_submission_are_kept(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = small_config();
    story_open_with(&story, &config);
    refused(&story, submit_many(&(struct rota_job_spec){.task_count = 5}), ROTA_TOO_MANY);
    refused(&story, submit_many(&(struct rota_job_spec){.task_count = 4, .edge_count = 4}),
            ROTA_TOO_MANY);
    refused(&story, submit_many(&(struct rota_job_spec){.task_count = 4, .output_count = 3}),
            ROTA_TOO_MANY);
    does(&story,
         submit_many(&(struct rota_job_spec){.task_count = 4, .edge_count = 3, .output_count = 2}));
    refused(&story, submit_many(&(struct rota_job_spec){.task_count = 1}), ROTA_TOO_MANY);
    does(&story, submit_many(&(struct rota_job_spec){.task_count = 0}));
    refused(&story, submit_many(&(struct rota_job_spec){.task_count = 0}), ROTA_TOO_MANY);
    does(&story, (struct rota_event){.kind = ROTA_EVENT_CLOSE, .close = {{1}}});
    does(&story,
         submit_many(&(struct rota_job_spec){.task_count = 4, .edge_count = 3, .output_count = 2}));
    story_close(&story);
}

static void limits_of_lanes_groups_and_workers_are_kept(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = small_config();
    story_open_with(&story, &config);
    lane_opens(&story, 1, 0);
    lane_opens(&story, 2, 0);
    refused(&story, (struct rota_event){.kind = ROTA_EVENT_LANE, .lane = {.lane = 3}},
            ROTA_TOO_MANY);
    worker_joins(&story, 1, 1);
    worker_joins(&story, 2, 1);
    worker_joins(&story, 2, 2);
    refused(
        &story,
        (struct rota_event){.kind = ROTA_EVENT_WORKER_JOINED, .worker = {.id = {3}, .cores = 1}},
        ROTA_TOO_MANY);
    refused(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_ASKS, .asks = {{3}, 1}},
            ROTA_TOO_MANY);
    struct rota_task_spec tasks[3];
    for (uint32_t i = 0; i < 3; i++) {
        tasks[i] = (struct rota_task_spec){
            .cores = 1, .lane = 1, .access = ROTA_ACCESS_READ, .group = i + 1};
    }
    struct rota_job_spec spec = {.client = 5, .tasks = tasks, .task_count = 3};
    refused(&story, submit(&spec), ROTA_TOO_MANY);
    tasks[2].group = 2;
    does(&story, submit(&spec));
    does(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_LEFT, .worker = {.id = {1}}});
    worker_joins(&story, 3, 1);
    story_close(&story);
}

// ---- Large graphs ----------------------------------------------------------------------------

static void quick(struct rota *rota, struct rota_event event)
{
    if (rota_step(rota, &event) != ROTA_OK) fail_msg("%s", rota_reason(rota));
    rota_take(rota);
}

static void claim_and(struct rota *rota, enum rota_event_kind kind, uint32_t task)
{
    quick(rota, (struct rota_event){.kind = ROTA_EVENT_CLAIM,
                                    .claim = {.handler = 1, .task = {1, task}}});
    quick(rota, (struct rota_event){.kind = kind, .claim = {.handler = 1, .task = {1, task}}});
}

// Submits, fails a root so that all tasks after it are blocked, retries it and delivers everything.
static void large_graph(uint32_t tasks, struct rota_edge *edges, uint32_t edge_count)
{
    struct rota *rota = NULL;
    struct rota_config config = story_config();
    config.policy = ROTA_POLICY_CLAIM;
    config.tasks_max = 2 * MILLION;
    config.edges_max = 4 * MILLION;
    assert_int_equal(rota_open(&config, &rota), ROTA_OK);
    struct rota_task_spec *specs = calloc(tasks, sizeof *specs);
    assert_non_null(specs);
    struct rota_job_spec spec = {
        .client = 5, .tasks = specs, .task_count = tasks, .edges = edges, .edge_count = edge_count};
    quick(rota, submit(&spec));
    claim_and(rota, ROTA_EVENT_FAIL, 1);
    assert_int_equal(rota_task_state(rota, (rota_task_id){1, tasks}), ROTA_TASK_BLOCKED);
    quick(rota, (struct rota_event){.kind = ROTA_EVENT_RETRY, .task = {{1, 1}}});
    assert_int_equal(rota_task_state(rota, (rota_task_id){1, tasks}), ROTA_TASK_WAITING);
    for (uint32_t task = 1; task <= tasks; task++) claim_and(rota, ROTA_EVENT_DELIVER, task);
    assert_string_equal(rota_job_status(rota, (rota_job_id){1}), "SUCCESS");
    rota_close(rota);
    free(specs);
}

static struct rota_edge *edges_make(uint32_t count)
{
    struct rota_edge *edges = calloc(count, sizeof *edges);
    assert_non_null(edges);
    return edges;
}

static void a_chain_of_a_million_tasks(void **state)
{
    (void)state;
    struct rota_edge *edges = edges_make(MILLION);
    for (uint32_t i = 0; i + 1 < MILLION; i++) edges[i] = (struct rota_edge){i + 1, i + 2};
    large_graph(MILLION, edges, MILLION - 1);
    free(edges);
}

static void a_million_tasks_wait_for_one(void **state)
{
    (void)state;
    struct rota_edge *edges = edges_make(MILLION);
    for (uint32_t i = 0; i < MILLION; i++) edges[i] = (struct rota_edge){1, i + 2};
    large_graph(MILLION + 1, edges, MILLION);
    free(edges);
}

static void one_task_waits_for_a_million(void **state)
{
    (void)state;
    struct rota_edge *edges = edges_make(MILLION);
    for (uint32_t i = 0; i < MILLION; i++) edges[i] = (struct rota_edge){i + 1, MILLION + 1};
    large_graph(MILLION + 1, edges, MILLION);
    free(edges);
}

// Each of a million removals that searches the others does not end before the time of the test.
static void a_million_conditions_that_name_one_task_are_removed(void **state)
{
    (void)state;
    struct rota *rota = NULL;
    struct rota_config config = story_config();
    config.tasks_max = 2 * MILLION;
    assert_int_equal(rota_open(&config, &rota), ROTA_OK);
    struct rota_task_spec *specs = calloc(MILLION, sizeof *specs);
    assert_non_null(specs);
    const struct rota_clause clause = {.kind = ROTA_CLAUSE_DONE, .task = {0, 1}};
    for (uint32_t i = 0; i < MILLION; i++)
        specs[i] = (struct rota_task_spec){.cores = 1, .clause_count = i > 0};
    struct rota_job_spec spec = {.client = 5,
                                 .tasks = specs,
                                 .task_count = MILLION,
                                 .clauses = &clause,
                                 .clause_count = 1};
    quick(rota, submit(&spec));
    quick(rota, (struct rota_event){.kind = ROTA_EVENT_CLOSE, .close = {{1}}});
    rota_check(rota);
    rota_close(rota);
    free(specs);
}

static void a_cycle_of_a_million_tasks_is_refused(void **state)
{
    (void)state;
    struct story story;
    struct rota_config config = story_config();
    config.tasks_max = config.edges_max = 2 * MILLION;
    story_open_with(&story, &config);
    struct rota_edge *edges = edges_make(MILLION);
    struct rota_task_spec *specs = calloc(MILLION, sizeof *specs);
    assert_non_null(specs);
    for (uint32_t i = 0; i < MILLION; i++)
        edges[i] = (struct rota_edge){i + 1, (i + 1) % MILLION + 1};
    struct rota_job_spec spec = {
        .client = 5, .tasks = specs, .task_count = MILLION, .edges = edges, .edge_count = MILLION};
    refused(&story, submit(&spec), ROTA_BAD_GRAPH);
    story_close(&story);
    free(specs);
    free(edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(huge_numbers_break_nothing),
        cmocka_unit_test(sums_of_estimates_and_bytes_do_not_overflow),
        cmocka_unit_test(limits_of_a_submission_are_kept),
        cmocka_unit_test(limits_of_lanes_groups_and_workers_are_kept),
        cmocka_unit_test(a_chain_of_a_million_tasks),
        cmocka_unit_test(a_million_tasks_wait_for_one),
        cmocka_unit_test(one_task_waits_for_a_million),
        cmocka_unit_test(a_million_conditions_that_name_one_task_are_removed),
        cmocka_unit_test(a_cycle_of_a_million_tasks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
