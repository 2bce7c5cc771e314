// fetch.c - handlers fetch tasks, deliver them or report that they failed.
#include "pool/pool.h"

static enum rota_error delivered(struct rota_pool *pool)
{
    return pool_refuse(pool, ROTA_NOT_NOW, "the task is already delivered");
}

// The job of a task in the core; ended: a plain job that has ended, so all its tasks are delivered.
static enum rota_error find(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                            struct job **out)
{
    if (handler == SERVER_HANDLER)
        return pool_refuse(pool, ROTA_BAD_EVENT, "invalid handler number");
    struct job *job = *out = pool_job_find(pool, task.job);
    if (!job || task.task > job->task_count)
        return pool_refuse(pool, ROTA_NOT_FOUND, "no such task");
    return job->plain ? plain_settle(pool, job) : ROTA_OK;
}

static void fill(struct rota_pool *pool, rota_task_id task, struct rota_pool_grant *out)
{
    struct rota_task_view view = {0};
    struct granted granted = {.task = task};
    if (pool->granted_count) {
        granted = pool->granted[0];
    } else if (rota_task_look(pool->rota, task, &view)) {  // a handler had it, which is allowed
        granted.attempt = view.attempt;
        granted.run = pool_job_run(pool_job_find(pool, task.job), task.task);
    }
    pool->granted_count = 0;
    if (out)
        *out = (struct rota_pool_grant){granted.task, granted.attempt, granted.run.function,
                                        granted.run.argument};
}

static enum rota_error step_claim(struct rota_pool *pool, const struct rota_event *event,
                                  struct job *job)
{
    rota_task_id task = event->claim.task;
    enum rota_task_state state = rota_task_state(pool->rota, task);
    bool again = task.task && event->claim.flags & ROTA_FAILED_OK
                 && (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED);
    if (again && !client_reserve(pool, job->client, 1))
        return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the confirmation");
    pool->granted_count = 0;
    enum rota_error error = pool_turn_step(pool, event);
    if (error || !again) return error;
    client_expect(pool, job->client, 1);
    pool_job_is_not_over(pool, job);
    return ROTA_OK;
}

static enum rota_error fetch_now(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                 uint32_t flags, struct rota_pool_grant *out)
{
    struct job *job = NULL;
    if (task.job || handler == SERVER_HANDLER) {
        enum rota_error error = find(pool, handler, task, &job);
        if (error) return error;
        if (job->forgotten)  // claimed tasks of a forgotten job can still be delivered
            return pool_refuse(pool, ROTA_NOT_FOUND, "no such task");
        if (job->walked) return delivered(pool);
    }
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM,
                               .claim = {.handler = handler,
                                         .task = task,
                                         .flags = (flags & (ROTA_FETCHED_OK | ROTA_FAILED_OK))
                                                  | ROTA_STARTS_LATER,
                                         .machine = task.task ? 0 : MACHINE_HANDLERS}};
    enum rota_error error = step_claim(pool, &event, job);
    turn_take(pool);
    if (!error) fill(pool, task, out);
    turn_wake(pool);
    return error;
}

// Whether a task, any task of a job, or any task at all may become available without a new request.
static bool may_come(const struct rota_pool *pool, rota_task_id task)
{
    if (pool->stage == STAGE_QUIT || (pool->stage == STAGE_SHUT && !pool->live)) return false;
    if (task.task) return rota_task_state(pool->rota, task) < ROTA_TASK_ASSIGNED;
    const struct job *job = pool_job_find(pool, task.job);
    return !task.job || (job && !job->over);
}

static bool wait_for_offer(struct rota_pool *pool, rota_task_id task, rota_time deadline)
{
    uint32_t *waiting = task.job ? &pool->handlers_this : &pool->handlers_any;
    ++*waiting;
    atomic_fetch_add(&pool->eager, 1);
    // Ends that server threads have not reported yet may make a task available.
    bool again = turn_gather(pool)
                 || wait_until(task.job ? &pool->change : &pool->offer, &pool->lock, deadline);
    atomic_fetch_sub(&pool->eager, 1);
    --*waiting;
    return again;
}

enum rota_error rota_pool_fetch(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                uint32_t flags, rota_time timeout, struct rota_pool_grant *grant)
{
    rota_time deadline = deadline_after(timeout);
    pool_enter(pool);
    turn_gather(pool);
    enum rota_error error = fetch_now(pool, handler, task, flags, grant);
    while (error == ROTA_NOT_NOW && timeout > 0 && may_come(pool, task)) {
        if (!wait_for_offer(pool, task, deadline)) break;
        error = fetch_now(pool, handler, task, flags, grant);
    }
    pool_leave(pool);
    return error;
}

static enum rota_error tell(struct rota_pool *pool, const struct rota_event *event)
{
    pool_enter(pool);
    turn_gather(pool);
    struct job *job;
    enum rota_error error = find(pool, event->claim.handler, event->claim.task, &job);
    if (!error && job->walked) {
        bool fine = event->kind == ROTA_EVENT_DELIVER && event->claim.flags & ROTA_DELIVERED_OK;
        error = fine ? ROTA_OK : delivered(pool);
    } else if (!error && event->kind == ROTA_EVENT_CLAIM_STARTED) {
        error = pool_turn_step(pool, event);
    } else if (!error) {
        error = turn_end(pool, job, event);
        if (error == ROTA_STALE) pool_refuse(pool, error, "the task was cancelled");
        else if (error) pool_refuse(pool, error, rota_reason(pool->rota));
    }
    turn_take(pool);
    turn_wake(pool);
    pool_leave(pool);
    return error;
}

enum rota_error rota_pool_started(struct rota_pool *pool, uint64_t handler, rota_task_id task)
{
    struct rota_event event
        = {.kind = ROTA_EVENT_CLAIM_STARTED, .claim = {.handler = handler, .task = task}};
    return tell(pool, &event);
}

enum rota_error rota_pool_deliver(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                                  uint32_t flags)
{
    struct rota_event event
        = {.kind = ROTA_EVENT_DELIVER,
           .claim = {.handler = handler, .task = task,
                     .flags = flags & (ROTA_DELIVERED_OK | ROTA_NOFETCH_OK)}};
    return tell(pool, &event);
}

enum rota_error rota_pool_fail(struct rota_pool *pool, uint64_t handler, rota_task_id task,
                               uint32_t flags, int32_t status)
{
    struct rota_event event = {.kind = ROTA_EVENT_FAIL,
                               .claim = {.handler = handler, .task = task,
                                         .flags = flags & ROTA_NOFETCH_OK, .status = status}};
    return tell(pool, &event);
}

uint32_t rota_pool_lost(struct rota_pool *pool, uint64_t handler)
{
    uint32_t count = 0;
    pool_enter(pool);
    turn_gather(pool);
    for (uint32_t i = 0; i < pool->job_count; i++) {
        struct job *job = pool->jobs[i];
        for (uint32_t task = 1; job->out && handler && task <= job->task_count; task++) {
            struct rota_event event = {.kind = ROTA_EVENT_FAIL,
                                       .claim = {.handler = handler,
                                                 .task = {job->number, task},
                                                 .flags = ROTA_GIVEN_BACK}};
            struct rota_task_view view;
            bool has = rota_task_look(pool->rota, event.claim.task, &view)
                       && view.state == ROTA_TASK_RUNNING && view.handler == handler;
            if (!has || handler == SERVER_HANDLER) continue;
            enum rota_error error = turn_end(pool, job, &event);
            count += error == ROTA_OK || error == ROTA_STALE;
        }
    }
    turn_take(pool);
    turn_wake(pool);
    pool_leave(pool);
    return count;
}
