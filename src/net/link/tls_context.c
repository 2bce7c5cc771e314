// tls_context.c - loads the TLS library, and sets the options that all links share.
#define _GNU_SOURCE
#include "net/link/certificate.h"

#include <dlfcn.h>
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
        link_fail(error, "no memory for TLS");
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
