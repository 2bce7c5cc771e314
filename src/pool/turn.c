// turn.c - steps of the core, their effects, and waking threads.
#include "pool/pool.h"

enum rota_error pool_turn_step(struct rota_pool *pool, const struct rota_event *event)
{
    enum rota_error error = rota_step(pool->rota, event);
    return error ? pool_refuse(pool, error, rota_reason(pool->rota)) : ROTA_OK;
}

// ---- Effects -----------------------------------------------------------------------

static void on_accept(struct rota_pool *pool, const struct rota_action *action)
{
    pool->accepted = (rota_task_id){action->accept.job.number, action->accept.first};
    if (pool->accepting) pool_job_add(pool, pool->accepting, action->accept.job.number);
    pool->accepting = NULL;
}

static void on_grant(struct rota_pool *pool, const struct rota_action *action)
{
    struct job *job = (struct job *)(uintptr_t)action->grant.body;
    assert(pool->granted_count < BATCH);
    pool->granted[pool->granted_count++] = (struct granted){
        job, pool_job_run(job, action->grant.task.task), action->grant.task, action->grant.attempt};
    job->out++;
    pool->out++;
}

static void on_job_over(struct rota_pool *pool, const struct rota_action *action)
{
    struct job *job = pool_job_find(pool, action->job_over.job.number);
    if (!job || job->flags & ROTA_POOL_OPEN) return;
    struct rota_pool_sum sum = {action->job_over.succeeded, action->job_over.failed,
                                action->job_over.aborted, 0};
    sum.left = job->task_count - job->bundle_count - sum.succeeded - sum.failed - sum.aborted;
    pool_job_is_over(pool, job, &sum);
}

static bool take_once(struct rota_pool *pool)
{
    struct rota_effects effects = rota_take(pool->rota);
    for (uint32_t i = 0; i < effects.action_count; i++) {
        const struct rota_action *action = &effects.actions[i];
        switch (action->kind) {
        case ROTA_ACTION_ACCEPT: on_accept(pool, action); break;
        case ROTA_ACTION_CONFIRM: client_tell(pool, action); break;
        case ROTA_ACTION_GRANT: on_grant(pool, action); break;
        case ROTA_ACTION_JOB_OVER: on_job_over(pool, action); break;
        default: break;  // the pool does not use other actions
        }
    }
    return effects.record_count || effects.action_count;
}

void turn_take(struct rota_pool *pool)
{
    while (take_once(pool)) continue;
}

void turn_wake(struct rota_pool *pool)
{
    int32_t priority;
    bool there = pool->server_count && rota_claimable(pool->rota, MACHINE_SERVERS, &priority);
    atomic_store_explicit(&pool->core_priority, there ? priority : INT32_MIN,
                          memory_order_relaxed);
    if (there) atomic_fetch_add_explicit(&pool->signals, 1, memory_order_relaxed);
    if (there && atomic_load_explicit(&pool->idle, memory_order_relaxed))
        pthread_cond_signal(&pool->work);
    if (pool->handlers_this) pthread_cond_broadcast(&pool->change);
    if (pool->handlers_any && rota_claimable(pool->rota, MACHINE_HANDLERS, &priority))
        pthread_cond_signal(&pool->offer);
}

// ---- Ends --------------------------------------------------------------------------

static enum rota_error end_stopped(struct rota_pool *pool, struct job *job, rota_task_id task)
{
    struct rota_event cancel = {.kind = ROTA_EVENT_CANCEL, .task = {.task = task}};
    enum rota_error error = rota_step(pool->rota, &cancel);
    if (error) return error;
    map_remove(&pool->stopping, task_key(task));
    pool_job_out_ended(pool, job);
    return ROTA_STALE;
}

static bool may_end(struct rota_pool *pool, const struct rota_event *event)
{
    struct rota_task_view view;
    bool there = rota_task_look(pool->rota, event->claim.task, &view);
    return there && (!view.handler || view.handler == event->claim.handler);
}

// The core retries only lost tasks; the pool retries failed ones, too.
static bool comes_back(const struct rota_pool *pool, const struct job *job, rota_task_id task)
{
    struct rota_task_view view;
    return job->tasks && job->tasks[task.task - 1].retries_max
           && rota_task_look(pool->rota, task, &view) && view.tries <= view.retries_max;
}

enum rota_error turn_end(struct rota_pool *pool, struct job *job, const struct rota_event *given)
{
    struct rota_event copy = *given, *event = &copy;
    rota_task_id task = event->claim.task;
    bool out = rota_task_state(pool->rota, task) == ROTA_TASK_RUNNING;
    bool stopped = out && pool->stopping.count && map_find(&pool->stopping, task_key(task));
    if (stopped && may_end(pool, event)) return end_stopped(pool, job, task);
    if (out && event->kind == ROTA_EVENT_FAIL && comes_back(pool, job, task))
        event->claim.flags |= ROTA_GIVEN_BACK;
    enum rota_error error = rota_step(pool->rota, event);
    if (!error && out) pool_job_out_ended(pool, job);
    return error;
}

// Returns how many ends it reported; an end for which there was no memory stays in the list.
static uint32_t gather_from(struct rota_pool *pool, struct server *server)
{
    uint32_t count = atomic_load_explicit(&server->ended_count, memory_order_relaxed), told = 0;
    for (; told < count; told++) {
        const struct ended *ended = &server->ended[told];
        struct rota_event event
            = {.kind = ended->status ? ROTA_EVENT_FAIL : ROTA_EVENT_DELIVER,
               .claim = {.handler = SERVER_HANDLER, .task = ended->task,
                         .status = ended->status}};
        enum rota_error error = turn_end(pool, ended->job, &event);
        if (error == ROTA_NO_MEMORY) break;
        assert(error == ROTA_OK || error == ROTA_STALE);
    }
    for (uint32_t i = told; i < count; i++) server->ended[i - told] = server->ended[i];
    atomic_store_explicit(&server->ended_count, count - told, memory_order_relaxed);
    return told;
}

bool turn_gather(struct rota_pool *pool)
{
    uint32_t told = 0;
    for (uint32_t i = 0; i < pool->server_count; i++) {
        struct server *server = &pool->servers[i];
        if (!atomic_load_explicit(&server->ended_count, memory_order_acquire)) continue;
        spin_lock(&server->lock);
        told += gather_from(pool, server);
        spin_unlock(&server->lock);
    }
    if (!told) return false;
    turn_take(pool);
    turn_wake(pool);
    return true;
}
