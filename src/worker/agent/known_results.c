// known_results.c - content keys for which the cache has a result, reported when this worker joins.
#include "worker/agent/internal.h"

#include <stdlib.h>

enum { TOLD_AT_ONCE = 1000 };

void known_take(struct agent *agent, const struct wire_known *known)
{
    struct cache *cache = &agent->inputs.cache;
    uint32_t count = known->outputs.count, found = 0;
    struct cache_entry *entries = calloc(count + 1, sizeof *entries);
    while (entries && found < count
           && cache_find(cache, known->outputs.items[found].object, &entries[found]))
        found++;
    if (entries && found == count) cache_known_put(cache, known->key, entries, count);
    free(entries);
}

struct telling {
    struct wire_out *out;
    struct wire_file items[TOLD_AT_ONCE];
    uint32_t count, all;
};

static void told_put(struct telling *telling)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){telling->items, telling->count};
    if (telling->count) wire_put(telling->out, &message);
    telling->count = 0;
}

static bool key_tell(void *context, rota_object_id key)
{
    struct telling *telling = context;
    telling->items[telling->count++] = (struct wire_file){.kind = WIRE_RESULT,
                                                          .name = wire_text_of(""),
                                                          .path = wire_text_of(""),
                                                          .object = key};
    if (telling->count == TOLD_AT_ONCE) told_put(telling);
    return ++telling->all < WIRE_RESULTS_MAX;
}

void known_tell(struct cache *cache, struct wire_out *out)
{
    struct telling telling = {.out = out};
    cache_known_each(cache, key_tell, &telling);
    told_put(&telling);
}
