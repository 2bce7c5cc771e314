// hash.c - hashes of contents.
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static bool digest_open(struct cache *cache, struct cache_error *error)
{
    struct os_digest_error why;
    cache->buffer = malloc(CACHE_BUFFER);
    if (!cache->buffer) return cache_fail(error, CACHE_BROKEN, "out of memory");
    cache->digest = os_digest_open(&why);
    if (!cache->digest) return cache_fail(error, CACHE_BROKEN, "%s", why.text);
    cache->sum = os_hash_open(cache->digest);
    return cache->sum || cache_fail(error, CACHE_BROKEN, "cannot start SHA-256");
}

void cache_hash_close(struct cache *cache)
{
    os_hash_close(cache->sum);
    os_digest_close(cache->digest);
    free(cache->buffer);
    cache->sum = NULL;
    cache->digest = NULL;
    cache->buffer = NULL;
}

bool cache_hash_begin(struct cache *cache, struct cache_error *error)
{
    if (!cache->digest && !digest_open(cache, error)) {
        cache_hash_close(cache);
        return false;
    }
    return os_hash_begin(cache->sum) || cache_fail(error, CACHE_BROKEN, "cannot start SHA-256");
}

void cache_hash_add(struct cache *cache, const void *bytes, size_t count)
{
    os_hash_add(cache->sum, bytes, count);
}

void cache_hash_end(struct cache *cache, uint8_t hash[CACHE_HASH])
{
    os_hash_end(cache->sum, hash);
}

struct os_hash *cache_hash_open(struct cache *cache, struct cache_error *error)
{
    if (!cache_hash_begin(cache, error)) return NULL;
    struct os_hash *sum = os_hash_open(cache->digest);
    if (!sum) cache_fail(error, CACHE_BROKEN, "cannot start SHA-256");
    return sum;
}

bool cache_hash_file(struct cache *cache, int fd, off_t size, uint8_t hash[CACHE_HASH],
                     const char *path, struct cache_error *error)
{
    if (!cache_hash_begin(cache, error)) return false;
    for (off_t at = 0; at < size;) {
        size_t wanted = size - at < CACHE_BUFFER ? (size_t)(size - at) : CACHE_BUFFER;
        ssize_t got = pread(fd, cache->buffer, wanted, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cache_fail_system(error, "read", path);
        if (got == 0) break;
        cache_hash_add(cache, cache->buffer, (size_t)got);
        at += got;
    }
    cache_hash_end(cache, hash);
    return true;
}
