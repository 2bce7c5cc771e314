// content.c - contents: how they get their name, and whether they still match it.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SEEN_RIGHT = 1, SEEN_SYNCED };  // values of the map of verified contents

uint64_t cache_content_stamp(const struct cache_entry *entry, const struct stat *at)
{
    uint64_t key = hash_mix(cache_entry_key(entry), at->st_ino);
    key = hash_mix(key, (uint64_t)at->st_size);
    return hash_mix(hash_mix(key, (uint64_t)at->st_mtim.tv_sec), (uint64_t)at->st_mtim.tv_nsec);
}

// If memory runs out it is not stored, and hashed again the next time.
static void seen_put(struct cache *cache, const struct cache_entry *entry, const struct stat *at,
                     uint32_t value)
{
    uint64_t key = cache_content_stamp(entry, at);
    if (map_reserve(&cache->memory, &cache->verified, 1)) map_put(&cache->verified, key, value);
}

void cache_content_right(struct cache *cache, const struct cache_entry *entry,
                         const struct stat *at)
{
    seen_put(cache, entry, at, SEEN_RIGHT);
}

void cache_content_synced(struct cache *cache, const struct cache_entry *entry,
                          const struct stat *at)
{
    if (map_find(&cache->verified, cache_content_stamp(entry, at)))
        seen_put(cache, entry, at, SEEN_SYNCED);
}

static void total_add(struct cache *cache, int64_t bytes)
{
    int64_t total = 0;
    while (flock(cache->total, LOCK_EX) != 0 && errno == EINTR) continue;
    if (pread(cache->total, &total, sizeof total, 0) != sizeof total) total = 0;
    total = total + bytes > 0 ? total + bytes : 0;
    if (pwrite(cache->total, &total, sizeof total, 0) != sizeof total)
        cache->evict_above = 0;  // then the next eviction counts
    flock(cache->total, LOCK_UN);
}

uint64_t cache_bytes(const struct cache *cache)
{
    uint64_t total = 0;
    return pread(cache->total, &total, sizeof total, 0) == sizeof total ? total : 0;
}

int cache_content_open(struct cache *cache, const struct cache_entry *entry)
{
    char name[CACHE_NAME];
    cache_name(entry, name);
    return openat(cache->content, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

void cache_content_used(struct cache *cache, const struct cache_entry *entry)
{
    char name[CACHE_NAME];
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    cache_name(entry, name);
    utimensat(cache->content, name, times, AT_SYMLINK_NOFOLLOW);
}

// Moved aside before it is checked: another process may just have stored a correct one under its
// name.
void cache_content_throw(struct cache *cache, const struct cache_entry *entry, ino_t inode)
{
    char name[CACHE_NAME], aside[24];
    struct stat at;
    if (!cache_own(cache, NULL)) return;
    cache_name(entry, name);
    snprintf(aside, sizeof aside, "%" PRIu64, ++cache->serial);
    if (renameat(cache->content, name, cache->own, aside) != 0) return;
    cache->losses++;
    if (fstatat(cache->own, aside, &at, AT_SYMLINK_NOFOLLOW) == 0) {
        if (at.st_ino != inode && linkat(cache->own, aside, cache->content, name, 0) == 0)
            at.st_size = 0;
        total_add(cache, -(int64_t)at.st_size);
    }
    os_tree_remove_at(cache->own, aside);
}

static bool content_lost(struct cache *cache, const struct cache_entry *entry, const char *what,
                         struct cache_error *error)
{
    char name[CACHE_NAME];
    cache_name(entry, name);
    return cache_fail(error, CACHE_LOST, "%s/content/%s %s", cache->path, name, what);
}

static bool content_hash(struct cache *cache, const struct cache_entry *entry, int fd,
                         struct stat *at, struct cache_error *error)
{
    struct stat after;
    uint8_t hash[CACHE_HASH];
    struct cache_error inner = {0};
    if (fstat(fd, at) != 0 || !S_ISREG(at->st_mode))
        return content_lost(cache, entry, "is not a file any more", error);
    if (!cache_hash_file(cache, fd, at->st_size, hash, "it", &inner))
        return content_lost(cache, entry, inner.text, error);
    bool still = fstat(fd, &after) == 0
                 && cache_content_stamp(entry, at) == cache_content_stamp(entry, &after);
    if (!still || memcmp(hash, entry->hash, CACHE_HASH) != 0)
        return content_lost(cache, entry, "is damaged, and was removed", error);
    seen_put(cache, entry, at, SEEN_RIGHT);
    return true;
}

static mode_t content_mode(const struct cache_entry *entry)
{
    return entry->executable ? 0555 : 0444;
}

bool cache_content_check(struct cache *cache, const struct cache_entry *entry, struct stat *at,
                         struct cache_error *error)
{
    char name[CACHE_NAME];
    cache_name(entry, name);
    if (fstatat(cache->content, name, at, AT_SYMLINK_NOFOLLOW) != 0)
        return content_lost(cache, entry, "was deleted", error);
    if (!map_find(&cache->verified, cache_content_stamp(entry, at))) {
        if (!cache_hash_begin(cache, error)) return false;
        int fd = cache_content_open(cache, entry);
        if (fd < 0) return cache_fail_system(error, "open content", name);
        bool right = content_hash(cache, entry, fd, at, error);
        if (!right) cache_content_throw(cache, entry, at->st_ino);
        close(fd);
        if (!right) return false;
    }
    if (entry->kind == CACHE_FILE && (uint64_t)at->st_size != entry->bytes)
        return cache_fail(error, CACHE_REFUSED, "content %s has %jd bytes, not %" PRIu64, name,
                          (intmax_t)at->st_size, entry->bytes);
    if ((at->st_mode & 07777) != content_mode(entry))
        fchmodat(cache->content, name, content_mode(entry), AT_SYMLINK_NOFOLLOW);
    return true;
}

bool cache_content_reuse(struct cache *cache, const struct cache_entry *entry)
{
    struct stat at;
    if (!cache_content_check(cache, entry, &at, NULL)) return false;
    int fd = cache_content_open(cache, entry);
    if (fd < 0) return false;
    bool unsynced = map_find(&cache->verified, cache_content_stamp(entry, &at)) != SEEN_SYNCED;
    cache_fresh_add(cache, entry, fd, unsynced);
    cache_content_used(cache, entry);
    return true;
}

static bool content_rename(struct cache *cache, const char *temporary, const char *name)
{
    char folder[3] = {name[0], name[1], '\0'};
    if (renameat2(cache->own, temporary, cache->content, name, RENAME_NOREPLACE) == 0) return true;
    if (errno != ENOENT) return false;
    if (mkdirat(cache->content, folder, 0700) != 0 && errno != EEXIST) return false;
    return renameat2(cache->own, temporary, cache->content, name, RENAME_NOREPLACE) == 0;
}

// Tasks get hard links to contents and may execute them. The kernel refuses that (ETXTBSY) as long
// as any process has the file open for writing, so the writer's descriptor is closed before the
// file gets its name.
static bool make_read_only(struct cache *cache, const struct cache_entry *entry,
                           const char *temporary, int *fd)
{
    if (fchmod(*fd, content_mode(entry)) != 0) return false;
    if ((fcntl(*fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return true;
    int reader = openat(cache->own, temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (reader < 0) return false;
    close(*fd);
    *fd = reader;
    return true;
}

bool cache_content_install(struct cache *cache, const struct cache_entry *entry,
                           const char *temporary, int fd, enum cache_synced synced,
                           struct cache_error *error)
{
    char name[CACHE_NAME];
    struct stat at;
    cache_name(entry, name);
    bool named = make_read_only(cache, entry, temporary, &fd) && fstat(fd, &at) == 0
                 && content_rename(cache, temporary, name);
    for (int tries = 0; !named && errno == EEXIST && tries < 9; tries++) {
        if (cache_content_reuse(cache, entry)) {
            close(fd);
            return os_tree_remove_at(cache->own, temporary);
        }
        named = content_rename(cache, temporary, name);  // it was damaged, and is removed now
    }
    if (!named) {
        cache_fail_system(error, "store the content in", cache->path);
        os_tree_remove_at(cache->own, temporary);
        close(fd);
        return false;
    }
    seen_put(cache, entry, &at, SEEN_RIGHT);
    total_add(cache, at.st_size);
    cache_content_used(cache, entry);
    cache_fresh_add(cache, entry, fd, synced == CACHE_UNSYNCED);
    return true;
}

bool cache_safe(struct cache *cache, const struct cache_entry *entry, struct cache_error *error)
{
    if (cache_fresh_has(cache, entry) || cache_content_reuse(cache, entry)) return true;
    return content_lost(cache, entry, "is damaged", error);
}

bool cache_ready(struct cache *cache, const struct cache_entry *entry, struct cache_error *error)
{
    if (!cache_has(cache, entry))
        return content_lost(cache, entry, "was deleted, or a part of it", error);
    return cache_safe(cache, entry, error);
}
