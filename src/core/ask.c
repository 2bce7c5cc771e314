// ask.c - answers about jobs and tasks: their state as shown to users, tables, unknown tasks.
#include "core/core.h"

enum rota_task_state rota_task_state(const struct rota *rota, rota_task_id id)
{
    task_row row = task_find(rota, id);
    return row ? task_shown(&rota->task[row]) : ROTA_TASK_NONE;
}

static bool is_out(const struct task *task)
{
    return !(task->flags & TASK_IS_BUNDLE)
           && (task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING);
}

bool rota_task_look(const struct rota *rota, rota_task_id id, struct rota_task_view *view)
{
    task_row row = task_find(rota, id);
    *view = (struct rota_task_view){0};
    if (!row) return false;
    const struct task *task = &rota->task[row];
    bool out = is_out(task);
    view->state = task_shown(task);
    view->outcome = (enum rota_outcome)task->outcome;
    view->attempt = task->attempt;
    view->tries = task->tries;
    view->body = task->body;
    view->retries_max = PROFILE(rota, task->profile)->wants.retries_max;
    if (!out) view->status = task->status;
    if (out && task->worker) {
        view->worker.number = WORKER(rota, task->worker)->id;
        view->run_as = attempt_name(rota, row);
    }
    if (task->state == ROTA_TASK_SHARED)
        view->leader = task_id(rota, task_extra(rota, row)->leader);
    if (task->extra && task_extra(rota, row)->key)
        view->key = OBJECT(rota, task_extra(rota, row)->key)->id;
    view->handler = handler_of(rota, row);
    view->queued = task->flags & TASK_OVERBOOKED;
    view->stopping = task->flags & TASK_STOPPING;
    view->discarded = task->flags & TASK_DISCARDED;
    view->regenerating = task->flags & TASK_AGAIN;
    view->unschedulable = place_unschedulable(rota, row);
    return true;
}

// ---- States as the tables show them ---------------------------------------------------------

static const char *const status_names[ROTA_TASK_STATES] = {
    "",      "IDLE",  "STAGED",  "QUEUED",  "WAITING", "WAITING", "READY",   "READY",
    "READY", "READY", "RUNNING", "RUNNING", "SUCCESS", "FAILED",  "ABORTED", "FROZEN",
};

// A task that shares an execution is in the state of its leader.
static const struct task *leader_of(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    return task->state == ROTA_TASK_SHARED ? &rota->task[task_extra(rota, row)->leader] : task;
}

const char *rota_task_status(const struct rota *rota, rota_task_id id)
{
    task_row row = task_find(rota, id);
    if (!row) return "";
    const struct task *task = &rota->task[row];
    bool shared = task->state == ROTA_TASK_SHARED && !(task->flags & TASK_AGAIN);
    return status_names[shared ? leader_of(rota, row)->state : task_shown(task)];
}

bool rota_job_is_paused(const struct rota *rota, rota_job_id id)
{
    return JOB(rota, job_find(rota, id))->paused;
}

const char *rota_job_status(const struct rota *rota, rota_job_id id)
{
    job_row row = job_find(rota, id);
    if (!row) return "";
    const struct job *job = JOB(rota, row);
    if (job->state == ROTA_JOB_CLOSED) return "CLOSED";
    if (job->state == ROTA_JOB_FAILED) return "FAILED";
    return status_names[counts_state(job->counts, true)];
}

uint32_t rota_job_attempts(const struct rota *rota, rota_job_id id)
{
    job_row row = job_find(rota, id);
    return row ? JOB(rota, row)->out : 0;
}

bool rota_plan_look(const struct rota *rota, rota_task_id id, struct rota_plan_view *view)
{
    static const char *const names[ROTA_TASK_STATES] = {
        [ROTA_TASK_READY] = "Ready",        [ROTA_TASK_HELD] = "Ready",
        [ROTA_TASK_OFFERED] = "Ready",      [ROTA_TASK_SHARED] = "Ready",
        [ROTA_TASK_ASSIGNED] = "Assigned",  [ROTA_TASK_RUNNING] = "Running",
        [ROTA_TASK_SUCCEEDED] = "Finished", [ROTA_TASK_FAILED] = "Failed",
        [ROTA_TASK_ABORTED] = "Failed",
    };
    task_row row = task_find(rota, id);
    *view = (struct rota_plan_view){.state = ""};
    if (!row) return false;
    const struct task *task = &rota->task[row];
    const char *name = names[task_shown(task)];
    view->state = name ? name : "NotAssigned";
    if (is_out(task) && task->worker && !(task->flags & TASK_AGAIN))
        view->assigned.number = view->scheduled.number = WORKER(rota, task->worker)->id;
    bool waits = task->state >= ROTA_TASK_QUEUED && task->state <= ROTA_TASK_OFFERED;
    worker_row bound = waits ? planned_worker(rota, row) : 0;
    if (bound) view->scheduled.number = WORKER(rota, bound)->id;
    if (bound && task->state == ROTA_TASK_OFFERED) view->ready = view->scheduled;
    return true;
}

// ---- Lists ------------------------------------------------------------------------------------

static bool has_failed_need(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    rota_task_id none[1];
    return rota_blockers(rota, task_id(rota, row), none, 0) > 0;
}

static bool is_blocked(const struct rota *rota, task_row row)
{
    return rota->task[row].state == ROTA_TASK_BLOCKED && has_failed_need(rota, row);
}

#define STATE(name) (1u << ROTA_TASK_##name)
#define STATES(first, last) ((2u << ROTA_TASK_##last) - STATE(first))

// Which task states a list contains; some lists leave states out.
static const uint16_t list_states[] = {
    [ROTA_LIST_AVAILABLE] = STATES(READY, RUNNING),
    [ROTA_LIST_FETCHABLE] = STATE(OFFERED),
    [ROTA_LIST_BLOCKED] = STATE(BLOCKED),
    [ROTA_LIST_HELD] = STATE(HELD),
    [ROTA_LIST_OFFERED] = STATE(OFFERED),
    [ROTA_LIST_ASSIGNED] = STATE(ASSIGNED),
    [ROTA_LIST_RUNNING] = STATE(RUNNING),
    [ROTA_LIST_SUCCEEDED] = STATE(SUCCEEDED),
    [ROTA_LIST_FAILED] = STATE(FAILED),
    [ROTA_LIST_ABORTED] = STATE(ABORTED),
    [ROTA_LIST_UNSCHEDULABLE] = STATES(NONE, FROZEN),
    [ROTA_LIST_STAGE] = STATES(STAGED, RUNNING),
    [ROTA_LIST_QUEUE] = STATE(QUEUED),
    [ROTA_LIST_WAIT] = STATES(WAITING, BLOCKED),
    [ROTA_LIST_READY] = STATES(READY, OFFERED),
    [ROTA_LIST_EXEC] = STATES(ASSIGNED, RUNNING),
    [ROTA_LIST_NEAR] = STATE(OFFERED),
    [ROTA_LIST_INPUT] = STATE(OFFERED),
    [ROTA_LIST_GLOBAL] = STATE(OFFERED),
};

static bool in_queues(const struct rota *rota, task_row row, enum rota_list list, worker_row worker)
{
    assert(IS_TASK(rota, row));
    bool queued = task_policy(rota, row) == ROTA_POLICY_PULL && lane_is_next(rota, row)
                  && task_extra(rota, row)->phase != PHASE_NONE;
    if (!queued) return false;
    return pull_offers(rota, row, list == ROTA_LIST_GLOBAL ? 0 : worker, list == ROTA_LIST_INPUT);
}

static bool in_list(const struct rota *rota, task_row row, enum rota_list list, worker_row worker)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    if (list == ROTA_LIST_ALL) return true;
    bool queue = list >= ROTA_LIST_NEAR && list <= ROTA_LIST_GLOBAL;
    bool table = list >= ROTA_LIST_STAGE && list <= ROTA_LIST_UNSTAGE;
    if (task->flags & TASK_AGAIN && !queue) return list == ROTA_LIST_SUCCEEDED;
    if (task->flags & TASK_IS_BUNDLE)
        return list == ROTA_LIST_STAGE && task->state == ROTA_TASK_RUNNING;
    uint8_t state = table ? leader_of(rota, row)->state : task->state;
    if (!(list_states[list] >> state & 1)) return false;
    switch (list) {
    case ROTA_LIST_FETCHABLE: return lane_is_next(rota, row) && !place_is_paused(rota, row);
    case ROTA_LIST_BLOCKED: return has_failed_need(rota, row);
    case ROTA_LIST_UNSCHEDULABLE: return place_unschedulable(rota, row);
    case ROTA_LIST_NEAR:
    case ROTA_LIST_INPUT:
    case ROTA_LIST_GLOBAL: return in_queues(rota, row, list, worker);
    default: return true;
    }
}

// Jobs are listed by id, independent of their rows.
static job_row next_job(const struct rota *rota, uint32_t after)
{
    job_row best = 0;
    for (job_row row = 1; row < rota->jobs.count; row++) {
        uint32_t id = JOB(rota, row)->id;
        if (id > after && (!best || id < JOB(rota, best)->id)) best = row;
    }
    return best;
}

struct listing {
    rota_task_id *out;
    uint32_t count, max;
};

static void list_add(const struct rota *rota, struct listing *listing, task_row row)
{
    assert(IS_TASK(rota, row));
    if (listing->count < listing->max) listing->out[listing->count] = task_id(rota, row);
    listing->count++;
}

// ---- unknown: all dependencies of the task are blocked or unknown ---------------------------

static uint32_t need_count(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    uint32_t count = task[1].before - task->before;
    for (uint32_t i = 0; i < extra->input_count; i++)
        count += OBJECT(rota, rota->use[extra->use_first + i].object)->producer != 0;
    for (uint32_t i = 0; i < extra->clause_count; i++)
        count += rota->clause[extra->clause_first + i].task.job != 0;
    return count;
}

static task_row need_at(const struct rota *rota, task_row row, uint32_t index)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    uint32_t edges = task[1].before - task->before;
    if (index < edges) return rota->link[task->before + index];
    index -= edges;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        task_row producer = OBJECT(rota, rota->use[extra->use_first + i].object)->producer;
        if (producer && index-- == 0) return producer;
    }
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        task_row named = rota->clause[extra->clause_first + i].task.job;
        if (named && index-- == 0) return named;
    }
    return 0;
}

// Depth-first search without recursion. A mark is 1: unknown, 2: not unknown, above 2: the way back
// of a task in progress.
static bool find_unknown(const struct rota *rota, task_row row, uint8_t *marks, task_row *stack)
{
    assert(IS_TASK(rota, row));
    enum { OPEN, UNKNOWN, KNOWN };
    uint32_t height = 0;
    stack[height++] = row;
    while (height) {
        task_row at = stack[height - 1];
        const struct task *task = &rota->task[at];
        bool untouched = (task->state == ROTA_TASK_WAITING || task->state == ROTA_TASK_BLOCKED)
                         && !(task->flags & TASK_AGAIN);
        uint32_t needs = need_count(rota, at);
        if (marks[at] == OPEN && (!untouched || is_blocked(rota, at) || needs == 0))
            marks[at] = KNOWN;
        uint8_t verdict = UNKNOWN;
        for (uint32_t i = 0; marks[at] == OPEN && verdict == UNKNOWN && i < needs; i++) {
            task_row need = need_at(rota, at, i);
            if (is_blocked(rota, need)) continue;
            if (marks[need] == OPEN)
                verdict = OPEN, stack[height++] = need;
            else if (marks[need] == KNOWN)
                verdict = KNOWN;
        }
        if (marks[at] == OPEN) marks[at] = verdict;
        if (marks[at] != OPEN) height -= stack[height - 1] == at;
    }
    return marks[row] == UNKNOWN;
}

static void list_unknown(const struct rota *rota, struct listing *listing)
{
    uint8_t *marks = NULL;
    task_row *stack = NULL;
    uint32_t mark_capacity = 0, stack_capacity = 0;
    bool there = ARRAY_RESERVE(&rota->memory, marks, mark_capacity, rota->task_capacity)
                 && ARRAY_RESERVE(&rota->memory, stack, stack_capacity, rota->task_capacity);
    for (job_row job = next_job(rota, 0); there && job; job = next_job(rota, JOB(rota, job)->id))
        for (task_row row = job_next_task(rota, job, 0); row; row = job_next_task(rota, job, row))
            if (!(rota->task[row].flags & (TASK_IS_BUNDLE | TASK_AGAIN))
                && find_unknown(rota, row, marks, stack))
                list_add(rota, listing, row);
    ARRAY_RELEASE(&rota->memory, marks, mark_capacity);
    ARRAY_RELEASE(&rota->memory, stack, stack_capacity);
}

static void list_job(const struct rota *rota, struct listing *listing, job_row job,
                     enum rota_list list, worker_row worker)
{
    assert(IS_ROW(rota->jobs, job));
    for (batch_row at = JOB(rota, job)->first_batch; at; at = BATCH(rota, at)->next) {
        task_row first = BATCH(rota, at)->first, end = first + BATCH(rota, at)->count;
        for (task_row row = first; row < end; row++)
            if (in_list(rota, row, list, worker)) list_add(rota, listing, row);
    }
}

uint32_t rota_list(const struct rota *rota, enum rota_list list, rota_worker_id worker,
                   rota_task_id *out, uint32_t max)
{
    struct listing listing = {out, 0, max};
    worker_row at = worker.number ? worker_find(rota, worker) : 0;
    if (!at && (list == ROTA_LIST_NEAR || list == ROTA_LIST_INPUT)) return 0;
    if (list == ROTA_LIST_UNKNOWN) {
        list_unknown(rota, &listing);
        return listing.count;
    }
    for (job_row job = next_job(rota, 0); job; job = next_job(rota, JOB(rota, job)->id))
        list_job(rota, &listing, job, list, at);
    return listing.count;
}

static bool made_for(const struct rota *rota, task_row row, task_row other)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[other];
    return task->extra && task->attempt && task->state == rota->task[row].state
           && task_extra(rota, other)->key == task_extra(rota, row)->key;
}

rota_task_id rota_maker(const struct rota *rota, rota_task_id id)
{
    const rota_task_id none = {0, 0};
    task_row row = task_find(rota, id);
    const struct task *task = &rota->task[row];
    if (!row || task->attempt || !task->extra || !task_extra(rota, row)->key) return none;
    if (task->state == ROTA_TASK_SHARED) return task_id(rota, task_extra(rota, row)->leader);
    for (job_row job = next_job(rota, 0); job; job = next_job(rota, JOB(rota, job)->id))
        for (task_row at = job_next_task(rota, job, 0); at; at = job_next_task(rota, job, at))
            if (made_for(rota, row, at)) return task_id(rota, at);
    return none;
}

uint32_t rota_worker_tasks(const struct rota *rota, rota_worker_id worker, rota_task_id *out,
                           uint32_t max)
{
    struct listing listing = {out, 0, max};
    worker_row at = worker_find(rota, worker);
    for (task_row row = at ? WORKER(rota, at)->first : 0; row; row = rota->task[row].next)
        list_add(rota, &listing, row);
    return listing.count;
}

static void add_blocker(const struct rota *rota, struct listing *listing, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    if (task->flags & TASK_AGAIN
        || (task->state != ROTA_TASK_FAILED && task->state != ROTA_TASK_ABORTED))
        return;
    rota_task_id id = task_id(rota, row);
    for (uint32_t i = 0; i < listing->count && i < listing->max; i++)
        if (SAME_TASK(listing->out[i], id)) return;
    list_add(rota, listing, row);
}

uint32_t rota_blockers(const struct rota *rota, rota_task_id id, rota_task_id *out, uint32_t max)
{
    struct listing listing = {out, 0, max};
    task_row row = task_find(rota, id);
    if (!row || rota->task[row].state != ROTA_TASK_BLOCKED) return 0;
    if (rota->task[row].flags & TASK_AGAIN) return 0;
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = task->before; i < task[1].before; i++)
        add_blocker(rota, &listing, rota->link[i]);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        if (object->producer && object->job && !(object->view & NEED_MET))
            add_blocker(rota, &listing, object->producer);
    }
    for (uint32_t i = 0; extra->verdict == VERDICT_DEAD && i < extra->clause_count; i++) {
        task_row named = rota->clause[extra->clause_first + i].task.job;
        if (named) add_blocker(rota, &listing, named);
    }
    return listing.count;
}
