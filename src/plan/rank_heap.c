// rank_heap.c - a heap of indices, ordered by urgency.
#include "plan/plan.h"

#include <stdlib.h>

struct order {
    struct plan_queue *queue;
    struct plan_key *keys;
};

static bool goes_first(struct order order, uint32_t a, uint32_t b)
{
    const struct plan_key *keys = order.keys;
    if (keys[a].urgency != keys[b].urgency) return keys[a].urgency > keys[b].urgency;
    return keys[a].since < keys[b].since;
}

static void put(struct order order, uint32_t place, uint32_t item)
{
    order.queue->items[place] = item;
    order.keys[item].place = place + 1;
}

static void rise(struct plan_queue *queue, struct plan_key *keys, uint32_t place, uint32_t item)
{
    struct order order = {queue, keys};
    HEAP_UP(order, queue->items, place, item, goes_first, put)
    put(order, place, item);
}

void plan_queue_push(struct plan_queue *queue, struct plan_key *keys, uint32_t item)
{
    assert(keys[item].place == 0);
    if (!ARRAY_MORE_RAW(&memory_heap, queue->items, queue->count, queue->capacity)) abort();
    rise(queue, keys, queue->count++, item);
}

void plan_queue_raise(struct plan_queue *queue, struct plan_key *keys, uint32_t item)
{
    assert(keys[item].place > 0);
    assert(keys[item].place <= queue->count);
    rise(queue, keys, keys[item].place - 1, item);
}

uint32_t plan_queue_pop(struct plan_queue *queue, struct plan_key *keys)
{
    assert(queue->count > 0);
    uint32_t first = queue->items[0], last = queue->items[--queue->count];
    struct order order = {queue, keys};
    uint32_t place = 0;
    keys[first].place = 0;
    if (first == last) return first;
    HEAP_DOWN(order, queue->items, queue->count, place, last, goes_first, put)
    put(order, place, last);
    return first;
}
