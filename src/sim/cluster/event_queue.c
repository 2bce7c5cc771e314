// event_queue.c - what is due first; of those at one time, what was noted first.
#include "sim/cluster/internal.h"

static bool before(const struct due *left, const struct due *right)
{
    return left->at != right->at ? left->at < right->at : left->order < right->order;
}

void agenda_add(struct agenda *agenda, int64_t at, enum due_kind kind, uint32_t who, uint32_t mark)
{
    world_reserve(&agenda->items, &agenda->capacity, agenda->count, sizeof *agenda->items);
    struct due due = {at, agenda->noted++, kind, who, mark};
    uint32_t place = agenda->count++;
    while (place && before(&due, &agenda->items[(place - 1) / 2])) {
        agenda->items[place] = agenda->items[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    agenda->items[place] = due;
}

bool agenda_next(struct agenda *agenda, struct due *due)
{
    if (!agenda->count) return false;
    *due = agenda->items[0];
    struct due last = agenda->items[--agenda->count];
    uint32_t place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= agenda->count) break;
        if (child + 1 < agenda->count && before(&agenda->items[child + 1], &agenda->items[child]))
            child++;
        if (!before(&agenda->items[child], &last)) break;
        agenda->items[place] = agenda->items[child];
        place = child;
    }
    agenda->items[place] = last;
    return true;
}
