// inventory.c - the objects and results in the cache, reported on each new connection as far as
// they still exist.
#include "worker/agent/internal.h"

#include <stdlib.h>

enum { HELD_AT_ONCE = 1000 };

struct row {
    uint32_t next;  // with the same hash; used by the pool while it is free
    uint32_t kind;
    rota_object_id object;
    uint64_t bytes;
};

static struct row *row_at(const struct inventory *inventory, uint32_t number)
{
    return (struct row *)inventory->rows.items + number;
}

static uint32_t row_find(const struct inventory *inventory, rota_object_id object)
{
    uint32_t number = map_find(&inventory->by_hash, ID_HASH(object));
    while (number && !SAME_ID(row_at(inventory, number)->object, object))
        number = row_at(inventory, number)->next;
    return number;
}

static bool row_add(struct inventory *inventory, const struct wire_file *file)
{
    uint64_t hash = ID_HASH(file->object);
    inventory->rows.size = sizeof(struct row);
    inventory->memory = memory_heap;
    if (!map_reserve(&inventory->memory, &inventory->by_hash, 1)) return false;
    if (!pool_reserve(&inventory->memory, &inventory->rows, 1)) return false;
    uint32_t number = pool_take(&inventory->rows), first = map_find(&inventory->by_hash, hash);
    *row_at(inventory, number) = (struct row){first, file->kind, file->object, file->bytes};
    map_put(&inventory->by_hash, hash, number);
    return true;
}

bool inventory_add(struct inventory *inventory, const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct wire_file *file = &files->items[i];
        bool is_none = !file->object.high && !file->object.low;
        if (is_none || file->kind == WIRE_STREAM || row_find(inventory, file->object)) continue;
        if (!row_add(inventory, file)) return false;
    }
    return true;
}

static void row_remove(struct inventory *inventory, uint32_t number)
{
    struct row *row = row_at(inventory, number);
    uint64_t hash = ID_HASH(row->object);
    uint32_t at = map_find(&inventory->by_hash, hash);
    if (at != number) {
        while (row_at(inventory, at)->next != number) at = row_at(inventory, at)->next;
        row_at(inventory, at)->next = row->next;
    } else if (row->next) {
        map_put(&inventory->by_hash, hash, row->next);
    } else {
        map_remove(&inventory->by_hash, hash);
    }
    pool_give(&inventory->rows, number);
}

void inventory_remove(struct inventory *inventory, const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        uint32_t number = row_find(inventory, files->items[i].object);
        if (number) row_remove(inventory, number);
    }
}

// Objects and results are reported in messages of many items.
struct telling {
    struct wire_out *out;
    struct wire_file items[HELD_AT_ONCE];
    uint32_t count, all;
};

static void told_put(struct telling *telling)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){telling->items, telling->count};
    if (telling->count) wire_put(telling->out, &message);
    telling->count = 0;
}

static void tell(struct telling *telling, const struct wire_file *file)
{
    struct wire_file *item = &telling->items[telling->count++];
    *item = *file;
    item->name = item->path = wire_text_of("");
    telling->all++;
    if (telling->count == HELD_AT_ONCE) told_put(telling);
}

static bool key_tell(void *context, rota_object_id key)
{
    struct telling *telling = context;
    tell(telling, &(struct wire_file){.kind = WIRE_RESULT, .object = key});
    return telling->all < WIRE_RESULTS_MAX;
}

void inventory_tell(struct inventory *inventory, struct cache *cache, struct wire_out *out)
{
    struct telling objects = {.out = out}, results = {.out = out};
    struct wire_message message = {.kind = WIRE_HELD_ALL_MESSAGE};
    struct cache_entry entry;
    for (uint32_t i = 1; i < inventory->rows.count; i++) {
        const struct row *row = row_at(inventory, i);
        if (!row->kind) continue;  // it is free
        if (cache_find(cache, row->object, &entry))
            tell(&objects, &(struct wire_file){.kind = row->kind,
                                               .object = row->object,
                                               .bytes = entry.bytes,
                                               .content = cache_entry_content(&entry)});
        else
            row_remove(inventory, i);
    }
    told_put(&objects);
    cache_known_each(cache, key_tell, &results);
    told_put(&results);
    message.held_all.count = objects.all;
    wire_put(out, &message);
}

void inventory_release(struct inventory *inventory)
{
    pool_release(&inventory->memory, &inventory->rows);
    map_release(&inventory->memory, &inventory->by_hash);
}

// ---- Results, by content key --------------------------------------------------------------------

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
