// quota.c - how much of the server each key uses, and how much it may use.
#include "server/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hub_share *hub_share_join(struct hub *hub, const char *name, enum hub_share_kind kind)
{
    struct hub_share *share = hub->shares;
    while (share && strcmp(share->name, name) != 0) share = share->next;
    if (!share) {
        share = hub_allocate(1, sizeof *share);
        snprintf(share->name, sizeof share->name, "%s", name);
        share->number = hub_hash(share->name, strlen(share->name)) | 1;
        share->next = hub->shares;
        hub->shares = share;
    }
    share->peers++;
    share->used[kind]++;
    return share;
}

void hub_share_return(struct hub_share *share, enum hub_share_kind kind, uint64_t less)
{
    assert(share->used[kind] >= less);
    share->used[kind] -= less;
}

void hub_share_leave(struct hub *hub, struct hub_share *share, enum hub_share_kind kind)
{
    struct hub_share **at = &hub->shares;
    hub_share_return(share, kind, 1);
    if (--share->peers) return;
    while (*at != share) at = &(*at)->next;
    *at = share->next;
    free(share);
}

void hub_peer_share_leave(struct hub *hub, const struct hub_peer *peer)
{
    hub_share_return(peer->share, HUB_SHARE_INPUT, peer->input);
    hub_share_return(peer->share, HUB_SHARE_OUTPUT, peer->output);
    hub_share_leave(hub, peer->share, HUB_SHARE_CONNECTIONS);
}

bool hub_share_fits(struct hub *hub, struct hub_share *share, enum hub_share_kind kind,
                    uint64_t more)
{
    uint64_t limit = hub->limits.shares[kind];
    bool fits = !limit || (more <= limit && share->used[kind] <= limit - more);
    if (!fits) share->used_up |= 1u << kind;
    return fits;
}

void hub_share_use(struct hub_share *share, enum hub_share_kind kind, uint64_t more)
{
    share->used[kind] += more;
}

static void counted_move(struct hub_share *share, enum hub_share_kind kind, uint64_t *counted,
                         uint64_t now)
{
    share->used[kind] = share->used[kind] - *counted + now;
    *counted = now;
}

void hub_share_count(struct hub_peer *peer, uint64_t input)
{
    uint64_t output = (uint64_t)peer->out->length - peer->out->sent + peer->held[0].length
                      + peer->held[1].length;
    counted_move(peer->share, HUB_SHARE_INPUT, &peer->input, input);
    counted_move(peer->share, HUB_SHARE_OUTPUT, &peer->output, output);
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

// ---- Places ------------------------------------------------------------------------------------

static enum hub_place place_of(const struct hub_peer *peer)
{
    uint32_t roles = peer->role ? (uint32_t)peer->role : peer->roles;
    if (roles & WIRE_ADMIN) return HUB_PLACE_ADMIN;
    if (roles & (WIRE_WORKER | WIRE_HANDLER)) return HUB_PLACE_WORKER;
    return HUB_PLACE_CLIENT;
}

// Clients leave the last 1/16 of all places to workers, and both the last 1/32 to admins.
static uint32_t places_for(const struct hub *hub, enum hub_place place)
{
    uint32_t all = hub->limits.connections;
    if (place == HUB_PLACE_CLIENT) return all - all / 16;
    return place == HUB_PLACE_WORKER ? all - all / 32 : all;
}

static bool has_place(const struct hub *hub, enum hub_place place)
{
    const uint32_t *taken = hub->places;
    uint32_t clients = taken[HUB_PLACE_CLIENT] + hub->transfers;
    uint32_t count = clients + taken[HUB_PLACE_WORKER] + taken[HUB_PLACE_ADMIN];
    bool is_client = place == HUB_PLACE_CLIENT;
    if (is_client && hub->limits.clients && clients >= hub->limits.clients) return false;
    return !hub->limits.connections || count < places_for(hub, place);
}

// An admin can connect with a key whose other roles have all of its places.
static bool key_fits(struct hub *hub, struct hub_peer *peer, enum hub_place place)
{
    uint64_t limit = hub->limits.shares[HUB_SHARE_KEY];
    if (place == HUB_PLACE_ADMIN && peer->key->used[HUB_SHARE_KEY] <= limit + limit / 16)
        return true;
    return hub_share_fits(hub, peer->key, HUB_SHARE_KEY, 0);
}

const char *hub_place_take(struct hub *hub, struct hub_peer *peer)
{
    static const char *const full[HUB_PLACES] = {
        [HUB_PLACE_CLIENT] = "busy, try again: clients have all of their connections"
                             " (see --connections)",
        [HUB_PLACE_WORKER] = "busy, try again: workers have all of their connections"
                             " (see --connections)",
        [HUB_PLACE_ADMIN] = "busy, try again: all connections are in use (see --connections)"};
    enum hub_place place = place_of(peer);
    hub_place_leave(hub, peer);
    if (!key_fits(hub, peer, place)) return "busy, try again: your key has all of its connections";
    if (!has_place(hub, place)) {
        hub->full |= 1u << place;
        return full[place];
    }
    hub->places[place]++;
    peer->place = place;
    return NULL;
}

void hub_place_leave(struct hub *hub, struct hub_peer *peer)
{
    if (peer->place) hub->places[peer->place]--;
    peer->place = HUB_PLACE_NONE;
}

static bool full_report(struct hub *hub, char *text, uint32_t size)
{
    static const char *const names[HUB_PLACES] = {[HUB_PLACE_CLIENT] = "more clients",
                                                  [HUB_PLACE_WORKER] = "more workers",
                                                  [HUB_PLACE_ADMIN] = "all others"};
    for (uint32_t place = 0; place < HUB_PLACES; place++) {
        if (!(hub->full >> place & 1)) continue;
        hub->full &= ~(1u << place);
        snprintf(text, size, "%" PRIu32 " clients (transfers included), %" PRIu32 " workers and %"
                 PRIu32 " admins are connected; %s are refused (see --connections)",
                 hub->places[HUB_PLACE_CLIENT] + hub->transfers, hub->places[HUB_PLACE_WORKER],
                 hub->places[HUB_PLACE_ADMIN], names[place]);
        return true;
    }
    return false;
}

// Connections of workers count for their key only, so that one key can do for most workers.
bool hub_share_of_role(struct hub *hub, struct hub_peer *peer)
{
    char name[sizeof peer->share->name];
    snprintf(name, sizeof name, "%s %s", role_name(peer->role), peer->owner);
    struct hub_share *share = hub_share_join(hub, name, HUB_SHARE_CONNECTIONS);
    hub_share_use(share, HUB_SHARE_INPUT, peer->input);
    hub_share_use(share, HUB_SHARE_OUTPUT, peer->output);
    hub_peer_share_leave(hub, peer);
    peer->share = share;
    return peer->role != WIRE_CLIENT || hub_share_fits(hub, share, HUB_SHARE_CONNECTIONS, 0);
}

bool hub_share_report(struct hub *hub, char *text, uint32_t size)
{
    static const char *const sentences[HUB_SHARE_KINDS] = {
        [HUB_SHARE_CONNECTIONS] = "has all of its %" PRIu64 " connections; more are refused",
        [HUB_SHARE_INPUT]
        = "has all of its %" PRIu64 " bytes of unfinished messages; long ones wait",
        [HUB_SHARE_OUTPUT] = "has all of its %" PRIu64 " bytes of unread answers; requests wait",
        [HUB_SHARE_SUBMISSIONS]
        = "has all of its %" PRIu64 " bytes of unfinished submissions; more are refused",
        [HUB_SHARE_QUERIES] = "has all of its %" PRIu64 " queries; more of them wait",
        [HUB_SHARE_READS] = "waits for all of its %" PRIu64 " objects; more are refused",
        [HUB_SHARE_KEY] = "has all of its %" PRIu64 " connections; more are refused",
    };
    if (full_report(hub, text, size)) return true;
    for (struct hub_share *share = hub->shares; share; share = share->next)
        for (uint32_t kind = 0; kind < HUB_SHARE_KINDS; kind++) {
            if (!(share->used_up >> kind & 1)) continue;
            share->used_up &= ~(1u << kind);
            int length = snprintf(text, size, "%s ", share->name);
            snprintf(text + length, size - (uint32_t)length, sentences[kind],
                     hub->limits.shares[kind]);
            return true;
        }
    return false;
}
