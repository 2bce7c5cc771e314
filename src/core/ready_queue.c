// ready_queue.c - ready tasks of one profile under plan: highest rank first, then the oldest.
//
// A profile with few tasks has one sorted list. With many tasks there are buckets by rank. Ranks
// below 16 have a bucket each, larger ones share two for every doubling. A short bucket is sorted
// by rank and age; in a long one a new task goes to the tail, because finding its place would cost
// more than it is worth.
#include "core/prefetch.h"

static uint32_t bucket_of(uint32_t rank)
{
    if (rank < 16) return rank;
    uint32_t octave = 31u - (uint32_t)__builtin_clz(rank);
    uint32_t bucket = 16 + (octave - 4) * 2 + (rank >> (octave - 1) & 1);
    return bucket < READY_BUCKETS ? bucket : READY_BUCKETS - 1;
}

static bool goes_first(const struct rota *rota, task_row a, task_row b)
{
    assert(a != b);
    uint32_t one = rota->task[a].rank, other = rota->task[b].rank;
    return one != other ? one > other : task_older(rota, a, b);
}

task_row ready_first(const struct rota *rota, const struct profile *profile)
{
    if (!profile->table) return profile->line.first;
    const struct table *table = TABLE(rota, profile->table);
    return table->filled ? table->bucket[63 - __builtin_clzll(table->filled)].first : 0;
}

static void insert(struct rota *rota, task_row row, struct bucket *bucket, task_row previous,
                   task_row next)
{
    list_insert(rota, row, previous, next, &bucket->first, &bucket->last);
    bucket->count++;
    rota->plan_unplaced++;
}

static struct bucket *bucket_to_fill(struct rota *rota, task_row row)
{
    struct profile *profile = PROFILE(rota, rota->task[row].profile);
    if (!ready_first(rota, profile)) profile_list(rota, rota->task[row].profile);
    if (!profile->table) return &profile->line;
    uint32_t at = bucket_of(rota->task[row].rank);
    TABLE(rota, profile->table)->filled |= 1ull << at;
    return &TABLE(rota, profile->table)->bucket[at];
}

void ready_push(struct rota *rota, task_row row)
{
    struct bucket *bucket = bucket_to_fill(rota, row);
    task_row next = 0, previous = bucket->last;
    while (bucket->count < READY_FEW && previous && goes_first(rota, row, previous)) {
        next = previous;
        previous = rota->task[previous].previous;
    }
    insert(rota, row, bucket, previous, next);
}

void ready_push_back(struct rota *rota, task_row row)
{
    struct bucket *bucket = bucket_to_fill(rota, row);
    insert(rota, row, bucket, 0, bucket->first);
}

static void unlink_from(struct rota *rota, task_row row, struct bucket *bucket)
{
    bucket->count--;
    list_unlink(rota, row, &bucket->first, &bucket->last);
}

void ready_remove(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct profile *profile = PROFILE(rota, rota->task[row].profile);
    prefetch_handed_out(rota, row);
    if (profile->table) {
        struct table *table = TABLE(rota, profile->table);
        uint32_t at = bucket_of(rota->task[row].rank);
        unlink_from(rota, row, &table->bucket[at]);
        if (!table->bucket[at].first) table->filled &= ~(1ull << at);
    } else {
        unlink_from(rota, row, &profile->line);
    }
    if (!ready_first(rota, profile)) profile_unlist(rota, rota->task[row].profile);
    rota->plan_unplaced--;
}

// Buckets make many tasks cheap; if memory runs out, one list is used.
void ready_grow(struct rota *rota, profile_row at)
{
    struct profile *profile = PROFILE(rota, at);
    bool plan = profile->wants.policy == ROTA_POLICY_PLAN;
    if (!plan || profile->table || !pool_reserve(&rota->memory, &rota->tables, 1)) return;
    struct bucket line = profile->line;
    task_row next;
    if (line.first) profile_unlist(rota, at);
    rota->plan_unplaced -= line.count;
    profile->line = (struct bucket){0};
    profile->table = pool_take(&rota->tables);
    for (task_row row = line.first; row; row = next) {
        next = rota->task[row].next;
        ready_push(rota, row);
    }
}
