// evict.c - makes room: removes the least recently used contents that are not needed.
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct candidate {
    struct cache_entry entry;  // bytes: the size of the file
    struct timespec used;
};

// A needed content is recognized by a part of its hash; a collision only keeps one more.
struct eviction {
    struct cache *cache;
    const char *folder;
    struct candidate *candidates;
    uint32_t count, capacity;
    struct map needed;
    uint64_t bytes;
    bool failed;
};

static bool candidate_add(struct eviction *eviction, const struct cache_entry *entry,
                          const struct stat *at)
{
    bool there = ARRAY_MORE(&eviction->cache->memory, eviction->candidates, eviction->count,
                            eviction->capacity);
    eviction->failed |= !there;
    if (!there) return false;
    struct candidate *candidate = &eviction->candidates[eviction->count++];
    *candidate = (struct candidate){.entry = *entry, .used = at->st_atim};
    candidate->entry.bytes = (uint64_t)at->st_size;
    eviction->bytes += (uint64_t)at->st_size;
    return true;
}

static bool content_found(void *context, int folder_fd, const char *name)
{
    struct eviction *eviction = context;
    struct cache_entry entry;
    struct stat at;
    if (!cache_name_read(eviction->folder, name, &entry)) return true;
    if (fstatat(folder_fd, name, &at, AT_SYMLINK_NOFOLLOW) != 0) return true;
    return candidate_add(eviction, &entry, &at);
}

static bool folder_found(void *context, int folder_fd, const char *name)
{
    struct eviction *eviction = context;
    eviction->folder = name;
    cache_list(folder_fd, name, content_found, eviction);
    return !eviction->failed;
}

static bool need(struct eviction *eviction, const struct cache_entry *entry)
{
    bool there = map_reserve(&eviction->cache->memory, &eviction->needed, 1);
    if (there) map_put(&eviction->needed, cache_entry_key(entry), 1);
    eviction->failed |= !there;
    return there;
}

static bool object_found(void *context, int folder_fd, const char *name)
{
    char text[CACHE_ENTRY_TEXT + 1];
    struct cache_entry entry;
    ssize_t length = readlinkat(folder_fd, name, text, sizeof text - 1);
    if (length <= 0) return true;
    text[length] = '\0';
    return !cache_entry_read(text, &entry) || need(context, &entry);
}

static bool is_needed(const struct eviction *eviction, const struct cache_entry *entry)
{
    return map_find(&eviction->needed, cache_entry_key(entry)) != 0;
}

static bool is_held(struct cache *cache, const struct cache_entry *entry)
{
    int fd = cache_content_open(cache, entry);
    if (fd < 0) return errno != ENOENT;
    bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return !free;
}

// The bytes a list was bound with are not in its name, so the list is read unverified.
static void tree_need(struct eviction *eviction, const struct cache_entry *entry)
{
    struct cache_manifest manifest;
    if (!cache_manifest_peek(eviction->cache, entry, &manifest)) return;
    for (uint32_t i = 0; i < manifest.count && !eviction->failed; i++)
        if (manifest.items[i].kind == CACHE_ITEM_FILE) need(eviction, &manifest.items[i].entry);
    cache_manifest_release(&manifest);
}

// A tree that is bound or held needs all its files.
static void trees_need(struct eviction *eviction)
{
    for (uint32_t i = 0; i < eviction->count && !eviction->failed; i++) {
        const struct cache_entry *entry = &eviction->candidates[i].entry;
        if (entry->kind != CACHE_DIRECTORY) continue;
        if (is_needed(eviction, entry) || is_held(eviction->cache, entry))
            tree_need(eviction, entry);
    }
}

static int candidate_compare(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return memcmp(a->entry.hash, b->entry.hash, CACHE_HASH);
}

static void candidates_evict(struct eviction *eviction, uint64_t wanted)
{
    char name[CACHE_NAME];
    if (eviction->count)
        qsort(eviction->candidates, eviction->count, sizeof *eviction->candidates,
              candidate_compare);
    for (uint32_t i = 0; i < eviction->count && eviction->bytes > wanted; i++) {
        const struct cache_entry *entry = &eviction->candidates[i].entry;
        if (is_needed(eviction, entry) || is_held(eviction->cache, entry)) continue;
        cache_name(entry, name);
        if (unlinkat(eviction->cache->content, name, 0) != 0) continue;
        eviction->bytes -= entry->bytes;
        eviction->cache->losses++;
    }
}

static void total_set(struct cache *cache, uint64_t bytes)
{
    while (flock(cache->total, LOCK_EX) != 0 && errno == EINTR) continue;
    bool told = pwrite(cache->total, &bytes, sizeof bytes, 0) == sizeof bytes;
    flock(cache->total, LOCK_UN);
    // If all contents are needed, the next attempt waits until there are clearly more.
    cache->evict_above
        = bytes > cache->bytes_max ? bytes + cache->bytes_max / 16 : cache->bytes_max;
    if (!told) cache->evict_above = 0;
}

// Keeps only `wanted` bytes that are not needed, once there are more than `above`.
static void evict(struct cache *cache, uint64_t above, uint64_t wanted)
{
    struct eviction eviction = {.cache = cache};
    assert(cache->inside == 0);
    if (flock(cache->lock, LOCK_EX | LOCK_NB) != 0) return;
    bool read = cache_list(cache->folder, "content", folder_found, &eviction)
                && cache_list(cache->folder, "object", object_found, &eviction);
    if (read) trees_need(&eviction);
    if (read && !eviction.failed) {
        uint64_t before = eviction.bytes;
        if (before > above) candidates_evict(&eviction, wanted);
        if (before > eviction.bytes) cache_result_prune(cache);
        total_set(cache, eviction.bytes);
    }
    flock(cache->lock, LOCK_UN);
    ARRAY_RELEASE(&cache->memory, eviction.candidates, eviction.capacity);
    map_release(&cache->memory, &eviction.needed);
}

// Evicts down to an eighth below the limit, so that not every addition has to examine everything.
void cache_evict(struct cache *cache)
{
    evict(cache, cache->bytes_max, cache->bytes_max - cache->bytes_max / 8);
}

void cache_evict_all(struct cache *cache)
{
    evict(cache, 0, 0);
}
