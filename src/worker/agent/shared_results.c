// shared_results.c - tasks that share an execution: outputs of one task are outputs of others, too.
#include "worker/agent/internal.h"

#include <stdlib.h>

struct shared_result {
    struct shared_result *next;
    rota_object_id from, to;
};

static void name(struct agent *agent, rota_object_id to, const struct cache_entry *entry)
{
    if (cache_bind(&agent->inputs.cache, to, entry, NULL))
        holdings_held(agent, to, entry);
    else
        holdings_lost(agent, to);  // it is made again
}

void shared_results_take(struct agent *agent, const struct wire_alias *alias)
{
    struct cache_entry entry;
    if (!alias->later) {
        if (holdings_has(agent, alias->from, &entry)) return name(agent, alias->to, &entry);
        return holdings_lost(agent, alias->to);
    }
    struct shared_result *waits = calloc(1, sizeof *waits);
    if (!waits) return;  // the server assumes that it exists, until it asks
    *waits = (struct shared_result){agent->shared_results, alias->from, alias->to};
    agent->shared_results = waits;
}

static struct shared_result *take(struct agent *agent, rota_object_id from)
{
    struct shared_result **at = &agent->shared_results;
    while (*at && !SAME_ID((*at)->from, from)) at = &(*at)->next;
    struct shared_result *found = *at;
    if (found) *at = found->next;
    return found;
}

// The first name is unused: its task was cancelled, and another one has taken over.
static void rename_one(struct agent *agent, rota_object_id from)
{
    struct cache_entry entry;
    for (struct shared_result *alias; (alias = take(agent, from));) {
        rota_object_id to = alias->to;
        struct wire_file file = {.object = from};
        bool there = holdings_has(agent, from, &entry);
        free(alias);
        if (there) name(agent, to, &entry);
        if (!there) holdings_lost(agent, to);
        inventory_remove(&agent->inventory, &(wire_files){&file, 1});
        cache_unbind(&agent->inputs.cache, from, NULL);
        from = to;
    }
}

void shared_results_made(struct agent *agent, const wire_files *outputs)
{
    if (!agent->shared_results) return;
    for (uint32_t i = 0; i < outputs->count; i++) rename_one(agent, outputs->items[i].object);
}

void shared_results_forget(struct agent *agent, const wire_files *outputs)
{
    for (uint32_t i = 0; agent->shared_results && i < outputs->count; i++)
        for (struct shared_result *old; (old = take(agent, outputs->items[i].object));) free(old);
}

void shared_results_release(struct agent *agent)
{
    while (agent->shared_results) free(take(agent, agent->shared_results->from));
}
