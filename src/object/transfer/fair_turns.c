// fair_turns.c - chooses the connection whose messages are processed next.
//
// A short message can cost much: binding a tree means reading its list. So guests with messages
// wait for a turn, and processing time is shared equally by the waiting owners, however many
// connections each of them has. Between two calls the thread reads orders of its server and new
// keys.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <string.h>

enum {
    TURN_TICKS = 2000,    // of one guest; a message that takes longer is finished
    CALL_TICKS = 20000,   // of all turns in one call
};

static bool has_message(const struct wire_in *in)
{
    uint32_t length, left = in->length - in->taken;
    if (left < WIRE_HEAD) return false;
    memcpy(&length, in->bytes + in->taken, sizeof length);
    return length > WIRE_FRAME_MAX || left - WIRE_HEAD >= length;
}

bool turn_is_on(struct guest *guest)
{
    bool is_first = guest->is_turn_new;
    guest->is_turn_new = false;
    if (is_first || os_ticks() < guest->turn_until) return true;
    guest->is_behind = has_message(&guest->link->in);
    if (guest->is_behind) guest->behind_since = ++guest->server->turns.count;
    return false;
}

static int64_t *used_by(struct turns *turns, struct data_owner owner)
{
    uint64_t hash = hash_mix(owner.number, owner.is_client);
    return &turns->used[hash % TURN_OWNERS];
}

// An owner that returns has no credit for the time it was away.
static int64_t start_of(struct turns *turns, const struct guest *guest)
{
    int64_t used = *used_by(turns, guest->owner);
    return used > turns->now ? used : turns->now;
}

static struct guest *next_behind(struct data_server *server)
{
    struct guest *best = NULL;
    int64_t least = 0;
    for (uint32_t i = 0; i < server->guest_count; i++) {
        struct guest *guest = server->guests[i];
        if (!guest->is_behind || guest->state == GUEST_GONE) continue;
        int64_t start = start_of(&server->turns, guest);
        bool is_before = best && start == least && guest->behind_since < best->behind_since;
        if (best && start >= least && !is_before) continue;
        best = guest;
        least = start;
    }
    return best;
}

static void turn_give(struct guest *guest, int64_t now)
{
    struct turns *turns = &guest->server->turns;
    int64_t before = os_ticks();
    turns->now = start_of(turns, guest);
    guest->is_behind = false;
    guest->is_turn_new = true;
    guest->turn_until = before + TURN_TICKS;
    guest_go_on(guest, now);
    guest->is_turn_new = false;
    guest->turn_until = 0;
    *used_by(turns, guest->owner) = turns->now + os_ticks() - before + 1;
}

void turns_give(struct data_server *server, int64_t now)
{
    int64_t until = os_ticks() + CALL_TICKS;
    struct guest *guest;
    while ((guest = next_behind(server))) {
        turn_give(guest, now);
        if (os_ticks() >= until) return;
    }
}

bool turns_are_due(const struct data_server *server)
{
    for (uint32_t i = 0; i < server->guest_count; i++)
        if (server->guests[i]->is_behind) return true;
    return false;
}
