// connection_queue.c - connections that wait until the object store can serve them.
//
// Neither clients nor workers can take all places. Each key has a share of the places of its kind:
// when no place is free, the key with the most connections loses one to a key with fewer. The
// others wait here, after WELCOME, and nothing more is read from them. Of the waiting connections a
// worker is next, then the key with the fewest.
#include "object/transfer/internal.h"

#include <stdio.h>

static uint32_t served_of(const struct data_server *server, struct data_owner owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->peer_count; i++)
        count += data_owner_is(server->peers[i]->owner, owner);
    return count;
}

void crowded_note(struct data_server *server, const struct link *link)
{
    server->is_crowded = true;
    snprintf(server->crowded_by, sizeof server->crowded_by, "%s", link->id);
}

const char *data_server_crowded_by(struct data_server *server)
{
    const char *crowded_by = server->is_crowded ? server->crowded_by : NULL;
    server->is_crowded = false;
    return crowded_by;
}

// ---- Places ---------------------------------------------------------------------------------

// For the kind of the next peer: the number of free places, or a peer that makes room.
struct places {
    bool are_free;
    struct peer *last;   // null: none may be disconnected
    uint32_t has;        // number of peers of its owner
};

// Of the key with the most peers, prefers one that has not asked for anything yet, or the newest:
// it loses least, and the others can finish.
static bool goes_before(const struct peer *one, uint32_t has, const struct places *places)
{
    const struct peer *other = places->last;
    if (!other || has != places->has) return !other || has > places->has;
    bool is_known = one->state == PEER_KNOWN, other_is_known = other->state == PEER_KNOWN;
    return is_known != other_is_known ? !is_known : one->since > other->since;
}

static struct places places_of(const struct data_server *server, bool is_client, int64_t now)
{
    uint32_t of_kind = 0;
    for (uint32_t i = 0; i < server->peer_count; i++)
        of_kind += server->peers[i]->owner.is_client == is_client;
    struct places places
        = {.are_free = server->peer_count < DATA_PEERS_MAX && of_kind < DATA_PEERS_KIND};
    for (uint32_t i = 0; i < server->peer_count && !places.are_free; i++) {
        struct peer *peer = server->peers[i];
        if (peer->owner.is_client != is_client || now - peer->since < DATA_GRACE_TICKS) continue;
        uint32_t has = served_of(server, peer->owner);
        if (!goes_before(peer, has, &places)) continue;
        places.last = peer;
        places.has = has;
    }
    return places;
}

static bool places_admit(const struct places *places, struct data_owner owner, uint32_t has)
{
    if (owner.is_client && has >= DATA_PEERS_CLIENT) return false;
    return places->are_free || (places->last && has + 1 < places->has);
}

bool connection_queue_may_enter(const struct data_server *server, struct data_owner owner,
                                int64_t now, struct peer **leaves)
{
    struct places places = places_of(server, owner.is_client, now);
    *leaves = places.last;
    return places_admit(&places, owner, served_of(server, owner));
}

// ---- Waiting ----------------------------------------------------------------------------------

// If a socket is closed with unread bytes, the other side loses the refusal, so they are read
// first.
static void refusal_tell(struct link *link, enum wire_code code, const char *reason)
{
    struct wire_message refuse = {.kind = WIRE_REFUSE_MESSAGE};
    refuse.refuse.code = code;
    refuse.refuse.reason = wire_text_of(reason);
    wire_put(&link->out, &refuse);
    link_work(link);
}

static void turn_away(struct data_server *server, const struct data_adoption *adoption)
{
    crowded_note(server, adoption->link);
    refusal_tell(adoption->link, WIRE_REFUSED_BUSY,
                 "busy, try again: too many transfers of your key are waiting");
    data_adoption_drop(adoption);
}

static void remove_at(struct data_server *server, uint32_t at)
{
    server->queue_count--;
    for (uint32_t i = at; i < server->queue_count; i++) server->queue[i] = server->queue[i + 1];
}

// The number of connections of each owner, by a part of its hash.
enum { TALLIES = 2 * DATA_QUEUE_MAX };
struct tally {
    struct data_owner owner;
    uint32_t count;  // 0: the slot is free
};

static struct tally *tally_of(struct tally *tallies, struct data_owner owner)
{
    uint64_t at = hash_mix(owner.number, owner.is_client);
    for (;; at++) {
        struct tally *tally = &tallies[at % TALLIES];
        if (!tally->count) tally->owner = owner;
        if (data_owner_is(tally->owner, owner)) return tally;
    }
}

// The newest connection of the key with the most is dropped, if that key has more than the new one
// would have. This runs for each refused connection, so it visits each waiting one at most twice.
static bool connection_queue_make_room(struct data_server *server, struct data_owner owner)
{
    struct tally tallies[TALLIES] = {0};
    uint32_t most = 0, last = server->queue_count;
    for (uint32_t i = 0; i < server->queue_count; i++) {
        struct data_owner other = server->queue[i].owner;
        if (other.is_client != owner.is_client) continue;
        uint32_t count = ++tally_of(tallies, other)->count;
        if (count > most) most = count;
    }
    if (tally_of(tallies, owner)->count + 1 >= most) return false;
    while (tally_of(tallies, server->queue[last - 1].owner)->count != most) last--;
    turn_away(server, &server->queue[last - 1]);
    remove_at(server, last - 1);
    return true;
}

static bool connection_queue_fits(struct data_server *server, struct data_owner owner)
{
    uint32_t of_owner = 0, of_kind = 0;
    for (uint32_t i = 0; i < server->queue_count; i++) {
        of_owner += data_owner_is(server->queue[i].owner, owner);
        of_kind += server->queue[i].owner.is_client == owner.is_client;
    }
    if (owner.is_client && of_owner >= DATA_QUEUE_CLIENT) return false;
    bool is_free = server->queue_count < DATA_QUEUE_MAX && of_kind < DATA_QUEUE_KIND;
    return is_free || connection_queue_make_room(server, owner);
}

bool connection_queue_add(struct data_server *server, const struct data_adoption *adoption)
{
    bool fits = connection_queue_fits(server, adoption->owner);
    if (fits)
        server->queue[server->queue_count++] = *adoption;
    else
        turn_away(server, adoption);
    return fits;
}

bool connection_queue_next(struct data_server *server, int64_t now, struct data_adoption *adoption,
                           struct peer **leaves)
{
    uint32_t best = DATA_QUEUE_MAX, least = UINT32_MAX;
    if (!server->queue_count) return false;
    const struct places places[2] = {places_of(server, false, now), places_of(server, true, now)};
    for (uint32_t i = 0; i < server->queue_count; i++) {
        struct data_owner owner = server->queue[i].owner;
        uint32_t has = served_of(server, owner);
        if (!places_admit(&places[owner.is_client], owner, has)) continue;
        uint32_t rank = has + (owner.is_client ? DATA_PEERS_MAX : 0);
        if (rank >= least) continue;
        best = i;
        least = rank;
    }
    if (best == DATA_QUEUE_MAX) return false;
    *adoption = server->queue[best];
    *leaves = places[adoption->owner.is_client].last;
    remove_at(server, best);
    return true;
}

void connection_queue_release(struct data_server *server)
{
    for (uint32_t i = 0; i < server->queue_count; i++) data_adoption_drop(&server->queue[i]);
    server->queue_count = 0;
}

uint32_t connection_queue_revoke(struct data_server *server, const struct link_keys *keys)
{
    uint32_t kept = 0, before = server->queue_count;
    for (uint32_t i = 0; i < server->queue_count; i++) {
        struct data_adoption *adoption = &server->queue[i];
        if (link_is_allowed(adoption->link, keys)) {
            server->queue[kept++] = *adoption;
            continue;
        }
        revoked_note(server, adoption->who);
        refusal_tell(adoption->link, WIRE_REFUSED_ROLE, DATA_REVOKED);
        data_adoption_drop(adoption);
    }
    server->queue_count = kept;
    return before - kept;
}
