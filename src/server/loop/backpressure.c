// backpressure.c - `rota server`: clients that wait because the object store is busy or their share
// is used up.
//
// Backpressure: a message that cannot be processed yet stays in the buffer of its connection, and
// further data in the socket, so the client is slowed down and the memory of the server stays
// limited. Workers and admins are processed before clients in each turn, and do not wait for the
// object store. A waiting peer is in a list of the loop and checked again when something was
// released. Messages and replies have deadlines: a peer that does not complete a message, or does
// not read its replies while its share is used up, is disconnected. Used up shares are reported on
// standard error, at most from time to time.
#include "server/loop/loop.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

enum {
    STORE_QUEUE_MAX = 1 << 20,  // bytes that the object store has not read
    INPUT_SMALL = 16 << 10,  // bytes that are read from every peer, whatever its share
    WAIT_STEP = 10000,
    GREET_TICKS = 10 * 1000000,
    MESSAGE_TICKS = 120 * 1000000,  // for a message to be complete
    UNREAD_TICKS = 30 * 1000000,    // for an answer to be read, when its share is used up
    REPORT_EVERY = 60 * 1000000,
};

static uint64_t input_of(const struct serve_peer *peer)
{
    return peer->link->in.length - peer->link->in.taken;
}

void serve_count(struct serve_peer *peer)
{
    if (!peer->peer) return;
    if (input_of(peer) < INPUT_SMALL && peer->messages != peer->messages_counted) peer->room = 0;
    peer->messages_counted = peer->messages;
    cluster_share_count(peer->peer, peer->room);
}

// ---- Waiting --------------------------------------------------------------------------------

static bool is_store_slow(const struct serve *serve)
{
    if (!serve->object_store_peer) return false;
    const struct cluster_peer *store = serve->object_store_peer->peer;
    return (uint64_t)store->out->length - store->out->sent + store->held[0].length
               + store->held[1].length > STORE_QUEUE_MAX;
}

static bool asks_next(const struct serve_peer *peer)
{
    const struct wire_in *in = &peer->link->in;
    return input_of(peer) > WIRE_HEAD && in->bytes[in->taken + WIRE_HEAD] == WIRE_ASK_MESSAGE;
}

bool serve_waits_to_ask(const struct serve_peer *peer)
{
    return peer->waits && asks_next(peer);
}

bool serve_comes_first(const struct serve_peer *peer)
{
    const struct cluster_peer *of = peer->peer;
    return of && (of->role == WIRE_WORKER || of->role == WIRE_ADMIN);
}

// An operator can act on a full server: other users of an admin's key do not delay it.
static bool share_fits(struct serve *serve, const struct serve_peer *peer,
                       enum cluster_share_kind kind, uint64_t more)
{
    return peer->peer->role == WIRE_ADMIN
           || cluster_share_fits(&serve->cluster, peer->peer->share, kind, more);
}

bool serve_must_wait(struct serve *serve, struct serve_peer *peer)
{
    struct cluster_peer *of = peer->peer;
    if (!of->role) return false;
    bool asks = of->role != WIRE_WORKER && asks_next(peer);
    if (asks && !serve_query_fits(serve, of)) return true;
    if (!serve_comes_first(peer) && is_store_slow(serve)) return true;
    return !share_fits(serve, peer, CLUSTER_SHARE_OUTPUT, 1);
}

static uint64_t message_size(const struct serve_peer *peer)
{
    uint32_t length = 0;
    memcpy(&length, peer->link->in.bytes + peer->link->in.taken, sizeof length);
    return length > WIRE_FRAME_MAX ? WIRE_FRAME_MAX : length;
}

// A long message reserves all of its memory before more of it is read, so that it can always be
// completed.
void serve_reserve(struct serve *serve, struct serve_peer *peer)
{
    if (!peer->peer || peer == serve->object_store_peer) return;
    bool is_long = !peer->waits && input_of(peer) >= INPUT_SMALL;
    uint64_t size = is_long ? message_size(peer) : 0, came = input_of(peer);
    if (size > peer->room && share_fits(serve, peer, CLUSTER_SHARE_INPUT, size - peer->room)) {
        peer->room = size;
        serve_count(peer);
    }
    peer->link->is_read_slowly = !peer->room || came + LINK_READ_MAX > size;
}

// A small message is read, whatever the share. After a complete message, which waits for its turn,
// nothing is read: the share has no room for it, and the disk may be slow.
bool serve_may_read(const struct serve *serve, const struct serve_peer *peer)
{
    if (!peer->peer || peer == serve->object_store_peer || input_of(peer) < INPUT_SMALL)
        return true;
    uint64_t size = message_size(peer);
    return !peer->waits && size <= peer->room && input_of(peer) < size + WIRE_HEAD;
}

void serve_watch(struct serve *serve, struct serve_peer *peer)
{
    serve_reserve(serve, peer);
    bool reads = serve_may_read(serve, peer), writes = peer->link->wants_write;
    if (!reads || peer->waits)
        serve_wait(serve, peer);
    else
        serve_wait_end(serve, peer);
    if (reads == peer->reads && writes == peer->writes) return;
    peer->reads = reads;
    peer->writes = writes;
    os_loop_watch(serve->loop, peer->link->file, peer, reads, writes);
}

void serve_wait(struct serve *serve, struct serve_peer *peer)
{
    if (peer->is_waiting) return;
    peer->is_waiting = true;
    peer->next_waiting = serve->waiting;
    peer->previous_waiting = NULL;
    if (serve->waiting) serve->waiting->previous_waiting = peer;
    serve->waiting = peer;
}

void serve_wait_end(struct serve *serve, struct serve_peer *peer)
{
    if (!peer->is_waiting) return;
    peer->is_waiting = peer->waits = false;
    if (peer->next_waiting) peer->next_waiting->previous_waiting = peer->previous_waiting;
    *(peer->previous_waiting ? &peer->previous_waiting->next_waiting : &serve->waiting)
        = peer->next_waiting;
}

static bool keeps_waiting(struct serve *serve, struct serve_peer *peer)
{
    if (peer->waits) return serve_must_wait(serve, peer);
    serve_reserve(serve, peer);
    return !serve_may_read(serve, peer);
}

// Peers that need not wait any longer are processed in the next turn.
int64_t serve_waiting_look(struct serve *serve)
{
    struct serve_peer *next;
    for (struct serve_peer *peer = serve->waiting; peer; peer = next) {
        next = peer->next_waiting;
        if (peer->is_gone || keeps_waiting(serve, peer)) continue;
        serve_wait_end(serve, peer);
        serve_input_note(serve, peer);
        serve_watch(serve, peer);
    }
    return serve->waiting ? os_ticks() + WAIT_STEP : INT64_MAX;
}

// ---- Deadlines ---------------------------------------------------------------------------------

// Another message was taken, so the present one is new.
static bool is_message_late(struct serve_peer *peer, int64_t now)
{
    if (!input_of(peer) || peer->is_waiting || peer->messages != peer->messages_seen) {
        peer->messages_seen = peer->messages;
        peer->message_at = now;
    }
    return now - peer->message_at > MESSAGE_TICKS;
}

static bool is_unread(struct serve *serve, struct serve_peer *peer, int64_t now)
{
    const struct wire_out *out = &peer->link->out;
    bool moves = !out->length || out->sent != peer->sent_seen || out->length < peer->length_seen
                 || share_fits(serve, peer, CLUSTER_SHARE_OUTPUT, 1);
    peer->sent_seen = out->sent;
    peer->length_seen = out->length;
    if (moves) peer->read_at = now;
    return now - peer->read_at > UNREAD_TICKS;
}

bool serve_is_late(struct serve *serve, struct serve_peer *peer, int64_t now)
{
    if (peer == serve->object_store_peer) return false;
    if (!peer->peer) return link_overdue(peer->link, now);
    if (!peer->peer->role && now - peer->link->opened_at > LINK_OPENING_TICKS + GREET_TICKS)
        return true;
    return is_message_late(peer, now) || is_unread(serve, peer, now);
}

void serve_shares_report(struct serve *serve, int64_t now)
{
    char text[200];
    if (now < serve->report_at) return;
    while (cluster_share_report(&serve->cluster, text, sizeof text)) {
        fprintf(stderr, "rota server: %s\n", text);
        serve->report_at = now + REPORT_EVERY;
    }
}
