// heap.c - a binary heap ordered by due time that tracks the position of each entry.
#include "base/base.h"

#include <assert.h>

bool heap_reserve(const struct memory *memory, struct heap *heap, uint32_t places)
{
    if (!ARRAY_RESERVE(memory, heap->places, heap->place_capacity, places)) return false;
    return ARRAY_RESERVE(memory, heap->entries, heap->capacity, places);
}

static bool goes_first(const struct heap *heap, struct heap_entry a, struct heap_entry b)
{
    (void)heap;
    return a.due != b.due ? a.due < b.due : a.tag < b.tag;
}

static void put(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    heap->entries[place] = entry;
    heap->places[(uint32_t)entry.tag] = place + 1;
}

static void sift(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    HEAP_UP(heap, heap->entries, place, entry, goes_first, put)
    HEAP_DOWN(heap, heap->entries, heap->count, place, entry, goes_first, put)
    put(heap, place, entry);
}

void heap_set(struct heap *heap, uint32_t number, int64_t due)
{
    assert(number < heap->place_capacity);
    uint32_t place = heap->places[number];
    if (!place) place = ++heap->count;
    assert(heap->count <= heap->capacity);
    sift(heap, place - 1, (struct heap_entry){due, number});
}

void heap_remove(struct heap *heap, uint32_t number)
{
    if (number >= heap->place_capacity || !heap->places[number]) return;
    uint32_t place = heap->places[number] - 1;
    heap->places[number] = 0;
    struct heap_entry last = heap->entries[--heap->count];
    if (place < heap->count) sift(heap, place, last);
}

int64_t heap_due(const struct heap *heap, uint32_t number)
{
    if (number >= heap->place_capacity || !heap->places[number]) return INT64_MAX;
    return heap->entries[heap->places[number] - 1].due;
}

void heap_release(const struct memory *memory, struct heap *heap)
{
    ARRAY_RELEASE(memory, heap->entries, heap->capacity);
    ARRAY_RELEASE(memory, heap->places, heap->place_capacity);
    *heap = (struct heap){0};
}
