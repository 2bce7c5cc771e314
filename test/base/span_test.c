// span_test.c - runs of numbers: first fit, adjacent runs join, and freeing needs no memory.
#include "allocator.h"
#include "seed.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t take(struct memory memory, struct spans *spans, uint32_t count)
{
    uint32_t first = 0;
    assert_true(span_find(&memory, spans, count, &first));
    span_take(spans, first, count);
    return first;
}

static void spans_follow_each_other_from_1_on(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    assert_int_equal(take(memory, &spans, 5), 1);
    assert_int_equal(take(memory, &spans, 1), 6);
    assert_int_equal(take(memory, &spans, 3), 7);
    assert_int_equal(spans.end, 10);
    assert_int_equal(spans.taken, 3);
    span_release(&memory, &spans);
    assert_int_equal(allocator.bytes, 0);
    assert_int_equal(take(memory, &spans, 2), 1);
    span_release(&memory, &spans);
}

static void finding_a_span_does_not_take_it(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    uint32_t first = 0, again = 0;
    assert_true(span_find(&memory, &spans, 5, &first));
    assert_true(span_find(&memory, &spans, 7, &again));
    assert_int_equal(first, again);
    assert_int_equal(spans.taken, 0);
    span_release(&memory, &spans);
}

static void the_first_hole_that_is_large_enough_is_filled(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    uint32_t small = take(memory, &spans, 2);
    take(memory, &spans, 1);
    uint32_t large = take(memory, &spans, 6);
    take(memory, &spans, 1);
    span_give(&spans, small, 2);
    span_give(&spans, large, 6);
    assert_int_equal(take(memory, &spans, 3), large);
    assert_int_equal(take(memory, &spans, 2), small);
    assert_int_equal(take(memory, &spans, 3), large + 3);
    assert_int_equal(take(memory, &spans, 1), 11);
    assert_int_equal(spans.free_count, 0);
    span_release(&memory, &spans);
}

static void neighbours_join_in_any_order(void **state)
{
    (void)state;
    static const uint32_t orders[6][3]
        = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uint32_t i = 0; i < 6; i++) {
        struct allocator allocator = {0};
        struct memory memory = allocator_memory(&allocator);
        struct spans spans = {0};
        uint32_t first[3];
        for (uint32_t j = 0; j < 3; j++) first[j] = take(memory, &spans, j + 2);
        uint32_t last = take(memory, &spans, 1);
        for (uint32_t j = 0; j < 3; j++) span_give(&spans, first[orders[i][j]], orders[i][j] + 2);
        assert_int_equal(spans.free_count, 1);
        assert_int_equal(spans.free[0].first, 1);
        assert_int_equal(spans.free[0].count, 9);
        span_give(&spans, last, 1);
        assert_int_equal(spans.free_count, 0);
        assert_int_equal(spans.end, 1);
        span_release(&memory, &spans);
    }
}

static void freeing_a_span_needs_no_memory(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    for (uint32_t i = 0; i < 1000; i++) take(memory, &spans, 1);
    allocator_refuse_all(&allocator);
    uint64_t requests = allocator.requests;
    for (uint32_t first = 1; first <= 1000; first += 2) span_give(&spans, first, 1);
    assert_int_equal(spans.free_count, 500);
    for (uint32_t first = 2; first <= 1000; first += 2) span_give(&spans, first, 1);
    assert_int_equal(spans.end, 1);
    assert_int_equal(allocator.requests, requests);
    span_release(&memory, &spans);
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    uint32_t first = 0;
    allocator_refuse_next(&allocator, 0);
    assert_false(span_find(&memory, &spans, 1, &first));
    while (spans.taken + 2 <= spans.free_capacity || !spans.taken) take(memory, &spans, 3);
    struct spans before = spans;
    allocator_refuse_all(&allocator);
    assert_false(span_find(&memory, &spans, 3, &first));
    assert_memory_equal(&spans, &before, sizeof spans);
    span_release(&memory, &spans);
    assert_int_equal(allocator.bytes, 0);
}

static void numbers_end_at_32_bits(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    uint32_t first = 0;
    assert_false(span_find(&memory, &spans, UINT32_MAX, &first));
    uint32_t all = take(memory, &spans, UINT32_MAX - 11);
    uint32_t rest = take(memory, &spans, 10);
    assert_int_equal(all, 1);
    assert_false(span_find(&memory, &spans, 1, &first));
    span_give(&spans, all, UINT32_MAX - 11);
    assert_false(span_find(&memory, &spans, UINT32_MAX - 10, &first));
    assert_int_equal(take(memory, &spans, UINT32_MAX - 11), 1);
    span_give(&spans, rest, 10);
    assert_int_equal(take(memory, &spans, 4), rest);
    span_release(&memory, &spans);
}

// Takes a span in a child process, and tells how that ended.
static int take_in_child(struct spans *spans, uint32_t first, uint32_t count)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stderr);
        span_take(spans, first, count);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void taking_a_used_number_fails_an_assert(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    uint32_t hole = take(memory, &spans, 2);
    take(memory, &spans, 3);
    span_give(&spans, hole, 2);
    assert_true(WIFEXITED(take_in_child(&spans, hole, 2)));
    int no_span = take_in_child(&spans, hole + 3, 1), too_long = take_in_child(&spans, hole, 3);
    assert_true(WIFSIGNALED(no_span) && WTERMSIG(no_span) == SIGABRT);
    assert_true(WIFSIGNALED(too_long) && WTERMSIG(too_long) == SIGABRT);
    span_release(&memory, &spans);
}

// ---- A naive second opinion: one byte for each number ----------------------------------------

enum { NUMBERS = 4000, HOLDERS = 120 };

struct model {
    bool used[NUMBERS];
    struct span held[HOLDERS];
    uint32_t count;
};

static uint32_t model_find(const struct model *model, uint32_t count)
{
    for (uint32_t first = 1;; first++) {
        uint32_t run = 0;
        while (run < count && !model->used[first + run]) run++;
        if (run == count) return first;
    }
}

static void model_set(struct model *model, struct span span, bool used)
{
    for (uint32_t i = 0; i < span.count; i++) model->used[span.first + i] = used;
}

// The free ones are the runs of unused numbers before the last used one, in order.
static void model_compare(const struct model *model, const struct spans *spans)
{
    uint32_t end = NUMBERS, at = 1;
    while (end > 1 && !model->used[end - 1]) end--;
    assert_int_equal(spans->end, end);
    assert_int_equal(spans->taken, model->count);
    for (uint32_t i = 0; i < spans->free_count; i++) {
        while (model->used[at]) at++;
        assert_int_equal(spans->free[i].first, at);
        uint32_t first = at;
        while (at < end && !model->used[at]) at++;
        assert_int_equal(spans->free[i].count, at - first);
    }
    for (; at < end; at++) assert_true(model->used[at]);
}

static void random_spans_agree_with_a_naive_model(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct spans spans = {0};
    static struct model model;
    uint64_t seed = seed_take();
    for (uint32_t round = 0; round < 8000; round++) {
        bool more = random_below(&seed, 100) < (round / 500 % 2 ? 40 : 60);
        if (model.count < HOLDERS && (more || model.count == 0)) {
            uint32_t count = 1 + random_below(&seed, 30), wanted = model_find(&model, count);
            assert_int_equal(take(memory, &spans, count), wanted);
            model.held[model.count++] = (struct span){wanted, count};
            model_set(&model, model.held[model.count - 1], true);
        } else {
            uint32_t at = random_below(&seed, model.count);
            struct span span = model.held[at];
            model.held[at] = model.held[--model.count];
            span_give(&spans, span.first, span.count);
            model_set(&model, span, false);
        }
        model_compare(&model, &spans);
    }
    span_release(&memory, &spans);
    assert_int_equal(allocator.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_follow_each_other_from_1_on),
        cmocka_unit_test(finding_a_span_does_not_take_it),
        cmocka_unit_test(the_first_hole_that_is_large_enough_is_filled),
        cmocka_unit_test(neighbours_join_in_any_order),
        cmocka_unit_test(freeing_a_span_needs_no_memory),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(numbers_end_at_32_bits),
        cmocka_unit_test(taking_a_used_number_fails_an_assert),
        cmocka_unit_test(random_spans_agree_with_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
