// tls.h - TLS 1.3 between two sides with a common key, or certificates; internal to this folder.
//
// The first link that needs TLS loads the library: linked as usual, it would add two milliseconds
// to every start of the program. The library never touches the socket. Bytes go through two of its
// buffers, so a broken pipe is not a signal, and the bytes of a peer that has not authenticated are
// counted where they are read.
#pragma once

#include "net/link/internal.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#define TLS_FUNCTIONS(F)                                                                      \
    F(OPENSSL_init_ssl) F(ERR_clear_error) F(BIO_new) F(BIO_s_mem) F(BIO_free)                \
    F(BIO_read) F(BIO_write) F(BIO_ctrl) F(BUF_MEM_new) F(BUF_MEM_free)                       \
    F(TLS_server_method) F(TLS_client_method) F(SSL_CTX_new) F(SSL_CTX_free) F(SSL_CTX_ctrl)  \
    F(SSL_CTX_set_options) F(SSL_CTX_set_ciphersuites) F(SSL_CTX_set_num_tickets)             \
    F(SSL_CTX_set_verify) F(SSL_CTX_set_psk_find_session_callback)                            \
    F(SSL_CTX_set_psk_use_session_callback) F(SSL_new) F(SSL_free) F(SSL_set_bio)             \
    F(SSL_set_read_ahead) F(SSL_set_default_read_buffer_len)                                  \
    F(SSL_set_ex_data) F(SSL_get_ex_data) F(SSL_set_accept_state) F(SSL_set_connect_state)    \
    F(SSL_do_handshake) F(SSL_get_error) F(SSL_read_ex) F(SSL_write_ex) F(SSL_shutdown)       \
    F(SSL_session_reused) F(SSL_CIPHER_find) F(SSL_SESSION_new) F(SSL_SESSION_free)           \
    F(SSL_SESSION_set1_master_key) F(SSL_SESSION_set_cipher)                                  \
    F(SSL_SESSION_set_protocol_version)                                                       \
    F(BIO_new_mem_buf) F(PEM_read_bio_PrivateKey) F(PEM_read_bio_X509)                        \
    F(PEM_read_bio_X509_CRL) F(X509_free) F(X509_CRL_free) F(EVP_PKEY_free)                   \
    F(X509_get_subject_name) F(X509_NAME_get_index_by_NID) F(X509_NAME_get_text_by_NID)       \
    F(X509_STORE_add_cert) F(X509_STORE_add_crl) F(X509_STORE_set_flags)                      \
    F(X509_verify_cert_error_string) F(SSL_CTX_use_certificate) F(SSL_CTX_use_PrivateKey)     \
    F(SSL_CTX_check_private_key) F(SSL_CTX_get_cert_store) F(SSL_CTX_set_security_level)      \
    F(SSL_get1_peer_certificate) F(SSL_get_verify_result) F(SSL_set1_host)                    \
    F(X509_STORE_CTX_new) F(X509_STORE_CTX_init) F(X509_verify_cert) F(X509_STORE_CTX_free)   \
    F(SSL_get_peer_cert_chain)

struct tls_library {
    void *handle;
#define TLS_MEMBER(name) __typeof__(name) *name;
    TLS_FUNCTIONS(TLS_MEMBER)
#undef TLS_MEMBER
};

// The identity in a certificate.
struct certificate_identity {
    bool is_server;
    enum wire_role role;  // not of a server
    char id[LINK_ID_MAX + 1];
};

// Shared by a listener and the links it accepted, or of one link that connects.
struct tls_context {
    struct tls_library library;
    SSL_CTX *ssl;
    uint32_t users;
    uint8_t decoy[LINK_SECRET];  // the secret that unknown ids get
    bool has_certificate;        // instead of keys
    struct certificate_identity own;  // the identity in it
};

// `ssl` exists from the first complete record on: a silent or invalid peer costs little.
struct tls {
    struct tls_context *context;
    struct link *link;
    SSL *ssl;
    BIO *in, *out;        // belong to ssl
    BUF_MEM came_now;     // the content of `in`, while it is read
    BUF_MEM *sealed;      // the content of `out`
    uint32_t came;        // bytes received while opening
    bool is_named;        // the peer has named a key, known or not
    bool was_read;        // an encrypted record was received
    struct link_key key;  // of this side while opening, or the one that the peer named
    char identity[LINK_ID_MAX + 10];
};

// ---- tls_context.c --------------------------------------------------------------------------

enum tls_side { TLS_LISTENS, TLS_CONNECTS };
// Uses a certificate if the key has one.
struct tls_context *tls_context_open(enum tls_side side, const struct link_key *key,
                                     struct link_error *error);
void tls_context_close(struct tls_context *context);  // drops a reference

// ---- tls.c ----------------------------------------------------------------------------------

// Read or write at most one piece. The result is that of recv(), or one of these.
enum { PIECE = 64 << 10, PIPE_AGAIN = -1, PIPE_OVER = -2 };
ssize_t file_read(struct link *link, char *bytes, size_t count);
ssize_t file_write(struct link *link, const char *bytes, size_t count);

// ---- certificate.c: certificates instead of keys ---------------------------------------------

bool certificate_is_text(const char *text, size_t size);  // not lines of keys
// The key of such a text, with its role and id. False: there is nothing to release.
bool certificate_key(struct link_keys *keys, const char *text, size_t size, const char *path,
                     struct link_error *error);
// Makes a context present this certificate, and trust the authorities in the same text.
bool certificate_use(struct tls_context *context, const char *pem, struct link_error *error);
bool certificate_identity(const struct tls_library *library, const X509 *certificate,
                          struct certificate_identity *who);
// The identity of the other side, if its certificate is valid. False: it is not.
bool certificate_peer(const struct tls *tls, struct certificate_identity *who);
const char *certificate_fault(const struct tls *tls);  // why it is invalid, or null
