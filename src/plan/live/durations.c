// durations.c - estimates durations and output sizes of tasks by the mean of tasks of their kind.
#include "plan/live/internal.h"

#include <stdlib.h>

enum { KINDS_MAX = 100000 };  // further kinds share the entries of others
static const double megabyte = 1048576;
static const double unknown_seconds = 1, unknown_mib = 32;

// A sequence of digits counts as one digit.
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

// Two kinds with the same hash are treated as one: a plan is an estimate anyway.
uint32_t live_kind_of(struct live *live, const char *name)
{
    assert(name);
    uint64_t hash = hash_of(name);
    uint32_t kind = map_find(&live->kinds_by_hash, hash);
    if (kind) return kind;
    if (live->kind_count == KINDS_MAX) return (uint32_t)(hash % KINDS_MAX) + 1;
    if (!map_reserve(&memory_heap, &live->kinds_by_hash, 1)) abort();
    live->kinds = live_grow(live->kinds, &live->kind_capacity, (uint64_t)live->kind_count + 2,
                              sizeof *live->kinds);
    kind = ++live->kind_count;
    map_put(&live->kinds_by_hash, hash, kind);
    return kind;
}

static void add(struct live_kind *kind, double seconds, double mib, uint32_t objects)
{
    assert(seconds >= 0);
    kind->seconds += seconds;
    kind->ends++;
    kind->mib += mib;
    kind->objects += objects;
}

// A database may have any times: those of a worker whose clock was set back, for instance.
void live_learn(struct live *live, const char *name, double seconds)
{
    if (!(seconds >= 0)) return;
    uint32_t kind = live_kind_of(live, name);
    add(&live->kinds[kind], seconds, 0, 0);
    add(&live->kinds[0], seconds, 0, 0);
}

void live_ended(struct live *live, rota_task_id task, double seconds, uint64_t bytes,
                 uint32_t objects)
{
    struct live_job *job = live_job_find(live, (rota_job_id){task.job});
    if (!job || task.task > job->task_count || !(seconds >= 0)) return;
    uint32_t kind = job->tasks[task.task - 1].kind;
    double mib = (double)bytes / megabyte;
    if (kind) add(&live->kinds[kind], seconds, mib, objects);
    add(&live->kinds[0], seconds, mib, objects);
    live->has_news = true;
}

// A measured duration is preferred to a stated one.
double live_seconds(const struct live *live, const struct live_task *task)
{
    assert(task->kind <= live->kind_count);
    const struct live_kind *kind = &live->kinds[task->kind], *all = live->kinds;
    if (kind != all && kind->ends) return kind->seconds / (double)kind->ends;
    if (task->stated > 0) return task->stated;
    return all->ends ? all->seconds / (double)all->ends : unknown_seconds;
}

double live_mib(const struct live *live, const struct live_task *maker)
{
    assert(maker->kind <= live->kind_count);
    const struct live_kind *kind = &live->kinds[maker->kind], *all = live->kinds;
    if (kind->objects) return kind->mib / (double)kind->objects;
    return all->objects ? all->mib / (double)all->objects : unknown_mib;
}
