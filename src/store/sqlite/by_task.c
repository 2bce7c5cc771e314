// by_task.c - sorts the edges, inputs and outputs of a submission by the task they belong to.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

bool groups_build(struct groups *groups, const struct rota_job_spec *spec, uint32_t first,
                  uint32_t count, group_owner_fn *owner)
{
    uint32_t owners = spec->task_count + 1;  // the first is for items of no task
    if (!ARRAY_MORE(&memory_heap, groups->item, count, groups->item_capacity)) return false;
    if (!ARRAY_RESERVE(&memory_heap, groups->first, groups->first_capacity, (uint64_t)owners + 2))
        return false;
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
