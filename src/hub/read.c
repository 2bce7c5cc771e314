// read.c - clients that want an object, or no longer do.
#include "hub/hub.h"

#include <stdlib.h>
#include <string.h>

// The core keeps who waits over a restart; a connection is another one then.
static uint64_t client_of(const struct hub *hub, uint64_t peer)
{
    return hash_mix(hash_mix(hub->id, hub->opened), peer) | 1;
}

static struct hub_peer *peer_of(const struct hub *hub, uint64_t number)
{
    struct hub_peer *peer = hub->peers;
    while (peer && peer->number != number) peer = peer->next;
    return peer && !peer->worker ? peer : NULL;
}

static void fetch_put(struct hub *hub, struct hub_peer *peer, rota_object_id object,
                      const char *ticket, wire_texts addresses)
{
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    const struct hub_stored *stored = hub_stored_find(hub, object);
    uint64_t bytes = rota_object_bytes(hub->server->rota, object);
    message.fetch.object = object;
    message.fetch.bytes = bytes || !stored ? bytes : stored->bytes;
    message.fetch.ticket = wire_text_of(ticket);
    message.fetch.addresses = addresses;
    wire_put(hub_later(hub, peer), &message);
}

// A client on this machine reaches the sockets of workers that are on it too.
static uint32_t reachable(const struct hub_peer *peer, wire_text *addresses, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_path = addresses[i].bytes[0] == '/';
        bool is_home = !is_path && !memchr(addresses[i].bytes, ':', addresses[i].length);
        if (is_home || (is_path && !peer->id[0] && !peer->through))
            addresses[kept++] = addresses[i];
    }
    return kept;
}

static void reader_add(struct hub *hub, const struct hub_peer *peer, rota_object_id object)
{
    struct hub_reader *reader = hub_allocate(1, sizeof *reader);
    *reader = (struct hub_reader){.next = hub->readers,
                                  .peer = peer->number,
                                  .high = peer->read_high,
                                  .low = peer->read_low,
                                  .object = object};
    hub->readers = reader;
}

// It is there: the client fetches it itself, or the depot does so for it.
static void grant(struct hub *hub, struct hub_peer *peer, rota_object_id object)
{
    wire_text all[HUB_SOURCES + 1], near[HUB_SOURCES + 1];
    char ticket[HUB_TICKET];
    if (!hub_ticket_make(hub, ticket)) {
        hub_refuse(peer, peer->read_high, peer->read_low, WIRE_REFUSED_STATE, "no randomness");
        return;
    }
    uint32_t count = hub_sources(hub, object, NULL, ticket, all);
    memcpy(near, all, sizeof near);
    uint32_t close = reachable(peer, near, count);
    if (close) {
        fetch_put(hub, peer, object, ticket, (wire_texts){near, close});
    } else if (hub->depot && count) {
        reader_add(hub, peer, object);
        fetch_put(hub, hub->depot, object, ticket, (wire_texts){all, count});
    } else {
        hub_refuse(peer, peer->read_high, peer->read_low, WIRE_REFUSED_STATE,
                   count ? "no worker that has it can be reached, and this server keeps no files"
                         : "the workers that have it are away");
    }
}

void hub_read_put(struct hub *hub, const struct rota_action *action)
{
    for (struct hub_peer *peer = hub->peers; peer; peer = peer->next) {
        if (peer->worker || client_of(hub, peer->number) != action->read.client) continue;
        if (action->read.there)
            grant(hub, peer, action->read.object);
        else
            hub_refuse(peer, peer->read_high, peer->read_low, WIRE_REFUSED_NOT_FOUND,
                       "it will not be made");
        return;
    }
}

void hub_readers_tell(struct hub *hub, rota_object_id object, const char *reason)
{
    for (struct hub_reader **at = &hub->readers; *at;) {
        struct hub_reader *reader = *at;
        if (reader->object.high != object.high || reader->object.low != object.low) {
            at = &reader->next;
            continue;
        }
        struct hub_peer *peer = peer_of(hub, reader->peer);
        if (peer && reason)
            hub_refuse(peer, reader->high, reader->low, WIRE_REFUSED_STATE, reason);
        else if (peer)
            grant(hub, peer, object);
        *at = reader->next;
        free(reader);
    }
}

// ---- Requests ---------------------------------------------------------------------------------

static bool is_upload(struct hub *hub, rota_object_id object)
{
    return hub_stored_find(hub, object)
           && rota_object_state(hub->server->rota, object) == ROTA_OBJECT_NONE;
}

static void read_begin(struct hub *hub, struct hub_peer *peer, const struct wire_data *data)
{
    struct rota_event event = {.kind = ROTA_EVENT_READ};
    peer->through = data->verb == WIRE_DATA_THROUGH;
    peer->read_high = data->high;
    peer->read_low = data->low;
    if (is_upload(hub, data->object)) {
        grant(hub, peer, data->object);
        return;
    }
    event.object.client = client_of(hub, peer->number);
    event.object.object = data->object;
    enum rota_error error = server_step(hub->server, &event);
    if (error) hub_refuse_error(hub, peer, data->high, data->low, error);
}

static void change(struct hub *hub, struct hub_peer *peer, const struct wire_data *data)
{
    struct rota_event event = {.kind = ROTA_EVENT_KEEP};
    uint64_t hash = hash_mix(hash_mix(data->verb, data->object.high), data->object.low);
    if (hub_request_is_old(hub, peer, data->high, data->low, hash)) return;
    if (data->verb == WIRE_DATA_RELEASE) event.kind = ROTA_EVENT_RELEASE;
    event.object.object = data->object;
    bool is_ours = is_upload(hub, data->object);
    if (is_ours && data->verb == WIRE_DATA_RELEASE) hub_depot_drop(hub, data->object);
    enum rota_error error = is_ours ? ROTA_OK : server_step(hub->server, &event);
    if (error) {
        hub_refuse_error(hub, peer, data->high, data->low, error);
        return;
    }
    hub_request_note(hub, data->high, data->low, hash, "done");
    hub_done_put(hub_later(hub, peer), data->high, data->low, "done");
}

void hub_data(struct hub *hub, struct hub_peer *peer, const struct wire_data *data)
{
    switch (data->verb) {
    case WIRE_DATA_READ:
    case WIRE_DATA_THROUGH: read_begin(hub, peer, data); return;
    case WIRE_DATA_KEEP:
    case WIRE_DATA_RELEASE: change(hub, peer, data); return;
    default: hub_refuse(peer, data->high, data->low, WIRE_REFUSED_REQUEST, "no such verb");
    }
}
