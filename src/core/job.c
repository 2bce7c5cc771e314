// job.c - jobs: their progress, their result, and when they can be removed.
#include "core/core.h"

void job_mark(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    if (JOB(rota, row)->marked) return;
    JOB(rota, row)->marked = true;
    effect_mark(rota, ROTA_RECORD_JOB, row);
}

void job_look_at(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    struct job *job = JOB(rota, row);
    if (job->looking) return;
    job->looking = true;
    job->next_look = rota->look_jobs;
    rota->look_jobs = row;
}

task_row job_next_task(const struct rota *rota, job_row row, task_row after)
{
    assert(IS_ROW(rota->jobs, row));
    batch_row at = after ? rota->task[after].batch : JOB(rota, row)->first_batch;
    if (after && after + 1 < BATCH(rota, at)->first + BATCH(rota, at)->count) return after + 1;
    if (after) at = BATCH(rota, at)->next;
    while (at && BATCH(rota, at)->count == 0) at = BATCH(rota, at)->next;
    return at ? BATCH(rota, at)->first : 0;
}

static void tell_over(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    struct job *job = JOB(rota, row);
    bool over = job->counts[CLASS_ACTIVE] == 0 && job->state == ROTA_JOB_LAST;
    if (job->state == ROTA_JOB_FAILED) over = job->out == 0;
    if (job->state == ROTA_JOB_CLOSED || over == job->told) return;
    job->told = over;
    if (!over) return;
    struct rota_action *action = effect_action(rota, ROTA_ACTION_JOB_OVER);
    action->job_over.client = job->client;
    action->job_over.job.number = job->id;
    action->job_over.succeeded = job->counts[CLASS_SUCCEEDED];
    action->job_over.failed = job->counts[CLASS_FAILED];
    action->job_over.aborted = job->counts[CLASS_ABORTED];
    action->job_over.failed_task = job->failed_task;
}

// Runs last in a step. Removing a job may release another one that its conditions named.
void job_settle(struct rota *rota)
{
    while (rota->look_jobs) {
        job_row row = rota->look_jobs;
        struct job *job = JOB(rota, row);
        rota->look_jobs = job->next_look;
        job->looking = false;
        tell_over(rota, row);
        if (job->state == ROTA_JOB_CLOSED && job->out == 0 && job->watched == 0)
            remove_job(rota, row);
    }
}

static void cancel_tasks(struct rota *rota, job_row row, task_row bundle, bool followers)
{
    assert(IS_ROW(rota->jobs, row));
    for (task_row at = job_next_task(rota, row, 0); at; at = job_next_task(rota, row, at)) {
        if (rota->task[at].flags & TASK_IS_BUNDLE) continue;
        bool again = rota->task[at].flags & TASK_AGAIN;  // removed only with its job
        if (bundle && (task_extra(rota, at)->bundle != bundle || again)) continue;
        if (followers && rota->task[at].state != ROTA_TASK_SHARED) continue;
        outcome_cancel(rota, at);
    }
}

// Dependents come after the tasks they wait for, so cancelling in this order starts nothing on the
// way. With shared executions, followers are cancelled first, so that an execution passes to a task
// that stays, or stops.
void job_cancel_tasks(struct rota *rota, job_row row, task_row bundle)
{
    if (rota->shared) cancel_tasks(rota, row, bundle, true);
    cancel_tasks(rota, row, bundle, false);
}

// Clients that wait to read an object of the job are told that it will not exist.
static void end_reads(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    for (object_row at = JOB(rota, row)->objects; at; at = OBJECT(rota, at)->next_of_job)
        if (OBJECT(rota, at)->reads) wait_object_over(rota, at);
}

// Merges two lists of jobs, each ordered by age. An event that concerns several jobs handles them
// in that order, independent of the rows they have after a restart.
static job_row merge(struct rota *rota, job_row left, job_row right)
{
    job_row first = 0, *link = &first;
    while (left && right) {
        job_row *older = JOB(rota, left)->id < JOB(rota, right)->id ? &left : &right;
        *link = *older;
        link = &JOB(rota, *link)->next_picked;
        *older = *link;
    }
    *link = left ? left : right;
    return first;
}

job_row job_pick_of_client(struct rota *rota, uint64_t client)
{
    job_row lists[32] = {0}, all = 0;  // lists[i] has 2^i jobs, or is empty
    for (job_row row = 1; row < rota->jobs.count; row++) {
        struct job *job = JOB(rota, row);
        if (!job->id || job->client != client) continue;
        uint32_t i = 0;
        job_row list = row;
        for (job->next_picked = 0; lists[i]; lists[i++] = 0) list = merge(rota, lists[i], list);
        lists[i] = list;
    }
    for (uint32_t i = 0; i < 32; i++) all = merge(rota, lists[i], all);
    return all;
}

// Under fail_job the job fails with the first task that fails. It fails at the end of the step, not
// in the middle of whatever made the task fail.
void job_fails_with(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    job_row at = task_job(rota, row);
    struct job *job = JOB(rota, at);
    bool policy = job->on_failure == ROTA_FAILURE_FAIL_JOB && job->state <= ROTA_JOB_LAST;
    if (!policy || job->culprit) return;
    job->culprit = row;
    job->next_picked = 0;
    rota->failing_jobs = merge(rota, rota->failing_jobs, at);
}

void job_fail_next(struct rota *rota)
{
    assert(rota->failing_jobs);
    job_row row = rota->failing_jobs;
    struct job *job = JOB(rota, row);
    task_row culprit = job->culprit;
    rota->failing_jobs = job->next_picked;
    job->culprit = 0;
    if (job->state > ROTA_JOB_LAST) return;
    job->state = ROTA_JOB_FAILED;
    job->failed_task = task_id(rota, culprit).task;
    trace_say(rota, "job %u fails with task %u -> all its tasks are stopped", job->id,
              job->failed_task);
    job_mark(rota, row);
    job_look_at(rota, row);
    job_cancel_tasks(rota, row, 0);
    end_reads(rota, row);
    for (task_row at = job_next_task(rota, row, 0); at; at = job_next_task(rota, row, at))
        if (rota->task[at].flags & TASK_LINKED) wait_drop_task(rota, at);
}

void job_close(struct rota *rota, job_row row)
{
    assert(IS_ROW(rota->jobs, row));
    struct job *job = JOB(rota, row);
    if (job->state == ROTA_JOB_CLOSED) return;
    job->state = ROTA_JOB_CLOSED;
    rota->closing++;
    job_mark(rota, row);
    job_look_at(rota, row);
    job_cancel_tasks(rota, row, 0);
    for (object_row object = JOB(rota, row)->objects; object;
         object = OBJECT(rota, object)->next_of_job) {
        OBJECT(rota, object)->flags &= ~(uint32_t)ROTA_OBJECT_KEEP;
        OBJECT(rota, object)->flags |= OBJECT_USED;
        object_mark(rota, object);
        object_purge(rota, object);
    }
    end_reads(rota, row);
    remove_conditions(rota, row);
    assert(job->state == ROTA_JOB_CLOSED);
}
