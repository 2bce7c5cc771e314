// by_task.c - the edges, inputs and outputs of a submission, ordered by the task they belong to.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

static const struct memory heap = {memory_resize_heap, NULL};

static bool reserve(uint32_t **items, uint32_t *capacity, uint64_t need)
{
    void *block = *items;
    bool there = memory_reserve(&heap, &block, capacity, need, sizeof **items);
    *items = block;
    return there;
}

bool groups_build(struct groups *groups, const struct rota_job_spec *spec, uint32_t first,
                  uint32_t count, group_owner_fn *owner)
{
    uint32_t owners = spec->task_count + 1;  // the first is nobody
    if (!reserve(&groups->item, &groups->item_capacity, (uint64_t)count + 1)) return false;
    if (!reserve(&groups->first, &groups->first_capacity, (uint64_t)owners + 2)) return false;
    memset(groups->first, 0, ((size_t)owners + 2) * sizeof *groups->first);
    groups->sorted = true;
    for (uint32_t i = 0, before = 0; i < count; i++) {
        uint32_t at = owner(spec, first, i);
        groups->sorted &= at >= before;
        before = at;
        groups->first[at + 2]++;
    }
    for (uint32_t i = 1; i <= owners; i++) groups->first[i + 1] += groups->first[i];
    for (uint32_t i = 0; i < count; i++) {
        groups->item[groups->first[owner(spec, first, i) + 1]++] = i;
    }
    return true;
}

void groups_release(struct groups *groups)
{
    free(groups->item);
    free(groups->first);
    *groups = (struct groups){0};
}
