// place_claim.c - the policy claim: whoever asks gets the task that waited longest.
#include "core/core.h"
#include "core/warm.h"

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
    graph_warm(rota, row);
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
