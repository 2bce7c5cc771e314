// tls_key.c - the callbacks by which the TLS library finds the key of a connection.
#define _GNU_SOURCE
#include "net/link/tls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// The library passes only its own object, from which our table of its functions cannot be reached.
// It is loaded already, so another dlopen() is cheap.
static struct tls *tls_of(const SSL *ssl)
{
    void *handle = dlopen("libssl.so.3", RTLD_NOW | RTLD_NOLOAD);
    assert(handle);
    __typeof__(SSL_get_ex_data) *get
        = (__typeof__(SSL_get_ex_data) *)dlsym(handle, "SSL_get_ex_data");
    assert(get);
    struct tls *tls = get(ssl, 0);
    dlclose(handle);
    return tls;
}

static SSL_SESSION *session_of(const struct tls *tls, const uint8_t secret[LINK_SECRET])
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const struct tls_library *library = &tls->context->library;
    const SSL_CIPHER *cipher = library->SSL_CIPHER_find(tls->ssl, aes_128_gcm_sha256);
    SSL_SESSION *session = library->SSL_SESSION_new();
    if (session && cipher
        && library->SSL_SESSION_set1_master_key(session, secret, LINK_SECRET) == 1
        && library->SSL_SESSION_set_cipher(session, cipher) == 1
        && library->SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    library->SSL_SESSION_free(session);
    return NULL;
}

int tls_use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *length,
                SSL_SESSION **session)
{
    (void)digest;  // there is only one suite
    struct tls *tls = tls_of(ssl);
    *identity = (const unsigned char *)tls->identity;
    *length = strlen(tls->identity);
    *session = session_of(tls, tls->key.secret);
    return *session != NULL;
}

enum { NAME_ROOM = LINK_ID_MAX + 10 };

// All ones if the peer named this key, else 0. Compares every byte, so that the time tells nothing.
static uint8_t mask_of(const struct link_key *key, const unsigned char said[NAME_ROOM])
{
    char name[NAME_ROOM] = {0};
    volatile uint8_t difference = 0;  // or a compiler might stop at the first difference
    snprintf(name, sizeof name, "%s:%s", link_role_name(key->role), key->id);
    for (int i = 0; i < NAME_ROOM; i++) difference |= (uint8_t)name[i] ^ said[i];
    return (uint8_t)((((uint32_t)difference - 1) >> 8) & 0xff);
}

// Copies a key or nothing; writes the same number of bytes either way.
static void key_choose(struct link_key *chosen, const struct link_key *key, uint8_t mask)
{
    uint8_t *to = (uint8_t *)chosen;
    const uint8_t *from = (const uint8_t *)key;
    for (size_t i = 0; i < sizeof *key; i++) to[i] = (to[i] & (uint8_t)~mask) | (from[i] & mask);
}

// An unknown id gets the same computations as a wrong key, so that a peer cannot find out which ids
// exist: all keys are compared, and the work for each does not depend on the result.
int tls_find_key(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session)
{
    struct tls *tls = tls_of(ssl);
    const struct link_keys *keys = tls->link->door ? tls->link->door->keys : NULL;
    tls->is_named = true;
    tls->key = (struct link_key){0};
    memcpy(tls->key.secret, tls->context->decoy, LINK_SECRET);
    unsigned char said[NAME_ROOM] = {0};  // empty if it is longer than any name
    if (length < sizeof said && !memchr(identity, 0, length)) memcpy(said, identity, length);
    for (uint32_t i = 0; keys && i < keys->count; i++)
        key_choose(&tls->key, &keys->items[i], mask_of(&keys->items[i], said));
    *session = session_of(tls, tls->key.secret);
    return *session != NULL;
}
