// memory_test.c - memory that is refused at any moment: nothing is lost or leaked.
//
// One story that uses all of a pool is repeated, and each time another allocation is refused. A
// call that returns ROTA_NO_MEMORY is repeated; the result is the same.
#include "scene.h"

enum { TASKS = 40, HANDLER = 7, CLIENT = 3, OTHER_CLIENT = 4 };

struct heap {
    atomic_long asked, bytes;
    long refused_first, refused_end;  // of all allocations
    atomic_long refused;
};

static void *resize(void *context, void *old, size_t old_size, size_t new_size)
{
    struct heap *heap = context;
    if (new_size) {
        long number = atomic_fetch_add(&heap->asked, 1);
        if (number >= heap->refused_first && number < heap->refused_end) {
            atomic_fetch_add(&heap->refused, 1);
            return NULL;
        }
    }
    atomic_fetch_add(&heap->bytes, (long)new_size - (long)(old ? old_size : 0));
    if (new_size) return realloc(old, new_size);
    free(old);
    return NULL;
}

// Whether a call has to be repeated.
static bool refused(enum rota_error error, enum rota_error expected)
{
    if (error == ROTA_NO_MEMORY) return true;
    assert_int_equal(error, expected);
    return false;
}

#define insist(call, expected)                                                                     \
    while (refused(call, expected)) continue

static int fail_the_fifth(void *ran, struct rota_pool_call *call)
{
    atomic_fetch_add((atomic_uint *)ran, 1);
    return rota_pool_call_task(call).task == 5;
}

// ---- The story -----------------------------------------------------------------------------

struct story {
    struct rota_pool *pool;
    uint32_t first[TASKS + 1], needs[TASKS * 2];
    struct rota_pool_task tasks[TASKS];
    atomic_uint ran;
    rota_task_id walked, laned, handled;
    uint32_t fetched, failed;
};

static void story_begins(struct story *story, struct heap *heap)
{
    struct rota_pool_config config = rota_pool_config_default();
    config.resize = resize;
    config.resize_context = heap;
    insist(rota_pool_open(&config, &story->pool), ROTA_OK);
    for (uint32_t lane = 1; lane <= 2; lane++)
        insist(rota_pool_lane(story->pool, lane, lane == 2 ? ROTA_LANE_STRICT : 0), ROTA_OK);
    uint32_t need = 0;
    for (uint32_t i = 0; i < TASKS; i++) {
        story->first[i] = need;
        for (uint32_t k = 1; i > 2 && k <= 2; k++) story->needs[need++] = i + 1 - k;
        story->tasks[i] = (struct rota_pool_task){
            .lane = 1 + i % 2, .group = i % 3, .priority = (int16_t)(i % 7), .retries_max = i % 2,
            .access = i % 5 ? ROTA_ACCESS_READ : ROTA_ACCESS_WRITE};
    }
    story->first[TASKS] = need;
}

static void jobs_are_submitted(struct story *story)
{
    struct rota_pool_job walked = {.task_count = TASKS, .function = fail_the_fifth,
                                   .argument = &story->ran, .need_first = story->first,
                                   .needs = story->needs};
    insist(rota_pool_submit(story->pool, &walked, &story->walked), ROTA_OK);
    struct rota_pool_job laned = {.client = CLIENT, .task_count = TASKS, .tasks = story->tasks,
                                  .function = fail_the_fifth, .argument = &story->ran};
    insist(rota_pool_submit(story->pool, &laned, &story->laned), ROTA_OK);
    struct rota_pool_job handled = {.client = OTHER_CLIENT, .task_count = TASKS,
                                    .flags = ROTA_POOL_OPEN, .need_first = story->first,
                                    .needs = story->needs};
    insist(rota_pool_submit(story->pool, &handled, &story->handled), ROTA_OK);
    for (uint32_t i = 0; i < 30; i++)
        insist(rota_pool_add(story->pool, fail_the_fifth, &story->ran, NULL), ROTA_OK);
    struct rota_pool_job more = {.job = {story->handled.job}, .task_count = TASKS};
    rota_task_id id;
    insist(rota_pool_submit(story->pool, &more, &id), ROTA_OK);
    assert_int_equal(id.task, TASKS + 1);
}

static void one_is_handled(struct story *story, rota_task_id task)
{
    struct rota_pool *pool = story->pool;
    if (++story->fetched % 9 == 0) {
        insist(rota_pool_fail(pool, HANDLER, task, 0, 2), ROTA_OK);
        insist(rota_pool_fetch(pool, HANDLER, task, ROTA_FAILED_OK, 0, NULL), ROTA_OK);
        story->failed++;
    }
    if (story->fetched % 11 == 0) {
        insist(rota_pool_cancel(pool, task), ROTA_OK);
        insist(rota_pool_deliver(pool, HANDLER, task, 0), ROTA_STALE);
        insist(rota_pool_retry(pool, task), ROTA_OK);
        return;
    }
    insist(rota_pool_deliver(pool, HANDLER, task, 0), ROTA_OK);
}

static void handlers_work(struct story *story)
{
    rota_task_id any_of_it = {story->handled.job, 0};
    for (;;) {
        struct rota_pool_grant grant;
        enum rota_error error
            = rota_pool_fetch(story->pool, HANDLER, any_of_it, 0, ROTA_NEVER, &grant);
        if (error == ROTA_NOT_NOW) return;  // it has ended
        if (!refused(error, ROTA_OK)) one_is_handled(story, grant.task);
    }
}

static void all_is_over(struct story *story)
{
    struct rota_pool *pool = story->pool;
    struct rota_pool_snapshot look;
    insist(rota_pool_look(pool, &look), ROTA_OK);
    rota_pool_snapshot_release(&look);
    assert_int_equal(rota_pool_wait_all(pool, PATIENCE), ROTA_OK);
    struct rota_pool_sum walked, laned, handled;
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){story->walked.job}, 0, &walked), ROTA_OK);
    assert_int_equal(walked.succeeded, 4);
    assert_int_equal(walked.failed, 1);
    assert_int_equal(walked.left, TASKS - 5);
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){story->laned.job}, 0, &laned), ROTA_OK);
    assert_int_equal(laned.succeeded, TASKS - 1);
    assert_int_equal(rota_pool_wait(pool, (rota_job_id){story->handled.job}, 0, &handled),
                     ROTA_OK);
    assert_int_equal(handled.succeeded, 2 * TASKS);
    struct rota_pool_confirmation told[4 * TASKS];
    assert_int_equal(rota_pool_confirmed(pool, CLIENT, told, 4 * TASKS, 0), TASKS);
    assert_int_equal(rota_pool_confirmed(pool, OTHER_CLIENT, told, 4 * TASKS, 0),
                     story->fetched + story->failed);
    assert_int_equal(story->ran, 5 + TASKS + 30);
    rota_pool_check(pool);
}

static void story_ends(struct story *story)
{
    insist(rota_pool_forget(story->pool, (rota_job_id){story->laned.job}), ROTA_OK);
    struct rota_pool_job another = {.task_count = TASKS, .function = fail_the_fifth,
                                    .argument = &story->ran, .need_first = story->first,
                                    .needs = story->needs};
    insist(rota_pool_submit(story->pool, &another, NULL), ROTA_OK);
    insist(rota_pool_shut(story->pool, ROTA_POOL_STOP, PATIENCE), ROTA_OK);
    rota_pool_check(story->pool);
    rota_pool_close(story->pool);
}

static long tell(long refused_first, long refused_end)
{
    struct heap heap = {.refused_first = refused_first, .refused_end = refused_end};
    struct story story = {0};
    story_begins(&story, &heap);
    jobs_are_submitted(&story);
    handlers_work(&story);
    all_is_over(&story);
    story_ends(&story);
    assert_int_equal(heap.bytes, 0);
    return heap.asked;
}

static void memory_may_be_refused_once_at_any_moment(void **state)
{
    (void)state;
    long all = tell(0, 0);
    assert_true(all > 50);
    for (long number = 0; number < all; number++) tell(number, number + 1);
}

static void memory_may_be_refused_for_a_while_at_any_moment(void **state)
{
    (void)state;
    long all = tell(0, 0);
    for (long number = 0; number < all; number += 3) tell(number, number + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_be_refused_once_at_any_moment),
        cmocka_unit_test(memory_may_be_refused_for_a_while_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
