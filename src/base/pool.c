// pool.c - items of one size, identified by number, with a free list.
#include "base/base.h"

#include <assert.h>
#include <string.h>

static char *item(const struct pool *pool, uint32_t number)
{
    return (char *)pool->items + (size_t)number * pool->size;
}

bool pool_grow(const struct memory *memory, struct pool *pool, uint32_t more)
{
    uint64_t fresh = more - pool->free_count;
    uint64_t count = pool->count ? pool->count : 1;  // 0 means none
    bool first = !pool->items;
    if (!memory_reserve_raw(memory, &pool->items, &pool->capacity, count + fresh, pool->size))
        return false;
    if (first) memset(pool->items, 0, pool->size);
    return true;
}

uint32_t pool_take(struct pool *pool)
{
    if (pool->count == 0) pool->count = 1;
    uint32_t number = pool->free;
    if (number) {
        memcpy(&pool->free, item(pool, number), sizeof pool->free);
        pool->free_count--;
        memset(item(pool, number), 0, sizeof pool->free);
        return number;
    }
    assert(pool->count < pool->capacity);
    // Zeroed here because the caller is about to write it anyway.
    memset(item(pool, pool->count), 0, pool->size);
    return pool->count++;
}

void pool_give(struct pool *pool, uint32_t number)
{
    assert(number > 0 && number < pool->count);
    memset(item(pool, number), 0, pool->size);
    memcpy(item(pool, number), &pool->free, sizeof pool->free);
    pool->free = number;
    pool->free_count++;
}

void pool_release(const struct memory *memory, struct pool *pool)
{
    memory_release(memory, &pool->items, &pool->capacity, pool->size);
    pool->count = pool->free = pool->free_count = 0;
}
