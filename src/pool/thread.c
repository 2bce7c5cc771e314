// thread.c - a server thread: walks plain jobs, runs functions of the core, and sleeps.
#include "pool/pool.h"

enum {
    QUICK = 50,  // microseconds: after a shorter batch the next one may be larger
    LOOKS = 50,  // before a server sleeps; some ten microseconds
};

struct rota_pool *rota_pool_call_pool(const struct rota_pool_call *call)
{
    return call->pool;
}

rota_task_id rota_pool_call_task(const struct rota_pool_call *call)
{
    return call->task;
}

uint32_t rota_pool_call_thread(const struct rota_pool_call *call)
{
    return call->server->number;
}

bool rota_pool_call_stopped(const struct rota_pool_call *call)
{
    return atomic_load_explicit(&call->server->stopped, memory_order_relaxed);
}

void rota_pool_call_started(const struct rota_pool_call *call)
{
    struct rota_pool *pool = call->pool;
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM_STARTED,
                               .claim = {.handler = SERVER_HANDLER, .task = call->task}};
    pool_enter(pool);
    const struct job *job = pool_job_find(pool, call->task.job);
    if (job && !job->plain) {
        rota_step(pool->rota, &event);
        turn_take(pool);
        turn_wake(pool);
    }
    pool_leave(pool);
}

// ---- Tasks of the core ------------------------------------------------------------------

// Claims several tasks at a time if they are short, no other thread is idle, and no lane has to
// keep its order.
static void claim(struct server *server)
{
    struct rota_pool *pool = server->pool;
    bool several = !pool->lane_jobs && !atomic_load_explicit(&pool->eager, memory_order_relaxed);
    struct rota_event event
        = {.kind = ROTA_EVENT_CLAIM,
           .claim = {.handler = SERVER_HANDLER, .flags = ROTA_STARTS_LATER,
                     .machine = MACHINE_SERVERS}};
    pool->granted_count = 0;
    for (uint32_t i = several ? server->batch : 1; i > 0; i--)
        if (rota_step(pool->rota, &event)) break;
    turn_take(pool);
    spin_lock(&server->lock);
    for (uint32_t i = 0; i < pool->granted_count; i++) server->granted[i] = pool->granted[i];
    server->granted_first = 0;
    atomic_store_explicit(&server->granted_count, pool->granted_count, memory_order_relaxed);
    spin_unlock(&server->lock);
    pool->granted_count = 0;
}

static void count_batching(struct server *server, bool batching)
{
    struct rota_pool *pool = server->pool;
    pool->batching += batching;
    pool->batching -= server->batching;
    server->batching = batching;
    if (batching && pool->clients_asleep) pthread_cond_broadcast(&pool->news);
}

static bool claim_some(struct server *server)
{
    struct rota_pool *pool = server->pool;
    pool_lock(pool);
    turn_gather(pool);
    bool may = pool->stage != STAGE_QUIT && !atomic_load(&server->ended_count);
    if (may) claim(server);
    uint32_t count = atomic_load_explicit(&server->granted_count, memory_order_relaxed);
    count_batching(server, count > 1);
    turn_wake(pool);
    pool_unlock(pool);
    return count > 0;
}

static bool pop(struct server *from, struct granted *out)
{
    uint32_t count = atomic_load_explicit(&from->granted_count, memory_order_relaxed);
    if (!count) return false;
    *out = from->granted[from->granted_first++];
    atomic_store_explicit(&from->granted_count, count - 1, memory_order_relaxed);
    return true;
}

static bool steal(struct server *server, struct server *other)
{
    if (!atomic_load_explicit(&other->granted_count, memory_order_relaxed)) return false;
    struct server *low = server < other ? server : other, *high = server < other ? other : server;
    spin_lock(&low->lock);
    spin_lock(&high->lock);
    bool there = pop(other, &server->granted[0]);
    server->granted_first = 0;
    atomic_store_explicit(&server->granted_count, there, memory_order_relaxed);
    spin_unlock(&high->lock);
    spin_unlock(&low->lock);
    return there;
}

static bool steal_some(struct server *server)
{
    struct rota_pool *pool = server->pool;
    for (uint32_t i = 1; i < pool->server_count; i++)
        if (steal(server, &pool->servers[(server->number + i) % pool->server_count])) return true;
    return false;
}

static bool run_next(struct server *server)
{
    struct granted next;
    spin_lock(&server->lock);
    bool there = pop(server, &next);
    server->running = there ? next.job : NULL;
    if (there) server->task = next.task;
    atomic_store_explicit(&server->stopped, false, memory_order_relaxed);
    spin_unlock(&server->lock);
    if (!there) return false;
    struct rota_pool_call call = {server->pool, server, next.task};
    int status = next.run.function(next.run.argument, &call);
    spin_lock(&server->lock);
    uint32_t count = atomic_load_explicit(&server->ended_count, memory_order_relaxed);
    server->running = NULL;
    server->ended[count] = (struct ended){next.job, next.task, status};
    atomic_store(&server->ended_count, count + 1);
    spin_unlock(&server->lock);
    return true;
}

// A waiting thread does not wait for the rest of the batch.
static void tell_now(struct rota_pool *pool)
{
    if (!atomic_load(&pool->eager)) return;
    pool_lock(pool);
    turn_gather(pool);
    pool_unlock(pool);
}

static bool run_some(struct server *server)
{
    if (!claim_some(server) && !steal_some(server)) return false;
    bool several = atomic_load_explicit(&server->granted_count, memory_order_relaxed) > 1;
    rota_time began = clock_now();
    uint32_t ran = 0;
    for (; run_next(server); ran++)
        if (several) tell_now(server->pool);
    bool quick = clock_now() - began < QUICK;
    if (!quick) server->batch = 1;
    else if (server->batch < BATCH && ran == server->batch) server->batch *= 2;
    return true;
}

// ---- The thread ---------------------------------------------------------------------------

static bool has_granted(const struct rota_pool *pool)
{
    for (uint32_t i = 0; i < pool->server_count; i++)
        if (atomic_load(&pool->servers[i].granted_count)) return true;
    return false;
}

// False: the pool is closed and there is nothing left to do.
static bool rest(struct server *server)
{
    struct rota_pool *pool = server->pool;
    int32_t priority;
    pool_lock(pool);
    atomic_fetch_add(&pool->idle, 1);
    atomic_fetch_add(&pool->eager, 1);
    turn_gather(pool);
    bool more = rota_claimable(pool->rota, MACHINE_SERVERS, &priority) || plain_has_work(pool)
                || has_granted(pool);
    bool left = atomic_load(&server->ended_count);  // there was no memory to report it
    bool quit = pool->stage == STAGE_QUIT && !left;
    if (!more && !quit)
        wait_until(&pool->work, &pool->lock, left ? deadline_after(1000) : ROTA_NEVER);
    atomic_fetch_sub(&pool->idle, 1);
    atomic_fetch_sub(&pool->eager, 1);
    pool_unlock(pool);
    return !quit;  // tasks that could still run were cancelled, or came too late
}

// The next task often comes soon, and falling asleep costs more than polling for a while.
static bool linger(struct server *server)
{
    struct rota_pool *pool = server->pool;
    uint32_t before = atomic_load_explicit(&pool->signals, memory_order_relaxed);
    for (uint32_t i = 0; i < LOOKS; i++) {
        for (uint32_t k = 0; k < 16; k++) spin_pause();
        if (atomic_load_explicit(&pool->signals, memory_order_relaxed) != before) return true;
        for (uint32_t k = 0; k < pool->server_count; k++) {
            const struct server *other = &pool->servers[k];
            if (atomic_load_explicit(&other->tail, memory_order_relaxed)
                != atomic_load_explicit(&other->head, memory_order_relaxed))
                return true;
        }
    }
    return false;
}

void *server_main(void *argument)
{
    struct server *server = argument;
    do
        while (walk_some(server) | run_some(server)) continue;
    while (linger(server) || rest(server));
    return NULL;
}
