// sha256.c - SHA-256 by libcrypto, which is loaded on first use.
//
// Linking libcrypto would add a millisecond to every start of the program, even if it hashes
// nothing.
#include "os/os.h"

#include <assert.h>
#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct os_digest {
    void *library;
    EVP_MD *kind;
    __typeof__(EVP_MD_fetch) *fetch;
    __typeof__(EVP_MD_free) *kind_free;
    __typeof__(EVP_MD_CTX_new) *context_new;
    __typeof__(EVP_MD_CTX_free) *context_free;
    __typeof__(EVP_DigestInit_ex) *init;
    __typeof__(EVP_DigestUpdate) *update;
    __typeof__(EVP_DigestFinal_ex) *final;
    __typeof__(OPENSSL_init_crypto) *start;
};

static bool symbol_find(const struct os_digest *digest, const char *name, void **function)
{
    *function = dlsym(digest->library, name);
    return *function != NULL;
}

static bool symbols_find(struct os_digest *digest)
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

static struct os_digest *fail(struct os_digest *digest, struct os_digest_error *error,
                              const char *what, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s%s", what, why ? why : "");
    os_digest_close(digest);
    return NULL;
}

struct os_digest *os_digest_open(struct os_digest_error *error)
{
    struct os_digest *digest = calloc(1, sizeof *digest);
    if (!digest) return fail(digest, error, "out of memory", NULL);
    digest->library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!digest->library || !symbols_find(digest))
        return fail(digest, error, "cannot load libcrypto.so.3: ", dlerror());
    digest->start(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    digest->kind = digest->fetch(NULL, "SHA2-256", NULL);
    if (!digest->kind) return fail(digest, error, "libcrypto.so.3 has no SHA-256", NULL);
    return digest;
}

void os_digest_close(struct os_digest *digest)
{
    if (digest && digest->kind) digest->kind_free(digest->kind);
    free(digest);  // the library stays loaded: it has thread-local data and exit handlers
}

struct os_hash {
    const struct os_digest *digest;
    EVP_MD_CTX *context;
};

struct os_hash *os_hash_open(const struct os_digest *digest)
{
    struct os_hash *sum = calloc(1, sizeof *sum);
    if (sum) *sum = (struct os_hash){digest, digest->context_new()};
    if (sum && sum->context && os_hash_begin(sum)) return sum;
    os_hash_close(sum);
    return NULL;
}

bool os_hash_begin(struct os_hash *sum)
{
    return sum->digest->init(sum->context, sum->digest->kind, NULL) == 1;
}

void os_hash_add(struct os_hash *sum, const void *bytes, size_t count)
{
    int fine = sum->digest->update(sum->context, bytes, count);
    assert(fine == 1);
}

void os_hash_end(struct os_hash *sum, uint8_t hash[OS_HASH])
{
    unsigned length = 0;
    int fine = sum->digest->final(sum->context, hash, &length);
    assert(fine == 1);
    assert(length == OS_HASH);
}

void os_hash_close(struct os_hash *sum)
{
    if (sum && sum->context) sum->digest->context_free(sum->context);
    free(sum);
}
