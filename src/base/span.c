// span.c - allocates ranges of consecutive numbers by first fit, and merges freed neighbours.
#include "base/base.h"

#include <assert.h>
#include <string.h>

bool span_find(const struct memory *memory, struct spans *spans, uint32_t count, uint32_t *first)
{
    // Freeing all spans, including this one, must never need memory.
    if (!ARRAY_RESERVE(memory, spans->free, spans->free_capacity, (uint64_t)spans->taken + 2))
        return false;
    if (spans->end == 0) spans->end = 1;  // 0 means none
    for (uint32_t i = 0; i < spans->free_count; i++) {
        *first = spans->free[i].first;
        if (spans->free[i].count >= count) return true;
    }
    *first = spans->end;
    return count <= UINT32_MAX - spans->end;
}

void span_take(struct spans *spans, uint32_t first, uint32_t count)
{
    spans->taken++;
    if (first == spans->end) {
        spans->end += count;
        return;
    }
    uint32_t i = 0;
    while (i < spans->free_count && spans->free[i].first != first) i++;
    assert(i < spans->free_count);
    assert(count <= spans->free[i].count);
    spans->free[i].first += count;
    spans->free[i].count -= count;
    if (spans->free[i].count > 0) return;
    spans->free_count--;
    memmove(&spans->free[i], &spans->free[i + 1], (spans->free_count - i) * sizeof *spans->free);
}

// The index of the first free span after `first`.
static uint32_t place_after(const struct spans *spans, uint32_t first)
{
    uint32_t low = 0, high = spans->free_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans->free[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void join_next(struct spans *spans, uint32_t i)
{
    if (i + 1 >= spans->free_count) return;
    if (spans->free[i].first + spans->free[i].count != spans->free[i + 1].first) return;
    spans->free[i].count += spans->free[i + 1].count;
    spans->free_count--;
    memmove(&spans->free[i + 1], &spans->free[i + 2],
            (spans->free_count - i - 1) * sizeof *spans->free);
}

void span_give(struct spans *spans, uint32_t first, uint32_t count)
{
    assert(spans->taken > 0);
    spans->taken--;
    uint32_t i = place_after(spans, first);
    assert(spans->free_count < spans->free_capacity);
    memmove(&spans->free[i + 1], &spans->free[i], (spans->free_count - i) * sizeof *spans->free);
    spans->free[i] = (struct span){first, count};
    spans->free_count++;
    join_next(spans, i);
    if (i > 0) join_next(spans, i - 1);
    struct span last = spans->free[spans->free_count - 1];
    if (last.first + last.count == spans->end) {
        spans->end = last.first;
        spans->free_count--;
    }
}

void span_release(const struct memory *memory, struct spans *spans)
{
    ARRAY_RELEASE(memory, spans->free, spans->free_capacity);
    *spans = (struct spans){0};
}
