// plain.c - plain jobs: built from their dependencies, ended, or moved into the core.
#include "pool/pool.h"

#include <sched.h>
#include <string.h>

static const struct rota_pool_task *task_at(const struct rota_pool_job *spec, uint32_t index)
{
    static const struct rota_pool_task none;
    return spec->tasks ? &spec->tasks[index] : &none;
}

static bool task_is_plain(const struct rota_pool_job *spec, uint32_t index)
{
    const struct rota_pool_task *task = task_at(spec, index);
    return (task->function || spec->function) && !task->bundle && !task->lane && !task->group
           && !task->retries_max && !task->flags && !task->priority && !task->access;
}

// Dependencies that were submitted before their dependents cannot form a cycle. All other graphs
// are checked, and refused if necessary, by the core.
bool plain_suits(const struct rota_pool *pool, const struct rota_pool_job *spec)
{
    bool simple = !spec->client && !spec->job.number && !(spec->flags & ROTA_POOL_OPEN)
                  && spec->task_count && spec->task_count < UINT32_MAX && pool->server_count
                  && (spec->function || spec->tasks);
    if (!simple) return false;
    for (uint32_t i = 0; spec->tasks && i < spec->task_count; i++)
        if (!task_is_plain(spec, i)) return false;
    for (uint32_t i = 0; spec->need_first && i < spec->task_count; i++)
        for (uint32_t at = spec->need_first[i]; at < spec->need_first[i + 1]; at++)
            if (spec->needs[at] - 1 >= i) return false;
    return true;
}

// ---- Building ----------------------------------------------------------------------------

static struct plain *plain_open(struct rota_pool *pool, uint32_t tasks, uint64_t needs, bool runs)
{
    uint64_t bytes = sizeof(struct plain) + LINE + (uint64_t)tasks * sizeof(atomic_uint);
    if (needs) bytes += ((uint64_t)tasks * 2 + 2 + needs) * sizeof(uint32_t);
    if (runs) bytes += (uint64_t)tasks * sizeof(struct run);
    void *block = pool->memory.resize(pool->memory.context, NULL, 0, bytes);
    if (!block) return NULL;
    // The block may be unaligned; `raw` is its beginning, for freeing it.
    struct plain *plain = (struct plain *)(((uintptr_t)block + LINE - 1) / LINE * LINE);
    memset(plain, 0, sizeof *plain);
    plain->raw = block;
    plain->bytes = bytes;
    plain->capacity = tasks;
    atomic_init(&plain->count, tasks);
    char *at = (char *)(plain + 1);
    if (runs) plain->runs = (struct run *)at, at += tasks * sizeof(struct run);
    plain->need = (atomic_uint *)at, at += tasks * sizeof(atomic_uint);
    if (!needs) return plain;
    plain->after_first = (uint32_t *)at, at += ((size_t)tasks + 2) * sizeof(uint32_t);
    plain->ready = (uint32_t *)at, at += (size_t)tasks * sizeof(uint32_t);
    plain->after = (uint32_t *)at;
    return plain;
}

void plain_release(struct rota_pool *pool, struct plain *plain)
{
    if (plain) pool->memory.resize(pool->memory.context, plain->raw, plain->bytes, 0);
}

// Turns dependencies into dependents: counted, summed up, filled in. While the lists are filled,
// the list of task v begins at after_first[v + 1], which leaves it where after_first[v] should be.
static void turn_round(struct plain *plain, const struct rota_pool_job *spec)
{
    const uint32_t *first = spec->need_first, *needs = spec->needs;
    uint32_t *begin = plain->after_first;
    memset(begin, 0, ((size_t)plain->capacity + 2) * sizeof *begin);
    for (uint32_t at = first[0]; at < first[plain->capacity]; at++) begin[needs[at] + 1]++;
    for (uint32_t task = 0; task < plain->capacity; task++) begin[task + 2] += begin[task + 1];
    uint32_t ready = 0;
    for (uint32_t task = 0; task < plain->capacity; task++) {
        uint32_t count = first[task + 1] - first[task];
        atomic_init(&plain->need[task], count);
        if (!count) plain->ready[ready++] = task;
        for (uint32_t at = first[task]; at < first[task + 1]; at++)
            plain->after[begin[needs[at]]++] = task;
    }
    atomic_init(&plain->ready_count, ready);
}

struct plain *plain_build(struct rota_pool *pool, const struct rota_pool_job *spec)
{
    uint32_t count = spec->task_count;
    uint64_t needs = spec->need_first ? spec->need_first[count] - spec->need_first[0] : 0;
    struct plain *plain = plain_open(pool, count, needs, spec->tasks);
    if (!plain) return NULL;
    for (uint32_t i = 0; spec->tasks && i < count; i++) {
        const struct rota_pool_task *task = &spec->tasks[i];
        plain->runs[i] = task->function ? (struct run){task->function, task->argument}
                                        : (struct run){spec->function, spec->argument};
    }
    if (needs) {
        turn_round(plain, spec);
    } else {
        memset(plain->need, 0, count * sizeof *plain->need);
        atomic_init(&plain->ready_count, count);
    }
    return plain;
}

// ---- Single functions ----------------------------------------------------------------------

struct plain *plain_build_added(struct rota_pool *pool)
{
    struct plain *plain = plain_open(pool, ADDED, 0, true);
    if (!plain) return NULL;
    memset(plain->need, 0, ADDED * sizeof *plain->need);
    atomic_init(&plain->count, 0);
    return plain;
}

bool plain_add(struct rota_pool *pool, struct run run, rota_task_id *id)
{
    struct job *job = pool->adding;
    if (!job || job->task_count == ADDED) return false;
    struct plain *plain = job->plain;
    spin_lock(&plain->lock);
    plain->runs[job->task_count] = run;
    pool_job_grow(pool, job, 1, 0);
    atomic_store_explicit(&plain->count, job->task_count, memory_order_relaxed);
    atomic_store(&plain->ready_count, plain->ready_count + 1);
    spin_unlock(&plain->lock);
    atomic_fetch_add_explicit(&pool->signals, 1, memory_order_relaxed);
    if (pool->idle) pthread_cond_signal(&pool->work);
    if (id) *id = (rota_task_id){job->number, job->task_count};
    return true;
}

// ---- Life cycle -----------------------------------------------------------------------------

void plain_begin(struct rota_pool *pool, struct job *job, struct plain *plain)
{
    job->plain = plain;
    plain->next = pool->plain_first;
    atomic_store_explicit(&pool->plain_first, job, memory_order_relaxed);
    uint32_t ready = atomic_load_explicit(&plain->ready_count, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->signals, 1, memory_order_relaxed);
    if (!pool->idle) return;
    if (ready > 1) pthread_cond_broadcast(&pool->work);
    else pthread_cond_signal(&pool->work);
}

bool plain_has_work(struct rota_pool *pool)
{
    for (struct job *job = pool->plain_first; job; job = job->plain->next)
        if (atomic_load(&job->plain->ready_count)) return true;
    for (uint32_t i = 0; i < pool->server_count; i++) {
        const struct server *server = &pool->servers[i];
        if (atomic_load(&server->tail) != atomic_load(&server->head)) return true;
    }
    return false;
}

// All servers are locked. From here on no server thread walks the job.
static void plain_unlink(struct rota_pool *pool, struct job *job)
{
    struct job *at = pool->plain_first;
    while (at != job && at->plain->next != job) at = at->plain->next;
    if (at == job) atomic_store(&pool->plain_first, job->plain->next);
    else at->plain->next = job->plain->next;
    for (uint32_t i = 0; i < pool->server_count; i++) {
        struct server *server = &pool->servers[i];
        if (server->job != job) continue;
        server->job = NULL;
        server->done = 0;
        atomic_store(&server->head, atomic_load(&server->tail));
    }
    job->plain = NULL;
    if (pool->adding == job) pool->adding = NULL;
}

void plain_end(struct rota_pool *pool, struct job *job)
{
    struct plain *plain = job->plain;
    struct rota_pool_sum sum = {.succeeded = plain->count};
    servers_lock(pool);
    plain_unlink(pool, job);
    servers_unlock(pool);
    plain_release(pool, plain);
    job->walked = true;
    pool_job_shrink(pool, job);
    pool_job_is_over(pool, job, &sum);
    turn_take(pool);
}

// The state of one task at one moment: all servers are locked meanwhile.
enum rota_task_state plain_state(struct rota_pool *pool, struct job *job, uint32_t task)
{
    servers_lock(pool);
    uint32_t need = atomic_load_explicit(&job->plain->need[task - 1], memory_order_relaxed);
    bool runs = false;
    for (uint32_t i = 0; i < pool->server_count; i++)
        runs |= pool->servers[i].running == job && pool->servers[i].task.task == task;
    servers_unlock(pool);
    if (need == PLAIN_DONE) return ROTA_TASK_SUCCEEDED;
    if (need) return ROTA_TASK_WAITING;
    return runs ? ROTA_TASK_RUNNING : ROTA_TASK_OFFERED;
}

// ---- Moving a plain job into the core -------------------------------------------------------

// The submission to the core that replaces the plain job.
struct draft {
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    struct rota_pool_task *own;  // null: all are as the job says
    uint32_t task_capacity, edge_capacity, own_capacity;
};

static bool draft_reserve(struct rota_pool *pool, struct draft *draft, const struct plain *plain,
                          uint32_t edges)
{
    return ARRAY_RESERVE(&pool->memory, draft->tasks, draft->task_capacity, plain->count)
           && ARRAY_RESERVE(&pool->memory, draft->edges, draft->edge_capacity, edges)
           && (!plain->runs
               || ARRAY_RESERVE(&pool->memory, draft->own, draft->own_capacity, plain->count));
}

static void draft_fill(struct draft *draft, const struct job *job)
{
    const struct plain *plain = job->plain;
    uint32_t at = 0;
    for (uint32_t task = 0; task < plain->count; task++) {
        draft->tasks[task].body = (uintptr_t)job;
        draft->tasks[task].machine = MACHINE_SERVERS;
        if (draft->own) draft->own[task].function = plain->runs[task].function;
        if (draft->own) draft->own[task].argument = plain->runs[task].argument;
        for (; plain->after && at < plain->after_first[task + 1]; at++)
            draft->edges[at] = (struct rota_edge){task + 1, plain->after[at] + 1};
    }
}

static void draft_release(struct rota_pool *pool, struct draft *draft)
{
    ARRAY_RELEASE(&pool->memory, draft->tasks, draft->task_capacity);
    ARRAY_RELEASE(&pool->memory, draft->edges, draft->edge_capacity);
    ARRAY_RELEASE(&pool->memory, draft->own, draft->own_capacity);
}

// Server threads continue meanwhile: the parts of the job read here change only under the pool's
// lock.
static bool settle_submit(struct rota_pool *pool, struct job *job)
{
    const struct plain *plain = job->plain;
    uint32_t edges = plain->after ? plain->after_first[plain->count] : 0;
    struct draft draft = {0};
    bool there = draft_reserve(pool, &draft, plain, edges);
    if (there) draft_fill(&draft, job);
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT,
                               .submit = {.job = {job->number},
                                          .policy = ROTA_POLICY_CLAIM,
                                          .first = 1,
                                          .last = true,
                                          .tasks = draft.tasks,
                                          .edges = draft.edges,
                                          .task_count = plain->count,
                                          .edge_count = edges}};
    there = there && rota_step(pool->rota, &event) == ROTA_OK;
    turn_take(pool);
    if (there) {
        job->tasks = draft.own;
        job->task_capacity = draft.own_capacity;
        draft.own = NULL;
        draft.own_capacity = 0;
    }
    draft_release(pool, &draft);
    return there;
}

// The submission was the large part. The following steps cannot be undone, so they wait for memory.
static void settle_step(struct rota_pool *pool, const struct rota_event *event)
{
    while (rota_step(pool->rota, event) == ROTA_NO_MEMORY) sched_yield();
    turn_take(pool);
}

enum rota_error plain_settle(struct rota_pool *pool, struct job *job)
{
    struct plain *plain = job->plain;
    if (!settle_submit(pool, job))
        return pool_refuse(pool, ROTA_NO_MEMORY, "out of memory for the tasks");
    servers_lock(pool);
    struct rota_event event = {.kind = ROTA_EVENT_DELIVER,
                               .claim = {.handler = SERVER_HANDLER, .flags = ROTA_NOFETCH_OK}};
    for (uint32_t task = 0; task < plain->count; task++) {
        if (atomic_load_explicit(&plain->need[task], memory_order_relaxed) != PLAIN_DONE) continue;
        event.claim.task = (rota_task_id){job->number, task + 1};
        settle_step(pool, &event);
    }
    event.kind = ROTA_EVENT_CLAIM;
    event.claim.flags = 0;
    for (uint32_t i = 0; i < pool->server_count; i++) {
        if (pool->servers[i].running != job) continue;
        event.claim.task = pool->servers[i].task;
        settle_step(pool, &event);
        pool->granted_count = 0;  // it already runs
    }
    plain_unlink(pool, job);
    servers_unlock(pool);
    plain_release(pool, plain);
    turn_wake(pool);
    return ROTA_OK;
}
