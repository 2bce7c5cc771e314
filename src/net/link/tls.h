// tls.h - TLS 1.3 between two who have the same key; seen by the files of this folder only.
//
// The library is loaded with the first link that needs it: linked as usual, it would add two
// milliseconds to every start of the program. It never touches the socket. Bytes go through two
// buffers of its own, so a broken pipe is no signal, and what somebody may send before he is known
// is counted where it is read.
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

// What a certificate says about somebody.
struct certificate_who {
    bool is_server;
    enum wire_role role;  // unless it is a server
    char id[LINK_ID_MAX + 1];
};

// Of a listener and those whom it let in, or of one who connects.
struct tls_context {
    struct tls_library library;
    SSL_CTX *ssl;
    uint32_t users;
    uint8_t decoy[LINK_SECRET];  // the secret of whoever is not known
    bool has_certificate;        // and no keys
    struct certificate_who own;  // what it says about us
};

// Before a whole first message has come there is no `ssl`: silence and garbage cost little.
struct tls {
    struct tls_context *context;
    struct link *link;
    SSL *ssl;
    BIO *in, *out;        // belong to ssl
    BUF_MEM came_now;     // what `in` has, while it is read
    BUF_MEM *sealed;      // what `out` has
    uint32_t came;        // bytes, while opening
    bool is_named;        // who comes has named a key, be it known or not
    bool was_read;        // something that was sealed has come
    struct link_key key;  // of this side while opening, or the one that was named
    char identity[LINK_ID_MAX + 10];
};

// ---- tls_context.c --------------------------------------------------------------------------

enum tls_side { TLS_LISTENS, TLS_CONNECTS };
// With a certificate if the key has one.
struct tls_context *tls_context_open(enum tls_side side, const struct link_key *key,
                                     struct link_error *error);
void tls_context_close(struct tls_context *context);  // one user less

// ---- tls_key.c: called by the library ---------------------------------------------------------

int tls_find_key(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session);
int tls_use_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *length,
                SSL_SESSION **session);

// ---- tls.c ----------------------------------------------------------------------------------

bool tls_ssl_make(struct tls *tls, enum tls_side side);  // false: no memory

// Read and write at most a piece of the socket. The result is as that of recv(), or one of these.
enum { PIECE = 64 << 10, PIPE_AGAIN = -1, PIPE_OVER = -2 };
ssize_t file_read(struct link *link, char *bytes, size_t count);
ssize_t file_write(struct link *link, const char *bytes, size_t count);
