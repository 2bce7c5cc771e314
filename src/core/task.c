// task.c - tasks: their ids, their states, and the one function that changes a state.
#include "core/core.h"

#define S(name) ROTA_TASK_##name

// The next state of a task, by its state and the cause. Other transitions are impossible.
static const uint8_t moves[ROTA_TASK_STATES][TASK_CAUSES] = {
    [S(NONE)] = {[CAUSE_DEFINED] = S(IDLE),
                 [CAUSE_ADMITTED] = S(QUEUED),
                 [CAUSE_UNMET] = S(WAITING),
                 [CAUSE_DOOMED] = S(BLOCKED),
                 [CAUSE_OFFERED] = S(OFFERED),
                 [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                 [CAUSE_STARTED] = S(RUNNING)},
    [S(IDLE)] = {[CAUSE_STAGED] = S(STAGED),
                 [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                 [CAUSE_FAILED] = S(FAILED),
                 [CAUSE_RESET] = S(IDLE),
                 [CAUSE_FROZEN] = S(FROZEN),
                 [CAUSE_ABORTED] = S(ABORTED),
                 [CAUSE_STARTED] = S(RUNNING)},
    [S(STAGED)] = {[CAUSE_ADMITTED] = S(QUEUED), [CAUSE_ABORTED] = S(ABORTED)},
    [S(QUEUED)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                   [CAUSE_OFFERED] = S(OFFERED),
                   [CAUSE_UNMET] = S(WAITING),
                   [CAUSE_DOOMED] = S(BLOCKED),
                   [CAUSE_MET] = S(READY),
                   [CAUSE_ABORTED] = S(ABORTED)},
    [S(WAITING)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                    [CAUSE_OFFERED] = S(OFFERED),
                    [CAUSE_MET] = S(READY),
                    [CAUSE_DOOMED] = S(BLOCKED),
                    [CAUSE_ABORTED] = S(ABORTED)},
    [S(BLOCKED)] = {[CAUSE_STAGED] = S(STAGED),
                    [CAUSE_NOT_REMADE] = S(SUCCEEDED),
                    [CAUSE_OFFERED] = S(OFFERED),
                    [CAUSE_UNMET] = S(WAITING),
                    [CAUSE_MET] = S(READY),
                    [CAUSE_ABORTED] = S(ABORTED)},
    [S(READY)] = {[CAUSE_HELD] = S(HELD), [CAUSE_OFFERED] = S(OFFERED)},
    [S(HELD)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                 [CAUSE_OFFERED] = S(OFFERED),
                 [CAUSE_UNMET] = S(WAITING),
                 [CAUSE_ABORTED] = S(ABORTED)},
    [S(OFFERED)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                    [CAUSE_SHARED] = S(SHARED),
                    [CAUSE_ASSIGNED] = S(ASSIGNED),
                    [CAUSE_CLAIMED] = S(RUNNING),
                    [CAUSE_UNMET] = S(WAITING),
                    [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                    [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_ABORTED] = S(ABORTED)},
    [S(SHARED)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                   [CAUSE_OFFERED] = S(OFFERED),
                   [CAUSE_ASSIGNED] = S(ASSIGNED),
                   [CAUSE_CLAIMED] = S(RUNNING),
                   [CAUSE_UNMET] = S(WAITING),
                   [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                   [CAUSE_FAILED] = S(FAILED),
                   [CAUSE_ABORTED] = S(ABORTED)},
    [S(ASSIGNED)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                     [CAUSE_STARTED] = S(RUNNING),
                     [CAUSE_RETURNED] = S(READY),
                     [CAUSE_UNMET] = S(WAITING),
                     [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                     [CAUSE_FAILED] = S(FAILED),
                     [CAUSE_ABORTED] = S(ABORTED)},
    [S(RUNNING)] = {[CAUSE_NOT_REMADE] = S(SUCCEEDED),
                    [CAUSE_RETURNED] = S(READY),
                    [CAUSE_UNMET] = S(WAITING),
                    [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                    [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_ABORTED] = S(ABORTED)},
    [S(SUCCEEDED)] = {[CAUSE_STAGED] = S(STAGED),
                      [CAUSE_AGAIN] = S(QUEUED),
                      [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                      [CAUSE_FAILED] = S(FAILED),
                      [CAUSE_RESET] = S(IDLE),
                      [CAUSE_FROZEN] = S(FROZEN),
                      [CAUSE_STARTED] = S(RUNNING)},
    [S(FAILED)] = {[CAUSE_STAGED] = S(STAGED),
                   [CAUSE_CLAIMED] = S(RUNNING),
                   [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                   [CAUSE_FAILED] = S(FAILED),
                   [CAUSE_RESET] = S(IDLE),
                   [CAUSE_FROZEN] = S(FROZEN),
                   [CAUSE_STARTED] = S(RUNNING)},
    [S(ABORTED)] = {[CAUSE_STAGED] = S(STAGED),
                    [CAUSE_CLAIMED] = S(RUNNING),
                    [CAUSE_SUCCEEDED] = S(SUCCEEDED),
                    [CAUSE_FAILED] = S(FAILED),
                    [CAUSE_RESET] = S(IDLE),
                    [CAUSE_FROZEN] = S(FROZEN)},
    [S(FROZEN)] = {[CAUSE_SUCCEEDED] = S(SUCCEEDED),
                   [CAUSE_FAILED] = S(FAILED),
                   [CAUSE_RESET] = S(IDLE),
                   [CAUSE_FROZEN] = S(FROZEN)},
};

#define LOST (NEED_DEAD | NEED_REAL)

const struct task_look task_looks[ROTA_TASK_STATES] = {
    [S(STAGED)] = {CLASS_ACTIVE, 0},
    [S(QUEUED)] = {CLASS_ACTIVE, 0},
    [S(WAITING)] = {CLASS_ACTIVE, 0},
    [S(BLOCKED)] = {CLASS_STUCK, LOST},
    [S(READY)] = {CLASS_ACTIVE, 0},
    [S(HELD)] = {CLASS_ACTIVE, 0},
    [S(OFFERED)] = {CLASS_ACTIVE, 0},
    [S(SHARED)] = {CLASS_ACTIVE, 0},
    [S(ASSIGNED)] = {CLASS_ACTIVE, 0},
    [S(RUNNING)] = {CLASS_ACTIVE, 0},
    [S(SUCCEEDED)] = {CLASS_SUCCEEDED, NEED_MET},
    [S(FAILED)] = {CLASS_FAILED, LOST},
    [S(ABORTED)] = {CLASS_ABORTED, LOST},
    [S(FROZEN)] = {CLASS_NONE, NEED_MET},
};

struct task_look task_look_special(const struct task *task)
{
    if (task->flags & TASK_AGAIN) return (struct task_look){CLASS_SUCCEEDED, NEED_MET};
    bool blocked = task->state == ROTA_TASK_BLOCKED;
    return blocked ? (struct task_look){CLASS_BLOCKED_UNFAILED, NEED_DEAD}
                   : task_looks[task->state];
}

bool rota_task_may_move(enum rota_task_state from, enum rota_task_state to)
{
    assert(from < ROTA_TASK_STATES && to < ROTA_TASK_STATES);
    for (int cause = 0; cause < TASK_CAUSES; cause++)
        if (moves[from][cause] == to && to != ROTA_TASK_NONE) return true;
    return false;
}

// A bundle does not count as a task of its job.
static void count_class(struct rota *rota, task_row row, enum task_class from, enum task_class to)
{
    assert(from != to);
    const struct task *task = &rota->task[row];
    if (task->flags & TASK_IS_BUNDLE) return;
    job_row job_at = BATCH(rota, task->batch)->job;
    struct job *job = JOB(rota, job_at);
    job->counts[from] -= from != CLASS_NONE;
    job->counts[to] += to != CLASS_NONE;
    if (job->policy == ROTA_POLICY_PLAN) {
        rota->plan_active -= from == CLASS_ACTIVE;
        rota->plan_active += to == CLASS_ACTIVE;
    }
    // Also if the job was finished until now: its next end is reported again.
    if (job->counts[CLASS_ACTIVE] == 0 || from == CLASS_NONE || job->told)
        job_look_at(rota, job_at);
    if (task->extra && task_extra(rota, row)->bundle)
        bundle_count(rota, task_extra(rota, row)->bundle, from, to);
}

// Flags that each cause removes and adds.
static const struct {
    uint16_t lost, gained;
} flag_changes[TASK_CAUSES] = {
    [CAUSE_AGAIN] = {TASK_UNFAILED, TASK_AGAIN},
    [CAUSE_CLAIMED] = {TASK_UNFAILED, TASK_CLAIMED},
    [CAUSE_NOT_REMADE] = {TASK_ENDING, 0},
    [CAUSE_SUCCEEDED] = {TASK_ENDING, 0},
    [CAUSE_FAILED] = {TASK_ENDING, 0},
    [CAUSE_ABORTED] = {TASK_ENDING, 0},
    [CAUSE_DOOMED] = {TASK_UNFAILED, TASK_UNFAILED},  // unless it is blocked by a failure
    [CAUSE_UNMET] = {TASK_UNFAILED, 0},
    [CAUSE_MET] = {TASK_UNFAILED, 0},
    [CAUSE_OFFERED] = {TASK_UNFAILED, 0},
    [CAUSE_STAGED] = {TASK_UNFAILED, 0},
};

// Until the submission is recorded, its direct consequences need no record of their own.
static bool needs_record(const struct rota *rota, const struct task *task, enum task_cause cause)
{
    if (cause == CAUSE_MET) return false;
    if (task->state > ROTA_TASK_OFFERED || cause == CAUSE_STAGED) return true;
    return !BATCH(rota, task->batch)->spec || EXTRA(rota, task->extra)->clause_count;
}

// The rare parts of a task are in its extra row: a condition, inputs, outputs.
static bool is_followed(const struct extra *extra)
{
    return (extra->verdict != VERDICT_TRUE) | extra->input_count | extra->output_count;
}

static void follow_extra(struct rota *rota, task_row row, enum rota_task_state from,
                         enum task_cause cause)
{
    assert(rota->task[row].extra);
    enum rota_task_state to = (enum rota_task_state)rota->task[row].state;
    if (task_extra(rota, row)->verdict != VERDICT_TRUE) condition_unbind(rota, row);
    if (task_extra(rota, row)->input_count)
        object_inputs_held(rota, row, object_holds_inputs(to) - object_holds_inputs(from));
    if (task_extra(rota, row)->input_count) streams_reader_moved(rota, row, from);
    bool begins = to == ROTA_TASK_RUNNING && from != ROTA_TASK_RUNNING;
    if (begins && task_extra(rota, row)->output_count) streams_begun(rota, row);
    bool failed = from == ROTA_TASK_RUNNING && to != from && cause != CAUSE_SUCCEEDED;
    if (failed && task_extra(rota, row)->output_count) streams_failed(rota, row);
    // Streams exist while their producer runs, readers do not wait for a blocked producer, and a
    // cancel, also of a blocked task, takes back outputs that were reported early.
    bool counts = (from == ROTA_TASK_RUNNING) != (to == ROTA_TASK_RUNNING)
                  || to == ROTA_TASK_SUCCEEDED || to == ROTA_TASK_BLOCKED
                  || to == ROTA_TASK_ABORTED;
    if (counts && task_extra(rota, row)->output_count) object_producer_changed(rota, row);
}

// A transition of a task that others watch, or that has an extra row. A separate function, because
// otherwise every transition would save and restore the registers it needs.
static __attribute__((noinline)) void move_special(struct rota *rota, task_row row,
                                                   enum task_cause cause)
{
    assert(cause < TASK_CAUSES);
    struct task *task = &rota->task[row];
    enum rota_task_state from = (enum rota_task_state)task->state;
    struct task_look before = task_look(task);
    bool real = cause == CAUSE_DOOMED && graph_has_real_cause(rota, row);
    task->state = moves[from][cause];
    assert(task->state != ROTA_TASK_NONE);
    task->flags &= (uint16_t)~flag_changes[cause].lost;
    task->flags |= flag_changes[cause].gained;
    if (real) task->flags &= (uint16_t)~TASK_UNFAILED;
    struct task_look after = task_look(task);
    if (before.class != after.class) count_class(rota, row, before.class, after.class);
    if (needs_record(rota, task, cause)) effect_mark_task(rota, row);
    if (rota->config.trace) trace_move(rota, row, from);
    if (task->extra) {
        follow_extra(rota, row, from, cause);
        after = task_look(task);
    }
    if (before.view != after.view || task->flags & TASK_LINKED)
        graph_tell(rota, row, before.view, after.view);
    bool blocked = from == ROTA_TASK_BLOCKED || task->state == ROTA_TASK_BLOCKED;
    if (blocked && task->flags & TASK_AGAIN) object_producer_changed(rota, row);
}

// The usual transition: the task has only dependents, and they depend only on its end.
void task_move(struct rota *rota, task_row row, enum task_cause cause)
{
    struct task *task = &rota->task[row];
    bool special = task->flags & (TASK_AGAIN | TASK_UNFAILED | TASK_LINKED) || rota->config.trace
                   || cause == CAUSE_DOOMED || cause == CAUSE_AGAIN
                   || is_followed(EXTRA(rota, task->extra));
    if (special) {
        move_special(rota, row, cause);
        return;
    }
    uint8_t from = task->state, to = moves[from][cause];
    assert(to != ROTA_TASK_NONE);
    task->state = to;
    task->flags
        = (uint16_t)((task->flags & ~flag_changes[cause].lost) | flag_changes[cause].gained);
    if (needs_record(rota, task, cause)) effect_mark_task(rota, row);
    struct task_look before = task_looks[from], after = task_looks[to];
    if (before.class != after.class) count_class(rota, row, before.class, after.class);
    if (before.view != after.view) graph_tell(rota, row, before.view, after.view);
}

// New tasks of a plain submission with unmet dependencies: no other row refers to their state, and
// their submission is their record, so task_move() would have nothing else to do.
void task_begin_waiting(struct task *task)
{
    task->state = moves[ROTA_TASK_NONE][CAUSE_UNMET];
}

void task_count_begun(struct rota *rota, job_row row, uint32_t tasks)
{
    assert(IS_ROW(rota->jobs, row));
    JOB(rota, row)->counts[CLASS_ACTIVE] += tasks;
    if (JOB(rota, row)->policy == ROTA_POLICY_PLAN) rota->plan_active += tasks;
    job_look_at(rota, row);
}

// Restores a state from the store: not a transition, so no other row is told.
void task_restore(struct rota *rota, task_row row, enum rota_task_state state, uint16_t flags)
{
    assert(state < ROTA_TASK_STATES);
    struct task *task = &rota->task[row];
    enum task_class from = task_class(task);
    task->state = (uint8_t)state;
    task->flags = flags;
    if (from != task_class(task)) count_class(rota, row, from, task_class(task));
}

bool task_is_over(const struct task *task)
{
    enum rota_task_state state = task_shown(task);
    return state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

bool task_is_starting(const struct task *task)
{
    return task->state == ROTA_TASK_OFFERED || task->state == ROTA_TASK_ASSIGNED
           || task->flags & TASK_STARTING;
}

bool task_is_inside(const struct task *task)
{
    return task->flags & TASK_HAS_LANE && task->state >= ROTA_TASK_OFFERED
           && task->state <= ROTA_TASK_RUNNING;
}

enum rota_policy task_policy(const struct rota *rota, task_row row)
{
    return JOB(rota, task_job(rota, row))->policy;
}

// The batch that contains a task number; all batches except the first are in the sorted list.
static __attribute__((noinline)) batch_row batch_with(const struct rota *rota,
                                                      const struct job *job, uint32_t number)
{
    assert(number > 0 && number <= job->task_count);
    uint32_t low = 0, high = job->later_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (BATCH(rota, job->later[middle])->number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? job->later[low - 1] : job->first_batch;
}

task_row task_find(const struct rota *rota, rota_task_id id)
{
    const struct job *job = JOB(rota, job_find(rota, (rota_job_id){id.job}));
    if (id.task == 0 || id.task > job->task_count) return 0;  // row 0 has no tasks
    batch_row at = job->later_count ? batch_with(rota, job, id.task) : job->first_batch;
    return BATCH(rota, at)->first + (id.task - BATCH(rota, at)->number);
}
