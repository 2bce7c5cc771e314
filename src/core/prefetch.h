// prefetch.h - prefetches the memory that handing out a task will touch.
#pragma once

#include "core/core.h"

// A task that was handed out will probably end soon, and the next in the queue will be handed out:
// what that will touch is prefetched, each part when the one before it has arrived. A function that
// only prefetches looks useless to the compiler, so it must be inline. These are hints: a row may
// have a new owner by then, but it is still a valid row.
#define PREFETCH static inline __attribute__((always_inline)) void

enum { SCOUT_MOST = 256, WARM_EDGES = 4 };

// The first dependents of a task. While no task has an edge there is no array of edges: the address
// is computed as a number, because adding to a null pointer is undefined and a branch would cost
// more.
PREFETCH prefetch_edges(const struct rota *rota, const struct task *task)
{
    __builtin_prefetch((const void *)((uintptr_t)rota->link + task->after * sizeof *rota->link));
}

// A queue is a linked list: each row must be loaded before the next one is known. So a scout runs
// ahead of the head by one row whenever two tasks have been handed out or have ended: often enough
// to stay ahead, and rarely enough not to wait for the row it is on.
PREFETCH prefetch_scout(struct rota *rota)
{
    if (++rota->scout_clock % 2 || rota->scout_lead >= SCOUT_MOST) return;
    const struct task *task = &rota->task[rota->scout];
    if (task->state == ROTA_TASK_OFFERED && rota->scout) {
        prefetch_edges(rota, task);
        __builtin_prefetch(&rota->task[task->next], 1);
        __builtin_prefetch(&rota->task_marks.words[task->next / 64], 1);
        rota->scout = task->next;
        rota->scout_lead++;
    } else {
        rota->scout_lead = 0;
    }
}

// The number of dependents cannot be predicted, and a misprediction costs more than the hint is
// worth. So the first few are always prefetched; if there are fewer, the first one several times.
static inline uint32_t prefetch_edge(const struct rota *rota, const struct task *task, uint32_t i)
{
    return rota->link[task->after + (i < task->after_end - task->after ? i : 0)];
}

PREFETCH prefetch_counts(const struct rota *rota, const struct task *task)
{
    if (task->after == task->after_end) return;
    for (uint32_t i = 0; i < WARM_EDGES; i++)
        __builtin_prefetch(&rota->unmet[prefetch_edge(rota, task, i)], 1);
}

// The rows of the dependents it will make ready; `row` is one that is in the cache already.
PREFETCH prefetch_dependents(const struct rota *rota, const struct task *task, task_row row)
{
    if (task->after == task->after_end) return;
    for (uint32_t i = 0; i < WARM_EDGES; i++) {
        task_row after = prefetch_edge(rota, task, i);
        uint32_t chosen = -(uint32_t)(rota->unmet[after] == 1);  // all ones, without a branch
        __builtin_prefetch(&rota->task[(after & chosen) | (row & ~chosen)], 1);
    }
}

PREFETCH prefetch_handed_out(struct rota *rota, task_row row)
{
    prefetch_counts(rota, &rota->task[row]);
    task_row *place = &rota->handed[rota->handed_count++ % HANDED];
    prefetch_dependents(rota, &rota->task[*place], row);
    *place = row;
    if (rota->scout_lead == 0) {
        rota->scout = rota->task[row].next;
        __builtin_prefetch(&rota->task[rota->scout], 1);
    } else {
        rota->scout_lead--;
    }
    prefetch_scout(rota);
}
