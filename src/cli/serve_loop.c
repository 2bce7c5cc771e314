// serve_loop.c - `rota server`: peers are heard, a turn is made of it, and what it asks for leaves.
#include "cli/serve.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READY = 256,
    INPUT_MAX = 32 << 20,
    OUTPUT_MAX = 64 << 20,
    OUTPUT_FEW = 64 << 10,
    LOOK_EVERY = 1000000
};

// ---- Peers -------------------------------------------------------------------------------------

static void input_note(struct serve *serve, struct serve_peer *peer)
{
    if (peer->has_input) return;
    peer->has_input = true;
    peer->next_input = NULL;
    *serve->last_input = peer;
    serve->last_input = &peer->next_input;
}

struct serve_peer *serve_peer_add(struct serve *serve, struct link *link)
{
    struct serve_peer *peer = hub_allocate(1, sizeof *peer);
    peer->kind = SERVE_PEER;
    peer->link = link;
    peer->next = serve->peers;
    if (peer->next) peer->next->previous = peer;
    serve->peers = peer;
    serve->peer_count++;
    if (serve->audit.file >= 0) os_socket_peer(link->file, peer->from, sizeof peer->from);
    if (!os_loop_add(serve->loop, link->file, peer)) {
        peer->is_gone = true;
        input_note(serve, peer);
    }
    return peer;
}

static void peer_free(struct serve *serve, struct serve_peer *peer)
{
    if (peer->previous)
        peer->previous->next = peer->next;
    else
        serve->peers = peer->next;
    if (peer->next) peer->next->previous = peer->previous;
    serve->peer_count--;
    if (peer->link) os_loop_remove(serve->loop, peer->link->file);
    link_close(peer->link);
    free(peer);
}

static void peer_work(struct serve *serve, struct serve_peer *peer)
{
    if (peer->is_gone) return;
    if (peer->link->in.length - peer->link->in.taken < INPUT_MAX && !link_work(peer->link))
        peer->is_gone = true;
    if (serve->questions && peer->link->out.length < OUTPUT_FEW) serve_questions_go_on(serve, peer);
    if (peer->link->state == LINK_OPEN && !peer->peer)
        peer->peer = hub_peer_add(&serve->hub, peer->link->roles, peer->link->id, &peer->link->out);
    if (peer->is_gone || peer->link->in.length > peer->link->in.taken) input_note(serve, peer);
}

// Who takes nothing is not written to for ever.
static void peer_flush(struct serve *serve, struct serve_peer *peer)
{
    if (peer->is_gone) return;
    struct link *link = peer->link;
    if (link->out.failed) hub_no_memory();
    bool slow = link->out.length - link->out.sent > OUTPUT_MAX;
    if (slow || (link->out.length && !link_flush(link))) peer->is_gone = true;
    if (serve->questions && link->out.length < OUTPUT_FEW) serve_questions_go_on(serve, peer);
    bool done = peer->peer && peer->peer->closing && !link->out.length;
    if (done) peer->is_gone = true;
    if (peer->is_gone) {
        input_note(serve, peer);
    } else if (peer->writes != link->wants_write) {
        peer->writes = link->wants_write;
        os_loop_write(serve->loop, link->file, peer, peer->writes);
    }
}

// Who has not said in time who it is has to go.
static void strangers_look(struct serve *serve, int64_t now)
{
    if (now < serve->strangers_at) return;
    serve->strangers_at = now + LOOK_EVERY;
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next) {
        if (peer->is_gone || !link_overdue(peer->link, now)) continue;
        peer->is_gone = true;
        input_note(serve, peer);
    }
}

// ---- A turn ------------------------------------------------------------------------------------

static bool message_take(struct serve *serve, struct serve_peer *peer,
                         const struct wire_message *message)
{
    if (serve_data_takes(serve, peer, message)) return false;
    bool asks = message->kind == WIRE_ASK_MESSAGE
                && (peer->peer->role == WIRE_CLIENT || peer->peer->role == WIRE_ADMIN);
    if (!asks) {
        bool goes_on = hub_take(&serve->hub, peer->peer, message);
        serve_audit_request(serve, peer, message);
        return goes_on;
    }
    serve_ask(serve, peer, &message->ask);
    return true;
}

// A short question may have a long answer, and many of them can come at once.
static bool is_buried(const struct serve_peer *peer)
{
    const struct wire_out *held = peer->peer->held, *out = &peer->link->out;
    return (uint64_t)out->length - out->sent + held[0].length + held[1].length > OUTPUT_MAX;
}

static void peer_take(struct serve *serve, struct serve_peer *peer)
{
    struct wire_message message;
    enum wire_result result = WIRE_MORE;
    while (!peer->is_gone && peer->peer
           && (result = wire_take(&peer->link->in, &message)) == WIRE_GOT) {
        if (!message_take(serve, peer, &message)) break;
        peer->is_gone = is_buried(peer);
    }
    if (result == WIRE_NO_MEMORY) hub_no_memory();
    if (result != WIRE_BAD || peer->is_given) return;
    hub_refuse(peer->peer, 0, 0, WIRE_REFUSED_FRAME, "that is no message");
    peer->peer->closing = true;
}

static void inputs_take(struct serve *serve)
{
    struct serve_peer *peer = serve->inputs, *next;
    serve->inputs = NULL;
    serve->last_input = &serve->inputs;
    for (; peer; peer = next) {
        next = peer->next_input;
        peer->has_input = false;
        peer_take(serve, peer);
        if (!peer->is_gone && !peer->is_given) continue;
        serve_questions_drop(serve, peer);
        serve_audit_stranger(serve, peer);
        if (peer->peer) hub_peer_remove(&serve->hub, peer->peer);
        if (peer->is_given) serve_data_give(serve, peer);
        if (peer == serve->depot_peer) serve->depot_peer = NULL;
        peer_free(serve, peer);
    }
}

// What the depot has is known before somebody names it.
bool serve_turn(struct serve *serve)
{
    hub_begin(&serve->hub, os_now(), os_ticks());
    if (serve->depot_peer) {
        peer_work(serve, serve->depot_peer);
        peer_take(serve, serve->depot_peer);
    }
    inputs_take(serve);
    return hub_write(&serve->hub) && store_sync_begin(serve->store);
}

void serve_settle(struct serve *serve)
{
    hub_settled(&serve->hub, store_settled(serve->store));
    serve_audit_settled(serve);  // before anybody is answered
    serve->feed_at = hub_feed(&serve->hub, os_ticks());
    if (serve->depot_peer) peer_flush(serve, serve->depot_peer);  // tickets, before they are shown
    for (struct serve_peer *peer = serve->peers; peer; peer = peer->next)
        if (peer->link->out.length || (peer->peer && peer->peer->closing)) peer_flush(serve, peer);
}

// ---- The loop ----------------------------------------------------------------------------------

static void accept_all(struct serve *serve, struct link_listener *listener)
{
    struct link *link;
    while ((link = link_accept(listener))) {
        if (serve_connections(serve) < serve->options.connections) {
            serve_peer_add(serve, link);
        } else {
            serve->turned_away++;
            link_close(link);
        }
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
        peer_work(serve, ready->owner);
    }
}

static int64_t wake_at(struct serve *serve)
{
    int64_t at = os_ticks() + LOOK_EVERY, beat = serve_beat(serve, os_ticks());
    if (beat < at) at = beat;
    if (serve->feed_at < at) at = serve->feed_at;
    rota_time next = hub_deadline(&serve->hub);
    if (!hub_can_begin(&serve->hub)) return at;
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

int serve_loop(struct serve *serve)
{
    struct os_ready ready[READY];
    int64_t looked = os_ticks();
    while (!serve->ending) {
        uint32_t count = os_loop_wait(serve->loop, ready, READY, wake_at(serve));
        for (uint32_t i = 0; i < count; i++) serve_ready(serve, &ready[i]);
        strangers_look(serve, os_ticks());
        bool due = serve->inputs || os_ticks() >= hub_deadline(&serve->hub)
                   || os_ticks() - looked > LOOK_EVERY;
        if (due && hub_can_begin(&serve->hub)) {
            looked = os_ticks();
            if (!serve_turn(serve)) return failed(serve);
        }
        serve_settle(serve);
        if (store_error(serve->store)->fault) return failed(serve);
    }
    int status = serve_drain(serve);
    return status ? failed(serve) : 0;
}
