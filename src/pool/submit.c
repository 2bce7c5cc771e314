// submit.c - submits jobs: as a plain job if possible, else to the core.
#include "pool/pool.h"

#include <string.h>

// ---- Validation -----------------------------------------------------------------------------

static uint32_t need_count(const struct rota_pool_job *spec)
{
    return spec->need_first ? spec->need_first[spec->task_count] - spec->need_first[0] : 0;
}

static const char *fault_of(const struct rota_pool_job *spec)
{
    if (spec->flags & ~(uint32_t)(ROTA_POOL_OPEN | ROTA_POOL_FORGET)) return "unknown flag";
    if (spec->needs && !spec->need_first)
        return "dependencies are given without the index of each task";
    for (uint32_t i = 0; spec->need_first && i < spec->task_count; i++)
        if (spec->need_first[i] > spec->need_first[i + 1])
            return "the dependencies of a task end before they begin";
    if (!spec->needs && need_count(spec))
        return "the number of dependencies is given, but not the dependencies";
    for (uint32_t i = 0; spec->tasks && i < spec->task_count; i++)
        if (spec->tasks[i].flags & ~(uint32_t)ROTA_TASK_BUNDLE)
            return "a bundle cannot have other flags";
    return NULL;
}

static uint32_t bundle_count(const struct rota_pool_job *spec)
{
    uint32_t count = 0;
    for (uint32_t i = 0; spec->tasks && i < spec->task_count; i++)
        count += spec->tasks[i].flags & ROTA_TASK_BUNDLE;
    return count;
}

static bool has_lanes(const struct rota_pool_job *spec)
{
    for (uint32_t i = 0; spec->tasks && i < spec->task_count; i++)
        if (spec->tasks[i].lane) return true;
    return false;
}

// Plain jobs count, too: so there is room for them in the core when they are settled.
static enum rota_error check_room(struct rota_pool *pool, uint32_t tasks, uint32_t needs)
{
    bool there = pool->tasks + (uint64_t)tasks <= pool->tasks_max
                 && pool->needs + (uint64_t)needs <= pool->needs_max;
    return there ? ROTA_OK
                 : pool_refuse(pool, ROTA_TOO_MANY,
                               "too many tasks or dependencies for the configured limit");
}

// ---- The submission to the core -------------------------------------------------------------

struct draft {
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    uint32_t task_capacity, edge_capacity;
};

static bool draft_reserve(struct rota_pool *pool, struct draft *draft, uint32_t tasks,
                          uint32_t edges)
{
    return ARRAY_RESERVE(&pool->memory, draft->tasks, draft->task_capacity, tasks)
           && ARRAY_RESERVE(&pool->memory, draft->edges, draft->edge_capacity, edges);
}

static struct rota_task_spec task_spec(const struct rota_pool *pool,
                                       const struct rota_pool_job *spec, uint32_t index,
                                       const struct job *job)
{
    static const struct rota_pool_task none;
    const struct rota_pool_task *task = spec->tasks ? &spec->tasks[index] : &none;
    bool serves = pool->server_count && (task->function || spec->function);
    return (struct rota_task_spec){
        .body = (uintptr_t)job,
        .flags = task->flags,
        .bundle = task->bundle,
        .lane = task->lane,
        .group = task->group,
        .machine = serves ? MACHINE_SERVERS : MACHINE_HANDLERS,
        .retries_max = task->retries_max,
        .priority = task->priority,
        .access = task->access};
}

static void draft_fill(const struct rota_pool *pool, struct draft *draft,
                       const struct rota_pool_job *spec, const struct job *job, uint32_t first)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < spec->task_count; i++) {
        draft->tasks[i] = task_spec(pool, spec, i, job);
        if (!spec->need_first) continue;
        for (uint32_t at = spec->need_first[i]; at < spec->need_first[i + 1]; at++)
            draft->edges[edge++] = (struct rota_edge){spec->needs[at], first + i};
    }
}

// ---- The pool's own data --------------------------------------------------------------------

// Once a job has tasks that differ, or grows, each task has its own function here.
static bool tasks_reserve(struct rota_pool *pool, struct job *job, uint64_t count)
{
    return ARRAY_RESERVE(&pool->memory, job->tasks, job->task_capacity, count);
}

static void tasks_keep(struct job *job, const struct rota_pool_job *spec)
{
    for (uint32_t i = 0; job->tasks && i < spec->task_count; i++) {
        struct rota_pool_task *task = &job->tasks[job->task_count + i];
        *task = spec->tasks ? spec->tasks[i] : (struct rota_pool_task){0};
        if (task->function) continue;
        task->function = spec->function;
        task->argument = spec->argument;
    }
    job->bundle_count += bundle_count(spec);
}

static enum rota_error step_submit(struct rota_pool *pool, const struct rota_pool_job *spec,
                                   struct job *job, const struct draft *draft)
{
    uint32_t callable = spec->task_count - bundle_count(spec);
    if (!client_reserve(pool, job->client, callable))
        return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the confirmations");
    struct rota_event event = {
        .kind = ROTA_EVENT_SUBMIT,
        .submit = {.job = {job->number},
                   .client = job->client,
                   .policy = ROTA_POLICY_CLAIM,
                   .first = job->task_count + 1,
                   .last = !(spec->flags & ROTA_POOL_OPEN),
                   .tasks = draft->tasks,
                   .edges = draft->edges,
                   .task_count = spec->task_count,
                   .edge_count = need_count(spec)}};
    bool lanes = has_lanes(spec) && !job->in_lanes;
    bool open = job->number == 0 || job->flags & ROTA_POOL_OPEN;
    pool->accepting = job->number ? NULL : job;
    enum rota_error error = pool_turn_step(pool, &event);
    if (error) {
        pool->accepting = NULL;
        return error;
    }
    client_expect(pool, job->client, callable);
    tasks_keep(job, spec);
    pool_job_grow(pool, job, spec->task_count, need_count(spec));
    job->flags = spec->flags;
    job->in_lanes |= lanes;
    pool->lane_jobs += lanes;
    pool->live += open && event.submit.last;
    return ROTA_OK;
}

// The arrays must exist until their records are taken.
static enum rota_error submit_to_core(struct rota_pool *pool, const struct rota_pool_job *spec,
                                      struct job *job)
{
    bool own = spec->tasks || job->number || spec->flags & ROTA_POOL_OPEN;
    struct draft draft = {0};
    bool there = draft_reserve(pool, &draft, spec->task_count, need_count(spec))
                 && (!own || tasks_reserve(pool, job, (uint64_t)job->task_count
                                                          + spec->task_count));
    enum rota_error error = ROTA_NO_MEMORY;
    if (there) {
        draft_fill(pool, &draft, spec, job, job->task_count + 1);
        error = step_submit(pool, spec, job, &draft);
    } else {
        pool_refuse(pool, error, "out of memory for the tasks");
    }
    turn_take(pool);
    turn_wake(pool);
    ARRAY_RELEASE(&pool->memory, draft.tasks, draft.task_capacity);
    ARRAY_RELEASE(&pool->memory, draft.edges, draft.edge_capacity);
    return error;
}

// To the core a plain job is an open job without tasks.
static enum rota_error submit_plain(struct rota_pool *pool, const struct rota_pool_job *spec,
                                    struct job *job, struct plain *plain)
{
    struct rota_event event
        = {.kind = ROTA_EVENT_SUBMIT, .submit = {.policy = ROTA_POLICY_CLAIM}};
    pool->accepting = job;
    enum rota_error error = pool_turn_step(pool, &event);
    if (error) {
        pool->accepting = NULL;
        return error;
    }
    pool_job_grow(pool, job, spec->task_count, need_count(spec));
    job->flags = spec->flags;
    pool->live++;
    turn_take(pool);
    plain_begin(pool, job, plain);
    return ROTA_OK;
}

static enum rota_error submit_new(struct rota_pool *pool, const struct rota_pool_job *spec,
                                  struct plain *plain)
{
    struct job *job = pool_job_open(pool);
    if (!job) return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for a job");
    job->client = spec->client;
    job->run = (struct run){spec->function, spec->argument};
    enum rota_error error
        = plain ? submit_plain(pool, spec, job, plain) : submit_to_core(pool, spec, job);
    if (error) pool_job_close(pool, job);
    return error;
}

static enum rota_error submit_locked(struct rota_pool *pool, const struct rota_pool_job *spec,
                                     struct plain *plain)
{
    if (pool->stage != STAGE_OPEN)
        return pool_refuse(pool, ROTA_NOT_NOW, "the pool is shut");
    enum rota_error error = check_room(pool, spec->task_count, need_count(spec));
    if (error) return error;
    if (!spec->job.number) return submit_new(pool, spec, plain);
    struct job *job = pool_job_find(pool, spec->job.number);
    if (!job || job->forgotten) return pool_refuse(pool, ROTA_NOT_FOUND, "no such job");
    if (!(job->flags & ROTA_POOL_OPEN))
        return pool_refuse(pool, ROTA_NOT_NOW, "the job is not open");
    return submit_to_core(pool, spec, job);
}

enum rota_error rota_pool_submit(struct rota_pool *pool, const struct rota_pool_job *spec,
                                 rota_task_id *first)
{
    const char *fault = fault_of(spec);
    if (fault) return pool_refuse(pool, ROTA_BAD_EVENT, fault);
    if (spec->task_count > pool->tasks_max)  // before memory is reserved
        return pool_refuse(pool, ROTA_TOO_MANY, "too many tasks for the configured limit");
    struct plain *plain = NULL;
    if (plain_suits(pool, spec) && !(plain = plain_build(pool, spec)))
        return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the tasks");
    pool_enter(pool);
    enum rota_error error = submit_locked(pool, spec, plain);
    if (!error && first) *first = pool->accepted;
    pool_leave(pool);
    if (error) plain_release(pool, plain);
    return error;
}

// No job takes single functions now, or it is full: opens another one.
static enum rota_error add_first(struct rota_pool *pool, struct run run, rota_task_id *id)
{
    struct rota_pool_job spec = {.flags = ROTA_POOL_FORGET};
    struct plain *plain = plain_build_added(pool);
    if (!plain) return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the tasks");
    enum rota_error error = submit_new(pool, &spec, plain);
    if (error) {
        plain_release(pool, plain);
        return error;
    }
    pool->adding = pool_job_find(pool, pool->accepted.job);
    bool added = plain_add(pool, run, id);
    assert(added);
    (void)added;
    return ROTA_OK;
}

enum rota_error rota_pool_add(struct rota_pool *pool, rota_pool_function *function, void *argument,
                              rota_task_id *id)
{
    struct rota_pool_job spec = {
        .flags = ROTA_POOL_FORGET, .task_count = 1, .function = function, .argument = argument};
    if (!pool->server_count || !function) return rota_pool_submit(pool, &spec, id);
    struct run run = {function, argument};
    pool_enter(pool);
    enum rota_error error = pool->stage == STAGE_OPEN
                                ? check_room(pool, 1, 0)
                                : pool_refuse(pool, ROTA_NOT_NOW, "the pool is shut");
    if (!error && !plain_add(pool, run, id)) error = add_first(pool, run, id);
    pool_leave(pool);
    return error;
}

enum rota_error rota_pool_lane(struct rota_pool *pool, uint32_t lane, uint32_t flags)
{
    struct rota_event event = {
        .kind = ROTA_EVENT_LANE, .lane = {.lane = lane, .flags = flags, .patience = ROTA_NEVER}};
    pool_enter(pool);
    enum rota_error error = pool_turn_step(pool, &event);
    turn_take(pool);
    pool_leave(pool);
    return error;
}
