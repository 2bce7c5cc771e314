// refusal.c - the reason of a refusal in words for a user: it names the job or the task, the state
// of the task, and the command that helps.
#include "turn/refusal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool task_of(const struct rota_event *event, rota_task_id *task)
{
    switch (event->kind) {
    case ROTA_EVENT_CANCEL:
    case ROTA_EVENT_RETRY:
    case ROTA_EVENT_STAGE: *task = event->task.task; return true;
    case ROTA_EVENT_MANUAL: *task = event->manual.task; return true;
    case ROTA_EVENT_CLOSE: *task = (rota_task_id){event->close.job.number, 0}; return true;
    default: return false;
    }
}

static void job_name(uint32_t job, const char *reason, char *out, size_t size)
{
    static const char known[] = "the job ";
    bool is_known = strncmp(reason, known, strlen(known)) == 0;
    if (strcmp(reason, "no such job") == 0)
        snprintf(out, size, "no such job: %u", job);
    else if (is_known)
        snprintf(out, size, "job %u %s", job, reason + strlen(known));
    else
        snprintf(out, size, "%s", reason);
}

static void task_name(struct rota *rota, const struct rota_event *event, rota_task_id task,
                      const char *reason, char *out, size_t size)
{
    enum rota_task_state state = rota_task_state(rota, task);
    const char *status = state == ROTA_TASK_BLOCKED ? "BLOCKED" : rota_task_status(rota, task);
    rota_task_id failed;
    static const char subject[] = "the task ";
    bool is_known = strncmp(reason, subject, strlen(subject)) == 0;
    int length = snprintf(out, size, "task %u.%u is %s: %s%s", task.job, task.task, status,
                          is_known ? "it " : "", reason + (is_known ? strlen(subject) : 0));
    size_t used = (size_t)length < size ? (size_t)length : size - 1;
    bool is_retry = event->kind == ROTA_EVENT_RETRY;
    if (is_retry && state == ROTA_TASK_BLOCKED && rota_blockers(rota, task, &failed, 1))
        snprintf(out + used, size - used, "; retry task %u.%u", failed.job, failed.task);
    else if (state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING && !is_retry
             && event->kind != ROTA_EVENT_CANCEL)
        snprintf(out + used, size - used, "; stop it first (rota abort, or rota cancel)");
}

void refusal_write(struct rota *rota, const struct rota_event *event, enum rota_error error,
                   uint32_t next, char *out, size_t size)
{
    assert(error != ROTA_OK);
    assert(size > 0);
    const char *reason = rota_reason(rota);
    rota_task_id task = {0};
    bool is_about = task_of(event, &task);
    bool is_of_job = !task.task || strncmp(reason, "the job ", 8) == 0;
    bool is_removed = is_about && task.job && task.job < next
                      && !*rota_job_status(rota, (rota_job_id){task.job});
    if (is_removed)
        snprintf(out, size, "job %u has already finished%s", task.job,
                 event->kind == ROTA_EVENT_CANCEL ? "" : ", and was removed");
    else if (is_about && (is_of_job || strcmp(reason, "no such job") == 0))
        job_name(task.job, reason, out, size);
    else if (is_about && error == ROTA_NOT_FOUND)
        snprintf(out, size, "%s: %u.%u", reason, task.job, task.task);
    else if (is_about && error == ROTA_NOT_NOW)
        task_name(rota, event, task, reason, out, size);
    else
        snprintf(out, size, "%s", reason);
}
