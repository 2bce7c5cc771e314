// event_queue.c - events by time; events of the same time in the order in which they were added.
#include "sim/cluster/internal.h"

static bool goes_first(const struct event_queue *queue, struct due a, struct due b)
{
    (void)queue;
    return a.at != b.at ? a.at < b.at : a.order < b.order;
}

static void put(struct event_queue *queue, uint32_t place, struct due due)
{
    queue->items[place] = due;
}

void event_queue_add(struct event_queue *queue, int64_t at, enum due_kind kind, uint32_t who,
                     uint32_t mark)
{
    sim_reserve(&queue->items, &queue->capacity, queue->count, sizeof *queue->items);
    struct due due = {at, queue->noted++, kind, who, mark};
    uint32_t place = queue->count++;
    HEAP_UP(queue, queue->items, place, due, goes_first, put)
    put(queue, place, due);
}

bool event_queue_next(struct event_queue *queue, struct due *due)
{
    if (!queue->count) return false;
    *due = queue->items[0];
    struct due last = queue->items[--queue->count];
    uint32_t place = 0;
    HEAP_DOWN(queue, queue->items, queue->count, place, last, goes_first, put)
    put(queue, place, last);
    return true;
}
