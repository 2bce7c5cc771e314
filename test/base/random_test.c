// random_test.c - the same seed gives the same numbers, evenly spread; mixing spreads every bit.
// fixed seed: the generator itself is tested, and its numbers must never change.
#include "allocator.h"

static void a_seed_always_gives_the_same_numbers(void **state)
{
    (void)state;
    uint64_t one = 1, same = 1, other = 2;
    uint32_t differ = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t next = random_next(&one);
        assert_int_equal(random_next(&same), next);
        differ += random_next(&other) != next;
    }
    assert_int_equal(one, same);
    assert_int_equal(differ, 1000);
}

// Stores hold the state of the generator: another formula would change what follows.
static void the_numbers_never_change(void **state)
{
    (void)state;
    uint64_t seed = 1;
    assert_int_equal(random_next(&seed), 0x7fa5bc048e8696a8u);
    assert_int_equal(random_next(&seed), 0x51b777f6f02a0945u);
    assert_int_equal(random_below(&seed, 1000), 549);
    assert_int_equal(hash_mix(1, 2), 0x56f63433e40f3ab7u);
}

static void numbers_do_not_come_twice_soon(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map seen = {0};
    uint64_t seed = 0;
    assert_true(map_reserve(&memory, &seen, 100000));
    for (uint32_t i = 1; i <= 100000; i++) map_put(&seen, random_next(&seed), i);
    assert_int_equal(seen.count, 100000);
    map_release(&memory, &seen);
}

static void numbers_below_a_bound_are_equally_frequent(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t bound = 1; bound <= 20; bound++) {
        uint32_t times[20] = {0};
        for (uint32_t i = 0; i < bound * 10000; i++) {
            uint32_t number = random_below(&seed, bound);
            assert_true(number < bound);
            times[number]++;
        }
        for (uint32_t i = 0; i < bound; i++) assert_in_range(times[i], 9500, 10500);
    }
}

static void large_bounds_are_kept_and_used(void **state)
{
    (void)state;
    static const uint32_t bounds[] = {UINT32_MAX, 1u << 31, 3000000000u};
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint32_t largest = 0;
        for (uint32_t round = 0; round < 10000; round++) {
            uint32_t number = random_below(&seed, bounds[i]);
            assert_true(number < bounds[i]);
            if (number > largest) largest = number;
        }
        assert_true(largest > bounds[i] / 100 * 99);
    }
}

static void mixing_depends_on_every_bit_and_on_the_order(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint32_t flipped = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            uint64_t hash = random_next(&seed), value = random_next(&seed);
            uint64_t mixed = hash_mix(hash, value);
            uint64_t other = hash_mix(hash, value ^ 1ull << bit);
            assert_true(mixed != other);
            assert_true(mixed != hash_mix(value, hash));
            flipped += (uint32_t)__builtin_popcountll(mixed ^ other);
        }
        assert_in_range(flipped, 28000, 36000);  // of 64000; half would be best
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_always_gives_the_same_numbers),
        cmocka_unit_test(the_numbers_never_change),
        cmocka_unit_test(numbers_do_not_come_twice_soon),
        cmocka_unit_test(numbers_below_a_bound_are_equally_frequent),
        cmocka_unit_test(large_bounds_are_kept_and_used),
        cmocka_unit_test(mixing_depends_on_every_bit_and_on_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
