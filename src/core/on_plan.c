// on_plan.c - an external plan binds tasks of a job to workers.
#include "core/core.h"

static enum rota_error check(struct rota *rota, const struct rota_event *event, job_row job,
                             uint64_t *effects)
{
    for (uint32_t i = 0; i < event->plan.count; i++) {
        const struct rota_placement *placement = &event->plan.placements[i];
        task_row row = task_find(rota, (rota_task_id){JOB(rota, job)->id, placement->task});
        if (!row) return refuse(rota, ROTA_NOT_FOUND, "a plan names an unknown task");
        if (placement->order > PLANNED_ORDER_MAX)
            return refuse(rota, ROTA_BAD_EVENT, "the order of a planned task is above the limit");
        const struct extra *extra = task_extra(rota, row);
        *effects += 1 + (uint64_t)extra->input_count + extra->output_count;
    }
    return ROTA_OK;
}

enum rota_error on_plan(struct rota *rota, const struct rota_event *event)
{
    job_row job = job_find(rota, event->plan.job);
    uint64_t effects = 0;
    if (!job) return refuse(rota, ROTA_NOT_FOUND, "no such job");
    if (JOB(rota, job)->policy != ROTA_POLICY_PLAN)
        return refuse(rota, ROTA_NOT_NOW, "the policy of the job is not plan");
    enum rota_error error = check(rota, event, job, &effects);
    if (error) return error;
    if (!planned_reserve(rota) || !effect_cover(rota) || !effect_reserve(rota, effects))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the plan");
    for (uint32_t i = 0; i < event->plan.count; i++) {
        const struct rota_placement *placement = &event->plan.placements[i];
        task_row row = task_find(rota, (rota_task_id){event->plan.job.number, placement->task});
        planned_put(rota, row, placement->worker, placement->order);
    }
    return ROTA_OK;
}
