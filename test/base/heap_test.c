// heap_test.c - the heap returns the earliest entry, equal ones by number; entries may be moved.
#include "allocator.h"
#include "seed.h"

static uint32_t first(const struct heap *heap)
{
    assert_true(heap->count > 0);
    return (uint32_t)heap->entries[0].tag;
}

static void an_empty_heap_has_nothing_due(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    assert_int_equal(heap_due(&heap, 0), INT64_MAX);
    heap_remove(&heap, 0);
    heap_remove(&heap, UINT32_MAX);
    assert_true(heap_reserve(&memory, &heap, 0));
    assert_int_equal(heap.count, 0);
    heap_release(&memory, &heap);
    assert_int_equal(allocator.bytes, 0);
}

static void entries_come_by_time_and_equals_by_number(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    static const struct {
        uint32_t number;
        int64_t due;
    } in[] = {{9, 5}, {2, 5}, {7, INT64_MIN}, {0, INT64_MAX}, {4, 5}, {3, -1}, {8, 0}};
    static const uint32_t out[] = {7, 3, 8, 2, 4, 9, 0};
    uint32_t count = sizeof out / sizeof *out;
    assert_true(heap_reserve(&memory, &heap, 10));
    for (uint32_t i = 0; i < count; i++) heap_set(&heap, in[i].number, in[i].due);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(heap_due(&heap, in[i].number), in[i].due);
    assert_int_equal(heap_due(&heap, 1), INT64_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(first(&heap), out[i]);
        heap_remove(&heap, out[i]);
        assert_int_equal(heap_due(&heap, out[i]), INT64_MAX);
        assert_int_equal(heap.count, count - i - 1);
    }
    heap_release(&memory, &heap);
    assert_int_equal(allocator.bytes, 0);
}

static void setting_again_moves_an_entry(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    assert_true(heap_reserve(&memory, &heap, 100));
    for (uint32_t number = 0; number < 100; number++) heap_set(&heap, number, 100 + number);
    heap_set(&heap, 99, 1);
    assert_int_equal(first(&heap), 99);
    heap_set(&heap, 99, 1000);
    assert_int_equal(first(&heap), 0);
    heap_set(&heap, 0, 100);  // as it was
    assert_int_equal(first(&heap), 0);
    heap_set(&heap, 0, 2000);
    assert_int_equal(first(&heap), 1);
    assert_int_equal(heap.count, 100);
    assert_int_equal(heap_due(&heap, 99), 1000);
    heap_release(&memory, &heap);
}

static void growth_keeps_every_entry(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    for (uint32_t number = 0; number < 5000; number++) {
        assert_true(heap_reserve(&memory, &heap, number + 1));
        heap_set(&heap, number, -(int64_t)number);
        assert_int_equal(first(&heap), number);
    }
    for (uint32_t number = 5000; number-- > 0;) {
        assert_int_equal(first(&heap), number);
        heap_remove(&heap, number);
    }
    heap_release(&memory, &heap);
    assert_int_equal(allocator.bytes, 0);
}

// There are two tables to grow; if either is refused, the heap stays as it was.
static void a_refusal_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t skipped = 0; skipped < 2; skipped++) {
        struct allocator allocator = {0};
        struct memory memory = allocator_memory(&allocator);
        struct heap heap = {0};
        allocator_refuse_next(&allocator, skipped);
        assert_false(heap_reserve(&memory, &heap, 1));
        assert_int_equal(heap_due(&heap, 0), INT64_MAX);
        heap_remove(&heap, 0);
        assert_true(heap_reserve(&memory, &heap, 3));
        for (uint32_t number = 0; number < 3; number++) heap_set(&heap, number, 10 - number);
        allocator_refuse_next(&allocator, skipped);
        assert_false(heap_reserve(&memory, &heap, 1000));
        assert_int_equal(heap_due(&heap, 999), INT64_MAX);
        heap_remove(&heap, 999);
        assert_int_equal(heap.count, 3);
        assert_int_equal(first(&heap), 2);
        assert_true(heap_reserve(&memory, &heap, 1000));
        heap_set(&heap, 999, 0);
        assert_int_equal(first(&heap), 999);
        assert_int_equal(heap_due(&heap, 1), 9);
        heap_release(&memory, &heap);
        assert_int_equal(allocator.bytes, 0);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    assert_true(heap_reserve(&memory, &heap, 1));
    heap_set(&heap, 0, 5);
    assert_false(heap_reserve(&memory, &heap, UINT32_MAX));  // more than a gigabyte
    assert_int_equal(first(&heap), 0);
    heap_release(&memory, &heap);
    assert_int_equal(allocator.bytes, 0);
}

// ---- A naive second opinion: an array by number -------------------------------------------------

enum { NUMBERS = 60 };

struct model {
    bool there[NUMBERS];
    int64_t due[NUMBERS];
};

static void model_compare(const struct model *model, const struct heap *heap)
{
    uint32_t best = NUMBERS, count = 0;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(heap_due(heap, i), model->there[i] ? model->due[i] : INT64_MAX);
        if (!model->there[i]) continue;
        count++;
        if (best == NUMBERS || model->due[i] < model->due[best]) best = i;
    }
    assert_int_equal(heap->count, count);
    if (count) assert_int_equal(first(heap), best);
}

static void random_entries_agree_with_a_naive_model(void **state)
{
    (void)state;
    struct allocator allocator = {0};
    struct memory memory = allocator_memory(&allocator);
    struct heap heap = {0};
    static struct model model;
    uint64_t seed = seed_take();
    assert_true(heap_reserve(&memory, &heap, NUMBERS));
    for (uint32_t round = 0; round < 30000; round++) {
        uint32_t number = random_below(&seed, NUMBERS);
        uint32_t choice = random_below(&seed, 10), sets = round / 1000 % 2 ? 4 : 7;
        if (choice < sets) {
            int64_t due = (int64_t)random_below(&seed, 40) - 20;  // many are equal
            heap_set(&heap, number, due);
            model.there[number] = true;
            model.due[number] = due;
        } else {
            if (choice == 9 && heap.count) number = first(&heap);
            heap_remove(&heap, number);
            model.there[number] = false;
        }
        model_compare(&model, &heap);
    }
    heap_release(&memory, &heap);
    assert_int_equal(allocator.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_has_nothing_due),
        cmocka_unit_test(entries_come_by_time_and_equals_by_number),
        cmocka_unit_test(setting_again_moves_an_entry),
        cmocka_unit_test(growth_keeps_every_entry),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(random_entries_agree_with_a_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
