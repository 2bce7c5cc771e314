// pool_test.c - items are numbered from 1, zeroed when taken, and reused when freed.
#include "allocator.h"
#include "seed.h"

struct item {
    uint32_t link, number;
    uint64_t word;
};

static struct item *item(const struct pool *pool, uint32_t number)
{
    return &((struct item *)pool->items)[number];
}

static void item_is_zero(const struct pool *pool, uint32_t number)
{
    static const struct item zero;
    assert_memory_equal(item(pool, number), &zero, sizeof zero);
}

static void numbers_count_from_1(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct pool pool = {.size = sizeof(struct item)};
    assert_int_equal(pool_used(&pool), 0);
    for (uint32_t number = 1; number <= 100; number++) {
        assert_true(pool_reserve(&memory, &pool, 1));
        assert_int_equal(pool_take(&pool), number);
        assert_int_equal(pool_used(&pool), number);
        item_is_zero(&pool, number);
        memset(item(&pool, number), 0xff, sizeof(struct item));
    }
    pool_release(&memory, &pool);
    assert_int_equal(allocator.bytes, 0);
    assert_int_equal(pool_used(&pool), 0);
}

static void freed_items_are_reused_and_zeroed(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct pool pool = {.size = sizeof(struct item)};
    assert_true(pool_reserve(&memory, &pool, 3));
    for (uint32_t number = 1; number <= 3; number++) {
        assert_int_equal(pool_take(&pool), number);
        memset(item(&pool, number), 0xff, sizeof(struct item));
    }
    pool_give(&pool, 2);
    assert_int_equal(pool_used(&pool), 2);
    assert_int_equal(pool_take(&pool), 2);
    item_is_zero(&pool, 2);
    assert_int_equal(item(&pool, 1)->word, UINT64_MAX);
    assert_int_equal(item(&pool, 3)->word, UINT64_MAX);
    pool_release(&memory, &pool);
}

static void reserved_room_is_there(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    for (uint32_t more = 1; more < 100; more++) {
        struct pool pool = {.size = sizeof(struct item)};
        assert_true(pool_reserve(&memory, &pool, more));
        assert_true(pool.capacity > more);
        for (uint32_t i = 1; i <= more; i++) assert_int_equal(pool_take(&pool), i);
        pool_release(&memory, &pool);
    }
    assert_int_equal(allocator.bytes, 0);
}

static void free_items_count_as_room(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct pool pool = {.size = sizeof(struct item)};
    assert_true(pool_reserve(&memory, &pool, 200));
    uint32_t room = pool.capacity - 1;  // 0 means none
    for (uint32_t i = 0; i < room - 10; i++) pool_take(&pool);
    for (uint32_t number = 1; number <= 50; number++) pool_give(&pool, number);
    allocator_refuse_all(&allocator);
    assert_true(pool_reserve(&memory, &pool, 50));
    assert_true(pool_reserve(&memory, &pool, 60));
    assert_false(pool_reserve(&memory, &pool, 61));
    assert_int_equal(pool_used(&pool), room - 60);
    for (uint32_t i = 0; i < 50; i++) assert_in_range(pool_take(&pool), 1, 50);
    for (uint32_t i = 0; i < 10; i++) assert_int_equal(pool_take(&pool), room - 9 + i);
    assert_int_equal(pool_used(&pool), room);
    pool_release(&memory, &pool);
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct pool pool = {.size = sizeof(struct item)};
    allocator_refuse_next(&allocator, 0);
    assert_false(pool_reserve(&memory, &pool, 1));
    assert_int_equal(pool_used(&pool), 0);
    assert_true(pool_reserve(&memory, &pool, 1));
    uint32_t number = pool_take(&pool);
    item(&pool, number)->word = 42;
    struct pool before = pool;
    allocator_refuse_all(&allocator);
    assert_false(pool_reserve(&memory, &pool, 1000));
    assert_false(pool_reserve(&memory, &pool, UINT32_MAX));
    assert_memory_equal(&pool, &before, sizeof pool);
    assert_int_equal(item(&pool, number)->word, 42);
    pool_release(&memory, &pool);
    assert_int_equal(allocator.bytes, 0);
}

// Numbers are unique, and taking or giving back an item does not change the others.
static void random_items_are_never_given_out_twice(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct pool pool = {.size = sizeof(struct item)};
    static uint32_t held[500];
    uint32_t count = 0;
    uint64_t seed = seed_take();
    for (uint32_t round = 0; round < 20000; round++) {
        if (count < 500 && (count == 0 || random_below(&seed, 100) < 52)) {
            assert_true(pool_reserve(&memory, &pool, 1));
            uint32_t number = pool_take(&pool);
            item_is_zero(&pool, number);
            *item(&pool, number) = (struct item){~number, number, ~(uint64_t)number};
            held[count++] = number;
        } else {
            uint32_t at = random_below(&seed, count), number = held[at];
            assert_int_equal(item(&pool, number)->link, ~number);
            assert_int_equal(item(&pool, number)->number, number);
            pool_give(&pool, number);
            held[at] = held[--count];
        }
        assert_int_equal(pool_used(&pool), count);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(item(&pool, held[i])->number, held[i]);
        assert_in_range(held[i], 1, 500);
    }
    pool_release(&memory, &pool);
    assert_int_equal(allocator.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_count_from_1),
        cmocka_unit_test(freed_items_are_reused_and_zeroed),
        cmocka_unit_test(reserved_room_is_there),
        cmocka_unit_test(free_items_count_as_room),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(random_items_are_never_given_out_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
