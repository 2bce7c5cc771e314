// peer.c - a connection: checks the role of the peer, and passes its messages to their handlers.
//
// The first message is GREET, with protocol version and role. The server refuses another version, a
// role that the key does not allow, and a connection beyond the share of the key. After GREET a
// worker, a handler and a client may each send only the messages of their role; another message
// closes the connection. A refused request gets REFUSE with a code and a sentence, and the
// connection stays open.
//
// The loop owns the connection and its buffer `out`; a struct cluster_peer, its worker's link to
// it, drafts, watches and followed events belong to this folder and end with cluster_peer_remove().
// Replies that depend on a change wait in `held` until the turn is durable; a peer that disconnects
// before that gets the stored answer when it repeats its request.
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"
#include "server/cluster/cluster.h"
#include "server/cluster/tokens.h"
#include "server/cluster/job_watchers.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Connecting and disconnecting -----------------------------------------------------------

struct cluster_peer *cluster_peer_add(struct cluster *cluster, uint32_t roles, const char *id,
                                      struct wire_out *out)
{
    struct cluster_peer *peer = cluster_allocate(1, sizeof *peer);
    peer->roles = roles;
    peer->out = out;
    peer->number = ++cluster->peers_seen;
    snprintf(peer->id, sizeof peer->id, "%s", id);
    snprintf(peer->owner, sizeof peer->owner, id[0] ? "key %s" : "user%s", id);
    peer->share = cluster_share_join(cluster, peer->owner, CLUSTER_SHARE_CONNECTIONS);
    peer->key = cluster_share_join(cluster, peer->owner, CLUSTER_SHARE_KEY);
    peer->next = cluster->peers;
    if (peer->next) peer->next->previous = peer;
    cluster->peers = peer;
    return peer;
}

void cluster_peer_own(struct cluster *cluster, struct cluster_peer *peer, const char *owner)
{
    assert(!peer->role);
    snprintf(peer->owner, sizeof peer->owner, "user %s", owner);
    cluster_peer_share_leave(cluster, peer);
    cluster_share_leave(cluster, peer->key, CLUSTER_SHARE_KEY);
    peer->share = cluster_share_join(cluster, peer->owner, CLUSTER_SHARE_CONNECTIONS);
    peer->key = cluster_share_join(cluster, peer->owner, CLUSTER_SHARE_KEY);
    peer->input = peer->output = 0;
}

void cluster_peer_release(struct cluster *cluster, struct cluster_peer *peer)
{
    if (peer->previous)
        peer->previous->next = peer->next;
    else
        cluster->peers = peer->next;
    if (peer->next) peer->next->previous = peer->previous;
    cluster_watches_end(cluster, peer);
    cluster_draft_drop(cluster, peer);
    cluster_follow_drop(peer);
    for (int i = 0; i < 2; i++) wire_out_release(&peer->held[i]);
    cluster_place_leave(cluster, peer);
    cluster_peer_share_leave(cluster, peer);
    cluster_share_leave(cluster, peer->key, CLUSTER_SHARE_KEY);
    free(peer->asked);
    free(peer);
}

void cluster_peer_remove(struct cluster *cluster, struct cluster_peer *peer)
{
    if (peer->worker) cluster_worker_away(cluster, peer->worker);
    if (peer == cluster->object_store) cluster->object_store = NULL;
    cluster_claim_queue_forget(cluster, peer);
    cluster_readers_forget(cluster, peer);
    cluster_peer_release(cluster, peer);
}

// ---- Messages -------------------------------------------------------------------------------

void cluster_note_refusal(struct cluster_peer *peer, enum wire_code code, const char *reason)
{
    peer->verdict.code = code;
    snprintf(peer->verdict.reason, sizeof peer->verdict.reason, "%s", reason);
}

static void refuse_put(struct cluster_peer *peer, struct wire_out *out,
                       const struct wire_refuse *refuse)
{
    struct wire_message message = {.kind = WIRE_REFUSE_MESSAGE, .refuse = *refuse};
    wire_put(out, &message);
    cluster_note_refusal(peer, (enum wire_code)refuse->code, refuse->reason.bytes);
}

void cluster_refuse(struct cluster_peer *peer, uint64_t high, uint64_t low, enum wire_code code,
                const char *reason)
{
    struct wire_refuse refuse = {high, low, code, wire_text_of(reason)};
    refuse_put(peer, peer->out, &refuse);
}

void cluster_refuse_later(struct cluster *cluster, struct cluster_peer *peer,
                          const struct wire_refuse *refuse)
{
    refuse_put(peer, cluster_later(cluster, peer), refuse);
}

bool cluster_turn_away(struct cluster_peer *peer, enum wire_code code, const char *reason)
{
    cluster_refuse(peer, 0, 0, code, reason);
    peer->closing = true;
    return false;
}

// A handler runs tasks like a worker, so the key of a worker is sufficient.
static bool may_be(const struct cluster_peer *peer, uint32_t role)
{
    if (role == WIRE_HANDLER) return peer->roles & (WIRE_WORKER | WIRE_ADMIN);
    bool known = role == WIRE_CLIENT || role == WIRE_WORKER || role == WIRE_ADMIN;
    return known && peer->roles & role;
}

static bool refuse_version(struct cluster_peer *peer, uint32_t version)
{
    char reason[160];
    snprintf(reason, sizeof reason,
             "the server speaks protocol %d, this program %u: install the same version of rota on"
             " both",
             WIRE_VERSION, version);
    return cluster_turn_away(peer, WIRE_REFUSED_VERSION, reason);
}

static bool refuse_role(struct cluster_peer *peer, uint32_t role)
{
    const char *needed = role == WIRE_CLIENT   ? "client"
                         : role == WIRE_WORKER ? "worker"
                         : role == WIRE_ADMIN  ? "admin"
                                               : "worker or admin";
    char reason[120];
    snprintf(reason, sizeof reason, "permission denied: this needs the role %s, which the key"
             " does not allow", needed);
    return cluster_turn_away(peer, WIRE_REFUSED_ROLE, reason);
}

static bool greet(struct cluster *cluster, struct cluster_peer *peer,
                  const struct wire_greet *greet)
{
    if (peer->role)
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, "a peer can introduce itself only once");
    if (greet->version != WIRE_VERSION) return refuse_version(peer, greet->version);
    if (!may_be(peer, greet->role)) return refuse_role(peer, greet->role);
    peer->role = (enum wire_role)greet->role;
    if (!cluster_share_of_role(cluster, peer))
        return cluster_turn_away(peer, WIRE_REFUSED_BUSY,
                             "busy, try again: your key has all of its connections");
    const char *fault = cluster_place_take(cluster, peer);
    if (fault) return cluster_turn_away(peer, WIRE_REFUSED_BUSY, fault);
    if (peer->role == WIRE_WORKER && !cluster_worker_greet(cluster, peer, greet)) return false;
    struct wire_message message = {.kind = WIRE_WELCOME_MESSAGE};
    message.welcome.version = WIRE_VERSION;
    message.welcome.server = cluster->id;
    message.welcome.epoch = cluster->epoch;
    message.welcome.opened = cluster->opened;
    message.welcome.peer = peer->worker ? peer->worker->id.number : peer->number;
    message.welcome.lease = cluster->limits.lease;
    message.welcome.beat = cluster->limits.beat;
    wire_put(peer->out, &message);
    return true;
}

static bool take_worker(struct cluster *cluster, struct cluster_peer *peer,
                        const struct wire_message *message)
{
    struct rota_worker_view view;
    peer->worker->heard = cluster->ticks;
    if (message->kind == WIRE_JOIN_MESSAGE) return cluster_join(cluster, peer, &message->join);
    // The worker was silent for longer than its lease, and was removed: it has to join again.
    // Otherwise a report about its objects would add it to the core, without its capacity and its
    // pause.
    if (!rota_worker_look(cluster->server->rota, peer->worker->id, &view))
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, "the lease has expired: join again");
    switch (message->kind) {
    case WIRE_BEAT_MESSAGE: return cluster_beat(cluster, peer, &message->beat);
    case WIRE_STARTED_MESSAGE: return cluster_started(cluster, peer, &message->started);
    case WIRE_FINISHED_MESSAGE: return cluster_finished(cluster, peer, &message->finished);
    case WIRE_HELD_MESSAGE:
        return cluster_copies_told(cluster, peer, &message->held.objects, cluster_held);
    case WIRE_HELD_ALL_MESSAGE: cluster_held_all(cluster, peer); return true;
    case WIRE_LOGGED_MESSAGE: cluster_logged(cluster, peer, &message->logged); return true;
    case WIRE_MISSED_MESSAGE: cluster_missed(cluster, peer, &message->missed); return true;
    case WIRE_FORGED_MESSAGE: return cluster_forged(cluster, peer, &message->forged);
    case WIRE_STREAMED_MESSAGE:
        return cluster_copies_told(cluster, peer, &message->streamed.objects, cluster_streamed);
    case WIRE_LOST_MESSAGE:
        return cluster_copies_told(cluster, peer, &message->lost.objects, cluster_lost);
    case WIRE_DRAIN_MESSAGE: cluster_worker_leaves(cluster, peer->worker); return true;
    default:
        return cluster_turn_away(peer, WIRE_REFUSED_FRAME, "a worker cannot send this message");
    }
}

static bool take_handler(struct cluster *cluster, struct cluster_peer *peer,
                         const struct wire_message *message)
{
    if (message->kind == WIRE_CLAIM_MESSAGE && cluster_is_quiet(cluster)) {
        cluster_refuse(peer, message->claim.high, message->claim.low, WIRE_REFUSED_STATE,
                   cluster_quiet_reason);
        return true;
    }
    switch (message->kind) {
    case WIRE_CLAIM_MESSAGE: cluster_claim_request(cluster, peer, &message->claim); return true;
    case WIRE_RENEW_MESSAGE: cluster_renew(cluster, peer, &message->renew); return true;
    case WIRE_DELIVER_MESSAGE: cluster_deliver(cluster, peer, &message->deliver); return true;
    case WIRE_FAIL_MESSAGE: cluster_fail(cluster, peer, &message->fail); return true;
    default:
        return cluster_turn_away(peer, WIRE_REFUSED_FRAME, "a handler cannot send this message");
    }
}

static bool is_for_handlers(const struct wire_message *message)
{
    return message->kind == WIRE_CLAIM_MESSAGE || message->kind == WIRE_RENEW_MESSAGE
           || message->kind == WIRE_DELIVER_MESSAGE || message->kind == WIRE_FAIL_MESSAGE;
}

static bool take_client(struct cluster *cluster, struct cluster_peer *peer,
                        const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_SUBMIT_MESSAGE: cluster_submit(cluster, peer, &message->submit); return true;
    case WIRE_CHANGE_MESSAGE: cluster_change(cluster, peer, &message->change); return true;
    case WIRE_LOG_MESSAGE: cluster_log(cluster, peer, &message->log); return true;
    case WIRE_DATA_MESSAGE: cluster_data(cluster, peer, &message->data); return true;
    case WIRE_REST_MESSAGE: cluster_rest(cluster, peer, &message->rest); return true;
    case WIRE_LOOK_MESSAGE: cluster_look(cluster, peer, &message->look); return true;
    case WIRE_WATCH_MESSAGE: cluster_watch(cluster, peer, &message->watch); return true;
    case WIRE_FOLLOW_MESSAGE: cluster_follow(cluster, peer, &message->follow); return true;
    default:
        return cluster_turn_away(peer, WIRE_REFUSED_FRAME, "a client cannot send this message");
    }
}

bool cluster_take(struct cluster *cluster, struct cluster_peer *peer,
                  const struct wire_message *message)
{
    peer->verdict.code = 0;
    peer->verdict.job = 0;
    if (peer->closing) return false;
    if (peer == cluster->object_store) return cluster_object_store_take(cluster, message);
    if (message->kind == WIRE_GREET_MESSAGE) return greet(cluster, peer, &message->greet);
    if (!peer->role)
        return cluster_turn_away(peer, WIRE_REFUSED_STATE, "a peer has to introduce itself first");
    if (peer->worker) return take_worker(cluster, peer, message);
    bool handles = peer->role == WIRE_HANDLER
                   || (peer->role == WIRE_ADMIN && is_for_handlers(message));
    return handles ? take_handler(cluster, peer, message) : take_client(cluster, peer, message);
}
