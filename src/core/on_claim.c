// on_claim.c - handlers claim tasks by hand, deliver them or say that they failed.
#include "core/core.h"

static bool is_claimed(const struct task *task)
{
    return task->state == ROTA_TASK_RUNNING && task->flags & TASK_CLAIMED
           && !(task->flags & TASK_AGAIN);
}

static bool is_owner(const struct rota *rota, task_row row, uint64_t handler)
{
    uint64_t owner = handler_of(rota, row);
    return owner == 0 || owner == handler;
}

static void claim_task(struct rota *rota, task_row row, const struct rota_event *event)
{
    attempt_claim(rota, row, event->claim.handler);
    if (!(rota->task[row].flags & TASK_GATED)) return;
    if (event->claim.flags & ROTA_STARTS_LATER && gate_is_strict(rota, row))
        rota->task[row].flags |= TASK_STARTING;
    else
        gate_started(rota, row);
}

static enum rota_error claim_failed(struct rota *rota, task_row row,
                                    const struct rota_event *event)
{
    struct task *task = &rota->task[row];
    if (rota->unmet[row] > !(condition_need(rota, row) & NEED_MET))
        return refuse(rota, ROTA_NOT_NOW, "a prerequisite of the task is not there");
    if (task->flags & TASK_GATED && !gate_admits_now(rota, row))
        return refuse(rota, ROTA_NOT_NOW, "its lane does not let it in now");
    object_row key = task_extra(rota, row)->key;
    if (key && OBJECT(rota, key)->runner)
        return refuse(rota, ROTA_NOT_NOW, "another task with the same content key is under way");
    if (key) OBJECT(rota, key)->runner = row;
    wait_task_not_over(rota, row);
    task->tries = 0;
    if (task->flags & TASK_GATED) {
        task_extra(rota, row)->asked = rota->turn;
        gate_enter(rota, row);
    }
    claim_task(rota, row, event);
    return ROTA_OK;
}

static enum rota_error claim_this(struct rota *rota, task_row row, bool any,
                                  const struct rota_event *event)
{
    const struct task *task = &rota->task[row];
    uint32_t flags = event->claim.flags;
    bool ended = task->state == ROTA_TASK_FAILED || task->state == ROTA_TASK_ABORTED;
    if (task->flags & TASK_IS_BUNDLE)
        return refuse(rota, ROTA_NOT_NOW, "a bundle cannot be claimed");
    bool waits = task->state == ROTA_TASK_OFFERED || (ended && flags & ROTA_FAILED_OK);
    if (waits && place_rests(rota, row)) return refuse(rota, ROTA_NOT_NOW, "its job is paused");
    if (ended && flags & ROTA_FAILED_OK && JOB(rota, task_job(rota, row))->state <= ROTA_JOB_LAST)
        return claim_failed(rota, row, event);
    if (is_claimed(task) && flags & ROTA_FETCHED_OK) return ROTA_OK;
    bool again = task->flags & TASK_AGAIN && !any;  // to whoever names it, it is delivered
    if (task->state == ROTA_TASK_OFFERED && gate_is_next(rota, row) && !again) {
        claim_task(rota, row, event);
        return ROTA_OK;
    }
    if (task_shown(task) == ROTA_TASK_SUCCEEDED)
        return refuse(rota, ROTA_NOT_NOW, "the task is delivered and cannot be claimed again");
    if (ended) return refuse(rota, ROTA_NOT_NOW, "the task has failed");
    if (task->state >= ROTA_TASK_ASSIGNED)
        return refuse(rota, ROTA_NOT_NOW, "the task is claimed already");
    return refuse(rota, ROTA_NOT_NOW, "the task is not available");
}

enum rota_error on_claim(struct rota *rota, const struct rota_event *event)
{
    rota_task_id id = event->claim.task;
    bool any = id.task == 0;
    job_row job = any && id.job ? job_find(rota, (rota_job_id){id.job}) : 0;
    if (any && id.job && !job) return refuse(rota, ROTA_NOT_FOUND, "there is no such job");
    task_row row = any ? claim_best(rota, job, event->claim.machine) : task_find(rota, id);
    if (!row) return refuse(rota, any ? ROTA_NOT_NOW : ROTA_NOT_FOUND, "there is no such task");
    if (!handler_reserve(rota, event->claim.handler) || !effect_reserve(rota, 2))
        return refuse(rota, ROTA_NO_MEMORY, "no memory for the claim");
    return claim_this(rota, row, any, event);
}

// The task a handler speaks of is claimed by it, or (NOFETCH_OK) there for the taking.
static enum rota_error check_claimed(struct rota *rota, const struct rota_event *event,
                                     task_row row)
{
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "there is no such task");
    const struct task *task = &rota->task[row];
    uint32_t taking = event->claim.flags & (ROTA_NOFETCH_OK | ROTA_GIVEN_BACK);
    bool open = taking == ROTA_NOFETCH_OK && task->state == ROTA_TASK_OFFERED
                && !(task->flags & TASK_AGAIN) && gate_is_next(rota, row);
    bool again = task->flags & TASK_AGAIN && task->flags & TASK_CLAIMED;
    if (!is_claimed(task) && !open && !again)
        return refuse(rota, ROTA_NOT_NOW, "the task is not claimed");
    if (!open && !is_owner(rota, row, event->claim.handler))
        return refuse(rota, ROTA_NOT_NOW, "another handler claimed the task");
    if (!effect_reserve(rota, 2))
        return refuse(rota, ROTA_NO_MEMORY, "no memory for what this causes");
    return ROTA_OK;
}

enum rota_error on_claim_started(struct rota *rota, const struct rota_event *event)
{
    task_row row = task_find(rota, event->claim.task);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "there is no such task");
    if (!is_claimed(&rota->task[row]))
        return refuse(rota, ROTA_NOT_NOW, "the task is not claimed");
    if (!is_owner(rota, row, event->claim.handler))
        return refuse(rota, ROTA_NOT_NOW, "another handler claimed the task");
    if (!effect_reserve(rota, 0))
        return refuse(rota, ROTA_NO_MEMORY, "no memory for what this causes");
    if (!(rota->task[row].flags & TASK_STARTING)) return ROTA_OK;
    rota->task[row].flags &= (uint16_t)~TASK_STARTING;
    gate_started(rota, row);
    return ROTA_OK;
}

enum rota_error on_deliver(struct rota *rota, const struct rota_event *event)
{
    task_row row = task_find(rota, event->claim.task);
    bool over = row && event->claim.flags & ROTA_DELIVERED_OK
                && task_shown(&rota->task[row]) == ROTA_TASK_SUCCEEDED
                && !(rota->task[row].flags & (TASK_IS_BUNDLE | TASK_CLAIMED));
    if (over && JOB(rota, task_job(rota, row))->state <= ROTA_JOB_LAST) return ROTA_OK;
    enum rota_error error = check_claimed(rota, event, row);
    if (error) return error;
    outcome_finish(rota, row, 0, ROTA_OUTCOME_OK, 0);
    return ROTA_OK;
}

enum rota_error on_fail(struct rota *rota, const struct rota_event *event)
{
    task_row row = task_find(rota, event->claim.task);
    enum rota_error error = check_claimed(rota, event, row);
    if (error) return error;
    bool lost = event->claim.flags & ROTA_GIVEN_BACK;
    int32_t status = event->claim.status ? event->claim.status : 1;
    outcome_finish(rota, row, 0, lost ? ROTA_OUTCOME_LOST : ROTA_OUTCOME_EXIT, lost ? 0 : status);
    return ROTA_OK;
}
