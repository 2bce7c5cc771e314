// open.c - opens, shuts and closes a pool.
#include "pool/pool.h"

#include <string.h>

struct rota_pool_config rota_pool_config_default(void)
{
    return (struct rota_pool_config){.threads = 2, .tasks_max = 100u << 20};
}

// ---- Opening ---------------------------------------------------------------------------

static bool servers_open(struct rota_pool *pool, uint32_t count)
{
    if (!count) return true;
    size_t bytes = count * sizeof *pool->servers + LINE;
    void *raw = pool->memory.resize(pool->memory.context, NULL, 0, bytes);
    if (!raw) return false;
    memset(raw, 0, bytes);
    pool->servers_raw = raw;
    pool->servers = (struct server *)(((uintptr_t)raw + LINE - 1) / LINE * LINE);
    pool->server_count = count;
    for (uint32_t i = 0; i < count; i++) {
        pool->servers[i].pool = pool;
        pool->servers[i].number = i;
        pool->servers[i].batch = 1;
    }
    return true;
}

static bool locks_open(struct rota_pool *pool)
{
    pthread_cond_t *conditions[] = {&pool->work, &pool->offer, &pool->change, &pool->news};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (condition_open(conditions[i])) continue;
        while (i > 0) pthread_cond_destroy(conditions[--i]);
        return false;
    }
    if (!pthread_mutex_init(&pool->lock, NULL)) return true;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        pthread_cond_destroy(conditions[i]);
    return false;
}

static void pool_free(struct rota_pool *pool)
{
    struct memory memory = pool->memory;
    while (pool->plain_first) {
        struct job *job = pool->plain_first;
        pool->plain_first = job->plain->next;
        plain_release(pool, job->plain);
    }
    while (pool->job_count) pool_job_close(pool, pool->jobs[--pool->job_count]);
    ARRAY_RELEASE(&memory, pool->jobs, pool->job_capacity);
    map_release(&memory, &pool->job_by_number);
    map_release(&memory, &pool->stopping);
    client_release_all(pool);
    rota_close(pool->rota);
    if (pool->servers_raw)
        memory.resize(memory.context, pool->servers_raw,
                      pool->server_count * sizeof *pool->servers + LINE, 0);
    memory.resize(memory.context, pool, sizeof *pool, 0);
}

static enum rota_error core_open(struct rota_pool *pool, const struct rota_pool_config *config)
{
    struct rota_config core = rota_config_default();
    core.policy = ROTA_POLICY_CLAIM;
    core.resize = config->resize;
    core.resize_context = config->resize_context;
    core.tasks_max = pool->tasks_max = config->tasks_max;
    pool->needs_max = core.edges_max;
    return rota_open(&core, &pool->rota);
}

static enum rota_error start(struct rota_pool *pool)
{
    for (; pool->started < pool->server_count; pool->started++) {
        struct server *server = &pool->servers[pool->started];
        if (!pthread_create(&server->thread, NULL, server_main, server)) continue;
        rota_pool_close(pool);
        return ROTA_NO_MEMORY;
    }
    return ROTA_OK;
}

enum rota_error rota_pool_open(const struct rota_pool_config *config, struct rota_pool **out)
{
    *out = NULL;
    struct memory memory
        = {config->resize ? config->resize : memory_resize_heap, config->resize_context};
    struct rota_pool *pool = memory.resize(memory.context, NULL, 0, sizeof *pool);
    if (!pool) return ROTA_NO_MEMORY;
    memset(pool, 0, sizeof *pool);
    pool->memory = memory;
    pool->reason = "";
    pool->core_priority = INT32_MIN;
    enum rota_error error = core_open(pool, config);
    if (!error && (!servers_open(pool, config->threads) || !locks_open(pool)))
        error = ROTA_NO_MEMORY;
    if (error) {
        pool_free(pool);
        return error;
    }
    error = start(pool);
    if (!error) *out = pool;
    return error;
}

// ---- Shutting -------------------------------------------------------------------------------

// No more tasks will be added: an open job ends when its tasks have ended.
static enum rota_error seal_all(struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->job_count; i++) {
        struct job *job = pool->jobs[i];
        if (!(job->flags & ROTA_POOL_OPEN)) continue;
        struct rota_event event = {.kind = ROTA_EVENT_SUBMIT,
                                   .submit = {.job = {job->number},
                                              .client = job->client,
                                              .policy = ROTA_POLICY_CLAIM,
                                              .first = job->task_count + 1,
                                              .last = true}};
        enum rota_error error = pool_turn_step(pool, &event);
        if (error) return error;
        job->flags &= ~(uint32_t)ROTA_POOL_OPEN;
        pool->live++;
    }
    turn_take(pool);
    return ROTA_OK;
}

static enum rota_error stop_all(struct rota_pool *pool)
{
    enum rota_error error = ROTA_OK;
    while (!error && pool->plain_first) error = plain_settle(pool, pool->plain_first);
    for (uint32_t i = 0; !error && i < pool->job_count; i++)
        error = cancel_all(pool, pool->jobs[i], 0, CANCEL_TAKE);
    turn_take(pool);
    turn_wake(pool);
    return error;
}

static void wake_all(struct rota_pool *pool)
{
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->offer);
    pthread_cond_broadcast(&pool->change);
    pthread_cond_broadcast(&pool->news);
}

static enum rota_error shut(struct rota_pool *pool, enum rota_pool_ending ending,
                            rota_time deadline)
{
    if (pool->stage == STAGE_OPEN) pool->stage = STAGE_SHUT;
    turn_gather(pool);
    enum rota_error error = seal_all(pool);
    if (!error && ending == ROTA_POOL_STOP) error = stop_all(pool);
    wake_all(pool);
    if (error) return error;
    if (!pool_wait_all(pool, deadline))
        return pool_refuse(pool, ROTA_NOT_NOW, "there are tasks that have not ended");
    return ROTA_OK;
}

// A server thread would wait for itself.
static bool is_server(const struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->started; i++)
        if (pthread_equal(pool->servers[i].thread, pthread_self())) return true;
    return false;
}

enum rota_error rota_pool_shut(struct rota_pool *pool, enum rota_pool_ending ending,
                               rota_time timeout)
{
    if (is_server(pool))
        return pool_refuse(pool, ROTA_BAD_EVENT, "a function of the pool cannot shut it");
    rota_time deadline = deadline_after(timeout);
    pool_enter(pool);
    enum rota_error error = shut(pool, ending, deadline);
    pool_leave(pool);
    return error;
}

void rota_pool_close(struct rota_pool *pool)
{
    if (!pool) return;
    assert(!is_server(pool));
    while (rota_pool_shut(pool, ROTA_POOL_STOP, ROTA_NEVER)) continue;
    pthread_mutex_lock(&pool->lock);
    pool->stage = STAGE_QUIT;
    wake_all(pool);
    while (pool->inside) wait_until(&pool->news, &pool->lock, ROTA_NEVER);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->started; i++) pthread_join(pool->servers[i].thread, NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->offer);
    pthread_cond_destroy(&pool->change);
    pthread_cond_destroy(&pool->news);
    pthread_mutex_destroy(&pool->lock);
    pool_free(pool);
}
