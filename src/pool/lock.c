// lock.c - locks: entering, leaving and waiting in the pool, and the spin locks of server threads.
#include "pool/pool.h"

#include <sched.h>
#include <time.h>

void pool_lock(struct rota_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
}

void pool_unlock(struct rota_pool *pool)
{
    if (pool->forgotten_first) pool_job_close_forgotten(pool);
    pthread_mutex_unlock(&pool->lock);
}

void pool_enter(struct rota_pool *pool)
{
    pool_lock(pool);
    pool->inside++;
}

void pool_leave(struct rota_pool *pool)
{
    pool->inside--;
    if (pool->stage == STAGE_QUIT && !pool->inside) pthread_cond_broadcast(&pool->news);
    pool_unlock(pool);
}

enum rota_error pool_refuse(struct rota_pool *pool, enum rota_error error, const char *reason)
{
    atomic_store_explicit(&pool->reason, reason, memory_order_relaxed);
    return error;
}

const char *rota_pool_reason(const struct rota_pool *pool)
{
    return atomic_load_explicit(&pool->reason, memory_order_relaxed);
}

// ---- Waiting -----------------------------------------------------------------------

rota_time clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (rota_time)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

rota_time deadline_after(rota_time timeout)
{
    if (timeout <= 0) return 0;
    rota_time now = clock_now();
    return timeout > ROTA_NEVER - now ? ROTA_NEVER : now + timeout;
}

bool wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, rota_time deadline)
{
    if (deadline == ROTA_NEVER) return pthread_cond_wait(condition, lock) == 0;
    if (deadline <= clock_now()) return false;
    struct timespec end = {.tv_sec = deadline / 1000000, .tv_nsec = deadline % 1000000 * 1000};
    return pthread_cond_timedwait(condition, lock, &end) == 0;
}

bool condition_open(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes)) return false;
    bool good = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
                && !pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return good;
}

// ---- Servers -----------------------------------------------------------------------

// Held for some hundred instructions; the holder may have been preempted.
void spin_lock(atomic_uint *lock)
{
    for (uint32_t tries = 1; atomic_exchange_explicit(lock, 1, memory_order_acquire); tries++)
        if (tries % 64 == 0) sched_yield();
}

void servers_lock(struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->server_count; i++) spin_lock(&pool->servers[i].lock);
}

void servers_unlock(struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->server_count; i++) spin_unlock(&pool->servers[i].lock);
}
