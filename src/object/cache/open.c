// open.c - the folders of the cache, its lock, and temporary files of dead processes.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

static int folder_open(struct cache *cache, const char *name)
{
    if (mkdirat(cache->folder, name, 0700) != 0 && errno != EEXIST) return -1;
    return openat(cache->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int file_open(struct cache *cache, const char *name)
{
    return openat(cache->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool folders_open(struct cache *cache)
{
    if (mkdir(cache->path, 0700) != 0 && errno != EEXIST) return false;
    cache->folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cache->folder >= 0 && (cache->content = folder_open(cache, "content")) >= 0
           && (cache->object = folder_open(cache, "object")) >= 0
           && (cache->result = folder_open(cache, "result")) >= 0
           && (cache->known = folder_open(cache, "known")) >= 0
           && (cache->temporary = folder_open(cache, "tmp")) >= 0
           && (cache->lock = file_open(cache, "lock")) >= 0
           && (cache->total = file_open(cache, "total")) >= 0;
}

// A copy that was being written to the user's folders has a note here with its path.
static bool note_follow(void *context, int folder_fd, const char *name)
{
    (void)context;
    char path[4096];
    ssize_t length = readlinkat(folder_fd, name, path, sizeof path - 1);
    if (length <= 0) return true;
    path[length] = '\0';
    char *leaf = strrchr(path, '/');
    if (leaf && strncmp(leaf, "/.rota-", 7) == 0) os_tree_remove(path);
    return true;
}

// A folder below tmp that can be locked has no owner any more.
static bool stale_remove(void *context, int folder_fd, const char *name)
{
    (void)context;
    int fd = tree_open_below(folder_fd, name, O_RDONLY);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        cache_list(folder_fd, name, note_follow, NULL);
        os_tree_remove_at(folder_fd, name);
    }
    if (fd >= 0) close(fd);
    return true;
}

void cache_init(struct cache *cache)
{
    *cache = (struct cache){.folder = -1, .content = -1, .object = -1, .result = -1};
    cache->known = -1;
    cache->temporary = cache->lock = cache->total = cache->own = -1;
    cache->memory = memory_heap;
}

bool cache_open(struct cache *cache, const char *folder, uint64_t bytes_max,
                struct cache_error *error)
{
    cache_init(cache);
    cache->bytes_max = cache->evict_above = bytes_max;
    cache->path = strdup(folder);
    if (!cache->path) return cache_fail(error, CACHE_BROKEN, "out of memory");
    if (!folders_open(cache)) {
        cache_fail_system(error, "open the cache", folder);
        cache_close(cache);
        return false;
    }
    cache_list(cache->folder, "tmp", stale_remove, NULL);
    return true;
}

void cache_close(struct cache *cache)
{
    if (!cache->path) {
        cache_hash_close(cache);
        return;
    }
    cache_fresh_close(cache);
    if (cache->own >= 0) os_tree_remove_at(cache->temporary, cache->own_name);
    int files[] = {cache->own,    cache->total,  cache->lock,    cache->temporary, cache->known,
                   cache->result, cache->object, cache->content, cache->folder};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0) close(files[i]);
    map_release(&cache->memory, &cache->verified);
    cache_hash_close(cache);
    free(cache->path);
    *cache = (struct cache){0};
}

void cache_enter(struct cache *cache)
{
    if (cache->inside++) return;
    while (flock(cache->lock, LOCK_SH) != 0 && errno == EINTR) continue;
}

void cache_leave(struct cache *cache)
{
    assert(cache->inside > 0);
    if (--cache->inside == 0) flock(cache->lock, LOCK_UN);
}

// Locked at once, so that it is not taken for the folder of a dead process: if it was, it is gone,
// and we try again.
static bool own_try(struct cache *cache)
{
    uint64_t number;
    struct stat at;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return false;
    snprintf(cache->own_name, sizeof cache->own_name, "%016" PRIx64, number);
    if (mkdirat(cache->temporary, cache->own_name, 0700) != 0) return false;
    int fd = tree_open_below(cache->temporary, cache->own_name, O_RDONLY | O_DIRECTORY);
    bool mine = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0
                && fstatat(cache->temporary, cache->own_name, &at, AT_SYMLINK_NOFOLLOW) == 0;
    if (mine) cache->own = fd;
    if (!mine && fd >= 0) close(fd);
    if (!mine) errno = EAGAIN;
    return mine;
}

bool cache_own(struct cache *cache, struct cache_error *error)
{
    for (int tries = 0; cache->own < 0 && tries < 100; tries++)
        if (!own_try(cache) && errno != EEXIST && errno != EAGAIN) break;
    return cache->own >= 0 || cache_fail_system(error, "create a folder in tmp of", cache->path);
}

int cache_temporary(struct cache *cache, char name[24], struct cache_error *error)
{
    if (!cache_own(cache, error)) return -1;
    snprintf(name, 24, "%" PRIu64, ++cache->serial);
    int fd = openat(cache->own, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) cache_fail_system(error, "create a file in tmp of", cache->path);
    return fd;
}
