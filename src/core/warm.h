// warm.h - asks memory ahead of time for what handing out a task will touch.
#pragma once

#include "core/core.h"

// Whoever gets a task is likely to end it soon, and the next in the queue to be handed out:
// what that will touch is fetched from memory ahead of time, each thing when the one before it
// is there. A function that only prefetches looks useless to the compiler: it must be inline.
__attribute__((always_inline)) static inline void graph_warm(struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row], *last = &rota->task[rota->last_handed];
    const struct task *next = &rota->task[task->next];
    __builtin_prefetch(&rota->task[next->next], 1);
    if (next->after < next->after_end) __builtin_prefetch(&rota->link[next->after]);
    uint32_t end = task->after_end - task->after < 8 ? task->after_end : task->after + 8;
    for (uint32_t i = task->after; i < end; i++) __builtin_prefetch(&rota->unmet[rota->link[i]], 1);
    end = last->after_end - last->after < 8 ? last->after_end : last->after + 8;
    for (uint32_t i = last->after; i < end; i++)  // what it will make ready
        if (rota->unmet[rota->link[i]] == 1) __builtin_prefetch(&rota->task[rota->link[i]], 1);
    rota->last_handed = row;
}
