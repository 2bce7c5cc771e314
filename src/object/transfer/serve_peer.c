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

// A guest may send this much ahead, or in one message. A client offers about 90 kB at a time.
enum { GUEST_BYTES_MAX = 64 << 10, PUT_BYTES_MAX = 1 << 20 };
enum { PIECE_BYTES = 256 << 10 };  // of TLS

static void reading_close(struct cache_reading *reading)
{
    if (reading->fd >= 0) close(reading->fd);
    reading->fd = -1;
}

void guest_init(struct guest *guest, struct data_server *server, struct link *link, int64_t now)
{
    *guest = (struct guest){.server = server, .link = link, .since = now};
    guest->is_local = server->listener.local;
    int room = DATA_TURN;  // TCP finds the best value by itself
    if (guest->is_local) setsockopt(link->file, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    guest->hold.fd = guest->sending.fd = -1;
    put_init(&guest->put);
    pace_begin(&guest->pace, now);
}

static void sending_end(struct guest *guest)
{
    if (guest->sending.fd >= 0) guest->server->sending--;
    reading_close(&guest->sending);
}

static void object_end(struct guest *guest)
{
    sending_end(guest);
    reading_close(&guest->hold);
    cache_files_release(&guest->files);
}

void guest_release(struct guest *guest)
{
    brought_tell(guest, "");
    free(guest->brought.who);
    object_end(guest);
    flow_end(guest);
    os_loop_remove(guest->server->loop, guest->link->file);
    link_close(guest->link);
}

void guest_deny(struct guest *guest, enum wire_code code, const char *reason)
{
    struct wire_message refuse = {.kind = WIRE_REFUSE_MESSAGE};
    refuse.refuse.code = code;
    refuse.refuse.reason = wire_text_of(reason);
    // In the middle of a piece it would be taken for a part of it.
    if (guest->sending.fd < 0) wire_put(&guest->link->out, &refuse);
    object_end(guest);
    guest->state = GUEST_LEAVING;
    guest->since = os_ticks();
}

// The same reply for every reason, so that the peer does not learn which objects exist.
static void guest_refuse(struct guest *guest)
{
    guest_deny(guest, WIRE_REFUSED_NOT_FOUND, "no object for this ticket");
}

// ---- Its messages ---------------------------------------------------------------------------

static void on_greet(struct guest *guest, const struct wire_greet *greet)
{
    bool may = guest->is_local || guest->link->roles & WIRE_PEER;
    if (guest->is_greeted || !may || greet->role != WIRE_PEER || greet->version != WIRE_VERSION) {
        guest_refuse(guest);
        return;
    }
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    welcome.welcome.version = WIRE_VERSION;
    guest->is_greeted = true;
    wire_put(&guest->link->out, &welcome);
}

// Holding the list of a tree holds its files as well.
static bool object_begin(struct guest *guest, rota_object_id object)
{
    struct cache *cache = guest->server->cache;
    object_end(guest);
    if (!cache_find(cache, object, &guest->entry)) return false;
    if (!cache_read(cache, &guest->entry, &guest->hold)) return false;
    if (guest->entry.kind == CACHE_FILE) return guest->hold.bytes == guest->entry.bytes;
    return cache_files_load(cache, &guest->entry, &guest->files, NULL);
}

static void on_get(struct guest *guest, const struct wire_get *get, int64_t now)
{
    bool may = guest->is_greeted
               && tickets_allow(&guest->server->tickets, get->object, get->ticket, now);
    struct flow *flow = may ? flow_find(guest->server, get->object) : NULL;
    if (flow && flow_begin(guest, flow)) return;
    bool is_there = may && !flow && object_begin(guest, get->object);
    if (may && !flow && !is_there && guest->server->on_gone)
        guest->server->on_gone(guest->server->context, get->object);
    if (!is_there) {
        guest_refuse(guest);
        return;
    }
    char entry[CACHE_ENTRY_TEXT];
    cache_entry_write(&guest->entry, entry);
    struct wire_message content = {.kind = WIRE_CONTENT_MESSAGE};
    content.content.entry = wire_text_of(entry);
    if (guest->entry.kind == CACHE_DIRECTORY) content.content.list_bytes = guest->hold.bytes;
    guest->state = GUEST_KNOWN;
    pace_begin(&guest->pace, now);
    wire_put(&guest->link->out, &content);
}

// Only contents of the object: a ticket is for one object.
static bool want_open(struct guest *guest, const struct cache_entry *entry)
{
    bool is_list = entry->kind == CACHE_DIRECTORY;
    bool is_part = cache_entry_is(entry, &guest->entry) || cache_files_have(&guest->files, entry);
    return is_part && cache_read(guest->server->cache, entry, &guest->sending)
           && (is_list || guest->sending.bytes == entry->bytes);
}

static void on_want(struct guest *guest, const struct wire_want *want)
{
    struct cache_entry entry;
    bool fine = guest->state == GUEST_KNOWN && cache_entry_read(want->entry.bytes, &entry);
    fine = fine && want_open(guest, &entry) && want->offset <= guest->sending.bytes;
    if (guest->sending.fd >= 0) guest->server->sending++;
    if (!fine) {
        sending_end(guest);
        guest_refuse(guest);
        return;
    }
    struct wire_message piece = {.kind = WIRE_PIECE_MESSAGE};
    piece.piece.entry = want->entry;
    piece.piece.offset = guest->offset = want->offset;
    piece.piece.bytes = guest->sending.bytes - want->offset;
    posix_fadvise(guest->sending.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    wire_put(&guest->link->out, &piece);
}

static void on_message(struct guest *guest, const struct wire_message *message, int64_t now)
{
    if (message->kind == WIRE_GREET_MESSAGE)
        on_greet(guest, &message->greet);
    else if (message->kind == WIRE_GET_MESSAGE)
        on_get(guest, &message->get, now);
    else if (message->kind == WIRE_WANT_MESSAGE)
        on_want(guest, &message->want);
    else if (message->kind == WIRE_OFFER_MESSAGE && guest->may_put)
        on_offer(guest, &message->offer, now);
    else if (message->kind == WIRE_PIECE_MESSAGE && guest->may_put)
        on_put_piece(guest, &message->piece, now);
    else if (message->kind == WIRE_BIND_MESSAGE && guest->may_put)
        on_bind(guest, &message->bind, now);
    else
        guest_refuse(guest);
}

// ---- Sending --------------------------------------------------------------------------------

// Through the link, because TLS has to process every byte.
static ssize_t send_copied(struct guest *guest, size_t count)
{
    struct wire_out *out = &guest->link->out;
    if (count > PIECE_BYTES) count = PIECE_BYTES;
    char *bytes = wire_out_room(out, (uint32_t)count);
    if (!bytes) return 0;
    ssize_t got = pread(guest->sending.fd, bytes, count, (off_t)guest->offset);
    out->length -= (uint32_t)(count - (got > 0 ? (size_t)got : 0));
    return got;
}

static ssize_t send_some(struct guest *guest, size_t count)
{
    off_t offset = (off_t)guest->offset;
    ssize_t sent = guest->link->tls
                       ? send_copied(guest, count)
                       : sendfile(guest->link->file, guest->sending.fd, &offset, count);
    if (sent > 0) guest->offset += (uint64_t)sent;
    if (sent > 0) guest->pace.bytes += (uint64_t)sent;
    return sent;
}

// True: everything that can be sent now was sent. False: there may be more to do at once.
static bool sending_go_on(struct guest *guest, uint64_t *turn)
{
    uint64_t left = guest->sending.bytes - guest->offset;
    if (left == 0) {
        sending_end(guest);
        return false;
    }
    if (*turn == 0) return true;
    ssize_t sent = send_some(guest, left < *turn ? left : *turn);
    if (sent < 0 && errno == EINTR) return false;
    if (sent < 0 && errno == EAGAIN) return true;
    if (sent <= 0) {  // the file became shorter, or the other side is gone
        guest->state = GUEST_GONE;
        return true;
    }
    *turn -= (uint64_t)sent;
    return false;
}

// Slow readers must not delay those of other owners.
bool guest_has_to_wait(const struct guest *guest)
{
    const struct data_server *server = guest->server;
    uint32_t of_owner = 0;
    if (server->sending < DATA_SENDING_MAX) return false;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        const struct guest *other = server->guests[i];
        of_owner += other->sending.fd >= 0 && other->owner.number == guest->owner.number;
    }
    return of_owner >= DATA_SENDING_OWNER;
}

static bool is_too_long(const struct guest *guest)
{
    const struct wire_in *in = &guest->link->in;
    uint32_t length = 0;
    if (in->length - in->taken >= WIRE_HEAD)
        memcpy(&length, in->bytes + in->taken, sizeof length);
    return guest->may_put && length > PUT_BYTES_MAX && length <= WIRE_FRAME_MAX;
}

// True: nothing is left to be processed, or it has to wait.
static bool message_take(struct guest *guest, int64_t now)
{
    struct wire_message message;
    guest->is_behind = false;
    // A ticket is always checked.
    guest->is_waiting = guest->state == GUEST_KNOWN && guest_has_to_wait(guest);
    if (guest->is_waiting || guest->state == GUEST_LEAVING) return true;
    if (is_too_long(guest)) {
        guest_deny(guest, WIRE_REFUSED_REQUEST,
                   "a message to the object store may have at most 1 MiB");
        return false;
    }
    if (!turn_is_on(guest)) return true;
    enum wire_result result = wire_take(&guest->link->in, &message);
    if (result == WIRE_MORE) return true;
    if (result == WIRE_GOT)
        on_message(guest, &message, now);
    else
        guest_refuse(guest);
    return false;
}

static void guest_watch(struct guest *guest)
{
    bool writes = guest->link->wants_write || guest->sending.fd >= 0;
    if (guest->state != GUEST_GONE && writes != guest->is_watched)
        os_loop_write(guest->server->loop, guest->link->file, guest, writes);
    guest->is_watched = writes;
    flow_watch(guest);
}

// A header is sent before its bytes, and bytes before the next header.
void guest_go_on(struct guest *guest, int64_t now)
{
    struct link *link = guest->link;
    uint64_t turn = DATA_TURN;
    for (bool over = false; !over && guest->state != GUEST_GONE;) {
        if (!link_flush(link)) guest->state = GUEST_GONE;
        if (link->out.length)
            over = true;
        else if (guest->sending.fd >= 0)
            over = sending_go_on(guest, &turn);
        else if (guest->flow)
            over = flow_go_on(guest);
        else if (guest->put.left && guest->state != GUEST_LEAVING)
            over = put_go_on(guest);
        else
            over = message_take(guest, now);
    }
    bool is_told = guest->state == GUEST_LEAVING && !link->out.length && !link->wants_write;
    if (is_told && !guest->may_put) guest->state = GUEST_GONE;
    // If the socket is closed with unread bytes, the other side loses the refusal.
    if (is_told) {
        shutdown(link->file, SHUT_WR);
        link->in.taken = link->in.length;
    }
    uint32_t ahead = guest->may_put ? PUT_BYTES_MAX : GUEST_BYTES_MAX;
    if (link->in.length - link->in.taken > ahead && !guest->is_behind) guest->state = GUEST_GONE;
    guest_watch(guest);
}

void guest_work(struct guest *guest, bool can_read, int64_t now)
{
    if (guest->state == GUEST_GONE) return;
    bool is_opening = guest->link->state == LINK_OPENING;
    can_read = can_read && !guest->is_behind;  // messages already received are processed first
    if ((can_read || is_opening) && !link_work(guest->link)) guest->state = GUEST_GONE;
    if (guest->link->state == LINK_OPEN)
        guest_go_on(guest, now);
    else
        guest_watch(guest);
}

int64_t guest_due(const struct guest *guest)
{
    if (guest->flow) return INT64_MAX;  // a command may take its time
    return guest->state == GUEST_KNOWN ? guest->pace.since + DATA_STALL_TICKS
                                       : guest->since + DATA_GREET_TICKS;
}
