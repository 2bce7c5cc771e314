// search_test.c - schedules that are replayed in the model, and the best of many.
#include "seed.h"
#include "sketch.h"

static double replay(const struct plan_graph *graph, const struct plan_cluster *cluster,
                     const struct plan_schedule *schedule, double limit)
{
    struct model *model = model_open(graph, cluster);
    double seconds = plan_replay(model, graph, schedule, limit);
    model_close(model);
    return seconds;
}

// The duration of a rule's schedule in the model.
static double list_seconds(const struct plan_graph *graph, const struct plan_cluster *cluster,
                           struct plan_rule rule)
{
    struct plan_schedule schedule = plan_schedule_take(graph->task_count);
    struct planner *planner = planner_open(graph, cluster);
    planner_plan(planner, &rule, &schedule, UINT32_MAX);
    double seconds = replay(graph, cluster, &schedule, 1e300);
    planner_close(planner);
    plan_schedule_release(&schedule);
    return seconds;
}

static double search_seconds(const struct plan_graph *graph, const struct plan_cluster *cluster,
                             struct plan_search *search)
{
    struct plan_schedule best = plan_schedule_take(graph->task_count);
    plan_search(search, graph, cluster, &best);
    assert_about(replay(graph, cluster, &best, 1e300), search->seconds);
    plan_schedule_release(&best);
    return search->seconds;
}

// ---- Replay ------------------------------------------------------------------------------

static void a_replay_lasts_as_long_as_its_tasks_and_transfers(void **state)
{
    (void)state;
    struct plan_graph graph = diamond(10);
    struct plan_cluster cluster = sketch_cluster(2);
    uint32_t apart[] = {0, 1, 0, 0}, together[] = {0, 0, 0, 0}, order[] = {4, 2, 3, 1};
    struct model *model = model_open(&graph, &cluster);
    // a 0..1, x to worker 1 1..2, b 2..4, c 1..4, y back 4..5, d 5..6
    struct plan_schedule schedule = {apart, order};
    assert_about(plan_replay(model, &graph, &schedule, 1e300), 6);
    assert_int_equal(model_sums(model).transfers, 2);
    assert_about(model_sums(model).mib, 20);
    assert_about(model_began(model, B), 2);
    // On one worker: 1 + 3 + 2 + 1. The same model is used again.
    schedule.worker = together;
    assert_about(plan_replay(model, &graph, &schedule, 1e300), 7);
    assert_int_equal(model_sums(model).transfers, 0);
    model_close(model);
    plan_graph_release(&graph);
}

static void a_replay_stops_at_its_limit(void **state)
{
    (void)state;
    struct plan_graph graph = diamond(0);
    struct plan_cluster cluster = sketch_cluster(1);
    uint32_t workers[] = {0, 0, 0, 0}, order[] = {4, 2, 3, 1};
    struct plan_schedule schedule = {workers, order};
    assert_about(replay(&graph, &cluster, &schedule, 3), 3);
    assert_about(replay(&graph, &cluster, &schedule, 8), 7);
    plan_graph_release(&graph);
}

static void inputs_that_alone_are_missing_come_first(void **state)
{
    (void)state;
    // a (1 s) makes w and x, 10 MiB each. b (1 s) reads w and y, which c (5 s) makes; d (1 s)
    // reads x. b is more urgent, but waits for c in any case: x goes before w.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 4, .seconds = {1, 1, 5, 1}, .object_count = 3,
        .objects = {{A, 10, READ_BY(B), false}, {A, 10, READ_BY(D), false},
                    {C, 0, READ_BY(B), false}}});
    struct plan_cluster cluster = sketch_cluster(3);
    cluster.slots = 1;
    uint32_t workers[] = {0, 1, 2, 1}, order[] = {4, 3, 2, 1};
    struct plan_schedule schedule = {workers, order};
    struct model *model = model_open(&graph, &cluster);
    assert_about(plan_replay(model, &graph, &schedule, 1e300), 6);  // c 0..5, b 5..6
    assert_about(model_began(model, D), 2);                         // x 1..2
    model_close(model);
    plan_graph_release(&graph);
}

// ---- Search ------------------------------------------------------------------------------

static void one_rule_is_tried_without_any_effort(void **state)
{
    (void)state;
    // By rank: 3 and 3, then 2 and 2, then 2: the last ends at 7.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 5, .seconds = {3, 3, 2, 2, 2}});
    struct plan_cluster cluster = sketch_cluster(2);
    struct plan_search search = {.steps_max = 0, .steps_each = 1e9};
    assert_about(search_seconds(&graph, &cluster, &search), 7);
    assert_int_equal(search.plans, 1);
    plan_graph_release(&graph);
}

static void a_search_finds_the_optimum_and_stops(void **state)
{
    (void)state;
    // 3 + 3 and 2 + 2 + 2: 6 s, which is half of the work, so nothing is better.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 5, .seconds = {3, 3, 2, 2, 2}});
    struct plan_cluster cluster = sketch_cluster(2);
    struct plan_search search = {
        .steps_max = 1000000, .steps_each = 1e9, .seed = seed_take()};
    assert_about(search_seconds(&graph, &cluster, &search), 6);
    assert_true(search.steps < search.steps_max);
    plan_graph_release(&graph);
}

static void a_search_is_never_worse_than_a_list(void **state)
{
    (void)state;
    struct plan_graph graphs[] = {
        diamond(0), diamond(10), diamond(50),
        sketch_graph(&(struct sketch){.task_count = 5, .seconds = {3, 3, 2, 2, 2}}),
        sketch_graph(&(struct sketch){
            .task_count = 6, .seconds = {1, 1, 1, 1, 1, 1}, .object_count = 4,
            .objects = {{A, 10, READ_BY(E), false}, {B, 20, READ_BY(E), false},
                        {C, 30, READ_BY(F), false}, {D, 40, READ_BY(F), false}}}),
    };
    uint64_t seed = seed_take();
    for (uint32_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        for (uint32_t workers = 1; workers <= 3; workers++) {
            struct plan_cluster cluster = sketch_cluster(workers);
            struct plan_search search = {.steps_max = 20000, .steps_each = 1e9, .seed = seed};
            double found = search_seconds(&graphs[i], &cluster, &search);
            assert_true(found <= list_seconds(&graphs[i], &cluster, (struct plan_rule){0}) + 1e-6);
            assert_true(found + 1e-6 >= plan_lower_bound(&graphs[i], &cluster));
        }
        plan_graph_release(&graphs[i]);
    }
}

static void the_same_seed_finds_the_same(void **state)
{
    (void)state;
    struct plan_graph graph = diamond(15);
    struct plan_cluster cluster = sketch_cluster(2);
    struct plan_search first = {.steps_max = 5000, .steps_each = 1e9, .seed = seed_take()};
    struct plan_search second = first;
    search_seconds(&graph, &cluster, &first);
    search_seconds(&graph, &cluster, &second);
    assert_about(second.seconds, first.seconds);
    assert_int_equal(second.plans, first.plans);
    assert_int_equal(second.steps, first.steps);
    plan_graph_release(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_lasts_as_long_as_its_tasks_and_transfers),
        cmocka_unit_test(a_replay_stops_at_its_limit),
        cmocka_unit_test(inputs_that_alone_are_missing_come_first),
        cmocka_unit_test(one_rule_is_tried_without_any_effort),
        cmocka_unit_test(a_search_finds_the_optimum_and_stops),
        cmocka_unit_test(a_search_is_never_worse_than_a_list),
        cmocka_unit_test(the_same_seed_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
