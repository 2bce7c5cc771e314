// conditions.c - generates bundles and start conditions, and judges them without the core.
#include "sim/cluster/internal.h"

enum { LEAVES = 3, KINDS = ROTA_CLAUSE_DONE };

// ---- Generating ---------------------------------------------------------------------------------

// Uses only tasks before `below`, so that there is no cycle.
static void condition_make(struct sim *sim, struct expected_task *task, uint32_t below)
{
    uint32_t leaves = 1 + choose(sim, OF_CONDITIONS, LEAVES);
    for (uint32_t i = 0; i < leaves; i++) {
        uint32_t kind = ROTA_CLAUSE_SUCCESS + choose(sim, OF_CONDITIONS, KINDS);
        uint32_t named = 1 + choose(sim, OF_CONDITIONS, below - 1);
        task->when[task->when_count++] = (struct expected_clause){kind, named};
        if (!i) continue;
        bool any = choose(sim, OF_CONDITIONS, 2);
        task->when[task->when_count++].kind = any ? ROTA_CLAUSE_OR : ROTA_CLAUSE_AND;
    }
}

// Adds one bundle after the tasks of the last submission, and after it tasks with a condition on
// the bundle or on any other task.
void when_make(struct sim *sim, struct expected_job *job, uint32_t more, uint32_t lane)
{
    uint32_t from = job->first < job->count ? job->first : 0, bundle = job->count + 1;
    for (uint32_t i = from; i < job->count; i++) {
        if (choose(sim, OF_CONDITIONS, 2)) job->tasks[i].bundle = bundle;
        if (i && choose(sim, OF_CONDITIONS, 4) == 1) condition_make(sim, &job->tasks[i], i + 1);
    }
    if (!from) job->first += more;
    job->count += more;
    job->tasks[bundle - 1].is_bundle = true;
    for (uint32_t i = bundle; i < job->count; i++) {
        struct expected_task *task = &job->tasks[i];
        sim_expected_task_make(sim, task, lane);
        condition_make(sim, task, i + 1);
        if (choose(sim, OF_CONDITIONS, 2)) task->when[0].task = bundle;
    }
}

// ---- Evaluating ---------------------------------------------------------------------------------

typedef bool clause_fn(const void *context, const struct expected_job *job,
                       const struct expected_clause *clause);

// From left to right. An empty condition is true.
static bool value_of(const struct expected_job *job, const struct expected_task *task,
                     clause_fn *ask, const void *context)
{
    bool stack[EXPECTED_CLAUSES] = {true};
    uint32_t height = 0;
    for (uint32_t i = 0; i < task->when_count; i++) {
        const struct expected_clause *clause = &task->when[i];
        bool is_and = clause->kind == ROTA_CLAUSE_AND, is_or = clause->kind == ROTA_CLAUSE_OR;
        if (!is_and && !is_or) {
            stack[height++] = ask(context, job, clause);
            continue;
        }
        bool right = stack[--height], left = stack[height - 1];
        stack[height - 1] = is_and ? left && right : left || right;
    }
    return stack[0];
}

// It failed at least once and has used all its attempts. Lost attempts count, too.
static bool has_failed(const struct expected_job *job, const struct expected_task *task)
{
    bool bad = task->failed || task->unstarted;
    return bad && (task->given > task->retries || job->claims);
}

// A condition of a task before it may have kept it from running although nothing failed.
bool when_may_leave_out(const struct expected_job *job, const struct expected_task *task)
{
    bool left_out = task->when_count || task->is_bundle;
    for (uint32_t i = 0; i < task->need_count && !left_out; i++)
        left_out = when_may_leave_out(job, &job->tasks[task->needs[i] - 1]);
    return left_out;
}

static bool bundle_was(const struct expected_job *job, const struct expected_clause *clause)
{
    bool all = true, trouble = false;
    for (uint32_t i = 0; i < job->count; i++) {
        const struct expected_task *task = &job->tasks[i];
        trouble |= task->given > task->successes || task->starts > task->successes
                   || task->asked_off;
        if (task->bundle != clause->task) continue;
        all &= task->successes || when_may_leave_out(job, task);
    }
    switch (clause->kind) {
    case ROTA_CLAUSE_SUCCESS: return all;
    case ROTA_CLAUSE_FAILED: return trouble;
    default: return all || trouble;
    }
}

// Whether the condition can have been true at some time, given what really happened.
static bool clause_was(const void *context, const struct expected_job *job,
                       const struct expected_clause *clause)
{
    (void)context;
    const struct expected_task *task = &job->tasks[clause->task - 1];
    if (task->is_bundle) return bundle_was(job, clause);
    switch (clause->kind) {
    case ROTA_CLAUSE_SUCCESS: return task->successes;
    case ROTA_CLAUSE_FAILED: return has_failed(job, task);
    default: return task->given || task->starts || task->asked_off;
    }
}

bool when_was_true(const struct expected_job *job, const struct expected_task *task)
{
    return value_of(job, task, clause_was, NULL);
}

static enum rota_task_state state_of(const struct sim *sim, const struct expected_job *job,
                                     uint32_t number)
{
    return rota_task_state(sim->daemon.server.rota, (rota_task_id){job->number, number});
}

static bool is_bad(enum rota_task_state state)
{
    return state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED;
}

static bool clause_is(const void *context, const struct expected_job *job,
                      const struct expected_clause *clause)
{
    enum rota_task_state state = state_of(context, job, clause->task);
    switch (clause->kind) {
    case ROTA_CLAUSE_SUCCESS: return state == ROTA_TASK_SUCCEEDED;
    case ROTA_CLAUSE_FAILED: return state == ROTA_TASK_FAILED;
    default: return state == ROTA_TASK_SUCCEEDED || is_bad(state);
    }
}

bool when_is_true(const struct sim *sim, const struct expected_job *job,
                  const struct expected_task *task)
{
    return value_of(job, task, clause_is, sim);
}

// ---- Bundles -----------------------------------------------------------------------------------

// How certain it is that a failure is the reason why a task is blocked. It may be blocked although
// nothing failed, and whether a lost copy is missed can only be known inside the server.
enum hurt { NOT_HURT, MAYBE_HURT, HURT };

static enum hurt hurt_of(const struct sim *sim, const struct expected_job *job, uint32_t number);

static enum hurt clauses_hurt(const struct sim *sim, const struct expected_job *job,
                              const struct expected_task *task)
{
    enum hurt most = NOT_HURT;
    for (uint32_t i = 0; i < task->when_count && !when_is_true(sim, job, task); i++) {
        enum hurt hurt = task->when[i].task ? hurt_of(sim, job, task->when[i].task) : NOT_HURT;
        if (hurt > most) most = hurt;
    }
    return most;
}

// A lost result is made again only if the condition of its task still holds.
static enum hurt need_hurt(const struct sim *sim, const struct expected_job *job,
                           const struct expected_task *task, uint32_t need)
{
    uint32_t number = task->needs[need];
    const struct expected_task *maker = &job->tasks[number - 1];
    bool reads = task->reads >> need & 1 || task->reads_stream;  // a stream is lost with its reader
    bool lost = reads && maker->was_lost && state_of(sim, job, number) == ROTA_TASK_SUCCEEDED;
    for (uint32_t i = 0; lost && i < maker->need_count; i++)
        if (need_hurt(sim, job, maker, i)) return MAYBE_HURT;
    if (lost && clauses_hurt(sim, job, maker)) return MAYBE_HURT;
    return hurt_of(sim, job, number);
}

static enum hurt hurt_of(const struct sim *sim, const struct expected_job *job, uint32_t number)
{
    const struct expected_task *task = &job->tasks[number - 1];
    enum rota_task_state state = state_of(sim, job, number);
    enum hurt most = NOT_HURT;
    if (state != ROTA_TASK_BLOCKED) return is_bad(state) ? HURT : NOT_HURT;
    for (uint32_t i = 0; i < task->need_count; i++) {
        enum hurt hurt = need_hurt(sim, job, task, i);
        if (hurt > most) most = hurt;
    }
    enum hurt hurt = clauses_hurt(sim, job, task);
    return hurt > most ? hurt : most;
}

// At the end, a bundle has succeeded, unless a member was allowed to fail.
void judge_bundle(struct sim *sim, const struct expected_job *job, uint32_t index)
{
    enum rota_task_state state = state_of(sim, job, index + 1);
    enum hurt most = NOT_HURT;
    for (uint32_t i = 0; i < job->count; i++) {
        bool is_member = job->tasks[i].bundle == index + 1;
        enum hurt hurt = is_member ? hurt_of(sim, job, i + 1) : NOT_HURT;
        if (hurt > most) most = hurt;
    }
    see(sim, state == ROTA_TASK_FAILED ? SIGHT_BUNDLE_BAD : SIGHT_BUNDLE_GOOD);
    bool may_fail = most != NOT_HURT, may_succeed = most != HURT;
    bool right = (state == ROTA_TASK_FAILED && may_fail)
                 || (state == ROTA_TASK_SUCCEEDED && may_succeed);
    if (right) return;
    states_say(sim, job);
    wrong(sim, "bundle %u.%u is %s, which contradicts its members", job->number, index + 1,
          rota_task_state_name(state));
}
