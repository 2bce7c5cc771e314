// graph_test.c - graphs, groups joined by streams, lower bounds, and the queue of ranks.
#include "sketch.h"

#include <stdlib.h>

static void a_finished_graph_knows_makers_and_readers(void **state)
{
    (void)state;
    struct plan_graph graph = diamond(10);
    assert_int_equal(graph.input_count, 4);
    assert_int_equal(graph.objects[X].producer, A);
    assert_int_equal(graph.objects[Z].producer, C);
    assert_int_equal(graph.objects[X].user_count, 2);
    assert_int_equal(graph.users[graph.objects[X].user], B);
    assert_int_equal(graph.users[graph.objects[X].user + 1], C);
    assert_int_equal(graph.objects[Y].user_count, 1);
    assert_int_equal(graph.users[graph.objects[Y].user], D);
    plan_graph_release(&graph);
}

static void producers_are_sorted_before_readers(void **state)
{
    (void)state;
    // c makes what b reads, and b makes what a reads: the order is c b a.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 3, .object_count = 2,
        .objects = {{B, 0, READ_BY(A), false}, {C, 0, READ_BY(B), false}}});
    static const uint32_t expected[] = {C, B, A};
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(graph.sorted[i], expected[i]);
    plan_graph_release(&graph);
}

static void an_object_without_a_maker_holds_no_task_back(void **state)
{
    (void)state;
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 1, .seconds = {2}, .object_count = 1,
        .objects = {{PLAN_NONE, 100, READ_BY(A), false}}});
    struct plan_cluster cluster = sketch_cluster(1);
    struct model *model = model_open(&graph, &cluster);
    assert_int_equal(graph.objects[0].producer, PLAN_NONE);
    assert_true(model_has(model, 0, 0));
    assert_about(plan_longest_path(&graph), 2);
    model_close(model);
    plan_graph_release(&graph);
}

static void a_cycle_is_refused(void **state)
{
    (void)state;
    struct plan_graph graph;
    // a and b read what the other one makes; c is in no cycle.
    assert_false(sketch_build(&(struct sketch){
        .task_count = 3, .object_count = 2,
        .objects = {{A, 0, READ_BY(B), false}, {B, 0, READ_BY(A) | READ_BY(C), false}}}, &graph));
    plan_graph_release(&graph);
}

static void an_empty_graph_takes_no_time(void **state)
{
    (void)state;
    struct plan_graph graph = sketch_graph(&(struct sketch){0});
    struct plan_cluster cluster = sketch_cluster(2);
    assert_about(plan_lower_bound(&graph, &cluster), 0);
    plan_graph_release(&graph);
}

// ---- Groups ------------------------------------------------------------------------------

static void streams_join_tasks_to_a_group(void **state)
{
    (void)state;
    // a writes a stream to b, b one to c, and d reads a file of c. e is alone.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 5, .seconds = {2, 5, 3, 1, 4}, .object_count = 3,
        .objects = {{A, 1, READ_BY(B), true}, {B, 1, READ_BY(C), true},
                    {C, 1, READ_BY(D), false}}});
    assert_int_equal(graph.group_count, 1);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(graph.group[i], i <= C ? 1 : 0);
    for (uint32_t i = 0; i < 3; i++)  // writers first
        assert_int_equal(graph.grouped[graph.group_first[1] + i], i);
    // The group ends together, after the 5 s of b; d follows with 1 s.
    assert_about(plan_lasts(&graph, A), 5);
    assert_about(plan_lasts(&graph, E), 4);
    assert_about(plan_longest_path(&graph), 6);
    plan_graph_release(&graph);
}

static void a_group_that_waits_for_its_own_file_is_refused(void **state)
{
    (void)state;
    struct plan_graph graph;
    // b reads a's stream while a runs, but starts only with a's file, which is there at a's end.
    assert_false(sketch_build(&(struct sketch){
        .task_count = 2, .object_count = 2,
        .objects = {{A, 0, READ_BY(B), true}, {A, 0, READ_BY(B), false}}}, &graph));
    plan_graph_release(&graph);
}

// ---- Bounds ------------------------------------------------------------------------------

static void the_lower_bound_is_the_longest_path_or_all_work(void **state)
{
    (void)state;
    struct plan_graph graph = diamond(10);
    struct plan_cluster one = sketch_cluster(1), two = sketch_cluster(2);
    assert_about(plan_longest_path(&graph), 1 + 3 + 1);
    assert_about(plan_lower_bound(&graph, &one), 1 + 2 + 3 + 1);  // all work on one core
    assert_about(plan_lower_bound(&graph, &two), 5);              // 7 / 2 < 5
    plan_graph_release(&graph);
}

static void the_lower_bound_counts_cores_and_speeds(void **state)
{
    (void)state;
    // Work: 2 s on 3 cores and 4 s on 1 core, 10 core seconds; the longest path has 4 s.
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 2, .seconds = {2, 4}, .cores = {3, 1}});
    const uint32_t cores[] = {3, 1};
    const double speed[] = {0.5, 1};
    struct plan_cluster cluster = {.cores = cores, .worker_count = 2, .bandwidth = 1};
    assert_about(plan_lower_bound(&graph, &cluster), 4);  // 10 / 4 cores < 4
    cluster.speed = speed;
    assert_about(plan_lower_bound(&graph, &cluster), 4);  // 10 / (3 x 0.5 + 1) = 4, path 4 / 1
    graph.seconds[A] = 3;
    assert_about(plan_lower_bound(&graph, &cluster), 13 / 2.5);
    plan_graph_release(&graph);
}

static void a_transfer_counts_loss_limit_and_latency(void **state)
{
    (void)state;
    struct plan_cluster cluster = {.bandwidth = 10, .loss = 0.2, .latency = 0.5};
    assert_about(plan_transfer(&cluster, 100), 13);  // 100 / 8 + 0.5
    cluster.flow_most = 5;
    assert_about(plan_transfer(&cluster, 100), 20.5);  // 100 / 5 + 0.5
    cluster.flow_most = 50;  // more than there is
    assert_about(plan_transfer(&cluster, 100), 13);
}

static void a_task_fits_by_cores_and_memory(void **state)
{
    (void)state;
    struct plan_graph graph = sketch_graph(&(struct sketch){
        .task_count = 2, .cores = {2, 1}, .memory_mib = {100, 300}});
    const uint32_t cores[] = {1, 2}, memory[] = {300, 200};
    struct plan_cluster cluster = {.cores = cores, .worker_count = 2, .memory_mib = memory};
    assert_false(plan_fits(&graph, &cluster, A, 0));  // 2 cores of 1
    assert_true(plan_fits(&graph, &cluster, A, 1));
    assert_true(plan_fits(&graph, &cluster, B, 0));
    assert_false(plan_fits(&graph, &cluster, B, 1));  // 300 MiB of 200
    cluster.memory_mib = NULL;
    assert_true(plan_fits(&graph, &cluster, B, 1));
    plan_graph_release(&graph);
}

// ---- The queue ---------------------------------------------------------------------------

static void the_queue_gives_the_most_urgent_then_the_oldest(void **state)
{
    (void)state;
    struct plan_key keys[] = {{1, 5, 0}, {3, 4, 0}, {2, 3, 0}, {3, 2, 0}, {0, 1, 0}};
    struct plan_queue queue = {0};
    static const uint32_t expected[] = {4, 3, 1, 2, 0};
    for (uint32_t i = 0; i < 5; i++) plan_queue_push(&queue, keys, i);
    keys[4].urgency = 9;
    plan_queue_raise(&queue, keys, 4);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(plan_queue_pop(&queue, keys), expected[i]);
        assert_int_equal(keys[expected[i]].place, 0);
    }
    assert_int_equal(queue.count, 0);
    free(queue.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_graph_knows_makers_and_readers),
        cmocka_unit_test(producers_are_sorted_before_readers),
        cmocka_unit_test(an_object_without_a_maker_holds_no_task_back),
        cmocka_unit_test(a_cycle_is_refused),
        cmocka_unit_test(an_empty_graph_takes_no_time),
        cmocka_unit_test(streams_join_tasks_to_a_group),
        cmocka_unit_test(a_group_that_waits_for_its_own_file_is_refused),
        cmocka_unit_test(the_lower_bound_is_the_longest_path_or_all_work),
        cmocka_unit_test(the_lower_bound_counts_cores_and_speeds),
        cmocka_unit_test(a_transfer_counts_loss_limit_and_latency),
        cmocka_unit_test(a_task_fits_by_cores_and_memory),
        cmocka_unit_test(the_queue_gives_the_most_urgent_then_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
