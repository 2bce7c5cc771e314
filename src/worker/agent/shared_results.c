// shared_results.c - tasks that share an execution: outputs of one task are outputs of others, too.
#include "worker/agent/internal.h"

#include <stdlib.h>

struct alias {
    struct alias *next;
    rota_object_id from, to;
};

static void name(struct agent *agent, rota_object_id to, const struct cache_entry *entry)
{
    if (cache_bind(&agent->carry.cache, to, entry, NULL))
        show_held(agent, to, entry);
    else
        show_lost(agent, to);  // it is made again
}

void alias_take(struct agent *agent, const struct wire_alias *alias)
{
    struct cache_entry entry;
    if (!alias->later) {
        if (show_has(agent, alias->from, &entry)) return name(agent, alias->to, &entry);
        return show_lost(agent, alias->to);
    }
    struct alias *waits = calloc(1, sizeof *waits);
    if (!waits) return;  // the server assumes that it exists, until it asks
    *waits = (struct alias){agent->aliases, alias->from, alias->to};
    agent->aliases = waits;
}

static struct alias *take(struct agent *agent, rota_object_id from)
{
    struct alias **at = &agent->aliases;
    while (*at && !SAME_ID((*at)->from, from)) at = &(*at)->next;
    struct alias *found = *at;
    if (found) *at = found->next;
    return found;
}

// The first name is unused: its task was cancelled, and another one has taken over.
static void rename_one(struct agent *agent, rota_object_id from)
{
    struct cache_entry entry;
    for (struct alias *alias; (alias = take(agent, from));) {
        rota_object_id to = alias->to;
        struct wire_file file = {.object = from};
        bool there = show_has(agent, from, &entry);
        free(alias);
        if (there) name(agent, to, &entry);
        if (!there) show_lost(agent, to);
        objects_remove(&agent->objects, &(wire_files){&file, 1});
        cache_unbind(&agent->carry.cache, from, NULL);
        from = to;
    }
}

void alias_made(struct agent *agent, const wire_files *outputs)
{
    if (!agent->aliases) return;
    for (uint32_t i = 0; i < outputs->count; i++) rename_one(agent, outputs->items[i].object);
}

void alias_forget(struct agent *agent, const wire_files *outputs)
{
    for (uint32_t i = 0; agent->aliases && i < outputs->count; i++)
        for (struct alias *old; (old = take(agent, outputs->items[i].object));) free(old);
}

void alias_release(struct agent *agent)
{
    while (agent->aliases) free(take(agent, agent->aliases->from));
}
