// heap.c - a binary heap of what is due first, which tells each entry its place.
#include "base/base.h"

#include <assert.h>

bool heap_reserve(const struct memory *memory, struct heap *heap, uint32_t places)
{
    void *entries = heap->entries, *table = heap->places;
    bool there
        = memory_reserve(memory, &table, &heap->place_capacity, places, sizeof *heap->places);
    heap->places = table;
    if (!there) return false;
    there = memory_reserve(memory, &entries, &heap->capacity, places, sizeof *heap->entries);
    heap->entries = entries;
    return there;
}

static bool before(struct heap_entry a, struct heap_entry b)
{
    return a.due != b.due ? a.due < b.due : a.tag < b.tag;
}

static void put(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    heap->entries[place] = entry;
    heap->places[(uint32_t)entry.tag] = place + 1;
}

static void sift(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    while (place > 0 && before(entry, heap->entries[(place - 1) / 2])) {
        put(heap, place, heap->entries[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        uint32_t child = place * 2 + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && before(heap->entries[child + 1], heap->entries[child]))
            child++;
        if (!before(heap->entries[child], entry)) break;
        put(heap, place, heap->entries[child]);
        place = child;
    }
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
    void *entries = heap->entries, *places = heap->places;
    memory_release(memory, &entries, &heap->capacity, sizeof *heap->entries);
    memory_release(memory, &places, &heap->place_capacity, sizeof *heap->places);
    *heap = (struct heap){0};
}
