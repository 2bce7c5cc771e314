// object_reads.c - requests of clients for objects.
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"
#include "server/cluster/request.h"

#include <stdlib.h>
#include <string.h>

static const rota_worker_id nobody;

// A request of a client that has not been answered.
struct cluster_reader {
    struct cluster_reader *next;
    struct cluster_peer *peer;
    uint64_t high, low;
    rota_object_id object;
    bool through;     // the client cannot reach workers
    bool is_granted;  // it exists, and is on its way to the object store
    bool is_forged;   // a worker sent false content to the object store
    uint32_t again;   // how often it was tried again for that reason
};

// The core keeps waiting reads over a restart; connections get new numbers then.
static uint64_t client_of(const struct cluster *cluster, uint64_t peer)
{
    return hash_mix(hash_mix(cluster->id, cluster->opened), peer) | 1;
}

static void fetch_put(struct cluster *cluster, struct cluster_peer *peer, rota_object_id object,
                      const char *ticket, wire_texts addresses)
{
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    message.fetch.object = object;
    cluster_content_fill(cluster, &message.fetch);
    message.fetch.ticket = wire_text_of(ticket);
    message.fetch.addresses = addresses;
    wire_put(cluster_later(cluster, peer), &message);
}

// A client on this machine can reach Unix sockets of workers on it.
static uint32_t reachable(const struct cluster_reader *reader, wire_text *addresses, uint32_t count)
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

static void refuse(const struct cluster_reader *reader, enum wire_code code, const char *reason)
{
    cluster_refuse(reader->peer, reader->high, reader->low, code, reason);
}

// The object exists: the client fetches it itself, or the object store does so for it. True: the
// object store fetches it, and the reader waits.
static bool grant(struct cluster *cluster, const struct cluster_reader *reader,
                  rota_worker_id first)
{
    wire_text all[CLUSTER_SOURCES + 1], near[CLUSTER_SOURCES + 1];
    struct cluster_ticket ticket;
    if (!cluster_ticket_make(cluster, &ticket)) {
        refuse(reader, WIRE_REFUSED_STATE, "cannot read random bytes from the system");
        return false;
    }
    ticket.client = reader->peer->share->number;
    uint32_t count = cluster_sources(cluster, reader->object, NULL, first, &ticket, all);
    memcpy(near, all, sizeof near);
    uint32_t close = reachable(reader, near, count);
    if (close) {
        fetch_put(cluster, reader->peer, reader->object, ticket.text, (wire_texts){near, close});
        return false;
    }
    if (cluster->object_store && count) {
        fetch_put(cluster, cluster->object_store, reader->object, ticket.text,
                  (wire_texts){all, count});
        return true;
    }
    refuse(reader, WIRE_REFUSED_STATE,
           count ? "no worker that has it can be reached, and this server has no object store"
                 : "the workers that have it are disconnected");
    return false;
}

// ---- Waiting clients ------------------------------------------------------------------------

static void reader_add(struct cluster *cluster, const struct cluster_reader *like)
{
    struct cluster_reader *reader = cluster_allocate(1, sizeof *reader);
    *reader = *like;
    if (!cluster->readers) cluster->readers_end = &cluster->readers;
    *cluster->readers_end = reader;
    cluster->readers_end = &reader->next;
    reader->peer->reads++;
    cluster_share_use(reader->peer->share, CLUSTER_SHARE_READS, 1);
}

static void reader_remove(struct cluster *cluster, struct cluster_reader **at)
{
    struct cluster_reader *reader = *at;
    *at = reader->next;
    if (!reader->next) cluster->readers_end = at;
    reader->peer->reads--;
    cluster_share_return(reader->peer->share, CLUSTER_SHARE_READS, 1);
    free(reader);
}

// Each request has its own answer, so a client may ask for several objects at once, or for the same
// one several times.
void cluster_read_put(struct cluster *cluster, const struct rota_action *action)
{
    for (struct cluster_reader **at = &cluster->readers; *at; at = &(*at)->next) {
        struct cluster_reader *reader = *at;
        bool is_meant = !reader->is_granted && SAME_ID(reader->object, action->read.object)
                        && client_of(cluster, reader->peer->number) == action->read.client;
        if (!is_meant) continue;
        if (!action->read.there)
            refuse(reader, WIRE_REFUSED_NOT_FOUND, "the object will not be made");
        else
            reader->is_granted = grant(cluster, reader, action->read.from);
        if (!reader->is_granted) reader_remove(cluster, at);
        return;
    }
}

void cluster_readers_forged(struct cluster *cluster, rota_object_id object)
{
    for (struct cluster_reader *at = cluster->readers; at; at = at->next)
        at->is_forged |= at->is_granted && SAME_ID(at->object, object);
}

// The object store did not get it because a source sent false content. That source is no longer
// asked, so others are, or the object is made again. True: the reader waits for that.
static bool read_again(struct cluster *cluster, struct cluster_reader *reader)
{
    enum { AGAIN_MAX = 8 };
    struct rota_event event = {.kind = ROTA_EVENT_READ};
    if (!reader->is_forged || reader->again++ >= AGAIN_MAX) return false;
    event.object.client = client_of(cluster, reader->peer->number);
    event.object.object = reader->object;
    if (server_step(cluster->server, &event)) return false;
    reader->is_granted = reader->is_forged = false;
    return true;
}

void cluster_readers_tell(struct cluster *cluster, rota_object_id object, const char *reason)
{
    for (struct cluster_reader **at = &cluster->readers; *at;) {
        struct cluster_reader *reader = *at;
        bool is_meant = reader->is_granted && SAME_ID(reader->object, object);
        if (is_meant && reason && read_again(cluster, reader)) is_meant = false;
        if (is_meant && reason) refuse(reader, WIRE_REFUSED_STATE, reason);
        if (is_meant && (reason || !grant(cluster, reader, nobody)))
            reader_remove(cluster, at);
        else
            at = &reader->next;
    }
}

void cluster_readers_forget(struct cluster *cluster, const struct cluster_peer *peer)
{
    for (struct cluster_reader **at = &cluster->readers; *at && (!peer || peer->reads);) {
        if (!peer || (*at)->peer == peer)
            reader_remove(cluster, at);
        else
            at = &(*at)->next;
    }
}

static bool may_wait(struct cluster *cluster, const struct cluster_reader *reader)
{
    if (reader->peer->reads >= CLUSTER_READS_MAX) {
        refuse(reader, WIRE_REFUSED_FULL, "too many objects are requested at once");
        return false;
    }
    if (cluster_share_fits(cluster, reader->peer->share, CLUSTER_SHARE_READS, 1)) return true;
    refuse(reader, WIRE_REFUSED_BUSY, "busy, try again: your key waits for too many objects");
    return false;
}

// ---- Requests ---------------------------------------------------------------------------------

static bool is_upload(struct cluster *cluster, rota_object_id object)
{
    return cluster_stored_find(cluster, object)
           && rota_object_state(cluster->server->rota, object) == ROTA_OBJECT_NONE;
}

static void read_begin(struct cluster *cluster, struct cluster_peer *peer,
                       const struct wire_data *data)
{
    struct rota_event event = {.kind = ROTA_EVENT_READ};
    struct cluster_reader reader = {.peer = peer,
                                .high = data->high,
                                .low = data->low,
                                .object = data->object,
                                .through = data->verb == WIRE_DATA_THROUGH};
    if (!may_wait(cluster, &reader)) return;
    if (is_upload(cluster, data->object)) {
        reader.is_granted = grant(cluster, &reader, nobody);
        if (!reader.is_granted) return;
    } else {
        event.object.client = client_of(cluster, peer->number);
        event.object.object = data->object;
        enum rota_error error = server_step(cluster->server, &event);
        if (error) {
            cluster_refuse_error(cluster, peer, data->high, data->low, error);
            return;
        }
    }
    reader_add(cluster, &reader);
}

static void change(struct cluster *cluster, struct cluster_peer *peer, const struct wire_data *data)
{
    struct rota_event event = {.kind = ROTA_EVENT_KEEP};
    uint64_t hash = hash_mix(hash_mix(data->verb, data->object.high), data->object.low);
    struct cluster_request request = {data->high, data->low, hash};
    if (cluster_request_is_old(cluster, peer, &request)) return;
    if (data->verb == WIRE_DATA_RELEASE) event.kind = ROTA_EVENT_RELEASE;
    event.object.object = data->object;
    bool is_ours = is_upload(cluster, data->object);
    if (is_ours && data->verb == WIRE_DATA_RELEASE)
        cluster_object_store_drop(cluster, data->object);
    enum rota_error error = is_ours ? ROTA_OK : server_step(cluster->server, &event);
    if (error)
        cluster_request_fail(cluster, peer, &request, error);
    else
        cluster_request_done(cluster, peer, &request, "done");
}

void cluster_data(struct cluster *cluster, struct cluster_peer *peer, const struct wire_data *data)
{
    switch (data->verb) {
    case WIRE_DATA_READ:
    case WIRE_DATA_THROUGH: read_begin(cluster, peer, data); return;
    case WIRE_DATA_KEEP:
    case WIRE_DATA_RELEASE: change(cluster, peer, data); return;
    default: cluster_refuse(peer, data->high, data->low, WIRE_REFUSED_REQUEST, "unknown verb");
    }
}
