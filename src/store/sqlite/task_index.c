// task_index.c - the state of each task in memory, so that a change needs no query.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

static struct job_places *job_get(const struct places *places, uint32_t number)
{
    return &((struct job_places *)places->jobs.items)[number];
}

enum place place_of(enum rota_task_state state, bool bundle)
{
    static const uint8_t places[ROTA_TASK_STATES] = {
        [ROTA_TASK_STAGED] = PLACE_ACTIVE,  [ROTA_TASK_QUEUED] = PLACE_ACTIVE,
        [ROTA_TASK_WAITING] = PLACE_ACTIVE, [ROTA_TASK_BLOCKED] = PLACE_ACTIVE,
        [ROTA_TASK_READY] = PLACE_ACTIVE,   [ROTA_TASK_HELD] = PLACE_ACTIVE,
        [ROTA_TASK_OFFERED] = PLACE_ACTIVE, [ROTA_TASK_SHARED] = PLACE_ACTIVE,
        [ROTA_TASK_ASSIGNED] = PLACE_EXEC,  [ROTA_TASK_RUNNING] = PLACE_EXEC,
    };
    enum place place = (enum place)places[state];
    return bundle && place != PLACE_LAST ? PLACE_BUNDLE : place;
}

struct spot *places_find(const struct places *places, rota_task_id task)
{
    uint32_t number = map_find(&places->by_id, task.job);
    if (!number) return NULL;
    const struct job_places *job = job_get(places, number);
    return task.task - 1 < job->count ? &job->spots[task.task - 1] : NULL;
}

static struct job_places *job_add(struct places *places, uint32_t job)
{
    uint32_t number = map_find(&places->by_id, job);
    if (number) return job_get(places, number);
    places->jobs.size = sizeof(struct job_places);
    if (!pool_reserve(&memory_heap, &places->jobs, 1)
        || !map_reserve(&memory_heap, &places->by_id, 1)) {
        return NULL;
    }
    number = pool_take(&places->jobs);
    map_put(&places->by_id, job, number);
    job_get(places, number)->job = job;
    return job_get(places, number);
}

struct spot *places_add(struct places *places, uint32_t job, uint32_t first, uint32_t count)
{
    struct job_places *at = job_add(places, job);
    uint64_t end = (uint64_t)first - 1 + count;
    if (!at || !first || end > UINT32_MAX) return NULL;
    if (!ARRAY_RESERVE(&memory_heap, at->spots, at->capacity, end + !end)) return NULL;
    if (end > at->count) at->count = (uint32_t)end;
    return at->spots + first - 1;
}

// ---- Removed jobs ----------------------------------------------------------------

void places_drop_job(struct places *places, uint32_t job)
{
    uint32_t number = map_find(&places->by_id, job);
    if (!number) return;
    free(job_get(places, number)->spots);
    map_remove(&places->by_id, job);
    pool_give(&places->jobs, number);
}

void places_release(struct places *places)
{
    for (uint32_t slot = 0; slot < places->by_id.capacity; slot++) {
        uint32_t number = places->by_id.slots[slot].value;
        if (number) free(job_get(places, number)->spots);
    }
    map_release(&memory_heap, &places->by_id);
    pool_release(&memory_heap, &places->jobs);
    *places = (struct places){0};
}
