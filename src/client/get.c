// get.c - the bytes of an object, from whoever has it, into a file of the program's.
#define _GNU_SOURCE
#include "client/internal.h"
#include "os/os.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCES_MAX = 16, ROUNDS = 3 };

struct getting {
    struct rota_client *client;
    struct client_object object;
    int file;
    bool is_regular;
    uint64_t written;
    struct file_sum sum;      // of what is written
    bool is_known;            // of which content that is
    bool is_mixed;            // it comes from several sources, or an earlier call
    struct wire_entry entry;  // the content
    uint32_t liars;           // a bit for each source that sent what is wrong
};

// ---- What is written ------------------------------------------------------------------------

static enum rota_client_code begin_again(struct getting *getting)
{
    struct rota_client *client = getting->client;
    if (getting->written && !getting->is_regular)
        return client_say(client, ROTA_CLIENT_DAMAGED, "what came does not fit together");
    getting->written = 0;
    getting->is_known = getting->is_mixed = false;
    if (os_sum_begin(getting->sum.sum)) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "SHA-256 does not start");
}

static enum rota_client_code bytes_write(struct getting *getting, const char *bytes, size_t count)
{
    os_sum_add(getting->sum.sum, bytes, count);
    while (count) {
        ssize_t put = getting->is_regular
                          ? pwrite(getting->file, bytes, count, (off_t)getting->written)
                          : write(getting->file, bytes, count);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return client_say(getting->client, ROTA_CLIENT_FILE, "the file: %s", strerror(errno));
        bytes += put;
        count -= (size_t)put;
        getting->written += (uint64_t)put;
    }
    return ROTA_CLIENT_OK;
}

// ---- One who has it ---------------------------------------------------------------------------

static enum rota_client_code content_ask(struct getting *getting, struct rota_client *peer,
                                         const struct wire_fetch *fetch,
                                         struct wire_message *message)
{
    int64_t until = client_until(peer->patience);
    message->kind = WIRE_GET_MESSAGE;
    message->get.object = getting->object.id;
    message->get.ticket = fetch->ticket;
    wire_put(&peer->link->out, message);
    enum rota_client_code code = client_send(peer, until);
    if (!code) code = client_next(peer, message, until);
    if (!code) code = client_refusal(peer, (struct request){0}, message);
    if (code) return peer_fail(getting->client, peer, code);
    if (message->kind == WIRE_CONTENT_MESSAGE) return ROTA_CLIENT_OK;
    return client_say(getting->client, ROTA_CLIENT_DAMAGED, "what it sends is no file");
}

static bool is_same(const struct wire_entry *one, const struct wire_entry *other)
{
    return one->letter == other->letter && one->bytes == other->bytes
           && memcmp(one->hash, other->hash, WIRE_HASH) == 0;
}

static enum rota_client_code content_take(struct getting *getting, const struct wire_fetch *fetch,
                                          const struct wire_content *content)
{
    struct wire_entry entry;
    struct rota_client *client = getting->client;
    if (!wire_entry_read(content->entry.bytes, &entry)
        || (fetch->bytes && fetch->bytes != entry.bytes)
        || (fetch->content.kind && !wire_entry_is(&entry, &fetch->content))
        || (getting->object.is_content && !is_same(&entry, &getting->object.entry)))
        return client_say(client, ROTA_CLIENT_DAMAGED, "it has something else");
    if (entry.letter == 'd')
        return client_say(client, ROTA_CLIENT_REFUSED, "it is a directory, not a file");
    bool is_other = getting->is_known && !is_same(&entry, &getting->entry);
    enum rota_client_code code = ROTA_CLIENT_OK;
    if (is_other || getting->written > entry.bytes) code = begin_again(getting);
    if (code) return code;
    getting->entry = entry;
    getting->is_known = true;
    getting->is_mixed |= getting->written > 0;
    return ROTA_CLIENT_OK;
}

static enum rota_client_code piece_ask(struct getting *getting, struct rota_client *peer)
{
    struct wire_message message = {.kind = WIRE_WANT_MESSAGE};
    char text[WIRE_ENTRY_TEXT];
    int64_t until = client_until(peer->patience);
    wire_entry_write(&getting->entry, text);
    message.want.entry = wire_text_of(text);
    message.want.offset = getting->written;
    wire_put(&peer->link->out, &message);
    enum rota_client_code code = client_send(peer, until);
    if (!code) code = client_next(peer, &message, until);
    if (!code) code = client_refusal(peer, (struct request){0}, &message);
    if (code) return peer_fail(getting->client, peer, code);
    bool is_it = message.kind == WIRE_PIECE_MESSAGE && message.piece.offset == getting->written
                 && message.piece.bytes == getting->entry.bytes - getting->written;
    return is_it ? ROTA_CLIENT_OK
                 : client_say(getting->client, ROTA_CLIENT_DAMAGED, "it sends something else");
}

static enum rota_client_code bytes_take(struct getting *getting, struct rota_client *peer)
{
    int64_t until = client_until(peer->patience);
    const char *bytes;
    while (getting->written < getting->entry.bytes) {
        uint64_t left = getting->entry.bytes - getting->written;
        uint32_t count = wire_take_raw(&peer->link->in, left, &bytes);
        if (count) {
            enum rota_client_code code = bytes_write(getting, bytes, count);
            if (code) return code;
            until = client_until(peer->patience);
        } else if (peer->link->state == LINK_CLOSED) {
            return client_say(getting->client, ROTA_CLIENT_GONE, "%s", peer->link->reason);
        } else if (!client_wait(peer, until)) {
            return client_say(getting->client, ROTA_CLIENT_TIMED_OUT, "it sends nothing more");
        }
    }
    return ROTA_CLIENT_OK;
}

// Of bytes of several sources nobody can say which are wrong.
static enum rota_client_code sum_check(struct getting *getting, uint32_t source)
{
    uint8_t hash[OS_SUM];
    os_sum_end(getting->sum.sum, hash);
    if (memcmp(hash, getting->entry.hash, OS_SUM) == 0) return ROTA_CLIENT_OK;
    if (!getting->is_mixed) getting->liars |= 1u << source;
    enum rota_client_code code = begin_again(getting);
    return code ? code
                : client_say(getting->client, ROTA_CLIENT_DAMAGED,
                             "the bytes it sent are not those it had named");
}

static enum rota_client_code source_try(struct getting *getting, const struct wire_fetch *fetch,
                                        uint32_t source)
{
    struct rota_client peer;
    struct wire_message message = {.kind = WIRE_NONE};
    const char *address = fetch->addresses.items[source].bytes;
    enum rota_client_code code = peer_open(getting->client, address, &peer);
    if (!code) code = content_ask(getting, &peer, fetch, &message);
    if (!code) code = content_take(getting, fetch, &message.content);
    if (code == ROTA_CLIENT_DAMAGED) getting->liars |= 1u << source;
    if (!code) code = piece_ask(getting, &peer);
    if (!code) code = bytes_take(getting, &peer);
    if (!code) code = sum_check(getting, source);
    peer_close(&peer);
    return code;
}

// ---- All of them ------------------------------------------------------------------------------

// Whether another one may do better.
static bool is_final(const struct getting *getting, enum rota_client_code code)
{
    bool is_stuck = code == ROTA_CLIENT_DAMAGED && getting->written && !getting->is_regular;
    return !code || is_stuck || code == ROTA_CLIENT_FILE || code == ROTA_CLIENT_NO_MEMORY
           || code == ROTA_CLIENT_REFUSED;
}

// The ticket may not have reached them yet, or they are starting again.
static enum rota_client_code sources_try(struct getting *getting, const struct wire_fetch *fetch)
{
    static const int pauses[ROUNDS] = {0, 300, 2000};
    uint32_t count = fetch->addresses.count;
    if (count > SOURCES_MAX) count = SOURCES_MAX;
    enum rota_client_code code
        = client_say(getting->client, ROTA_CLIENT_NOT_NOW, "nobody who has it can be reached");
    getting->liars = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (getting->liars == (1u << count) - 1) break;
        poll(NULL, 0, pauses[round]);
        for (uint32_t i = 0; i < count; i++) {
            if (getting->liars >> i & 1) continue;
            code = source_try(getting, fetch, i);
            if (is_final(getting, code)) return code;
        }
    }
    return code;
}

// Who has it; the message is valid as long as nothing else comes over this connection.
static enum rota_client_code fetch_ask(struct getting *getting, enum wire_data_verb verb,
                                       int64_t until, struct wire_message *message)
{
    struct rota_client *client = getting->client;
    struct request request = {0, 0};
    enum rota_client_code code = request_make(client, &request.high, &request.low);
    if (code) return code;
    message->kind = WIRE_DATA_MESSAGE;
    message->data.high = request.high;
    message->data.low = request.low;
    message->data.verb = verb;
    message->data.object = getting->object.id;
    wire_put(&client->link->out, message);
    code = client_send(client, client_until(client->patience));
    while (!code && !(code = client_next(client, message, until))) {
        code = client_refusal(client, request, message);
        const rota_object_id *object = &message->fetch.object;
        if (message->kind == WIRE_FETCH_MESSAGE && object->high == getting->object.id.high
            && object->low == getting->object.id.low)
            break;
    }
    if (code == ROTA_CLIENT_TIMED_OUT) client_say(client, code, "it is not made");
    return code;
}

static enum rota_client_code get(struct getting *getting, rota_time timeout)
{
    struct wire_message message;
    struct rota_client *client = getting->client;
    enum rota_client_code code
        = fetch_ask(getting, WIRE_DATA_READ, client_until(timeout), &message);
    if (code) return code;
    code = sources_try(getting, &message.fetch);
    if (is_final(getting, code)) return code;
    code = fetch_ask(getting, WIRE_DATA_THROUGH, client_until(client->patience), &message);
    return code ? code : sources_try(getting, &message.fetch);
}

// What is there already counts, if it can be read.
static enum rota_client_code file_begin(struct getting *getting, uint64_t offset)
{
    struct stat about;
    struct rota_client *client = getting->client;
    if (fstat(getting->file, &about) != 0)
        return client_say(client, ROTA_CLIENT_FILE, "the file: %s", strerror(errno));
    getting->is_regular = S_ISREG(about.st_mode);
    if (offset && (!getting->is_regular || (uint64_t)about.st_size < offset))
        return client_say(client, ROTA_CLIENT_WRONG, "the file does not have these bytes");
    enum rota_client_code code = file_sum_open(client, &getting->sum);
    if (!code) code = file_sum_add(client, &getting->sum, getting->file, offset);
    getting->written = offset;
    return code;
}

// What a regular file had behind that is of something else.
static enum rota_client_code file_end(struct getting *getting)
{
    if (!getting->is_regular || ftruncate(getting->file, (off_t)getting->written) == 0)
        return ROTA_CLIENT_OK;
    return client_say(getting->client, ROTA_CLIENT_FILE, "the file: %s", strerror(errno));
}

enum rota_client_code rota_client_get(struct rota_client *client, const char *name, int file,
                                      rota_time timeout, uint64_t *offset)
{
    struct getting getting = {.client = client, .file = file};
    enum rota_client_code code = ROTA_CLIENT_OK;
    if (timeout < 0) code = client_say(client, ROTA_CLIENT_WRONG, "a time is not below 0");
    if (!code) code = client_object_find(client, name, &getting.object);
    if (code) return code;
    code = file_begin(&getting, *offset);
    if (!code) {
        code = get(&getting, timeout);
        *offset = getting.written;
    }
    if (!code) code = file_end(&getting);
    file_sum_close(&getting.sum);
    return code;
}
