// bits_test.c - a set of numbers that returns its smallest, across words and groups.
#include "allocator.h"
#include "seed.h"

enum { WORD = 64, GROUP = 64 * 64 };

static void numbers_at_the_borders_of_words_and_groups(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    static const uint32_t numbers[]
        = {0, 1, WORD - 1, WORD, GROUP - 1, GROUP, 65535, 65536, 20 * GROUP - 1};
    uint32_t count = sizeof numbers / sizeof *numbers, group = 0, number = 0;
    assert_true(bits_reserve(&memory, &bits, 20 * GROUP));
    for (uint32_t i = count; i-- > 0;) {
        assert_false(bits_has(&bits, numbers[i]));
        bits_set(&bits, numbers[i]);
        bits_set(&bits, numbers[i]);  // twice is once
        assert_true(bits_has(&bits, numbers[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_true(bits_take(&bits, &group, &number));
        assert_int_equal(number, numbers[i]);
        assert_int_equal(group, number / GROUP);
        assert_false(bits_has(&bits, number));
    }
    assert_false(bits_take(&bits, &group, &number));
    bits_release(&memory, &bits);
    assert_int_equal(allocator.bytes, 0);
}

static void an_empty_set_has_nothing_to_give(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    uint32_t group = 0, number = 7;
    assert_false(bits_take(&bits, &group, &number));
    bits_clear(&bits, 0);
    bits_clear(&bits, UINT32_MAX);
    assert_true(bits_reserve(&memory, &bits, 0));
    assert_false(bits_take(&bits, &group, &number));
    assert_int_equal(number, 7);
    bits_release(&memory, &bits);
    assert_int_equal(allocator.bytes, 0);
}

static void cleared_numbers_are_not_returned(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    uint32_t group = 0, number = 0;
    assert_true(bits_reserve(&memory, &bits, 3 * GROUP));
    bits_set(&bits, 5);
    bits_set(&bits, 6);
    bits_set(&bits, 2 * GROUP);
    bits_clear(&bits, 5);
    bits_clear(&bits, 7);          // was not there
    bits_clear(&bits, 2 * GROUP);  // the last of its word
    assert_true(bits_has(&bits, 6));
    assert_true(bits_take(&bits, &group, &number));
    assert_int_equal(number, 6);
    assert_false(bits_take(&bits, &group, &number));
    bits_release(&memory, &bits);
}

static void the_cached_group_skips_earlier_groups(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    uint32_t group = 1, number = 0;
    assert_true(bits_reserve(&memory, &bits, 2 * GROUP));
    bits_set(&bits, 3);
    bits_set(&bits, GROUP + 3);
    assert_true(bits_take(&bits, &group, &number));
    assert_int_equal(number, GROUP + 3);
    assert_false(bits_take(&bits, &group, &number));
    group = 0;
    assert_true(bits_take(&bits, &group, &number));
    assert_int_equal(number, 3);
    bits_release(&memory, &bits);
}

static void growth_keeps_all_numbers_and_adds_none(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    uint32_t group = 0, number = 0, given = 0;
    for (uint32_t size = 1; size < 1000000; size = size * 2 + 1) {
        assert_true(bits_reserve(&memory, &bits, size));
        bits_set(&bits, size - 1);
    }
    for (uint32_t size = 1; size < 1000000; size = size * 2 + 1, given++) {
        assert_true(bits_take(&bits, &group, &number));
        assert_int_equal(number, size - 1);
    }
    assert_int_equal(given, 19);
    assert_false(bits_take(&bits, &group, &number));
    bits_release(&memory, &bits);
    assert_int_equal(allocator.bytes, 0);
}

// There are two tables to grow; if either is refused, the set stays as it was.
static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t skipped = 0; skipped < 2; skipped++) {
        struct allocator allocator = {0};
        struct memory memory = allocator_memory(&allocator);
        struct bits bits = {0};
        uint32_t group = 0, number = 0, far = 500 * GROUP;
        allocator_refuse_next(&allocator, skipped);
        assert_false(bits_reserve(&memory, &bits, 100));
        bits_clear(&bits, 50);
        assert_false(bits_take(&bits, &group, &number));
        assert_true(bits_reserve(&memory, &bits, 100));
        bits_set(&bits, 50);
        allocator_refuse_next(&allocator, skipped);
        assert_false(bits_reserve(&memory, &bits, far + 1));
        bits_clear(&bits, far);
        assert_true(bits_has(&bits, 50));
        assert_true(bits_reserve(&memory, &bits, far + 1));
        bits_set(&bits, far);
        group = 0;
        assert_true(bits_take(&bits, &group, &number));
        assert_int_equal(number, 50);
        assert_true(bits_take(&bits, &group, &number));
        assert_int_equal(number, far);
        assert_false(bits_take(&bits, &group, &number));
        bits_release(&memory, &bits);
        assert_int_equal(allocator.bytes, 0);
    }
}

// ---- A naive second opinion: one byte for each number ----------------------------------------

enum { NUMBERS = 3 * GROUP };

static bool model_take(bool *model, uint32_t *number)
{
    for (*number = 0; *number < NUMBERS; ++*number)
        if (model[*number]) return !(model[*number] = false);
    return false;
}

static void random_sets_agree_with_a_naive_model(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct bits bits = {0};
    static bool model[NUMBERS];
    uint64_t seed = seed_take();
    assert_true(bits_reserve(&memory, &bits, NUMBERS));
    for (uint32_t round = 0; round < 30000; round++) {
        uint32_t number = random_below(&seed, NUMBERS), wanted = 0, group = 0;
        uint32_t choice = random_below(&seed, 8);
        if (choice < 3) {
            bits_set(&bits, number);
            model[number] = true;
        } else if (choice < 5) {
            bits_clear(&bits, number);
            model[number] = false;
        } else if (choice < 7) {
            assert_int_equal(bits_has(&bits, number), model[number]);
        } else {
            bool there = model_take(model, &wanted);
            assert_int_equal(bits_take(&bits, &group, &number), there);
            if (there) assert_int_equal(number, wanted);
        }
    }
    for (uint32_t i = 0; i < NUMBERS; i++) assert_int_equal(bits_has(&bits, i), model[i]);
    bits_release(&memory, &bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_at_the_borders_of_words_and_groups),
        cmocka_unit_test(an_empty_set_has_nothing_to_give),
        cmocka_unit_test(cleared_numbers_are_not_returned),
        cmocka_unit_test(the_cached_group_skips_earlier_groups),
        cmocka_unit_test(growth_keeps_all_numbers_and_adds_none),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(random_sets_agree_with_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
