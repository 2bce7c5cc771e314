// hold.c - contents that nobody may evict: locked files, so that a dead holder holds nothing.
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static struct cache_open_file *held_find(struct cache *cache, const struct cache_entry *entry)
{
    for (uint32_t i = 0; i < cache->held_count; i++)
        if (cache_entry_is(&cache->held[i].entry, entry)) return &cache->held[i];
    return NULL;
}

static bool held_reserve(struct cache *cache)
{
    void *items = cache->held;
    bool there = memory_reserve(&cache->memory, &items, &cache->held_capacity,
                                cache->held_count + 1, sizeof *cache->held);
    cache->held = items;
    return there;
}

bool cache_hold(struct cache *cache, const struct cache_entry *entry, struct cache_error *error)
{
    struct cache_open_file *held = held_find(cache, entry);
    if (held) return ++held->count;
    if (!held_reserve(cache)) return cache_fail(error, CACHE_BROKEN, "no memory");
    cache_enter(cache);
    bool there = cache_has(cache, entry);
    int fd = there ? cache_content_open(cache, entry) : -1;
    if (fd >= 0) flock(fd, LOCK_SH | LOCK_NB);
    cache_leave(cache);
    if (!there) return cache_fail(error, CACHE_LOST, "the content is not in %s", cache->path);
    if (fd < 0) return cache_fail_system(error, "open a content of", cache->path);
    cache->held[cache->held_count++]
        = (struct cache_open_file){.entry = *entry, .fd = fd, .count = 1};
    return true;
}

void cache_release(struct cache *cache, const struct cache_entry *entry)
{
    struct cache_open_file *held = held_find(cache, entry);
    if (!held) cache_fresh_drop(cache, entry);
    if (!held || --held->count) return;
    close(held->fd);
    *held = cache->held[--cache->held_count];
}

void cache_held_close(struct cache *cache)
{
    for (uint32_t i = 0; i < cache->held_count; i++) close(cache->held[i].fd);
    void *items = cache->held;
    memory_release(&cache->memory, &items, &cache->held_capacity, sizeof *cache->held);
    cache->held = NULL;
    cache->held_count = 0;
}
