// rolling_test.c - a plan that learns durations and sizes, and follows lost workers.
#include "sketch.h"

struct scene {
    struct plan_graph graph;
    struct plan_cluster cluster;
    struct rolling *rolling;
    const struct plan_schedule *schedule;
    const uint32_t *tasks;
};

static void open_on(struct scene *scene, struct plan_graph graph, uint32_t workers)
{
    static char sort[] = "sort", merge[] = "merge", none[] = "";
    static char *const kinds[] = {sort, sort, sort, merge, none, none};
    scene->graph = graph;
    scene->cluster = sketch_cluster(workers);
    scene->rolling = rolling_open(&scene->graph, &scene->cluster, kinds);
}

static void close_all(struct scene *scene)
{
    rolling_close(scene->rolling);
    plan_graph_release(&scene->graph);
}

static uint32_t plan(struct scene *scene, double now)
{
    return rolling_plan(scene->rolling, now, &scene->schedule, &scene->tasks);
}

static void expected_events_cause_no_new_plan(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), 2);
    assert_int_equal(plan(&scene, 0), 4);  // all are new
    assert_int_equal(scene.schedule->worker[A], 0);
    rolling_started(scene.rolling, A, 0, 0);
    rolling_made(scene.rolling, X, 10);
    rolling_ended(scene.rolling, A, 1);
    assert_false(rolling_is_surprised(scene.rolling));
    assert_int_equal(rolling_planned(scene.rolling), 4);
    close_all(&scene);
}

static void a_duration_is_learnt_for_tasks_of_the_same_kind(void **state)
{
    (void)state;
    struct scene scene;
    // a, b and c are of one kind, d of another; e and f are like no other task.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 6, .seconds = {1, 1, 1, 1, 1, 1}}), 2);
    rolling_started(scene.rolling, A, 0, 0);
    rolling_ended(scene.rolling, A, 3);
    assert_true(rolling_is_surprised(scene.rolling));
    assert_about(scene.graph.seconds[B], 3);
    rolling_started(scene.rolling, B, 0, 3);
    rolling_ended(scene.rolling, B, 4);
    assert_about(scene.graph.seconds[B], 1);        // what it took
    assert_about(scene.graph.seconds[C], 2);        // the mean of 3 and 1
    assert_about(scene.graph.seconds[D], 1);
    rolling_started(scene.rolling, E, 1, 0);
    rolling_ended(scene.rolling, E, 9);
    assert_about(scene.graph.seconds[F], 1);
    plan(&scene, 9);
    assert_false(rolling_is_surprised(scene.rolling));
    close_all(&scene);
}

static void a_size_is_learnt(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, diamond(10), 2);
    rolling_made(scene.rolling, X, 25);
    assert_true(rolling_is_surprised(scene.rolling));
    assert_about(scene.graph.mib[X], 25);
    close_all(&scene);
}

static void tasks_leave_a_worker_that_is_lost(void **state)
{
    (void)state;
    struct scene scene;
    // Four tasks of 1 s, two on each of two workers.
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 4, .seconds = {1, 1, 1, 1}}), 2);
    plan(&scene, 0);
    uint32_t on_first = 0;
    for (uint32_t i = 0; i < 4; i++) on_first += scene.schedule->worker[i] == 0;
    assert_int_equal(on_first, 2);
    rolling_worker_lost(scene.rolling, 1);
    assert_true(rolling_is_surprised(scene.rolling));
    assert_true(plan(&scene, 0) >= 2);  // those that move, and maybe the order of others
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(scene.schedule->worker[i], 0);
    rolling_worker_back(scene.rolling, 1);
    assert_true(rolling_is_surprised(scene.rolling));
    plan(&scene, 0);
    on_first = 0;
    for (uint32_t i = 0; i < 4; i++) on_first += scene.schedule->worker[i] == 0;
    assert_int_equal(on_first, 2);
    close_all(&scene);
}

static void a_lost_output_is_made_again_if_it_is_needed(void **state)
{
    (void)state;
    for (int copied = 0; copied < 2; copied++) {
        struct scene scene;
        uint32_t planned = 0;
        open_on(&scene, diamond(10), 2);
        plan(&scene, 0);
        rolling_started(scene.rolling, A, 0, 0);
        rolling_ended(scene.rolling, A, 1);
        rolling_asked(scene.rolling, X, 1, 1);
        if (copied) rolling_arrived(scene.rolling, X, 1);
        rolling_worker_lost(scene.rolling, 0);
        // Without a copy all four tasks run on worker 1; with one a is not planned again.
        uint32_t changed = plan(&scene, 2);
        for (uint32_t i = 0; i < changed; i++) planned |= READ_BY(scene.tasks[i]);
        assert_int_equal(planned & READ_BY(A) ? 1 : 0, copied ? 0 : 1);
        for (uint32_t i = copied ? B : A; i <= D; i++)
            assert_int_equal(scene.schedule->worker[i], 1);
        close_all(&scene);
    }
}

static void a_download_that_was_called_off_does_not_count(void **state)
{
    (void)state;
    struct scene scene;
    // a (1 s) hands 100 MiB, 10 s, to b (1 s), which is bound nowhere. Worker 0 runs c for 5 s.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1, 6}, .object_count = 1,
        .objects = {{A, 100, READ_BY(B), false}}}), 2);
    uint32_t nowhere[] = {PLAN_NONE, PLAN_NONE, PLAN_NONE}, order[] = {3, 2, 1};
    struct plan_schedule schedule = {nowhere, order};
    rolling_bind(scene.rolling, &schedule);
    rolling_started(scene.rolling, A, 0, 0);
    rolling_ended(scene.rolling, A, 1);
    rolling_started(scene.rolling, C, 0, 1);
    rolling_asked(scene.rolling, X, 1, 1);
    rolling_asked(scene.rolling, X, 1, 1);  // twice is once
    rolling_arrived(scene.rolling, X, 1);
    plan(&scene, 2);
    assert_int_equal(scene.schedule->worker[B], 1);  // where the copy is, at once
    rolling_called_off(scene.rolling, X, 1);
    rolling_bind(scene.rolling, &schedule);
    plan(&scene, 2);
    assert_int_equal(scene.schedule->worker[B], 0);  // 5 s of c are left, a transfer takes 10 s
    close_all(&scene);
}

static void a_task_that_is_to_run_again_is_planned_again(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 1, .seconds = {1}}), 1);
    plan(&scene, 0);
    rolling_opened(scene.rolling, A);  // it has not started: no news
    assert_false(rolling_is_surprised(scene.rolling));
    rolling_started(scene.rolling, A, 0, 0);
    rolling_ended(scene.rolling, A, 1);
    assert_int_equal(plan(&scene, 1), 0);  // nothing is left
    rolling_opened(scene.rolling, A);
    assert_true(rolling_is_surprised(scene.rolling));
    plan(&scene, 1);
    assert_int_equal(scene.schedule->worker[A], 0);
    assert_int_equal(rolling_planned(scene.rolling), 2);
    close_all(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_events_cause_no_new_plan),
        cmocka_unit_test(a_duration_is_learnt_for_tasks_of_the_same_kind),
        cmocka_unit_test(a_size_is_learnt),
        cmocka_unit_test(tasks_leave_a_worker_that_is_lost),
        cmocka_unit_test(a_lost_output_is_made_again_if_it_is_needed),
        cmocka_unit_test(a_download_that_was_called_off_does_not_count),
        cmocka_unit_test(a_task_that_is_to_run_again_is_planned_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
