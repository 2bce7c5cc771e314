// sync.c - contents that were added and are not named yet: kept open, locked, and synced.
//
// Syncs are delayed until the contents are about to be named, and then done together. Up to
// CACHE_FRESH_MAX files are synced one by one, which does not touch files that tasks are writing;
// more files are synced with the entire file system, which then is several times faster.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static void fresh_remove(struct cache *cache, uint32_t at)
{
    close(cache->fresh[at].fd);
    cache->fresh_count--;
    for (uint32_t i = at; i < cache->fresh_count; i++) cache->fresh[i] = cache->fresh[i + 1];
}

static bool same_device(const struct cache *cache, int fd)
{
    struct stat here, there;
    return fstat(cache->folder, &here) == 0 && fstat(fd, &there) == 0
           && here.st_dev == there.st_dev;
}

static void fresh_make_room(struct cache *cache)
{
    const struct cache_open_file *oldest = &cache->fresh[0];
    if (cache->fresh_count < CACHE_FRESH_MAX) return;
    if (oldest->unsynced && same_device(cache, oldest->fd))
        cache->sync_whole = true;
    else if (oldest->unsynced)
        syncfs(oldest->fd);
    fresh_remove(cache, 0);
}

void cache_fresh_add(struct cache *cache, const struct cache_entry *entry, int fd, bool unsynced)
{
    for (uint32_t i = 0; entry && i < cache->fresh_count; i++) {
        if (!cache_entry_is(&cache->fresh[i].entry, entry)) continue;
        unsynced |= cache->fresh[i].unsynced;
        fresh_remove(cache, i--);
    }
    fresh_make_room(cache);
    struct cache_open_file *fresh = &cache->fresh[cache->fresh_count++];
    *fresh = (struct cache_open_file){.fd = fd, .unsynced = unsynced};
    if (!entry) return;
    fresh->entry = *entry;
    flock(fd, LOCK_SH | LOCK_NB);
}

bool cache_fresh_has(const struct cache *cache, const struct cache_entry *entry)
{
    for (uint32_t i = 0; i < cache->fresh_count; i++)
        if (cache_entry_is(&cache->fresh[i].entry, entry)) return true;
    return false;
}

void cache_release(struct cache *cache, const struct cache_entry *entry)
{
    for (uint32_t i = cache->fresh_count; i-- > 0;)
        if (cache_entry_is(&cache->fresh[i].entry, entry)) fresh_remove(cache, i);
}

void cache_fresh_close(struct cache *cache)
{
    while (cache->fresh_count) fresh_remove(cache, cache->fresh_count - 1);
}

// After a failed sync the system considers the pages written, so the file cannot be trusted.
static bool sync_failed(struct cache *cache, struct cache_open_file *fresh,
                        struct cache_error *error)
{
    struct stat at;
    cache_fail_system(error, "sync a file of", cache->path);
    if (fresh->entry.kind != CACHE_NONE && fstat(fresh->fd, &at) == 0)
        cache_content_throw(cache, &fresh->entry, at.st_ino);
    fresh->unsynced = false;
    return false;
}

static void synced(struct cache *cache, struct cache_open_file *fresh)
{
    struct stat at;
    fresh->unsynced = false;
    if (fresh->entry.kind != CACHE_NONE && fstat(fresh->fd, &at) == 0)
        cache_content_synced(cache, &fresh->entry, &at);
}

static void writing_begin(const struct cache *cache)
{
    for (uint32_t i = 0; i < cache->fresh_count; i++)
        if (cache->fresh[i].unsynced)
            sync_file_range(cache->fresh[i].fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

bool cache_sync(struct cache *cache, struct cache_error *error)
{
    bool fine = true, whole = cache->sync_whole;
    if (whole && syncfs(cache->folder) != 0)
        return cache_fail_system(error, "sync the file system of", cache->path);
    cache->sync_whole = false;
    if (!whole) writing_begin(cache);
    for (uint32_t i = 0; i < cache->fresh_count; i++) {
        struct cache_open_file *fresh = &cache->fresh[i];
        if (!fresh->unsynced) continue;
        if (fdatasync(fresh->fd) == 0)
            synced(cache, fresh);
        else
            fine = sync_failed(cache, fresh, error);
    }
    for (uint32_t i = cache->fresh_count; i-- > 0;)  // delivered files need no lock
        if (cache->fresh[i].entry.kind == CACHE_NONE) fresh_remove(cache, i);
    return fine;
}
