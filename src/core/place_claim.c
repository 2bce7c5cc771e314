// place_claim.c - the policy claim: whoever asks gets the task that waited longest.
#include "core/core.h"

// Whoever claims one is likely to deliver it soon and to claim the next: what that will
// touch is fetched from memory ahead of time, each thing when the one before it is there.
static void warm(struct rota *rota, const struct task *task)
{
    const struct task *next = &rota->task[task->next];
    __builtin_prefetch(&rota->task[next->next], 1);
    if (next->after < next->after_end) __builtin_prefetch(&rota->link[next->after]);
    uint32_t end = task->after_end - task->after < 8 ? task->after_end : task->after + 8;
    for (uint32_t i = task->after; i < end; i++) __builtin_prefetch(&rota->unmet[rota->link[i]], 1);
}

void claim_add(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    if (line->first)
        rota->task[line->last].next = row;
    else
        profile_list(rota, task->profile);
    if (!line->first) line->first = row;
    task->next = 0;
    task->previous = line->last;
    line->last = row;
}

void claim_remove(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    warm(rota, task);
    if (task->next)
        rota->task[task->next].previous = task->previous;
    else
        line->last = task->previous;
    if (task->previous)
        rota->task[task->previous].next = task->next;
    else
        line->first = task->next;
    task->next = task->previous = 0;
    if (!line->first) profile_unlist(rota, task->profile);
}

task_row claim_best(const struct rota *rota)
{
    const struct profile *best = NULL;
    for (profile_row row = rota->ready_claim; row; row = PROFILE(rota, row)->next) {
        const struct profile *profile = PROFILE(rota, row);
        bool better = !best || profile->wants.priority > best->wants.priority
                      || (profile->wants.priority == best->wants.priority
                          && task_older(rota, profile->line.first, best->line.first));
        if (better) best = profile;
    }
    return best ? best->line.first : 0;
}
