// backoff.c - backoff between two attempts: counts as one more dependency, met when time is up.
#include "core/core.h"

bool backoff_reserve(struct rota *rota)
{
    return heap_reserve(&rota->memory, &rota->backoffs, rota->task_capacity);
}

// The task returned from an attempt; it leaves its queue before any handler or worker can get it.
void backoff_begin(struct rota *rota, task_row row, rota_time until)
{
    assert(IS_TASK(rota, row));
    heap_set(&rota->backoffs, row, until);
    rota->task[row].flags |= TASK_BACKOFF;
    effect_mark_task(rota, row);
    graph_need(rota, row, NEED_MET, 0);
    assert(rota->task[row].flags & TASK_BACKOFF);
}

void backoff_end(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_BACKOFF);
    heap_remove(&rota->backoffs, row);
    rota->task[row].flags &= (uint16_t)~TASK_BACKOFF;
    effect_mark_task(rota, row);
    graph_need(rota, row, 0, NEED_MET);
}

// The caller changes the state of the task.
void backoff_forget(struct rota *rota, task_row row)
{
    assert(rota->task[row].flags & TASK_BACKOFF);
    heap_remove(&rota->backoffs, row);
    rota->task[row].flags &= (uint16_t)~TASK_BACKOFF;
    rota->unmet[row]--;
}

rota_time backoff_until(const struct rota *rota, task_row row)
{
    return rota->task[row].flags & TASK_BACKOFF ? heap_due(&rota->backoffs, row) : 0;
}

void backoffs_end(struct rota *rota)
{
    while (rota->backoffs.count && rota->backoffs.entries[0].due <= rota->now)
        backoff_end(rota, (uint32_t)rota->backoffs.entries[0].tag);
}
