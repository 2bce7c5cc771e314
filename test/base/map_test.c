// map_test.c - the map finds the number of each key, through growth, collisions and removal.
#include "allocator.h"
#include "seed.h"

static void put(struct memory memory, struct map *map, uint64_t key, uint32_t value)
{
    assert_true(map_reserve(&memory, map, 1));
    map_put(map, key, value);
}

static void an_empty_map_finds_nothing(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    assert_int_equal(map_find(&map, 0), 0);
    map_remove(&map, 0);
    assert_true(map_reserve(&memory, &map, 0));
    assert_int_equal(map_find(&map, 0), 0);
    map_release(&memory, &map);
    assert_int_equal(allocator.bytes, 0);
}

static void keys_may_have_any_value(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    static const uint64_t keys[] = {0, 1, UINT64_MAX, 1ull << 63, 1ull << 32, UINT32_MAX};
    uint32_t count = sizeof keys / sizeof *keys;
    for (uint32_t i = 0; i < count; i++) put(memory, &map, keys[i], UINT32_MAX - i);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(map_find(&map, keys[i]), UINT32_MAX - i);
    assert_int_equal(map.count, count);
    assert_int_equal(map_find(&map, 2), 0);
    for (uint32_t i = 0; i < count; i++) {
        map_remove(&map, keys[i]);
        assert_int_equal(map_find(&map, keys[i]), 0);
    }
    assert_int_equal(map.count, 0);
    map_release(&memory, &map);
    assert_int_equal(allocator.bytes, 0);
}

static void a_key_has_the_number_it_got_last(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    put(memory, &map, 7, 1);
    put(memory, &map, 7, 2);
    assert_int_equal(map_find(&map, 7), 2);
    assert_int_equal(map.count, 1);
    map_remove(&map, 7);
    map_remove(&map, 7);
    assert_int_equal(map_find(&map, 7), 0);
    assert_int_equal(map.count, 0);
    map_release(&memory, &map);
}

static void growth_keeps_every_key(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    for (uint32_t i = 1; i <= 20000; i++) put(memory, &map, (uint64_t)i << 20, i);
    assert_int_equal(map.count, 20000);
    assert_int_equal(map.capacity & (map.capacity - 1), 0);
    for (uint32_t i = 1; i <= 20000; i++) {
        assert_int_equal(map_find(&map, (uint64_t)i << 20), i);
        assert_int_equal(map_find(&map, ((uint64_t)i << 20) + 1), 0);
    }
    map_release(&memory, &map);
    assert_int_equal(allocator.bytes, 0);
}

static void reserved_room_is_there(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    for (uint32_t more = 1; more < 200; more++) {
        struct map map = {0};
        assert_true(map_reserve(&memory, &map, more));
        uint64_t requests = allocator.requests;
        for (uint32_t i = 0; i < more; i++) map_put(&map, i, i + 1);
        assert_true(map.count < map.capacity);  // or the search for a missing key never ends
        assert_int_equal(map_find(&map, more), 0);
        assert_true(map_reserve(&memory, &map, 0));
        assert_int_equal(allocator.requests, requests);
        map_release(&memory, &map);
    }
    assert_int_equal(allocator.bytes, 0);
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    allocator_refuse_next(&allocator, 0);
    assert_false(map_reserve(&memory, &map, 1));
    assert_int_equal(map_find(&map, 1), 0);
    for (uint32_t i = 1; i <= 10; i++) put(memory, &map, i, i);
    struct map before = map;
    allocator_refuse_all(&allocator);
    assert_false(map_reserve(&memory, &map, 1000));
    assert_memory_equal(&map, &before, sizeof map);
    for (uint32_t i = 1; i <= 10; i++) assert_int_equal(map_find(&map, i), i);
    map_release(&memory, &map);
    assert_int_equal(allocator.bytes, 0);
}

static void more_than_32_bits_of_slots_are_refused_without_an_allocation(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct map map = {0};
    put(memory, &map, 1, 1);
    uint64_t requests = allocator.requests;
    assert_false(map_reserve(&memory, &map, UINT32_MAX));
    assert_false(map_reserve(&memory, &map, 3u << 30));
    assert_int_equal(allocator.requests, requests);
    assert_false(map_reserve(&memory, &map, 1u << 30));  // fits in 32 bits, not in a gigabyte
    assert_int_equal(allocator.requests, requests + 1);
    assert_int_equal(map_find(&map, 1), 1);
    map_release(&memory, &map);
}

// ---- A naive second opinion: an array by key ----------------------------------------------------

enum { KEYS = 24 };

// So few slots that most keys collide with others, also across the end of the table.
static void random_keys_agree_with_a_naive_model(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    uint64_t first = seed_take();
    for (uint64_t trial = 0; trial < 300; trial++) {
        struct map map = {0};
        uint32_t model[KEYS] = {0}, count = 0;
        uint64_t seed = first + trial;
        for (uint32_t round = 0; round < 200; round++) {
            uint32_t key = random_below(&seed, KEYS), most = trial % 2 ? 9 : KEYS;
            uint64_t name = hash_mix(trial, key);
            if (random_below(&seed, 2) && (count < most || model[key])) {
                count += !model[key];
                model[key] = 1 + random_below(&seed, 1000);
                put(memory, &map, name, model[key]);
            } else {
                count -= model[key] != 0;
                model[key] = 0;
                map_remove(&map, name);
            }
            assert_int_equal(map.count, count);
            for (uint32_t i = 0; i < KEYS; i++)
                assert_int_equal(map_find(&map, hash_mix(trial, i)), model[i]);
        }
        if (trial % 2) assert_int_equal(map.capacity, 16);
        map_release(&memory, &map);
    }
    assert_int_equal(allocator.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_nothing),
        cmocka_unit_test(keys_may_have_any_value),
        cmocka_unit_test(a_key_has_the_number_it_got_last),
        cmocka_unit_test(growth_keeps_every_key),
        cmocka_unit_test(reserved_room_is_there),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(more_than_32_bits_of_slots_are_refused_without_an_allocation),
        cmocka_unit_test(random_keys_agree_with_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
