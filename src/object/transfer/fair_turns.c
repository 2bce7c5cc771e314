// fair_turns.c - chooses the connection whose messages are processed next.
//
// A short message can cost much: binding a tree means reading its list. So peers with messages
// wait for a turn, and processing time is shared equally by the waiting owners, however many
// connections each of them has. Between two calls the thread reads orders of its server and new
// keys.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <string.h>

enum {
    TURN_TICKS = 2000,    // of one peer; a message that takes longer is finished
    CALL_TICKS = 20000,   // of all turns in one call
};

static bool has_message(const struct wire_in *in)
{
    uint32_t length, left = in->length - in->taken;
    if (left < WIRE_HEAD) return false;
    memcpy(&length, in->bytes + in->taken, sizeof length);
    return length > WIRE_FRAME_MAX || left - WIRE_HEAD >= length;
}

bool turn_is_on(struct peer *peer)
{
    bool is_first = peer->is_turn_new;
    peer->is_turn_new = false;
    if (is_first || os_ticks() < peer->turn_until) return true;
    peer->is_queued = has_message(&peer->link->in);
    if (peer->is_queued) peer->queued_since = ++peer->server->turns.count;
    return false;
}

static int64_t *used_by(struct turns *turns, struct data_owner owner)
{
    uint64_t hash = hash_mix(owner.number, owner.is_client);
    return &turns->used[hash % TURN_OWNERS];
}

// An owner that returns has no credit for the time it was away.
static int64_t start_of(struct turns *turns, const struct peer *peer)
{
    int64_t used = *used_by(turns, peer->owner);
    return used > turns->now ? used : turns->now;
}

static struct peer *next_queued(struct data_server *server)
{
    struct peer *best = NULL;
    int64_t least = 0;
    for (uint32_t i = 0; i < server->peer_count; i++) {
        struct peer *peer = server->peers[i];
        if (!peer->is_queued || peer->state == PEER_GONE) continue;
        int64_t start = start_of(&server->turns, peer);
        bool is_before = best && start == least && peer->queued_since < best->queued_since;
        if (best && start >= least && !is_before) continue;
        best = peer;
        least = start;
    }
    return best;
}

static void turn_give(struct peer *peer, int64_t now)
{
    struct turns *turns = &peer->server->turns;
    int64_t before = os_ticks();
    turns->now = start_of(turns, peer);
    peer->is_queued = false;
    peer->is_turn_new = true;
    peer->turn_until = before + TURN_TICKS;
    peer_continue(peer, now);
    peer->is_turn_new = false;
    peer->turn_until = 0;
    *used_by(turns, peer->owner) = turns->now + os_ticks() - before + 1;
}

void turns_give(struct data_server *server, int64_t now)
{
    int64_t until = os_ticks() + CALL_TICKS;
    struct peer *peer;
    while ((peer = next_queued(server))) {
        turn_give(peer, now);
        if (os_ticks() >= until) return;
    }
}

bool turns_are_due(const struct data_server *server)
{
    for (uint32_t i = 0; i < server->peer_count; i++)
        if (server->peers[i]->is_queued) return true;
    return false;
}
