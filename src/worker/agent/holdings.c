// holdings.c - answers the server's questions whether an object is in the cache.
#include "worker/agent/internal.h"

bool holdings_has(struct agent *agent, rota_object_id object, struct cache_entry *entry)
{
    return cache_find(&agent->inputs.cache, object, entry);
}

void holdings_lost(struct agent *agent, rota_object_id object)
{
    struct wire_message message = {.kind = WIRE_LOST_MESSAGE};
    struct wire_file file = {.object = object, .name = wire_text_of(""), .path = wire_text_of("")};
    message.lost.objects = (wire_files){&file, 1};
    inventory_remove(&agent->inventory, &message.lost.objects);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

void holdings_held(struct agent *agent, rota_object_id object, const struct cache_entry *entry)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    struct wire_file file = {.object = object, .name = wire_text_of(""), .path = wire_text_of("")};
    file.kind = entry->kind == CACHE_DIRECTORY ? WIRE_DIRECTORY : WIRE_FILE;
    file.bytes = entry->bytes;
    file.content = cache_entry_content(entry);
    message.held.objects = (wire_files){&file, 1};
    inventory_add(&agent->inventory, &message.held.objects);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

// Another copy may be removed because of this answer.
void holdings_show(struct agent *agent, const wire_files *objects)
{
    struct cache_entry entry;
    for (uint32_t i = 0; i < objects->count; i++) {
        rota_object_id object = objects->items[i].object;
        if (holdings_has(agent, object, &entry))
            holdings_held(agent, object, &entry);
        else
            holdings_lost(agent, object);
    }
}
