// tls_test.c - links over TLS: messages, and which peers are accepted.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const enum wire_role roles[] = {WIRE_CLIENT, WIRE_WORKER, WIRE_ADMIN, WIRE_PEER};

static int tls_setup(void **state)
{
    pair_open(state);
    struct pair *pair = *state;
    pair->keys.items = calloc(4, sizeof *pair->keys.items);
    for (pair->keys.count = 0; pair->keys.count < 4; pair->keys.count++)
        link_key_make(&pair->keys.items[pair->keys.count], roles[pair->keys.count]);
    pair_listen(pair, "127.0.0.1:0");
    return 0;
}

static void pair_meet(struct pair *pair, enum wire_role role)
{
    pair_connect(pair, pair_key(pair, role));
    pair_open_up(pair);
    if (pair->here->state != LINK_OPEN) fail_msg("here: %s", pair->here->reason);
    if (pair->there->state != LINK_OPEN) fail_msg("there: %s", pair->there->reason);
}

static void a_key_identifies_the_peer(void **state)
{
    struct pair *pair = *state;
    for (int i = 0; i < 4; i++) {
        pair_meet(pair, roles[i]);
        assert_int_equal(pair->there->roles, roles[i]);
        assert_string_equal(pair->there->id, pair->keys.items[i].id);
        assert_string_equal(pair->here->id, pair->keys.items[i].id);
        assert_int_equal(pair->here->roles, 0);
        assert_null(pair->there->reason);
        pair_part(pair);
    }
}

static void messages_of_all_sizes_go_both_ways(void **state)
{
    struct pair *pair = *state;
    pair_meet(pair, WIRE_WORKER);
    pair_talk(pair, 5000, 100000);
    pair_talk(pair, 20, WIRE_FRAME_MAX - 100);
}

static void a_message_sent_before_the_link_is_open_arrives(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    pair_connect(pair, pair_key(pair, WIRE_CLIENT));
    wire_put(&pair->here->out, &message);  // before the link is open
    pair_open_up(pair);
    int64_t until = os_ticks() + 60000000;
    enum wire_result result;
    while ((result = wire_take(&pair->there->in, &message)) == WIRE_MORE && os_ticks() < until) {
        link_work(pair->here);
        link_work(pair->there);
    }
    assert_int_equal(result, WIRE_GOT);
}

static void the_close_is_reported(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    pair_meet(pair, WIRE_CLIENT);
    wire_put(&pair->here->out, &message);
    assert_true(link_flush(pair->here));
    link_close(pair->here);
    pair->here = NULL;
    assert_true(wait_while(pair, pair->there, LINK_OPEN));
    assert_string_equal(pair->there->reason, "the peer closed the connection");
    assert_int_equal(wire_take(&pair->there->in, &message), WIRE_GOT);
}

static void a_peer_that_vanishes_raises_no_signal(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
    struct linger at_once = {.l_onoff = 1};
    signal(SIGPIPE, SIG_DFL);
    pair_meet(pair, WIRE_WORKER);
    message.answer.bytes = (wire_text){pair->pattern, 16000000};
    wire_put(&pair->there->out, &message);
    assert_true(link_flush(pair->there));
    assert_true(pair->there->wants_write);
    setsockopt(pair->here->file, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    link_close(pair->here);
    pair->here = NULL;
    assert_false(link_flush(pair->there));
    assert_int_equal(pair->there->state, LINK_CLOSED);
}

// Wrong keys, and the reasons on both sides.
static void refused_with(struct pair *pair, const struct link_key *key)
{
    pair_connect(pair, key);
    pair_open_up(pair);
    assert_int_equal(pair->here->state, LINK_CLOSED);
    assert_int_equal(pair->there->state, LINK_CLOSED);
    assert_string_equal(pair->here->reason, "the server rejects this key, or is not a rota server");
    assert_string_equal(pair->there->reason, "the peer has no valid key");
    assert_int_equal(pair->there->roles, 0);
    assert_string_equal(pair->there->id, "");
    assert_false(link_work(pair->there));
    pair_part(pair);
}

static void all_wrong_keys_are_refused_alike(void **state)
{
    struct pair *pair = *state;
    struct link_key key = *pair_key(pair, WIRE_WORKER);
    key.secret[31] ^= 1;
    refused_with(pair, &key);
    key = *pair_key(pair, WIRE_WORKER);
    key.role = WIRE_ADMIN;  // the id of one key with the role of another
    refused_with(pair, &key);
    key = *pair_key(pair, WIRE_WORKER);
    key.id[0] ^= 1;
    refused_with(pair, &key);
    assert_true(link_key_make(&key, WIRE_CLIENT));
    refused_with(pair, &key);
    pair_meet(pair, WIRE_CLIENT);
}

static void keys_may_change_while_listening(void **state)
{
    struct pair *pair = *state;
    struct link_key kept = *pair_key(pair, WIRE_CLIENT);
    struct link_keys fewer = {&kept, 1};
    pair->listener.keys = &fewer;
    refused_with(pair, pair_key(pair, WIRE_WORKER));
    pair_meet(pair, WIRE_CLIENT);
}

static void named_hosts_are_found_without_waiting(void **state)
{
    struct pair *pair = *state;
    struct link_error error;
    char address[100];
    snprintf(address, sizeof address, "localhost%s", strrchr(pair->listener.address, ':'));
    pair->here = link_connect(address, pair_key(pair, WIRE_PEER), &error);
    assert_non_null(pair->here);
    int64_t until = os_ticks() + 60000000;
    while (!pair->there && os_ticks() < until) {
        struct os_watch watches[] = {{.file = pair->here->file, .write = pair->here->wants_write},
                                     {.file = pair->listener.file}};
        os_wait(watches, 2, until);
        link_work(pair->here);
        pair->there = link_accept(&pair->listener);
    }
    assert_non_null(pair->there);
    assert_true(wait_while(pair, pair->there, LINK_OPENING));
    assert_true(wait_while(pair, pair->here, LINK_OPENING));
    pair_talk(pair, 10, 1000);
    pair_part(pair);
    pair->here = link_connect("no.such.host.invalid:1", pair_key(pair, WIRE_PEER), &error);
    assert_non_null(pair->here);
    if (wait_while(pair, pair->here, LINK_OPENING))
        assert_string_equal(pair->here->reason, "cannot resolve host");
    pair_part(pair);
    for (int i = 0; i < 20; i++)  // closed during the lookup
        link_close(link_connect("no.such.host.invalid:1", pair_key(pair, WIRE_PEER), &error));
}

static void connecting_without_a_listener_gives_a_reason(void **state)
{
    struct pair *pair = *state;
    pair_connect(pair, pair_key(pair, WIRE_CLIENT));
    link_close(wait_accept(pair));
    assert_true(wait_while(pair, pair->here, LINK_OPENING));
    pair_part(pair);
    char address[300];
    memcpy(address, pair->listener.address, sizeof address);
    link_listener_close(&pair->listener);
    struct link_error error;
    pair->here = link_connect(address, pair_key(pair, WIRE_CLIENT), &error);
    if (!pair->here) return;  // some systems refuse at once
    assert_true(wait_while(pair, pair->here, LINK_OPENING));
    assert_string_equal(pair->here->reason, "Connection refused");
}

static void without_keys_only_unix_sockets_are_used(void **state)
{
    struct pair *pair = *state;
    struct link_listener other;
    struct link_keys none = {0};
    struct link_error error;
    assert_false(link_listen(&other, "127.0.0.1:0", NULL, &error));
    assert_non_null(strstr(error.text, "127.0.0.1:0: keys are needed to listen"));
    assert_false(link_listen(&other, "127.0.0.1:0", &none, &error));
    assert_null(link_connect(pair->listener.address, NULL, &error));
    assert_non_null(strstr(error.text, "a key is needed to connect"));
}

static void a_second_listener_at_a_port_is_refused(void **state)
{
    struct pair *pair = *state;
    struct link_listener other;
    struct link_error error;
    assert_false(link_listen(&other, pair->listener.address, &pair->keys, &error));
    assert_non_null(strstr(error.text, "Address already in use (is another rota server"));
}

static void ipv6_is_an_address_like_others(void **state)
{
    struct pair *pair = *state;
    struct link_error error;
    link_listener_close(&pair->listener);
    if (!link_listen(&pair->listener, "[::1]:0", &pair->keys, &error)) skip();
    assert_int_equal(strncmp(pair->listener.address, "[::1]:", 6), 0);
    pair_meet(pair, WIRE_ADMIN);
    pair_talk(pair, 10, 1000);
}

static void links_outlive_their_listener(void **state)
{
    struct pair *pair = *state;
    pair_meet(pair, WIRE_WORKER);
    int file = plain_connect(pair);
    struct link *opening = wait_accept(pair);
    assert_int_equal(opening->state, LINK_OPENING);
    link_listener_close(&pair->listener);
    assert_false(link_work(opening));
    link_close(opening);
    close(file);
    pair_talk(pair, 100, 10000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tls_setup, pair_close)
    const struct CMUnitTest tests[] = {
        TEST(a_key_identifies_the_peer),
        TEST(messages_of_all_sizes_go_both_ways),
        TEST(a_message_sent_before_the_link_is_open_arrives),
        TEST(the_close_is_reported),
        TEST(a_peer_that_vanishes_raises_no_signal),
        TEST(all_wrong_keys_are_refused_alike),
        TEST(keys_may_change_while_listening),
        TEST(named_hosts_are_found_without_waiting),
        TEST(connecting_without_a_listener_gives_a_reason),
        TEST(without_keys_only_unix_sockets_are_used),
        TEST(a_second_listener_at_a_port_is_refused),
        TEST(ipv6_is_an_address_like_others),
        TEST(links_outlive_their_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
