// by_task.c - sorts the edges, inputs and outputs of a submission by the task they belong to.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

bool by_task_build(struct by_task *by_task, const struct rota_job_spec *spec, uint32_t first,
                   uint32_t count, task_owner_fn *owner)
{
    uint32_t owners = spec->task_count + 1;  // the first is for items of no task
    if (!ARRAY_MORE(&memory_heap, by_task->item, count, by_task->item_capacity)) return false;
    if (!ARRAY_RESERVE(&memory_heap, by_task->first, by_task->first_capacity, (uint64_t)owners + 2))
        return false;
    memset(by_task->first, 0, ((size_t)owners + 2) * sizeof *by_task->first);
    by_task->sorted = true;
    for (uint32_t i = 0, before = 0; i < count; i++) {
        uint32_t at = owner(spec, first, i);
        by_task->sorted &= at >= before;
        before = at;
        by_task->first[at + 2]++;
    }
    for (uint32_t i = 1; i <= owners; i++) by_task->first[i + 1] += by_task->first[i];
    for (uint32_t i = 0; i < count; i++) {
        by_task->item[by_task->first[owner(spec, first, i) + 1]++] = i;
    }
    return true;
}

void by_task_release(struct by_task *by_task)
{
    free(by_task->item);
    free(by_task->first);
    *by_task = (struct by_task){0};
}
