// put.c - sends a file of the program to the server's object store.
//
// OFFER names the content; the server answers with WANT, and the offset of an earlier upload,
// unless it has the content. PIECE carries the bytes, STORED confirms them, BIND gives the object
// its name.
#define _GNU_SOURCE
#include "client/internal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Sends, and takes the next message; a refusal is an error.
static enum rota_client_code next(struct rota_client *peer, enum wire_kind kind,
                                  struct wire_message *message)
{
    int64_t until = client_until(peer->patience);
    enum rota_client_code code = client_send(peer, until);
    if (!code) code = client_next(peer, message, until);
    if (!code) code = client_refusal(peer, (struct request_id){0}, message);
    if (code || message->kind == kind || !kind) return code;
    return client_say(peer, ROTA_CLIENT_GONE, "the server sent an unexpected message");
}

enum rota_client_code content_bind(struct rota_client *peer, const struct wire_entry *entry)
{
    struct wire_message message = {.kind = WIRE_BIND_MESSAGE};
    char text[WIRE_ENTRY_TEXT];
    wire_entry_write(entry, text);
    message.bind.object = wire_entry_object(entry);
    message.bind.entry = wire_text_of(text);
    wire_put(&peer->link->out, &message);
    return next(peer, WIRE_BOUND_MESSAGE, &message);
}

static enum rota_client_code bytes_send(struct rota_client *peer, int file, uint64_t at,
                                        uint64_t end)
{
    enum { PIECE = 256 << 10 };
    enum rota_client_code code = ROTA_CLIENT_OK;
    while (!code && at < end) {
        struct wire_out *out = &peer->link->out;
        size_t most = end - at < PIECE ? (size_t)(end - at) : PIECE;
        char *room = wire_out_room(out, (uint32_t)most);
        if (!room) return client_say(peer, ROTA_CLIENT_NO_MEMORY, "out of memory for a piece");
        ssize_t got = pread(file, room, most, (off_t)at);
        out->length -= (uint32_t)(most - (got > 0 ? (size_t)got : 0));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return client_say(peer, ROTA_CLIENT_FILE, "the file: %s",
                              got ? strerror(errno) : "it became shorter");
        at += (uint64_t)got;
        code = client_send(peer, client_until(peer->patience));
    }
    return code;
}

// Starts at the offset where an earlier connection broke off.
static enum rota_client_code content_send(struct rota_client *peer, int file,
                                          const struct wire_entry *entry, uint64_t from)
{
    struct wire_message message = {.kind = WIRE_PIECE_MESSAGE};
    char text[WIRE_ENTRY_TEXT];
    if (from > entry->bytes)
        return client_say(peer, ROTA_CLIENT_GONE, "the server sent an unexpected message");
    wire_entry_write(entry, text);
    message.piece.entry = wire_text_of(text);
    message.piece.offset = from;
    message.piece.bytes = entry->bytes - from;
    wire_put(&peer->link->out, &message);
    enum rota_client_code code = bytes_send(peer, file, from, entry->bytes);
    if (!code) code = next(peer, WIRE_STORED_MESSAGE, &message);
    bool is_other = code && message.kind == WIRE_REFUSE_MESSAGE
                    && message.refuse.code == WIRE_REFUSED_CONFLICT;
    return is_other ? client_say(peer, ROTA_CLIENT_FILE, "the file changes while it is sent")
                    : code;
}

static enum rota_client_code put(struct rota_client *peer, int file,
                                 const struct wire_entry *entry)
{
    struct wire_message message = {.kind = WIRE_OFFER_MESSAGE};
    char text[WIRE_ENTRY_TEXT];
    wire_entry_write(entry, text);
    wire_text one = wire_text_of(text);
    message.offer.entries = (wire_texts){&one, 1};
    wire_put(&peer->link->out, &message);
    enum rota_client_code code = next(peer, WIRE_NONE, &message);
    bool is_wanted = !code && message.kind == WIRE_WANT_MESSAGE;
    uint64_t from = is_wanted ? message.want.offset : 0;
    if (is_wanted) code = next(peer, WIRE_NONE, &message);
    if (!code && message.kind != WIRE_OFFERED_MESSAGE)
        code = client_say(peer, ROTA_CLIENT_GONE, "the server sent an unexpected message");
    if (!code && is_wanted) code = content_send(peer, file, entry, from);
    return code ? code : content_bind(peer, entry);
}

// The name is the hash of the content, so the file is read before it is sent.
static enum rota_client_code entry_make(struct rota_client *client, int file,
                                        struct wire_entry *entry)
{
    struct stat about;
    struct file_hash sum;
    if (fstat(file, &about) != 0)
        return client_say(client, ROTA_CLIENT_FILE, "the file: %s", strerror(errno));
    if (!S_ISREG(about.st_mode))
        return client_say(client, ROTA_CLIENT_WRONG, "not a regular file");
    *entry = (struct wire_entry){.letter = about.st_mode & S_IXUSR ? 'x' : 'f',
                                 .bytes = (uint64_t)about.st_size};
    enum rota_client_code code = file_hash_open(client, &sum);
    if (!code) code = file_hash_add(client, &sum, file, entry->bytes);
    if (!code) os_hash_end(sum.sum, entry->hash);
    file_hash_close(&sum);
    return code;
}

enum rota_client_code rota_client_put(struct rota_client *client, int file,
                                      char name[ROTA_CLIENT_CONTENT])
{
    struct wire_entry entry;
    struct rota_client peer;
    name[0] = 0;
    enum rota_client_code code = client_ready(client);
    if (!code) code = entry_make(client, file, &entry);
    if (code) return code;
    code = peer_open(client, PEER_HOME, &peer);
    if (!code && (code = put(&peer, file, &entry))) peer_fail(client, &peer, code);
    peer_close(&peer);
    if (!code) wire_entry_write(&entry, name);
    return code;
}
