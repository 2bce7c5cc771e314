// object_moves.c - moves objects between workers: sources, tickets, and failed fetches.
#include "base/planted.h"
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"

#include <stdio.h>

#define CLUSTER_HOME "server"  // in place of an address: the server that sends the message

enum { VALID = 60000000 };

// The text of a ticket; different each time.
bool cluster_ticket_make(const struct cluster *cluster, struct cluster_ticket *out)
{
    uint8_t bytes[sizeof out->text / 2];
    out->client = 0;
    if (!cluster->limits.random || !cluster->limits.random(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out->text + i * 2, 3, "%02x", bytes[i]);
    return true;
}

static void cluster_serve_put(struct cluster *cluster, struct cluster_peer *source,
                              rota_object_id object, const struct cluster_ticket *ticket)
{
    struct wire_message message = {.kind = WIRE_SERVE_MESSAGE};
    message.serve.object = object;
    message.serve.ticket = wire_text_of(ticket->text);
    message.serve.client = ticket->client;
    message.serve.valid = VALID;
    wire_put(cluster_later(cluster, source), &message);
}

static bool can_serve(const struct cluster_worker *source, const struct cluster_worker *reader)
{
    return source && source->peer && source->address[0] && source != reader;
}

// All workers that have it, and the index of the preferred one.
static rota_worker_id *holders_find(struct cluster *cluster, rota_object_id object,
                                    rota_worker_id first, uint32_t *count, uint32_t *at)
{
    const struct rota *rota = cluster->server->rota;
    *count = rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0);
    *at = 0;
    if (!*count) return NULL;
    rota_worker_id *holders = cluster_keep(cluster, *count, sizeof *holders);
    rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, *count);
    for (uint32_t i = 0; i < *count; i++)
        if (holders[i].number == first.number) *at = i;
    return holders;
}

uint32_t cluster_sources(struct cluster *cluster, rota_object_id object,
                         const struct cluster_worker *reader, rota_worker_id first,
                         const struct cluster_ticket *ticket,
                         wire_text addresses[CLUSTER_SOURCES + 1])
{
    uint32_t found = 0, count, at;
    const rota_worker_id *holders = holders_find(cluster, object, first, &count, &at);
    for (uint32_t i = 0; i < count && found < CLUSTER_SOURCES; i++) {
        struct cluster_worker *source = cluster_worker_get(cluster, holders[(at + i) % count]);
        if (!can_serve(source, reader)
            || cluster_is_bad_source(cluster, object, holders[(at + i) % count]))
            continue;
        addresses[found++] = wire_text_of(source->address);
        cluster_serve_put(cluster, source->peer, object, ticket);
    }
    struct cluster_stored *stored = cluster_stored_find(cluster, object);
    if (!stored || !cluster->object_store) return found;
    if (cluster_is_false(cluster,
                         &(struct wire_file){.object = object, .content = stored->content})) {
        cluster_object_store_drop(cluster, object);  // it was made again since
        return found;
    }
    stored->seen = cluster->ticks;
    addresses[found++] = wire_text_of(CLUSTER_HOME);
    cluster_serve_put(cluster, cluster->object_store, object, ticket);
    return found;
}

// If the source chosen by the core fails, the others are asked.
void cluster_fetch_put(struct cluster *cluster, const struct rota_action *action)
{
    struct cluster_worker *reader = cluster_worker_get(cluster, action->fetch.worker);
    wire_text addresses[CLUSTER_SOURCES + 1];
    struct cluster_ticket ticket;
    struct wire_message message = {.kind = WIRE_FETCH_MESSAGE};
    rota_object_id object = action->fetch.object;
    if (!reader || !reader->peer || !cluster_ticket_make(cluster, &ticket)) return;
    message.fetch.object = object;
    cluster_content_fill(cluster, &message.fetch);
    message.fetch.ticket = wire_text_of(ticket.text);
    message.fetch.addresses.items = addresses;
    message.fetch.addresses.count
        = cluster_sources(cluster, object, reader, action->fetch.from, &ticket, addresses);
    wire_put(cluster_later(cluster, reader->peer), &message);
}

// For a stream whose reader and writer run on different workers.
void cluster_flow_put(struct cluster *cluster, const struct rota_action *action)
{
    rota_worker_id to = action->stream.to, from = action->stream.worker;
    struct cluster_worker *reader = to.number ? cluster_worker_get(cluster, to) : NULL;
    struct cluster_worker *source = cluster_worker_get(cluster, from);
    struct wire_message message = {.kind = WIRE_FLOW_MESSAGE};
    struct cluster_ticket ticket;
    if (!reader || !reader->peer || to.number == from.number) return;
    if (PLANTED(FLOW_UNSAID)) return;
    if (!cluster_ticket_make(cluster, &ticket)) return;
    bool can = can_serve(source, reader);
    if (can) cluster_serve_put(cluster, source->peer, action->stream.object, &ticket);
    message.flow.object = action->stream.object;
    message.flow.address = wire_text_of(can ? source->address : "");
    message.flow.ticket = wire_text_of(ticket.text);
    wire_put(cluster_later(cluster, reader->peer), &message);
}

// ---- Failed fetches -------------------------------------------------------------------------

static void holder_ask(struct cluster *cluster, const struct cluster_worker *holder,
                       rota_object_id object)
{
    struct wire_file file = {.object = object, .name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_SHOW_MESSAGE};
    message.show.objects = (wire_files){&file, 1};
    wire_put(cluster_later(cluster, holder->peer), &message);
}

static void holder_lost(struct cluster *cluster, rota_worker_id holder, rota_object_id object)
{
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_LOST};
    event.replica.worker = holder;
    event.replica.object = object;
    server_step(cluster->server, &event);
}

// How often the object was missed. Of two with the same slot the older one is dropped: its copies
// are trusted a little longer.
static uint32_t doubt(struct cluster *cluster, rota_object_id object)
{
    if (!cluster->doubts)
        cluster->doubts = cluster_allocate(CLUSTER_UNVERIFIED_MAX, sizeof *cluster->doubts);
    struct cluster_unverified *at = &cluster->doubts[ID_HASH(object) % CLUSTER_UNVERIFIED_MAX];
    bool same = SAME_ID(at->object, object);
    if (!same) *at = (struct cluster_unverified){.object = object};
    return ++at->missed;
}

// A copy is lost only when its holder says so: a holder that could not be reached may still have
// it, so it is asked to verify its copy. A copy that was verified and still cannot be fetched is
// useless: then the core has to find another way. If the object made again cannot be fetched
// either, the attempts that lack it count as tries, until their task ends.
void cluster_missed(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_missed *missed)
{
    rota_worker_id holders[CLUSTER_SOURCES];
    uint32_t count = rota_object_workers(cluster->server->rota, missed->object, ROTA_SET_LOCATED,
                                         holders, CLUSTER_SOURCES);
    uint32_t missing = count ? doubt(cluster, missed->object) : 0;
    bool again = missing >= CLUSTER_MISSED_MAX && missing < CLUSTER_MISSED_MAX + CLUSTER_REMADE_MAX;
    for (uint32_t i = 0; i < count && i < CLUSTER_SOURCES; i++) {
        const struct cluster_worker *holder = cluster_worker_get(cluster, holders[i]);
        if (!can_serve(holder, peer->worker)) continue;
        if (again)
            holder_lost(cluster, holders[i], missed->object);
        else
            holder_ask(cluster, holder, missed->object);
    }
}
