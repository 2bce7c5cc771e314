// walk.c - server threads walk plain jobs: each has a ring of ready tasks, and steals from others
// when it is empty.
#include "pool/pool.h"

static uint32_t load(const atomic_uint *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(atomic_uint *value, uint32_t number)
{
    atomic_store_explicit(value, number, memory_order_relaxed);
}

// ---- Ready tasks ---------------------------------------------------------------------------

static uint32_t shared_at(const struct plain *plain, uint32_t index)
{
    uint64_t place = plain->ready_first + (uint64_t)index;
    if (place >= plain->capacity) place -= plain->capacity;
    return plain->ready ? plain->ready[place] : (uint32_t)place;
}

// Half of a full ring goes to the shared ring of the job.
static void ring_spill(struct server *server, struct plain *plain)
{
    uint32_t head = load(&server->head);
    spin_lock(&plain->lock);
    uint32_t count = load(&plain->ready_count);
    for (uint32_t i = 0; i < RING / 2; i++) {
        uint64_t place = ((uint64_t)plain->ready_first + count++) % plain->capacity;
        plain->ready[place] = server->ring[head++ % RING];
    }
    store(&plain->ready_count, count);
    spin_unlock(&plain->lock);
    store(&server->head, head);
}

static void ring_push(struct server *server, struct plain *plain, uint32_t task)
{
    uint32_t tail = load(&server->tail);
    if (tail - load(&server->head) == RING) ring_spill(server, plain);
    server->ring[tail % RING] = task;
    store(&server->tail, tail + 1);
}

// Takes a part of the shared ring, and leaves the others their share.
static bool ring_refill(struct server *server)
{
    struct plain *plain = server->job->plain;
    if (!load(&plain->ready_count)) return false;
    spin_lock(&plain->lock);
    uint32_t count = load(&plain->ready_count), tail = load(&server->tail);
    uint32_t some = count / (2 * server->pool->server_count) + 1;
    if (some > CHUNK) some = CHUNK;
    if (some > count) some = count;
    for (uint32_t i = 0; i < some; i++) server->ring[tail++ % RING] = shared_at(plain, i);
    plain->ready_first = (uint32_t)(((uint64_t)plain->ready_first + some) % plain->capacity);
    store(&plain->ready_count, count - some);
    spin_unlock(&plain->lock);
    store(&server->tail, tail);
    return some > 0;
}

// Takes half of the tasks of another server. Both are locked, in the order of their indices.
static bool ring_steal(struct server *server, struct server *other)
{
    if (load(&other->tail) == load(&other->head)) return false;
    struct server *low = server < other ? server : other, *high = server < other ? other : server;
    spin_lock(&low->lock);
    spin_lock(&high->lock);
    uint32_t head = load(&other->head), count = (load(&other->tail) - head + 1) / 2;
    uint32_t tail = load(&server->tail);
    if (count) server->job = other->job;
    for (uint32_t i = 0; i < count; i++) server->ring[tail++ % RING] = other->ring[head++ % RING];
    store(&other->head, head);
    store(&server->tail, tail);
    spin_unlock(&high->lock);
    spin_unlock(&low->lock);
    return count > 0;
}

static bool has_own(struct server *server)
{
    spin_lock(&server->lock);
    bool own = server->job
               && (load(&server->tail) != load(&server->head)
                   || load(&server->job->plain->ready_count));
    spin_unlock(&server->lock);
    return own;
}

static bool find_job(struct server *server)
{
    struct rota_pool *pool = server->pool;
    struct job *found = NULL;
    pool_lock(pool);
    for (struct job *job = pool->plain_first; job; job = job->plain->next)
        if (load(&job->plain->ready_count)) found = job;
    if (found) {
        spin_lock(&server->lock);
        server->job = found;
        spin_unlock(&server->lock);
    }
    pool_unlock(pool);
    return found != NULL;
}

// Finds a job to walk.
static bool walk_find(struct server *server)
{
    struct rota_pool *pool = server->pool;
    if (!atomic_load_explicit(&pool->plain_first, memory_order_relaxed)) return false;
    if (has_own(server)) return true;
    for (uint32_t i = 1; i < pool->server_count; i++)
        if (ring_steal(server, &pool->servers[(server->number + i) % pool->server_count]))
            return true;
    return find_job(server);
}

// ---- Walking -------------------------------------------------------------------------------

// Whether a sleeping server could take the rest. A server that fell asleep since the last check has
// seen the tasks that were in the ring then, so the check is not repeated before those are gone.
static bool others_sleep(struct server *server)
{
    uint32_t head = load(&server->head), tail = load(&server->tail);
    if (head == tail || (int32_t)(server->told - head) > 0) return false;
    server->told = tail;
    atomic_store(&server->tail, tail);  // in one order with `idle`
    return atomic_load(&server->pool->idle) > 0;
}

static void wake_one(struct rota_pool *pool)
{
    pool_lock(pool);
    pthread_cond_signal(&pool->work);
    pool_unlock(pool);
}

// Prefetches what will be touched when later tasks of the ring are delivered. A cache miss of a
// counter costs more here than in a walk without threads: the processor waits at an atomic.
static void fetch_ahead(const struct server *server, const struct plain *plain)
{
    enum { FAR = 12, NEAR = 6, NEXT = 2, MOST = 8 };
    uint32_t head = load(&server->head), count = load(&server->tail) - head;
    if (!plain->after || count <= NEXT) return;
    if (count > FAR) __builtin_prefetch(&plain->after_first[server->ring[(head + FAR) % RING]]);
    if (count > NEAR) {
        uint32_t near = server->ring[(head + NEAR) % RING];
        __builtin_prefetch(&plain->after[plain->after_first[near]]);
    }
    uint32_t next = server->ring[(head + NEXT) % RING];
    uint32_t at = plain->after_first[next], end = plain->after_first[next + 1];
    if (end > at + MOST) end = at + MOST;
    for (; at < end; at++) __builtin_prefetch(&plain->need[plain->after[at]], 1);
}

static void deliver(struct server *server, struct plain *plain, uint32_t task)
{
    store(&plain->need[task], PLAIN_DONE);
    server->done++;
    if (!plain->after) return;
    for (uint32_t at = plain->after_first[task]; at < plain->after_first[task + 1]; at++) {
        uint32_t next = plain->after[at];
        if (atomic_fetch_sub_explicit(&plain->need[next], 1, memory_order_acq_rel) == 1)
            ring_push(server, plain, next);
    }
}

// The task failed, or its job was settled meanwhile: the core has to know.
static void end_in_core(struct server *server, struct job *job, rota_task_id task, int status)
{
    struct rota_pool *pool = server->pool;
    struct rota_event event = {.kind = status ? ROTA_EVENT_FAIL : ROTA_EVENT_DELIVER,
                               .claim = {.handler = SERVER_HANDLER, .task = task,
                                         .status = status}};
    pool_lock(pool);
    enum rota_error error = ROTA_OK;
    do {
        if (error) wait_until(&pool->work, &pool->lock, deadline_after(1000));
        error = job->plain ? plain_settle(pool, job) : ROTA_OK;
        if (!error) error = turn_end(pool, job, &event);
    } while (error == ROTA_NO_MEMORY);
    spin_lock(&server->lock);
    server->running = NULL;
    spin_unlock(&server->lock);
    turn_take(pool);
    turn_wake(pool);
    pool_unlock(pool);
}

// Reports how many tasks of its job a server has done; the last report ends the job.
static void say_done(struct server *server)
{
    struct rota_pool *pool = server->pool;
    struct plain *plain = server->job->plain;
    uint32_t done = server->done, number = server->job->number;
    server->done = 0;
    bool all = done
               && atomic_fetch_add_explicit(&plain->done, done, memory_order_acq_rel) + done
                      == load(&plain->count);
    spin_unlock(&server->lock);
    if (!all) return;
    pool_lock(pool);
    // it may have been settled meanwhile, or removed
    struct job *job = pool_job_find(pool, number);
    bool over = job && job->plain && load(&job->plain->done) == load(&job->plain->count);
    if (over) plain_end(pool, job);  // or a function was added meanwhile
    pool_unlock(pool);
}

// Runs the first task of the ring, unlocked. False: the server no longer has the job.
static bool walk_one(struct server *server)
{
    struct job *job = server->job;
    struct plain *plain = job->plain;
    uint32_t head = load(&server->head), task = server->ring[head % RING];
    store(&server->head, head + 1);
    server->running = job;
    struct rota_pool_call call = {server->pool, server, {job->number, task + 1}};
    struct run run = plain->runs ? plain->runs[task] : job->run;
    server->task = call.task;
    if (rota_pool_call_stopped(&call)) atomic_store(&server->stopped, false);
    fetch_ahead(server, plain);
    bool wake = others_sleep(server);
    spin_unlock(&server->lock);
    if (wake) wake_one(server->pool);
    int status = run.function(run.argument, &call);
    spin_lock(&server->lock);
    if (status || !job->plain) {
        spin_unlock(&server->lock);
        end_in_core(server, job, call.task, status);
        spin_lock(&server->lock);
        return false;
    }
    server->running = NULL;
    deliver(server, plain, task);
    return true;
}

bool walk_some(struct server *server)
{
    if (!walk_find(server)) return false;
    atomic_int *best = &server->pool->core_priority;
    spin_lock(&server->lock);
    bool more = true;
    for (uint32_t ran = 0; more && server->job; ran++) {
        int32_t other = atomic_load_explicit(best, memory_order_relaxed);
        bool there = load(&server->tail) != load(&server->head) || ring_refill(server);
        more = there && other <= 0 && (other < 0 || ran < CHUNK) && walk_one(server);
    }
    if (server->job) say_done(server);
    else spin_unlock(&server->lock);
    return true;
}
