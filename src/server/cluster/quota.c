// quota.c - how much of the server each key uses, and how much it may use.
#include "server/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cluster_share *cluster_share_join(struct cluster *cluster, const char *name,
                                         enum cluster_share_kind kind)
{
    struct cluster_share *share = cluster->shares;
    while (share && strcmp(share->name, name) != 0) share = share->next;
    if (!share) {
        share = cluster_allocate(1, sizeof *share);
        snprintf(share->name, sizeof share->name, "%s", name);
        share->number = cluster_hash(share->name, strlen(share->name)) | 1;
        share->next = cluster->shares;
        cluster->shares = share;
    }
    cluster_share_hold(share, kind);
    return share;
}

void cluster_share_hold(struct cluster_share *share, enum cluster_share_kind kind)
{
    share->peers++;
    share->used[kind]++;
}

void cluster_share_return(struct cluster_share *share, enum cluster_share_kind kind, uint64_t less)
{
    assert(share->used[kind] >= less);
    share->used[kind] -= less;
}

void cluster_share_leave(struct cluster *cluster, struct cluster_share *share,
                         enum cluster_share_kind kind)
{
    struct cluster_share **at = &cluster->shares;
    cluster_share_return(share, kind, 1);
    if (--share->peers) return;
    while (*at != share) at = &(*at)->next;
    *at = share->next;
    free(share);
}

void cluster_peer_share_leave(struct cluster *cluster, const struct cluster_peer *peer)
{
    cluster_share_return(peer->share, CLUSTER_SHARE_INPUT, peer->input);
    cluster_share_return(peer->share, CLUSTER_SHARE_OUTPUT, peer->output);
    cluster_share_leave(cluster, peer->share, CLUSTER_SHARE_CONNECTIONS);
}

static uint64_t limit_of(const struct cluster *cluster, const struct cluster_share *share,
                         enum cluster_share_kind kind)
{
    bool is_memory = kind == CLUSTER_SHARE_INPUT || kind == CLUSTER_SHARE_OUTPUT;
    uint64_t times = is_memory && share->is_of_workers ? CLUSTER_WORKERS_MEMORY : 1;
    return times * cluster->limits.shares[kind];
}

bool cluster_share_fits(struct cluster *cluster, struct cluster_share *share,
                        enum cluster_share_kind kind, uint64_t more)
{
    uint64_t limit = limit_of(cluster, share, kind);
    bool fits = !limit || (more <= limit && share->used[kind] <= limit - more);
    if (!fits) share->used_up |= 1u << kind;
    return fits;
}

void cluster_share_use(struct cluster_share *share, enum cluster_share_kind kind, uint64_t more)
{
    share->used[kind] += more;
}

static void counted_move(struct cluster_share *share, enum cluster_share_kind kind,
                         uint64_t *counted, uint64_t now)
{
    share->used[kind] = share->used[kind] - *counted + now;
    *counted = now;
}

void cluster_share_count(struct cluster_peer *peer, uint64_t input)
{
    uint64_t output = (uint64_t)peer->out->length - peer->out->sent + peer->held[0].length
                      + peer->held[1].length;
    counted_move(peer->share, CLUSTER_SHARE_INPUT, &peer->input, input);
    counted_move(peer->share, CLUSTER_SHARE_OUTPUT, &peer->output, output);
}

static const char *role_name(enum wire_role role)
{
    switch (role) {
    case WIRE_WORKER: return "worker";
    case WIRE_ADMIN: return "admin";
    case WIRE_HANDLER: return "handler";
    default: return "client";
    }
}

// ---- Connections ----------------------------------------------------------------------------

static enum cluster_place place_of(const struct cluster_peer *peer)
{
    uint32_t roles = peer->role ? (uint32_t)peer->role : peer->roles;
    if (roles & WIRE_ADMIN) return CLUSTER_PLACE_ADMIN;
    if (roles & (WIRE_WORKER | WIRE_HANDLER)) return CLUSTER_PLACE_WORKER;
    return CLUSTER_PLACE_CLIENT;
}

// Clients leave the last 1/16 of all connections to workers, and both the last 1/32 to admins.
static uint32_t places_for(const struct cluster *cluster, enum cluster_place place)
{
    uint32_t all = cluster->limits.connections;
    if (place == CLUSTER_PLACE_CLIENT) return all - all / 16;
    return place == CLUSTER_PLACE_WORKER ? all - all / 32 : all;
}

static bool has_place(const struct cluster *cluster, enum cluster_place place)
{
    const uint32_t *taken = cluster->places;
    uint32_t clients = taken[CLUSTER_PLACE_CLIENT] + cluster->transfers;
    uint32_t count = clients + taken[CLUSTER_PLACE_WORKER] + taken[CLUSTER_PLACE_ADMIN];
    bool is_client = place == CLUSTER_PLACE_CLIENT;
    if (is_client && cluster->limits.clients && clients >= cluster->limits.clients) return false;
    return !cluster->limits.connections || count < places_for(cluster, place);
}

// An admin can connect with a key whose other roles use all of its connections.
static bool key_fits(struct cluster *cluster, struct cluster_peer *peer, enum cluster_place place)
{
    uint64_t limit = cluster->limits.shares[CLUSTER_SHARE_KEY];
    if (place == CLUSTER_PLACE_ADMIN && peer->key->used[CLUSTER_SHARE_KEY] <= limit + limit / 16)
        return true;
    return cluster_share_fits(cluster, peer->key, CLUSTER_SHARE_KEY, 0);
}

const char *cluster_place_take(struct cluster *cluster, struct cluster_peer *peer)
{
    static const char *const full[CLUSTER_PLACES] = {
        [CLUSTER_PLACE_CLIENT] = "busy, try again: clients have all of their connections"
                             " (see --connections)",
        [CLUSTER_PLACE_WORKER] = "busy, try again: workers have all of their connections"
                             " (see --connections)",
        [CLUSTER_PLACE_ADMIN] = "busy, try again: all connections are in use (see --connections)"};
    enum cluster_place place = place_of(peer);
    cluster_place_leave(cluster, peer);
    if (!key_fits(cluster, peer, place))
        return "busy, try again: your key has all of its connections";
    if (!has_place(cluster, place)) {
        cluster->full |= 1u << place;
        return full[place];
    }
    cluster->places[place]++;
    peer->place = place;
    return NULL;
}

void cluster_place_leave(struct cluster *cluster, struct cluster_peer *peer)
{
    if (peer->place) cluster->places[peer->place]--;
    peer->place = CLUSTER_PLACE_NONE;
}

static bool full_report(struct cluster *cluster, char *text, uint32_t size)
{
    static const char *const names[CLUSTER_PLACES] = {[CLUSTER_PLACE_CLIENT] = "further clients",
                                                      [CLUSTER_PLACE_WORKER] = "further workers",
                                                      [CLUSTER_PLACE_ADMIN] = "all others"};
    for (uint32_t place = 0; place < CLUSTER_PLACES; place++) {
        if (!(cluster->full >> place & 1)) continue;
        cluster->full &= ~(1u << place);
        snprintf(text, size,
                 "%" PRIu32 " clients (transfers included), %" PRIu32 " workers and %" PRIu32
                 " admins are connected; %s are refused (see --connections)",
                 cluster->places[CLUSTER_PLACE_CLIENT] + cluster->transfers,
                 cluster->places[CLUSTER_PLACE_WORKER], cluster->places[CLUSTER_PLACE_ADMIN],
                 names[place]);
        return true;
    }
    return false;
}

// Connections of workers count only for their key, so that one key is enough for most workers.
bool cluster_share_of_role(struct cluster *cluster, struct cluster_peer *peer)
{
    char name[sizeof peer->share->name];
    snprintf(name, sizeof name, "%s %s", role_name(peer->role), peer->owner);
    struct cluster_share *share = cluster_share_join(cluster, name, CLUSTER_SHARE_CONNECTIONS);
    share->is_of_workers = peer->role == WIRE_WORKER;
    cluster_share_use(share, CLUSTER_SHARE_INPUT, peer->input);
    cluster_share_use(share, CLUSTER_SHARE_OUTPUT, peer->output);
    cluster_peer_share_leave(cluster, peer);
    peer->share = share;
    return peer->role != WIRE_CLIENT
           || cluster_share_fits(cluster, share, CLUSTER_SHARE_CONNECTIONS, 0);
}

bool cluster_share_report(struct cluster *cluster, char *text, uint32_t size)
{
    static const char *const sentences[CLUSTER_SHARE_KINDS] = {
        [CLUSTER_SHARE_CONNECTIONS] = "has all of its %" PRIu64 " connections; more are refused",
        [CLUSTER_SHARE_INPUT]
        = "has all of its %" PRIu64 " bytes of unfinished messages; long ones wait",
        [CLUSTER_SHARE_OUTPUT]
        = "has all of its %" PRIu64 " bytes of unread answers; requests wait",
        [CLUSTER_SHARE_SUBMISSIONS]
        = "has all of its %" PRIu64 " bytes of unfinished submissions; more are refused",
        [CLUSTER_SHARE_QUERIES] = "has all of its %" PRIu64 " queries; more of them wait",
        [CLUSTER_SHARE_READS] = "waits for all of its %" PRIu64 " objects; more are refused",
        [CLUSTER_SHARE_COMMANDS]
        = "has all of its %" PRIu64 " bytes of commands of unfinished jobs; more are refused (see"
          " --commands-mib)",
        [CLUSTER_SHARE_KEY] = "has all of its %" PRIu64 " connections; more are refused",
    };
    if (full_report(cluster, text, size)) return true;
    for (struct cluster_share *share = cluster->shares; share; share = share->next)
        for (uint32_t kind = 0; kind < CLUSTER_SHARE_KINDS; kind++) {
            if (!(share->used_up >> kind & 1)) continue;
            share->used_up &= ~(1u << kind);
            int length = snprintf(text, size, "%s ", share->name);
            snprintf(text + length, size - (uint32_t)length, sentences[kind],
                     limit_of(cluster, share, kind));
            return true;
        }
    return false;
}
