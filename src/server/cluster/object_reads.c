// object_reads.c - clients that want an object, or no longer do.
#include "server/cluster/replicas.h"
#include "server/cluster/request.h"

#include <stdlib.h>
#include <string.h>

static const rota_worker_id nobody;

// A request of a client that has no answer yet.
struct hub_reader {
    struct hub_reader *next;
    struct hub_peer *peer;
    uint64_t high, low;
    rota_object_id object;
    bool through;     // no worker can be reached from there
    bool is_granted;  // it is made, and on its way to the depot
    bool is_forged;   // somebody sent other bytes to the depot
    uint32_t again;   // so often for that reason
};

// The core keeps who waits over a restart; a connection is another one then.
static uint64_t client_of(const struct hub *hub, uint64_t peer)
{
    return hash_mix(hash_mix(hub->id, hub->opened), peer) | 1;
}

static void fetch_put(struct hub *hub, struct hub_peer *peer, rota_object_id object,
                      const char *ticket, wire_texts addresses)
{
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    message.fetch.object = object;
    hub_content_fill(hub, &message.fetch);
    message.fetch.ticket = wire_text_of(ticket);
    message.fetch.addresses = addresses;
    wire_put(hub_later(hub, peer), &message);
}

// A client on this machine reaches the sockets of workers that are on it too.
static uint32_t reachable(const struct hub_reader *reader, wire_text *addresses, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_path = addresses[i].bytes[0] == '/';
        bool is_home = !is_path && !memchr(addresses[i].bytes, ':', addresses[i].length);
        if (is_home || (is_path && !reader->peer->id[0] && !reader->through))
            addresses[kept++] = addresses[i];
    }
    return kept;
}

static void refuse(const struct hub_reader *reader, enum wire_code code, const char *reason)
{
    hub_refuse(reader->peer, reader->high, reader->low, code, reason);
}

// It is there: the client fetches it itself, or the depot does so for it. True: that is begun, and
// the reader waits for it.
static bool grant(struct hub *hub, const struct hub_reader *reader, rota_worker_id first)
{
    wire_text all[HUB_SOURCES + 1], near[HUB_SOURCES + 1];
    struct hub_ticket ticket;
    if (!hub_ticket_make(hub, &ticket)) {
        refuse(reader, WIRE_REFUSED_STATE, "no randomness");
        return false;
    }
    ticket.client = reader->peer->share->number;
    uint32_t count = hub_sources(hub, reader->object, NULL, first, &ticket, all);
    memcpy(near, all, sizeof near);
    uint32_t close = reachable(reader, near, count);
    if (close) {
        fetch_put(hub, reader->peer, reader->object, ticket.text, (wire_texts){near, close});
        return false;
    }
    if (hub->depot && count) {
        fetch_put(hub, hub->depot, reader->object, ticket.text, (wire_texts){all, count});
        return true;
    }
    refuse(reader, WIRE_REFUSED_STATE,
           count ? "no worker that has it can be reached, and this server keeps no files"
                 : "the workers that have it are away");
    return false;
}

// ---- Who waits ---------------------------------------------------------------------------------

static void reader_add(struct hub *hub, const struct hub_reader *like)
{
    struct hub_reader *reader = hub_allocate(1, sizeof *reader);
    *reader = *like;
    if (!hub->readers) hub->readers_end = &hub->readers;
    *hub->readers_end = reader;
    hub->readers_end = &reader->next;
    reader->peer->reads++;
    hub_share_use(reader->peer->share, HUB_SHARE_READS, 1);
}

static void reader_remove(struct hub *hub, struct hub_reader **at)
{
    struct hub_reader *reader = *at;
    *at = reader->next;
    if (!reader->next) hub->readers_end = at;
    reader->peer->reads--;
    hub_share_return(reader->peer->share, HUB_SHARE_READS, 1);
    free(reader);
}

static bool is_same(rota_object_id one, rota_object_id other)
{
    return one.high == other.high && one.low == other.low;
}

// Each request has its own answer, so a client may ask for several objects at once, or for one
// several times.
void hub_read_put(struct hub *hub, const struct rota_action *action)
{
    for (struct hub_reader **at = &hub->readers; *at; at = &(*at)->next) {
        struct hub_reader *reader = *at;
        bool is_meant = !reader->is_granted && is_same(reader->object, action->read.object)
                        && client_of(hub, reader->peer->number) == action->read.client;
        if (!is_meant) continue;
        if (!action->read.there)
            refuse(reader, WIRE_REFUSED_NOT_FOUND, "it will not be made");
        else
            reader->is_granted = grant(hub, reader, action->read.from);
        if (!reader->is_granted) reader_remove(hub, at);
        return;
    }
}

void hub_readers_forged(struct hub *hub, rota_object_id object)
{
    for (struct hub_reader *at = hub->readers; at; at = at->next)
        at->is_forged |= at->is_granted && is_same(at->object, object);
}

// The depot did not get it because somebody lied: who does is no longer asked, so others are, or it
// is made again. True: the reader waits for that.
static bool read_again(struct hub *hub, struct hub_reader *reader)
{
    enum { AGAIN_MAX = 8 };
    struct rota_event event = {.kind = ROTA_EVENT_READ};
    if (!reader->is_forged || reader->again++ >= AGAIN_MAX) return false;
    event.object.client = client_of(hub, reader->peer->number);
    event.object.object = reader->object;
    if (server_step(hub->server, &event)) return false;
    reader->is_granted = reader->is_forged = false;
    return true;
}

void hub_readers_tell(struct hub *hub, rota_object_id object, const char *reason)
{
    for (struct hub_reader **at = &hub->readers; *at;) {
        struct hub_reader *reader = *at;
        bool is_meant = reader->is_granted && is_same(reader->object, object);
        if (is_meant && reason && read_again(hub, reader)) is_meant = false;
        if (is_meant && reason) refuse(reader, WIRE_REFUSED_STATE, reason);
        if (is_meant && (reason || !grant(hub, reader, nobody)))
            reader_remove(hub, at);
        else
            at = &reader->next;
    }
}

void hub_readers_forget(struct hub *hub, const struct hub_peer *peer)
{
    for (struct hub_reader **at = &hub->readers; *at && (!peer || peer->reads);) {
        if (!peer || (*at)->peer == peer)
            reader_remove(hub, at);
        else
            at = &(*at)->next;
    }
}

static bool may_wait(struct hub *hub, const struct hub_reader *reader)
{
    if (reader->peer->reads >= HUB_READS_MAX) {
        refuse(reader, WIRE_REFUSED_FULL, "too many objects are asked for at once");
        return false;
    }
    if (hub_share_fits(hub, reader->peer->share, HUB_SHARE_READS, 1)) return true;
    refuse(reader, WIRE_REFUSED_BUSY, "busy, try again: your key waits for too many objects");
    return false;
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
    struct hub_reader reader = {.peer = peer,
                                .high = data->high,
                                .low = data->low,
                                .object = data->object,
                                .through = data->verb == WIRE_DATA_THROUGH};
    if (!may_wait(hub, &reader)) return;
    if (is_upload(hub, data->object)) {
        reader.is_granted = grant(hub, &reader, nobody);
        if (!reader.is_granted) return;
    } else {
        event.object.client = client_of(hub, peer->number);
        event.object.object = data->object;
        enum rota_error error = server_step(hub->server, &event);
        if (error) {
            hub_refuse_error(hub, peer, data->high, data->low, error);
            return;
        }
    }
    reader_add(hub, &reader);
}

static void change(struct hub *hub, struct hub_peer *peer, const struct wire_data *data)
{
    struct rota_event event = {.kind = ROTA_EVENT_KEEP};
    uint64_t hash = hash_mix(hash_mix(data->verb, data->object.high), data->object.low);
    struct hub_request request = {data->high, data->low, hash};
    if (hub_request_is_old(hub, peer, &request)) return;
    if (data->verb == WIRE_DATA_RELEASE) event.kind = ROTA_EVENT_RELEASE;
    event.object.object = data->object;
    bool is_ours = is_upload(hub, data->object);
    if (is_ours && data->verb == WIRE_DATA_RELEASE) hub_depot_drop(hub, data->object);
    enum rota_error error = is_ours ? ROTA_OK : server_step(hub->server, &event);
    if (error)
        hub_request_fail(hub, peer, &request, error);
    else
        hub_request_done(hub, peer, &request, "done");
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
