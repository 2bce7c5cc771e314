// view.c - queries: the state of a task, of a lane, and a snapshot of all jobs.
#include "pool/pool.h"

#include <stdlib.h>

enum rota_task_state rota_pool_state(struct rota_pool *pool, rota_task_id task)
{
    pool_enter(pool);
    turn_gather(pool);
    struct job *job = pool_job_find(pool, task.job);
    enum rota_task_state state = ROTA_TASK_NONE;
    if (job && task.task && task.task <= job->task_count) {
        if (job->plain) state = plain_state(pool, job, task.task);
        else state = job->walked ? ROTA_TASK_SUCCEEDED : rota_task_state(pool->rota, task);
    }
    pool_leave(pool);
    return state;
}

bool rota_pool_is_stopping(struct rota_pool *pool, rota_task_id task)
{
    pool_enter(pool);
    bool stopping = map_find(&pool->stopping, task_key(task));
    pool_leave(pool);
    return stopping;
}

bool rota_pool_lane_look(struct rota_pool *pool, uint32_t lane, int32_t *counter, uint32_t *groups,
                         uint32_t max, uint32_t *group_count)
{
    pool_enter(pool);
    turn_gather(pool);
    bool there = rota_lane_counter(pool->rota, lane, counter);
    *group_count = there ? rota_lane_groups(pool->rota, lane, groups, max) : 0;
    pool_leave(pool);
    return there;
}

// ---- Snapshot -------------------------------------------------------------------------------

static uint32_t blocked_fill(const struct rota *rota, const rota_task_id *tasks, uint32_t count,
                             struct rota_pool_blocked *out, rota_task_id *blockers)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t some = rota_blockers(rota, tasks[i], blockers, blockers ? UINT32_MAX : 0);
        for (uint32_t j = 0; out && j < some; j++)
            out[sum + j] = (struct rota_pool_blocked){tasks[i], blockers[j]};
        sum += some;
    }
    return sum;
}

// Memory is reserved first, for one more than needed, so that an empty list is not null.
static bool look(const struct rota *rota, struct rota_pool_snapshot *out)
{
    uint32_t available = rota_list(rota, ROTA_LIST_AVAILABLE, (rota_worker_id){0}, NULL, 0);
    uint32_t blocked = rota_list(rota, ROTA_LIST_BLOCKED, (rota_worker_id){0}, NULL, 0);
    rota_task_id *tasks = calloc((size_t)blocked + 1, sizeof *tasks), *blockers = NULL;
    out->available = calloc((size_t)available + 1, sizeof *out->available);
    if (tasks && out->available) {
        rota_list(rota, ROTA_LIST_BLOCKED, (rota_worker_id){0}, tasks, blocked);
        uint32_t pairs = blocked_fill(rota, tasks, blocked, NULL, NULL);
        blockers = calloc((size_t)pairs + 1, sizeof *blockers);
        out->blocked = calloc((size_t)pairs + 1, sizeof *out->blocked);
    }
    if (blockers && out->blocked) {
        out->available_count = rota_list(rota, ROTA_LIST_AVAILABLE, (rota_worker_id){0},
                                         out->available, available);
        out->blocked_count = blocked_fill(rota, tasks, blocked, out->blocked, blockers);
    }
    bool good = blockers && out->blocked;
    free(tasks), free(blockers);
    return good;
}

enum rota_error rota_pool_look(struct rota_pool *pool, struct rota_pool_snapshot *out)
{
    *out = (struct rota_pool_snapshot){0};
    pool_enter(pool);
    turn_gather(pool);
    enum rota_error error = ROTA_OK;
    while (!error && pool->plain_first) error = plain_settle(pool, pool->plain_first);
    if (!error && !look(pool->rota, out)) {
        rota_pool_snapshot_release(out);
        error = pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the lists");
    }
    pool_leave(pool);
    return error;
}

void rota_pool_snapshot_release(struct rota_pool_snapshot *snapshot)
{
    free(snapshot->available);
    free(snapshot->blocked);
    *snapshot = (struct rota_pool_snapshot){0};
}

void rota_pool_check(struct rota_pool *pool)
{
    pool_enter(pool);
    rota_check(pool->rota);
    uint32_t live = 0, out = 0, lanes = 0, tasks = 0, needs = 0;
    for (uint32_t i = 0; i < pool->job_count; i++) {
        const struct job *job = pool->jobs[i];
        live += !job->over && !(job->flags & ROTA_POOL_OPEN);
        out += job->out;
        lanes += job->in_lanes;
        tasks += job->walked ? 0 : job->task_count;
        needs += job->walked ? 0 : job->need_count;
        assert(pool_job_find(pool, job->number) == job);
    }
    assert(live == pool->live);
    assert(out == pool->out);
    assert(lanes == pool->lane_jobs);
    assert(tasks == pool->tasks);
    assert(needs == pool->needs);
    assert(tasks <= pool->tasks_max);
    assert(pool->stopping.count <= out);
    pool_leave(pool);
}
