// rank_heap.c - a heap of numbers whose urgency stands beside them.
#include "plan/plan.h"

#include <stdlib.h>

static bool goes_first(const struct plan_key *keys, uint32_t a, uint32_t b)
{
    if (keys[a].urgency != keys[b].urgency) return keys[a].urgency > keys[b].urgency;
    return keys[a].since < keys[b].since;
}

static void put(struct plan_queue *queue, struct plan_key *keys, uint32_t place, uint32_t item)
{
    queue->items[place] = item;
    keys[item].place = place + 1;
}

static void rise(struct plan_queue *queue, struct plan_key *keys, uint32_t place, uint32_t item)
{
    while (place > 0 && goes_first(keys, item, queue->items[(place - 1) / 2])) {
        put(queue, keys, place, queue->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(queue, keys, place, item);
}

void plan_queue_push(struct plan_queue *queue, struct plan_key *keys, uint32_t item)
{
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity ? queue->capacity * 2 : 16;
        queue->items = realloc(queue->items, queue->capacity * sizeof *queue->items);
        if (!queue->items) abort();
    }
    rise(queue, keys, queue->count++, item);
}

void plan_queue_raise(struct plan_queue *queue, struct plan_key *keys, uint32_t item)
{
    rise(queue, keys, keys[item].place - 1, item);
}

static void sink(struct plan_queue *queue, struct plan_key *keys, uint32_t place, uint32_t item)
{
    for (uint32_t child; (child = place * 2 + 1) < queue->count; place = child) {
        if (child + 1 < queue->count
            && goes_first(keys, queue->items[child + 1], queue->items[child]))
            child++;
        if (!goes_first(keys, queue->items[child], item)) break;
        put(queue, keys, place, queue->items[child]);
    }
    put(queue, keys, place, item);
}

uint32_t plan_queue_pop(struct plan_queue *queue, struct plan_key *keys)
{
    uint32_t first = queue->items[0], last = queue->items[--queue->count];
    keys[first].place = 0;
    if (first != last) sink(queue, keys, 0, last);
    return first;
}
