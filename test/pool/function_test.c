// function_test.c - functions on threads: graphs, failures, cancelling, growing jobs, closing.
#include "scene.h"
#include "seed.h"

#include <assert.h>

static rota_job_id job_of(rota_task_id id)
{
    return (rota_job_id){id.job};
}

static void over(struct rota_pool *pool, rota_task_id id, struct rota_pool_sum expected)
{
    struct rota_pool_sum sum;
    if (rota_pool_wait(pool, job_of(id), PATIENCE, &sum)) fail_msg("%s", rota_pool_reason(pool));
    assert_memory_equal(&sum, &expected, sizeof sum);
}

// ---- Graphs: each function checks that all its dependencies have run ------------------------

enum { TASKS = 3000 };

struct graph {
    uint32_t first[TASKS + 1], needs[TASKS * 3];
    atomic_bool ran[TASKS + 1];
    atomic_uint count, broken, fails_at;  // fails_at: number of a task; 0: none
    atomic_bool slow;
};

static int check_needs(void *argument, struct rota_pool_call *call)
{
    struct graph *graph = argument;
    uint32_t number = rota_pool_call_task(call).task;
    bool broken = atomic_load(&graph->ran[number]);
    for (uint32_t at = graph->first[number - 1]; at < graph->first[number]; at++)
        broken |= !atomic_load(&graph->ran[graph->needs[at]]);
    atomic_fetch_add(&graph->broken, broken);
    if (atomic_load(&graph->slow)) nap(10);
    if (number == atomic_load(&graph->fails_at)) return 4;
    atomic_store(&graph->ran[number], true);
    atomic_fetch_add(&graph->count, 1);
    return 0;
}

// Up to three dependencies, on earlier tasks; backwards: on later ones, which is not a plain job.
static void graph_make(struct graph *graph, uint64_t seed, bool backwards)
{
    memset(graph, 0, sizeof *graph);
    uint32_t need = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        graph->first[i] = need;
        uint32_t others = backwards ? TASKS - 1 - i : i;
        for (uint32_t k = 0; k < seed % 4 && others; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint32_t which = (uint32_t)(seed % others);
            graph->needs[need++] = backwards ? i + 2 + which : which + 1;
        }
        seed = seed * 6364136223846793005u + 1;
    }
    graph->first[TASKS] = need;
}

static struct rota_pool_job graph_job(struct graph *graph, uint64_t client)
{
    return (struct rota_pool_job){.client = client, .task_count = TASKS, .function = check_needs,
                                  .argument = graph, .need_first = graph->first,
                                  .needs = graph->needs};
}

static void needs_run_before_their_dependents(void **state)
{
    (void)state;
    static struct graph graph;
    uint64_t seed = seed_take();
    for (uint32_t kind = 0; kind < 12; kind++) {
        struct rota_pool *pool = scene_open(1 + kind % 4);
        graph_make(&graph, seed + kind, kind & 1);
        struct rota_pool_job job = graph_job(&graph, kind & 2 ? 5 : 0);
        rota_task_id id;
        assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
        over(pool, id, (struct rota_pool_sum){.succeeded = TASKS});
        assert_int_equal(graph.broken, 0);
        assert_int_equal(graph.count, TASKS);
        scene_close(pool);
    }
}

// A failure has the same effect, whether the job was walked or in the core all the time.
static void a_failure_has_the_same_effect_in_walked_and_settled_jobs(void **state)
{
    (void)state;
    static struct graph graph;
    uint64_t seed = seed_take();
    for (uint32_t round = 1; round <= 8; round++) {
        struct rota_pool_sum sums[2];
        uint32_t blocked[2];
        for (uint32_t kind = 0; kind < 2; kind++) {
            struct rota_pool *pool = scene_open(3);
            graph_make(&graph, seed + round, false);
            atomic_store(&graph.fails_at, 100 * round);
            struct rota_pool_job job = graph_job(&graph, kind ? 5 : 0);
            rota_task_id id;
            assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
            assert_int_equal(rota_pool_wait(pool, job_of(id), PATIENCE, &sums[kind]), ROTA_OK);
            assert_int_equal(rota_pool_state(pool, (rota_task_id){id.job, 100 * round}),
                             ROTA_TASK_FAILED);
            struct rota_pool_snapshot look;
            assert_int_equal(rota_pool_look(pool, &look), ROTA_OK);
            assert_int_equal(look.available_count, 0);
            blocked[kind] = look.blocked_count;
            rota_pool_snapshot_release(&look);
            assert_int_equal(graph.broken, 0);
            assert_int_equal(graph.count, sums[kind].succeeded);
            // And it can be repaired.
            atomic_store(&graph.fails_at, 0);
            rota_task_id failed = {id.job, 100 * round};
            assert_int_equal(rota_pool_retry(pool, failed), ROTA_OK);
            over(pool, id, (struct rota_pool_sum){.succeeded = TASKS});
            scene_close(pool);
        }
        assert_int_equal(sums[0].failed, 1);
        assert_memory_equal(&sums[0], &sums[1], sizeof sums[0]);
        assert_int_equal(blocked[0], blocked[1]);
    }
}

// Queries about a job that is being walked move it into the core; nothing is lost or done twice.
static void queries_do_not_change_a_job(void **state)
{
    (void)state;
    static struct graph graph;
    uint64_t seed = seed_take();
    for (uint32_t round = 1; round <= 20; round++) {
        struct rota_pool *pool = scene_open(2);
        graph_make(&graph, seed + round, false);
        atomic_store(&graph.slow, true);
        struct rota_pool_job job = graph_job(&graph, 0);
        rota_task_id id;
        assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
        while (atomic_load(&graph.count) < round * 20) nap(10);
        atomic_store(&graph.slow, false);
        assert_int_not_equal(rota_pool_state(pool, (rota_task_id){id.job, TASKS}), ROTA_TASK_NONE);
        struct rota_pool_snapshot look;
        assert_int_equal(rota_pool_look(pool, &look), ROTA_OK);
        rota_pool_snapshot_release(&look);
        rota_pool_check(pool);
        over(pool, id, (struct rota_pool_sum){.succeeded = TASKS});
        assert_int_equal(graph.broken, 0);
        assert_int_equal(graph.count, TASKS);
        scene_close(pool);
    }
}

static void a_walked_job_is_delivered(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    static struct graph graph;
    graph_make(&graph, 1, false);
    struct rota_pool_job job = graph_job(&graph, 0);
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    over(pool, id, (struct rota_pool_sum){.succeeded = TASKS});
    assert_int_equal(rota_pool_state(pool, id), ROTA_TASK_SUCCEEDED);
    assert_int_equal(rota_pool_state(pool, (rota_task_id){id.job, TASKS + 1}), ROTA_TASK_NONE);
    assert_int_equal(rota_pool_fetch(pool, 9, id, 63, SECOND, NULL), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, id, 0), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, id, ROTA_DELIVERED_OK), ROTA_OK);
    assert_int_equal(rota_pool_fail(pool, 9, id, 0, 1), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_cancel(pool, id), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_retry(pool, id), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_forget(pool, job_of(id)), ROTA_OK);
    assert_int_equal(rota_pool_wait(pool, job_of(id), 0, NULL), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_state(pool, id), ROTA_TASK_NONE);
    scene_close(pool);
}

// ---- Priorities, retries, bundles, growing -------------------------------------------------

static void the_more_urgent_task_runs_first(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    struct gate gate;
    gate_open(&gate);
    uint32_t first = scene_run(pool, 5, "a", gate_function, &gate);
    gate_waits_for(&gate, "a");
    scene_run(pool, 5, "a b c", gate_function, &gate);  // names for what follows
    struct rota_pool_task tasks[] = {{.priority = -1}, {.priority = 0}, {.priority = 5}};
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool,
                                      &(struct rota_pool_job){.client = 5, .task_count = 3,
                                                              .function = gate_function,
                                                              .argument = &gate, .tasks = tasks},
                                      &id),
                     ROTA_OK);
    gate_pass_all(&gate);
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    gate_waits_for(&gate, "acabcba");  // number 3 of the last, then by age, number 1 of the last
    (void)first;
    gate_close(&gate);
    scene_close(pool);
}

static int fail_twice(void *argument, struct rota_pool_call *call)
{
    (void)call;
    return atomic_fetch_add((atomic_int *)argument, 1) < 2;
}

static void a_failed_function_is_repeated(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    atomic_int runs = 0;
    struct rota_pool_task task = {.retries_max = 2};
    struct rota_pool_job job = {.client = 5, .task_count = 1, .function = fail_twice,
                                .argument = &runs, .tasks = &task};
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    over(pool, id, (struct rota_pool_sum){.succeeded = 1});
    assert_int_equal(runs, 3);
    struct rota_pool_confirmation confirmed[2];
    assert_int_equal(rota_pool_confirmed(pool, 5, confirmed, 2, 0), 1);
    scene_close(pool);
}

static void a_bundle_is_the_sum_of_its_members(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    struct rota_pool_task tasks[]
        = {{.flags = ROTA_TASK_BUNDLE}, {.bundle = 1}, {.bundle = 1}, {0}};
    rota_task_id id;
    struct rota_pool_job job = {.client = 5, .task_count = 4, .tasks = tasks};
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    assert_int_equal(rota_pool_state(pool, id), ROTA_TASK_RUNNING);
    fetches(pool, (rota_task_id){id.job, 2});
    delivers(pool, (rota_task_id){id.job, 2});
    fetches(pool, (rota_task_id){id.job, 3});
    assert_int_equal(rota_pool_state(pool, id), ROTA_TASK_RUNNING);
    assert_int_equal(rota_pool_cancel(pool, id), ROTA_OK);
    assert_true(rota_pool_is_stopping(pool, (rota_task_id){id.job, 3}));
    assert_int_equal(rota_pool_deliver(pool, 9, (rota_task_id){id.job, 3}, 0), ROTA_STALE);
    assert_int_equal(rota_pool_state(pool, id), ROTA_TASK_FAILED);
    assert_int_equal(rota_pool_state(pool, (rota_task_id){id.job, 4}), ROTA_TASK_OFFERED);
    fetches(pool, (rota_task_id){id.job, 4});
    delivers(pool, (rota_task_id){id.job, 4});
    over(pool, id, (struct rota_pool_sum){.succeeded = 2, .aborted = 1});
    scene_close(pool);
}

static int add_itself(void *argument, struct rota_pool_call *call)
{
    rota_task_id id = rota_pool_call_task(call);
    if (id.task >= 20) return 0;
    struct rota_pool_job more = {.job = {id.job}, .client = 5, .task_count = 1,
                                 .flags = id.task == 19 ? 0 : ROTA_POOL_OPEN,
                                 .function = add_itself, .argument = argument,
                                 .need_first = (const uint32_t[]){0, 1}, .needs = &id.task};
    return rota_pool_submit(rota_pool_call_pool(call), &more, NULL) != ROTA_OK;
}

static void a_function_makes_its_job_grow(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    struct rota_pool_job job = {.client = 5, .task_count = 1, .flags = ROTA_POOL_OPEN,
                                .function = add_itself};
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    over(pool, id, (struct rota_pool_sum){.succeeded = 20});
    job.job = job_of(id);
    assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_NOT_NOW);
    assert_string_equal(rota_pool_reason(pool), "the job is not open");
    scene_close(pool);
}

static void many_single_functions(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    atomic_int runs = 2;
    for (int i = 0; i < 5000; i++)
        assert_int_equal(rota_pool_add(pool, fail_twice, &runs, NULL), ROTA_OK);
    assert_int_equal(rota_pool_shut(pool, ROTA_POOL_FINISH, PATIENCE), ROTA_OK);
    assert_int_equal(runs, 5002);
    assert_int_equal(rota_pool_add(pool, fail_twice, &runs, NULL), ROTA_NOT_NOW);
    scene_close(pool);
}

// ---- Cancelling ------------------------------------------------------------------------------

struct stop {
    atomic_bool began, ended, held;  // held: it does not end before this is released
};

static int until_stopped(void *argument, struct rota_pool_call *call)
{
    struct stop *stop = argument;
    atomic_store(&stop->began, true);
    while (!rota_pool_call_stopped(call) || atomic_load(&stop->held)) nap(100);
    atomic_store(&stop->ended, true);
    return 0;
}

static void a_running_task_is_told_to_stop_and_keeps_its_lane(void **state)
{
    (void)state;
    for (uint64_t client = 0; client < 2; client++) {
        struct rota_pool *pool = scene_open(2);
        struct stop stop = {.held = true};
        uint32_t job = scene_run(pool, client * 5, client ? "a:w1 b:w1<a" : "a b<a",
                                 until_stopped, &stop);
        while (!atomic_load(&stop.began)) nap(100);
        rota_task_id a = scene_task(job, 'a');
        assert_int_equal(rota_pool_cancel(pool, a), ROTA_OK);
        if (client) assert_int_equal(lane_counter(pool, 1), 1);
        atomic_store(&stop.held, false);
        over(pool, a, (struct rota_pool_sum){.aborted = 1, .left = 1});
        assert_true(stop.ended);
        assert_int_equal(rota_pool_state(pool, a), ROTA_TASK_ABORTED);
        assert_int_equal(rota_pool_cancel(pool, a), ROTA_NOT_NOW);
        assert_int_equal(rota_pool_cancel(pool, scene_task(job, 'b')), ROTA_OK);
        if (client) assert_string_equal(scene_confirmed(pool, 5, 2), "a=aborted b=aborted");
        assert_int_equal(lane_counter(pool, 1), 0);
        scene_close(pool);
    }
}

static void a_job_is_forgotten_when_nothing_of_it_runs(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    struct stop stop = {0};
    uint32_t job = scene_run(pool, 5, "a b<a c<a", until_stopped, &stop);
    while (!atomic_load(&stop.began)) nap(100);
    assert_int_equal(rota_pool_forget(pool, (rota_job_id){job}), ROTA_OK);
    assert_int_equal(rota_pool_forget(pool, (rota_job_id){job}), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    assert_true(stop.ended);
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){job}, PATIENCE, NULL), ROTA_NOT_FOUND);
    struct rota_pool_confirmation all[4];
    assert_int_equal(rota_pool_confirmed(pool, 5, all, 4, 0), 3);
    scene_close(pool);
}

static void a_claimed_task_of_a_forgotten_job_can_be_delivered(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a b");
    fetches(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_forget(pool, (rota_job_id){job}), ROTA_OK);
    assert_int_equal(rota_pool_fetch(pool, 9, scene_task(job, 'b'), 0, 0, NULL), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, 'a'), 0), ROTA_STALE);
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, 'a'), 0), ROTA_NOT_FOUND);
    assert_string_equal(scene_confirmed(pool, 5, 2), "b=aborted a=aborted");
    scene_close(pool);
}

// ---- The end -----------------------------------------------------------------------------------

static void finishing_runs_all_that_can(void **state)
{
    (void)state;
    static struct graph graph;
    for (uint64_t client = 0; client <= 5; client += 5) {
        struct rota_pool *pool = scene_open(2);
        graph_make(&graph, 3, false);
        struct rota_pool_job job = graph_job(&graph, client);
        job.flags = client ? ROTA_POOL_OPEN : 0;
        assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_OK);
        assert_int_equal(rota_pool_shut(pool, ROTA_POOL_FINISH, PATIENCE), ROTA_OK);
        assert_int_equal(graph.count, TASKS);
        assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_NOT_NOW);
        scene_close(pool);
    }
}

static void stopping_loses_nothing(void **state)
{
    (void)state;
    static struct graph graph;
    static struct rota_pool_confirmation all[TASKS + 1];
    for (uint64_t client = 0; client <= 5; client += 5) {
        struct rota_pool *pool = scene_open(2);
        graph_make(&graph, 3, false);
        atomic_store(&graph.slow, true);
        struct rota_pool_job job = graph_job(&graph, client);
        rota_task_id id;
        assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
        while (atomic_load(&graph.count) < 50) nap(10);
        assert_int_equal(rota_pool_shut(pool, ROTA_POOL_STOP, PATIENCE), ROTA_OK);
        struct rota_pool_sum sum;
        assert_int_equal(rota_pool_wait(pool, job_of(id), 0, &sum), ROTA_OK);
        assert_true(sum.succeeded >= 48);
        assert_int_equal(sum.succeeded + sum.aborted, TASKS);
        assert_true(graph.count >= sum.succeeded);
        uint32_t told = rota_pool_confirmed(pool, client, all, TASKS + 1, SECOND);
        assert_int_equal(told, client ? TASKS : 0);
        scene_close(pool);
    }
}

static void *wait_for_what_never_comes(void *argument)
{
    struct rota_pool *pool = *(struct rota_pool **)argument;
    struct rota_pool_confirmation confirmed;
    enum rota_error error = rota_pool_fetch(pool, 7, any, 0, ROTA_NEVER, NULL);
    assert(error == ROTA_NOT_NOW);
    error = rota_pool_fetch(pool, 7, (rota_task_id){1, 1}, 0, ROTA_NEVER, NULL);
    assert(error == ROTA_NOT_NOW);
    assert(rota_pool_wait_all(pool, ROTA_NEVER) == ROTA_OK);
    assert(rota_pool_confirmed(pool, 99, &confirmed, 1, ROTA_NEVER) == 0);
    return NULL;
}

static void stopping_releases_all_waiting_callers(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    uint32_t job = scene_submit(pool, 5, "a<b b");
    fetches(pool, any);
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_what_never_comes, &pool);
    nap(5000);
    assert_int_equal(rota_pool_shut(pool, ROTA_POOL_FINISH, 1000), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_shut(pool, ROTA_POOL_STOP, PATIENCE), ROTA_OK);
    pthread_join(waiter, NULL);
    assert_string_equal(scene_confirmed(pool, 5, 2), "a=aborted b=aborted");
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, 'b'), 0), ROTA_NOT_NOW);
    scene_close(pool);
}

static void two_pools_do_not_know_each_other(void **state)
{
    (void)state;
    struct rota_pool *one = scene_open(2), *other = scene_open(1);
    uint32_t job = scene_submit(one, 5, "a");
    assert_int_equal(rota_pool_fetch(other, 9, scene_task(job, 'a'), 0, 0, NULL), ROTA_NOT_FOUND);
    fetches(one, any);
    scene_close(other);
    delivers(one, scene_task(job, 'a'));
    scene_close(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_run_before_their_dependents),
        cmocka_unit_test(a_failure_has_the_same_effect_in_walked_and_settled_jobs),
        cmocka_unit_test(queries_do_not_change_a_job),
        cmocka_unit_test(a_walked_job_is_delivered),
        cmocka_unit_test(the_more_urgent_task_runs_first),
        cmocka_unit_test(a_failed_function_is_repeated),
        cmocka_unit_test(a_bundle_is_the_sum_of_its_members),
        cmocka_unit_test(a_function_makes_its_job_grow),
        cmocka_unit_test(many_single_functions),
        cmocka_unit_test(a_running_task_is_told_to_stop_and_keeps_its_lane),
        cmocka_unit_test(a_job_is_forgotten_when_nothing_of_it_runs),
        cmocka_unit_test(a_claimed_task_of_a_forgotten_job_can_be_delivered),
        cmocka_unit_test(finishing_runs_all_that_can),
        cmocka_unit_test(stopping_loses_nothing),
        cmocka_unit_test(stopping_releases_all_waiting_callers),
        cmocka_unit_test(two_pools_do_not_know_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
