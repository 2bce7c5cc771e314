// stranger_test.c - peers without a key: garbage, silence, other TLS versions, floods.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int stranger_setup(void **state)
{
    pair_open(state);
    struct pair *pair = *state;
    pair->keys.items = calloc(1, sizeof *pair->keys.items);
    pair->keys.count = 1;
    link_key_make(pair->keys.items, WIRE_WORKER);
    pair_listen(pair, "127.0.0.1:0");
    return 0;
}

static void meet(struct pair *pair)
{
    pair_part(pair);
    pair_connect(pair, pair->keys.items);
    pair_open_up(pair);
    assert_int_equal(pair->there->state, LINK_OPEN);
    pair_talk(pair, 20, 1000);
    pair_part(pair);
}

// The listener refuses the peer, and sends at most a TLS alert.
static void refused_at_once(struct pair *pair, const char *bytes, size_t count)
{
    char answer[100];
    int file = plain_connect(pair);
    assert_int_equal(send(file, bytes, count, MSG_NOSIGNAL), count);
    pair->there = wait_accept(pair);
    assert_non_null(pair->there);
    assert_true(wait_while(pair, pair->there, LINK_OPENING));
    assert_int_equal(pair->there->state, LINK_CLOSED);
    assert_string_equal(pair->there->reason, "the peer has no valid key");
    assert_int_equal(pair->there->in.length - pair->there->in.taken <= LINK_OPENING_BYTES, 1);
    pair_part(pair);
    ssize_t got = recv(file, answer, sizeof answer, 0);
    assert_true(got <= 0 || (got == 7 && answer[0] == 21));
    close(file);
}

static void data_that_is_not_tls_is_refused_at_once(void **state)
{
    struct pair *pair = *state;
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char hello[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";
    refused_at_once(pair, http, sizeof http - 1);
    refused_at_once(pair, "\x16\x02", 2);
    refused_at_once(pair, "\x16\x03\x01\x40\x00", 5);  // a first record of 16 KiB
    refused_at_once(pair, hello, sizeof hello - 1);
    refused_at_once(pair, pair->pattern, 4000);
    struct wire_out out = {0};
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    wire_put(&out, &message);
    refused_at_once(pair, out.bytes, out.length);
    wire_out_release(&out);
    meet(pair);
}

// Random bytes after the head of a first record: the library reads and rejects them.
static void first_messages_of_garbage_are_refused(void **state)
{
    struct pair *pair = *state;
    char bytes[600];
    for (int i = 0; i < 300; i++) {
        size_t length = 1 + (size_t)i * 2 % 590;
        memcpy(bytes, "\x16\x03\x01", 3);
        bytes[3] = (char)(length >> 8), bytes[4] = (char)length;
        memcpy(bytes + 5, pair->pattern + i * 1000, length);
        if (i % 2 && length > 4) {  // a hello of the right length
            bytes[5] = 1, bytes[6] = 0;
            bytes[7] = (char)((length - 4) >> 8), bytes[8] = (char)(length - 4);
        }
        int file = plain_connect(pair);
        assert_int_equal(send(file, bytes, length + 5, MSG_NOSIGNAL), length + 5);
        pair->there = wait_accept(pair);
        shutdown(file, SHUT_WR);
        assert_true(wait_while(pair, pair->there, LINK_OPENING));
        assert_int_equal(pair->there->state, LINK_CLOSED);
        pair_part(pair);
        close(file);
    }
    meet(pair);
}

static void a_silent_peer_has_ten_seconds(void **state)
{
    struct pair *pair = *state;
    int file = plain_connect(pair);
    pair->there = wait_accept(pair);
    assert_true(link_work(pair->there));
    int64_t begun = pair->there->opened_at;
    assert_false(link_overdue(pair->there, begun + LINK_OPENING_TICKS - 1));
    assert_int_equal(send(file, "\x16", 1, MSG_NOSIGNAL), 1);
    assert_true(link_work(pair->there));
    assert_int_equal(pair->there->state, LINK_OPENING);
    assert_true(link_overdue(pair->there, begun + LINK_OPENING_TICKS));
    assert_int_equal(pair->there->state, LINK_CLOSED);
    assert_non_null(pair->there->reason);
    assert_false(link_overdue(pair->there, begun + LINK_OPENING_TICKS));
    close(file);
    pair_part(pair);
    pair_connect(pair, pair->keys.items);
    pair_open_up(pair);
    assert_false(link_overdue(pair->there, INT64_MAX));
}

// A proxy that forwards one byte at a time.
static bool byte_pass(int from, int to)
{
    char byte;
    ssize_t got = recv(from, &byte, 1, MSG_DONTWAIT);
    if (got == 1) assert_int_equal(send(to, &byte, 1, MSG_NOSIGNAL), 1);
    return got == 1;
}

static void bytes_may_come_one_by_one(void **state)
{
    struct pair *pair = *state;
    struct link_keys keys = pair->keys;
    struct link_listener middle;
    struct link_error error;
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    assert_true(link_listen(&middle, "127.0.0.1:0", &keys, &error));
    pair->here = link_connect(middle.address, pair->keys.items, &error);
    assert_non_null(pair->here);
    struct os_watch watch = {.file = middle.file};
    os_wait(&watch, 1, os_ticks() + 60000000);
    int near = accept(middle.file, NULL, NULL), far = plain_connect(pair), heard = 0;
    pair->there = wait_accept(pair);
    wire_put(&pair->here->out, &message);
    wire_put(&pair->there->out, &message);
    for (int i = 0; i < 200000 && heard < 2; i++) {
        byte_pass(near, far);
        byte_pass(far, near);
        if (!link_work(pair->here)) fail_msg("here: %s", pair->here->reason);
        if (!link_work(pair->there)) fail_msg("there: %s", pair->there->reason);
        heard += wire_take(&pair->here->in, &message) == WIRE_GOT;
        heard += wire_take(&pair->there->in, &message) == WIRE_GOT;
    }
    assert_int_equal(heard, 2);
    close(near);
    close(far);
    link_listener_close(&middle);
}

// A client does not trust a listener with other keys, nor one that answers with something else.
static void a_server_without_the_key_is_not_believed(void **state)
{
    struct pair *pair = *state;
    struct link_key other = *pair->keys.items;
    other.secret[0] ^= 1;
    struct link_keys others = {&other, 1};
    const struct link_key mine = *pair->keys.items;
    pair->listener.keys = &others;
    pair_connect(pair, &mine);
    pair_open_up(pair);
    assert_int_equal(pair->here->state, LINK_CLOSED);
    assert_string_equal(pair->here->reason, "the server rejects this key, or is not a rota server");
    pair_part(pair);
    pair_connect(pair, &mine);
    struct os_watch watch = {.file = pair->listener.file};
    os_wait(&watch, 1, os_ticks() + 60000000);
    int file = accept(pair->listener.file, NULL, NULL);
    assert_int_equal(send(file, pair->pattern, 3000, MSG_NOSIGNAL), 3000);
    assert_true(wait_while(pair, pair->here, LINK_OPENING));
    assert_int_equal(pair->here->state, LINK_CLOSED);
    close(file);
}

static void changed_bytes_are_detected(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    pair_connect(pair, pair->keys.items);
    pair_open_up(pair);
    wire_put(&pair->here->out, &message);
    assert_true(link_flush(pair->here));
    // The test cannot change a record in transit; a forged record has the same effect.
    assert_int_equal(send(pair->here->file, "\x17\x03\x03\x00\x20", 5, MSG_NOSIGNAL), 5);
    assert_int_equal(send(pair->here->file, pair->pattern, 32, MSG_NOSIGNAL), 32);
    assert_true(wait_while(pair, pair->there, LINK_OPEN));
    assert_string_equal(pair->there->reason, "the data was changed in transit");
    assert_int_equal(wire_take(&pair->there->in, &message), WIRE_GOT);
    assert_int_equal(wire_take(&pair->there->in, &message), WIRE_MORE);
}

// ---- Crowds -------------------------------------------------------------------------------

enum { CROWD = 200 };

// Another address keeps its share of the places during a flood from one address. Its link has sent
// nothing, so it would be the first candidate.
static void a_crowd_of_one_address_does_not_push_out_another(void **state)
{
    struct pair *pair = *state;
    int files[CROWD];
    struct link *crowd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        bool is_other = i < LINK_OPENING_ADDRESS;
        files[i] = plain_connect_from(pair, INADDR_LOOPBACK + is_other);
        if (!is_other) assert_int_equal(send(files[i], "\x16\x03\x01\x02", 4, MSG_NOSIGNAL), 4);
        crowd[i] = wait_accept(pair);
        assert_non_null(crowd[i]);
        link_work(crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        if (i < LINK_OPENING_ADDRESS) assert_true(link_work(crowd[i]));
        link_close(crowd[i]);
        close(files[i]);
    }
    meet(pair);
}

static void of_many_strangers_64_random_ones_stay_connected(void **state)
{
    struct pair *pair = *state;
    int files[CROWD], open = 0, early = 0;
    struct link *crowd[CROWD];
    pair_connect(pair, pair->keys.items);
    pair_open_up(pair);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < CROWD; i++) {
        files[i] = plain_connect(pair);
        assert_int_equal(send(files[i], "\x16\x03\x01\x02", 4, MSG_NOSIGNAL), 4);
        crowd[i] = wait_accept(pair);
        assert_non_null(crowd[i]);
        link_work(crowd[i]);
    }
    assert_true(mallinfo2().uordblks - before < 1 << 20);
    for (int i = 0; i < CROWD; i++) {
        bool is_open = link_work(crowd[i]);
        struct pollfd look = {.fd = crowd[i]->file, .events = POLLIN};
        assert_int_equal(poll(&look, 1, 0), !is_open);  // a dropped link wakes its owner
        open += is_open;
        early += is_open && i < CROWD - LINK_OPENING_MAX;
    }
    assert_int_equal(open, LINK_OPENING_MAX);
    assert_true(early);  // only the last 64 left: less than once in 10^20 runs
    pair_talk(pair, 100, 10000);  // an authenticated link is not affected,
    meet(pair);                   // and peers with a key still get in
    for (int i = 0; i < CROWD; i++) {
        link_close(crowd[i]);
        close(files[i]);
    }
    meet(pair);
}

// ---- Another program ----------------------------------------------------------------------

// Runs openssl s_client against the listener. The key is visible in its arguments, but valid in
// this test only.
static bool openssl_connects(struct pair *pair, const char *const *options)
{
    extern char **environ;
    const char *words[20] = {"openssl", "s_client", "-connect", pair->listener.address};
    int count = 4, status;
    while (*options) words[count++] = *options++;
    file_make(pair, "said", "", 0600);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&actions, 1, pair->other, 1, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child;
    int wrong = posix_spawnp(&child, "openssl", &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (wrong) skip();
    struct os_watch watch = {.file = pair->listener.file};
    os_wait(&watch, 1, os_ticks() + 60000000);
    pair->there = link_accept(&pair->listener);
    assert_non_null(pair->there);
    assert_true(wait_while(pair, pair->there, LINK_OPENING));
    bool fine = pair->there->state == LINK_OPEN || strcmp(pair->there->id, "") != 0;
    pair_part(pair);
    waitpid(child, &status, 0);
    return fine;
}

static void only_tls_13_with_a_key_and_an_exchange_is_spoken(void **state)
{
    struct pair *pair = *state;
    char identity[60], secret[2 * LINK_SECRET + 1];
    const struct link_key *key = pair->keys.items;
    snprintf(identity, sizeof identity, "worker:%s", key->id);
    for (int i = 0; i < LINK_SECRET; i++)
        snprintf(secret + 2 * i, 3, "%02x", key->secret[i]);
#define TRY(...) openssl_connects(pair, (const char *const[]){__VA_ARGS__, NULL})
#define KEY "-psk_identity", identity, "-psk", secret
    assert_true(TRY("-tls1_3", KEY));
    assert_true(TRY(KEY));
    assert_false(TRY("-tls1_3"));
    assert_false(TRY("-tls1_2"));
    assert_false(TRY("-tls1_2", KEY));
    assert_false(TRY("-tls1_2", "-cipher", "PSK", KEY));
    assert_false(TRY("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384", KEY));
    assert_false(TRY("-tls1_3", "-groups", "P-521", KEY));
    assert_false(TRY("-tls1_3", "-psk_identity", "worker:nobody", "-psk", secret));
    assert_false(TRY("-tls1_3", "-psk_identity", identity, "-psk", "00ff"));
    secret[0] = secret[0] == '0' ? '1' : '0';
    assert_false(TRY("-tls1_3", KEY));
    meet(pair);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stranger_setup, pair_close)
    const struct CMUnitTest tests[] = {
        TEST(data_that_is_not_tls_is_refused_at_once),
        TEST(first_messages_of_garbage_are_refused),
        TEST(a_silent_peer_has_ten_seconds),
        TEST(bytes_may_come_one_by_one),
        TEST(a_server_without_the_key_is_not_believed),
        TEST(changed_bytes_are_detected),
        TEST(of_many_strangers_64_random_ones_stay_connected),
        TEST(a_crowd_of_one_address_does_not_push_out_another),
        TEST(only_tls_13_with_a_key_and_an_exchange_is_spoken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
