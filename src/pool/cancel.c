// cancel.c - cancels and retries tasks.
//
// The core would end a claimed task at once. But a running function cannot be interrupted: it is
// told to stop, and keeps its task until it returns; the core learns of it only then.
#include "pool/pool.h"

static bool is_bundle(const struct job *job, uint32_t task)
{
    return job->tasks && job->tasks[task - 1].flags & ROTA_TASK_BUNDLE;
}

static enum rota_error cancel_in_core(struct rota_pool *pool, rota_task_id task)
{
    struct rota_event event = {.kind = ROTA_EVENT_CANCEL, .task = {.task = task}};
    return pool_turn_step(pool, &event);
}

// Takes the task from a server thread that has not started it.
static bool take_back(struct server *server, rota_task_id task)
{
    uint32_t count = atomic_load_explicit(&server->granted_count, memory_order_relaxed);
    struct granted *granted = &server->granted[server->granted_first];
    for (uint32_t i = 0; i < count; i++) {
        if (task_key(granted[i].task) != task_key(task)) continue;
        for (; i + 1 < count; i++) granted[i] = granted[i + 1];
        atomic_store_explicit(&server->granted_count, count - 1, memory_order_relaxed);
        return true;
    }
    return false;
}

enum whose { WHOSE_HANDLER, WHOSE_SERVER, WHOSE_NOBODY };

static bool has_ended(const struct server *server, rota_task_id task)
{
    uint32_t count = atomic_load_explicit(&server->ended_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (task_key(server->ended[i].task) == task_key(task)) return true;
    return false;
}

// Finds out which server or handler has the task; a server thread that runs it is told. All servers
// are locked, because they take tasks from each other.
static enum whose tell_server(struct rota_pool *pool, rota_task_id task)
{
    enum whose whose = WHOSE_HANDLER;
    servers_lock(pool);
    for (uint32_t i = 0; i < pool->server_count && whose == WHOSE_HANDLER; i++) {
        struct server *server = &pool->servers[i];
        bool runs = server->running && task_key(server->task) == task_key(task);
        if (runs) atomic_store_explicit(&server->stopped, true, memory_order_relaxed);
        if (runs || has_ended(server, task)) whose = WHOSE_SERVER;
        else if (take_back(server, task)) whose = WHOSE_NOBODY;
    }
    servers_unlock(pool);
    return whose;
}

static enum rota_error cancel_out(struct rota_pool *pool, struct job *job, rota_task_id task,
                                  enum cancelling cancelling)
{
    if (map_find(&pool->stopping, task_key(task)) && cancelling == CANCEL_ASK)
        return pool_refuse(pool, ROTA_NOT_NOW, "the task is already being stopped");
    if (!map_reserve(&pool->memory, &pool->stopping, 1))
        return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory");
    enum whose whose = tell_server(pool, task);
    if (whose == WHOSE_HANDLER && cancelling == CANCEL_ASK) whose = WHOSE_SERVER;
    if (whose == WHOSE_SERVER) {
        if (!map_find(&pool->stopping, task_key(task)))
            map_put(&pool->stopping, task_key(task), 1);
        return ROTA_OK;
    }
    enum rota_error error = cancel_in_core(pool, task);
    if (error == ROTA_NO_MEMORY && whose == WHOSE_NOBODY) {  // it runs to its end instead
        map_put(&pool->stopping, task_key(task), 1);
        return ROTA_OK;
    }
    if (error) return error;
    map_remove(&pool->stopping, task_key(task));
    pool_job_out_ended(pool, job);
    return ROTA_OK;
}

static enum rota_error cancel_one(struct rota_pool *pool, struct job *job, rota_task_id task,
                                  enum cancelling cancelling)
{
    if (rota_task_state(pool->rota, task) == ROTA_TASK_RUNNING)
        return cancel_out(pool, job, task, cancelling);
    return cancel_in_core(pool, task);
}

enum rota_error cancel_all(struct rota_pool *pool, struct job *job, uint32_t bundle,
                           enum cancelling cancelling)
{
    enum rota_error worst = ROTA_OK;
    for (uint32_t task = 1; task <= job->task_count; task++) {
        if (is_bundle(job, task) || (bundle && job->tasks[task - 1].bundle != bundle)) continue;
        enum rota_error error
            = cancel_one(pool, job, (rota_task_id){job->number, task}, cancelling);
        if (error == ROTA_NO_MEMORY) worst = error;  // others have ended, or are being stopped
    }
    return worst;
}

static enum rota_error find(struct rota_pool *pool, rota_task_id task, struct job **out)
{
    turn_gather(pool);
    struct job *job = *out = pool_job_find(pool, task.job);
    if (!job || job->forgotten || task.task > job->task_count)
        return pool_refuse(pool, ROTA_NOT_FOUND, "no such job or task");
    if (job->plain) return plain_settle(pool, job);
    return job->walked ? pool_refuse(pool, ROTA_NOT_NOW, "it has already ended") : ROTA_OK;
}

enum rota_error rota_pool_cancel(struct rota_pool *pool, rota_task_id task)
{
    struct job *job;
    pool_enter(pool);
    enum rota_error error = find(pool, task, &job);
    if (!error && (!task.task || is_bundle(job, task.task)))
        error = cancel_all(pool, job, task.task, CANCEL_ASK);
    else if (!error)
        error = cancel_one(pool, job, task, CANCEL_ASK);
    turn_take(pool);
    turn_wake(pool);
    pool_leave(pool);
    return error;
}

enum rota_error rota_pool_retry(struct rota_pool *pool, rota_task_id task)
{
    struct job *job;
    struct rota_event event = {.kind = ROTA_EVENT_RETRY, .task = {.task = task}};
    pool_enter(pool);
    enum rota_error error = find(pool, task, &job);
    if (!error && pool->stage != STAGE_OPEN)
        error = pool_refuse(pool, ROTA_NOT_NOW, "the pool is shut");
    if (!error && !client_reserve(pool, job->client, 1))
        error = pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the confirmation");
    if (!error) error = pool_turn_step(pool, &event);
    if (!error) {
        client_expect(pool, job->client, 1);
        pool_job_is_not_over(pool, job);
    }
    turn_take(pool);
    turn_wake(pool);
    pool_leave(pool);
    return error;
}

enum rota_error rota_pool_forget(struct rota_pool *pool, rota_job_id number)
{
    struct job *job;
    pool_enter(pool);
    enum rota_error error = find(pool, (rota_task_id){number.number, 0}, &job);
    bool walked = error == ROTA_NOT_NOW;
    if (!error) error = cancel_all(pool, job, 0, CANCEL_ASK);
    if (!error || walked) {
        pool_job_forget(pool, job);
        error = ROTA_OK;
    }
    turn_take(pool);
    turn_wake(pool);
    pool_leave(pool);
    return error;
}
