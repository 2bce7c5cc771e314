// revalidate.c - whether an open connection would be accepted with the keys of now.
#include "net/link/tls.h"

#include <string.h>

static bool key_is(const struct link_key *one, const struct link_key *other)
{
    return !one->pem && one->role == other->role && strcmp(one->id, other->id) == 0
           && memcmp(one->secret, other->secret, LINK_SECRET) == 0;
}

// A peer that has not named its key yet will be checked against the new keys; one that has named an
// unknown key is rejected at the end of its handshake, like any other.
static bool key_is_there(const struct link *link, const struct link_keys *keys)
{
    const struct link_key *key = &link->tls->key;
    if (link->state == LINK_OPENING && !*key->id) return true;
    for (uint32_t i = 0; i < keys->count; i++)
        if (key_is(&keys->items[i], key)) return true;
    return false;
}

static bool certificate_is_fine(const struct link *link, const struct link_key *key)
{
    struct link_error error;
    struct tls_context *context = tls_context_open(TLS_LISTENS, key, &error);
    if (!context) return false;
    const struct tls_library *library = &context->library;
    X509 *peer = library->SSL_get1_peer_certificate(link->tls->ssl);
    X509_STORE_CTX *check = library->X509_STORE_CTX_new();
    X509_STORE *store = library->SSL_CTX_get_cert_store(context->ssl);
    STACK_OF(X509) *chain = library->SSL_get_peer_cert_chain(link->tls->ssl);
    bool fine = peer && check && library->X509_STORE_CTX_init(check, store, peer, chain)
                && library->X509_verify_cert(check) == 1;
    library->X509_STORE_CTX_free(check);
    library->X509_free(peer);
    library->ERR_clear_error();
    tls_context_close(context);
    return fine;
}

bool link_is_allowed(const struct link *link, const struct link_keys *keys)
{
    if (!link->tls) return true;  // a local user
    if (link->state == LINK_CLOSED) return false;
    if (!link->tls->context->has_certificate) return key_is_there(link, keys);
    // During the handshake its certificate would be checked by the old authorities.
    if (link->state == LINK_OPENING) return false;
    for (uint32_t i = 0; i < keys->count; i++)
        if (keys->items[i].pem && certificate_is_fine(link, &keys->items[i])) return true;
    return false;
}
