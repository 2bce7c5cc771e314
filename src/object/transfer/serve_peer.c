// serve_peer.c - a connection that fetches: shows a ticket, requests files, and gets their bytes.
#define _GNU_SOURCE
#include "object/transfer/internal.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

// A peer may send this much ahead, or in one message. A client offers about 90 kB at a time.
enum { PEER_BYTES_MAX = 64 << 10, PUT_BYTES_MAX = 1 << 20 };
enum { PIECE_BYTES = 256 << 10 };  // of TLS

static void reading_close(struct cache_reading *reading)
{
    if (reading->fd >= 0) close(reading->fd);
    reading->fd = -1;
}

void peer_init(struct peer *peer, struct data_server *server, struct link *link, int64_t now)
{
    *peer = (struct peer){.server = server, .link = link, .since = now};
    peer->is_local = server->listener.local;
    int room = DATA_TURN;  // TCP finds the best value by itself
    if (peer->is_local) setsockopt(link->file, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    peer->hold.fd = peer->sending.fd = -1;
    put_init(&peer->put);
    pace_begin(&peer->pace, now);
}

static void sending_end(struct peer *peer)
{
    if (peer->sending.fd >= 0) peer->server->sending--;
    reading_close(&peer->sending);
}

static void object_end(struct peer *peer)
{
    sending_end(peer);
    reading_close(&peer->hold);
    cache_files_release(&peer->files);
}

void peer_release(struct peer *peer)
{
    upload_report(peer, "");
    free(peer->upload.who);
    object_end(peer);
    flow_end(peer);
    os_loop_remove(peer->server->loop, peer->link->file);
    link_close(peer->link);
}

void peer_deny(struct peer *peer, enum wire_code code, const char *reason)
{
    struct wire_message refuse = {.kind = WIRE_REFUSE_MESSAGE};
    refuse.refuse.code = code;
    refuse.refuse.reason = wire_text_of(reason);
    // In the middle of a piece it would be taken for a part of it.
    if (peer->sending.fd < 0) wire_put(&peer->link->out, &refuse);
    object_end(peer);
    peer->state = PEER_LEAVING;
    peer->since = os_ticks();
}

// The same reply for every reason, so that the peer does not learn which objects exist.
static void peer_refuse(struct peer *peer)
{
    peer_deny(peer, WIRE_REFUSED_NOT_FOUND, "no object for this ticket");
}

// ---- Its messages ---------------------------------------------------------------------------

static void on_greet(struct peer *peer, const struct wire_greet *greet)
{
    bool may = peer->is_local || peer->link->roles & WIRE_PEER;
    if (peer->is_greeted || !may || greet->role != WIRE_PEER || greet->version != WIRE_VERSION) {
        peer_refuse(peer);
        return;
    }
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    welcome.welcome.version = WIRE_VERSION;
    peer->is_greeted = true;
    wire_put(&peer->link->out, &welcome);
}

// Holding the list of a tree holds its files as well.
static bool object_begin(struct peer *peer, rota_object_id object)
{
    struct cache *cache = peer->server->cache;
    object_end(peer);
    if (!cache_find(cache, object, &peer->entry)) return false;
    if (!cache_read(cache, &peer->entry, &peer->hold)) return false;
    if (peer->entry.kind == CACHE_FILE) return peer->hold.bytes == peer->entry.bytes;
    return cache_files_load(cache, &peer->entry, &peer->files, NULL);
}

static void on_get(struct peer *peer, const struct wire_get *get, int64_t now)
{
    bool may = peer->is_greeted
               && tickets_allow(&peer->server->tickets, get->object, get->ticket, now);
    struct flow *flow = may ? flow_find(peer->server, get->object) : NULL;
    if (flow && flow_begin(peer, flow)) return;
    bool is_there = may && !flow && object_begin(peer, get->object);
    if (may && !flow && !is_there && peer->server->on_gone)
        peer->server->on_gone(peer->server->context, get->object);
    if (!is_there) {
        peer_refuse(peer);
        return;
    }
    char entry[CACHE_ENTRY_TEXT];
    cache_entry_write(&peer->entry, entry);
    struct wire_message content = {.kind = WIRE_CONTENT_MESSAGE};
    content.content.entry = wire_text_of(entry);
    if (peer->entry.kind == CACHE_DIRECTORY) content.content.list_bytes = peer->hold.bytes;
    peer->state = PEER_KNOWN;
    pace_begin(&peer->pace, now);
    wire_put(&peer->link->out, &content);
}

// Only contents of the object: a ticket is for one object.
static bool want_open(struct peer *peer, const struct cache_entry *entry)
{
    bool is_list = entry->kind == CACHE_DIRECTORY;
    bool is_part = cache_entry_is(entry, &peer->entry) || cache_files_have(&peer->files, entry);
    return is_part && cache_read(peer->server->cache, entry, &peer->sending)
           && (is_list || peer->sending.bytes == entry->bytes);
}

static void on_want(struct peer *peer, const struct wire_want *want)
{
    struct cache_entry entry;
    bool fine = peer->state == PEER_KNOWN && cache_entry_read(want->entry.bytes, &entry);
    fine = fine && want_open(peer, &entry) && want->offset <= peer->sending.bytes;
    if (peer->sending.fd >= 0) peer->server->sending++;
    if (!fine) {
        sending_end(peer);
        peer_refuse(peer);
        return;
    }
    struct wire_message piece = {.kind = WIRE_PIECE_MESSAGE};
    piece.piece.entry = want->entry;
    piece.piece.offset = peer->offset = want->offset;
    piece.piece.bytes = peer->sending.bytes - want->offset;
    posix_fadvise(peer->sending.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    wire_put(&peer->link->out, &piece);
}

static void on_message(struct peer *peer, const struct wire_message *message, int64_t now)
{
    if (message->kind == WIRE_GREET_MESSAGE)
        on_greet(peer, &message->greet);
    else if (message->kind == WIRE_GET_MESSAGE)
        on_get(peer, &message->get, now);
    else if (message->kind == WIRE_WANT_MESSAGE)
        on_want(peer, &message->want);
    else if (message->kind == WIRE_OFFER_MESSAGE && peer->may_put)
        on_offer(peer, &message->offer, now);
    else if (message->kind == WIRE_PIECE_MESSAGE && peer->may_put)
        on_put_piece(peer, &message->piece, now);
    else if (message->kind == WIRE_BIND_MESSAGE && peer->may_put)
        on_bind(peer, &message->bind, now);
    else
        peer_refuse(peer);
}

// ---- Sending --------------------------------------------------------------------------------

// Through the link, because TLS has to process every byte.
static ssize_t send_copied(struct peer *peer, size_t count)
{
    struct wire_out *out = &peer->link->out;
    if (count > PIECE_BYTES) count = PIECE_BYTES;
    char *bytes = wire_out_room(out, (uint32_t)count);
    if (!bytes) return 0;
    ssize_t got = pread(peer->sending.fd, bytes, count, (off_t)peer->offset);
    out->length -= (uint32_t)(count - (got > 0 ? (size_t)got : 0));
    return got;
}

static ssize_t send_some(struct peer *peer, size_t count)
{
    off_t offset = (off_t)peer->offset;
    ssize_t sent = peer->link->tls
                       ? send_copied(peer, count)
                       : sendfile(peer->link->file, peer->sending.fd, &offset, count);
    if (sent > 0) peer->offset += (uint64_t)sent;
    if (sent > 0) peer->pace.bytes += (uint64_t)sent;
    return sent;
}

// True: everything that can be sent now was sent. False: there may be more to do at once.
static bool sending_continue(struct peer *peer, uint64_t *turn)
{
    uint64_t left = peer->sending.bytes - peer->offset;
    if (left == 0) {
        sending_end(peer);
        return false;
    }
    if (*turn == 0) return true;
    ssize_t sent = send_some(peer, left < *turn ? left : *turn);
    if (sent < 0 && errno == EINTR) return false;
    if (sent < 0 && errno == EAGAIN) return true;
    if (sent <= 0) {  // the file became shorter, or the other side is gone
        peer->state = PEER_GONE;
        return true;
    }
    *turn -= (uint64_t)sent;
    return false;
}

// Slow readers must not delay those of other owners.
bool peer_has_to_wait(const struct peer *peer)
{
    const struct data_server *server = peer->server;
    uint32_t of_owner = 0;
    if (server->sending < DATA_SENDING_MAX) return false;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        const struct peer *other = server->peers[i];
        of_owner += other->sending.fd >= 0 && other->owner.number == peer->owner.number;
    }
    return of_owner >= DATA_SENDING_OWNER;
}

static bool is_too_long(const struct peer *peer)
{
    const struct wire_in *in = &peer->link->in;
    uint32_t length = 0;
    if (in->length - in->taken >= WIRE_HEAD)
        memcpy(&length, in->bytes + in->taken, sizeof length);
    return peer->may_put && length > PUT_BYTES_MAX && length <= WIRE_FRAME_MAX;
}

// True: nothing is left to be processed, or it has to wait.
static bool message_take(struct peer *peer, int64_t now)
{
    struct wire_message message;
    peer->is_queued = false;
    // A ticket is always checked.
    peer->is_waiting = peer->state == PEER_KNOWN && peer_has_to_wait(peer);
    if (peer->is_waiting || peer->state == PEER_LEAVING) return true;
    if (is_too_long(peer)) {
        peer_deny(peer, WIRE_REFUSED_REQUEST,
                  "a message to the object store may have at most 1 MiB");
        return false;
    }
    if (!turn_is_on(peer)) return true;
    enum wire_result result = wire_take(&peer->link->in, &message);
    if (result == WIRE_MORE) return true;
    if (result == WIRE_GOT)
        on_message(peer, &message, now);
    else
        peer_refuse(peer);
    return false;
}

static void peer_watch(struct peer *peer)
{
    bool writes = peer->link->wants_write || peer->sending.fd >= 0;
    if (peer->state != PEER_GONE && writes != peer->is_watched)
        os_loop_write(peer->server->loop, peer->link->file, peer, writes);
    peer->is_watched = writes;
    flow_watch(peer);
}

// A header is sent before its bytes, and bytes before the next header.
void peer_continue(struct peer *peer, int64_t now)
{
    struct link *link = peer->link;
    uint64_t turn = DATA_TURN;
    for (bool over = false; !over && peer->state != PEER_GONE;) {
        if (!link_flush(link)) peer->state = PEER_GONE;
        if (link->out.length)
            over = true;
        else if (peer->sending.fd >= 0)
            over = sending_continue(peer, &turn);
        else if (peer->flow)
            over = flow_continue(peer);
        else if (peer->put.left && peer->state != PEER_LEAVING)
            over = put_continue(peer);
        else
            over = message_take(peer, now);
    }
    bool is_told = peer->state == PEER_LEAVING && !link->out.length && !link->wants_write;
    if (is_told && !peer->may_put) peer->state = PEER_GONE;
    // If the socket is closed with unread bytes, the other side loses the refusal.
    if (is_told) {
        shutdown(link->file, SHUT_WR);
        link->in.taken = link->in.length;
    }
    uint32_t ahead = peer->may_put ? PUT_BYTES_MAX : PEER_BYTES_MAX;
    if (link->in.length - link->in.taken > ahead && !peer->is_queued) peer->state = PEER_GONE;
    peer_watch(peer);
}

void peer_work(struct peer *peer, bool can_read, int64_t now)
{
    if (peer->state == PEER_GONE) return;
    bool is_opening = peer->link->state == LINK_OPENING;
    can_read = can_read && !peer->is_queued;   // messages already received are processed first
    if ((can_read || is_opening) && !link_work(peer->link)) peer->state = PEER_GONE;
    if (peer->link->state == LINK_OPEN)
        peer_continue(peer, now);
    else
        peer_watch(peer);
}

int64_t peer_due(const struct peer *peer)
{
    if (peer->flow) return INT64_MAX;   // a command may take its time
    return peer->state == PEER_KNOWN ? peer->pace.since + DATA_STALL_TICKS
                                     : peer->since + DATA_GREET_TICKS;
}
