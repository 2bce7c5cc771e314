// tls.c - messages in and out over TLS 1.3.
//
// The link owns its TLS state. Until the handshake has finished, a listener accepts only a limited
// number of bytes. The reasons of failed handshakes tell a peer nothing about the keys.
#define _GNU_SOURCE
#include "net/link/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// RECORDS: the most bytes that encryption adds to a piece.
enum { RECORD_HEAD = 5, RECORD_HANDSHAKE = 22, RECORDS = 1 << 10 };

// One reason for all failures: a peer that tries keys learns nothing from it.
static const char refused[] = "the peer has no valid key";
static const char not_welcome[] = "the server rejects this key, or is not a rota server";
static const char not_taken[] = "the server rejects this certificate, or is not a rota server";
static const char not_server[] = "its certificate is not for a server";

// ---- Making and ending --------------------------------------------------------------------

// BIO_read() would copy the bytes only to discard them.
static void out_empty(struct tls *tls)
{
    tls->sealed->length = 0;
    tls->context->library.BIO_ctrl(tls->out, BIO_C_SET_BUF_MEM, BIO_NOCLOSE, tls->sealed);
}

// False: no memory.
static bool tls_ssl_make(struct tls *tls, enum tls_side side)
{
    const struct tls_library *library = &tls->context->library;
    tls->ssl = library->SSL_new(tls->context->ssl);
    tls->in = library->BIO_new(library->BIO_s_mem());
    tls->out = library->BIO_new(library->BIO_s_mem());
    tls->sealed = library->BUF_MEM_new();
    if (!tls->ssl || !tls->in || !tls->out || !tls->sealed
        || !library->SSL_set_ex_data(tls->ssl, 0, tls)) {
        library->BIO_free(tls->in);
        library->BIO_free(tls->out);
        library->SSL_free(tls->ssl);
        tls->ssl = NULL;
        return false;
    }
    library->BIO_ctrl(tls->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);  // empty: not the end
    out_empty(tls);
    library->SSL_set_bio(tls->ssl, tls->in, tls->out);
    library->SSL_set_read_ahead(tls->ssl, 1);
    if (side == TLS_LISTENS)
        library->SSL_set_accept_state(tls->ssl);
    else
        library->SSL_set_connect_state(tls->ssl);
    return true;
}

bool tls_accept(struct link *link, struct tls_context *context)
{
    link->tls = calloc(1, sizeof *link->tls);
    if (!link->tls) return false;
    *link->tls = (struct tls){.context = context, .link = link};
    context->users++;
    return true;
}

bool tls_connect(struct link *link, const struct link_key *key, const char *host,
                 struct link_error *error)
{
    struct tls_context *context = tls_context_open(TLS_CONNECTS, key, error);
    if (!context) return false;
    bool fine = tls_accept(link, context);
    tls_context_close(context);  // the link has a reference
    if (!fine) return link_fail(error, "out of memory for TLS");
    struct tls *tls = link->tls;
    tls->key = *key;
    tls->key.pem = NULL;  // the context holds a copy
    snprintf(tls->identity, sizeof tls->identity, "%s:%s", link_role_name(key->role), key->id);
    if (!tls_ssl_make(tls, TLS_CONNECTS)) return link_fail(error, "out of memory for TLS");
    if (!key->pem || context->library.SSL_set1_host(tls->ssl, host) == 1) return true;
    return link_fail(error, "%.200s: no certificate can match this host", host);
}

// Sends a close alert if that needs no waiting, by which the other side knows that nothing is cut.
void tls_close(struct link *link)
{
    struct tls *tls = link->tls;
    if (!tls) return;
    const struct tls_library *library = &tls->context->library;
    if (tls->ssl && link->state == LINK_OPEN && link->out.sent == link->out.length) {
        library->ERR_clear_error();
        library->SSL_shutdown(tls->ssl);
        tls_flush(link);
    }
    if (tls->ssl) library->SSL_free(tls->ssl);
    library->BUF_MEM_free(tls->sealed);
    tls_context_close(tls->context);
    explicit_bzero(tls, sizeof *tls);
    free(tls);
    link->tls = NULL;
}

// ---- Bytes to the socket ------------------------------------------------------------------

bool tls_has_more(const struct link *link)
{
    const struct tls *tls = link->tls;
    return tls->ssl && tls->context->library.BIO_ctrl(tls->out, BIO_CTRL_PENDING, 0, NULL) > 0;
}

static bool records_write(struct link *link)
{
    const struct tls_library *library = &link->tls->context->library;
    char rest[PIECE + RECORDS];
    while (tls_has_more(link)) {
        char *bytes;
        size_t count = (size_t)library->BIO_ctrl(link->tls->out, BIO_CTRL_INFO, 0, &bytes);
        ssize_t sent = file_write(link, bytes, count < sizeof rest ? count : sizeof rest);
        if (sent < 0) return sent == PIPE_AGAIN;
        if ((size_t)sent == count)
            out_empty(link->tls);
        else
            library->BIO_read(link->tls->out, rest, (int)sent);  // removes the sent bytes
    }
    return true;
}

// Encrypts only what the socket accepts: the rest waits in `out`, unencrypted.
bool tls_flush(struct link *link)
{
    const struct tls_library *library = &link->tls->context->library;
    struct wire_out *out = &link->out;
    for (;;) {
        if (!records_write(link)) return false;
        if (tls_has_more(link) || link->state != LINK_OPEN || out->sent == out->length) return true;
        uint32_t left = out->length - out->sent;
        size_t taken = 0;
        library->ERR_clear_error();
        if (library->SSL_write_ex(link->tls->ssl, out->bytes + out->sent,
                                  left < PIECE ? left : PIECE, &taken) != 1)
            return link_end(link, "the connection broke");
        wire_out_sent(out, (uint32_t)taken);
    }
}

// ---- Bytes from the socket ----------------------------------------------------------------

// Until no complete record is left: poll() reports bytes in the socket, not those in this buffer.
static bool records_read(struct link *link)
{
    const struct tls_library *library = &link->tls->context->library;
    for (;;) {
        size_t got = 0;
        char *bytes = wire_in_room(&link->in, PIECE);
        if (!bytes) return link_end(link, "out of memory for received data");
        library->ERR_clear_error();
        int result = library->SSL_read_ex(link->tls->ssl, bytes, PIECE, &got);
        if (result == 1) {
            link->tls->was_read = true;
            wire_in_came(&link->in, (uint32_t)got);
            continue;
        }
        int why = library->SSL_get_error(link->tls->ssl, result);
        if (why == SSL_ERROR_WANT_READ) return true;
        // The other side checks our certificate after our handshake has finished.
        if (link->tls->context->has_certificate && !link->tls->was_read && why == SSL_ERROR_SSL) {
            link->is_denied = true;
            return link_end(link, not_taken);
        }
        return link_end(link, why == SSL_ERROR_ZERO_RETURN ? "the peer closed the connection"
                                                           : "the data was changed in transit");
    }
}

// OpenSSL consumes all bytes it was given before it asks for more, so it may read them directly
// from the link's buffer.
ssize_t tls_read(struct link *link)
{
    struct tls *tls = link->tls;
    char bytes[PIECE + RECORDS];
    ssize_t count = file_read(link, bytes, sizeof bytes);
    if (count <= 0) return count;
    tls->came_now = (BUF_MEM){.length = (size_t)count, .data = bytes, .max = (size_t)count};
    tls->context->library.BIO_ctrl(tls->in, BIO_C_SET_BUF_MEM, BIO_NOCLOSE, &tls->came_now);
    return records_read(link) ? count : PIPE_OVER;
}

// ---- Opening ------------------------------------------------------------------------------

// A peer that has not authenticated may send a limited number of bytes.
static ssize_t stranger_read(struct link *link, char *bytes)
{
    bool certificates = link->tls->context->has_certificate;
    uint32_t most = certificates ? LINK_OPENING_CERTIFICATES : LINK_OPENING_BYTES;
    uint32_t left = most - link->tls->came;
    uint32_t piece = left < LINK_OPENING_BYTES ? left : LINK_OPENING_BYTES;
    ssize_t count = left ? file_read(link, bytes, piece) : 0;
    if (count > 0) link->tls->came += (uint32_t)count;
    if (left) return count;
    link_end(link, refused);
    return PIPE_OVER;
}

// The first record of a peer, in `in` until it is complete.
static bool is_record_whole(struct link *link)
{
    const struct wire_in *in = &link->in;
    const unsigned char *head = (const unsigned char *)in->bytes;
    if (in->length == 0) return false;
    if (head[0] != RECORD_HANDSHAKE || (in->length > 1 && head[1] != 3))
        return link_end(link, refused);
    if (in->length < RECORD_HEAD) return false;
    uint32_t length = (uint32_t)head[3] << 8 | head[4];
    if (length + RECORD_HEAD > LINK_OPENING_BYTES) return link_end(link, refused);
    return in->length >= length + RECORD_HEAD;
}

static bool first_read(struct link *link)
{
    struct tls *tls = link->tls;
    char *bytes = wire_in_room(&link->in, LINK_OPENING_BYTES);
    if (!bytes) return link_end(link, "out of memory");
    ssize_t count = stranger_read(link, bytes);
    if (count < 0) return false;
    wire_in_came(&link->in, (uint32_t)count);
    if (!is_record_whole(link)) return false;
    int length = (int)link->in.length;
    if (!tls_ssl_make(tls, TLS_LISTENS)
        || tls->context->library.BIO_write(tls->in, link->in.bytes, length) != length)
        return link_end(link, "out of memory");
    link->in.length = 0;
    return true;
}

static bool next_read(struct link *link)
{
    char bytes[LINK_OPENING_BYTES];
    ssize_t count = stranger_read(link, bytes);
    if (count < 0) return false;
    if (link->tls->context->library.BIO_write(link->tls->in, bytes, (int)count) == (int)count)
        return true;
    return link_end(link, "out of memory");
}

// Between workers the side that serves objects is a peer, like the other.
static bool is_expected(const struct tls_context *context, const struct certificate_identity *who,
                        bool comes)
{
    bool are_peers = context->own.role == WIRE_PEER && who->role == WIRE_PEER;
    return comes ? !who->is_server : who->is_server || are_peers;
}

// Makes room for a piece with the overhead of its records, so that it arrives in one read.
static bool opened(struct link *link)
{
    link_opened(link);
    link->tls->context->library.SSL_set_default_read_buffer_len(link->tls->ssl, PIECE + RECORDS);
    return records_read(link);  // bytes that came with the end of the handshake
}

// The side that connected must not retry with the same key.
static bool deny(struct link *link, bool comes, const char *reason)
{
    link->is_denied = !comes;
    return link_end(link, comes ? refused : reason);
}

static bool on_certificate(struct link *link, bool comes)
{
    struct certificate_identity who;
    if (!certificate_peer(link->tls, &who)) return deny(link, comes, not_taken);
    if (!is_expected(link->tls->context, &who, comes))
        return deny(link, comes, not_server);
    memcpy(link->id, who.id, sizeof link->id);
    link->roles = comes ? who.role : 0;
    return opened(link);
}

// Checks again that the key was used, independently of the library.
static bool on_open(struct link *link, bool comes)
{
    struct tls *tls = link->tls;
    if (tls->context->has_certificate) return on_certificate(link, comes);
    if (!tls->context->library.SSL_session_reused(tls->ssl) || !*tls->key.id)
        return deny(link, comes, not_welcome);
    memcpy(link->id, tls->key.id, sizeof link->id);
    link->roles = comes ? tls->key.role : 0;
    if (!comes) explicit_bzero(&tls->key, sizeof tls->key);
    return opened(link);
}

static const char *why_not(const struct tls *tls)
{
    if (!tls->context->has_certificate) return not_welcome;
    const char *fault = certificate_fault(tls);
    return fault ? fault : not_taken;
}

bool tls_open_on(struct link *link)
{
    struct tls *tls = link->tls;
    const struct tls_library *library = &tls->context->library;
    bool comes = !*tls->identity;
    while (link->state == LINK_OPENING && (tls->ssl || first_read(link))) {
        library->ERR_clear_error();
        int result = library->SSL_do_handshake(tls->ssl);
        bool waits = result != 1
                     && library->SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ;
        if (!records_write(link)) return false;
        if (result == 1) return on_open(link, comes);
        // A peer that names no key in its first message cannot succeed.
        bool is_nobody = comes && !tls->is_named && !tls->context->has_certificate;
        if (!waits || is_nobody) return deny(link, comes, why_not(tls));
        if (!next_read(link)) break;
    }
    return link->state != LINK_CLOSED;
}

// ---- Whether an open connection would be accepted with the keys of now ------------------------

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
