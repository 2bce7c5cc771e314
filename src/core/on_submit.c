// on_submit.c - a client submits a job, or adds tasks to one that is open.
#include "core/core.h"

static void accept(struct rota *rota, job_row row, uint32_t first)
{
    assert(IS_ROW(rota->jobs, row));
    struct rota_action *action = effect_action(rota, ROTA_ACTION_ACCEPT);
    action->accept.client = JOB(rota, row)->client;
    action->accept.key = JOB(rota, row)->key;
    action->accept.job.number = JOB(rota, row)->id;
    action->accept.first = first;
}

static bool starts_idle(const struct rota *rota, const struct rota_task_spec *spec, task_row row)
{
    task_row bundle = task_extra(rota, row)->bundle;
    return spec->flags & ROTA_TASK_ON_DEMAND || (bundle && !bundle_get(rota, bundle)->ever_staged);
}

// The task has only edges, to tasks that are just as plain or to older tasks. No condition can see
// its state before it is admitted.
static bool is_plain(const struct rota *rota, const struct intake *intake, uint32_t index)
{
    const struct task *task = &rota->task[intake->row + index];
    return !task->extra && !task->dead && !(task->flags & (TASK_LINKED | TASK_IS_BUNDLE))
           && !(intake->spec->tasks[index].flags & ROTA_TASK_ON_DEMAND)
           && task->state == ROTA_TASK_NONE;
}

// No conditions, bundles, objects or keys: the state of a task matters to its dependents alone, so
// tasks can be admitted one by one. With a trace all of them are submitted first.
static bool all_apart(const struct rota *rota, const struct intake *intake)
{
    return !intake->bundles && !intake->members && !intake->lates && !intake->idle && !intake->uses
           && !intake->keys && !intake->spec->clause_count && !rota->config.trace;
}

static void admit_apart(struct rota *rota, const struct intake *intake)
{
    assert(intake->apart);
    for (task_row row = intake->row; row < intake->row + intake->spec->task_count; row++) {
        if (rota->task[row].extra) task_move(rota, row, CAUSE_ADMITTED);
        outcome_admit(rota, row);
    }
}

// All tasks with unmet dependencies are already WAITING.

static void admit_plain(struct rota *rota, const struct intake *intake)
{
    uint32_t tasks = intake->spec->task_count, ready = 0;
    for (task_row row = intake->row; row < intake->row + tasks; row++) {
        if (rota->unmet[row] > 0) continue;
        outcome_ready(rota, row);
        ready++;
    }
    task_count_begun(rota, intake->job, tasks - ready);
}

// First all tasks exist, then each is admitted: a condition must see the others as queued.
static void admit_tasks(struct rota *rota, const struct intake *intake)
{
    assert(intake->row);
    const struct rota_job_spec *spec = intake->spec;
    for (uint32_t i = 0; i < spec->task_count; i++) {
        task_row row = intake->row + i;
        if (is_plain(rota, intake, i)) continue;
        if (rota->task[row].flags & TASK_IS_BUNDLE)
            graph_look_at(rota, row);
        else
            task_move(rota, row,
                      starts_idle(rota, &spec->tasks[i], row) ? CAUSE_DEFINED : CAUSE_ADMITTED);
    }
    graph_settle_bundles(rota);
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct task *task = &rota->task[intake->row + i];
        bool fresh = task->state == ROTA_TASK_NONE && !(task->flags & TASK_IS_BUNDLE);
        if (fresh || task->state == ROTA_TASK_QUEUED) outcome_admit(rota, intake->row + i);
    }
}

// A submission with a known client and key is a repetition: it gets the same job.
static job_row job_again(const struct rota *rota, const struct rota_job_spec *spec)
{
    if (!spec->key || spec->job.number) return 0;
    job_row row = map_find(&rota->job_by_key, hash_mix(spec->client, spec->key));
    bool same = row && JOB(rota, row)->client == spec->client && JOB(rota, row)->key == spec->key;
    return same ? row : 0;
}

static void apply(struct rota *rota, struct intake *intake)
{
    bool fresh = !intake->job;
    if (fresh) {
        rota->next_job++;
        intake->job = submit_job(rota, intake);
    }
    intake->apart = all_apart(rota, intake);
    intake->plain = intake->apart && !intake->extras;
    batch_row batch = submit_rows(rota, intake);
    BATCH(rota, batch)->spec = intake->spec;
    if (intake->spec->last) JOB(rota, intake->job)->state = ROTA_JOB_LAST;
    job_mark(rota, intake->job);
    effect_mark(rota, ROTA_RECORD_SUBMIT, batch);
    effect_core(rota);
    rota->last_job = intake->job;
    accept(rota, intake->job, intake->first);
    job_look_at(rota, intake->job);
    trace_say(rota, "job %u gets %u tasks from %u on", intake->job_id, intake->spec->task_count,
              intake->first);
    if (intake->plain)
        admit_plain(rota, intake);
    else if (intake->apart)
        admit_apart(rota, intake);
    else
        admit_tasks(rota, intake);
    if (intake->policy == ROTA_POLICY_PLAN && intake->spec->task_count) plan_news(rota, 2);
    assert(intake->row && intake->job_id);
}

enum rota_error on_submit(struct rota *rota, const struct rota_event *event)
{
    struct intake intake = {.spec = &event->submit};
    rota->fault = (struct rota_fault){0};
    job_row known = job_again(rota, &event->submit);
    if (known) {
        if (!effect_reserve(rota, 1))
            return refuse(rota, ROTA_NO_MEMORY, "out of memory for the reply");
        accept(rota, known, 1);
        return ROTA_OK;
    }
    enum rota_error error = submit_verify(rota, &intake);
    if (!error) error = submit_reserve(rota, &intake);
    if (!error) error = submit_stage_objects(rota, &intake);
    if (!error) error = submit_order(rota, &intake);
    if (error)
        submit_unstage(rota, &intake);
    else
        apply(rota, &intake);
    submit_release(rota, &intake);
    return error;
}
