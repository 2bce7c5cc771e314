// place_claim.c - the policy claim: a handler gets the task that waited longest.
#include "core/prefetch.h"

void claim_add(struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_OFFERED);
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    if (!line->first) profile_list(rota, task->profile);
    list_insert(rota, row, line->last, 0, &line->first, &line->last);
}

void claim_remove(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    struct bucket *line = &PROFILE(rota, task->profile)->line;
    prefetch_handed_out(rota, row);
    list_unlink(rota, row, &line->first, &line->last);
    if (!line->first) profile_unlist(rota, task->profile);
}

// A handler that wants a task of one job skips the tasks of other jobs, one by one.
static task_row first_of(const struct rota *rota, const struct profile *profile, job_row job)
{
    task_row row = profile->line.first;
    while (job && row && task_job(rota, row) != job) row = rota->task[row].next;
    return row;
}

task_row claim_best(const struct rota *rota, job_row job, uint32_t machine)
{
    task_row best = 0;
    int32_t priority = 0;
    for (profile_row at = rota->ready_claim; at; at = PROFILE(rota, at)->next) {
        const struct profile *profile = PROFILE(rota, at);
        uint32_t wanted = profile->wants.machine;
        bool there = !machine || !wanted || wanted == machine;
        task_row row = there ? first_of(rota, profile, job) : 0;
        bool better = row
                      && (!best || profile->wants.priority > priority
                          || (profile->wants.priority == priority && task_older(rota, row, best)));
        if (!better) continue;
        best = row;
        priority = profile->wants.priority;
    }
    return best;
}

bool rota_claimable(const struct rota *rota, uint32_t machine, int32_t *priority)
{
    task_row best = claim_best(rota, 0, machine);
    *priority = best ? PROFILE(rota, rota->task[best].profile)->wants.priority : 0;
    return best != 0;
}
