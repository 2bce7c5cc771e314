// bad_input_test.c - events that no correct caller sends are refused with a reason, and change
// nothing.
#include "story.h"

enum { LONG = 1000 };

// A submission that can be made invalid in one place.
struct paper {
    struct rota_task_spec tasks[LONG + 1];
    struct rota_edge edges[LONG + 1];
    struct rota_clause clauses[LONG + 1];
    struct rota_output outputs[4];
    struct rota_input inputs[4];
    struct rota_job_spec spec;
};

static struct paper paper;  // too large for a stack

static struct rota_event submit(void)
{
    return (struct rota_event){.kind = ROTA_EVENT_SUBMIT, .submit = paper.spec};
}

static void paper_open(uint32_t tasks)
{
    memset(&paper, 0, sizeof paper);
    paper.spec = (struct rota_job_spec){.client = 5,
                                        .tasks = paper.tasks,
                                        .task_count = tasks,
                                        .edges = paper.edges,
                                        .clauses = paper.clauses,
                                        .outputs = paper.outputs,
                                        .inputs = paper.inputs};
    for (uint32_t i = 0; i < tasks; i++) paper.tasks[i].cores = 1;
}

static void paper_edge(uint32_t before, uint32_t after)
{
    paper.edges[paper.spec.edge_count++] = (struct rota_edge){before, after};
}

static void paper_clause(uint32_t task, enum rota_clause_kind kind, uint32_t named)
{
    paper.tasks[task - 1].clause_first = paper.spec.clause_count;
    paper.tasks[task - 1].clause_count = 1;
    paper.clauses[paper.spec.clause_count++] = (struct rota_clause){kind, {0, named}};
}

// A core with a lane in order of submission (1), a plain one (2), a worker and a job of two tasks.
static void scene_open(struct story *story)
{
    story_open(story);
    lane_opens(story, 1, ROTA_LANE_SUBMIT_ORDER);
    lane_opens(story, 2, 0);
    worker_joins(story, 1, 2);
    paper_open(2);
    paper_edge(1, 2);
    paper.spec.output_count = 1;
    paper.outputs[0]
        = (struct rota_output){.task = 1, .object = {1, 1}, .bytes = 5, .flags = ROTA_OBJECT_KEEP};
    does(story, submit());
}

// A correct submission still works after a wrong one.
static void scene_close(struct story *story)
{
    paper_open(1);
    does(story, submit());
    story_close(story);
}

// ---- Cycles ------------------------------------------------------------------------------

static void cycles_of_edges_are_refused(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {1, 2, 3, LONG};
    struct story story;
    scene_open(&story);
    for (size_t i = 0; i < 4; i++) {
        uint32_t length = lengths[i];
        paper_open(length);
        for (uint32_t task = 1; task <= length; task++) paper_edge(task, task % length + 1);
        refused(&story, submit(), ROTA_BAD_GRAPH);
    }
    scene_close(&story);
}

static void cycles_of_conditions_are_refused(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {1, 2, 3, LONG};
    struct story story;
    scene_open(&story);
    for (size_t i = 0; i < 16; i++) {
        uint32_t length = lengths[i / 4];
        paper_open(length);
        enum rota_clause_kind kind = (enum rota_clause_kind)(ROTA_CLAUSE_SUCCESS + i % 4);
        for (uint32_t task = 1; task <= length; task++) paper_clause(task, kind, task % length + 1);
        refused(&story, submit(), ROTA_BAD_GRAPH);
    }
    scene_close(&story);
}

static void cycles_with_a_lane_in_order_of_submission_are_refused(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    for (uint32_t length = 2; length <= LONG; length = length == 2   ? 3
                                                       : length == 3 ? LONG
                                                                     : LONG + 1) {
        paper_open(length);
        for (uint32_t i = 0; i < length; i++) {
            paper.tasks[i].lane = 1;
            paper.tasks[i].access = ROTA_ACCESS_READ;
        }
        paper_edge(length, 1);
        refused(&story, submit(), ROTA_BAD_GRAPH);
        paper.spec.edge_count = 0;
        paper_clause(1, ROTA_CLAUSE_DONE, length);
        refused(&story, submit(), ROTA_BAD_GRAPH);
        for (uint32_t i = 0; i < length; i++) paper.tasks[i].lane = 2;
        does(&story, submit());
    }
    scene_close(&story);
}

// Edge 1 to 2, condition 3 on 2, input of 4 from 3, lane from 4 to 5, and 1 depends on 5.
static void mixed_cycles_are_refused(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    for (int closed = 1; closed >= 0; closed--) {
        paper_open(5);
        paper_edge(1, 2);
        paper_clause(3, ROTA_CLAUSE_FAILED, 2);
        paper.spec.output_count = paper.spec.input_count = 1;
        paper.outputs[0] = (struct rota_output){.task = 3, .object = {1, 9}};
        paper.inputs[0] = (struct rota_input){.task = 4, .object = {1, 9}};
        for (uint32_t i = 3; i < 5; i++) {
            paper.tasks[i].lane = 1;
            paper.tasks[i].access = ROTA_ACCESS_WRITE;
        }
        if (closed)
            paper_edge(5, 1), refused(&story, submit(), ROTA_BAD_GRAPH);
        else
            does(&story, submit());
    }
    scene_close(&story);
}

static void a_member_that_waits_for_its_own_bundle_is_refused(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    paper_open(3);
    paper.tasks[0].flags = ROTA_TASK_BUNDLE;
    paper.tasks[1].bundle = 1;
    paper_clause(2, ROTA_CLAUSE_SUCCESS, 1);
    refused(&story, submit(), ROTA_BAD_GRAPH);
    paper_edge(3, 2);
    paper_clause(3, ROTA_CLAUSE_NOT_RUNNING, 1);
    paper.tasks[1].clause_count = 0;
    refused(&story, submit(), ROTA_BAD_GRAPH);
    scene_close(&story);
}

// ---- Bundles, edges, lanes, objects --------------------------------------------------------

static void bundles_have_no_edges_and_do_not_nest(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    paper_open(3);
    paper.tasks[0].flags = paper.tasks[1].flags = ROTA_TASK_BUNDLE;
    paper_edge(1, 3);
    refused(&story, submit(), ROTA_BAD_GRAPH);
    paper.edges[0] = (struct rota_edge){3, 1};
    refused(&story, submit(), ROTA_BAD_GRAPH);
    paper.spec.edge_count = 0;
    paper.tasks[1].bundle = 1;
    refused(&story, submit(), ROTA_BAD_GRAPH);
    scene_close(&story);
}

// Any refusal is accepted: the contract does not name the error.
static void is_refused(struct story *story, struct rota_event event)
{
    uint64_t digest = rota_digest(story->rota);
    enum rota_error error = step(story, event);
    assert_int_not_equal(error, ROTA_OK);
    assert_int_not_equal(error, ROTA_NO_MEMORY);
    assert_true(strlen(rota_reason(story->rota)) > 8);
    assert_true(rota_digest(story->rota) == digest);
    rota_check(story->rota);
}

static void ends_of_edges_must_exist(void **state)
{
    (void)state;
    static const struct rota_edge bad[]
        = {{0, 1}, {1, 0}, {3, 1}, {1, 3}, {UINT32_MAX, 1}, {1, UINT32_MAX}};
    struct story story;
    scene_open(&story);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        paper_open(2);
        paper_edge(bad[i].before, bad[i].after);
        is_refused(&story, submit());
    }
    paper_open(1);  // an old task cannot get a new dependency
    paper.spec.job.number = 1;
    paper.spec.first = 3;
    paper_edge(3, 2);
    is_refused(&story, submit());
    scene_close(&story);
}

static void bad_tasks_are_refused(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    for (int which = 0; which < 9; which++) {
        paper_open(2);
        struct rota_task_spec *task = &paper.tasks[1];
        if (which == 0) task->lane = 77, task->access = ROTA_ACCESS_READ;
        if (which == 1) task->lane = 2, task->access = ROTA_ACCESS_NONE;
        if (which == 2) task->lane = 2, task->access = 3;
        if (which == 3) task->access = 200;
        if (which == 4) task->bundle = 1;
        if (which == 5) task->bundle = 99;
        if (which == 6) task->priority = 300;
        if (which == 7) task->flags = 0x80;
        if (which == 8) paper.spec.policy = (enum rota_policy)9;
        is_refused(&story, submit());
    }
    scene_close(&story);
}

static void objects_have_one_producer_and_are_known(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    for (int which = 0; which < 8; which++) {
        paper_open(2);
        paper.spec.output_count = 1;
        paper.outputs[0] = (struct rota_output){.task = 1, .object = {1, 50}};
        paper.outputs[1] = (struct rota_output){.task = 2, .object = {1, 50}};
        paper.inputs[0] = (struct rota_input){.task = 2, .object = {1, 51}};
        if (which == 0) paper.spec.output_count = 2;
        if (which == 1) paper.outputs[1].task = 0, paper.spec.output_count = 2;
        if (which == 2) paper.outputs[0].object = (rota_object_id){1, 1};  // of another job
        if (which == 3) paper.outputs[0].task = 7;
        if (which == 4) paper.outputs[0].object = (rota_object_id){0, 0};
        if (which == 5) paper.spec.input_count = 1;
        if (which == 6) paper.inputs[0].object = (rota_object_id){1, 1}, paper.spec.input_count = 1;
        if (which == 7) paper.outputs[0].task = 0, paper.outputs[0].flags = ROTA_OBJECT_STREAM;
        is_refused(&story, submit());
    }
    scene_close(&story);
}

static void malformed_conditions_are_refused(void **state)
{
    (void)state;
    enum { S = ROTA_CLAUSE_SUCCESS, A = ROTA_CLAUSE_AND };
    static const struct {
        uint32_t first, count;
        int kinds[4];
    } bad[] = {{0, 1, {A}},
               {0, 2, {S, A}},
               {0, 2, {S, S}},
               {0, 3, {S, A, S}},
               {0, 1, {0}},
               {0, 1, {7}},
               {0, 1, {-1}},
               {0, 5, {S, S, A, S}},
               {1, 4, {S, S, A, S}},
               {UINT32_MAX, 1, {S}},
               {UINT32_MAX, 2, {S, S}},
               {0, UINT32_MAX, {S}},
               {2, UINT32_MAX - 1, {S, S, S}},
               {4, 1, {S, S, A, S}}};
    struct story story;
    scene_open(&story);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        paper_open(2);
        paper.spec.clause_count = 4;
        for (uint32_t k = 0; k < 4; k++) {
            paper.clauses[k] = (struct rota_clause){(enum rota_clause_kind)bad[i].kinds[k], {0, 1}};
        }
        paper.tasks[1].clause_first = bad[i].first;
        paper.tasks[1].clause_count = bad[i].count;
        is_refused(&story, submit());
    }
    paper_open(2);
    paper_clause(2, ROTA_CLAUSE_DONE, 3);
    refused(&story, submit(), ROTA_NOT_FOUND);
    paper.clauses[0].task = (rota_task_id){9, 1};
    refused(&story, submit(), ROTA_NOT_FOUND);
    scene_close(&story);
}

// ---- The task that a refusal names ----------------------------------------------------------

static void the_first_bad_task_is_known(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    paper_open(4);
    paper.tasks[2].priority = paper.tasks[3].priority = 300;
    is_refused(&story, submit());
    struct rota_fault fault = rota_fault(story.rota);
    assert_int_equal(fault.task.task, 3);
    assert_int_equal(fault.task.job | fault.other.task | fault.cycle_length, 0);
    paper_open(4);
    paper_edge(1, 2);
    paper_edge(9, 4);
    paper_edge(9, 3);
    is_refused(&story, submit());
    fault = rota_fault(story.rota);
    assert_int_equal(fault.task.task, 4);
    assert_int_equal(fault.other.task, 9);
    paper_open(4);
    paper.spec.input_count = 1;
    paper.inputs[0] = (struct rota_input){.task = 3, .object = {1, 77}};
    is_refused(&story, submit());
    assert_int_equal(rota_fault(story.rota).task.task, 3);
    paper_open(4);
    paper.spec.policy = (enum rota_policy)9;  // not an error of a task
    is_refused(&story, submit());
    assert_int_equal(rota_fault(story.rota).task.task, 0);
    scene_close(&story);
}

// Each of them waits for the next, by an edge, a condition and an input; others wait for these.
static void a_cycle_is_known_in_its_order(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    paper_open(LONG);
    paper.spec.output_count = paper.spec.input_count = 1;
    paper.outputs[0] = (struct rota_output){.task = 20, .object = {1, 9}};
    paper.inputs[0] = (struct rota_input){.task = 40, .object = {1, 9}};
    paper_clause(20, ROTA_CLAUSE_FAILED, 30);
    paper_edge(40, 30);
    for (uint32_t task = 1; task < 10; task++) paper_edge(30, task);
    refused(&story, submit(), ROTA_BAD_GRAPH);
    static const uint32_t expected[] = {20, 30, 40};
    struct rota_fault fault = rota_fault(story.rota);
    assert_int_equal(fault.cycle_length, 3);
    assert_int_equal(fault.task.task, 20);
    for (int i = 0; i < 3; i++) assert_int_equal(fault.cycle[i].task, expected[i]);
    paper_open(LONG);
    for (uint32_t task = 1; task <= LONG; task++) paper_edge(task, task % LONG + 1);
    refused(&story, submit(), ROTA_BAD_GRAPH);
    fault = rota_fault(story.rota);
    assert_int_equal(fault.cycle_length, LONG);
    assert_int_equal(fault.cycle[0].task, 1);
    for (uint32_t i = 1; i < ROTA_CYCLE_SHOWN; i++)
        assert_int_equal(fault.cycle[i].task, LONG + 1 - i);
    scene_close(&story);
}

// ---- Unknown ids ----------------------------------------------------------------------------

static void unknown_ids_are_not_found(void **state)
{
    (void)state;
    static const rota_task_id tasks[]
        = {{9, 1}, {1, 9}, {0, 1}, {1, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};
    struct story story;
    scene_open(&story);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        rota_task_id id = tasks[i];
        for (int kind = ROTA_EVENT_CANCEL; kind <= ROTA_EVENT_STAGE; kind++) {
            refused(&story, (struct rota_event){.kind = (enum rota_event_kind)kind, .task = {id}},
                    ROTA_NOT_FOUND);
        }
        for (int action = ROTA_MANUAL_START; action <= ROTA_MANUAL_FREEZE; action++) {
            refused(&story,
                    (struct rota_event){.kind = ROTA_EVENT_MANUAL,
                                        .manual = {id, (enum rota_manual)action}},
                    ROTA_NOT_FOUND);
        }
        for (int kind = ROTA_EVENT_CLAIM; kind <= ROTA_EVENT_FAIL; kind++) {
            refused(&story,
                    (struct rota_event){.kind = (enum rota_event_kind)kind,
                                        .claim = {.task = id, .flags = 15}},
                    ROTA_NOT_FOUND);
        }
        for (int kind = ROTA_EVENT_TASK_STARTED; kind <= ROTA_EVENT_TASK_FINISHED; kind++) {
            refused(&story,
                    (struct rota_event){
                        .kind = (enum rota_event_kind)kind,
                        .report
                        = {.worker = {1}, .task = id, .attempt = 1, .outcome = ROTA_OUTCOME_OK}},
                    ROTA_NOT_FOUND);
        }
        refused(&story,
                (struct rota_event){.kind = ROTA_EVENT_WAIT,
                                    .wait = {.client = 5, .tasks = &id, .count = 1}},
                ROTA_NOT_FOUND);
    }
    refused(&story, (struct rota_event){.kind = ROTA_EVENT_CLOSE, .close = {{9}}}, ROTA_NOT_FOUND);
    for (int kind = ROTA_EVENT_KEEP; kind <= ROTA_EVENT_READ; kind++) {
        refused(&story,
                (struct rota_event){.kind = (enum rota_event_kind)kind, .object = {5, {8, 8}}},
                ROTA_NOT_FOUND);
    }
    for (int kind = ROTA_EVENT_WORKER_HEARD; kind <= ROTA_EVENT_WORKER_LEFT; kind++) {
        refused(&story,
                (struct rota_event){.kind = (enum rota_event_kind)kind, .worker = {.id = {9}}},
                ROTA_NOT_FOUND);
    }
    paper_open(1);
    paper.spec.job.number = 9;
    refused(&story, submit(), ROTA_NOT_FOUND);
    scene_close(&story);
}

static void events_no_caller_sends_are_refused(void **state)
{
    (void)state;
    struct story story;
    scene_open(&story);
    is_refused(&story, (struct rota_event){.kind = (enum rota_event_kind)0});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENTS});
    is_refused(&story, (struct rota_event){.kind = (enum rota_event_kind)1000});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENT_WORKER_JOINED});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENT_LANE});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENT_RESTORE});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENT_MANUAL,
                                           .manual = {{1, 1}, (enum rota_manual)9}});
    is_refused(&story, (struct rota_event){.kind = ROTA_EVENT_KEY_COMPLETED,
                                           .completed = {{1}, {0, 0}, ROTA_OUTCOME_OK, 0}});
    is_refused(&story,
               (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{0}, {1, 1}, 0}});
    is_refused(&story,
               (struct rota_event){.kind = ROTA_EVENT_OBJECT_HELD, .replica = {{1}, {0, 0}, 0}});
    story.now = -1;
    refused(&story, (struct rota_event){.kind = ROTA_EVENT_TIME}, ROTA_BAD_EVENT);
    story.now = 50;
    turn(&story);
    story.now = 49;
    refused(&story, (struct rota_event){.kind = ROTA_EVENT_TIME}, ROTA_BAD_EVENT);
    story.now = 50;
    struct rota_config config = story_config();
    struct rota *other = NULL;
    config.cached_wait = 2;
    config.inputs_wait = 1;
    assert_int_equal(rota_open(&config, &other), ROTA_BAD_EVENT);
    scene_close(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_of_edges_are_refused),
        cmocka_unit_test(cycles_of_conditions_are_refused),
        cmocka_unit_test(cycles_with_a_lane_in_order_of_submission_are_refused),
        cmocka_unit_test(mixed_cycles_are_refused),
        cmocka_unit_test(a_member_that_waits_for_its_own_bundle_is_refused),
        cmocka_unit_test(bundles_have_no_edges_and_do_not_nest),
        cmocka_unit_test(ends_of_edges_must_exist),
        cmocka_unit_test(bad_tasks_are_refused),
        cmocka_unit_test(objects_have_one_producer_and_are_known),
        cmocka_unit_test(malformed_conditions_are_refused),
        cmocka_unit_test(the_first_bad_task_is_known),
        cmocka_unit_test(a_cycle_is_known_in_its_order),
        cmocka_unit_test(unknown_ids_are_not_found),
        cmocka_unit_test(events_no_caller_sends_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
