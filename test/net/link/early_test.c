// early_test.c - a listener ignores data sent before the end of the handshake (0-RTT), with any
// key: an observer could send it again.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                                      \
    F(SSL_CTX_new) F(SSL_CTX_free) F(TLS_client_method) F(SSL_new) F(SSL_free)            \
    F(SSL_set_fd) F(SSL_set_connect_state) F(SSL_do_handshake) F(SSL_write_early_data)    \
    F(SSL_get_early_data_status) F(SSL_CTX_set_psk_use_session_callback)                  \
    F(SSL_SESSION_new) F(SSL_SESSION_set1_master_key) F(SSL_SESSION_set_cipher)           \
    F(SSL_SESSION_set_protocol_version) F(SSL_SESSION_set_max_early_data)                 \
    F(SSL_CIPHER_find) F(SSL_write)

// A client that sends early data, which ours never does.
static struct {
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
#undef FIELD
    struct link_key key;
    char identity[60];
} rude;

static int rude_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
                    size_t *length, SSL_SESSION **session)
{
    static const unsigned char suite[] = {0x13, 0x01};
    (void)digest;
    *session = rude.SSL_SESSION_new();
    rude.SSL_SESSION_set1_master_key(*session, rude.key.secret, LINK_SECRET);
    rude.SSL_SESSION_set_cipher(*session, rude.SSL_CIPHER_find(ssl, suite));
    rude.SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
    rude.SSL_SESSION_set_max_early_data(*session, 1 << 14);
    *identity = (const unsigned char *)rude.identity;
    *length = strlen(rude.identity);
    return 1;
}

static int setup(void **state)
{
    pair_open(state);
    struct pair *pair = *state;
    void *handle = dlopen("libssl.so.3", RTLD_NOW);
    assert_non_null(handle);
#define FIND(name) assert_non_null(rude.name = (__typeof__(name) *)dlsym(handle, #name));
    FUNCTIONS(FIND)
#undef FIND
    pair->keys.items = calloc(1, sizeof *pair->keys.items);
    pair->keys.count = 1;
    link_key_make(pair->keys.items, WIRE_WORKER);
    rude.key = pair->keys.items[0];
    snprintf(rude.identity, sizeof rude.identity, "worker:%s", rude.key.id);
    pair_listen(pair, "127.0.0.1:0");
    return 0;
}

struct visit {
    SSL_CTX *context;
    SSL *ssl;
    int file;
};

// It has sent this many bytes of messages before the first answer.
static struct visit visit_begin(struct pair *pair, const struct wire_out *out)
{
    struct visit visit = {.context = rude.SSL_CTX_new(rude.TLS_client_method())};
    size_t written = 0;
    rude.SSL_CTX_set_psk_use_session_callback(visit.context, rude_key);
    visit.ssl = rude.SSL_new(visit.context);
    visit.file = plain_connect(pair);
    fcntl(visit.file, F_SETFL, O_NONBLOCK);
    rude.SSL_set_fd(visit.ssl, visit.file);
    rude.SSL_set_connect_state(visit.ssl);
    assert_int_equal(rude.SSL_write_early_data(visit.ssl, out->bytes, out->length, &written), 1);
    assert_int_equal(written, out->length);
    pair->there = wait_accept(pair);
    assert_non_null(pair->there);
    return visit;
}

// Works on both links until the listener's side is no longer opening.
static void visit_continue(struct pair *pair, struct visit *visit)
{
    int64_t end = os_ticks() + 60000000;
    while (pair->there->state == LINK_OPENING && os_ticks() < end) {
        struct os_watch watches[] = {{.file = pair->there->file}, {.file = visit->file}};
        rude.SSL_do_handshake(visit->ssl);
        os_wait(watches, 2, os_ticks() + 20000);
        link_work(pair->there);
    }
    rude.SSL_do_handshake(visit->ssl);
}

static void visit_end(struct pair *pair, struct visit *visit)
{
    rude.SSL_free(visit->ssl);
    rude.SSL_CTX_free(visit->context);
    close(visit->file);
    pair_part(pair);
}

static void greet_put(struct wire_out *out, const char *name)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_WORKER;
    message.greet.name = wire_text_of(name);
    wire_put(out, &message);
}

static void early_data_is_ignored(void **state)
{
    struct pair *pair = *state;
    struct wire_message message;
    struct wire_out early = {0}, late = {0};
    greet_put(&early, "early");
    greet_put(&late, "late");
    struct visit visit = visit_begin(pair, &early);
    visit_continue(pair, &visit);
    assert_int_equal(pair->there->state, LINK_OPEN);  // its key is valid
    assert_int_equal(rude.SSL_get_early_data_status(visit.ssl), SSL_EARLY_DATA_REJECTED);
    assert_int_equal(wire_take(&pair->there->in, &message), WIRE_MORE);
    assert_int_equal(rude.SSL_write(visit.ssl, late.bytes, (int)late.length), (int)late.length);
    int64_t end = os_ticks() + 60000000;
    enum wire_result result = WIRE_MORE;
    while (result == WIRE_MORE && os_ticks() < end) {
        struct os_watch watch = {.file = pair->there->file};
        os_wait(&watch, 1, os_ticks() + 20000);
        assert_true(link_work(pair->there));
        result = wire_take(&pair->there->in, &message);
    }
    assert_int_equal(result, WIRE_GOT);
    assert_string_equal(message.greet.name.bytes, "late");  // not the early one
    wire_out_release(&early);
    wire_out_release(&late);
    visit_end(pair, &visit);
}

static void early_data_counts_as_data_of_a_stranger(void **state)
{
    struct pair *pair = *state;
    struct wire_out early = {0};
    while (early.length <= LINK_OPENING_BYTES) greet_put(&early, "early");
    struct visit visit = visit_begin(pair, &early);
    visit_continue(pair, &visit);
    assert_int_equal(pair->there->state, LINK_CLOSED);
    wire_out_release(&early);
    visit_end(pair, &visit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(early_data_is_ignored, setup, pair_close),
        cmocka_unit_test_setup_teardown(early_data_counts_as_data_of_a_stranger, setup, pair_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
