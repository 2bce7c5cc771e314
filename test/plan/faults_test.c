// faults_test.c - workers that crash, tasks that fail, and streams that are cut.
#include "sketch.h"

struct scene {
    struct plan_graph graph;
    struct plan_cluster cluster;
    struct model *model;
};

static void open_on(struct scene *scene, struct plan_graph graph, uint32_t workers)
{
    scene->graph = graph;
    scene->cluster = sketch_cluster(workers);
    scene->model = model_open(&scene->graph, &scene->cluster);
}

static void close_all(struct scene *scene)
{
    model_close(scene->model);
    plan_graph_release(&scene->graph);
}

static void run_to_end(struct scene *scene)  // until nothing is running
{
    model_settle(scene->model);
    while (model_advance(scene->model, 1e9)) model_settle(scene->model);
}

// a writes a stream of `mib` MiB, and b reads it.
static struct plan_graph pipe_of(double writer, double reader, double mib)
{
    return sketch_graph(&(struct sketch){
        .task_count = 2, .seconds = {writer, reader}, .object_count = 1,
        .objects = {{A, mib, READ_BY(B), true}}});
}

// ---- Faults ------------------------------------------------------------------------------

static void a_task_may_take_longer_or_fail(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 2, .seconds = {2, 1}}), 2);
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 1, 1);
    model_fate(scene.model, A, 3, false);
    model_fate(scene.model, B, 1, true);
    run_to_end(&scene);
    assert_about(model_ends(scene.model, A), 6);
    assert_false(model_failed(scene.model, A));
    assert_true(model_failed(scene.model, B));
    model_assign(scene.model, B, 1, 1);  // the fate applied to that attempt only
    run_to_end(&scene);
    assert_false(model_failed(scene.model, B));
    assert_about(model_now(scene.model), 7);
    close_all(&scene);
}

static void a_killed_task_leaves_its_core_to_others(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 3, .seconds = {10, 2, 1}}), 1);
    for (uint32_t i = 0; i < 3; i++) model_assign(scene.model, i, 0, 3 - i);
    model_settle(scene.model);
    assert_true(model_advance(scene.model, 1));  // nothing ends before 1
    model_kill(scene.model, A);
    model_kill(scene.model, C);  // it has not started
    run_to_end(&scene);
    assert_false(scene.model->tasks[A].state == TASK_RUNS);
    assert_about(model_began(scene.model, B), 1);
    assert_about(model_ends(scene.model, B), 3);
    close_all(&scene);
}

static void a_crash_takes_tasks_objects_and_downloads(void **state)
{
    (void)state;
    struct scene scene;
    const struct model_arrival *broken;
    // a (1 s) makes x, 10 MiB, for b. Worker 0 crashes in the middle of the download to worker 1.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 2, .seconds = {1, 1}, .object_count = 1,
        .objects = {{A, 10, READ_BY(B), false}}}), 2);
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 1, 1);
    model_settle(scene.model);
    assert_true(model_advance(scene.model, 1e9));
    model_request(scene.model, X, 1, 1);
    model_settle(scene.model);
    assert_true(model_advance(scene.model, 1.5));
    assert_int_equal(model_crash(scene.model, 0, &broken), 1);
    assert_int_equal(broken[0].object, X);
    assert_int_equal(broken[0].worker, 1);
    assert_true(model_is_down(scene.model, 0));
    assert_false(model_has(scene.model, X, 0));
    model_assign(scene.model, A, 0, 1);  // lost: the worker is down
    run_to_end(&scene);
    assert_about(model_now(scene.model), 1.5);
    model_come_back(scene.model, 0);
    model_assign(scene.model, A, 0, 1);
    model_settle(scene.model);
    assert_true(model_advance(scene.model, 1e9));
    model_request(scene.model, X, 1, 1);
    run_to_end(&scene);
    assert_about(model_now(scene.model), 4.5);  // a 1.5..2.5, x 2.5..3.5, b 3.5..4.5
    close_all(&scene);
}

static void a_copy_outlives_the_worker_that_made_it(void **state)
{
    (void)state;
    struct scene scene;
    const struct model_arrival *broken;
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 2, .seconds = {1, 1}, .object_count = 1,
        .objects = {{A, 10, READ_BY(B), false}}}), 3);
    model_assign(scene.model, A, 0, 1);
    run_to_end(&scene);
    model_request(scene.model, X, 1, 1);
    run_to_end(&scene);
    assert_int_equal(model_crash(scene.model, 0, &broken), 0);
    model_assign(scene.model, B, 2, 1);
    model_request(scene.model, X, 2, 1);
    run_to_end(&scene);
    assert_about(model_ends(scene.model, B), 4);  // a 0..1, x to 1 1..2, to 2 2..3, b 3..4
    assert_int_equal(model_crash(scene.model, 1, &broken), 0);
    assert_int_equal(model_crash(scene.model, 2, &broken), 0);
    model_come_back(scene.model, 0);
    model_request(scene.model, X, 0, 1);  // no worker has it any more
    assert_false(model_is_under_way(scene.model, X, 0));
    close_all(&scene);
}

static void time_may_pass_while_nothing_happens(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 1, .seconds = {1}}), 1);
    model_wait(scene.model, 5);
    model_wait(scene.model, 3);  // it never returns
    model_assign(scene.model, A, 0, 1);
    run_to_end(&scene);
    assert_about(model_now(scene.model), 6);
    model_reset(scene.model);
    assert_about(model_now(scene.model), 0);
    close_all(&scene);
}

// ---- Streams -----------------------------------------------------------------------------

static void writer_and_reader_end_together(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, pipe_of(2, 3, 0), 2);
    model_assign(scene.model, B, 1, 1);
    model_settle(scene.model);
    assert_false(scene.model->tasks[B].state == TASK_RUNS);  // there is nothing to read yet
    model_assign(scene.model, A, 0, 1);
    run_to_end(&scene);
    assert_about(model_began(scene.model, B), 0);
    assert_about(model_ends(scene.model, A), 3);  // the slowest takes 3 s
    assert_about(model_ends(scene.model, B), 3);
    close_all(&scene);
}

static void a_stream_between_workers_takes_its_time_on_the_network(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, pipe_of(2, 3, 40), 2);
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 1, 1);
    run_to_end(&scene);
    assert_about(model_ends(scene.model, A), 4);  // 40 MiB at 10 MiB/s
    assert_about(model_ends(scene.model, B), 4);
    close_all(&scene);
}

static void a_reader_without_its_writer_is_cut_off(void **state)
{
    (void)state;
    struct scene scene;
    const uint32_t *cut;
    open_on(&scene, pipe_of(2, 3, 0), 2);
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 1, 1);
    model_settle(scene.model);
    model_settle(scene.model);
    assert_true(scene.model->tasks[B].state == TASK_RUNS);
    model_kill(scene.model, A);
    assert_int_equal(model_cut_off(scene.model, &cut), 1);
    assert_int_equal(cut[0], B);
    assert_int_equal(model_why(scene.model, B), MODEL_CUT_READER);
    assert_false(scene.model->tasks[B].state == TASK_RUNS);
    assert_int_equal(model_cut_off(scene.model, &cut), 0);  // it is reported once
    close_all(&scene);
}

static void a_writer_without_readers_fails_when_it_is_notified(void **state)
{
    (void)state;
    struct scene scene;
    const uint32_t *cut;
    open_on(&scene, pipe_of(2, 3, 0), 2);
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 1, 1);
    model_settle(scene.model);
    model_kill(scene.model, B);
    assert_int_equal(model_cut_off(scene.model, &cut), 0);
    assert_true(scene.model->tasks[A].state == TASK_RUNS);  // it waits for a reader
    model_cut(scene.model, 0, 0);
    assert_int_equal(model_cut_off(scene.model, &cut), 1);
    assert_int_equal(cut[0], A);
    assert_int_equal(model_why(scene.model, A), MODEL_CUT_WRITER);
    close_all(&scene);
}

static void a_writer_resumes_for_the_readers_that_are_left(void **state)
{
    (void)state;
    struct scene scene;
    // a (4 s) writes one stream to b and one to c (1 s each).
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {4, 1, 1}, .object_count = 2,
        .objects = {{A, 0, READ_BY(B), true}, {A, 0, READ_BY(C), true}}}), 3);
    for (uint32_t i = 0; i < 3; i++) model_assign(scene.model, i, i, 1);
    model_settle(scene.model);
    assert_true(model_advance(scene.model, 1));
    model_kill(scene.model, B);  // at 1, when 3 s are left
    model_wait(scene.model, 3);
    model_cut(scene.model, 0, 0);  // a is told at 3
    run_to_end(&scene);
    assert_about(model_ends(scene.model, A), 6);
    assert_about(model_ends(scene.model, C), 6);
    close_all(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_may_take_longer_or_fail),
        cmocka_unit_test(a_killed_task_leaves_its_core_to_others),
        cmocka_unit_test(a_crash_takes_tasks_objects_and_downloads),
        cmocka_unit_test(a_copy_outlives_the_worker_that_made_it),
        cmocka_unit_test(time_may_pass_while_nothing_happens),
        cmocka_unit_test(writer_and_reader_end_together),
        cmocka_unit_test(a_stream_between_workers_takes_its_time_on_the_network),
        cmocka_unit_test(a_reader_without_its_writer_is_cut_off),
        cmocka_unit_test(a_writer_without_readers_fails_when_it_is_notified),
        cmocka_unit_test(a_writer_resumes_for_the_readers_that_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
