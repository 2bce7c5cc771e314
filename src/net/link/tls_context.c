// tls_context.c - loads the TLS library, sets the options that all links share, and finds keys.
#define _GNU_SOURCE
#include "net/link/tls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LIBRARY "libssl.so.3"

static bool library_load(struct tls_library *library, struct link_error *error)
{
    library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) return link_fail(error, "TLS cannot be used: %.300s", dlerror());
#define FIND(name)                                                                     \
    if (!(library->name = (__typeof__(library->name))dlsym(library->handle, #name)))   \
        return link_fail(error, "TLS cannot be used: " LIBRARY " has no " #name);
    TLS_FUNCTIONS(FIND)
#undef FIND
    // Ignores the system's TLS configuration: all options are set here.
    const uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;
    if (library->OPENSSL_init_ssl(options, NULL) == 1) return true;
    return link_fail(error, "TLS cannot be used: " LIBRARY " does not start");
}

// ---- Callbacks by which the library finds the key of a connection -----------------------------

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

static int tls_use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
                       size_t *length, SSL_SESSION **session)
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
static int tls_find_key(SSL *ssl, const unsigned char *identity, size_t length,
                        SSL_SESSION **session)
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

// One version and one cipher suite: a downgrade is impossible. TLS 1.3 uses an external key with
// SHA-256 by default, and AES-128 is no weaker than X25519. No tickets, so that every connection
// proves that it has the key.
static bool settle(struct tls_context *context, enum tls_side side, const struct link_key *key,
                   struct link_error *error)
{
    const struct tls_library *library = &context->library;
    const uint64_t options = SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION;
    SSL_CTX *ssl = context->ssl;
    char groups[] = "X25519:P-256";
    library->SSL_CTX_set_options(ssl, options);
    library->SSL_CTX_ctrl(ssl, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    library->SSL_CTX_ctrl(ssl, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    if (key && key->pem) {
        if (!certificate_use(context, key->pem, error)) return false;
    } else if (side == TLS_LISTENS) {
        library->SSL_CTX_set_psk_find_session_callback(ssl, tls_find_key);
    } else {
        // No authority is trusted: a peer that presents a certificate instead of the key fails.
        library->SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
        library->SSL_CTX_set_psk_use_session_callback(ssl, tls_use_key);
    }
    return library->SSL_CTX_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) == 1
           && library->SSL_CTX_ctrl(ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, NULL) == 1
           && library->SSL_CTX_ctrl(ssl, SSL_CTRL_SET_GROUPS_LIST, 0, groups) == 1
           && library->SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256") == 1
           && library->SSL_CTX_set_num_tickets(ssl, 0) == 1;
}

struct tls_context *tls_context_open(enum tls_side side, const struct link_key *key,
                                     struct link_error *error)
{
    struct tls_context *context = calloc(1, sizeof *context);
    if (!context) {
        link_fail(error, "out of memory for TLS");
        return NULL;
    }
    context->users = 1;
    const struct tls_library *library = &context->library;
    if (library_load(&context->library, error)) {
        context->ssl = library->SSL_CTX_new(side == TLS_LISTENS ? library->TLS_server_method()
                                                                : library->TLS_client_method());
        ssize_t got = getrandom(context->decoy, sizeof context->decoy, 0);
        link_fail(error, "TLS cannot be used: " LIBRARY " is not as it should be");
        bool whole = context->ssl && got == sizeof context->decoy;
        if (whole && settle(context, side, key, error)) return context;
    }
    tls_context_close(context);
    return NULL;
}

void tls_context_close(struct tls_context *context)
{
    if (!context || --context->users) return;
    if (context->ssl) context->library.SSL_CTX_free(context->ssl);
    free(context);  // the library stays loaded: it has thread and exit handlers
}
