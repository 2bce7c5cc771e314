// pair.c - two links that talk to each other, and a folder for keys and sockets.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include "base/base.h"
#include "seed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATTERN = 17 << 20, PATIENCE = 60 * 1000000 };

int pair_open(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    snprintf(pair->folder, sizeof pair->folder, "/tmp/rota-link-XXXXXX");
    assert_non_null(mkdtemp(pair->folder));
    snprintf(pair->path, sizeof pair->path, "%s/socket", pair->folder);
    pair->pattern = malloc(PATTERN);
    uint32_t number = 1;
    for (size_t i = 0; i < PATTERN; i++) {
        number = number * 1664525 + 1013904223;
        pair->pattern[i] = (char)(number >> 24);
    }
    *state = pair;
    return 0;
}

int pair_close(void **state)
{
    struct pair *pair = *state;
    pair_part(pair);
    link_listener_close(&pair->listener);
    os_tree_remove(pair->folder);
    free(pair->keys.items);
    free(pair->pattern);
    free(pair);
    return 0;
}

void pair_part(struct pair *pair)
{
    link_close(pair->here);
    link_close(pair->there);
    pair->here = pair->there = NULL;
}

void pair_listen(struct pair *pair, const char *address)
{
    struct link_error error = {""};
    if (!link_listen(&pair->listener, address, &pair->keys, &error)) fail_msg("%s", error.text);
}

void pair_connect(struct pair *pair, const struct link_key *key)
{
    struct link_error error = {""};
    pair->here = link_connect(pair->listener.address, key, &error);
    if (!pair->here) fail_msg("%s", error.text);
}

static struct os_watch watch_of(const struct link *link)
{
    return (struct os_watch){.file = link ? link->file : -1, .write = link && link->wants_write};
}

// One call of link_work() for each. False: neither had something to do in time.
static bool both_work(struct pair *pair, int64_t until)
{
    struct os_watch watches[] = {watch_of(pair->here), watch_of(pair->there)};
    bool some = os_wait(watches, 2, until);
    if (pair->here) link_work(pair->here);
    if (pair->there) link_work(pair->there);
    return some;
}

struct link *wait_accept(struct pair *pair)
{
    struct os_watch watch = {.file = pair->listener.file};
    os_wait(&watch, 1, os_ticks() + PATIENCE);
    return link_accept(&pair->listener);
}

bool wait_while(struct pair *pair, const struct link *link, enum link_state state)
{
    int64_t until = os_ticks() + PATIENCE;
    while (link->state == state && os_ticks() < until) both_work(pair, until);
    return link->state != state;
}

void pair_open_up(struct pair *pair)
{
    pair->there = wait_accept(pair);
    assert_non_null(pair->there);
    wait_while(pair, pair->here, LINK_OPENING);
    wait_while(pair, pair->there, LINK_OPENING);
}

const struct link_key *pair_key(const struct pair *pair, enum wire_role role)
{
    for (uint32_t i = 0; i < pair->keys.count; i++)
        if (pair->keys.items[i].role == role) return &pair->keys.items[i];
    return NULL;
}

// ---- Talking ------------------------------------------------------------------------------

struct teller {
    struct link *link;
    uint32_t told, heard;
    uint64_t tell_seed, hear_seed;
};

// Mostly short, sometimes long, some empty.
static uint32_t size_next(uint64_t *seed, uint32_t size_max)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint32_t number = (uint32_t)(*seed >> 33);
    if (number % 8 == 0) return number % (size_max + 1);
    return number % 16 == 1 ? 0 : number % 300;
}

static void tell(struct pair *pair, struct teller *teller, uint32_t count, uint32_t size_max)
{
    enum { AHEAD = 256 << 10 };
    struct wire_out *out = &teller->link->out;
    while (teller->told < count && out->length - out->sent < AHEAD) {
        struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
        message.answer.request = teller->told;
        message.answer.bytes.length = size_next(&teller->tell_seed, size_max);
        message.answer.bytes.bytes = pair->pattern + teller->told++ % 4096;
        wire_put(out, &message);
    }
}

static void hear(struct pair *pair, struct teller *teller, uint32_t size_max)
{
    struct wire_message message;
    enum wire_result result;
    while ((result = wire_take(&teller->link->in, &message)) == WIRE_GOT) {
        assert_int_equal(message.kind, WIRE_ANSWER_MESSAGE);
        assert_int_equal(message.answer.request, teller->heard);
        assert_int_equal(message.answer.bytes.length, size_next(&teller->hear_seed, size_max));
        const char *told = pair->pattern + teller->heard++ % 4096;
        if (memcmp(message.answer.bytes.bytes, told, message.answer.bytes.length))
            fail_msg("message %u is another one", teller->heard);
    }
    assert_int_equal(result, WIRE_MORE);
}

// The same seed for all pairs of a program, so that --seed repeats all messages.
static uint64_t pair_seed(void)
{
    static uint64_t seed;
    if (!seed) seed = seed_take();
    return seed;
}

void pair_talk(struct pair *pair, uint32_t count, uint32_t size_max)
{
    uint64_t one = pair_seed(), other = one + 1;
    struct teller sides[]
        = {{pair->here, 0, 0, one, other}, {pair->there, 0, 0, other, one}};
    while (sides[0].heard < count || sides[1].heard < count) {
        for (int i = 0; i < 2; i++) {
            tell(pair, &sides[i], count, size_max);
            if (!link_flush(sides[i].link)) fail_msg("%s", sides[i].link->reason);
        }
        bool some = both_work(pair, os_ticks() + PATIENCE);
        for (int i = 0; i < 2; i++) hear(pair, &sides[i], size_max);
        assert_true(some);
    }
    assert_int_equal(pair->here->state, LINK_OPEN);
    assert_int_equal(pair->there->state, LINK_OPEN);
}

// ---- Plain files --------------------------------------------------------------------------

const char *file_make(struct pair *pair, const char *name, const char *text, unsigned mode)
{
    snprintf(pair->other, sizeof pair->other, "%s/%.40s", pair->folder, name);
    unlink(pair->other);
    int file = open(pair->other, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
    return pair->other;
}

int plain_connect(const struct pair *pair)
{
    return plain_connect_from(pair, INADDR_LOOPBACK);
}

int plain_connect_from(const struct pair *pair, uint32_t address)
{
    struct sockaddr_in name = {.sin_family = AF_INET}, own = name;
    own.sin_addr.s_addr = htonl(address);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port
        = htons((uint16_t)strtol(strrchr(pair->listener.address, ':') + 1, NULL, 10));
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = PATIENCE / 1000000};
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(bind(file, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(file, (struct sockaddr *)&name, sizeof name), 0);
    return file;
}
