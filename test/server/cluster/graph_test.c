// graph_test.c - how a server refuses an invalid graph: it names the task.
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 8, PIECE = 100000 };
enum { TASKS_MAX = 1000000, EDGES_MAX = 10000000, NEEDS_MAX = 100000, CLAUSES_MAX = 10000 };

static struct wire_spec specs[TASKS];
static uint64_t requests;

// `count` tasks, called a, b, c...
static struct wire_submit graph_of(uint32_t count, const struct wire_edge *edges,
                                   uint32_t edge_count)
{
    static const char *const names[TASKS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    struct wire_message message = draft_of(++requests, 0, specs, count);
    for (uint32_t i = 0; i < count; i++) {
        specs[i] = (struct wire_spec){.cores = 1, .details = wire_text_of("")};
        specs[i].name = wire_text_of(names[i]);
    }
    message.submit.edges = (wire_edges){(struct wire_edge *)edges, edge_count};
    return message.submit;
}

static void says(const struct wire_submit *submit)
{
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    assert_true(played_says(&peers, &client, &message));
}

// "": it is accepted.
static void is_told(const struct wire_submit *submit, const char *expected)
{
    struct wire_message answer;
    says(submit);
    peers_turn(&peers);
    enum wire_kind kind = played_hears(&client, &answer);
    const char *told = kind == WIRE_REFUSE_MESSAGE ? answer.refuse.reason.bytes : "";
    assert_string_equal(told, expected);
    assert_int_equal(kind, expected[0] ? WIRE_REFUSE_MESSAGE : WIRE_ACCEPTED_MESSAGE);
}

static int begin_alone(void **state)
{
    begin(state);
    greets(&client, WIRE_CLIENT, "client", 0);
    return 0;
}

// ---- Edges -------------------------------------------------------------------------------------

static void an_invalid_edge_names_its_task(void **state)
{
    (void)state;
    static const struct {
        struct wire_edge edge;
        const char *told;
    } bad[] = {
        {{2, 2}, "task 2 \"b\": an edge from a task to itself"},
        {{9, 3}, "task 3 \"c\": an edge begins at an unknown task (task 9)"},
        {{1, 9}, "task 9: an edge must end at a new task (task 1 \"a\")"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wire_edge edges[] = {{1, 2}, bad[i].edge, {7, 7}};
        struct wire_submit submit = graph_of(3, edges, 3);
        is_told(&submit, bad[i].told);
    }
}

static void a_cycle_is_reported_from_its_smallest_task_on(void **state)
{
    (void)state;
    static const struct wire_edge edges[] = {{1, 2}, {4, 2}, {2, 3}, {3, 4}, {4, 5}};
    struct wire_submit submit = graph_of(5, edges, 5);
    is_told(&submit, "the tasks wait for each other in a cycle: 2 \"b\" waits for 4 \"d\" "
                     "waits for 3 \"c\" waits for 2");
    static const struct wire_edge two[] = {{2, 1}, {1, 2}};
    submit = graph_of(2, two, 2);
    is_told(&submit,
            "the tasks wait for each other in a cycle: 1 \"a\" waits for 2 \"b\" waits for 1");
}

static void a_long_cycle_is_reported_by_its_first_tasks(void **state)
{
    (void)state;
    struct wire_edge edges[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) edges[i] = (struct wire_edge){(i + 1) % TASKS + 1, i + 1};
    struct wire_submit submit = graph_of(TASKS, edges, TASKS);
    is_told(&submit, "the tasks wait for each other in a cycle: 1 \"a\" waits for 2 \"b\" "
                     "waits for 3 \"c\" waits for 4 \"d\" waits for ... and 4 more, the last of "
                     "which waits for 1");
}

static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    static const struct wire_edge self[] = {{1, 1}};
    struct wire_submit submit = graph_of(1, self, 1);
    specs[0].name = wire_text_of("a234567890123456789012345678901\xc3\xa4\xc3\xa4");
    is_told(&submit,
            "task 1 \"a234567890123456789012345678901...\": an edge from a task to itself");
}

// The job has a bundle, 1, and 2 that waits for it; a new member of the bundle must not wait for 2.
static void a_cycle_through_earlier_tasks_is_reported(void **state)
{
    (void)state;
    static struct wire_clause clause = {ROTA_CLAUSE_SUCCESS, {0, 1}};
    static const struct wire_edge edges[] = {{2, 3}};
    struct wire_submit submit = graph_of(2, NULL, 0);
    specs[0].flags = ROTA_TASK_BUNDLE;
    specs[1].clause_count = 1;
    submit.clauses = (wire_clauses){&clause, 1};
    submit.flags = WIRE_SUBMIT_OPEN;
    is_told(&submit, "");
    submit = graph_of(1, edges, 1);
    submit.job = 1;
    specs[0].bundle = 1;
    is_told(&submit, "a bundle would wait for a task that waits for it: 3 \"a\" waits for 2 waits "
                     "for 1 waits for 3");
    static const struct wire_edge self[] = {{3, 3}};
    submit = graph_of(1, self, 1);
    submit.job = 1;
    is_told(&submit, "task 3 \"a\": an edge from a task to itself");
}

static void a_lane_that_others_use_is_not_changed(void **state)
{
    (void)state;
    struct wire_lane lane = {wire_text_of("one"), 0};
    for (int i = 0; i < 2; i++) {
        struct wire_submit submit = graph_of(1, NULL, 0);
        submit.lanes = (wire_lanes){&lane, 1};
        specs[0].lane = 1;
        specs[0].access = ROTA_ACCESS_WRITE;
        lane.flags = i ? ROTA_LANE_STRICT : 0;
        is_told(&submit, i ? "a lane cannot be changed while it has tasks" : "");
    }
}

// ---- Tasks -------------------------------------------------------------------------------------

static void an_invalid_task_is_named(void **state)
{
    (void)state;
    struct wire_clause away = {ROTA_CLAUSE_SUCCESS, {7, 5}};
    for (int which = 0; which < 7; which++) {
        struct wire_submit submit = graph_of(3, NULL, 0);
        const char *told = NULL;
        if (which == 0) specs[1].priority = 300, told = "a priority must be between -128 and 127";
        if (which == 1) specs[1].retries = 996, told = "at most 995 retries are allowed";
        if (which == 2) {
            specs[1].lane = 1;
            told = "a task names a lane, group, machine or body that is not in the submission";
        }
        if (which == 3)
            specs[1].bundle = 3, told = "unknown bundle (task 3 \"c\")";
        if (which == 4) specs[1].estimate = -1, told = "a time must be between 0 and 100 years";
        if (which == 5) specs[1].flags = 1u << 31, told = "unknown flags";
        if (which == 6) {
            submit.clauses = (wire_clauses){&away, 1};
            specs[1].clause_count = 1;
            told = "a condition names an unknown task (task 7.5)";
        }
        char whole[200];
        snprintf(whole, sizeof whole, "task 2 \"b\": %s", told);
        is_told(&submit, whole);
    }
    struct wire_submit submit = graph_of(3, NULL, 0);
    specs[2].name = wire_text_of("a\nb");
    is_told(&submit, "task 3: invalid task name: at most 255 bytes, no control characters");
}

static void an_unknown_body_names_its_first_task(void **state)
{
    (void)state;
    wire_text none[] = {wire_text_of("x")};
    struct wire_submit submit = graph_of(3, NULL, 0);
    submit.bodies = submit.commands = (wire_texts){none, 1};
    specs[1].body = specs[2].body = 1;
    is_told(&submit, "task 2 \"b\": a body must be a RUN frame");
    submit = graph_of(3, NULL, 0);
    submit.bodies = submit.commands = (wire_texts){none, 1};
    is_told(&submit, "a body must be a RUN frame");
}

static void tasks_are_counted_over_pieces(void **state)
{
    (void)state;
    struct wire_submit submit = graph_of(3, NULL, 0);
    submit.flags = WIRE_SUBMIT_MORE;
    says(&submit);
    submit = graph_of(2, NULL, 0);
    submit.low = requests -= 1;
    specs[1].estimate = -1;
    is_told(&submit, "task 5 \"b\": a time must be between 0 and 100 years");
}

// ---- Limits ------------------------------------------------------------------------------------

// Pieces of `count` tasks without names; the last one is still missing.
static void tasks_come(uint32_t count)
{
    struct wire_spec *many = calloc(PIECE, sizeof *many);
    requests++;
    for (uint32_t left = count, size; left; left -= size) {
        size = left < PIECE ? left : PIECE;
        struct wire_message message = draft_of(requests, 0, many, size);
        message.submit.flags = WIRE_SUBMIT_MORE;
        says(&message.submit);
    }
    free(many);
}

static struct wire_submit last_piece(const struct wire_edge *edges, uint32_t count)
{
    struct wire_submit submit = graph_of(0, edges, count);
    submit.low = --requests;
    return submit;
}

static void a_million_tasks_are_taken_and_one_more_is_not(void **state)
{
    (void)state;
    tasks_come(TASKS_MAX);
    struct wire_submit submit = last_piece(NULL, 0);
    is_told(&submit, "");
    tasks_come(TASKS_MAX);
    submit = graph_of(1, NULL, 0);
    submit.low = --requests;
    is_told(&submit, "task 1000001: a submission may have at most 1,000,000 tasks");
}

// Each task waits for as many earlier ones as the limit of edges allows.
static void ten_million_edges_are_taken_and_one_more_is_not(void **state)
{
    (void)state;
    enum { MANY = EDGES_MAX / 10, EACH = 1000, TASK_COUNT = EDGES_MAX / EACH + EACH };
    struct wire_edge *edges = calloc(MANY + 1, sizeof *edges);
    for (int beyond = 0; beyond < 2; beyond++) {
        tasks_come(TASK_COUNT);
        uint32_t after = EACH + 1, before = 0;
        for (int piece = 0; piece < 10; piece++) {
            for (uint32_t i = 0; i < MANY; i++) {
                edges[i] = (struct wire_edge){after - EACH + before, after};
                if (++before == EACH) after++, before = 0;
            }
            bool last = piece == 9;
            edges[MANY] = (struct wire_edge){1, 77};
            struct wire_submit submit = last_piece(edges, MANY + (last && beyond));
            submit.flags = last ? 0 : WIRE_SUBMIT_MORE;
            if (last)
                is_told(&submit,
                        beyond ? "task 77: a submission may have at most 10,000,000 edges" : "");
            else
                says(&submit);
        }
    }
    free(edges);
}

static void a_task_may_wait_for_a_hundred_thousand(void **state)
{
    (void)state;
    struct wire_edge *edges = calloc(NEEDS_MAX + 1, sizeof *edges);
    for (uint32_t i = 0; i <= NEEDS_MAX; i++) edges[i] = (struct wire_edge){i + 1, NEEDS_MAX + 2};
    tasks_come(NEEDS_MAX + 2);
    struct wire_submit submit = last_piece(edges, NEEDS_MAX);
    is_told(&submit, "");
    tasks_come(NEEDS_MAX + 2);
    submit = last_piece(edges, NEEDS_MAX + 1);
    is_told(&submit, "task 100002: a task may have at most 100,000 dependencies");
    free(edges);
}

static void a_task_may_read_a_hundred_thousand_objects(void **state)
{
    (void)state;
    struct wire_use *uses = calloc(NEEDS_MAX + 1, sizeof *uses);
    struct wire_make *makes = calloc(NEEDS_MAX + 1, sizeof *makes);
    for (uint32_t i = 0; i <= NEEDS_MAX; i++) {
        makes[i] = (struct wire_make){.task = 1, .object = {5, i + 1}};
        uses[i] = (struct wire_use){.task = 2, .object = {5, i + 1}};
    }
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        struct wire_submit submit = graph_of(2, NULL, 0);
        if (beyond) submit.policy = ROTA_POLICY_PULL;
        for (uint32_t i = 0; i <= NEEDS_MAX; i++)
            makes[i].object.high = uses[i].object.high = 5 + beyond;
        submit.outputs = (wire_makes){makes, NEEDS_MAX + 1};
        submit.inputs = (wire_uses){uses, NEEDS_MAX + beyond};
        is_told(&submit, beyond ? "task 2 \"b\": a task may have at most 100,000 inputs" : "");
    }
    free(uses);
    free(makes);
}

static void a_condition_may_have_ten_thousand_clauses(void **state)
{
    (void)state;
    struct wire_clause *clauses = calloc(CLAUSES_MAX + 2, sizeof *clauses);
    for (uint32_t i = 0; i < CLAUSES_MAX + 2; i++) {
        bool joins = i && i % 2 == 0;  // what is before it
        clauses[i] = (struct wire_clause){joins ? ROTA_CLAUSE_OR : ROTA_CLAUSE_DONE, {0, 1}};
    }
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        struct wire_submit submit = graph_of(2, NULL, 0);
        specs[1].clause_count = CLAUSES_MAX - 1 + 2 * beyond;  // an odd number, to be complete
        submit.clauses = (wire_clauses){clauses, CLAUSES_MAX + 2};
        is_told(&submit, beyond ? "task 2 \"b\": a condition may have at most 10,000 clauses" : "");
    }
    free(clauses);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_alone, end)
    const struct CMUnitTest tests[] = {
        TEST(an_invalid_edge_names_its_task),
        TEST(a_cycle_is_reported_from_its_smallest_task_on),
        TEST(a_long_cycle_is_reported_by_its_first_tasks),
        TEST(a_long_name_is_cut_between_characters),
        TEST(a_cycle_through_earlier_tasks_is_reported),
        TEST(a_lane_that_others_use_is_not_changed),
        TEST(an_invalid_task_is_named),
        TEST(an_unknown_body_names_its_first_task),
        TEST(tasks_are_counted_over_pieces),
        TEST(a_million_tasks_are_taken_and_one_more_is_not),
        TEST(ten_million_edges_are_taken_and_one_more_is_not),
        TEST(a_task_may_wait_for_a_hundred_thousand),
        TEST(a_task_may_read_a_hundred_thousand_objects),
        TEST(a_condition_may_have_ten_thousand_clauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
