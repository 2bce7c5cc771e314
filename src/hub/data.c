// data.c - objects move from worker to worker: who may fetch what, and where.
#include "hub/hub.h"

#include <stdio.h>

enum { SOURCES_MAX = 8, TICKET = 16, VALID = 60000000 };

// As text, and another one each time.
static bool ticket_make(const struct hub *hub, char out[2 * TICKET + 1])
{
    uint8_t bytes[TICKET];
    if (!hub->limits.random || !hub->limits.random(bytes, sizeof bytes)) return false;
    for (int i = 0; i < TICKET; i++) snprintf(out + (size_t)i * 2, 3, "%02x", bytes[i]);
    return true;
}

static void serve_put(struct hub *hub, struct hub_worker *source, rota_object_id object,
                      const char *ticket)
{
    struct wire_message message = {.kind = WIRE_SERVE_MESSAGE};
    message.serve.object = object;
    message.serve.ticket = wire_text_of(ticket);
    message.serve.valid = VALID;
    wire_put(hub_later(hub, source->peer), &message);
}

static bool can_serve(const struct hub_worker *source, rota_worker_id reader)
{
    return source && source->peer && source->address[0] && source->id.number != reader.number;
}

// The one that the core has chosen, and behind it others that hold a copy, should that one fail.
void hub_fetch_put(struct hub *hub, const struct rota_action *action)
{
    struct hub_worker *reader = hub_worker_get(hub, action->fetch.worker);
    rota_worker_id holders[SOURCES_MAX + 1] = {action->fetch.from};
    wire_text addresses[SOURCES_MAX + 1];
    char ticket[2 * TICKET + 1];
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    rota_object_id object = action->fetch.object;
    if (!reader || !reader->peer || !ticket_make(hub, ticket)) return;
    uint32_t count = 1
                     + rota_object_workers(hub->server->rota, object, ROTA_SET_LOCATED, holders + 1,
                                           SOURCES_MAX);
    if (count > SOURCES_MAX + 1) count = SOURCES_MAX + 1;
    message.fetch.object = object;
    message.fetch.bytes = rota_object_bytes(hub->server->rota, object);
    message.fetch.addresses.items = addresses;
    message.fetch.ticket = wire_text_of(ticket);
    for (uint32_t i = 0; i < count; i++) {
        struct hub_worker *source = hub_worker_get(hub, holders[i]);
        bool again = i && holders[i].number == holders[0].number;
        if (again || !can_serve(source, reader->id)) continue;
        addresses[message.fetch.addresses.count++] = wire_text_of(source->address);
        serve_put(hub, source, object, ticket);
    }
    wire_put(hub_later(hub, reader->peer), &message);
}

// Those that were to have it and are there have it no more; the core finds another way.
void hub_missed(struct hub *hub, struct hub_peer *peer, const struct wire_missed *missed)
{
    rota_worker_id holders[SOURCES_MAX];
    uint32_t count = rota_object_workers(hub->server->rota, missed->object, ROTA_SET_LOCATED,
                                         holders, SOURCES_MAX);
    for (uint32_t i = 0; i < count && i < SOURCES_MAX; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_OBJECT_LOST};
        if (!can_serve(hub_worker_get(hub, holders[i]), peer->worker->id)) continue;
        event.replica.worker = holders[i];
        event.replica.object = missed->object;
        server_step(hub->server, &event);
    }
}
