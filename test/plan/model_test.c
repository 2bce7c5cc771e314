// model_test.c - workers that run tasks and fetch objects: cores, memory, network shares, disks.
#include "sketch.h"

struct scene {
    struct plan_graph graph;
    struct plan_cluster cluster;
    struct model *model;
};

static void open_on(struct scene *scene, struct plan_graph graph, struct plan_cluster cluster)
{
    scene->graph = graph;
    scene->cluster = cluster;
    scene->model = model_open(&scene->graph, &scene->cluster);
}

static void close_all(struct scene *scene)
{
    model_close(scene->model);
    plan_graph_release(&scene->graph);
}

static void advance(struct scene *scene)  // to the next completions
{
    model_settle(scene->model);
    assert_true(model_advance(scene->model, 1e9));
    model_settle(scene->model);
}

static void run_until(struct scene *scene, uint32_t task)  // it has ended
{
    model_settle(scene->model);
    for (const uint32_t *ended; model_advance(scene->model, 1e9); model_settle(scene->model)) {
        uint32_t count = model_ended(scene->model, &ended);
        for (uint32_t i = 0; i < count; i++)
            if (ended[i] == task) return;
    }
    fail_msg("task %u never ends", task);
}

static double arrival(struct scene *scene, uint32_t object, uint32_t worker)  // when it arrives
{
    model_settle(scene->model);
    while (!model_has(scene->model, object, worker)) {
        assert_true(model_advance(scene->model, 1e9));
        model_settle(scene->model);
    }
    return model_now(scene->model);
}

// a (1 s) makes two objects of 10 MiB: x for b and y for c (1 s each).
static struct plan_graph fork_of_two(void)
{
    return sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1, 1}, .object_count = 2,
        .objects = {{A, 10, READ_BY(B), false}, {A, 10, READ_BY(C), false}}});
}

// ---- Tasks -------------------------------------------------------------------------------

static void the_most_urgent_task_gets_the_core(void **state)
{
    (void)state;
    struct scene scene;
    const uint32_t *started;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 3, .seconds = {1, 2, 4}}),
            sketch_cluster(1));
    model_assign(scene.model, A, 0, 1);
    model_assign(scene.model, B, 0, 3);
    model_assign(scene.model, C, 0, 2);
    model_settle(scene.model);
    assert_int_equal(model_started(scene.model, &started), 1);
    assert_int_equal(started[0], B);
    assert_false(model_retract(scene.model, B));  // it runs
    run_until(&scene, A);
    // b 0..2, c 2..6, a 6..7
    assert_about(model_ends(scene.model, B), 2);
    assert_about(model_began(scene.model, C), 2);
    assert_about(model_now(scene.model), 7);
    assert_false(model_advance(scene.model, 1e9));
    close_all(&scene);
}

static void a_small_task_passes_one_that_does_not_fit_yet(void **state)
{
    (void)state;
    struct scene scene;
    static const uint32_t cores[] = {2};
    struct plan_cluster cluster = sketch_cluster(1);
    cluster.cores = cores;
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {2, 1, 1}, .cores = {1, 2, 1}}), cluster);
    for (uint32_t i = 0; i < 3; i++) model_assign(scene.model, i, 0, 3 - i);
    // a 0..2 on one core. b wants both: 2..3. c takes the other one meanwhile: 0..1.
    run_until(&scene, B);
    assert_about(model_ends(scene.model, C), 1);
    assert_about(model_began(scene.model, B), 2);
    assert_about(model_now(scene.model), 3);
    close_all(&scene);
}

static void memory_is_shared_like_cores(void **state)
{
    (void)state;
    struct scene scene;
    static const uint32_t cores[] = {3}, memory[] = {1000};
    struct plan_cluster cluster = sketch_cluster(1);
    cluster.cores = cores;
    cluster.memory_mib = memory;
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1, 1}, .memory_mib = {600, 600, 400}}), cluster);
    for (uint32_t i = 0; i < 3; i++) model_assign(scene.model, i, 0, 3 - i);
    run_until(&scene, B);
    assert_about(model_ends(scene.model, A), 1);
    assert_about(model_ends(scene.model, C), 1);  // beside a: 600 + 400
    assert_about(model_ends(scene.model, B), 2);
    close_all(&scene);
}

static void a_fast_worker_needs_less_time(void **state)
{
    (void)state;
    struct scene scene;
    static const double speed[] = {2};
    struct plan_cluster cluster = sketch_cluster(1);
    cluster.speed = speed;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 1, .seconds = {4}}), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    assert_about(model_now(scene.model), 2);
    close_all(&scene);
}

static void a_task_that_was_retracted_may_go_elsewhere(void **state)
{
    (void)state;
    struct scene scene;
    open_on(&scene, sketch_graph(&(struct sketch){.task_count = 2, .seconds = {3, 1}}),
            sketch_cluster(2));
    model_assign(scene.model, A, 0, 2);
    model_assign(scene.model, B, 0, 1);
    model_settle(scene.model);
    assert_true(model_retract(scene.model, B));
    model_assign(scene.model, B, 1, 1);
    run_until(&scene, B);
    assert_int_equal(model_worker(scene.model, B), 1);
    assert_about(model_now(scene.model), 1);
    assert_true(scene.model->tasks[A].state == TASK_RUNS);
    close_all(&scene);
}

// ---- Transfers ---------------------------------------------------------------------------

static void two_downloads_share_the_port_of_their_source(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct scene scene;
        struct plan_cluster cluster = sketch_cluster(3);
        cluster.shared = shared;
        open_on(&scene, fork_of_two(), cluster);
        model_assign(scene.model, A, 0, 1);
        run_until(&scene, A);
        model_request(scene.model, X, 1, 1);
        model_request(scene.model, Y, 2, 1);
        assert_true(model_is_under_way(scene.model, X, 1));
        // Both at once from worker 0: 10 MiB at 5 MiB/s take until 3, at 10 MiB/s until 2.
        assert_about(arrival(&scene, X, 1), shared ? 3 : 2);
        assert_about(arrival(&scene, Y, 2), shared ? 3 : 2);
        assert_int_equal(model_sums(scene.model).transfers, 2);
        assert_about(model_sums(scene.model).mib, 20);
        close_all(&scene);
    }
}

static void bandwidth_that_a_busy_port_leaves_is_shared(void **state)
{
    (void)state;
    struct scene scene;
    // a makes v and w, b makes x, c makes y, in 1 s each. d reads v on worker 3; e reads w, x and
    // y on worker 4.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 5, .seconds = {1, 1, 1, 1, 1}, .object_count = 4,
        .objects = {{A, 20, READ_BY(D), false}, {A, 10, READ_BY(E), false},
                    {B, 10, READ_BY(E), false}, {C, 10, READ_BY(E), false}}}), sketch_cluster(5));
    for (uint32_t i = A; i <= C; i++) model_assign(scene.model, i, i, 1);
    advance(&scene);
    model_request(scene.model, 0, 3, 1);
    for (uint32_t object = 1; object < 4; object++) model_request(scene.model, object, 4, 1);
    // Worker 4 gets 10/3 MiB/s from each of three. Worker 0 sends w at 10/3, so v has the other
    // 20/3: 20 MiB take 3 s, and so do 10 MiB at 10/3.
    assert_about(arrival(&scene, 0, 3), 4);
    for (uint32_t object = 1; object < 4; object++) assert_about(arrival(&scene, object, 4), 4);
    close_all(&scene);
}

static void a_download_speeds_up_when_another_ends(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_graph graph = fork_of_two();
    graph.mib[Y] = 30;
    open_on(&scene, graph, sketch_cluster(3));
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 1);
    model_request(scene.model, Y, 2, 1);
    assert_about(arrival(&scene, X, 1), 3);  // 10 MiB at 5
    assert_about(arrival(&scene, Y, 2), 5);  // 10 MiB at 5 until then, 20 MiB at 10 afterwards
    close_all(&scene);
}

static void latency_and_loss_delay_a_download(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.loss = 0.5;
    cluster.latency = 0.25;
    open_on(&scene, fork_of_two(), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 1);
    assert_about(arrival(&scene, X, 1), 1 + 0.25 + 10 / 5.0);
    close_all(&scene);
}

static void downloads_wait_for_a_slot_by_urgency(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.slots = 1;
    open_on(&scene, fork_of_two(), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 1);
    model_request(scene.model, Y, 1, 0);
    model_request(scene.model, Y, 1, 2);  // it is asked for again, more urgently
    assert_about(arrival(&scene, Y, 1), 2);
    assert_false(model_has(scene.model, X, 1));
    assert_about(arrival(&scene, X, 1), 3);
    close_all(&scene);
}

static void only_a_download_that_waits_can_be_called_off(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.slots_each = 1;  // all come from worker 0
    open_on(&scene, fork_of_two(), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 2);
    model_request(scene.model, Y, 1, 1);
    model_settle(scene.model);
    assert_false(model_call_off(scene.model, X, 1));
    assert_true(model_call_off(scene.model, Y, 1));
    assert_false(model_is_under_way(scene.model, Y, 1));
    assert_about(arrival(&scene, X, 1), 2);
    assert_false(model_advance(scene.model, 1e9));
    close_all(&scene);
}

static void a_copy_may_be_a_source(void **state)
{
    (void)state;
    struct scene scene;
    struct plan_cluster cluster = sketch_cluster(3);
    cluster.any_source = true;
    // a makes x for b and c, and y for b: worker 0 still sends y when c asks for x.
    open_on(&scene, sketch_graph(&(struct sketch){
        .task_count = 3, .seconds = {1, 1, 1}, .object_count = 2,
        .objects = {{A, 10, READ_BY(B) | READ_BY(C), false}, {A, 90, READ_BY(B), false}}}),
            cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 1);
    model_request(scene.model, Y, 1, 1);
    assert_about(arrival(&scene, X, 1), 3);  // 5 MiB/s for each of two
    model_request(scene.model, X, 2, 1);
    assert_about(arrival(&scene, X, 2), 4);  // from worker 1, which sends nothing else: 10 MiB/s
    close_all(&scene);
}

// ---- Disks -------------------------------------------------------------------------------

static void a_task_fails_if_its_outputs_find_no_room(void **state)
{
    (void)state;
    struct scene scene;
    static const double disk[] = {15, 20};
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.disk_mib = disk;
    open_on(&scene, fork_of_two(), cluster);  // 20 MiB of outputs
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    assert_true(model_failed(scene.model, A));
    assert_false(model_has(scene.model, X, 0));
    model_assign(scene.model, A, 1, 1);
    run_until(&scene, A);
    assert_false(model_failed(scene.model, A));
    assert_true(model_has(scene.model, X, 1));
    assert_about(model_now(scene.model), 2);
    close_all(&scene);
}

static void an_input_without_room_is_refused_until_room_is_made(void **state)
{
    (void)state;
    struct scene scene;
    static const double disk[] = {100, 10};
    const uint32_t *cut;
    struct plan_cluster cluster = sketch_cluster(2);
    cluster.disk_mib = disk;
    open_on(&scene, fork_of_two(), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_assign(scene.model, B, 1, 1);
    model_assign(scene.model, C, 1, 1);
    model_request(scene.model, X, 1, 1);
    assert_about(arrival(&scene, X, 1), 2);
    model_request(scene.model, Y, 1, 1);
    model_settle(scene.model);
    assert_int_equal(model_cut_off(scene.model, &cut), 1);
    assert_int_equal(cut[0], C);
    assert_int_equal(model_why(scene.model, C), MODEL_CUT_INPUT);
    run_until(&scene, B);  // 2..3
    model_drop(scene.model, X, 1);
    assert_false(model_has(scene.model, X, 1));
    model_assign(scene.model, C, 1, 1);
    model_request(scene.model, Y, 1, 1);
    run_until(&scene, C);
    assert_about(model_now(scene.model), 5);  // y 3..4, c 4..5
    close_all(&scene);
}

static void a_dropped_output_is_fetched_from_a_copy(void **state)
{
    (void)state;
    struct scene scene;
    static const double disk[] = {20, 20, 20};
    struct plan_cluster cluster = sketch_cluster(3);
    cluster.disk_mib = disk;
    open_on(&scene, fork_of_two(), cluster);
    model_assign(scene.model, A, 0, 1);
    run_until(&scene, A);
    model_request(scene.model, X, 1, 1);
    arrival(&scene, X, 1);
    model_drop(scene.model, X, 0);
    assert_false(model_has(scene.model, X, 0));
    model_request(scene.model, X, 2, 1);
    assert_about(arrival(&scene, X, 2), 3);  // 2 s at worker 1, then 1 s more
    close_all(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_urgent_task_gets_the_core),
        cmocka_unit_test(a_small_task_passes_one_that_does_not_fit_yet),
        cmocka_unit_test(memory_is_shared_like_cores),
        cmocka_unit_test(a_fast_worker_needs_less_time),
        cmocka_unit_test(a_task_that_was_retracted_may_go_elsewhere),
        cmocka_unit_test(two_downloads_share_the_port_of_their_source),
        cmocka_unit_test(bandwidth_that_a_busy_port_leaves_is_shared),
        cmocka_unit_test(a_download_speeds_up_when_another_ends),
        cmocka_unit_test(latency_and_loss_delay_a_download),
        cmocka_unit_test(downloads_wait_for_a_slot_by_urgency),
        cmocka_unit_test(only_a_download_that_waits_can_be_called_off),
        cmocka_unit_test(a_copy_may_be_a_source),
        cmocka_unit_test(a_task_fails_if_its_outputs_find_no_room),
        cmocka_unit_test(an_input_without_room_is_refused_until_room_is_made),
        cmocka_unit_test(a_dropped_output_is_fetched_from_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
