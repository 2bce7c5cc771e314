// lane_test.c - lanes in the pool: functions of readers and writers on real threads (scenarios TS).
#include "scene.h"
#include "seed.h"

#include <assert.h>

static bool is_held(struct rota_pool *pool, rota_task_id task)
{
    return rota_pool_state(pool, task) == ROTA_TASK_HELD;
}

static void over(struct rota_pool *pool, uint32_t job, uint32_t succeeded)
{
    struct rota_pool_sum sum;
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){job}, PATIENCE, &sum), ROTA_OK);
    assert_int_equal(sum.succeeded, succeeded);
}

static void no_task_passes_a_held_head(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(4);
    assert_int_equal(rota_pool_lane(pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    struct gate gate;
    gate_open(&gate);
    uint32_t job = scene_run(pool, 5, "a:r1/1 b:r1/1 c:r1/2", gate_function, &gate);
    gate_waits_for(&gate, "a");
    assert_true(is_held(pool, scene_task(job, 'b')));
    assert_true(is_held(pool, scene_task(job, 'c')));
    gate_pass(&gate, 'a');
    gate_waits_for(&gate, "abc");
    gate_pass_all(&gate);
    over(pool, job, 3);
    gate_close(&gate);
    scene_close(pool);
}

static void readers_run_together_and_writers_alone(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(4);
    assert_int_equal(rota_pool_lane(pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    struct gate gate;
    gate_open(&gate);
    uint32_t job = scene_run(pool, 5, "a:r1/1 b:r1/2 w:w1/3 c:r1/4", gate_function, &gate);
    gate_waits_for(&gate, "ab");
    assert_int_equal(lane_counter(pool, 1), -2);
    gate_pass(&gate, 'a');
    assert_string_equal(scene_confirmed(pool, 5, 1), "a=ok");
    assert_int_equal(lane_counter(pool, 1), -1);
    assert_true(is_held(pool, scene_task(job, 'w')));
    gate_pass(&gate, 'b');
    gate_waits_for(&gate, "abw");
    assert_int_equal(lane_counter(pool, 1), 1);
    assert_true(is_held(pool, scene_task(job, 'c')));
    gate_pass(&gate, 'w');
    gate_waits_for(&gate, "abwc");
    gate_pass_all(&gate);
    over(pool, job, 4);
    gate_close(&gate);
    scene_close(pool);
}

static void writers_of_different_groups_run_together(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(4);
    assert_int_equal(rota_pool_lane(pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    struct gate gate;
    gate_open(&gate);
    uint32_t job = scene_run(pool, 5, "u:w1/1 v:w1/2 w:w1/1", gate_function, &gate);
    gate_waits_for(&gate, "uv");
    assert_int_equal(lane_counter(pool, 1), 2);
    assert_true(is_held(pool, scene_task(job, 'w')));
    gate_pass_all(&gate);
    over(pool, job, 3);
    gate_waits_for(&gate, "uvw");
    gate_close(&gate);
    scene_close(pool);
}

struct alone {
    atomic_int running, most;
    char order[16];
    atomic_uint count;
};

static int run_alone(void *argument, struct rota_pool_call *call)
{
    struct alone *alone = argument;
    int now = atomic_fetch_add(&alone->running, 1) + 1;
    if (now > atomic_load(&alone->most)) atomic_store(&alone->most, now);
    alone->order[atomic_fetch_add(&alone->count, 1)] = scene_name(rota_pool_call_task(call));
    nap(2000);
    atomic_fetch_sub(&alone->running, 1);
    return 0;
}

static void readers_and_writers_take_turns(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(8);
    struct alone alone = {0};
    uint32_t job
        = scene_run(pool, 5, "a:r1/1 b:w1/2 c:r1/3 d:w1/4 e:r1/5 f:w1/6", run_alone, &alone);
    over(pool, job, 6);
    assert_int_equal(alone.most, 1);
    assert_string_equal(alone.order, "abcdef");
    scene_close(pool);
}

static void one_job_is_confirmed_without_more_traffic(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    struct alone alone = {0};
    scene_run(pool, 5, "a:r1/1", run_alone, &alone);
    assert_string_equal(scene_confirmed(pool, 5, 1), "a=ok");
    assert_int_equal(lane_counter(pool, 1), 0);
    scene_close(pool);
}

static void each_client_reads_its_own_confirmations(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    struct alone alone = {0};
    uint32_t jobs[6];
    for (uint32_t i = 0; i < 6; i++)
        jobs[i] = scene_run(pool, 5 + i % 2, "a:r1", run_alone, &alone);
    for (uint32_t client = 0; client < 2; client++) {
        uint32_t seen = 0;
        for (uint32_t i = 0; i < 3; i++) {
            struct rota_pool_confirmation one;
            assert_int_equal(rota_pool_confirmed(pool, 5 + client, &one, 1, PATIENCE), 1);
            for (uint32_t j = 0; j < 6; j++) seen |= (uint32_t)(jobs[j] == one.task.job) << j;
        }
        assert_int_equal(seen, client ? 0x2a : 0x15);
    }
    struct rota_pool_confirmation more;
    assert_int_equal(rota_pool_confirmed(pool, 5, &more, 1, 0), 0);
    assert_int_equal(rota_pool_confirmed(pool, 7, &more, 1, 0), 0);
    scene_close(pool);
}

static void confirmations_come_in_reverse(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(4);
    assert_int_equal(rota_pool_lane(pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    struct gate gate;
    gate_open(&gate);
    uint32_t job = scene_run(pool, 5, "a:r1/1 b:r1/2 c:r1/3 d:r1/4", gate_function, &gate);
    gate_waits_for(&gate, "abcd");
    assert_int_equal(lane_groups(pool, 1), 4);
    for (const char *name = "dcba"; *name; name++) {
        gate_pass(&gate, *name);
        struct rota_pool_confirmation one;
        assert_int_equal(rota_pool_confirmed(pool, 5, &one, 1, PATIENCE), 1);
        assert_int_equal(scene_name(one.task), *name);
    }
    assert_int_equal(lane_groups(pool, 1), 0);
    assert_int_equal(lane_counter(pool, 1), 0);
    over(pool, job, 4);
    gate_close(&gate);
    scene_close(pool);
}

static void a_second_delivery_is_refused(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a:r1/1 b:r1/2 w:w1/3");
    fetches(pool, scene_task(job, 'a'));
    fetches(pool, scene_task(job, 'b'));
    delivers(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_deliver(pool, 9, scene_task(job, 'a'), 0), ROTA_NOT_NOW);
    assert_int_equal(lane_counter(pool, 1), -1);
    assert_true(is_held(pool, scene_task(job, 'w')));
    scene_close(pool);
}

static void a_delivery_of_an_unknown_task_is_refused(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a:r1/1");
    fetches(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_deliver(pool, 9, (rota_task_id){job, 2}, 0), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_deliver(pool, 9, (rota_task_id){job + 1, 1}, 0), ROTA_NOT_FOUND);
    assert_int_equal(lane_counter(pool, 1), -1);
    scene_close(pool);
}

// ---- TS-13: strict starts ------------------------------------------------------------------

struct slow {
    atomic_bool first_started, broken;
    atomic_uint began;
};

static int start_slowly(void *argument, struct rota_pool_call *call)
{
    struct slow *slow = argument;
    if (atomic_fetch_add(&slow->began, 1) == 0) {
        nap(50000);
        atomic_store(&slow->first_started, true);
        rota_pool_call_started(call);
        for (int i = 0; i < 1000 && atomic_load(&slow->began) < 2; i++) nap(10000);
    } else {
        atomic_store(&slow->broken, !atomic_load(&slow->first_started));
    }
    return 0;
}

static void a_strict_lane_waits_for_the_start(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    struct slow slow = {0};
    assert_int_equal(rota_pool_lane(pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    uint32_t job = scene_run(pool, 5, "a:r1/1 b:r1/2", start_slowly, &slow);
    over(pool, job, 2);
    assert_int_equal(slow.began, 2);  // at the same time, but not before
    assert_false(slow.broken);
    // The same for handlers.
    job = scene_submit(pool, 5, "a:r1/1 b:r1/2");
    fetches(pool, scene_task(job, 'a'));
    assert_int_equal(rota_pool_fetch(pool, 9, scene_task(job, 'b'), 0, 1000, NULL), ROTA_NOT_NOW);
    assert_int_equal(rota_pool_started(pool, 9, scene_task(job, 'a')), ROTA_OK);
    fetches(pool, scene_task(job, 'b'));
    scene_close(pool);
}

static void another_lane_does_not_wait_for_the_start(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    struct gate gate;
    gate_open(&gate);
    scene_run(pool, 5, "a:r1/1 b:r1/2", gate_function, &gate);
    gate_has_all_of(&gate, "ab");
    gate_pass_all(&gate);
    rota_pool_shut(pool, ROTA_POOL_FINISH, PATIENCE);
    gate_close(&gate);
    scene_close(pool);
}

static int fail_with_seven(void *argument, struct rota_pool_call *call)
{
    (void)argument, (void)call;
    return 7;
}

static void a_failure_admits_the_next_task(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    scene_run(pool, 5, "a:w1/1 b:r1/1", fail_with_seven, NULL);
    struct rota_pool_confirmation both[2];
    assert_int_equal(rota_pool_confirmed(pool, 5, both, 1, PATIENCE), 1);
    assert_int_equal(rota_pool_confirmed(pool, 5, both + 1, 1, PATIENCE), 1);
    assert_int_equal(both[0].outcome, ROTA_OUTCOME_EXIT);
    assert_int_equal(both[0].status, 7);
    assert_int_equal(both[1].task.task, 2);
    assert_int_equal(lane_counter(pool, 1), 0);
    assert_int_equal(lane_groups(pool, 1), 0);
    scene_close(pool);
}

static void a_lost_handler_releases_its_lane(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "w:w1/1 r:r1/1");
    assert_int_equal(rota_pool_fetch(pool, 7, scene_task(job, 'w'), 0, 0, NULL), ROTA_OK);
    assert_true(is_held(pool, scene_task(job, 'r')));
    assert_int_equal(rota_pool_lost(pool, 8), 0);
    assert_int_equal(rota_pool_lost(pool, 7), 1);
    assert_int_equal(rota_pool_lost(pool, 7), 0);
    fetches(pool, scene_task(job, 'r'));
    assert_int_equal(lane_counter(pool, 1), -1);
    assert_int_equal(rota_pool_deliver(pool, 7, scene_task(job, 'w'), 0), ROTA_NOT_NOW);
    delivers(pool, scene_task(job, 'r'));
    assert_string_equal(scene_confirmed(pool, 5, 2), "w=lost r=ok");
    scene_close(pool);
}

// ---- TS-16: the functions check the invariants themselves -----------------------------------

enum { LANES = 3, GROUPS = 5, TASKS = 20000 };

struct watch {
    atomic_int readers[LANES], writers[LANES], inside[LANES][GROUPS + 1];
    atomic_uint last[LANES], broken, ran;
    struct rota_pool_task *tasks;
    bool in_order;
};

static int watch_lane(void *argument, struct rota_pool_call *call)
{
    struct watch *watch = argument;
    uint32_t number = rota_pool_call_task(call).task;
    const struct rota_pool_task *task = &watch->tasks[number - 1];
    uint32_t lane = task->lane - 1;
    bool writes = task->access == ROTA_ACCESS_WRITE;
    atomic_int *mine = writes ? &watch->writers[lane] : &watch->readers[lane];
    atomic_int *others = writes ? &watch->readers[lane] : &watch->writers[lane];
    bool broken = watch->in_order && atomic_exchange(&watch->last[lane], number) >= number;
    if (watch->in_order) rota_pool_call_started(call);
    atomic_fetch_add(mine, 1);
    if (task->group) broken |= atomic_fetch_add(&watch->inside[lane][task->group], 1) != 0;
    broken |= atomic_load(others) != 0;
    for (volatile uint32_t i = 0; i < number % 64 * 8; i++) continue;
    broken |= atomic_load(others) != 0;
    if (task->group) atomic_fetch_sub(&watch->inside[lane][task->group], 1);
    atomic_fetch_sub(mine, 1);
    atomic_fetch_add(&watch->broken, broken);
    atomic_fetch_add(&watch->ran, 1);
    return 0;
}

static void watch_lanes(uint32_t threads, uint32_t count, uint32_t flags)
{
    struct rota_pool *pool = scene_open(threads);
    static struct watch watch;
    memset(&watch, 0, sizeof watch);
    watch.in_order = flags & ROTA_LANE_STRICT;
    watch.tasks = calloc(count, sizeof *watch.tasks);
    uint64_t seed = (seed_take() + threads) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < count; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        watch.tasks[i] = (struct rota_pool_task){
            .lane = (uint32_t)(seed % LANES) + 1,
            .group = (uint32_t)(seed >> 8) % (GROUPS + 1),
            .access = seed >> 16 & 3 ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE};
    }
    for (uint32_t lane = 1; lane <= LANES; lane++)
        assert_int_equal(rota_pool_lane(pool, lane, flags), ROTA_OK);
    struct rota_pool_job job = {.client = 5, .task_count = count, .function = watch_lane,
                                .argument = &watch, .tasks = watch.tasks};
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    over(pool, id.job, count);
    assert_int_equal(watch.broken, 0);
    assert_int_equal(watch.ran, count);
    for (uint32_t lane = 1; lane <= LANES; lane++) {
        assert_int_equal(lane_counter(pool, lane), 0);
        assert_int_equal(lane_groups(pool, lane), 0);
    }
    free(watch.tasks);
    scene_close(pool);
}

static void the_invariants_hold_while_functions_run(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 16; threads *= 2) watch_lanes(threads, TASKS, 0);
}

static void strict_lanes_keep_the_order_of_starts(void **state)
{
    (void)state;
    watch_lanes(4, TASKS / 4, ROTA_LANE_STRICT);
}

static void invalid_lane_requests_are_refused(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    for (uint32_t access = 0; access < 4; access += 3) {
        struct rota_pool_task task = {.lane = 1, .access = (uint8_t)access};
        struct rota_pool_job job = {.client = 5, .task_count = 1, .tasks = &task};
        assert_int_not_equal(rota_pool_submit(pool, &job, NULL), ROTA_OK);
        assert_true(strlen(rota_pool_reason(pool)) > 8);
    }
    struct rota_pool_task task = {.flags = ROTA_TASK_ON_DEMAND};
    assert_int_equal(
        rota_pool_submit(pool, &(struct rota_pool_job){.task_count = 1, .tasks = &task}, NULL),
        ROTA_BAD_EVENT);
    assert_int_equal(rota_pool_submit(pool, &(struct rota_pool_job){.flags = 64}, NULL),
                     ROTA_BAD_EVENT);
    uint32_t needs = 1, first[] = {1, 0};
    assert_int_equal(rota_pool_submit(pool, &(struct rota_pool_job){.needs = &needs}, NULL),
                     ROTA_BAD_EVENT);
    assert_int_equal(rota_pool_submit(pool,
                                      &(struct rota_pool_job){.task_count = 1, .needs = &needs,
                                                              .need_first = first},
                                      NULL),
                     ROTA_BAD_EVENT);
    struct rota_pool_task nowhere = {.lane = 9, .access = ROTA_ACCESS_READ};
    assert_int_equal(
        rota_pool_submit(pool, &(struct rota_pool_job){.task_count = 1, .tasks = &nowhere}, NULL),
        ROTA_NOT_FOUND);
    int32_t counter;
    uint32_t groups;
    assert_false(rota_pool_lane_look(pool, 9, &counter, NULL, 0, &groups));
    assert_int_equal(lane_counter(pool, 1), 0);
    assert_int_equal(rota_pool_wait_all(pool, 0), ROTA_OK);
    scene_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_task_passes_a_held_head),
        cmocka_unit_test(readers_run_together_and_writers_alone),
        cmocka_unit_test(writers_of_different_groups_run_together),
        cmocka_unit_test(readers_and_writers_take_turns),
        cmocka_unit_test(one_job_is_confirmed_without_more_traffic),
        cmocka_unit_test(each_client_reads_its_own_confirmations),
        cmocka_unit_test(confirmations_come_in_reverse),
        cmocka_unit_test(a_second_delivery_is_refused),
        cmocka_unit_test(a_delivery_of_an_unknown_task_is_refused),
        cmocka_unit_test(a_strict_lane_waits_for_the_start),
        cmocka_unit_test(another_lane_does_not_wait_for_the_start),
        cmocka_unit_test(a_failure_admits_the_next_task),
        cmocka_unit_test(a_lost_handler_releases_its_lane),
        cmocka_unit_test(the_invariants_hold_while_functions_run),
        cmocka_unit_test(strict_lanes_keep_the_order_of_starts),
        cmocka_unit_test(invalid_lane_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
