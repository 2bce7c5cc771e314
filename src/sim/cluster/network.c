// network.c - connections: bytes in order, late, in pieces, or never.
#include "sim/cluster/internal.h"

enum { PIECE_MAX = 48, RESEND = 40000 };

static struct cable *cable_at(struct world *world, uint32_t number)
{
    return world->cables[number];
}

static bool is_cut(const struct world *world, const struct cable *cable, enum side to)
{
    if (cable->is_clerk) return false;
    if (!cable->is_worker) return world->now < world->callers[cable->who].cut_until;
    bool hangs = to == FAR_SIDE && world->now < world->hands[cable->who].stalled_until;
    bool parted = world->cut[to][cable->who] || hand_is_parted(world, cable->who);
    return (parted && !cable->flow[to].landed) || hangs;
}

uint32_t cable_open(struct world *world, enum cable_kind kind, uint32_t who)
{
    struct cable like
        = {.is_worker = kind == CABLE_HAND, .is_clerk = kind == CABLE_CLERK, .who = who};
    if (!world->seat.up || is_cut(world, &like, SERVER_SIDE) || is_cut(world, &like, FAR_SIDE))
        return NOBODY;
    struct cable *cable = world_allocate(1, sizeof *cable);
    *cable = like;
    cable->open[SERVER_SIDE] = cable->open[FAR_SIDE] = true;
    for (int i = 0; i < 2; i++) cable->flow[i].last = &cable->flow[i].first;
    world_reserve(&world->cables, &world->cable_capacity, world->cable_count,
                  sizeof *world->cables);
    world->cables[world->cable_count++] = cable;
    return world->cable_count - 1;
}

static void flow_schedule(struct world *world, uint32_t number, enum side to, int64_t at)
{
    struct flow *flow = &cable_at(world, number)->flow[to];
    if (flow->scheduled || !flow->first) return;
    flow->scheduled = true;
    agenda_add(&world->agenda, at, to == SERVER_SIDE ? DUE_TO_SERVER : DUE_TO_FAR, number, 0);
}

static void flow_add(struct world *world, struct flow *flow, const char *bytes, uint32_t length)
{
    struct piece *piece = malloc(sizeof *piece + length);
    if (!piece) abort();
    int64_t at = world->now + 20 + choose_time(world, OF_NETWORK, world->swarm.latency);
    if (at < flow->latest) at = flow->latest;
    *piece = (struct piece){.at = at, .length = length};
    memcpy(piece->bytes, bytes, length);
    flow->latest = at;
    *flow->last = piece;
    flow->last = &piece->next;
}

static void flow_drop(struct flow *flow)
{
    while (flow->first) {
        struct piece *piece = flow->first;
        flow->first = piece->next;
        free(piece);
    }
    flow->last = &flow->first;
}

// What has arrived stays where it is; the rest never comes.
static void flow_land(const struct world *world, struct flow *flow)
{
    struct piece **last = &flow->first;
    while (*last && (*last)->at <= world->now) last = &(*last)->next;
    struct flow rest = {.first = *last};
    *last = NULL;
    flow_drop(&rest);
    flow->last = last;
    flow->landed = true;
}

// All that waits, as one piece or cut somewhere.
void cable_send(struct world *world, uint32_t number, enum side from)
{
    struct cable *cable = cable_at(world, number);
    struct wire_out *out = &cable->out[from];
    enum side to = from == SERVER_SIDE ? FAR_SIDE : SERVER_SIDE;
    if (!out->length) return;
    if (cable->open[to]) {
        struct flow *flow = &cable->flow[to];
        uint32_t first = choose(world, OF_NETWORK, PIECE_MAX);
        first = first && first < out->length ? first : out->length;
        flow_add(world, flow, out->bytes, first);
        if (first < out->length) flow_add(world, flow, out->bytes + first, out->length - first);
        flow_schedule(world, number, to, flow->first->at);
    }
    out->length = out->sent = 0;
}

static void hears(struct world *world, uint32_t number, enum side to)
{
    const struct cable *cable = cable_at(world, number);
    if (to == SERVER_SIDE)
        seat_input(world, number);
    else if (cable->is_worker)
        hand_hears(world, cable->who);
    else if (cable->is_clerk)
        clerk_hears(world, cable->who);
    else
        caller_hears(world, cable->who);
}

// What a closed connection carries is an empty piece: the other side hears of its end behind all
// that came before.
static void end_hears(struct world *world, uint32_t number, enum side to)
{
    struct cable *cable = cable_at(world, number);
    cable->open[to] = false;
    if (to == SERVER_SIDE)
        seat_input(world, number);
    else if (cable->is_worker && world->hands[cable->who].cable == number)
        hand_cut_off(world, cable->who);
    else if (cable->is_clerk && world->clerks[cable->who].cable == number)
        clerk_cut_off(world, cable->who);
    else if (!cable->is_worker && !cable->is_clerk && world->callers[cable->who].cable == number)
        caller_cut_off(world, cable->who);
}

void cable_deliver(struct world *world, uint32_t number, enum side to)
{
    struct cable *cable = cable_at(world, number);
    struct flow *flow = &cable->flow[to];
    struct piece *piece = flow->first;
    flow->scheduled = false;
    if (!cable->open[to]) return flow_drop(flow);
    if (!piece) return;
    if (is_cut(world, cable, to)) return flow_schedule(world, number, to, world->now + RESEND);
    flow->first = piece->next;
    if (!flow->first) flow->last = &flow->first;
    if (flow->first) flow_schedule(world, number, to, flow->first->at);
    see(world, SIGHT_DELIVERY);
    if (piece->length) {
        char *room = wire_in_room(&cable->in[to], piece->length);
        if (!room) abort();
        memcpy(room, piece->bytes, piece->length);
        wire_in_came(&cable->in[to], piece->length);
        hears(world, number, to);
    } else {
        end_hears(world, number, to);
    }
    free(piece);
}

void cable_close(struct world *world, uint32_t number, enum side by, bool silently)
{
    struct cable *cable = cable_at(world, number);
    enum side to = by == SERVER_SIDE ? FAR_SIDE : SERVER_SIDE;
    if (!cable->open[by]) return;
    cable->open[by] = false;
    flow_drop(&cable->flow[by]);
    if (!cable->open[to]) return;
    if (silently) {
        see(world, SIGHT_HALF_OPEN);
        flow_land(world, &cable->flow[to]);
        return;
    }
    flow_add(world, &cable->flow[to], "", 0);
    flow_schedule(world, number, to, cable->flow[to].first->at);
}

void cable_release(struct cable *cable)
{
    for (int i = 0; i < 2; i++) {
        flow_drop(&cable->flow[i]);
        wire_out_release(&cable->out[i]);
        wire_in_release(&cable->in[i]);
    }
    free(cable);
}
