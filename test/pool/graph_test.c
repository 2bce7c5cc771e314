// graph_test.c - graphs in the pool: handlers fetch, deliver and fail tasks (scenarios DS).
#include "scene.h"

static const char G5[] = "0<1,2,3,4 1<3,4 2<3,4 3<4 4";

static enum rota_error fetch(struct rota_pool *pool, rota_task_id task, uint32_t flags)
{
    return rota_pool_fetch(pool, 9, task, flags, 0, NULL);
}

static void runs(struct rota_pool *pool, rota_task_id task)
{
    fetches(pool, task);
    delivers(pool, task);
}

static void tasks_become_available_round_by_round(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    static const char *const rounds[] = {"4", "3", "12", "0", ""};
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(scene_available(pool, job), rounds[i]);
        for (const char *name = rounds[i]; *name; name++) fetches(pool, scene_task(job, *name));
        assert_string_equal(scene_available(pool, job), rounds[i]);  // fetched ones stay
        for (const char *name = rounds[i]; *name; name++) delivers(pool, scene_task(job, *name));
    }
    struct rota_pool_sum sum;
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){job}, 0, &sum), ROTA_OK);
    assert_int_equal(sum.succeeded, 5);
    scene_close(pool);
}

static uint32_t up_to_a_failure(struct rota_pool *pool)
{
    uint32_t job = scene_submit(pool, 5, G5);
    runs(pool, scene_task(job, '4'));
    runs(pool, scene_task(job, '3'));
    runs(pool, scene_task(job, '1'));
    fetches(pool, scene_task(job, '2'));
    fails(pool, scene_task(job, '2'));
    return job;
}

static void a_failure_blocks_its_dependents(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = up_to_a_failure(pool);
    assert_string_equal(scene_blocked(pool, job), "0:2");
    assert_string_equal(scene_available(pool, job), "");
    struct rota_pool_sum sum;  // none of its tasks can run: the job has ended for now
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){job}, 0, &sum), ROTA_OK);
    assert_int_equal(sum.succeeded, 3);
    assert_int_equal(sum.failed, 1);
    assert_int_equal(sum.left, 1);
    scene_close(pool);
}

static void a_failed_task_can_be_fetched_again(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = up_to_a_failure(pool);
    assert_int_equal(fetch(pool, scene_task(job, '2'), ROTA_FAILED_OK), ROTA_OK);
    assert_string_equal(scene_blocked(pool, job), "");
    assert_string_equal(scene_available(pool, job), "2");
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){job}, 0, NULL), ROTA_NOT_NOW);
    delivers(pool, scene_task(job, '2'));
    assert_string_equal(scene_available(pool, job), "0");
    assert_string_equal(scene_confirmed(pool, 5, 5), "4=ok 3=ok 1=ok 2=failed 2=ok");
    scene_close(pool);
}

static void a_fetched_task_is_not_fetched_again(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    rota_task_id four = scene_task(job, '4');
    fetches(pool, four);
    assert_int_equal(fetch(pool, four, 0), ROTA_NOT_NOW);
    assert_string_equal(rota_pool_reason(pool), "the task is already claimed");
    // By another handler: nothing happens, and it does not become its owner.
    struct rota_pool_grant grant;
    assert_int_equal(rota_pool_fetch(pool, 8, four, ROTA_FETCHED_OK, 0, &grant), ROTA_OK);
    assert_int_equal(grant.attempt, 1);
    assert_string_equal(scene_available(pool, job), "4");
    assert_int_equal(rota_pool_deliver(pool, 8, four, 0), ROTA_NOT_NOW);
    delivers(pool, four);
    scene_close(pool);
}

static void delivering_twice_is_an_error(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    rota_task_id four = scene_task(job, '4');
    runs(pool, four);
    assert_int_equal(rota_pool_deliver(pool, 9, four, 0), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, four, ROTA_DELIVERED_OK), ROTA_OK);
    assert_string_equal(scene_available(pool, job), "3");
    scene_close(pool);
}

static void a_failed_task_cannot_be_delivered(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    rota_task_id four = scene_task(job, '4');
    fetches(pool, four);
    fails(pool, four);
    assert_int_equal(rota_pool_fail(pool, 9, four, 0, 1), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, four, ROTA_DELIVERED_OK), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_state(pool, four), ROTA_TASK_FAILED);
    assert_string_equal(scene_blocked(pool, job), "0:4 1:4 2:4 3:4");
    scene_close(pool);
}

static void a_delivered_task_cannot_be_fetched(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    runs(pool, scene_task(job, '4'));
    for (uint32_t flags = 0; flags < 64; flags++)
        assert_int_equal(fetch(pool, scene_task(job, '4'), flags), ROTA_NOT_NOW);
    scene_close(pool);
}

static void a_failed_task_needs_its_flag(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a b");
    fetches(pool, scene_task(job, 'a'));
    fails(pool, scene_task(job, 'a'));
    assert_int_equal(fetch(pool, scene_task(job, 'a'), ROTA_FETCHED_OK), ROTA_NOT_NOW);
    assert_string_equal(scene_available(pool, job), "b");
    scene_close(pool);
}

static void a_dependency_may_fail_again(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "x<a,b a b");
    fetches(pool, scene_task(job, 'a'));
    fails(pool, scene_task(job, 'a'));
    assert_int_equal(fetch(pool, scene_task(job, 'a'), ROTA_FAILED_OK), ROTA_OK);
    fails(pool, scene_task(job, 'a'));
    assert_string_equal(scene_blocked(pool, job), "x:a");
    runs(pool, scene_task(job, 'b'));
    assert_string_equal(scene_available(pool, job), "");
    // Two failed dependencies, both repeated: nothing stays blocked.
    scene_close(pool);
    pool = scene_open(0);
    job = scene_submit(pool, 5, "x<a,b a b");
    for (const char *name = "ab"; *name; name++) {
        fetches(pool, scene_task(job, *name));
        fails(pool, scene_task(job, *name));
    }
    assert_string_equal(scene_blocked(pool, job), "x:a x:b");
    for (const char *name = "ab"; *name; name++) {
        assert_int_equal(fetch(pool, scene_task(job, *name), ROTA_FAILED_OK), ROTA_OK);
        delivers(pool, scene_task(job, *name));
    }
    assert_string_equal(scene_blocked(pool, job), "");
    assert_string_equal(scene_available(pool, job), "x");
    scene_close(pool);
}

static void an_unavailable_task_is_not_fetched(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, G5);
    assert_int_equal(fetch(pool, scene_task(job, '0'), 63), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, '4'), 0), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_fail(pool, 9, scene_task(job, '4'), 0, 1), ROTA_NOT_NOW);
    assert_int_equal(fetch(pool, (rota_task_id){job, 6}, 0), ROTA_NOT_FOUND);
    assert_int_equal(fetch(pool, (rota_task_id){77, 1}, 0), ROTA_NOT_FOUND);
    assert_string_equal(scene_available(pool, job), "4");
    // Unless NOFETCH_OK is given; but the task has to be available.
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, '3'), ROTA_NOFETCH_OK),
                     ROTA_NOT_NOW);
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, '4'), ROTA_NOFETCH_OK), ROTA_OK);
    assert_string_equal(scene_available(pool, job), "3");
    scene_close(pool);
}

// ---- DS-13: many at once -----------------------------------------------------------------

struct racer {
    struct rota_pool *pool;
    rota_task_id task;
    uint64_t handler;
    pthread_barrier_t *barrier;
    bool fetched, delivered;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    pthread_barrier_wait(racer->barrier);
    racer->fetched = !rota_pool_fetch(racer->pool, 0, racer->task, 0, 0, NULL);
    pthread_barrier_wait(racer->barrier);
    racer->delivered = !rota_pool_deliver(racer->pool, 0, racer->task, 0);
    return NULL;
}

static void one_of_64_threads_gets_the_task(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    uint32_t job = scene_submit(pool, 5, "a<b b");
    struct racer racers[64];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 64);
    for (uint32_t i = 0; i < 64; i++)
        racers[i] = (struct racer){pool, scene_task(job, 'b'), i + 1, &barrier, false, false};
    threads_run(64, race, racers, sizeof *racers);
    pthread_barrier_destroy(&barrier);
    uint32_t fetched = 0, delivered = 0;
    for (uint32_t i = 0; i < 64; i++) {
        fetched += racers[i].fetched;
        delivered += racers[i].delivered;
    }
    assert_int_equal(fetched, 1);
    assert_int_equal(delivered, 1);
    assert_string_equal(scene_available(pool, job), "a");
    assert_string_equal(scene_confirmed(pool, 5, 1), "b=ok");
    scene_close(pool);
}

// ---- Graphs --------------------------------------------------------------------------------

static enum rota_error submit_pairs(struct rota_pool *pool, uint32_t count, const uint32_t *first,
                                    const uint32_t *needs)
{
    struct rota_pool_job job = {.task_count = count, .need_first = first, .needs = needs};
    return rota_pool_submit(pool, &job, NULL);
}

static void cycles_are_refused(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "0<1,2,3,4 1<2,3,4 2<3,4 3<4 4");
    assert_string_equal(scene_available(pool, job), "4");
    // The same with 3 -> 2, a cycle of three, and one without a source.
    assert_int_equal(submit_pairs(pool, 5, (const uint32_t[]){0, 4, 7, 9, 11, 11},
                                  (const uint32_t[]){2, 3, 4, 5, 3, 4, 5, 4, 5, 5, 3}),
                     ROTA_BAD_GRAPH);
    assert_int_equal(submit_pairs(pool, 4, (const uint32_t[]){0, 1, 2, 3, 4},
                                  (const uint32_t[]){2, 3, 1, 1}),
                     ROTA_BAD_GRAPH);
    assert_true(strlen(rota_pool_reason(pool)) > 8);
    assert_int_equal(submit_pairs(pool, 3, (const uint32_t[]){0, 1, 2, 3},
                                  (const uint32_t[]){2, 3, 1}),
                     ROTA_BAD_GRAPH);
    // A dependency that does not exist.
    assert_int_equal(submit_pairs(pool, 1, (const uint32_t[]){0, 1}, (const uint32_t[]){7}),
                     ROTA_BAD_GRAPH);
    // The diamond with an edge across has no cycle.
    scene_submit(pool, 5, "s<a,b a<b,t b<t t");
    scene_close(pool);
}

static void tasks_are_fetched_in_the_known_order(void **state)
{
    (void)state;
    static const char *const tests[]
        = {"bar1", "bar2", "cha1", "cha2", "cha3", "foo1", "foo2", "foo3", "foo4"};
    struct rota_pool *pool = scene_open(0);
    // In the order of their names: b B are bar1 bar2, c d e cha1-3, f g h i foo1-4.
    uint32_t job = scene_submit(
        pool, 5, "b<c,d,e,B B<c,d,e c<d d<e e f<g,h,i g<b,B,d h<b,e i<B,c,e");
    char order[64] = "";
    for (uint32_t i = 0; i < 9; i++) {
        struct rota_pool_snapshot look;
        assert_int_equal(rota_pool_look(pool, &look), ROTA_OK);
        rota_task_id lowest = look.available[0];
        rota_pool_snapshot_release(&look);
        runs(pool, lowest);
        size_t length = strlen(order);
        snprintf(order + length, sizeof order - length, "%s ", tests[lowest.task - 1]);
    }
    assert_string_equal(order, "cha3 cha2 cha1 bar2 bar1 foo2 foo3 foo4 foo1 ");
    (void)job;
    scene_close(pool);
}

static void duplicate_and_self_edges_are_harmless(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a<b,b b");
    runs(pool, scene_task(job, 'b'));
    assert_string_equal(scene_available(pool, job), "a");
    enum rota_error error = submit_pairs(pool, 1, (const uint32_t[]){0, 1}, (const uint32_t[]){1});
    assert_int_equal(error, ROTA_BAD_GRAPH);
    scene_close(pool);
}

static void the_caller_may_change_its_arrays(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t first[] = {0, 1, 1}, needs[] = {2};
    struct rota_pool_task tasks[2] = {{0}};
    struct rota_pool_job spec = {.task_count = 2, .tasks = tasks, .need_first = first,
                                 .needs = needs};
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &spec, &id), ROTA_OK);
    memset(first, 0xff, sizeof first);
    memset(needs, 0xff, sizeof needs);
    memset(tasks, 0xff, sizeof tasks);
    runs(pool, (rota_task_id){id.job, 2});
    runs(pool, (rota_task_id){id.job, 1});
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){id.job}, 0, NULL), ROTA_OK);
    scene_close(pool);
}

static void an_empty_graph_and_a_long_chain_end(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    struct rota_pool *pool = scene_open(0);
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &(struct rota_pool_job){0}, &id), ROTA_OK);
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){id.job}, 0, NULL), ROTA_OK);
    uint32_t *first = calloc(LONG + 1, sizeof *first), *needs = calloc(LONG, sizeof *needs);
    for (uint32_t i = 0; i < LONG; i++) needs[i] = i, first[i + 1] = i;
    struct rota_pool_job job = {.task_count = LONG, .need_first = first, .needs = needs + 1};
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    for (uint32_t i = 0; i < LONG; i++) {
        struct rota_pool_grant grant;
        assert_int_equal(rota_pool_fetch(pool, 9, any, 0, 0, &grant), ROTA_OK);
        assert_int_equal(grant.task.task, i + 1);
        delivers(pool, grant.task);
    }
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){id.job}, 0, NULL), ROTA_OK);
    free(first), free(needs);
    scene_close(pool);
}

static void only_the_owner_delivers(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a");
    fetches(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_deliver(pool, 8, scene_task(job, 'a'), 0), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_fail(pool, 8, scene_task(job, 'a'), 0, 1), ROTA_NOT_NOW);
    delivers(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_fetch(pool, UINT64_MAX, any, 0, 0, NULL), ROTA_BAD_EVENT);
    scene_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_become_available_round_by_round),
        cmocka_unit_test(a_failure_blocks_its_dependents),
        cmocka_unit_test(a_failed_task_can_be_fetched_again),
        cmocka_unit_test(a_fetched_task_is_not_fetched_again),
        cmocka_unit_test(delivering_twice_is_an_error),
        cmocka_unit_test(a_failed_task_cannot_be_delivered),
        cmocka_unit_test(a_delivered_task_cannot_be_fetched),
        cmocka_unit_test(a_failed_task_needs_its_flag),
        cmocka_unit_test(a_dependency_may_fail_again),
        cmocka_unit_test(an_unavailable_task_is_not_fetched),
        cmocka_unit_test(one_of_64_threads_gets_the_task),
        cmocka_unit_test(cycles_are_refused),
        cmocka_unit_test(tasks_are_fetched_in_the_known_order),
        cmocka_unit_test(duplicate_and_self_edges_are_harmless),
        cmocka_unit_test(the_caller_may_change_its_arrays),
        cmocka_unit_test(an_empty_graph_and_a_long_chain_end),
        cmocka_unit_test(only_the_owner_delivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
