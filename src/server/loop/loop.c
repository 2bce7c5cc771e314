// loop.c - `rota server`: the event loop that reads peers, runs turns, and sends replies.
//
// One thread waits for sockets, timers and the disk. It reads complete messages of all peers, makes
// one turn of them (server/cluster), and starts writing the turn. While the disk writes, the next
// turn may begin. When a turn is durable its replies and commands are sent.
//
// The loop owns the listeners, the connections (struct serve_peer) and the processes of queries.
// The cluster has a struct cluster_peer for each connection, which the loop adds and removes only
// within a turn. The object store has its own thread and is connected like a peer.
//
// Peers can fail in any way: they may be silent, send invalid messages, stop reading or disconnect.
// A peer that does not introduce itself or complete a message in time, or does not read its
// replies, is disconnected; a connection beyond the limits is refused. If the store fails, or its
// files are replaced, the server ends without acknowledging anything more.
#include "server/loop/loop.h"
#include "server/cluster/tokens.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READY = 256,
    ACCEPT_TURN = 32,  // connections accepted before other peers get their turn
    OUTPUT_MAX = 64 << 20,
    OUTPUT_FEW = 64 << 10,
    LOOK_EVERY = 1000000
};

// ---- Peers -------------------------------------------------------------------------------------

void serve_input_note(struct serve *serve, struct serve_peer *peer)
{
    if (peer->has_input) return;
    struct serve_peer **at = serve_comes_first(peer) ? serve->last_first : serve->last_input;
    peer->has_input = true;
    peer->next_input = *at;
    *at = peer;
    if (at == serve->last_input) serve->last_input = &peer->next_input;
    if (serve_comes_first(peer)) serve->last_first = &peer->next_input;
}

struct serve_peer *serve_peer_add(struct serve *serve, struct link *link)
{
    struct serve_peer *peer = cluster_allocate(1, sizeof *peer);
    peer->kind = SERVE_PEER;
    peer->link = link;
    peer->next = serve->peers;
    if (peer->next) peer->next->previous = peer;
    serve->peers = peer;
    serve->peer_count++;
    serve->opening++;
    peer->is_opening = true;
    peer->reads = true;
    peer->message_at = peer->read_at = os_ticks();
    os_socket_peer(link->file, peer->from, sizeof peer->from);
    if (!os_loop_add(serve->loop, link->file, peer)) {
        peer->is_gone = true;
        serve_input_note(serve, peer);
    }
    return peer;
}

void serve_peers_revoke(struct serve *serve)
{
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next) {
        if (peer->is_gone || link_is_allowed(peer->link, &serve->keys)) continue;
        if (peer->peer) {
            serve_audit_revoked(serve, peer);
            cluster_refuse(peer->peer, 0, 0, WIRE_REFUSED_ROLE, DATA_REVOKED);
            link_flush(peer->link);
            serve->revoked++;
        }
        peer->is_gone = true;
        serve_input_note(serve, peer);
    }
}

static void peer_free(struct serve *serve, struct serve_peer *peer)
{
    if (peer->previous)
        peer->previous->next = peer->next;
    else
        serve->peers = peer->next;
    if (peer->next) peer->next->previous = peer->previous;
    serve->peer_count--;
    serve_peer_opened(serve, peer);
    serve_wait_end(serve, peer);
    if (peer->link) os_loop_remove(serve->loop, peer->link->file);
    link_close(peer->link);
    free(peer);
}

// A user of this machine has no key, but a user id.
static void peer_open(struct serve *serve, struct serve_peer *peer)
{
    struct link *link = peer->link;
    peer->peer = cluster_peer_add(&serve->cluster, link->roles, link->id, &link->out);
    const char *user = peer->from + (peer->from[0] == '/');
    if (!link->id[0]) cluster_peer_own(&serve->cluster, peer->peer, user);
    memcpy(peer->peer->from, peer->from, sizeof peer->from);
    serve_peer_opened(serve, peer);
    const char *fault = cluster_place_take(&serve->cluster, peer->peer);
    if (fault) cluster_turn_away(peer->peer, WIRE_REFUSED_BUSY, fault);
}

static void peer_work(struct serve *serve, struct serve_peer *peer)
{
    if (peer->is_gone) return;
    serve_reserve(serve, peer);
    bool open = serve_may_read(serve, peer) ? link_work(peer->link) : link_flush(peer->link);
    if (!open) peer->is_gone = true;
    if (serve->questions && peer->link->out.length < OUTPUT_FEW)
        serve_questions_resume(serve, peer);
    if (peer->link->state == LINK_OPEN && !peer->peer) peer_open(serve, peer);
    serve_count(peer);
    if (!peer->is_gone) serve_watch(serve, peer);
    if (peer->is_gone || peer->link->in.length > peer->link->in.taken)
        serve_input_note(serve, peer);
}

// Disconnects peers that stop reading. The object store is not a peer: the server waits for it.
static void peer_flush(struct serve *serve, struct serve_peer *peer)
{
    if (peer->is_gone) return;
    struct link *link = peer->link;
    if (link->out.failed && !link->out.too_long) cluster_no_memory();
    bool slow = peer != serve->object_store_peer && link->out.length - link->out.sent > OUTPUT_MAX;
    if (slow || link->out.failed || (link->out.length && !link_flush(link))) peer->is_gone = true;
    if (serve->questions && link->out.length < OUTPUT_FEW) serve_questions_resume(serve, peer);
    bool done = peer->peer && peer->peer->closing && !link->out.length;
    if (done) peer->is_gone = true;
    if (peer->is_gone) {
        serve_input_note(serve, peer);
    } else {
        serve_watch(serve, peer);
    }
    serve_count(peer);
}

// Disconnects a peer that has not introduced itself, or completed a message, in time.
static void late_look(struct serve *serve, int64_t now)
{
    if (now < serve->strangers_at) return;
    serve->strangers_at = now + LOOK_EVERY;
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next) {
        if (peer->is_gone || !serve_is_late(serve, peer, now)) continue;
        peer->is_gone = true;
        serve_input_note(serve, peer);
    }
    serve_questions_look(serve, now);
    serve_shares_report(serve, now);
}

// ---- A turn ------------------------------------------------------------------------------------

static bool message_take(struct serve *serve, struct serve_peer *peer,
                         const struct wire_message *message)
{
    if (serve_data_takes(serve, peer, message)) return false;
    bool asks = message->kind == WIRE_ASK_MESSAGE
                && (peer->peer->role == WIRE_CLIENT || peer->peer->role == WIRE_ADMIN);
    if (!asks) {
        bool continues = cluster_take(&serve->cluster, peer->peer, message);
        serve_audit_request(serve, peer, message);
        return continues;
    }
    serve_ask(serve, peer, &message->ask);
    return true;
}

// A short request may have a long reply, and many of them can arrive at once.
static bool is_buried(const struct serve_peer *peer)
{
    const struct wire_out *held = peer->peer->held, *out = &peer->link->out;
    return (uint64_t)out->length - out->sent + held[0].length + held[1].length > OUTPUT_MAX;
}

static void peer_take(struct serve *serve, struct serve_peer *peer)
{
    struct wire_message message;
    enum wire_result result = WIRE_MORE;
    while (!peer->is_gone && peer->peer && !(peer->waits = serve_must_wait(serve, peer))
           && (result = wire_take(&peer->link->in, &message)) == WIRE_GOT) {
        peer->messages++;
        if (!message_take(serve, peer, &message)) break;
        serve_count(peer);
        peer->is_gone = peer != serve->object_store_peer && is_buried(peer);
    }
    if (peer->waits) serve_wait(serve, peer);
    wire_in_trim(&peer->link->in);  // it does not count for the share of its key any longer
    if (result == WIRE_NO_MEMORY) cluster_no_memory();
    if (result != WIRE_BAD || peer->is_given) return;
    cluster_refuse(peer->peer, 0, 0, WIRE_REFUSED_FRAME, "invalid message");
    peer->peer->closing = true;
}

static void inputs_take(struct serve *serve)
{
    struct serve_peer *peer = serve->inputs, *next;
    serve->inputs = NULL;
    serve->last_first = serve->last_input = &serve->inputs;
    for (; peer; peer = next) {
        next = peer->next_input;
        peer->has_input = false;
        peer_take(serve, peer);
        if (peer == serve->object_store_peer) continue;  // if it has ended, the loop ends, too
        if (!peer->is_gone && !peer->is_given) {
            if (peer->peer) serve_watch(serve, peer);
            continue;
        }
        serve_questions_drop(serve, peer);
        serve_audit_stranger(serve, peer);
        if (peer->peer) peer->owner = peer->peer->share->number;
        char *who = peer->is_given ? serve_audit_identity(serve, peer) : NULL;
        if (peer->peer) cluster_peer_remove(&serve->cluster, peer->peer);
        peer->peer = NULL;
        if (peer->is_given) serve_data_give(serve, peer, who);
        peer_free(serve, peer);
    }
}

// The objects of the object store must be known before a client names them. The first turn waits
// for them: the thread of the store begins with its list.
static void store_hear(struct serve *serve)
{
    struct serve_peer *store = serve->object_store_peer;
    if (!store) return;
    for (;;) {
        peer_work(serve, store);
        peer_take(serve, store);
        if (store->is_gone || serve->cluster.object_store_is_known) return;
        os_wait(&(struct os_watch){.file = store->link->file}, 1, INT64_MAX);
    }
}

bool serve_turn(struct serve *serve)
{
    cluster_begin(&serve->cluster, os_now(), os_ticks());
    serve->cluster.transfers
        = serve->object_store ? object_store_connections(serve->object_store) : 0;
    store_hear(serve);
    inputs_take(serve);
    return cluster_write(&serve->cluster) && store_sync_begin(serve->store);
}

void serve_settle(struct serve *serve)
{
    cluster_settled(&serve->cluster, store_settled(serve->store));
    serve_audit_settled(serve);  // before any reply is sent
    serve->feed_at = cluster_feed(&serve->cluster, os_ticks());
    if (serve->object_store_peer)
        peer_flush(serve, serve->object_store_peer);  // tickets, before they are shown
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next) {
        const struct wire_out *out = &peer->link->out;
        bool closes = out->failed || (peer->peer && peer->peer->closing);
        if (out->length || closes) peer_flush(serve, peer);
    }
}

// ---- The loop ----------------------------------------------------------------------------------

// A client that disconnects while it waits is not waited for.
static void peer_ready(struct serve *serve, struct serve_peer *peer, bool is_over)
{
    if (is_over && !peer->reads) peer->is_gone = true;
    if (peer->is_gone)
        serve_input_note(serve, peer);
    else
        peer_work(serve, peer);
}

// Connections without a key have their own limit, so that they cannot keep out others.
static bool has_room(const struct serve *serve)
{
    uint32_t count = serve_connections(serve), most = serve->options.connections;
    return count - serve->opening < most
           && count < most + serve->listener_count * LINK_OPENING_MAX;
}

static void accept_all(struct serve *serve, struct link_listener *listener)
{
    struct link *link;
    // More connections wait in the kernel: those being opened get their turn in between.
    for (int i = 0; i < ACCEPT_TURN && (link = link_accept(listener)); i++) {
        if (!has_room(serve)) {
            serve->turned_away++;
            serve->cluster.full |= 1u << CLUSTER_PLACE_ADMIN;
            link_close(link);
            continue;
        }
        struct serve_peer *peer = serve_peer_add(serve, link);
        if (link->state == LINK_OPEN) peer_open(serve, peer);
    }
}

void serve_ready(struct serve *serve, const struct os_ready *ready)
{
    for (uint32_t i = 0; i < serve->listener_count; i++)
        if (ready->owner == &serve->listeners[i]) {
            accept_all(serve, &serve->listeners[i]);
            return;
        }
    if (ready->owner == &serve->signals) {
        serve_signals(serve);
    } else if (ready->owner == &serve->settled) {
        os_event_clear(serve->settled);
    } else if (*(const enum serve_kind *)ready->owner == SERVE_QUESTION) {
        serve_answer(serve, ready->owner);
    } else {
        peer_ready(serve, ready->owner, ready->is_over);
    }
}

static int64_t wake_at(struct serve *serve)
{
    int64_t at = serve->cluster.check_at, beat = serve_beat(serve, os_ticks());
    if (beat < at) at = beat;
    if (serve->feed_at < at) at = serve->feed_at;
    if (serve->wait_at < at) at = serve->wait_at;
    rota_time next = cluster_deadline(&serve->cluster);
    if (!cluster_can_begin(&serve->cluster)) return at;
    if (serve->inputs) return 0;
    if (next == ROTA_NEVER) return at;
    return next < at ? next : at;
}

static int failed(const struct serve *serve)
{
    const struct store_error *error = store_error(serve->store);
    fprintf(stderr, "rota server: %s\n", error->fault ? error->text : serve->server.reason);
    return server_exit_status(&serve->server);
}

// Once for each worker, not each time that it joins.
static void ahead_of_us_say(struct serve *serve)
{
    char *name = serve->cluster.ahead_of_us;
    if (!*name) return;
    if (strcmp(name, serve->ahead_of_us) != 0)
        fprintf(stderr,
                "rota server: worker %s has attempts that are not in %s: was the database restored "
                "from a"
                " backup? Then start the server with --restored\n",
                name, serve->options.database ? serve->options.database : "this server");
    snprintf(serve->ahead_of_us, sizeof serve->ahead_of_us, "%s", name);
    *name = 0;
}

static int store_lost(void)
{
    fputs("rota server: the object store has ended unexpectedly; restart the server, and report "
          "this\n",
          stderr);
    return 70;
}

int serve_loop(struct serve *serve)
{
    struct os_ready ready[READY];
    int64_t looked = os_ticks();
    while (!serve->ending) {
        uint32_t count = os_loop_wait(serve->loop, ready, READY, wake_at(serve));
        for (uint32_t i = 0; i < count; i++) serve_ready(serve, &ready[i]);
        // A server whose files were deleted or replaced acknowledges nothing.
        if (!cluster_check(&serve->cluster, os_ticks())) return failed(serve);
        if (serve->object_store_peer && serve->object_store_peer->is_gone) return store_lost();
        late_look(serve, os_ticks());
        serve->wait_at = serve_waiting_look(serve);
        bool due = serve->inputs || os_ticks() >= cluster_deadline(&serve->cluster)
                   || os_ticks() - looked > LOOK_EVERY;
        if (due && cluster_can_begin(&serve->cluster)) {
            looked = os_ticks();
            if (!serve_turn(serve)) return failed(serve);
            ahead_of_us_say(serve);
        }
        serve_settle(serve);
        if (store_error(serve->store)->fault) return failed(serve);
    }
    bool is_drained = serve_drain(serve) == 0 && store_check(serve->store);
    return is_drained ? 0 : failed(serve);
}
