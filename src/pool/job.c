// job.c - jobs of a pool: lookup by number, end, removal.
#include "pool/pool.h"

struct job *pool_job_find(const struct rota_pool *pool, uint32_t number)
{
    uint32_t index = map_find(&pool->job_by_number, number);
    return index ? pool->jobs[index - 1] : NULL;
}

struct job *pool_job_open(struct rota_pool *pool)
{
    bool there = ARRAY_MORE(&pool->memory, pool->jobs, pool->job_count, pool->job_capacity);
    if (!there || !map_reserve(&pool->memory, &pool->job_by_number, 1)) return NULL;
    struct job *job = pool->memory.resize(pool->memory.context, NULL, 0, sizeof *job);
    if (job) *job = (struct job){0};
    return job;
}

void pool_job_close(struct rota_pool *pool, struct job *job)
{
    ARRAY_RELEASE(&pool->memory, job->tasks, job->task_capacity);
    pool->memory.resize(pool->memory.context, job, sizeof *job, 0);
}

void pool_job_add(struct rota_pool *pool, struct job *job, uint32_t number)
{
    job->number = number;
    pool->jobs[pool->job_count++] = job;
    map_put(&pool->job_by_number, number, pool->job_count);
}

void pool_job_grow(struct rota_pool *pool, struct job *job, uint32_t tasks, uint32_t needs)
{
    job->task_count += tasks;
    job->need_count += needs;
    pool->tasks += tasks;
    pool->needs += needs;
}

void pool_job_shrink(struct rota_pool *pool, const struct job *job)
{
    pool->tasks -= job->task_count;
    pool->needs -= job->need_count;
}

// The last job takes its place.
static void job_remove(struct rota_pool *pool, struct job *job)
{
    uint32_t index = map_find(&pool->job_by_number, job->number);
    struct job *last = pool->jobs[--pool->job_count];
    map_remove(&pool->job_by_number, job->number);
    if (last != job) {
        pool->jobs[index - 1] = last;
        map_remove(&pool->job_by_number, last->number);
        map_put(&pool->job_by_number, last->number, index);
    }
    pool->lane_jobs -= job->in_lanes;
    if (!job->walked) pool_job_shrink(pool, job);
    pool_job_close(pool, job);
}

struct run pool_job_run(const struct job *job, uint32_t task)
{
    const struct rota_pool_task *own = job->tasks ? &job->tasks[task - 1] : NULL;
    return own && own->function ? (struct run){own->function, own->argument} : job->run;
}

void pool_job_is_over(struct rota_pool *pool, struct job *job, const struct rota_pool_sum *sum)
{
    job->sum = *sum;
    if (job->over) return;
    job->over = true;
    pool->live--;
    pthread_cond_broadcast(&pool->news);
    if (!pool->live && pool->stage != STAGE_OPEN) {  // no handler will get a task any more
        pthread_cond_broadcast(&pool->offer);
        pthread_cond_broadcast(&pool->change);
    }
    if (job->flags & ROTA_POOL_FORGET) pool_job_forget(pool, job);
}

void pool_job_is_not_over(struct rota_pool *pool, struct job *job)
{
    if (!job->over) return;
    job->over = false;
    pool->live++;
}

static void close_later(struct rota_pool *pool, struct job *job)
{
    job->next_forgotten = pool->forgotten_first;
    pool->forgotten_first = job;
}

void pool_job_forget(struct rota_pool *pool, struct job *job)
{
    if (job->forgotten) return;
    job->forgotten = true;
    if (!job->out) close_later(pool, job);
}

void pool_job_out_ended(struct rota_pool *pool, struct job *job)
{
    job->out--;
    pool->out--;
    if (job->forgotten && !job->out) close_later(pool, job);
}

// The core removes them, too.
void pool_job_close_forgotten(struct rota_pool *pool)
{
    while (pool->forgotten_first) {
        struct job *job = pool->forgotten_first;
        struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {.job = {job->number}}};
        if (rota_step(pool->rota, &event)) return;  // no memory: tried again with the next turn
        pool->forgotten_first = job->next_forgotten;
        if (!job->over && !(job->flags & ROTA_POOL_OPEN)) pool->live--;
        job_remove(pool, job);
        turn_take(pool);
        turn_wake(pool);
        pthread_cond_broadcast(&pool->news);
    }
}
