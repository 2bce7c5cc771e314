// task.c - tasks: their names, their states, and the one function that changes a state.
#include "core/core.h"

#define S(name) ROTA_TASK_##name

// Where each cause takes a task. What is not listed cannot happen.
static const uint8_t moves[ROTA_TASK_STATES][TASK_CAUSES] = {
    [S(NONE)] = { [CAUSE_DEFINED] = S(IDLE), [CAUSE_ADMITTED] = S(QUEUED),
                  [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_STARTED] = S(RUNNING) },
    [S(IDLE)] = { [CAUSE_STAGED] = S(STAGED), [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                  [CAUSE_FAILED] = S(FAILED), [CAUSE_RESET] = S(IDLE), [CAUSE_FROZEN] = S(FROZEN),
                  [CAUSE_ABORTED] = S(ABORTED), [CAUSE_STARTED] = S(RUNNING) },
    [S(STAGED)] = { [CAUSE_ADMITTED] = S(QUEUED), [CAUSE_ABORTED] = S(ABORTED) },
    [S(QUEUED)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_UNMET] = S(WAITING), [CAUSE_DOOMED] = S(BLOCKED),
                    [CAUSE_MET] = S(READY), [CAUSE_ABORTED] = S(ABORTED) },
    [S(WAITING)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_MET] = S(READY), [CAUSE_DOOMED] = S(BLOCKED),
                     [CAUSE_ABORTED] = S(ABORTED) },
    [S(BLOCKED)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_UNMET] = S(WAITING), [CAUSE_MET] = S(READY),
                     [CAUSE_ABORTED] = S(ABORTED) },
    [S(READY)] = { [CAUSE_HELD] = S(HELD), [CAUSE_OFFERED] = S(OFFERED) },
    [S(HELD)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_OFFERED] = S(OFFERED), [CAUSE_UNMET] = S(WAITING),
                  [CAUSE_ABORTED] = S(ABORTED) },
    [S(OFFERED)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_SHARED] = S(SHARED), [CAUSE_ASSIGNED] = S(ASSIGNED),
                     [CAUSE_CLAIMED] = S(RUNNING), [CAUSE_UNMET] = S(WAITING),
                     [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                     [CAUSE_ABORTED] = S(ABORTED) },
    [S(SHARED)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_OFFERED] = S(OFFERED), [CAUSE_ASSIGNED] = S(ASSIGNED),
                    [CAUSE_CLAIMED] = S(RUNNING), [CAUSE_UNMET] = S(WAITING),
                    [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_ABORTED] = S(ABORTED) },
    [S(ASSIGNED)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_STARTED] = S(RUNNING), [CAUSE_RETURNED] = S(READY),
                      [CAUSE_UNMET] = S(WAITING), [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                      [CAUSE_FAILED] = S(FAILED), [CAUSE_ABORTED] = S(ABORTED) },
    [S(RUNNING)] = { [CAUSE_LET_BE] = S(SUCCEEDED), [CAUSE_RETURNED] = S(READY), [CAUSE_UNMET] = S(WAITING),
                     [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                     [CAUSE_ABORTED] = S(ABORTED) },
    [S(SUCCEEDED)] = { [CAUSE_STAGED] = S(STAGED), [CAUSE_AGAIN] = S(QUEUED),
                       [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                       [CAUSE_RESET] = S(IDLE), [CAUSE_FROZEN] = S(FROZEN),
                       [CAUSE_STARTED] = S(RUNNING) },
    [S(FAILED)] = { [CAUSE_STAGED] = S(STAGED), [CAUSE_CLAIMED] = S(RUNNING),
                    [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_RESET] = S(IDLE), [CAUSE_FROZEN] = S(FROZEN),
                    [CAUSE_STARTED] = S(RUNNING) },
    [S(ABORTED)] = { [CAUSE_STAGED] = S(STAGED), [CAUSE_CLAIMED] = S(RUNNING),
                     [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                     [CAUSE_RESET] = S(IDLE), [CAUSE_FROZEN] = S(FROZEN) },
    [S(FROZEN)] = { [CAUSE_SUCCEEDED] = S(SUCCEEDED), [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_RESET] = S(IDLE), [CAUSE_FROZEN] = S(FROZEN) },
};

static const uint8_t classes[ROTA_TASK_STATES] = {
    [S(STAGED)] = CLASS_ACTIVE,  [S(QUEUED)] = CLASS_ACTIVE,   [S(WAITING)] = CLASS_ACTIVE,
    [S(BLOCKED)] = CLASS_STUCK,  [S(READY)] = CLASS_ACTIVE,    [S(HELD)] = CLASS_ACTIVE,
    [S(OFFERED)] = CLASS_ACTIVE, [S(SHARED)] = CLASS_ACTIVE,   [S(ASSIGNED)] = CLASS_ACTIVE,
    [S(RUNNING)] = CLASS_ACTIVE, [S(SUCCEEDED)] = CLASS_SUCCEEDED,
    [S(FAILED)] = CLASS_FAILED,  [S(ABORTED)] = CLASS_ABORTED,
};

bool rota_task_may_move(enum rota_task_state from, enum rota_task_state to)
{
    for (int cause = 0; cause < TASK_CAUSES; cause++)
        if (moves[from][cause] == to && to != ROTA_TASK_NONE) return true;
    return false;
}

bool task_may(const struct rota *rota, task_row row, enum task_cause cause)
{
    return moves[rota->task[row].state][cause] != ROTA_TASK_NONE;
}

enum rota_task_state task_shown(const struct task *task)
{
    return task->flags & TASK_AGAIN ? ROTA_TASK_SUCCEEDED : (enum rota_task_state)task->state;
}

enum task_class task_class(const struct task *task)
{
    if (task->flags & TASK_AGAIN) return CLASS_SUCCEEDED;
    if (task->state == ROTA_TASK_BLOCKED && task->flags & TASK_MOOT) return CLASS_MOOT;
    return (enum task_class)classes[task->state];
}

// A bundle is no task of its own: it counts neither in its job nor anywhere.
static void count_class(struct rota *rota, task_row row, enum task_class from, enum task_class to)
{
    const struct task *task = &rota->task[row];
    if (from == to || task->flags & TASK_IS_BUNDLE) return;
    job_row job_at = BATCH(rota, task->batch)->job;
    struct job *job = JOB(rota, job_at);
    if (from != CLASS_NONE) job->counts[from]--;
    if (to != CLASS_NONE) job->counts[to]++;
    if (job->policy == ROTA_POLICY_PLAN) {
        rota->plan_active -= from == CLASS_ACTIVE;
        rota->plan_active += to == CLASS_ACTIVE;
    }
    if (job->counts[CLASS_ACTIVE] == 0 || from == CLASS_NONE) job_look_at(rota, job_at);
    if (task->extra && task_extra(rota, row)->bundle)
        bundle_count(rota, task_extra(rota, row)->bundle, from, to);
}

static void put_state(struct rota *rota, task_row row, enum rota_task_state state, uint16_t flags)
{
    struct task *task = &rota->task[row];
    enum task_class from = task_class(task);
    task->state = (uint8_t)state;
    task->flags = flags;
    count_class(rota, row, from, task_class(task));
}

static uint16_t flags_after(const struct rota *rota, task_row row, enum task_cause cause)
{
    uint16_t flags = rota->task[row].flags;
    switch (cause) {
    case CAUSE_AGAIN: return flags | TASK_AGAIN;
    case CAUSE_LET_BE:
    case CAUSE_SUCCEEDED:
    case CAUSE_FAILED:
    case CAUSE_ABORTED:
        return flags & (uint16_t)~(TASK_AGAIN | TASK_STOPPING | TASK_CLAIMED | TASK_BYPASS |
                                   TASK_MOOT | TASK_OVERBOOKED);
    case CAUSE_DOOMED:
        return graph_has_real_cause(rota, row) ? flags & (uint16_t)~TASK_MOOT : flags | TASK_MOOT;
    case CAUSE_CLAIMED: return flags | TASK_CLAIMED;
    default: return flags & (uint16_t)~TASK_MOOT;
    }
}

// Until its submission is on record, what follows from the submission needs no row of its own.
static bool needs_record(const struct rota *rota, const struct task *task, enum task_cause cause)
{
    if (task->flags & TASK_MARKED || cause == CAUSE_MET) return false;
    bool conditional = task->extra && EXTRA(rota, task->extra)->clause_count;
    return task->state > ROTA_TASK_OFFERED || cause == CAUSE_STAGED || conditional ||
           !BATCH(rota, task->batch)->spec;
}

void task_move(struct rota *rota, task_row row, enum task_cause cause)
{
    struct task *task = &rota->task[row];
    enum rota_task_state from = (enum rota_task_state)task->state;
    enum rota_task_state to = (enum rota_task_state)moves[from][cause];
    assert(to != ROTA_TASK_NONE);
    uint32_t view = graph_view(task);
    put_state(rota, row, to, flags_after(rota, row, cause));
    if (needs_record(rota, task, cause)) effect_mark_task(rota, row);
    if (rota->config.trace) trace_move(rota, row, from);
    if (task->extra) condition_unbind(rota, row);
    if (task->extra && task_extra(rota, row)->input_count)
        object_inputs_held(rota, row, object_holds_inputs(to) - object_holds_inputs(from));
    graph_tell(rota, row, view, graph_view(task));
}

// Rows come back from the store: no move, so nobody is told.
void task_restore(struct rota *rota, task_row row, enum rota_task_state state, uint16_t flags)
{
    put_state(rota, row, state, flags);
}

bool task_is_over(const struct task *task)
{
    enum rota_task_state state = task_shown(task);
    return state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

bool task_is_inside(const struct task *task)
{
    return task->flags & TASK_GATED && task->state >= ROTA_TASK_OFFERED &&
           task->state <= ROTA_TASK_RUNNING;
}

enum rota_policy task_policy(const struct rota *rota, task_row row)
{
    return JOB(rota, task_job(rota, row))->policy;
}

rota_task_id task_id(const struct rota *rota, task_row row)
{
    if (!row) return (rota_task_id){ 0, 0 };
    const struct batch *batch = BATCH(rota, rota->task[row].batch);
    return (rota_task_id){ JOB(rota, batch->job)->id, batch->number + (row - batch->first) };
}

// The batch that holds a task number; every one but the first is in the sorted list.
static batch_row batch_with(const struct rota *rota, const struct job *job, uint32_t number)
{
    uint32_t low = 0, high = job->later_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (BATCH(rota, job->later[middle])->number <= number) low = middle + 1;
        else high = middle;
    }
    return low ? job->later[low - 1] : job->first_batch;
}

task_row task_find(const struct rota *rota, rota_task_id id)
{
    job_row job = job_find(rota, (rota_job_id){ id.job });
    if (!job || id.task == 0 || id.task > JOB(rota, job)->task_count) return 0;
    batch_row at = batch_with(rota, JOB(rota, job), id.task);
    return BATCH(rota, at)->first + (id.task - BATCH(rota, at)->number);
}

bool task_older(const struct rota *rota, task_row a, task_row b)
{
    batch_row one = rota->task[a].batch, other = rota->task[b].batch;
    if (one == other) return a < b;
    return BATCH(rota, one)->sequence < BATCH(rota, other)->sequence;
}
