// tokens_test.c - a worker's tokens: each fits its own task, until it is taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/cluster/tokens.h"

enum { JOBS = 3, TASKS = 42, ALL = JOBS * TASKS, STRIDE = 37 };  // STRIDE and ALL have no factor

static const uint64_t first = (uint64_t)7 << CLUSTER_TOKENS;

static struct cluster cluster;
static struct cluster_worker worker;

// Neighbours of each job, and two numbers as far apart as they can be.
static rota_task_id task_of(uint32_t i)
{
    uint32_t number = i / JOBS + 1;
    return (rota_task_id){i % JOBS + 1, i < 2 ? UINT32_MAX - i : number};
}

static bool fits(uint32_t i, uint64_t token)
{
    return cluster_token_fits(&cluster, &worker, task_of(i), token);
}

static int begin(void **state)
{
    (void)state;
    cluster = (struct cluster){.token = first, .token_first = first};
    worker = (struct cluster_worker){0};
    for (uint32_t i = 0; i < ALL; i++)
        cluster_token_give(&worker, task_of(i), cluster_token_next(&cluster));
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_tokens_release(&worker);
    return 0;
}

static void a_token_is_taken_once_and_others_stay(void **state)
{
    (void)state;
    bool taken[ALL] = {false};
    for (uint32_t turn = 0, i = 0; turn < ALL; turn++, i = (i + STRIDE) % ALL) {
        assert_false(cluster_token_take(&cluster, &worker, task_of(i), first + i));
        assert_true(cluster_token_take(&cluster, &worker, task_of(i), first + i + 1));
        assert_false(cluster_token_take(&cluster, &worker, task_of(i), first + i + 1));
        taken[i] = true;
        for (uint32_t other = 0; other < ALL; other++)
            assert_int_equal(fits(other, first + other + 1), !taken[other]);
    }
    assert_int_equal(worker.tokens.count, 0);
}

static void the_last_token_of_a_task_replaces_the_one_before(void **state)
{
    (void)state;
    uint64_t token = cluster_token_next(&cluster);
    cluster_token_give(&worker, task_of(9), token);
    assert_false(fits(9, first + 10));
    assert_true(fits(9, token));
    assert_int_equal(worker.tokens.count, ALL);
}

static void no_token_fits_a_task_without_one(void **state)
{
    (void)state;
    rota_task_id other = {JOBS + 1, 1};
    assert_false(cluster_token_fits(&cluster, &worker, other, 0));
    assert_false(cluster_token_take(&cluster, &worker, other, 0));
    assert_false(cluster_token_listed(&cluster, &worker, other, 0));
    assert_false(cluster_token_listed(&cluster, &worker, other, first + 1));
    assert_true(cluster_token_listed(&cluster, &worker, other, first - 1));
    assert_false(cluster_token_listed(&cluster, &worker, other, first - 2));
    cluster_tokens_release(&worker);
    assert_false(cluster_token_take(&cluster, &worker, other, first - 1));
}

static void tokens_of_other_tasks_are_removed(void **state)
{
    (void)state;
    rota_task_id kept[] = {task_of(4), {JOBS + 1, 1}, task_of(80)};
    cluster_tokens_keep(&worker, kept, 3);
    for (uint32_t i = 0; i < ALL; i++)
        assert_int_equal(fits(i, first + i + 1), i == 4 || i == 80);
    cluster_tokens_keep(&worker, NULL, 0);
    assert_false(fits(4, first + 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_token_is_taken_once_and_others_stay, begin, end),
        cmocka_unit_test_setup_teardown(the_last_token_of_a_task_replaces_the_one_before, begin,
                                        end),
        cmocka_unit_test_setup_teardown(no_token_fits_a_task_without_one, begin, end),
        cmocka_unit_test_setup_teardown(tokens_of_other_tasks_are_removed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
