// prefetch.h - asks memory ahead of time for what handing out a task will touch.
#pragma once

#include "core/core.h"

// Whoever gets a task is likely to end it soon, and the next in the queue to be handed out:
// what that will touch is fetched from memory ahead of time, each thing when the one before it
// is there. A function that only prefetches looks useless to the compiler: it must be inline.
// All of it is a hint: rows may have moved on, but they are rows still.
#define WARM static inline __attribute__((always_inline)) void

enum { SCOUT_MOST = 256, WARM_EDGES = 4 };

// Where the dependents of a task begin. As long as no task has an edge there is no array of them:
// a sum of numbers, because adding to a null pointer is undefined, and a branch would cost more.
WARM warm_edges(const struct rota *rota, const struct task *task)
{
    __builtin_prefetch((const void *)((uintptr_t)rota->link + task->after * sizeof *rota->link));
}

// A queue is a list, and each row must be there before the next one is known. So a scout goes
// ahead of those who are handed out, whenever another two have been handed out or have ended:
// often enough to stay ahead, and not so often that it has to wait for the row it stands on.
WARM warm_scout(struct rota *rota)
{
    if (++rota->scout_clock % 2 || rota->scout_lead >= SCOUT_MOST) return;
    const struct task *task = &rota->task[rota->scout];
    if (task->state == ROTA_TASK_OFFERED && rota->scout) {
        warm_edges(rota, task);
        __builtin_prefetch(&rota->task[task->next], 1);
        __builtin_prefetch(&rota->task_marks.words[task->next / 64], 1);
        rota->scout = task->next;
        rota->scout_lead++;
    } else {
        rota->scout_lead = 0;
    }
}

// How many dependents there are nobody can guess, and a wrong guess costs more than the hint is
// worth. So it is always the first few, and where there are fewer, the first one several times.
static inline uint32_t warm_edge(const struct rota *rota, const struct task *task, uint32_t i)
{
    return rota->link[task->after + (i < task->after_end - task->after ? i : 0)];
}

WARM warm_counts(const struct rota *rota, const struct task *task)
{
    if (task->after == task->after_end) return;
    for (uint32_t i = 0; i < WARM_EDGES; i++)
        __builtin_prefetch(&rota->unmet[warm_edge(rota, task, i)], 1);
}

// The rows of those it will make ready; `row` is one that is in the cache anyway.
WARM warm_dependents(const struct rota *rota, const struct task *task, task_row row)
{
    if (task->after == task->after_end) return;
    for (uint32_t i = 0; i < WARM_EDGES; i++) {
        task_row after = warm_edge(rota, task, i);
        uint32_t chosen = -(uint32_t)(rota->unmet[after] == 1);  // all ones, and no branch
        __builtin_prefetch(&rota->task[(after & chosen) | (row & ~chosen)], 1);
    }
}

WARM warm_handed_out(struct rota *rota, task_row row)
{
    warm_counts(rota, &rota->task[row]);
    task_row *place = &rota->handed[rota->handed_count++ % HANDED];
    warm_dependents(rota, &rota->task[*place], row);
    *place = row;
    if (rota->scout_lead == 0) {
        rota->scout = rota->task[row].next;
        __builtin_prefetch(&rota->task[rota->scout], 1);
    } else {
        rota->scout_lead--;
    }
    warm_scout(rota);
}
