// memory_test.c - tables grow when needed, and a refused allocation does not change them.
#include "allocator.h"

struct table {
    void *items;
    uint32_t capacity;
};

static bool reserve(struct memory memory, struct table *table, uint64_t need)
{
    return memory_reserve(&memory, &table->items, &table->capacity, need, sizeof(uint64_t));
}

static void release(struct memory memory, struct table *table)
{
    memory_release(&memory, &table->items, &table->capacity, sizeof(uint64_t));
    assert_null(table->items);
    assert_int_equal(table->capacity, 0);
}

static void new_items_are_zero_and_old_ones_stay(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    uint32_t written = 0;
    for (uint64_t need = 1; need < 100000; need = need * 3 + 1) {
        assert_true(reserve(memory, &table, need));
        assert_true(table.capacity >= need);
        uint64_t *items = table.items;
        for (uint32_t i = 0; i < written; i++) assert_int_equal(items[i], i + 1);
        for (uint32_t i = written; i < table.capacity; i++) assert_int_equal(items[i], 0);
        for (; written < table.capacity; written++) items[written] = written + 1;
    }
    release(memory, &table);
    assert_int_equal(allocator.bytes, 0);
}

static void raw_items_stay_too(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    assert_true(memory_reserve_raw(&memory, &table.items, &table.capacity, 3, sizeof(uint64_t)));
    for (uint32_t i = 0; i < 3; i++) ((uint64_t *)table.items)[i] = i + 7;
    assert_true(memory_reserve_raw(&memory, &table.items, &table.capacity, 999, sizeof(uint64_t)));
    assert_true(table.capacity >= 999);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(((uint64_t *)table.items)[i], i + 7);
    release(memory, &table);
    assert_int_equal(allocator.bytes, 0);
}

static void no_allocation_while_there_is_room(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    assert_true(reserve(memory, &table, 0));
    assert_int_equal(allocator.requests, 0);
    assert_true(reserve(memory, &table, 1));
    assert_int_equal(allocator.requests, 1);
    assert_true(reserve(memory, &table, table.capacity));
    assert_int_equal(allocator.requests, 1);
    assert_true(reserve(memory, &table, (uint64_t)table.capacity + 1));
    assert_int_equal(allocator.requests, 2);
    release(memory, &table);
}

static void growing_one_by_one_allocates_rarely(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    for (uint64_t need = 1; need <= 1000000; need++) assert_true(reserve(memory, &table, need));
    assert_in_range(allocator.requests, 2, 40);
    assert_in_range(table.capacity, 1000000, 1250000);
    release(memory, &table);
}

static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    allocator_refuse_next(&allocator, 0);
    assert_false(reserve(memory, &table, 1));
    assert_null(table.items);
    assert_int_equal(table.capacity, 0);
    assert_true(reserve(memory, &table, 1));
    struct table before = table;
    *(uint64_t *)table.items = 42;
    allocator_refuse_all(&allocator);
    assert_false(reserve(memory, &table, 1000));
    assert_ptr_equal(table.items, before.items);
    assert_int_equal(table.capacity, before.capacity);
    assert_int_equal(*(uint64_t *)table.items, 42);
    release(memory, &table);
    assert_int_equal(allocator.bytes, 0);
}

static void sizes_that_overflow_are_refused_without_an_allocation(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    struct memory_block block = {0};
    const uint64_t too_many[] = {1ull << 32, 1ull << 33, UINT64_MAX};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        assert_false(memory_reserve(&memory, &table.items, &table.capacity, too_many[i], 1));
        assert_false(memory_reserve_lines(&memory, &block, too_many[i], 1));
    }
    size_t largest = SIZE_MAX / 16;  // 16 of them fit, but not with a line
    assert_false(memory_reserve_raw(&memory, &table.items, &table.capacity, 16, largest + 2));
    assert_false(memory_reserve_lines(&memory, &block, 16, largest + 2));
    assert_false(memory_reserve_lines(&memory, &block, 16, largest));
    assert_int_equal(allocator.requests, 0);
    assert_null(table.items);
    assert_null(block.items);
}

// Pretends to allocate: the caller writes only within the block.
static void *pretend(void *context, void *old, size_t old_size, size_t new_size)
{
    (void)old;
    (void)old_size;
    *(size_t *)context = new_size;
    return context;
}

static void near_32_bits_only_the_needed_size_is_allocated(void **state)
{
    (void)state;
    size_t asked = 0;
    struct memory memory = {pretend, &asked};
    struct table table = {NULL, 4000000000u};
    assert_true(memory_reserve_raw(&memory, &table.items, &table.capacity, 4000000001u, 2));
    assert_int_equal(table.capacity, 4000000001u);
    assert_int_equal(asked, 8000000002u);
    assert_true(memory_reserve_raw(&memory, &table.items, &table.capacity, UINT32_MAX, 2));
    assert_int_equal(table.capacity, UINT32_MAX);
    assert_false(memory_reserve_raw(&memory, &table.items, &table.capacity, 1ull << 32, 2));
}

enum { LINE = 64 };

static void blocks_of_lines_start_at_one_wherever_they_move(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct memory_block block = {0};
    uint32_t written = 0;
    for (uint64_t need = 1; need < 3000; need = need * 2 + 1) {
        assert_true(memory_reserve_lines(&memory, &block, need, LINE));
        assert_true(block.capacity >= need);
        assert_int_equal((uintptr_t)block.items % LINE, 0);
        for (uint32_t i = 0; i < written; i++)
            assert_int_equal(((unsigned char *)block.items)[i * LINE + i % LINE], i % 251);
        for (; written < block.capacity; written++)
            memset((char *)block.items + written * LINE, (int)(written % 251), LINE);
    }
    assert_true(allocator.requests > 4);
    struct memory_block before = block;
    allocator_refuse_all(&allocator);
    assert_true(memory_reserve_lines(&memory, &block, block.capacity, LINE));
    assert_false(memory_reserve_lines(&memory, &block, (uint64_t)block.capacity + 1, LINE));
    assert_memory_equal(&block, &before, sizeof block);
    memory_release_lines(&memory, &block);
    assert_null(block.items);
    assert_int_equal(block.capacity, 0);
    assert_int_equal(allocator.bytes, 0);
}

static void releasing_nothing_is_fine(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct table table = {0};
    struct memory_block block = {0};
    release(memory, &table);
    memory_release_lines(&memory, &block);
    assert_int_equal(allocator.requests, 0);
}

static void the_heap_grows_and_shrinks(void **state)
{
    (void)state;
    char *block = memory_resize_heap(NULL, NULL, 0, 4);
    assert_non_null(block);
    memcpy(block, "abc", 4);
    block = memory_resize_heap(NULL, block, 4, 100000);
    assert_non_null(block);
    assert_string_equal(block, "abc");
    assert_null(memory_resize_heap(NULL, block, 100000, 0));
}

static void arrays_of_any_type_grow_and_keep_their_items(void **state)
{
    (void)state;
    struct point {
        double x, y;
    } *points = NULL;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    uint32_t count = 0, capacity = 0;
    for (; count < 1000; count++) {
        assert_true(ARRAY_MORE(&memory, points, count, capacity));
        assert_true(points[count].x == 0 && points[count].y == 0);
        points[count] = (struct point){count, 2.0 * count};
    }
    assert_true(ARRAY_RESERVE_RAW(&memory, points, capacity, 5000));
    for (uint32_t i = 0; i < count; i++) assert_true(points[i].x == i && points[i].y == 2.0 * i);
    ARRAY_RELEASE(&memory, points, capacity);
    assert_null(points);
    assert_int_equal(capacity, 0);
    assert_int_equal(allocator.bytes, 0);
}

static void an_array_without_memory_is_unchanged(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    char *text = NULL;
    uint32_t capacity = 0;
    assert_true(ARRAY_RESERVE(&memory, text, capacity, 16));
    char *before = text;
    assert_false(ARRAY_MORE(&memory, text, UINT32_MAX, capacity));
    assert_ptr_equal(text, before);
    assert_true(capacity >= 16);
    ARRAY_RELEASE(&memory, text, capacity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_items_are_zero_and_old_ones_stay),
        cmocka_unit_test(raw_items_stay_too),
        cmocka_unit_test(no_allocation_while_there_is_room),
        cmocka_unit_test(growing_one_by_one_allocates_rarely),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(sizes_that_overflow_are_refused_without_an_allocation),
        cmocka_unit_test(near_32_bits_only_the_needed_size_is_allocated),
        cmocka_unit_test(blocks_of_lines_start_at_one_wherever_they_move),
        cmocka_unit_test(releasing_nothing_is_fine),
        cmocka_unit_test(the_heap_grows_and_shrinks),
        cmocka_unit_test(arrays_of_any_type_grow_and_keep_their_items),
        cmocka_unit_test(an_array_without_memory_is_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
