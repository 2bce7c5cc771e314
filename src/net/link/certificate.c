// certificate.c - certificate files, and the role and id in a certificate.
//
// A file has a private key, its certificate, and after it the certificates of trusted authorities,
// optionally with their revocation lists. The subject of a certificate holds the identity: OU is
// the role, CN the id.
#define _GNU_SOURCE
#include "net/link/tls.h"

#include <stdlib.h>
#include <string.h>

enum { SECURITY = 2 };  // of OpenSSL: no SHA-1, no RSA below 2048 bits

bool certificate_is_text(const char *text, size_t size)
{
    return memmem(text, size, "-----BEGIN ", 11) != NULL;
}

// ---- The subject of a certificate --------------------------------------------------------------

// There must be exactly one: two would be ambiguous.
static bool subject_read(const struct tls_library *library, const X509 *certificate, int what,
                         char *text, int size)
{
    X509_NAME *subject = library->X509_get_subject_name(certificate);
    int first = library->X509_NAME_get_index_by_NID(subject, what, -1);
    if (first < 0 || library->X509_NAME_get_index_by_NID(subject, what, first) >= 0) return false;
    int length = library->X509_NAME_get_text_by_NID(subject, what, text, size);
    return length > 0 && length < size - 1 && strlen(text) == (size_t)length;
}

bool certificate_identity(const struct tls_library *library, const X509 *certificate,
                          struct certificate_identity *who)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    char role[16];
    *who = (struct certificate_identity){.role = (enum wire_role)0};
    if (!subject_read(library, certificate, NID_organizationalUnitName, role, sizeof role)
        || !subject_read(library, certificate, NID_commonName, who->id, sizeof who->id)
        || strspn(who->id, letters) != strlen(who->id))
        return false;
    who->is_server = strcmp(role, "server") == 0;
    return who->is_server || link_role_read(role, &who->role);
}

// ---- A file ------------------------------------------------------------------------------------

// OpenSSL would ask for a password at a terminal, and there is no terminal.
static int no_password(char *text, int size, int writes, void *context)
{
    (void)text, (void)size, (void)writes, (void)context;
    return -1;
}

// Searches from the beginning for each part: the parts may come in any order.
static BIO *reader(const struct tls_library *library, const char *pem)
{
    return library->BIO_new_mem_buf(pem, (int)strlen(pem));
}

static bool own_use(const struct tls_context *context, const char *pem,
                    struct certificate_identity *who)
{
    const struct tls_library *library = &context->library;
    BIO *one = reader(library, pem), *other = reader(library, pem);
    EVP_PKEY *key = one ? library->PEM_read_bio_PrivateKey(one, NULL, no_password, NULL) : NULL;
    X509 *own = other ? library->PEM_read_bio_X509(other, NULL, no_password, NULL) : NULL;
    bool fine = key && own && certificate_identity(library, own, who)
                && library->SSL_CTX_use_certificate(context->ssl, own) == 1
                && library->SSL_CTX_use_PrivateKey(context->ssl, key) == 1
                && library->SSL_CTX_check_private_key(context->ssl) == 1;
    library->X509_free(own);
    library->EVP_PKEY_free(key);
    library->BIO_free(one);
    library->BIO_free(other);
    return fine;
}

static uint32_t believed_add(const struct tls_context *context, const char *pem)
{
    const struct tls_library *library = &context->library;
    X509_STORE *store = library->SSL_CTX_get_cert_store(context->ssl);
    BIO *file = reader(library, pem);
    uint32_t count = 0;
    for (X509 *one; file && (one = library->PEM_read_bio_X509(file, NULL, no_password, NULL));) {
        if (count++) library->X509_STORE_add_cert(store, one);  // the first is the own certificate
        library->X509_free(one);
    }
    library->BIO_free(file);
    return count ? count - 1 : 0;
}

static void revoked_add(const struct tls_context *context, const char *pem)
{
    const struct tls_library *library = &context->library;
    X509_STORE *store = library->SSL_CTX_get_cert_store(context->ssl);
    BIO *file = reader(library, pem);
    uint32_t count = 0;
    for (X509_CRL *one;
         file && (one = library->PEM_read_bio_X509_CRL(file, NULL, no_password, NULL)); count++) {
        library->X509_STORE_add_crl(store, one);
        library->X509_CRL_free(one);
    }
    if (count) library->X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    library->BIO_free(file);
}

bool certificate_use(struct tls_context *context, const char *pem, struct link_error *error)
{
    const struct tls_library *library = &context->library;
    library->SSL_CTX_set_security_level(context->ssl, SECURITY);
    library->SSL_CTX_set_verify(context->ssl,
                                SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    context->has_certificate = true;
    bool fine = own_use(context, pem, &context->own);
    bool believes = fine && believed_add(context, pem);
    if (fine) revoked_add(context, pem);
    library->ERR_clear_error();
    if (!fine)
        return link_fail(error, "no private key, or its certificate names no role");
    return believes || link_fail(error, "no certificate of an authority");
}

bool certificate_key(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error)
{
    struct link_error fault;
    *keys = (struct link_keys){calloc(LINK_KEYS_MAX, sizeof *keys->items), 1};
    if (!keys->items) return link_fail(error, "%.200s: out of memory", path);
    struct link_key *key = keys->items;
    key->pem = strndup(text, size);
    struct tls_context *context = key->pem ? tls_context_open(TLS_LISTENS, key, &fault) : NULL;
    if (context) {
        key->role = context->own.role;
        memcpy(key->id, context->own.id, sizeof key->id);
        tls_context_close(context);
        return true;
    }
    link_fail(error, "%.100s: %.290s", path, key->pem ? fault.text : "out of memory");
    link_keys_release(keys);
    return false;
}

// ---- The other side ----------------------------------------------------------------------------

const char *certificate_fault(const struct tls *tls)
{
    const struct tls_library *library = &tls->context->library;
    long result = library->SSL_get_verify_result(tls->ssl);
    return result == X509_V_OK ? NULL : library->X509_verify_cert_error_string(result);
}

bool certificate_peer(const struct tls *tls, struct certificate_identity *who)
{
    const struct tls_library *library = &tls->context->library;
    X509 *peer = library->SSL_get1_peer_certificate(tls->ssl);
    bool fine = peer && !certificate_fault(tls) && certificate_identity(library, peer, who);
    library->X509_free(peer);
    return fine;
}
