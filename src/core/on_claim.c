// on_claim.c - handlers claim tasks, deliver them, or report that they failed.
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
    assert(IS_TASK(rota, row));
    attempt_claim(rota, row, event->claim.handler);
    if (!(rota->task[row].flags & TASK_HAS_LANE)) return;
    if (event->claim.flags & ROTA_STARTS_LATER && lane_is_strict(rota, row))
        rota->task[row].flags |= TASK_STARTING;
    else
        lane_started(rota, row);
}

static enum rota_error claim_failed(struct rota *rota, task_row row,
                                    const struct rota_event *event)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    if (rota->unmet[row] > !(condition_need(rota, row) & NEED_MET))
        return refuse(rota, ROTA_NOT_NOW, "a dependency of the task is not met");
    if (task->flags & TASK_HAS_LANE && !lane_admits_now(rota, row))
        return refuse(rota, ROTA_NOT_NOW, "the lane of the task is occupied");
    object_row key = task_extra(rota, row)->key;
    if (key && OBJECT(rota, key)->runner)
        return refuse(rota, ROTA_NOT_NOW, "another task with the same content key is running");
    if (key) OBJECT(rota, key)->runner = row;
    wait_task_not_over(rota, row);
    task->tries = 0;
    if (task->flags & TASK_HAS_LANE) {
        task_extra(rota, row)->asked = rota->turn;
        lane_enter(rota, row);
    }
    claim_task(rota, row, event);
    return ROTA_OK;
}

static enum rota_error claim_this(struct rota *rota, task_row row, bool any,
                                  const struct rota_event *event)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    uint32_t flags = event->claim.flags;
    bool ended = task->state == ROTA_TASK_FAILED || task->state == ROTA_TASK_ABORTED;
    if (task->flags & TASK_IS_BUNDLE)
        return refuse(rota, ROTA_NOT_NOW, "a bundle cannot be claimed");
    bool waits = task->state == ROTA_TASK_OFFERED || (ended && flags & ROTA_FAILED_OK);
    if (waits && place_is_paused(rota, row)) return refuse(rota, ROTA_NOT_NOW, "the job is paused");
    if (ended && flags & ROTA_FAILED_OK && JOB(rota, task_job(rota, row))->state <= ROTA_JOB_LAST)
        return claim_failed(rota, row, event);
    if (is_claimed(task) && flags & ROTA_FETCHED_OK) return ROTA_OK;
    // to a handler that names the task it is already delivered
    bool again = task->flags & TASK_AGAIN && !any;
    if (task->state == ROTA_TASK_OFFERED && lane_is_next(rota, row) && !again) {
        claim_task(rota, row, event);
        return ROTA_OK;
    }
    if (task_shown(task) == ROTA_TASK_SUCCEEDED)
        return refuse(rota, ROTA_NOT_NOW, "the task is already delivered");
    if (ended) return refuse(rota, ROTA_NOT_NOW, "the task has failed");
    if (task->state >= ROTA_TASK_ASSIGNED)
        return refuse(rota, ROTA_NOT_NOW, "the task is already claimed");
    return refuse(rota, ROTA_NOT_NOW, "the task is not available");
}

enum rota_error on_claim(struct rota *rota, const struct rota_event *event)
{
    rota_task_id id = event->claim.task;
    bool any = id.task == 0;
    job_row job = any && id.job ? job_find(rota, (rota_job_id){id.job}) : 0;
    if (any && id.job && !job) return refuse(rota, ROTA_NOT_FOUND, "no such job");
    task_row row = any ? claim_best(rota, job, event->claim.machine) : task_find(rota, id);
    if (!row) return refuse(rota, any ? ROTA_NOT_NOW : ROTA_NOT_FOUND, "no such task");
    if (!handler_reserve(rota, event->claim.handler) || !effect_reserve(rota, 2))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the claim");
    return claim_this(rota, row, any, event);
}

// The handler has claimed the task it names, or (NOFETCH_OK) the task is available.
static enum rota_error check_claimed(struct rota *rota, const struct rota_event *event,
                                     task_row row)
{
    assert(event->kind == ROTA_EVENT_DELIVER || event->kind == ROTA_EVENT_FAIL);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such task");
    const struct task *task = &rota->task[row];
    uint32_t taking = event->claim.flags & (ROTA_NOFETCH_OK | ROTA_GIVEN_BACK);
    bool open = taking == ROTA_NOFETCH_OK && task->state == ROTA_TASK_OFFERED
                && !(task->flags & TASK_AGAIN) && lane_is_next(rota, row);
    bool again = task->flags & TASK_AGAIN && task->flags & TASK_CLAIMED;
    if (!is_claimed(task) && !open && !again)
        return refuse(rota, ROTA_NOT_NOW, "the task is not claimed");
    if (!open && !is_owner(rota, row, event->claim.handler))
        return refuse(rota, ROTA_NOT_NOW, "another handler claimed the task");
    if (!effect_reserve(rota, 2)) return refuse(rota, ROTA_NO_MEMORY, "out of memory");
    return ROTA_OK;
}

enum rota_error on_claim_started(struct rota *rota, const struct rota_event *event)
{
    task_row row = task_find(rota, event->claim.task);
    if (!row) return refuse(rota, ROTA_NOT_FOUND, "no such task");
    if (!is_claimed(&rota->task[row]))
        return refuse(rota, ROTA_NOT_NOW, "the task is not claimed");
    if (!is_owner(rota, row, event->claim.handler))
        return refuse(rota, ROTA_NOT_NOW, "another handler claimed the task");
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "out of memory");
    if (!(rota->task[row].flags & TASK_STARTING)) return ROTA_OK;
    rota->task[row].flags &= (uint16_t)~TASK_STARTING;
    lane_started(rota, row);
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
