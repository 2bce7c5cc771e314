// durations.c - how long tasks of a kind take, and how much they make: means of what was seen.
#include "plan/live/internal.h"

#include <stdlib.h>

static const struct memory heap = {memory_resize_heap, NULL};
static const double megabyte = 1048576;
static const double unknown_seconds = 1, unknown_mib = 32;

// A run of digits counts as one.
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 1;
    for (; *name; name++) {
        bool digit = *name >= '0' && *name <= '9';
        if (digit && name[1] >= '0' && name[1] <= '9') continue;
        hash = hash_mix(hash, digit ? '0' : (unsigned char)*name);
    }
    return hash;
}

// Two kinds with the same hash would be one: a plan is a guess anyway.
uint32_t guide_kind_of(struct guide *guide, const char *name)
{
    uint64_t hash = hash_of(name);
    uint32_t kind = map_find(&guide->kinds_by_hash, hash);
    if (kind) return kind;
    if (!map_reserve(&heap, &guide->kinds_by_hash, 1)) abort();
    guide->kinds = guide_grow(guide->kinds, &guide->kind_capacity, (uint64_t)guide->kind_count + 2,
                              sizeof *guide->kinds);
    kind = ++guide->kind_count;
    map_put(&guide->kinds_by_hash, hash, kind);
    return kind;
}

static void add(struct guide_kind *kind, double seconds, double mib, uint32_t objects)
{
    kind->seconds += seconds;
    kind->ends++;
    kind->mib += mib;
    kind->objects += objects;
}

void guide_learn(struct guide *guide, const char *name, double seconds)
{
    uint32_t kind = guide_kind_of(guide, name);
    add(&guide->kinds[kind], seconds, 0, 0);
    add(&guide->kinds[0], seconds, 0, 0);
}

void guide_ended(struct guide *guide, rota_task_id task, double seconds, uint64_t bytes,
                 uint32_t objects)
{
    struct guide_job *job = guide_job_find(guide, (rota_job_id){task.job});
    if (!job || task.task > job->task_count) return;
    uint32_t kind = job->tasks[task.task - 1].kind;
    double mib = (double)bytes / megabyte;
    if (kind) add(&guide->kinds[kind], seconds, mib, objects);
    add(&guide->kinds[0], seconds, mib, objects);
    guide->has_news = true;
}

// What was seen says more than what was stated.
double guide_seconds(const struct guide *guide, const struct guide_task *task)
{
    const struct guide_kind *kind = &guide->kinds[task->kind], *all = guide->kinds;
    if (kind != all && kind->ends) return kind->seconds / (double)kind->ends;
    if (task->stated > 0) return task->stated;
    return all->ends ? all->seconds / (double)all->ends : unknown_seconds;
}

double guide_mib(const struct guide *guide, const struct guide_task *maker)
{
    const struct guide_kind *kind = &guide->kinds[maker->kind], *all = guide->kinds;
    if (kind->objects) return kind->mib / (double)kind->objects;
    return all->objects ? all->mib / (double)all->objects : unknown_mib;
}
