// serve_objects.c - serves objects to peers that show a ticket for them.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <stdlib.h>
#include <unistd.h>

enum { READY_MAX = DATA_PEERS_MAX + 1 };

static struct data_server *server_make(struct cache *cache)
{
    struct data_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    *server = (struct data_server){.cache = cache, .listener.file = -1, .loop = os_loop_open()};
    if (server->loop >= 0 && tickets_init(&server->tickets)) return server;
    data_server_close(server);
    return NULL;
}

// On failure the listener is closed.
static struct data_server *server_begin(struct data_server *server, bool listens)
{
    if (listens && os_loop_add(server->loop, server->listener.file, server)) return server;
    data_server_close(server);
    return NULL;
}

struct data_server *data_server_open(struct cache *cache, const char *address,
                                     const struct link_keys *keys, struct link_error *error)
{
    struct data_server *server = server_make(cache);
    if (!server || !address) return server;
    return server_begin(server, link_listen(&server->listener, address, keys, error));
}

struct data_server *data_server_open_over(struct cache *cache, int file,
                                          const struct link_keys *keys, struct link_error *error)
{
    struct data_server *server = server_make(cache);
    if (!server) return NULL;
    return server_begin(server, link_listen_over(&server->listener, file, keys, error));
}

void data_server_close(struct data_server *server)
{
    if (!server) return;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        put_leave(server->peers[i], 0);
        peer_release(server->peers[i]);
        free(server->peers[i]);
    }
    connection_queue_release(server);
    if (server->listener.file >= 0) link_listener_close(&server->listener);
    parts_release(server->cache, &server->parts);
    flows_release(server);
    tickets_release(&server->tickets);
    if (server->loop >= 0) close(server->loop);
    free(server);
}

const char *data_server_address(const struct data_server *server)
{
    return server->listener.address;
}

bool data_server_serve(struct data_server *server, const struct wire_serve *serve, int64_t now)
{
    return tickets_add(&server->tickets, serve, now);
}

int data_server_file(const struct data_server *server)
{
    return server->loop;
}

uint32_t data_server_connections(const struct data_server *server)
{
    return server->peer_count + server->queue_count;
}

int64_t data_server_due(const struct data_server *server)
{
    if (turns_are_due(server)) return 0;
    // A waiting connection may have to wait until a peer has been served for some time.
    int64_t due = server->queue_count ? server->worked + DATA_GRACE_TICKS : INT64_MAX;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        int64_t of_peer = peer_due(server->peers[i]);
        if (of_peer < due) due = of_peer;
    }
    return due;
}

static void peer_remove(struct data_server *server, uint32_t at, int64_t now)
{
    put_leave(server->peers[at], now);
    peer_release(server->peers[at]);
    free(server->peers[at]);
    server->peers[at] = server->peers[--server->peer_count];
}

void revoked_note(struct data_server *server, char *who)
{
    struct data_upload upload = {.who = who, .reason = DATA_REVOKED};
    if (server->on_upload) server->on_upload(server->context, &upload);
}

// Nothing more is read from it, and it is closed when it has been told.
static void peer_revoke(struct peer *peer, int64_t now)
{
    struct data_server *server = peer->server;
    upload_report(peer, "");
    revoked_note(server, peer->upload.who);
    put_drop(server->cache, &peer->put);
    flow_end(peer);
    peer_deny(peer, WIRE_REFUSED_ROLE, DATA_REVOKED);
    peer_continue(peer, now);
}

uint32_t data_server_revoke(struct data_server *server, const struct link_keys *keys, int64_t now)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        struct peer *peer = server->peers[i];
        bool is_ending = peer->state == PEER_LEAVING || peer->state == PEER_GONE;
        if (is_ending || link_is_allowed(peer->link, keys)) continue;
        peer_revoke(peer, now);
        count++;
    }
    return count + connection_queue_revoke(server, keys);
}

// Peers with a ticket stay; of the others the oldest is disconnected.
static bool room_make(struct data_server *server, int64_t now)
{
    uint32_t oldest = DATA_PEERS_MAX;
    if (server->peer_count < DATA_PEERS_MAX) return true;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        if (server->peers[i]->state == PEER_KNOWN) continue;
        if (oldest == DATA_PEERS_MAX || server->peers[i]->since < server->peers[oldest]->since)
            oldest = i;
    }
    if (oldest == DATA_PEERS_MAX) return false;
    peer_remove(server, oldest, now);
    return true;
}

static struct peer *peer_add(struct data_server *server, struct link *link, int64_t now)
{
    struct peer *peer = room_make(server, now) ? calloc(1, sizeof *peer) : NULL;
    if (!peer || !os_loop_add(server->loop, link->file, peer)) {
        free(peer);
        link_close(link);
        return NULL;
    }
    peer_init(peer, server, link, now);
    server->peers[server->peer_count++] = peer;
    return peer;
}

static void peers_accept(struct data_server *server, int64_t now)
{
    for (struct link *link; (link = link_accept(&server->listener));) peer_add(server, link, now);
}

static void peer_send_away(struct data_server *server, const struct peer *peer, int64_t now)
{
    uint32_t at = 0;
    while (server->peers[at] != peer) at++;
    crowded_note(server, peer->link);
    peer_remove(server, at, now);
}

// Messages it has already sent are in the link, and the event loop does not report them. `leaves`
// makes room for it, and may be null.
static void adopted_enter(struct data_server *server, const struct data_adoption *adoption,
                          const struct peer *leaves, int64_t now)
{
    if (leaves) peer_send_away(server, leaves, now);
    struct peer *peer = peer_add(server, adoption->link, now);
    if (!peer) {
        free(adoption->who);
        return;
    }
    peer->upload.who = adoption->who;
    peer->is_greeted = true;
    peer->owner = adoption->owner;
    peer->may_put = adoption->rights == DATA_MAY_PUT;
    peer_work(peer, true, now);
}

void data_adoption_drop(const struct data_adoption *adoption)
{
    link_close(adoption->link);
    free(adoption->who);
}

void data_server_adopt(struct data_server *server, const struct data_adoption *adoption,
                       int64_t now)
{
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    struct peer *leaves;
    welcome.welcome.version = WIRE_VERSION;
    bool enters = connection_queue_may_enter(server, adoption->owner, now, &leaves);
    if (!enters && !connection_queue_add(server, adoption)) return;
    wire_put(&adoption->link->out, &welcome);
    if (enters)
        adopted_enter(server, adoption, leaves, now);
    else
        link_flush(adoption->link);
}

void data_server_on_gone(struct data_server *server, data_gone_fn *call, void *context)
{
    server->on_gone = call;
    server->context = context;
}

void data_server_on_bound(struct data_server *server, data_bound_fn *call, void *context)
{
    server->on_bound = call;
    server->context = context;
}

void data_server_on_upload(struct data_server *server, data_upload_fn *call)
{
    server->on_upload = call;
}

static void peers_remove_gone(struct data_server *server, int64_t now)
{
    for (uint32_t i = server->peer_count; i-- > 0;) {
        struct peer *peer = server->peers[i];
        bool is_held_up = peer->is_waiting || peer->is_queued || peer->flow;
        if (is_held_up) pace_begin(&peer->pace, now);   // it waits for this side
        bool late = peer->state == PEER_KNOWN ? pace_is_lost(&peer->pace, now)
                                              : now >= peer_due(peer);
        if (late || peer->state == PEER_GONE) peer_remove(server, i, now);
    }
}

void data_server_work(struct data_server *server, int64_t now)
{
    struct os_ready ready[READY_MAX];
    uint32_t count = os_loop_wait(server->loop, ready, READY_MAX, 0);
    bool has_new_connections = false;
    for (uint32_t i = 0; i < count; i++) {
        if (ready[i].owner == server)
            has_new_connections = true;
        else
            peer_work(ready[i].owner, ready[i].can_read, now);
    }
    for (uint32_t i = 0; i < server->peer_count; i++)
        if (server->peers[i]->is_waiting && !peer_has_to_wait(server->peers[i]))
            peer_continue(server->peers[i], now);
    turns_give(server, now);
    peers_remove_gone(server, now);
    struct data_adoption adoption;
    struct peer *leaves;
    while (connection_queue_next(server, now, &adoption, &leaves))
        adopted_enter(server, &adoption, leaves, now);
    server->worked = now;
    if (has_new_connections) peers_accept(server, now);   // last: it may close other connections
}
