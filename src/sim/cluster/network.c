// network.c - connections: bytes arrive in order, late, in pieces, or never.
#include "sim/cluster/internal.h"

enum { PIECE_MAX = 48, RESEND = 40000 };

static struct link *link_at(struct sim *sim, uint32_t number)
{
    return sim->links[number];
}

static bool is_cut(const struct sim *sim, const struct link *link, enum side to)
{
    if (link->is_handler) return false;
    if (!link->is_worker) return sim->now < sim->clients[link->who].cut_until;
    bool hangs = to == FAR_SIDE && sim->now < sim->nodes[link->who].stalled_until;
    bool parted = sim->cut[to][link->who] || sim_node_is_parted(sim, link->who);
    return (parted && !link->flow[to].landed) || hangs;
}

uint32_t sim_link_open(struct sim *sim, enum link_kind kind, uint32_t who)
{
    struct link like
        = {.is_worker = kind == LINK_WORKER, .is_handler = kind == LINK_HANDLER, .who = who};
    if (!sim->daemon.up || is_cut(sim, &like, SERVER_SIDE) || is_cut(sim, &like, FAR_SIDE))
        return NOBODY;
    struct link *link = sim_allocate(1, sizeof *link);
    *link = like;
    link->open[SERVER_SIDE] = link->open[FAR_SIDE] = true;
    for (int i = 0; i < 2; i++) link->flow[i].last = &link->flow[i].first;
    *SIM_NEW(sim->links, sim->link_count, sim->link_capacity) = link;
    return sim->link_count - 1;
}

static void flow_schedule(struct sim *sim, uint32_t number, enum side to, int64_t at)
{
    struct flow *flow = &link_at(sim, number)->flow[to];
    if (flow->scheduled || !flow->first) return;
    flow->scheduled = true;
    event_queue_add(&sim->queue, at, to == SERVER_SIDE ? DUE_TO_SERVER : DUE_TO_FAR, number, 0);
}

static void flow_add(struct sim *sim, struct flow *flow, const char *bytes, uint32_t length)
{
    struct piece *piece = malloc(sizeof *piece + length);
    if (!piece) abort();
    int64_t at = sim->now + 20 + choose_time(sim, OF_NETWORK, sim->setting.latency);
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

// Data that has arrived stays; the rest is lost.
static void flow_land(const struct sim *sim, struct flow *flow)
{
    struct piece **last = &flow->first;
    while (*last && (*last)->at <= sim->now) last = &(*last)->next;
    struct flow rest = {.first = *last};
    *last = NULL;
    flow_drop(&rest);
    flow->last = last;
    flow->landed = true;
}

// Everything that waits, as one piece or cut somewhere.
void sim_link_send(struct sim *sim, uint32_t number, enum side from)
{
    struct link *link = link_at(sim, number);
    struct wire_out *out = &link->out[from];
    enum side to = from == SERVER_SIDE ? FAR_SIDE : SERVER_SIDE;
    if (!out->length) return;
    if (link->open[to]) {
        struct flow *flow = &link->flow[to];
        uint32_t first = choose(sim, OF_NETWORK, PIECE_MAX);
        first = first && first < out->length ? first : out->length;
        flow_add(sim, flow, out->bytes, first);
        if (first < out->length) flow_add(sim, flow, out->bytes + first, out->length - first);
        flow_schedule(sim, number, to, flow->first->at);
    }
    out->length = out->sent = 0;
}

static void hears(struct sim *sim, uint32_t number, enum side to)
{
    const struct link *link = link_at(sim, number);
    if (to == SERVER_SIDE)
        sim_daemon_input(sim, number);
    else if (link->is_worker)
        sim_node_hears(sim, link->who);
    else if (link->is_handler)
        sim_handler_hears(sim, link->who);
    else
        sim_client_hears(sim, link->who);
}

// The end of a connection is an empty piece: the other side reads everything before it first.
static void end_hears(struct sim *sim, uint32_t number, enum side to)
{
    struct link *link = link_at(sim, number);
    link->open[to] = false;
    if (to == SERVER_SIDE)
        sim_daemon_input(sim, number);
    else if (link->is_worker && sim->nodes[link->who].link == number)
        sim_node_cut_off(sim, link->who);
    else if (link->is_handler && sim->handlers[link->who].link == number)
        sim_handler_cut_off(sim, link->who);
    else if (!link->is_worker && !link->is_handler && sim->clients[link->who].link == number)
        sim_client_cut_off(sim, link->who);
}

void sim_link_deliver(struct sim *sim, uint32_t number, enum side to)
{
    struct link *link = link_at(sim, number);
    struct flow *flow = &link->flow[to];
    struct piece *piece = flow->first;
    flow->scheduled = false;
    if (!link->open[to]) return flow_drop(flow);
    if (!piece) return;
    if (is_cut(sim, link, to)) return flow_schedule(sim, number, to, sim->now + RESEND);
    flow->first = piece->next;
    if (!flow->first) flow->last = &flow->first;
    if (flow->first) flow_schedule(sim, number, to, flow->first->at);
    see(sim, SIGHT_DELIVERY);
    if (piece->length) {
        char *room = wire_in_room(&link->in[to], piece->length);
        if (!room) abort();
        memcpy(room, piece->bytes, piece->length);
        wire_in_came(&link->in[to], piece->length);
        hears(sim, number, to);
    } else {
        end_hears(sim, number, to);
    }
    free(piece);
}

void sim_link_close(struct sim *sim, uint32_t number, enum side by, bool silently)
{
    struct link *link = link_at(sim, number);
    enum side to = by == SERVER_SIDE ? FAR_SIDE : SERVER_SIDE;
    if (!link->open[by]) return;
    link->open[by] = false;
    flow_drop(&link->flow[by]);
    if (!link->open[to]) return;
    if (silently) {
        see(sim, SIGHT_HALF_OPEN);
        flow_land(sim, &link->flow[to]);
        return;
    }
    flow_add(sim, &link->flow[to], "", 0);
    flow_schedule(sim, number, to, link->flow[to].first->at);
}

void sim_link_release(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        flow_drop(&link->flow[i]);
        wire_out_release(&link->out[i]);
        wire_in_release(&link->in[i]);
    }
    free(link);
}

bool sim_link_take(struct sim *sim, uint32_t number, struct wire_message *message)
{
    if (number == NOBODY) return false;
    struct link *link = sim->links[number];
    enum wire_result result = wire_take(&link->in[FAR_SIDE], message);
    bool is_bad = result != WIRE_GOT && result != WIRE_MORE;
    if (is_bad) wrong(sim, "a %s cannot decode a message of the server", sim_link_end(link));
    return result == WIRE_GOT;
}
