// model_job.c - requests of clients for jobs, and their waits.
#include "model.h"

static void job_close(struct model *model, struct model_job *job)
{
    job->state = ROTA_JOB_CLOSED;
    model_job_cancel(model, job->number);
}

enum model_verdict model_on_close(struct model *model, const struct rota_event *event)
{
    struct model_job *job = model_job_find(model, event->close.job.number);
    if (!job || job->state == ROTA_JOB_CLOSED) return MODEL_REFUSE;
    job_close(model, job);
    return MODEL_ACCEPT;
}

enum model_verdict model_on_client_left(struct model *model, const struct rota_event *event)
{
    bool any = false;
    for (uint32_t i = 0; i < model->job_count; i++) {
        struct model_job *job = &model->jobs[i];
        if (job->client != event->client_left.client || job->state == ROTA_JOB_CLOSED) continue;
        job_close(model, job);
        any = true;
    }
    return any ? MODEL_ACCEPT : MODEL_EITHER;
}

// A job stands for the tasks it has by now.
static void wait_add(struct model *model, struct model_wait *wait, rota_task_id id)
{
    if (id.task) wait->tasks[wait->count++] = id;
    for (uint32_t i = 0; i < model->task_count && id.task == 0; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->id.job != id.job || (task->spec.flags & ROTA_TASK_BUNDLE)) continue;
        wait->tasks[wait->count++] = task->id;
    }
}

enum model_verdict model_on_wait(struct model *model, const struct rota_event *event)
{
    if (model->wait_count >= MODEL_WAITS) return MODEL_REFUSE;
    struct model_wait wait = {.client = event->wait.client, .mode = event->wait.mode};
    for (uint32_t i = 0; i < event->wait.count; i++) {
        rota_task_id id = event->wait.tasks[i];
        const struct model_job *job = model_job_find(model, id.job);
        if (!job || job->state >= ROTA_JOB_FAILED) return MODEL_REFUSE;
        if (id.task && !model_task_find(model, id)) return MODEL_REFUSE;
        wait_add(model, &wait, id);
    }
    if (wait.count) {
        model->waits[model->wait_count++] = wait;
    } else {
        model_add_action(model, (struct rota_action){.kind = ROTA_ACTION_WAIT_OVER,
                                                     .wait_over = {.client = wait.client}});
    }
    return MODEL_ACCEPT;
}

// ---- Waits that end -----------------------------------------------------------------------------

static enum rota_task_state wait_state(struct model *model, rota_task_id id)
{
    if (id.task == 0) return model_sum(model, id.job, 0);
    return model_shown(model, model_task_find(model, id));
}

static enum rota_outcome wait_outcome(struct model *model, rota_task_id id)
{
    const struct model_task *task = model_task_find(model, id);
    enum rota_task_state state = wait_state(model, id);
    if (state == ROTA_TASK_ABORTED) return task->outcome;
    if (state == ROTA_TASK_SUCCEEDED) return ROTA_OUTCOME_OK;
    return state == ROTA_TASK_FAILED ? ROTA_OUTCOME_EXIT : ROTA_OUTCOME_NONE;
}

// Reports those of its tasks that have finished, or all.
void model_wait_tell(struct model *model, const struct model_wait *wait, bool all, bool optional)
{
    for (uint32_t i = 0; i < wait->count; i++) {
        if (!all && !model_state_is_over(wait_state(model, wait->tasks[i]))) continue;
        struct rota_action action = {.kind = ROTA_ACTION_WAIT_OVER};
        action.wait_over.client = wait->client;
        action.wait_over.task = wait->tasks[i];
        action.wait_over.outcome = wait_outcome(model, wait->tasks[i]);
        if (optional) action.wait_over.wait = MODEL_OPTIONAL;
        model_add_action(model, action);
    }
}

// Reports what is due; true when the wait has ended.
static bool wait_ends(struct model *model, const struct model_wait *wait)
{
    uint32_t over = 0;
    bool failed = false;
    for (uint32_t i = 0; i < wait->count; i++) {
        over += model_state_is_over(wait_state(model, wait->tasks[i]));
        const struct model_job *job = model_job_find(model, wait->tasks[i].job);
        failed |= job->state == ROTA_JOB_FAILED;
    }
    bool all = wait->mode == ROTA_WAIT_ALL || failed;
    if (!failed && over < (all ? wait->count : 1)) return false;
    // When several tasks of a SOME wait end in one event the core may stop at the first.
    model_wait_tell(model, wait, all, !all && over > 1);
    return true;
}

void model_waits_tell(struct model *model)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->wait_count; i++) {
        if (!wait_ends(model, &model->waits[i])) model->waits[kept++] = model->waits[i];
    }
    model->wait_count = kept;
}
