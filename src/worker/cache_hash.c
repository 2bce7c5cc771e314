// cache_hash.c - SHA-256, by a library that is loaded with the first hash.
//
// Linked as usual, libcrypto adds a millisecond to every start of the program, also to those that
// hash nothing.
#include "worker/cache_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

struct cache_digest {
    void *library;
    EVP_MD *kind;
    EVP_MD_CTX *context;
    __typeof__(EVP_MD_fetch) *fetch;
    __typeof__(EVP_MD_free) *kind_free;
    __typeof__(EVP_MD_CTX_new) *context_new;
    __typeof__(EVP_MD_CTX_free) *context_free;
    __typeof__(EVP_DigestInit_ex) *init;
    __typeof__(EVP_DigestUpdate) *update;
    __typeof__(EVP_DigestFinal_ex) *final;
    __typeof__(OPENSSL_init_crypto) *start;
};

static bool symbol_find(const struct cache_digest *digest, const char *name, void **function)
{
    *function = dlsym(digest->library, name);
    return *function != NULL;
}

static bool symbols_find(struct cache_digest *digest)
{
    return symbol_find(digest, "EVP_MD_fetch", (void **)&digest->fetch)
           && symbol_find(digest, "EVP_MD_free", (void **)&digest->kind_free)
           && symbol_find(digest, "EVP_MD_CTX_new", (void **)&digest->context_new)
           && symbol_find(digest, "EVP_MD_CTX_free", (void **)&digest->context_free)
           && symbol_find(digest, "EVP_DigestInit_ex", (void **)&digest->init)
           && symbol_find(digest, "EVP_DigestUpdate", (void **)&digest->update)
           && symbol_find(digest, "EVP_DigestFinal_ex", (void **)&digest->final)
           && symbol_find(digest, "OPENSSL_init_crypto", (void **)&digest->start);
}

static bool digest_open(struct cache *cache, struct cache_error *error)
{
    struct cache_digest *digest = calloc(1, sizeof *digest);
    cache->buffer = malloc(CACHE_BUFFER);
    cache->digest = digest;
    if (!digest || !cache->buffer) return cache_fail(error, CACHE_BROKEN, "no memory");
    digest->library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!digest->library || !symbols_find(digest))
        return cache_fail(error, CACHE_BROKEN, "libcrypto.so.3 cannot be used: %s", dlerror());
    digest->start(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    digest->kind = digest->fetch(NULL, "SHA2-256", NULL);
    digest->context = digest->context_new();
    if (digest->kind && digest->context) return true;
    return cache_fail(error, CACHE_BROKEN, "libcrypto.so.3 has no SHA-256");
}

void cache_hash_close(struct cache *cache)
{
    struct cache_digest *digest = cache->digest;
    if (digest && digest->context) digest->context_free(digest->context);
    if (digest && digest->kind) digest->kind_free(digest->kind);
    free(digest);  // the library stays: it has threads' and exit's business of its own
    free(cache->buffer);
    cache->digest = NULL;
    cache->buffer = NULL;
}

bool cache_hash_begin(struct cache *cache, struct cache_error *error)
{
    if (!cache->digest && !digest_open(cache, error)) {
        cache_hash_close(cache);
        return false;
    }
    if (cache->digest->init(cache->digest->context, cache->digest->kind, NULL) == 1) return true;
    return cache_fail(error, CACHE_BROKEN, "SHA-256 does not start");
}

void cache_hash_add(struct cache *cache, const void *bytes, size_t count)
{
    int fine = cache->digest->update(cache->digest->context, bytes, count);
    assert(fine == 1);
}

void cache_hash_end(struct cache *cache, uint8_t hash[CACHE_HASH])
{
    unsigned length = 0;
    int fine = cache->digest->final(cache->digest->context, hash, &length);
    assert(fine == 1);
    assert(length == CACHE_HASH);
}

struct cache_sum {
    const struct cache_digest *digest;
    EVP_MD_CTX *context;
};

struct cache_sum *cache_sum_open(struct cache *cache, struct cache_error *error)
{
    if (!cache_hash_begin(cache, error)) return NULL;
    struct cache_sum *sum = calloc(1, sizeof *sum);
    const struct cache_digest *digest = cache->digest;
    if (sum) *sum = (struct cache_sum){digest, digest->context_new()};
    if (sum && sum->context && digest->init(sum->context, digest->kind, NULL) == 1) return sum;
    cache_sum_close(sum);
    cache_fail(error, CACHE_BROKEN, "SHA-256 does not start");
    return NULL;
}

void cache_sum_add(struct cache_sum *sum, const void *bytes, size_t count)
{
    int fine = sum->digest->update(sum->context, bytes, count);
    assert(fine == 1);
}

void cache_sum_end(struct cache_sum *sum, uint8_t hash[CACHE_HASH])
{
    unsigned length = 0;
    int fine = sum->digest->final(sum->context, hash, &length);
    assert(fine == 1);
    assert(length == CACHE_HASH);
}

void cache_sum_close(struct cache_sum *sum)
{
    if (sum && sum->context) sum->digest->context_free(sum->context);
    free(sum);
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
