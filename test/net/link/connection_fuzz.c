// connection_fuzz.c - libFuzzer is one end of a connection, or a proxy in its middle.
//
// The first byte selects the case: a plain socket, a peer without a key that connects or listens,
// or a proxy between two peers with a key. A peer without the key never gets in, and every message
// that arrives is one that was sent.
#define _GNU_SOURCE
#include "net/link/link.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PLACES = 4, ROUNDS = 64, MOMENT = 20, TOLD = 7, SHUTTLE = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct link_keys keys;
static struct link_listener listener;
static int plain = -1;     // a listener without TLS
static char plain_at[40];  // its address

static void need(bool holds)
{
    if (!holds) abort();
}

static void begin(void)
{
    static const char line[] = "rota-key client fuzz "
                               "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
    struct link_error error;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof name;
    need(link_keys_parse(&keys, line, strlen(line), "keys", &error));
    need(link_listen(&listener, "127.0.0.1:0", &keys, &error));
    plain = socket(AF_INET, SOCK_STREAM, 0);
    need(plain >= 0 && bind(plain, (struct sockaddr *)&name, sizeof name) == 0);
    need(listen(plain, 8) == 0 && getsockname(plain, (struct sockaddr *)&name, &length) == 0);
    snprintf(plain_at, sizeof plain_at, "127.0.0.1:%d", ntohs(name.sin_port));
}

// ---- Plain sockets -----------------------------------------------------------------------------

static bool can_read(int file, int moment)
{
    struct pollfd look = {.fd = file, .events = POLLIN};
    return poll(&look, 1, moment) > 0;
}

// Resets the connection: thousands of ports must not stay in TIME_WAIT.
static int hasty(int file)
{
    struct linger linger = {.l_onoff = 1};
    need(file >= 0);
    setsockopt(file, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    return file;
}

static int to_listener(void)
{
    struct sockaddr_in name;
    socklen_t length = sizeof name;
    need(getsockname(listener.file, (struct sockaddr *)&name, &length) == 0);
    int file = hasty(socket(AF_INET, SOCK_STREAM, 0));
    need(connect(file, (struct sockaddr *)&name, sizeof name) == 0);
    return file;
}

static struct link *let_in(void)
{
    struct link *link = NULL;
    for (int i = 0; !link && i < ROUNDS; i++)
        if (can_read(listener.file, MOMENT)) link = link_accept(&listener);
    need(link);
    return link;
}

static uint32_t messages_take(struct link *link)
{
    struct wire_message message;
    uint32_t count = 0;
    while (wire_take(&link->in, &message) == WIRE_GOT) count++;
    return count;
}

// Sends bytes in pieces of a given size from a socket to a link.
static void feed(struct link *link, int file, const uint8_t *data, size_t size, size_t step)
{
    for (size_t at = 0; at < size && link->state != LINK_CLOSED; at += step) {
        size_t count = size - at < step ? size - at : step;
        if (send(file, data + at, count, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
        link_work(link);
        messages_take(link);
    }
}

// ---- The places --------------------------------------------------------------------------------

static void over_a_pair(const uint8_t *data, size_t size, size_t step)
{
    int files[2];
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, files) == 0);
    struct link *link = link_over(files[0]);
    need(link);
    feed(link, files[1], data, size, step);
    close(files[1]);
    link_work(link);
    messages_take(link);
    link_close(link);
}

static void as_a_stranger(const uint8_t *data, size_t size, size_t step)
{
    int file = to_listener();
    struct link *link = let_in();
    feed(link, file, data, size, step);
    need(link->state != LINK_OPEN && messages_take(link) == 0);
    link_close(link);
    close(file);
}

static void as_a_server(const uint8_t *data, size_t size, size_t step)
{
    struct link_error error;
    struct link *link = link_connect(plain_at, &keys.items[0], &error);
    need(link && can_read(plain, 1000));
    int file = hasty(accept(plain, NULL, NULL));
    for (int i = 0; i < ROUNDS && link_work(link) && !can_read(file, 0); i++) continue;
    feed(link, file, data, size, step);
    need(link->state != LINK_OPEN && messages_take(link) == 0);
    link_close(link);
    close(file);
}

// Changes some bytes in transit: their position is the sum of the bytes before, the change is the
// next byte.
struct way {
    const uint8_t *data;
    size_t size;
    uint64_t passed, next;
};

static void change(struct way *way, uint8_t *bytes, size_t count)
{
    while (way->size >= 2 && way->next + way->data[0] < way->passed + count) {
        way->next += way->data[0];
        if (way->next >= way->passed) bytes[way->next - way->passed] ^= way->data[1];
        way->next++;
        way->data += 2;
        way->size -= 2;
    }
    way->passed += count;
}

static bool shuttle(int from, int to, struct way *way)
{
    static uint8_t bytes[SHUTTLE];
    if (!can_read(from, 0)) return false;
    ssize_t count = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0) return false;
    change(way, bytes, (size_t)count);
    return send(to, bytes, (size_t)count, MSG_NOSIGNAL) == count;
}

static void tell(struct link *link)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = TOLD}};
    wire_put(&link->out, &message);
}

static void hear(struct link *link)
{
    struct wire_message message;
    while (wire_take(&link->in, &message) == WIRE_GOT)
        need(message.kind == WIRE_WATCH_MESSAGE && message.watch.job == TOLD);
}

static void in_the_middle(const uint8_t *data, size_t size)
{
    struct link_error error;
    struct link *here = link_connect(plain_at, &keys.items[0], &error);
    need(here && can_read(plain, 1000));
    int near = hasty(accept(plain, NULL, NULL)), far = to_listener();
    struct link *there = let_in();
    struct way up = {data, size / 2, 0, 0}, down = {data + size / 2, size - size / 2, 0, 0};
    tell(here);
    tell(there);
    for (int i = 0, idle = 0; i < ROUNDS && idle < 3; i++) {
        link_work(here);
        link_work(there);
        hear(here);
        hear(there);
        bool moved = shuttle(near, far, &up);
        moved |= shuttle(far, near, &down);
        idle = moved ? 0 : idle + 1;
    }
    link_close(here);
    link_close(there);
    close(near);
    close(far);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (plain < 0) begin();
    if (size < 2) return 0;
    size_t step = 1 + data[1];
    switch (data[0] % PLACES) {
    case 0: over_a_pair(data + 2, size - 2, step); break;
    case 1: as_a_stranger(data + 2, size - 2, step); break;
    case 2: as_a_server(data + 2, size - 2, step); break;
    default: in_the_middle(data + 2, size - 2); break;
    }
    return 0;
}
