// object_store.c - what lies in the server's own store, and when nobody needs it any more.
#include "server/cluster/replicas.h"

#include <stdlib.h>

static const struct memory heap = {memory_resize_heap, NULL};

enum { SWEEP_EVERY = 10000000 };
static const rota_time unclaimed = 3600 * (rota_time)1000000;  // a job may still be on its way
static const rota_time copied = 600 * (rota_time)1000000;

static uint64_t hash_of(rota_object_id object)
{
    return hash_mix(object.high, object.low);
}

struct hub_stored *hub_stored_find(struct hub *hub, rota_object_id object)
{
    uint32_t at = map_find(&hub->stored_by_hash, hash_of(object));
    struct hub_stored *stored = at ? &hub->stored[at - 1] : NULL;
    bool is_it = stored && stored->object.high == object.high && stored->object.low == object.low;
    return is_it ? stored : NULL;
}

// Two objects with one hash: the older one is forgotten, and would be brought again.
static void stored_add(struct hub *hub, const struct wire_file *file)
{
    struct hub_stored *stored = hub_stored_find(hub, file->object);
    if (!stored) {
        void *items = hub->stored;
        bool there = map_reserve(&heap, &hub->stored_by_hash, 1)
                     && memory_reserve(&heap, &items, &hub->stored_capacity,
                                       (uint64_t)hub->stored_count + 1, sizeof *hub->stored);
        hub->stored = items;
        if (!there) hub_no_memory();
        stored = &hub->stored[hub->stored_count++];
        *stored = (struct hub_stored){.object = file->object};
        map_put(&hub->stored_by_hash, hash_of(file->object), hub->stored_count);
    }
    stored->bytes = file->bytes;
    stored->content = file->content;
    stored->seen = hub->ticks;
}

static void stored_remove(struct hub *hub, struct hub_stored *stored)
{
    uint32_t at = (uint32_t)(stored - hub->stored);
    const struct hub_stored *last = &hub->stored[--hub->stored_count];
    map_remove(&hub->stored_by_hash, hash_of(stored->object));
    if (stored == last) return;
    *stored = *last;
    map_put(&hub->stored_by_hash, hash_of(stored->object), at + 1);
}

void hub_depot_set(struct hub *hub, struct hub_peer *peer)
{
    hub->depot = peer;
}

void hub_depot_close(struct hub *hub)
{
    free(hub->stored);
    map_release(&heap, &hub->stored_by_hash);
    hub_readers_forget(hub, NULL);
}

bool hub_depot_take(struct hub *hub, const struct wire_message *message)
{
    if (message->kind == WIRE_MISSED_MESSAGE) {
        hub_readers_tell(hub, message->missed.object, message->missed.reason.bytes);
        return true;
    }
    if (message->kind == WIRE_FORGED_MESSAGE) return hub_forged(hub, hub->depot, &message->forged);
    if (message->kind == WIRE_BROUGHT_MESSAGE) return true;  // for the audit log
    if (message->kind == WIRE_HELD_ALL_MESSAGE) return hub->depot_is_known = true;
    if (message->kind != WIRE_HELD_MESSAGE) return false;
    for (uint32_t i = 0; i < message->held.objects.count; i++) {
        stored_add(hub, &message->held.objects.items[i]);
        hub_readers_tell(hub, message->held.objects.items[i].object, NULL);
    }
    return true;
}

// ---- What nobody needs ------------------------------------------------------------------------

void hub_depot_drop(struct hub *hub, rota_object_id object)
{
    struct wire_file file = {.name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    struct hub_stored *stored = hub_stored_find(hub, object);
    if (!stored || !hub->depot) return;
    file.object = object;
    file.content = stored->content;
    message.drop.objects = (wire_files){&file, 1};
    wire_put(hub_later(hub, hub->depot), &message);
    stored_remove(hub, stored);
}

static bool is_needed(const struct hub *hub, const struct hub_stored *stored)
{
    enum rota_object_state state = rota_object_state(hub->server->rota, stored->object);
    rota_time age = hub->ticks - stored->seen;
    if (wire_is_named(stored->object)) return true;
    bool is_old = !(stored->object.low >> 32);  // brought with protocol 1
    if (!wire_is_upload(stored->object) && !is_old) return age < copied;
    if (state == ROTA_OBJECT_NONE) return age < unclaimed;
    return state != ROTA_OBJECT_REMOVED;
}

void hub_depot_sweep(struct hub *hub)
{
    if (!hub->depot || hub->ticks < hub->sweep_at) return;
    hub->sweep_at = hub->ticks + SWEEP_EVERY;
    for (uint32_t i = hub->stored_count; i-- > 0;)
        if (!is_needed(hub, &hub->stored[i])) hub_depot_drop(hub, hub->stored[i].object);
}
