// share.c - how much of the server each key uses, and how much it may use.
#include "hub/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hub_share *hub_share_join(struct hub *hub, const char *name)
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
    share->used[HUB_SHARE_CONNECTIONS]++;
    return share;
}

void hub_share_return(struct hub_share *share, enum hub_share_kind kind, uint64_t less)
{
    assert(share->used[kind] >= less);
    share->used[kind] -= less;
}

void hub_share_leave(struct hub *hub, const struct hub_peer *peer)
{
    struct hub_share **at = &hub->shares, *share = peer->share;
    hub_share_return(share, HUB_SHARE_INPUT, peer->input);
    hub_share_return(share, HUB_SHARE_OUTPUT, peer->output);
    share->used[HUB_SHARE_CONNECTIONS]--;
    if (--share->peers) return;
    while (*at != share) at = &(*at)->next;
    *at = share->next;
    free(share);
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

bool hub_client_note(struct hub *hub, struct hub_peer *peer)
{
    bool others = peer->roles & (WIRE_WORKER | WIRE_ADMIN);
    bool is_client = peer->role ? peer->role == WIRE_CLIENT : peer->roles && !others;
    if (is_client && !peer->is_client) hub->client_count++;
    peer->is_client |= is_client;
    uint64_t count = (uint64_t)hub->client_count + hub->transfers;
    return !is_client || !hub->limits.clients || count <= hub->limits.clients;
}

void hub_client_leave(struct hub *hub, const struct hub_peer *peer)
{
    hub->client_count -= peer->is_client;
}

// A worker must always be able to come back, so only clients have a limit here.
bool hub_share_of_role(struct hub *hub, struct hub_peer *peer)
{
    char name[sizeof peer->share->name];
    snprintf(name, sizeof name, "%s %s", role_name(peer->role), peer->owner);
    struct hub_share *share = hub_share_join(hub, name);
    share->used[HUB_SHARE_INPUT] += peer->input;
    share->used[HUB_SHARE_OUTPUT] += peer->output;
    hub_share_leave(hub, peer);
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
    };
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
