// place_claim.c - the policy claim: whoever asks gets the task that waited longest.
#include "core/core.h"

void claim_add(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct profile *profile = PROFILE(rota, task->profile);
    if (!profile->first) {
        profile_list(rota, task->profile);
        profile->first = row;
    } else {
        rota->task[profile->last].next = row;
    }
    task->next = 0;
    task->previous = profile->last;
    profile->last = row;
}

void claim_remove(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct profile *profile = PROFILE(rota, task->profile);
    if (task->next) rota->task[task->next].previous = task->previous;
    else profile->last = task->previous;
    if (task->previous) rota->task[task->previous].next = task->next;
    else profile->first = task->next;
    if (task->next) __builtin_prefetch(&rota->task[task->next], 1);  // likely to be asked for next
    task->next = task->previous = 0;
    if (!profile->first) profile_unlist(rota, task->profile);
}

task_row claim_best(const struct rota *rota)
{
    const struct profile *best = NULL;
    for (profile_row row = rota->ready_claim; row; row = PROFILE(rota, row)->next) {
        const struct profile *profile = PROFILE(rota, row);
        bool better = !best || profile->priority > best->priority ||
                      (profile->priority == best->priority &&
                       task_older(rota, profile->first, best->first));
        if (better) best = profile;
    }
    return best ? best->first : 0;
}
