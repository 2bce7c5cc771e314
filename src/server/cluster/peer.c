// peer.c - what a peer says goes to who knows what to do with it.
#include "server/cluster/replicas.h"
#include "server/cluster/pause.h"
#include "server/cluster/tokens.h"
#include "server/cluster/waits.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Coming and going --------------------------------------------------------------------------

struct hub_peer *hub_peer_add(struct hub *hub, uint32_t roles, const char *id, struct wire_out *out)
{
    struct hub_peer *peer = hub_allocate(1, sizeof *peer);
    peer->roles = roles;
    peer->out = out;
    peer->number = ++hub->peers_seen;
    snprintf(peer->id, sizeof peer->id, "%s", id);
    snprintf(peer->owner, sizeof peer->owner, id[0] ? "key %s" : "user%s", id);
    peer->share = hub_share_join(hub, peer->owner, HUB_SHARE_CONNECTIONS);
    peer->key = hub_share_join(hub, peer->owner, HUB_SHARE_KEY);
    peer->next = hub->peers;
    if (peer->next) peer->next->previous = peer;
    hub->peers = peer;
    return peer;
}

void hub_peer_own(struct hub *hub, struct hub_peer *peer, const char *owner)
{
    assert(!peer->role);
    snprintf(peer->owner, sizeof peer->owner, "user %s", owner);
    hub_peer_share_leave(hub, peer);
    hub_share_leave(hub, peer->key, HUB_SHARE_KEY);
    peer->share = hub_share_join(hub, peer->owner, HUB_SHARE_CONNECTIONS);
    peer->key = hub_share_join(hub, peer->owner, HUB_SHARE_KEY);
    peer->input = peer->output = 0;
}

void hub_peer_release(struct hub *hub, struct hub_peer *peer)
{
    if (peer->previous)
        peer->previous->next = peer->next;
    else
        hub->peers = peer->next;
    if (peer->next) peer->next->previous = peer->previous;
    hub_watches_end(hub, peer);
    hub_draft_drop(hub, peer);
    hub_follow_drop(peer);
    for (int i = 0; i < 2; i++) wire_out_release(&peer->held[i]);
    hub_place_leave(hub, peer);
    hub_peer_share_leave(hub, peer);
    hub_share_leave(hub, peer->key, HUB_SHARE_KEY);
    free(peer);
}

void hub_peer_remove(struct hub *hub, struct hub_peer *peer)
{
    if (peer->worker) hub_worker_away(hub, peer->worker);
    if (peer == hub->depot) hub->depot = NULL;
    hub_wishes_forget(hub, peer);
    hub_readers_forget(hub, peer);
    hub_peer_release(hub, peer);
}

// ---- What it says ------------------------------------------------------------------------------

void hub_note_refusal(struct hub_peer *peer, enum wire_code code, const char *reason)
{
    peer->verdict.code = code;
    snprintf(peer->verdict.reason, sizeof peer->verdict.reason, "%s", reason);
}

static void refuse_put(struct hub_peer *peer, struct wire_out *out,
                       const struct wire_refuse *refuse)
{
    struct wire_message message = {.kind = WIRE_REFUSE_MESSAGE, .refuse = *refuse};
    wire_put(out, &message);
    hub_note_refusal(peer, (enum wire_code)refuse->code, refuse->reason.bytes);
}

void hub_refuse(struct hub_peer *peer, uint64_t high, uint64_t low, enum wire_code code,
                const char *reason)
{
    struct wire_refuse refuse = {high, low, code, wire_text_of(reason)};
    refuse_put(peer, peer->out, &refuse);
}

void hub_refuse_later(struct hub *hub, struct hub_peer *peer, const struct wire_refuse *refuse)
{
    refuse_put(peer, hub_later(hub, peer), refuse);
}

bool hub_turn_away(struct hub_peer *peer, enum wire_code code, const char *reason)
{
    hub_refuse(peer, 0, 0, code, reason);
    peer->closing = true;
    return false;
}

// A handler runs tasks, as a worker does, so a worker's key will do.
static bool may_be(const struct hub_peer *peer, uint32_t role)
{
    if (role == WIRE_HANDLER) return peer->roles & (WIRE_WORKER | WIRE_ADMIN);
    bool known = role == WIRE_CLIENT || role == WIRE_WORKER || role == WIRE_ADMIN;
    return known && peer->roles & role;
}

static bool refuse_version(struct hub_peer *peer, uint32_t version)
{
    char reason[160];
    snprintf(reason, sizeof reason,
             "the server speaks protocol %d, this program %u: install the same version of rota on"
             " both",
             WIRE_VERSION, version);
    return hub_turn_away(peer, WIRE_REFUSED_VERSION, reason);
}

static bool greet(struct hub *hub, struct hub_peer *peer, const struct wire_greet *greet)
{
    if (peer->role) return hub_turn_away(peer, WIRE_REFUSED_STATE, "a peer says once who it is");
    if (greet->version != WIRE_VERSION) return refuse_version(peer, greet->version);
    if (!may_be(peer, greet->role))
        return hub_turn_away(peer, WIRE_REFUSED_ROLE, "the key does not allow that");
    peer->role = (enum wire_role)greet->role;
    if (!hub_share_of_role(hub, peer))
        return hub_turn_away(peer, WIRE_REFUSED_BUSY,
                             "busy, try again: your key has all of its connections");
    const char *fault = hub_place_take(hub, peer);
    if (fault) return hub_turn_away(peer, WIRE_REFUSED_BUSY, fault);
    if (peer->role == WIRE_WORKER && !hub_worker_greet(hub, peer, greet)) return false;
    struct wire_message message = {.kind = WIRE_WELCOME_MESSAGE};
    message.welcome.version = WIRE_VERSION;
    message.welcome.server = hub->id;
    message.welcome.epoch = hub->epoch;
    message.welcome.opened = hub->opened;
    message.welcome.peer = peer->worker ? peer->worker->id.number : peer->number;
    message.welcome.lease = hub->limits.lease;
    message.welcome.beat = hub->limits.beat;
    wire_put(peer->out, &message);
    return true;
}

static bool take_worker(struct hub *hub, struct hub_peer *peer, const struct wire_message *message)
{
    struct rota_worker_view view;
    peer->worker->heard = hub->ticks;
    if (message->kind == WIRE_JOIN_MESSAGE) return hub_join(hub, peer, &message->join);
    // It was silent for longer than its lease, and has been given up: it has to come anew. Else
    // what it holds would make it known again, without what it offers, and without its pause.
    if (!rota_worker_look(hub->server->rota, peer->worker->id, &view))
        return hub_turn_away(peer, WIRE_REFUSED_STATE, "the lease is over: join again");
    switch (message->kind) {
    case WIRE_BEAT_MESSAGE: return hub_beat(hub, peer, &message->beat);
    case WIRE_STARTED_MESSAGE: return hub_started(hub, peer, &message->started);
    case WIRE_FINISHED_MESSAGE: return hub_finished(hub, peer, &message->finished);
    case WIRE_HELD_MESSAGE: return hub_copies_told(hub, peer, &message->held.objects, hub_held);
    case WIRE_HELD_ALL_MESSAGE: hub_held_all(hub, peer); return true;
    case WIRE_LOGGED_MESSAGE: hub_logged(hub, &message->logged); return true;
    case WIRE_MISSED_MESSAGE: hub_missed(hub, peer, &message->missed); return true;
    case WIRE_FORGED_MESSAGE: return hub_forged(hub, peer, &message->forged);
    case WIRE_STREAMED_MESSAGE:
        return hub_copies_told(hub, peer, &message->streamed.objects, hub_streamed);
    case WIRE_LOST_MESSAGE: return hub_copies_told(hub, peer, &message->lost.objects, hub_lost);
    case WIRE_DRAIN_MESSAGE: hub_worker_leaves(hub, peer->worker); return true;
    default: return hub_turn_away(peer, WIRE_REFUSED_FRAME, "a worker does not say that");
    }
}

static bool take_handler(struct hub *hub, struct hub_peer *peer, const struct wire_message *message)
{
    if (message->kind == WIRE_CLAIM_MESSAGE && hub_is_quiet(hub)) {
        hub_refuse(peer, message->claim.high, message->claim.low, WIRE_REFUSED_STATE,
                   hub_quiet_reason);
        return true;
    }
    switch (message->kind) {
    case WIRE_CLAIM_MESSAGE: hub_wish(hub, peer, &message->claim); return true;
    case WIRE_RENEW_MESSAGE: hub_renew(hub, peer, &message->renew); return true;
    case WIRE_DELIVER_MESSAGE: hub_deliver(hub, peer, &message->deliver); return true;
    case WIRE_FAIL_MESSAGE: hub_fail(hub, peer, &message->fail); return true;
    default: return hub_turn_away(peer, WIRE_REFUSED_FRAME, "a handler does not say that");
    }
}

static bool is_for_handlers(const struct wire_message *message)
{
    return message->kind == WIRE_CLAIM_MESSAGE || message->kind == WIRE_RENEW_MESSAGE
           || message->kind == WIRE_DELIVER_MESSAGE || message->kind == WIRE_FAIL_MESSAGE;
}

static bool take_client(struct hub *hub, struct hub_peer *peer, const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_SUBMIT_MESSAGE: hub_submit(hub, peer, &message->submit); return true;
    case WIRE_CHANGE_MESSAGE: hub_change(hub, peer, &message->change); return true;
    case WIRE_LOG_MESSAGE: hub_log(hub, peer, &message->log); return true;
    case WIRE_DATA_MESSAGE: hub_data(hub, peer, &message->data); return true;
    case WIRE_REST_MESSAGE: hub_rest(hub, peer, &message->rest); return true;
    case WIRE_LOOK_MESSAGE: hub_look(hub, peer, &message->look); return true;
    case WIRE_WATCH_MESSAGE: hub_watch(hub, peer, &message->watch); return true;
    case WIRE_FOLLOW_MESSAGE: hub_follow(hub, peer, &message->follow); return true;
    default: return hub_turn_away(peer, WIRE_REFUSED_FRAME, "a client does not say that");
    }
}

bool hub_take(struct hub *hub, struct hub_peer *peer, const struct wire_message *message)
{
    peer->verdict = (struct hub_verdict){.foreign = peer->verdict.foreign};
    if (peer->closing) return false;
    if (peer == hub->depot) return hub_depot_take(hub, message);
    if (message->kind == WIRE_GREET_MESSAGE) return greet(hub, peer, &message->greet);
    if (!peer->role) return hub_turn_away(peer, WIRE_REFUSED_STATE, "a peer first says who it is");
    if (peer->worker) return take_worker(hub, peer, message);
    bool handles = peer->role == WIRE_HANDLER
                   || (peer->role == WIRE_ADMIN && is_for_handlers(message));
    return handles ? take_handler(hub, peer, message) : take_client(hub, peer, message);
}
