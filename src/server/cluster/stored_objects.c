// stored_objects.c - the objects in the server's own store, and when they can be removed.
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"

#include <stdlib.h>

enum { SWEEP_EVERY = 10000000 };
// a job that uses it may still be submitted
static const rota_time unclaimed = 3600 * (rota_time)1000000;
static const rota_time copied = 600 * (rota_time)1000000;

struct cluster_stored *cluster_stored_find(struct cluster *cluster, rota_object_id object)
{
    uint32_t at = map_find(&cluster->stored_by_hash, ID_HASH(object));
    struct cluster_stored *stored = at ? &cluster->stored[at - 1] : NULL;
    bool is_it = stored && SAME_ID(stored->object, object);
    return is_it ? stored : NULL;
}

// Two objects with the same hash of their id: the older one is dropped from the index, and would be
// uploaded again.
static void stored_add(struct cluster *cluster, const struct wire_file *file)
{
    struct cluster_stored *stored = cluster_stored_find(cluster, file->object);
    if (!stored) {
        bool there = map_reserve(&memory_heap, &cluster->stored_by_hash, 1)
                     && ARRAY_MORE(&memory_heap, cluster->stored, cluster->stored_count,
                                   cluster->stored_capacity);
        if (!there) cluster_no_memory();
        stored = &cluster->stored[cluster->stored_count++];
        *stored = (struct cluster_stored){.object = file->object};
        map_put(&cluster->stored_by_hash, ID_HASH(file->object), cluster->stored_count);
    }
    stored->bytes = file->bytes;
    stored->content = file->content;
    stored->seen = cluster->ticks;
}

static void stored_remove(struct cluster *cluster, struct cluster_stored *stored)
{
    uint32_t at = (uint32_t)(stored - cluster->stored);
    const struct cluster_stored *last = &cluster->stored[--cluster->stored_count];
    map_remove(&cluster->stored_by_hash, ID_HASH(stored->object));
    if (stored == last) return;
    *stored = *last;
    map_put(&cluster->stored_by_hash, ID_HASH(stored->object), at + 1);
}

void cluster_object_store_set(struct cluster *cluster, struct cluster_peer *peer)
{
    cluster->object_store = peer;
}

void cluster_object_store_close(struct cluster *cluster)
{
    free(cluster->stored);
    map_release(&memory_heap, &cluster->stored_by_hash);
    cluster_readers_forget(cluster, NULL);
}

bool cluster_object_store_take(struct cluster *cluster, const struct wire_message *message)
{
    if (message->kind == WIRE_MISSED_MESSAGE) {
        cluster_readers_tell(cluster, message->missed.object, message->missed.reason.bytes);
        return true;
    }
    if (message->kind == WIRE_FORGED_MESSAGE)
        return cluster_forged(cluster, cluster->object_store, &message->forged);
    if (message->kind == WIRE_BROUGHT_MESSAGE) return true;  // for the audit log
    if (message->kind == WIRE_HELD_ALL_MESSAGE) return cluster->object_store_is_known = true;
    if (message->kind != WIRE_HELD_MESSAGE) return false;
    for (uint32_t i = 0; i < message->held.objects.count; i++) {
        stored_add(cluster, &message->held.objects.items[i]);
        cluster_readers_tell(cluster, message->held.objects.items[i].object, NULL);
    }
    return true;
}

// ---- Objects that are not needed ------------------------------------------------------------

void cluster_object_store_drop(struct cluster *cluster, rota_object_id object)
{
    struct wire_file file = {.name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    struct cluster_stored *stored = cluster_stored_find(cluster, object);
    if (!stored || !cluster->object_store) return;
    file.object = object;
    file.content = stored->content;
    message.drop.objects = (wire_files){&file, 1};
    wire_put(cluster_later(cluster, cluster->object_store), &message);
    stored_remove(cluster, stored);
}

static bool is_needed(const struct cluster *cluster, const struct cluster_stored *stored)
{
    enum rota_object_state state = rota_object_state(cluster->server->rota, stored->object);
    rota_time age = cluster->ticks - stored->seen;
    if (wire_is_named(stored->object)) return true;
    if (!wire_is_upload(stored->object)) return age < copied;
    if (state == ROTA_OBJECT_NONE) return age < unclaimed;
    return state != ROTA_OBJECT_REMOVED;
}

void cluster_object_store_sweep(struct cluster *cluster)
{
    if (!cluster->object_store || cluster->ticks < cluster->sweep_at) return;
    cluster->sweep_at = cluster->ticks + SWEEP_EVERY;
    for (uint32_t i = cluster->stored_count; i-- > 0;)
        if (!is_needed(cluster, &cluster->stored[i]))
            cluster_object_store_drop(cluster, cluster->stored[i].object);
}
