// place_claim.c - the policy claim: whoever asks gets the task that waited longest.
#include "core/core.h"
#include "core/warm.h"

void claim_add(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    if (!line->first) profile_list(rota, task->profile);
    list_insert(rota, row, line->last, 0, &line->first, &line->last);
}

void claim_remove(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    warm_handed_out(rota, row);
    list_unlink(rota, row, &line->first, &line->last);
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
