// task_index.c - the state of each task in memory, so that a change needs no query.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

static struct job_index *job_get(const struct task_index *task_index, uint32_t number)
{
    return &((struct job_index *)task_index->jobs.items)[number];
}

enum place place_of(enum rota_task_state state, bool bundle)
{
    static const uint8_t task_index[ROTA_TASK_STATES] = {
        [ROTA_TASK_STAGED] = PLACE_ACTIVE,  [ROTA_TASK_QUEUED] = PLACE_ACTIVE,
        [ROTA_TASK_WAITING] = PLACE_ACTIVE, [ROTA_TASK_BLOCKED] = PLACE_ACTIVE,
        [ROTA_TASK_READY] = PLACE_ACTIVE,   [ROTA_TASK_HELD] = PLACE_ACTIVE,
        [ROTA_TASK_OFFERED] = PLACE_ACTIVE, [ROTA_TASK_SHARED] = PLACE_ACTIVE,
        [ROTA_TASK_ASSIGNED] = PLACE_EXEC,  [ROTA_TASK_RUNNING] = PLACE_EXEC,
    };
    enum place place = (enum place)task_index[state];
    return bundle && place != PLACE_LAST ? PLACE_BUNDLE : place;
}

struct spot *task_index_find(const struct task_index *task_index, rota_task_id task)
{
    uint32_t number = map_find(&task_index->by_id, task.job);
    if (!number) return NULL;
    const struct job_index *job = job_get(task_index, number);
    return task.task - 1 < job->count ? &job->spots[task.task - 1] : NULL;
}

static struct job_index *job_add(struct task_index *task_index, uint32_t job)
{
    uint32_t number = map_find(&task_index->by_id, job);
    if (number) return job_get(task_index, number);
    task_index->jobs.size = sizeof(struct job_index);
    if (!pool_reserve(&memory_heap, &task_index->jobs, 1)
        || !map_reserve(&memory_heap, &task_index->by_id, 1)) {
        return NULL;
    }
    number = pool_take(&task_index->jobs);
    map_put(&task_index->by_id, job, number);
    job_get(task_index, number)->job = job;
    return job_get(task_index, number);
}

struct spot *task_index_add(struct task_index *task_index, uint32_t job, uint32_t first,
                            uint32_t count)
{
    struct job_index *at = job_add(task_index, job);
    uint64_t end = (uint64_t)first - 1 + count;
    if (!at || !first || end > UINT32_MAX) return NULL;
    if (!ARRAY_RESERVE(&memory_heap, at->spots, at->capacity, end + !end)) return NULL;
    if (end > at->count) at->count = (uint32_t)end;
    return at->spots + first - 1;
}

// ---- Removed jobs ----------------------------------------------------------------

void task_index_drop_job(struct task_index *task_index, uint32_t job)
{
    uint32_t number = map_find(&task_index->by_id, job);
    if (!number) return;
    free(job_get(task_index, number)->spots);
    map_remove(&task_index->by_id, job);
    pool_give(&task_index->jobs, number);
}

void task_index_release(struct task_index *task_index)
{
    for (uint32_t slot = 0; slot < task_index->by_id.capacity; slot++) {
        uint32_t number = task_index->by_id.slots[slot].value;
        if (number) free(job_get(task_index, number)->spots);
    }
    map_release(&memory_heap, &task_index->by_id);
    pool_release(&memory_heap, &task_index->jobs);
    *task_index = (struct task_index){0};
}
