// misuse_test.c - wrong calls, or calls at a bad moment: they are refused with a reason and never
// hang.
#include "scene.h"

#include <assert.h>

static const rota_job_id no_job = {99};

static int nothing(void *argument, struct rota_pool_call *call)
{
    (void)argument, (void)call;
    return 0;
}

static int fail_always(void *argument, struct rota_pool_call *call)
{
    (void)argument, (void)call;
    return 1;
}

static void is_refused(struct rota_pool *pool, enum rota_error error, enum rota_error expected,
                       const char *reason)
{
    assert_int_equal(error, expected);
    assert_string_equal(rota_pool_reason(pool), reason);
}

// ---- Limits --------------------------------------------------------------------------------

static struct rota_pool *open_for(uint32_t tasks_max)
{
    struct rota_pool_config config = {.threads = 2, .tasks_max = tasks_max};
    struct rota_pool *pool;
    assert_int_equal(rota_pool_open(&config, &pool), ROTA_OK);
    return pool;
}

// Functions without a client are walked outside the core, but count: one that fails moves its job
// into the core, where there must be room for it.
static void the_most_tasks_are_a_limit_for_functions_too(void **state)
{
    (void)state;
    struct rota_pool *pool = open_for(10);
    struct rota_pool_job job = {.task_count = 11, .function = fail_always};
    is_refused(pool, rota_pool_submit(pool, &job, NULL), ROTA_TOO_MANY,
               "too many tasks for the configured limit");
    job.task_count = UINT32_MAX;  // before memory is reserved
    assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_TOO_MANY);
    job.task_count = 6;
    rota_task_id id;
    assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
    struct rota_pool_sum sum;
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){id.job}, PATIENCE, &sum), ROTA_OK);
    assert_int_equal(sum.failed, 6);
    is_refused(pool, rota_pool_submit(pool, &job, NULL), ROTA_TOO_MANY,
               "too many tasks or dependencies for the configured limit");
    for (int i = 0; i < 4; i++)
        assert_int_equal(rota_pool_add(pool, fail_always, NULL, NULL), ROTA_OK);
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    assert_int_equal(rota_pool_add(pool, nothing, NULL, NULL), ROTA_OK);  // those are removed
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    assert_int_equal(rota_pool_forget(pool, (rota_job_id){id.job}), ROTA_OK);
    job = (struct rota_pool_job){.task_count = 10, .function = nothing};
    for (int i = 0; i < 3; i++) {  // delivered tasks no longer count
        assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_OK);
        assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    }
    scene_close(pool);
}

static void dependencies_must_exist(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    const uint32_t first[] = {0, 0, 1};
    struct rota_pool_job job = {.task_count = 2, .function = nothing, .need_first = first};
    is_refused(pool, rota_pool_submit(pool, &job, NULL), ROTA_BAD_EVENT,
               "the number of dependencies is given, but not the dependencies");
    scene_close(pool);
}

// ---- Unknown ids ----------------------------------------------------------------------------

static void unknown_tasks_are_not_found(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    uint32_t job = scene_submit(pool, 5, "a");
    const rota_task_id wrong[] = {{0, 0}, {0, 1}, {job, 2}, {job, UINT32_MAX}, {job + 1, 1},
                                  {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(rota_pool_deliver(pool, 9, wrong[i], 63), ROTA_NOT_FOUND);
        assert_int_equal(rota_pool_fail(pool, 9, wrong[i], 63, 1), ROTA_NOT_FOUND);
        assert_int_equal(rota_pool_started(pool, 9, wrong[i]), ROTA_NOT_FOUND);
        assert_int_equal(rota_pool_cancel(pool, wrong[i]), ROTA_NOT_FOUND);
        assert_int_equal(rota_pool_retry(pool, wrong[i]), ROTA_NOT_FOUND);
        assert_int_equal(rota_pool_state(pool, wrong[i]), ROTA_TASK_NONE);
        assert_false(rota_pool_is_stopping(pool, wrong[i]));
    }
    assert_int_equal(rota_pool_wait(pool, no_job, ROTA_NEVER, NULL), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_forget(pool, no_job), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_submit(pool, &(struct rota_pool_job){.job = no_job}, NULL),
                     ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_lane(pool, 0, 0), ROTA_BAD_EVENT);
    assert_int_equal(rota_pool_lane(pool, 1, 77), ROTA_BAD_EVENT);
    assert_int_equal(rota_pool_deliver(pool, 9, (rota_task_id){job, 0}, 63), ROTA_NOT_FOUND);
    assert_int_equal(rota_pool_retry(pool, (rota_task_id){job, 0}), ROTA_NOT_FOUND);
    scene_close(pool);
}

// ---- Without threads ---------------------------------------------------------------------------

static void without_threads_handlers_get_the_functions(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    int thing;
    rota_task_id id;
    assert_int_equal(rota_pool_add(pool, nothing, &thing, &id), ROTA_OK);
    struct rota_pool_grant grant;
    assert_int_equal(rota_pool_fetch(pool, 9, any, 0, 0, &grant), ROTA_OK);
    assert_ptr_equal(grant.function, nothing);
    assert_ptr_equal(grant.argument, &thing);
    delivers(pool, id);
    assert_int_equal(rota_pool_shut(pool, ROTA_POOL_FINISH, PATIENCE), ROTA_OK);
    scene_close(pool);
}

// A handler of one job is released when the job ends, and so ends its loop.
static void waiting_for_tasks_of_a_finished_job_returns(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(0);
    uint32_t job = scene_submit(pool, 5, "a b<a c<b"), count = 0;
    struct rota_pool_grant grant;
    while (!rota_pool_fetch(pool, 9, (rota_task_id){job, 0}, 0, ROTA_NEVER, &grant)) {
        if (++count == 1) delivers(pool, grant.task);
        else fails(pool, grant.task);
    }
    assert_int_equal(count, 2);
    scene_close(pool);
}

// ---- From inside a function --------------------------------------------------------------------

static int shut_it(void *argument, struct rota_pool_call *call)
{
    struct rota_pool *pool = rota_pool_call_pool(call);
    *(enum rota_error *)argument = rota_pool_shut(pool, ROTA_POOL_FINISH, ROTA_NEVER);
    return 0;
}

// Idle threads that look for work meanwhile do not change the reason of the refusal.
static void a_function_cannot_shut_its_pool(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(2);
    enum rota_error error = ROTA_OK;
    assert_int_equal(rota_pool_add(pool, shut_it, &error, NULL), ROTA_OK);
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    is_refused(pool, error, ROTA_BAD_EVENT, "a function of the pool cannot shut it");
    assert_int_equal(rota_pool_add(pool, nothing, NULL, NULL), ROTA_OK);  // it is still open
    scene_close(pool);
}

struct inside {
    struct rota_pool *other;
    bool good;
};

static int use_all_of_it(void *argument, struct rota_pool_call *call)
{
    struct inside *inside = argument;
    struct rota_pool *pool = rota_pool_call_pool(call);
    rota_task_id self = rota_pool_call_task(call), id;
    struct rota_pool_snapshot look;
    struct rota_pool_job job = {.task_count = 3, .function = nothing};
    bool good = rota_pool_state(pool, self) == ROTA_TASK_RUNNING
                && !rota_pool_submit(pool, &job, &id)
                && !rota_pool_wait(pool, (rota_job_id){id.job}, PATIENCE, NULL)
                && !rota_pool_look(pool, &look);
    if (!good) return 1;
    bool there = false;
    for (uint32_t i = 0; i < look.available_count; i++)
        there |= look.available[i].job == self.job && look.available[i].task == self.task;
    rota_pool_snapshot_release(&look);
    good = there && rota_pool_deliver(pool, 9, self, 0) == ROTA_NOT_NOW
           && rota_pool_cancel(pool, self) == ROTA_OK && rota_pool_call_stopped(call)
           && rota_pool_is_stopping(pool, self) && !rota_pool_forget(pool, (rota_job_id){id.job});
    rota_pool_close(inside->other);  // of another pool
    inside->good = good;
    return 0;
}

static void a_function_may_do_everything_else(void **state)
{
    (void)state;
    for (uint64_t client = 0; client <= 5; client += 5) {
        struct rota_pool *pool = scene_open(2);
        struct inside inside = {.other = scene_open(1)};
        struct rota_pool_job job = {.client = client, .task_count = 1, .argument = &inside,
                                    .function = use_all_of_it};
        rota_task_id id;
        assert_int_equal(rota_pool_submit(pool, &job, &id), ROTA_OK);
        struct rota_pool_sum sum;
        assert_int_equal(rota_pool_wait(pool, (rota_job_id){id.job}, PATIENCE, &sum), ROTA_OK);
        assert_true(inside.good);
        assert_int_equal(sum.aborted, 1);
        scene_close(pool);
    }
}

// ---- At a bad moment ---------------------------------------------------------------------------

static void *wait_for_job(void *argument)
{
    struct rota_pool *pool = *(struct rota_pool **)argument;
    assert(rota_pool_wait(pool, (rota_job_id){1}, ROTA_NEVER, NULL) == ROTA_NOT_FOUND);
    return NULL;
}

static void *wait_for_task(void *argument)
{
    struct rota_pool *pool = *(struct rota_pool **)argument;
    assert(rota_pool_fetch(pool, 8, (rota_task_id){1, 2}, 0, ROTA_NEVER, NULL) == ROTA_NOT_FOUND);
    return NULL;
}

static void waiting_callers_learn_that_the_job_was_forgotten(void **state)
{
    (void)state;
    struct rota_pool *pool = scene_open(1);
    uint32_t job = scene_submit(pool, 5, "a b<a");
    assert_int_equal(job, 1);
    pthread_t one, other;
    assert_int_equal(pthread_create(&one, NULL, wait_for_job, &pool), 0);
    assert_int_equal(pthread_create(&other, NULL, wait_for_task, &pool), 0);
    nap(5000);
    assert_int_equal(rota_pool_forget(pool, (rota_job_id){job}), ROTA_OK);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    scene_close(pool);
}

struct ending {
    struct rota_pool *pool;
    enum rota_pool_ending how;
};

static void *end_it(void *argument)
{
    struct ending *ending = argument;
    assert(rota_pool_shut(ending->pool, ending->how, ROTA_NEVER) == ROTA_OK);
    return NULL;
}

static int work_a_little(void *ran, struct rota_pool_call *call)
{
    (void)call;
    nap(20);
    atomic_fetch_add((atomic_uint *)ran, 1);
    return 0;
}

static void many_threads_may_close_the_pool_at_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        struct rota_pool *pool = scene_open(2);
        atomic_uint ran = 0;
        struct rota_pool_job job = {.client = i % 2, .task_count = 200, .argument = &ran,
                                    .function = work_a_little};
        assert_int_equal(rota_pool_submit(pool, &job, NULL), ROTA_OK);
        struct ending endings[6];
        for (uint32_t k = 0; k < 6; k++)
            endings[k] = (struct ending){pool, k < 5 ? ROTA_POOL_FINISH : ROTA_POOL_STOP};
        uint32_t count = i % 3 ? 5 : 6;
        threads_run(count, end_it, endings, sizeof *endings);
        if (count == 5) assert_int_equal(ran, 200);
        assert_int_equal(rota_pool_shut(pool, ROTA_POOL_FINISH, 0), ROTA_OK);
        assert_int_equal(rota_pool_fetch(pool, 9, any, 0, ROTA_NEVER, NULL), ROTA_NOT_NOW);
        is_refused(pool, rota_pool_add(pool, nothing, NULL, NULL), ROTA_NOT_NOW,
                   "the pool is shut");
        scene_close(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_tasks_are_a_limit_for_functions_too),
        cmocka_unit_test(dependencies_must_exist),
        cmocka_unit_test(unknown_tasks_are_not_found),
        cmocka_unit_test(without_threads_handlers_get_the_functions),
        cmocka_unit_test(waiting_for_tasks_of_a_finished_job_returns),
        cmocka_unit_test(a_function_cannot_shut_its_pool),
        cmocka_unit_test(a_function_may_do_everything_else),
        cmocka_unit_test(waiting_callers_learn_that_the_job_was_forgotten),
        cmocka_unit_test(many_threads_may_close_the_pool_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
