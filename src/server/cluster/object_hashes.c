// object_hashes.c - recorded hashes of objects, and workers that send other content.
//
// The content is the one reported by the attempt that made the object, or by the client that
// uploaded it. HELD from a worker is only a hint: every receiver compares the hash, and reports a
// source of other bytes with FORGED.
#include "base/planted.h"
#include "server/cluster/objects.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"

#include <string.h>

// Of two entries with the same slot the older one is dropped: it is only asked again.
enum { BAD_SOURCES = 4096 };
struct cluster_bad_source {
    rota_object_id object;
    rota_worker_id worker;
    struct rota_content content;  // the content it should have had
};

void cluster_content_fill(struct cluster *cluster, struct wire_fetch *fetch)
{
    const struct rota *rota = cluster->server->rota;
    const struct cluster_stored *stored = cluster_stored_find(cluster, fetch->object);
    bool is_known = rota_object_content(rota, fetch->object, &fetch->content);
    fetch->bytes = rota_object_bytes(rota, fetch->object);
    bool is_ours = rota_object_state(rota, fetch->object) == ROTA_OBJECT_NONE && stored;
    if (is_ours) fetch->bytes = stored->bytes;
    if (is_ours && !is_known) fetch->content = stored->content;
    if (PLANTED(CONTENT_UNSAID)) fetch->content.kind = 0;
}

bool cluster_is_false(const struct cluster *cluster, const struct wire_file *file)
{
    struct rota_content content;
    return rota_object_content(cluster->server->rota, file->object, &content)
           && !wire_content_is(&content, &file->content);
}

// ---- Workers that sent false content --------------------------------------------------------

static struct cluster_bad_source *place_of(const struct cluster *cluster, rota_object_id object,
                                           rota_worker_id worker)
{
    uint64_t hash = hash_mix(ID_HASH(object), worker.number);
    return &cluster->bad_sources[hash % BAD_SOURCES];
}

// Null: the worker is not known as a source of false content.
static struct cluster_bad_source *bad_source_find(const struct cluster *cluster,
                                                  rota_object_id object, rota_worker_id worker)
{
    if (!cluster->bad_sources) return NULL;
    struct cluster_bad_source *source = place_of(cluster, object, worker);
    bool is_it = SAME_ID(source->object, object) && source->worker.number == worker.number;
    return is_it ? source : NULL;
}

bool cluster_is_bad_source(const struct cluster *cluster, rota_object_id object,
                           rota_worker_id worker)
{
    struct rota_content content;
    const struct cluster_bad_source *source = bad_source_find(cluster, object, worker);
    return source && rota_object_content(cluster->server->rota, object, &content)
           && wire_content_is(&content, &source->content);
}

void cluster_bad_sources_forget(struct cluster *cluster, rota_worker_id worker,
                                const wire_files *made)
{
    for (uint32_t i = 0; i < made->count; i++) {
        struct cluster_bad_source *source = bad_source_find(cluster, made->items[i].object, worker);
        if (source) *source = (struct cluster_bad_source){0};
    }
}

static void bad_source_note(struct cluster *cluster, rota_object_id object, rota_worker_id worker)
{
    struct cluster_bad_source source = {.object = object, .worker = worker};
    if (!rota_object_content(cluster->server->rota, object, &source.content)) return;
    if (!cluster->bad_sources)
        cluster->bad_sources = cluster_allocate(BAD_SOURCES, sizeof *cluster->bad_sources);
    *place_of(cluster, object, worker) = source;
}

static const struct cluster_worker *holder_find(const struct cluster *cluster,
                                                const struct wire_forged *forged)
{
    for (uint32_t i = 0; i < cluster->worker_count; i++) {
        const struct cluster_worker *worker = cluster->workers[i];
        if (worker->address[0] && strcmp(worker->address, forged->address.bytes) == 0
            && cluster_is_held(cluster, forged->object, worker->id))
            return worker;
    }
    return NULL;
}

// The server's own store may have a copy of an object that was made again since; uploads it keeps.
static bool stored_is_false(struct cluster *cluster, rota_object_id object)
{
    const struct cluster_stored *stored = cluster_stored_find(cluster, object);
    struct rota_content content;
    return stored && rota_object_content(cluster->server->rota, object, &content)
           && !wire_content_is(&content, &stored->content);
}

// A worker can have copies of others dropped in this way; an object without copies is made again.
bool cluster_forged(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_forged *forged)
{
    const struct cluster_worker *holder = holder_find(cluster, forged);
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_LOST};
    if (!holder || holder == peer->worker) {
        if (stored_is_false(cluster, forged->object))
            cluster_object_store_drop(cluster, forged->object);
        cluster_note_refusal(peer, WIRE_REFUSED_NOT_FOUND,
                             "no worker there is known to hold that object");
        return true;
    }
    bad_source_note(cluster, forged->object, holder->id);
    cluster_readers_forged(cluster, forged->object);
    event.replica.worker = holder->id;
    event.replica.object = forged->object;
    server_step(cluster->server, &event);
    cluster_ahead_news(cluster);
    return true;
}
