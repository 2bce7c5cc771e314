// alike_test.c - a wrong secret and an unknown id look the same from outside: the server sends the
// same bytes and takes the same time.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = LINK_KEYS_MAX, ROUNDS = 200, WAYS = 4, SAID = 64 };

static int setup(void **state)
{
    pair_open(state);
    struct pair *pair = *state;
    pair->keys.items = calloc(KEYS, sizeof *pair->keys.items);
    for (; pair->keys.count < KEYS; pair->keys.count++)
        link_key_make(&pair->keys.items[pair->keys.count], WIRE_WORKER);
    pair_listen(pair, "127.0.0.1:0");
    return 0;
}

// The first and the last key with another secret, an id close to the first one, and an unknown id.
static void wrong_keys(const struct pair *pair, struct link_key keys[WAYS])
{
    keys[0] = keys[2] = pair->keys.items[0];
    keys[1] = pair->keys.items[KEYS - 1];
    keys[0].secret[0] ^= 1;
    keys[1].secret[31] ^= 1;
    keys[2].id[9] = keys[2].id[9] == 'a' ? 'b' : 'a';
    assert_true(link_key_make(&keys[3], WIRE_WORKER));
}

// ---- What is said ------------------------------------------------------------------------------

// A proxy between the two that records what the server sends.
struct relay {
    int listens, outside, inside;
    uint8_t said[SAID];
    size_t count;
};

static void relay_carry(struct relay *relay)
{
    uint8_t bytes[4096];
    ssize_t count = recv(relay->outside, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0) assert_int_equal(send(relay->inside, bytes, (size_t)count, MSG_NOSIGNAL), count);
    count = recv(relay->inside, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count == 0) shutdown(relay->outside, SHUT_WR);
    if (count <= 0) return;
    assert_true(relay->count + (size_t)count <= SAID);
    memcpy(relay->said + relay->count, bytes, (size_t)count);
    relay->count += (size_t)count;
    send(relay->outside, bytes, (size_t)count, MSG_NOSIGNAL);
}

static void relay_open(struct pair *pair, struct relay *relay, const struct link_key *key)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t size = sizeof name;
    struct link_error error = {""};
    char address[64];
    *relay = (struct relay){.listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(relay->listens, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(relay->listens, 1), 0);
    getsockname(relay->listens, (struct sockaddr *)&name, &size);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(name.sin_port));
    pair->here = link_connect(address, key, &error);
    assert_non_null(pair->here);
    relay->outside = accept(relay->listens, NULL, NULL);
    relay->inside = plain_connect(pair);
    pair->there = wait_accept(pair);
    assert_non_null(pair->there);
}

static struct relay said_to(struct pair *pair, const struct link_key *key)
{
    struct relay relay;
    int64_t until = os_ticks() + 60000000;
    relay_open(pair, &relay, key);
    while (pair->here->state == LINK_OPENING && os_ticks() < until) {
        struct os_watch watches[] = {{.file = pair->here->file, .write = pair->here->wants_write},
                                     {.file = relay.outside},
                                     {.file = relay.inside}};
        os_wait(watches, 3, os_ticks() + 10000);
        link_work(pair->here);
        relay_carry(&relay);
        if (pair->there && !link_work(pair->there)) {
            link_close(pair->there);
            pair->there = NULL;
        }
    }
    assert_int_equal(pair->here->state, LINK_CLOSED);
    pair_part(pair);
    close(relay.listens);
    close(relay.outside);
    close(relay.inside);
    return relay;
}

static void both_get_equal_bytes(void **state)
{
    struct pair *pair = *state;
    struct link_key keys[WAYS];
    wrong_keys(pair, keys);
    struct relay first = said_to(pair, &keys[0]);
    assert_true(first.count > 0);
    for (int i = 1; i < WAYS; i++) {
        struct relay other = said_to(pair, &keys[i]);
        assert_int_equal(other.count, first.count);
        assert_memory_equal(other.said, first.said, first.count);
    }
}

// ---- How long it takes -------------------------------------------------------------------------

// Processor time of this thread: other threads do not count.
static int64_t time_used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The work of the server from the first message to its refusal.
static int64_t time_of(struct pair *pair, const struct link_key *key)
{
    int64_t sum = 0, until = os_ticks() + 60000000;
    pair_connect(pair, key);
    pair->there = wait_accept(pair);
    assert_non_null(pair->there);
    while (pair->there->state == LINK_OPENING && os_ticks() < until) {
        struct os_watch watches[] = {{.file = pair->here->file, .write = pair->here->wants_write},
                                     {.file = pair->there->file}};
        os_wait(watches, 2, until);
        link_work(pair->here);
        if (!watches[1].can_read) continue;
        int64_t before = time_used();
        link_work(pair->there);
        sum += time_used() - before;
    }
    assert_int_equal(pair->there->state, LINK_CLOSED);
    pair_part(pair);
    return sum;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

// The cases take turns in a random order, so that no periodic load of the machine hits only one of
// them; the fastest tenth of the measurements counts. A difference of a quarter is large then.
static void take_as_long(struct pair *pair, const struct link_key keys[WAYS])
{
    static int64_t times[WAYS][ROUNDS];
    uint32_t counts[WAYS] = {0}, number = 1, left = WAYS * ROUNDS;
    time_of(pair, &keys[0]);
    while (left > 0) {
        number = number * 1664525 + 1013904223;
        uint32_t way = (number >> 24) % WAYS;
        if (counts[way] == ROUNDS) continue;
        times[way][counts[way]++] = time_of(pair, &keys[way]);
        left--;
    }
    for (int way = 0; way < WAYS; way++) qsort(times[way], ROUNDS, sizeof **times, compare);
    int64_t first = times[0][ROUNDS / 10];
    for (int way = 1; way < WAYS; way++) {
        int64_t other = times[way][ROUNDS / 10];
        print_message("%d ns, and %d ns\n", (int)first, (int)other);
        assert_in_range(other, first - first / 4, first + first / 4);
    }
}

// With many keys the search is most of the work: stopping at a match would show.
static void many_keys_take_as_long(void **state)
{
    struct link_key keys[WAYS];
    wrong_keys(*state, keys);
    take_as_long(*state, keys);
}

// With two keys the handshake is most of the work.
static void a_single_key_takes_as_long(void **state)
{
    struct pair *pair = *state;
    struct link_key keys[WAYS];
    wrong_keys(pair, keys);
    pair->keys.count = 1;  // now the second key is unknown, too
    take_as_long(pair, keys);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pair_close)
    const struct CMUnitTest tests[] = {TEST(both_get_equal_bytes), TEST(many_keys_take_as_long),
                                       TEST(a_single_key_takes_as_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
