// limit_tls.c - the least cost of TLS 1.3: OpenSSL in blocking mode, one thread at each end, the
// cipher that rota uses, a key that is made for it.
#include "limit_tls.h"

#include "bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 256 << 10 };

static void must(bool fine, const char *what)
{
    if (fine) return;
    fprintf(stderr, "limit_tls: %s: %s\n", what, ERR_error_string(ERR_get_error(), NULL));
    exit(1);
}

static SSL_CTX *context_open(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    must(context && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION)
             && SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"),
         "a context");
    return context;
}

static void certificate_make(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    must(key && certificate && X509_set_version(certificate, 2)
             && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
             && X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
             && X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
             && X509_set_pubkey(certificate, key) && X509_sign(certificate, key, EVP_sha256())
             && SSL_CTX_use_certificate(context, certificate)
             && SSL_CTX_use_PrivateKey(context, key),
         "a certificate");
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static int listener(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(file >= 0 && !bind(file, (void *)address, size) && !listen(file, 1)
             && !getsockname(file, (void *)address, &size),
         "listen");
    return file;
}

static SSL *stream_open(SSL_CTX *context, int file)
{
    int one = 1;
    must(file >= 0 && !setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "connect");
    SSL *stream = SSL_new(context);
    must(stream && SSL_set_fd(stream, file), "a stream");
    return stream;
}

static _Noreturn void send_all(int listening, int from, uint64_t bytes)
{
    static char buffer[BUFFER];
    SSL_CTX *context = context_open(TLS_server_method());
    certificate_make(context);
    SSL *stream = stream_open(context, accept(listening, NULL, NULL));
    must(SSL_accept(stream) == 1, "accept");
    for (uint64_t at = 0; at < bytes;) {
        ssize_t got = pread(from, buffer, BUFFER, (off_t)at);
        must(got > 0 && SSL_write(stream, buffer, (int)got) == got, "send");
        at += (uint64_t)got;
    }
    SSL_shutdown(stream);
    _exit(0);
}

double limit_tls(int from, int to, uint64_t bytes, pid_t *child)
{
    static char buffer[BUFFER];
    struct sockaddr_in address;
    int listening = listener(&address);
    *child = fork();
    must(*child >= 0, "fork");
    if (!*child) send_all(listening, from, bytes);
    SSL_CTX *context = context_open(TLS_client_method());
    double began = seconds_now();
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(!connect(file, (void *)&address, sizeof address), "connect");
    SSL *stream = stream_open(context, file);
    must(SSL_connect(stream) == 1, "handshake");
    for (uint64_t at = 0; at < bytes;) {
        int got = SSL_read(stream, buffer, BUFFER);
        must(got > 0 && pwrite(to, buffer, (size_t)got, (off_t)at) == got, "receive");
        at += (uint64_t)got;
    }
    double seconds = seconds_now() - began;
    SSL_free(stream);
    SSL_CTX_free(context);
    close(file);
    close(listening);
    return seconds;
}
