// get.c - writes the bytes of an object to a file of the program.
//
// The server names holders of the object and a ticket (FETCH). get() asks each holder for the
// content and its bytes (GET, WANT), over a connection of its own, and continues at the next holder
// where one broke off. The hash of all bytes decides: on a mismatch it starts again without the
// holder that sent wrong bytes. If no holder can be reached, the server fetches the object itself.
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
    struct file_hash sum;      // of the written bytes
    bool is_known;            // `entry` is set
    bool is_mixed;            // bytes came from several sources, or an earlier call
    struct wire_entry entry;  // the content
    uint32_t bad_sources;           // a bit for each source that sent wrong bytes
};

// ---- The file -------------------------------------------------------------------------------

static enum rota_client_code begin_again(struct getting *getting)
{
    struct rota_client *client = getting->client;
    if (getting->written && !getting->is_regular)
        return client_say(client, ROTA_CLIENT_DAMAGED, "two sources sent different contents");
    getting->written = 0;
    getting->is_known = getting->is_mixed = false;
    if (os_hash_begin(getting->sum.sum)) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "cannot start SHA-256");
}

static enum rota_client_code bytes_write(struct getting *getting, const char *bytes, size_t count)
{
    os_hash_add(getting->sum.sum, bytes, count);
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

// ---- One holder -------------------------------------------------------------------------------

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
    if (!code) code = client_refusal(peer, (struct request_id){0}, message);
    if (code) return peer_fail(getting->client, peer, code);
    if (message->kind == WIRE_CONTENT_MESSAGE) return ROTA_CLIENT_OK;
    return client_say(getting->client, ROTA_CLIENT_DAMAGED, "the peer sent an unexpected message");
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
        return client_say(client, ROTA_CLIENT_DAMAGED, "the peer has another content");
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
    if (!code) code = client_refusal(peer, (struct request_id){0}, &message);
    if (code) return peer_fail(getting->client, peer, code);
    bool is_it = message.kind == WIRE_PIECE_MESSAGE && message.piece.offset == getting->written
                 && message.piece.bytes == getting->entry.bytes - getting->written;
    return is_it ? ROTA_CLIENT_OK
                 : client_say(getting->client, ROTA_CLIENT_DAMAGED,
                              "the peer sent an unexpected message");
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
            return client_say(getting->client, ROTA_CLIENT_TIMED_OUT, "the peer stopped sending");
        }
    }
    return ROTA_CLIENT_OK;
}

// If the bytes came from several sources, the wrong one is unknown.
static enum rota_client_code sum_check(struct getting *getting, uint32_t source)
{
    uint8_t hash[OS_HASH];
    os_hash_end(getting->sum.sum, hash);
    if (memcmp(hash, getting->entry.hash, OS_HASH) == 0) return ROTA_CLIENT_OK;
    if (!getting->is_mixed) getting->bad_sources |= 1u << source;
    enum rota_client_code code = begin_again(getting);
    return code ? code
                : client_say(getting->client, ROTA_CLIENT_DAMAGED,
                             "the received bytes do not match their hash");
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
    if (code == ROTA_CLIENT_DAMAGED) getting->bad_sources |= 1u << source;
    if (!code) code = piece_ask(getting, &peer);
    if (!code) code = bytes_take(getting, &peer);
    if (!code) code = sum_check(getting, source);
    peer_close(&peer);
    return code;
}

// ---- All holders ------------------------------------------------------------------------------

// Whether no other holder can help.
static bool is_final(const struct getting *getting, enum rota_client_code code)
{
    bool is_stuck = code == ROTA_CLIENT_DAMAGED && getting->written && !getting->is_regular;
    return !code || is_stuck || code == ROTA_CLIENT_FILE || code == ROTA_CLIENT_NO_MEMORY
           || code == ROTA_CLIENT_REFUSED;
}

// Tries several times: a holder may not have received the ticket yet, or may be restarting.
static enum rota_client_code sources_try(struct getting *getting, const struct wire_fetch *fetch)
{
    static const int pauses[ROUNDS] = {0, 300, 2000};
    uint32_t count = fetch->addresses.count;
    if (count > SOURCES_MAX) count = SOURCES_MAX;
    enum rota_client_code code
        = client_say(getting->client, ROTA_CLIENT_NOT_NOW, "cannot reach any holder of the object");
    getting->bad_sources = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (getting->bad_sources == (1u << count) - 1) break;
        poll(NULL, 0, pauses[round]);
        for (uint32_t i = 0; i < count; i++) {
            if (getting->bad_sources >> i & 1) continue;
            code = source_try(getting, fetch, i);
            if (is_final(getting, code)) return code;
        }
    }
    return code;
}

// The message is valid until the next one arrives over this connection.
static enum rota_client_code fetch_ask(struct getting *getting, enum wire_data_verb verb,
                                       int64_t until, struct wire_message *message)
{
    struct rota_client *client = getting->client;
    enum rota_client_code code = client_locate(client, verb, getting->object.id, until, message);
    if (code == ROTA_CLIENT_TIMED_OUT) client_say(client, code, "the object does not exist yet");
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

// Hashes the bytes that the file has from an earlier call.
static enum rota_client_code file_begin(struct getting *getting, uint64_t offset)
{
    struct stat about;
    struct rota_client *client = getting->client;
    if (fstat(getting->file, &about) != 0)
        return client_say(client, ROTA_CLIENT_FILE, "the file: %s", strerror(errno));
    getting->is_regular = S_ISREG(about.st_mode);
    if (offset && (!getting->is_regular || (uint64_t)about.st_size < offset))
        return client_say(client, ROTA_CLIENT_WRONG, "the file has fewer bytes than the offset");
    enum rota_client_code code = file_hash_open(client, &getting->sum);
    if (!code) code = file_hash_add(client, &getting->sum, getting->file, offset);
    getting->written = offset;
    return code;
}

// Cuts what a regular file had after the object.
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
    if (timeout < 0) code = client_say(client, ROTA_CLIENT_WRONG, "negative time");
    if (!code) code = client_object_find(client, name, &getting.object);
    if (code) return code;
    code = file_begin(&getting, *offset);
    if (!code) {
        code = get(&getting, timeout);
        *offset = getting.written;
    }
    if (!code) code = file_end(&getting);
    file_hash_close(&getting.sum);
    return code;
}
