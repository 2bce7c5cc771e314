// object_moves.c - objects move from worker to worker: who may fetch what, and where.
#include "base/planted.h"
#include "server/cluster/replicas.h"

#include <stdio.h>

#define HUB_HOME "server"  // an address: the server that says so

enum { VALID = 60000000 };

// As text, and another one each time.
bool hub_ticket_make(const struct hub *hub, struct hub_ticket *out)
{
    uint8_t bytes[sizeof out->text / 2];
    out->client = 0;
    if (!hub->limits.random || !hub->limits.random(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out->text + i * 2, 3, "%02x", bytes[i]);
    return true;
}

void hub_serve_put(struct hub *hub, struct hub_peer *source, rota_object_id object,
                   const struct hub_ticket *ticket)
{
    struct wire_message message = {.kind = WIRE_SERVE_MESSAGE};
    message.serve.object = object;
    message.serve.ticket = wire_text_of(ticket->text);
    message.serve.client = ticket->client;
    message.serve.valid = VALID;
    wire_put(hub_later(hub, source), &message);
}

static bool can_serve(const struct hub_worker *source, const struct hub_worker *reader)
{
    return source && source->peer && source->address[0] && source != reader;
}

// All that have it, and where among them the one is that comes first.
static rota_worker_id *holders_find(struct hub *hub, rota_object_id object, rota_worker_id first,
                                    uint32_t *count, uint32_t *at)
{
    const struct rota *rota = hub->server->rota;
    *count = rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0);
    *at = 0;
    if (!*count) return NULL;
    rota_worker_id *holders = hub_keep(hub, *count, sizeof *holders);
    rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, *count);
    for (uint32_t i = 0; i < *count; i++)
        if (holders[i].number == first.number) *at = i;
    return holders;
}

uint32_t hub_sources(struct hub *hub, rota_object_id object, const struct hub_worker *reader,
                     rota_worker_id first, const struct hub_ticket *ticket,
                     wire_text addresses[HUB_SOURCES + 1])
{
    uint32_t found = 0, count, at;
    const rota_worker_id *holders = holders_find(hub, object, first, &count, &at);
    for (uint32_t i = 0; i < count && found < HUB_SOURCES; i++) {
        struct hub_worker *source = hub_worker_get(hub, holders[(at + i) % count]);
        if (!can_serve(source, reader) || hub_is_liar(hub, object, holders[(at + i) % count]))
            continue;
        addresses[found++] = wire_text_of(source->address);
        hub_serve_put(hub, source->peer, object, ticket);
    }
    struct hub_stored *stored = hub_stored_find(hub, object);
    if (!stored || !hub->depot) return found;
    if (hub_is_false(hub, &(struct wire_file){.object = object, .content = stored->content})) {
        hub_depot_drop(hub, object);  // it was made again since
        return found;
    }
    stored->seen = hub->ticks;
    addresses[found++] = wire_text_of(HUB_HOME);
    hub_serve_put(hub, hub->depot, object, ticket);
    return found;
}

// Should the one fail that the core has chosen, the others are asked.
void hub_fetch_put(struct hub *hub, const struct rota_action *action)
{
    struct hub_worker *reader = hub_worker_get(hub, action->fetch.worker);
    wire_text addresses[HUB_SOURCES + 1];
    struct hub_ticket ticket;
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    rota_object_id object = action->fetch.object;
    if (!reader || !reader->peer || !hub_ticket_make(hub, &ticket)) return;
    message.fetch.object = object;
    hub_content_fill(hub, &message.fetch);
    message.fetch.ticket = wire_text_of(ticket.text);
    message.fetch.addresses.items = addresses;
    message.fetch.addresses.count
        = hub_sources(hub, object, reader, action->fetch.from, &ticket, addresses);
    wire_put(hub_later(hub, reader->peer), &message);
}

// A stream that is read on another worker than it is written on.
void hub_flow_put(struct hub *hub, const struct rota_action *action)
{
    rota_worker_id to = action->stream.to, from = action->stream.worker;
    struct hub_worker *reader = to.number ? hub_worker_get(hub, to) : NULL;
    struct hub_worker *source = hub_worker_get(hub, from);
    struct wire_message message = {.kind = WIRE_FLOW_MESSAGE};
    struct hub_ticket ticket;
    if (!reader || !reader->peer || to.number == from.number) return;
    if (PLANTED(FLOW_UNSAID)) return;
    if (!hub_ticket_make(hub, &ticket)) return;
    bool can = can_serve(source, reader);
    if (can) hub_serve_put(hub, source->peer, action->stream.object, &ticket);
    message.flow.object = action->stream.object;
    message.flow.address = wire_text_of(can ? source->address : "");
    message.flow.ticket = wire_text_of(ticket.text);
    wire_put(hub_later(hub, reader->peer), &message);
}

// ---- What could not be fetched -----------------------------------------------------------------

static void holder_ask(struct hub *hub, const struct hub_worker *holder, rota_object_id object)
{
    struct wire_file file = {.object = object, .name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_SHOW_MESSAGE};
    message.show.objects = (wire_files){&file, 1};
    wire_put(hub_later(hub, holder->peer), &message);
}

static void holder_lost(struct hub *hub, rota_worker_id holder, rota_object_id object)
{
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_LOST};
    event.replica.worker = holder;
    event.replica.object = object;
    server_step(hub->server, &event);
}

// How often it was missed. Of two that share a place the older one is forgotten: it is only
// believed in a little longer.
static uint32_t doubt(struct hub *hub, rota_object_id object)
{
    if (!hub->doubts) hub->doubts = hub_allocate(HUB_DOUBTS, sizeof *hub->doubts);
    struct hub_doubt *at = &hub->doubts[hash_mix(object.high, object.low) % HUB_DOUBTS];
    bool same = at->object.high == object.high && at->object.low == object.low;
    if (!same) *at = (struct hub_doubt){.object = object};
    return ++at->missed;
}

// A copy is lost when the one that holds it says so: one that could not be reached may have it all
// the same. Whoever is to have it is asked to look. But what was shown, and can still not be
// fetched, is of no use: then the core has to find another way. If what it makes again cannot be
// fetched either, that does not help: the attempts that lack it count, until their task ends.
void hub_missed(struct hub *hub, struct hub_peer *peer, const struct wire_missed *missed)
{
    rota_worker_id holders[HUB_SOURCES];
    uint32_t count = rota_object_workers(hub->server->rota, missed->object, ROTA_SET_LOCATED,
                                         holders, HUB_SOURCES);
    uint32_t missing = count ? doubt(hub, missed->object) : 0;
    bool again = missing >= HUB_MISSED_MAX && missing < HUB_MISSED_MAX + HUB_REMADE_MAX;
    for (uint32_t i = 0; i < count && i < HUB_SOURCES; i++) {
        const struct hub_worker *holder = hub_worker_get(hub, holders[i]);
        if (!can_serve(holder, peer->worker)) continue;
        if (again)
            holder_lost(hub, holders[i], missed->object);
        else
            holder_ask(hub, holder, missed->object);
    }
}
