// planner_test.c - ranks, list scheduling, greedy plans, families, and known facts.
#include "seed.h"
#include "sketch.h"

struct scene {
    struct plan_graph graph;
    struct plan_cluster cluster;
    struct planner *planner;
    struct plan_schedule schedule;
};

static void open_on(struct scene *scene, struct plan_graph graph, struct plan_cluster cluster)
{
    scene->graph = graph;
    scene->cluster = cluster;
    scene->planner = planner_open(&scene->graph, &scene->cluster);
    scene->schedule = plan_schedule_take(graph.task_count);
}

static void close_all(struct scene *scene)
{
    plan_schedule_release(&scene->schedule);
    planner_close(scene->planner);
    plan_graph_release(&scene->graph);
}

static double plan(struct scene *scene, struct plan_rule rule)
{
    return planner_plan(scene->planner, &rule, &scene->schedule, UINT32_MAX);
}

#define assert_workers(scene, ...)                                                                 \
    assert_list((scene)->schedule.worker, (const uint32_t[]){__VA_ARGS__},                         \
                (scene)->graph.task_count)
#define assert_orders(scene, ...)                                                                  \
    assert_list((scene)->schedule.order, (const uint32_t[]){__VA_ARGS__},                          \
                (scene)->graph.task_count)

static void assert_list(const uint32_t *actual, const uint32_t *expected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) assert_int_equal(actual[i], expected[i]);
}

// ---- List scheduling ---------------------------------------------------------------------

static void a_list_plan_is_ordered_by_rank(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(0), sketch_cluster(2));
    // Ranks: d 1, b 2 + 1, c 3 + 1, a 1 + 4. So a c b d, and nothing has to be moved. a: worker 0,
    // 0..1. c: worker 0, 1..4, which leaves the idle one to b: 1..3. d: 4..5.
    assert_about(plan(&scene, (struct plan_rule){0}), 5);
    assert_orders(&scene, 4, 2, 3, 1);
    assert_workers(&scene, 0, 1, 0, 0);
    assert_int_equal(planner_planned(scene.planner), 4);
    close_all(&scene);
}

static void a_list_plan_waits_for_transfers(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), sketch_cluster(2));
    // As before, but each object takes 1 s to the other worker: b has x at 2 and runs 2..4, c runs
    // 1..4, y comes back 4..5, d runs 5..6.
    assert_about(plan(&scene, (struct plan_rule){0}), 6);
    assert_workers(&scene, 0, 1, 0, 0);
    // With a network that carries everything at once nothing changes here.
    assert_about(plan(&scene, (struct plan_rule){.free_network = true}), 6);
    close_all(&scene);
}

static void downloads_of_a_worker_are_planned_one_after_the_other(void **state)
{
    (void)state;
    struct scene scene;
    // a, b (1 s) make 10 MiB each for c, which needs two cores. Only worker 2 has them.
    static const uint32_t cores[] = {1, 1, 2};
    struct plan_cluster cluster = sketch_cluster(3);
    cluster.cores = cores;
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1, 1}, .cores = {1, 1, 2}, .object_count = 2,
        .objects = {{A, 10, READ_BY(C), false}, {B, 10, READ_BY(C), false}}}), cluster);
    planner_set_done(scene.planner, A, 0);
    planner_set_done(scene.planner, B, 1);
    // 0..1 the first, 1..2 the second, then c: 2..3. At once: both 0..1, then c: 1..2.
    assert_about(plan(&scene, (struct plan_rule){0}), 3);
    assert_about(plan(&scene, (struct plan_rule){.free_network = true}), 2);
    close_all(&scene);
}

static void a_penalty_keeps_tasks_where_their_inputs_are(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), sketch_cluster(2));
    // b: on worker 0 it ends at 6; on worker 1 at 4, and 5 times 1 s are added: 9.
    // So all run on worker 0: 1 + 3 + 2 + 1.
    assert_about(plan(&scene, (struct plan_rule){.penalty = 5}), 7);
    assert_workers(&scene, 0, 0, 0, 0);
    close_all(&scene);
}

static void ranks_may_count_transfers(void **state)
{
    (void)state;
    struct scene scene;
    // a (1 s) hands 100 MiB, 10 s, to c (1 s); b (1 s) hands nothing much to d (5 s).
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 4, .seconds = {1, 1, 1, 5}, .object_count = 2,
        .objects = {{A, 100, READ_BY(C), false}, {B, 0, READ_BY(D), false}}}), sketch_cluster(1));
    // Durations only: a 2, b 6, c 1, d 5. So b d a c.
    plan(&scene, (struct plan_rule){0});
    assert_orders(&scene, 2, 4, 1, 3);
    // With transfers: a 1 + 10 + 1, the others as before. So a b d c.
    plan(&scene, (struct plan_rule){.carried = 1});
    assert_orders(&scene, 4, 3, 1, 2);
    close_all(&scene);
}

static void a_plan_may_be_ordered_by_start(void **state)
{
    (void)state;
    struct scene scene;
    // a (1 s) before b (5 s); c (1 s) alone. Ranks 6, 5, 1: b is planned before c, for 1..6 on
    // worker 0, but c starts at 0 on worker 1.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 5, 1}, .object_count = 1,
        .objects = {{A, 0, READ_BY(B), false}}}), sketch_cluster(2));
    assert_about(plan(&scene, (struct plan_rule){0}), 6);
    assert_orders(&scene, 3, 2, 1);
    assert_about(plan(&scene, (struct plan_rule){.by_start = true}), 6);
    assert_orders(&scene, 3, 1, 2);
    close_all(&scene);
}

static void a_plan_may_use_a_part_of_the_workers(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 4, .seconds = {1, 1, 1, 1}}),
            sketch_cluster(4));
    assert_about(plan(&scene, (struct plan_rule){0}), 1);          // one task on each
    assert_about(plan(&scene, (struct plan_rule){.part = 2}), 2);  // two on each of two
    for (uint32_t i = 0; i < 4; i++) assert_true(scene.schedule.worker[i] < 2);
    assert_about(plan(&scene, (struct plan_rule){.part = 4}), 4);  // all on one
    close_all(&scene);
}

static void the_same_seed_makes_the_same_plan(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_rule rule = {.noise = 0.5, .seed = seed_take()};
    open_on(&scene, diamond(10), sketch_cluster(2));
    struct plan_schedule first = plan_schedule_take(4);
    double end = plan(&scene, rule);
    plan_schedule_copy(&first, &scene.schedule, 4);
    plan(&scene, (struct plan_rule){.greedy = true});  // nothing remains of the last plan
    assert_about(plan(&scene, rule), end);
    assert_list(scene.schedule.worker, first.worker, 4);
    assert_list(scene.schedule.order, first.order, 4);
    plan_schedule_release(&first);
    close_all(&scene);
}

static void a_task_that_fits_nowhere_and_its_readers_get_no_place(void **state)
{
    (void)state;
    struct scene scene;
    // b wants two cores, the workers have one each. d reads what b makes; a and c do not.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 4, .seconds = {1, 2, 3, 1}, .cores = {1, 2, 1, 1}, .object_count = 2,
        .objects = {{A, 0, READ_BY(C), false}, {B, 0, READ_BY(D), false}}}), sketch_cluster(2));
    assert_about(plan(&scene, (struct plan_rule){0}), 4);
    assert_workers(&scene, 0, PLAN_NONE, 0, PLAN_NONE);
    assert_about(plan(&scene, (struct plan_rule){.greedy = true}), 4);
    assert_int_equal(scene.schedule.worker[B], PLAN_NONE);
    close_all(&scene);
}

static void a_plan_may_be_short(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_rule rule = {0};
    open_on(&scene, diamond(0), sketch_cluster(1));
    // The two most urgent are a and c: 1 + 3.
    assert_about(planner_plan(scene.planner, &rule, &scene.schedule, 2), 4);
    assert_workers(&scene, 0, PLAN_NONE, 0, PLAN_NONE);
    close_all(&scene);
}

// ---- Greedy plans and families -----------------------------------------------------------

static void a_greedy_plan_leaves_no_core_idle(void **state)
{
    (void)state;
    struct scene scene;
    static const double speed[] = {1, 4};
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.speed = speed;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 2, .seconds = {4, 4}}), cluster);
    // By list both wait for the fast worker: 0..1, 1..2.
    assert_about(plan(&scene, (struct plan_rule){0}), 2);
    assert_workers(&scene, 1, 1);
    // Greedy, the second starts at once on the slow one: 0..4.
    assert_about(plan(&scene, (struct plan_rule){.greedy = true}), 4);
    assert_workers(&scene, 1, 0);
    close_all(&scene);
}

static void a_greedy_plan_moves_little(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), sketch_cluster(2));
    // a on worker 0, 0..1. At 1 c stays there, 1..4, and b fetches x: 2..4. At 4 d: either worker
    // has to fetch one object, 4..5, and the first one takes it: 5..6.
    assert_about(plan(&scene, (struct plan_rule){.greedy = true}), 6);
    assert_workers(&scene, 0, 1, 0, 0);
    assert_orders(&scene, 4, 2, 3, 1);
    close_all(&scene);
}

static void a_greedy_plan_follows_running_tasks(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(0), sketch_cluster(1));
    planner_set_running(scene.planner, A, 0, 0.5);
    // 0.5 s of a are left, then c 3, b 2, d 1.
    assert_about(plan(&scene, (struct plan_rule){.greedy = true}), 6.5);
    close_all(&scene);
}

static void a_family_runs_on_one_worker(void **state)
{
    (void)state;
    struct scene scene;
    // a and b make 10 MiB each for e, c and d for f; all take 1 s. Half of the work is 3 s.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 6, .seconds = {1, 1, 1, 1, 1, 1}, .object_count = 4,
        .objects = {{A, 10, READ_BY(E), false}, {B, 10, READ_BY(E), false},
                    {C, 10, READ_BY(F), false}, {D, 10, READ_BY(F), false}}}), sketch_cluster(2));
    // One by one: a c and b d run on different workers until 2. e fetches b's object at 1..2 and
    // runs 2..3, f fetches one at 2..3 and runs 3..4.
    assert_about(plan(&scene, (struct plan_rule){0}), 4);
    // Together: each worker runs a family of three, and nothing is moved.
    assert_about(plan(&scene, (struct plan_rule){.together = true}), 3);
    assert_workers(&scene, 0, 0, 1, 1, 0, 1);
    close_all(&scene);
}

static void a_family_is_no_larger_than_the_share_of_a_worker(void **state)
{
    (void)state;
    struct scene scene;
    // a hands 10 MiB to b, c and d; all take 1 s. Half of the work is 2 s: only b joins a.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 4, .seconds = {1, 1, 1, 1}, .object_count = 1,
        .objects = {{A, 10, READ_BY(B) | READ_BY(C) | READ_BY(D), false}}}), sketch_cluster(2));
    plan(&scene, (struct plan_rule){.together = true});
    assert_workers(&scene, 0, 0, 1, 1);
    close_all(&scene);
}

// ---- Known facts ----------------------------------------------------------------------------

static void a_plan_starts_from_finished_and_running_tasks(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), sketch_cluster(2));
    planner_set_done(scene.planner, A, 1);
    planner_set_running(scene.planner, C, 0, 2);
    // b: on worker 1, where x is: 0..2. d: z is made at 2 on worker 0, y at 2 on worker 1; one of
    // them moves 2..3, then d runs 3..4.
    assert_about(plan(&scene, (struct plan_rule){0}), 4);
    assert_int_equal(scene.schedule.worker[B], 1);
    // Worker 1 is taken by something else for 10 s: b gets x at 1, the core at 2, and ends at 4.
    // d has all it needs on worker 0: 4..5.
    planner_set_busy(scene.planner, 1, 1, 10);
    assert_about(plan(&scene, (struct plan_rule){0}), 5);
    assert_workers(&scene, scene.schedule.worker[A], 0, scene.schedule.worker[C], 0);
    // Nothing of that is known any more: the plan from the beginning.
    planner_clear(scene.planner);
    assert_about(plan(&scene, (struct plan_rule){0}), 6);
    close_all(&scene);
}

static void a_copy_saves_a_transfer(void **state)
{
    (void)state;
    struct scene scene;
    // a is done on worker 1 and has made 20 MiB, 2 s, for b (1 s). Worker 1 is busy for 1.5 s.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 2, .seconds = {1, 1}, .object_count = 1,
        .objects = {{A, 20, READ_BY(B), false}}}), sketch_cluster(2));
    planner_set_done(scene.planner, A, 1);
    planner_set_busy(scene.planner, 1, 1, 1.5);
    assert_about(plan(&scene, (struct plan_rule){0}), 2.5);  // worker 1, 1.5..2.5
    assert_int_equal(scene.schedule.worker[B], 1);
    planner_set_copy(scene.planner, 0, 0, 1);  // worker 0 has it in 1 s
    assert_about(plan(&scene, (struct plan_rule){0}), 2);
    assert_int_equal(scene.schedule.worker[B], 0);
    planner_clear(scene.planner);
    planner_set_done(scene.planner, A, 1);
    planner_set_copy(scene.planner, 0, 0, 0);  // it has it now
    planner_set_busy(scene.planner, 1, 1, 1.5);
    assert_about(plan(&scene, (struct plan_rule){0}), 1);
    close_all(&scene);
}

static void a_task_stays_where_it_is_bound_unless_it_gains_enough(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 1, .seconds = {2}}),
            sketch_cluster(2));
    planner_set_loyalty(scene.planner, 0.6);
    planner_set_place(scene.planner, A, 1);
    planner_set_busy(scene.planner, 1, 1, 0.5);
    plan(&scene, (struct plan_rule){0});
    assert_int_equal(scene.schedule.worker[A], 1);  // worker 0 ends 0.5 s earlier: less than 0.6
    planner_set_busy(scene.planner, 1, 1, 1);
    plan(&scene, (struct plan_rule){0});
    assert_int_equal(scene.schedule.worker[A], 0);  // 1 s is more
    planner_set_queued(scene.planner, A, 1, 2);
    plan(&scene, (struct plan_rule){0});
    assert_int_equal(scene.schedule.worker[A], 1);  // but less than 2 x 0.6
    close_all(&scene);
}

static void outputs_go_where_other_inputs_of_their_readers_are(void **state)
{
    (void)state;
    struct scene scene;
    // a and b (1 s) make 10 MiB each for c (1 s). Both workers are idle, with two cores on 0.
    static const uint32_t cores[] = {2, 1};
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.cores = cores;
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1.5, 1}, .object_count = 2,
        .objects = {{A, 10, READ_BY(C), false}, {B, 10, READ_BY(C), false}}}), cluster);
    planner_set_busy(scene.planner, 0, 1, 0.5);
    // b: worker 0, 0..1.5. a: worker 0, 0.5..1.5, or worker 1, 0..1, and its output would be at
    // worker 0 at 2. So with homing all is on worker 0: c 1.5..2.5. Without: c 2..3.
    assert_about(plan(&scene, (struct plan_rule){0}), 3);
    assert_about(plan(&scene, (struct plan_rule){.homing = true}), 2.5);
    assert_workers(&scene, 0, 0, 0);
    close_all(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_plan_is_ordered_by_rank),
        cmocka_unit_test(a_list_plan_waits_for_transfers),
        cmocka_unit_test(downloads_of_a_worker_are_planned_one_after_the_other),
        cmocka_unit_test(a_penalty_keeps_tasks_where_their_inputs_are),
        cmocka_unit_test(ranks_may_count_transfers),
        cmocka_unit_test(a_plan_may_be_ordered_by_start),
        cmocka_unit_test(a_plan_may_use_a_part_of_the_workers),
        cmocka_unit_test(the_same_seed_makes_the_same_plan),
        cmocka_unit_test(a_task_that_fits_nowhere_and_its_readers_get_no_place),
        cmocka_unit_test(a_plan_may_be_short),
        cmocka_unit_test(a_greedy_plan_leaves_no_core_idle),
        cmocka_unit_test(a_greedy_plan_moves_little),
        cmocka_unit_test(a_greedy_plan_follows_running_tasks),
        cmocka_unit_test(a_family_runs_on_one_worker),
        cmocka_unit_test(a_family_is_no_larger_than_the_share_of_a_worker),
        cmocka_unit_test(a_plan_starts_from_finished_and_running_tasks),
        cmocka_unit_test(a_copy_saves_a_transfer),
        cmocka_unit_test(a_task_stays_where_it_is_bound_unless_it_gains_enough),
        cmocka_unit_test(outputs_go_where_other_inputs_of_their_readers_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
