// storm_test.c - all functions at once from many threads; the sums must be correct. Built a second
// time with the thread sanitizer, by tsan_test.
#include "scene.h"
#include "seed.h"

#include <assert.h>

enum { CLIENTS = 4, HANDLERS = 6, MAKERS = 4, ROUNDS = 60, SIZE = 24 };

struct storm {
    struct rota_pool *pool;
    atomic_uint made, ran, confirmed, fetched, makers;
    atomic_int readers, writers;
    atomic_bool broken, stop;
};

struct actor {
    struct storm *storm;
    uint32_t number;
    uint64_t seed;
};

static uint32_t draw(struct actor *actor, uint32_t bound)
{
    actor->seed ^= actor->seed << 13;
    actor->seed ^= actor->seed >> 7;
    actor->seed ^= actor->seed << 17;
    return (uint32_t)(actor->seed % bound);
}

static int plain(void *argument, struct rota_pool_call *call)
{
    struct storm *storm = argument;
    atomic_fetch_add(&storm->ran, 1);
    return rota_pool_call_task(call).task % 23 == 22;  // some of them fail
}

// Lane 1: writers of one group.
static int in_lane(void *argument, struct rota_pool_call *call)
{
    struct storm *storm = argument;
    bool writes = rota_pool_call_task(call).task % 3 == 0;
    rota_pool_call_started(call);
    atomic_fetch_add(writes ? &storm->writers : &storm->readers, 1);
    int writers = atomic_load(&storm->writers), readers = atomic_load(&storm->readers);
    if (writers > 1 || (writers && readers)) atomic_store(&storm->broken, true);
    for (volatile int i = 0; i < 50; i++) continue;
    atomic_fetch_sub(writes ? &storm->writers : &storm->readers, 1);
    atomic_fetch_add(&storm->ran, 1);
    return 0;
}

// ---- Clients: submit, cancel, retry, forget, look ---------------------------------------------

static rota_task_id submit_some(struct actor *actor, uint32_t kind)
{
    uint32_t first[SIZE + 1], needs[SIZE * 2], need = 0;
    struct rota_pool_task tasks[SIZE];
    memset(tasks, 0, sizeof tasks);
    for (uint32_t i = 0; i < SIZE; i++) {
        first[i] = need;
        for (uint32_t k = draw(actor, 3); i && k > 0; k--) needs[need++] = draw(actor, i) + 1;
        if (kind != 2) continue;
        tasks[i].lane = 1;
        tasks[i].group = (i + 1) % 3 ? 0 : 1;
        tasks[i].access = (i + 1) % 3 ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE;
    }
    first[SIZE] = need;
    struct rota_pool_job job = {.client = kind ? actor->number % CLIENTS + 1 : 0,
                                .task_count = SIZE,
                                .argument = actor->storm,
                                .need_first = first,
                                .needs = needs};
    if (kind != 3) job.function = kind == 2 ? in_lane : plain;
    if (kind == 2) job.tasks = tasks;
    rota_task_id id = {0, 0};
    enum rota_error error = rota_pool_submit(actor->storm->pool, &job, &id);
    if (error) return (rota_task_id){0, 0};
    if (job.client) atomic_fetch_add(&actor->storm->made, SIZE);
    return id;
}

static void disturb(struct actor *actor, rota_task_id id)
{
    struct rota_pool *pool = actor->storm->pool;
    struct rota_pool_snapshot look;
    switch (draw(actor, 8)) {
    case 0: rota_pool_cancel(pool, (rota_task_id){id.job, 1 + draw(actor, SIZE)}); break;
    case 1: rota_pool_cancel(pool, (rota_task_id){id.job, 0}); break;
    case 2: rota_pool_forget(pool, (rota_job_id){id.job}); break;
    case 3:
        if (!rota_pool_look(pool, &look)) rota_pool_snapshot_release(&look);
        break;
    case 4: rota_pool_check(pool); break;
    case 5: rota_pool_state(pool, (rota_task_id){id.job, 1 + draw(actor, SIZE)}); break;
    case 6: rota_pool_wait(pool, (rota_job_id){id.job}, draw(actor, 2000), NULL); break;
    default: rota_pool_add(pool, plain, actor->storm, NULL); break;
    }
}

static void *make(void *argument)
{
    struct actor *actor = argument;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        rota_task_id id = submit_some(actor, draw(actor, 4));
        for (uint32_t k = draw(actor, 4); id.job && k > 0; k--) disturb(actor, id);
    }
    atomic_fetch_sub(&actor->storm->makers, 1);
    return NULL;
}

// ---- Handlers --------------------------------------------------------------------------------

static void *handle(void *argument)
{
    struct actor *actor = argument;
    struct rota_pool *pool = actor->storm->pool;
    uint64_t handler = actor->number + 1;
    while (!atomic_load(&actor->storm->stop)) {
        struct rota_pool_grant grant;
        if (rota_pool_fetch(pool, handler, any, 0, 2000, &grant)) continue;
        atomic_fetch_add(&actor->storm->fetched, 1);
        uint32_t what = draw(actor, 20);
        if (what == 0) rota_pool_fail(pool, handler, grant.task, 0, 2);
        else if (what == 1) rota_pool_lost(pool, handler);
        else if (what == 2) rota_pool_fetch(pool, handler, grant.task, ROTA_FETCHED_OK, 0, NULL);
        if (what < 2) rota_pool_fetch(pool, handler, grant.task, ROTA_FAILED_OK, 0, NULL);
        rota_pool_deliver(pool, handler, grant.task, 0);
    }
    return NULL;
}

static void *read_news(void *argument)
{
    struct actor *actor = argument;
    struct rota_pool_confirmation some[16];
    while (!atomic_load(&actor->storm->stop)) {
        uint32_t count
            = rota_pool_confirmed(actor->storm->pool, actor->number + 1, some, 16, 2000);
        for (uint32_t i = 0; i < count; i++)
            if (some[i].outcome == ROTA_OUTCOME_NONE) atomic_store(&actor->storm->broken, true);
        atomic_fetch_add(&actor->storm->confirmed, count);
    }
    return NULL;
}

// ---- The storm ---------------------------------------------------------------------------------

static void *act(void *argument)
{
    struct actor *actor = argument;
    uint32_t number = actor->number;
    if (number < MAKERS) return make(actor);
    actor->number = number < MAKERS + HANDLERS ? number - MAKERS : number - MAKERS - HANDLERS;
    return number < MAKERS + HANDLERS ? handle(actor) : read_news(actor);
}

static void storm(uint64_t seed, uint32_t threads, enum rota_pool_ending ending)
{
    struct storm storm = {.pool = scene_open(threads), .makers = MAKERS};
    assert_int_equal(rota_pool_lane(storm.pool, 1, ROTA_LANE_STRICT), ROTA_OK);
    enum { ALL = MAKERS + HANDLERS + CLIENTS };
    struct actor actors[ALL];
    pthread_t ids[ALL];
    for (uint32_t i = 0; i < ALL; i++) {
        actors[i] = (struct actor){&storm, i, seed * 1000 + i * 77 + 1};
        assert_int_equal(pthread_create(&ids[i], NULL, act, &actors[i]), 0);
    }
    if (ending == ROTA_POOL_FINISH)
        while (atomic_load(&storm.makers)) nap(1000);
    else
        nap(20000);  // in the middle of it
    assert_int_equal(rota_pool_shut(storm.pool, ending, 10 * (rota_time)PATIENCE), ROTA_OK);
    while (atomic_load(&storm.makers)) nap(1000);
    atomic_store(&storm.stop, true);
    for (uint32_t i = 0; i < ALL; i++) pthread_join(ids[i], NULL);
    assert_int_equal(rota_pool_shut(storm.pool, ROTA_POOL_STOP, 10 * (rota_time)PATIENCE), ROTA_OK);
    // Failed tasks block others for good; when their job is cancelled they are confirmed, too.
    for (uint32_t job = 1; job < 4 * MAKERS * ROUNDS; job++)
        rota_pool_forget(storm.pool, (rota_job_id){job});
    for (uint64_t client = 1; client <= CLIENTS; client++) {
        struct rota_pool_confirmation one;
        while (rota_pool_confirmed(storm.pool, client, &one, 1, 0)) storm.confirmed++;
    }
    assert_false(storm.broken);
    assert_true(storm.confirmed >= storm.made);  // once each, and again for each repetition
    assert_int_equal(lane_counter(storm.pool, 1), 0);
    assert_int_equal(lane_groups(storm.pool, 1), 0);
    scene_close(storm.pool);
}

static void a_storm_ends_when_all_is_done(void **state)
{
    (void)state;
    uint64_t seed = seed_take();
    for (uint32_t i = 1; i <= 4; i++) storm(seed + i, 1 + i, ROTA_POOL_FINISH);
}

static void a_storm_is_stopped(void **state)
{
    (void)state;
    uint64_t seed = seed_take();
    for (uint64_t i = 11; i <= 14; i++) storm(seed + i, 3, ROTA_POOL_STOP);
}

static void a_pool_is_opened_and_closed_often(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        struct rota_pool *pool = scene_open(1 + i % 3);
        struct storm storm = {.pool = pool};
        for (uint32_t k = 0; k < i % 5; k++)
            assert_int_equal(rota_pool_add(pool, plain, &storm, NULL), ROTA_OK);
        rota_pool_close(pool);
    }
    rota_pool_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storm_ends_when_all_is_done),
        cmocka_unit_test(a_storm_is_stopped),
        cmocka_unit_test(a_pool_is_opened_and_closed_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
