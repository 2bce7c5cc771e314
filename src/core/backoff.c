// backoff.c - a task rests between two attempts: one more need, which time meets.
#include "core/core.h"

bool rest_reserve(struct rota *rota)
{
    return heap_reserve(&rota->memory, &rota->rests, rota->task_capacity);
}

// It came back from an attempt, and is out of its place again before anybody could see it there.
void rest_begin(struct rota *rota, task_row row, rota_time until)
{
    heap_set(&rota->rests, row, until);
    rota->task[row].flags |= TASK_RESTS;
    effect_mark_task(rota, row);
    graph_need(rota, row, NEED_MET, 0);
}

void rest_end(struct rota *rota, task_row row)
{
    heap_remove(&rota->rests, row);
    rota->task[row].flags &= (uint16_t)~TASK_RESTS;
    effect_mark_task(rota, row);
    graph_need(rota, row, 0, NEED_MET);
}

// Whoever calls moves it on.
void rest_forget(struct rota *rota, task_row row)
{
    heap_remove(&rota->rests, row);
    rota->task[row].flags &= (uint16_t)~TASK_RESTS;
    rota->unmet[row]--;
}

rota_time rest_until(const struct rota *rota, task_row row)
{
    return rota->task[row].flags & TASK_RESTS ? heap_due(&rota->rests, row) : 0;
}

void rests_end(struct rota *rota)
{
    while (rota->rests.count && rota->rests.entries[0].due <= rota->now)
        rest_end(rota, (uint32_t)rota->rests.entries[0].tag);
}
