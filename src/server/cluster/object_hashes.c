// object_hashes.c - what objects consist of, and workers that claim to hold something else.
//
// The content is the word of the attempt that made the object, or of the client that brought it. A
// worker that says HELD is only a hint: every receiver compares the hash, and reports a source of
// other bytes with FORGED.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"

#include <string.h>

// Of two that share a place the older one is forgotten: it is only asked once more.
enum { LIARS = 4096 };
struct hub_liar {
    rota_object_id object;
    rota_worker_id worker;
    struct rota_content content;  // that it should have had
};

void hub_content_fill(struct hub *hub, struct wire_fetch *fetch)
{
    const struct rota *rota = hub->server->rota;
    const struct hub_stored *stored = hub_stored_find(hub, fetch->object);
    bool is_known = rota_object_content(rota, fetch->object, &fetch->content);
    fetch->bytes = rota_object_bytes(rota, fetch->object);
    bool is_ours = rota_object_state(rota, fetch->object) == ROTA_OBJECT_NONE && stored;
    if (is_ours) fetch->bytes = stored->bytes;
    if (is_ours && !is_known) fetch->content = stored->content;
    if (PLANTED(CONTENT_UNSAID)) fetch->content.kind = 0;
}

bool hub_is_false(const struct hub *hub, const struct wire_file *file)
{
    struct rota_content content;
    return rota_object_content(hub->server->rota, file->object, &content)
           && !wire_content_is(&content, &file->content);
}

// ---- Liars -------------------------------------------------------------------------------------

static struct hub_liar *place_of(const struct hub *hub, rota_object_id object,
                                 rota_worker_id worker)
{
    uint64_t hash = hash_mix(hash_mix(object.high, object.low), worker.number);
    return &hub->liars[hash % LIARS];
}

// Null: nobody has said so of this worker, or that is forgotten.
static struct hub_liar *liar_find(const struct hub *hub, rota_object_id object,
                                  rota_worker_id worker)
{
    if (!hub->liars) return NULL;
    struct hub_liar *liar = place_of(hub, object, worker);
    bool is_it = liar->object.high == object.high && liar->object.low == object.low
                 && liar->worker.number == worker.number;
    return is_it ? liar : NULL;
}

bool hub_is_liar(const struct hub *hub, rota_object_id object, rota_worker_id worker)
{
    struct rota_content content;
    const struct hub_liar *liar = liar_find(hub, object, worker);
    return liar && rota_object_content(hub->server->rota, object, &content)
           && wire_content_is(&content, &liar->content);
}

void hub_liars_forget(struct hub *hub, rota_worker_id worker, const wire_files *made)
{
    for (uint32_t i = 0; i < made->count; i++) {
        struct hub_liar *liar = liar_find(hub, made->items[i].object, worker);
        if (liar) *liar = (struct hub_liar){0};
    }
}

static void liar_note(struct hub *hub, rota_object_id object, rota_worker_id worker)
{
    struct hub_liar liar = {.object = object, .worker = worker};
    if (!rota_object_content(hub->server->rota, object, &liar.content)) return;
    if (!hub->liars) hub->liars = hub_allocate(LIARS, sizeof *hub->liars);
    *place_of(hub, object, worker) = liar;
}

static const struct hub_worker *holder_find(const struct hub *hub, const struct wire_forged *forged)
{
    for (uint32_t i = 0; i < hub->worker_count; i++) {
        const struct hub_worker *worker = hub->workers[i];
        if (worker->address[0] && strcmp(worker->address, forged->address.bytes) == 0
            && hub_is_held(hub, forged->object, worker->id))
            return worker;
    }
    return NULL;
}

// The server's own store may have a copy of what was made again since; uploads it keeps.
static bool stored_is_false(struct hub *hub, rota_object_id object)
{
    const struct hub_stored *stored = hub_stored_find(hub, object);
    struct rota_content content;
    return stored && rota_object_content(hub->server->rota, object, &content)
           && !wire_content_is(&content, &stored->content);
}

// A worker can get rid of others' copies in this way; what nobody has is made again.
bool hub_forged(struct hub *hub, struct hub_peer *peer, const struct wire_forged *forged)
{
    const struct hub_worker *holder = holder_find(hub, forged);
    struct rota_event event = {.kind = ROTA_EVENT_OBJECT_LOST};
    if (!holder || holder == peer->worker) {
        if (stored_is_false(hub, forged->object)) hub_depot_drop(hub, forged->object);
        hub_note_refusal(peer, WIRE_REFUSED_NOT_FOUND, "nobody there is known to hold that object");
        return true;
    }
    liar_note(hub, forged->object, holder->id);
    hub_readers_forged(hub, forged->object);
    event.replica.worker = holder->id;
    event.replica.object = forged->object;
    server_step(hub->server, &event);
    hub_ahead_news(hub);
    return true;
}
