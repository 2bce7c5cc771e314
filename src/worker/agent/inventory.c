// inventory.c - the objects in the cache, reported on each new connection as far as they still
// exist.
#include "worker/agent/internal.h"

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

static void held_put(struct wire_out *out, struct wire_file *items, uint32_t count)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){items, count};
    if (count) wire_put(out, &message);
}

static void all_put(struct wire_out *out, uint64_t count)
{
    struct wire_message message = {.kind = WIRE_HELD_ALL_MESSAGE};
    message.held_all.count = count;
    wire_put(out, &message);
}

void inventory_tell(struct inventory *inventory, struct cache *cache, struct wire_out *out)
{
    struct wire_file items[HELD_AT_ONCE];
    struct cache_entry entry;
    uint32_t count = 0;
    uint64_t all = 0;
    for (uint32_t i = 1; i < inventory->rows.count; i++) {
        const struct row *row = row_at(inventory, i);
        if (!row->kind) continue;  // it is free
        if (!cache_find(cache, row->object, &entry)) {
            row_remove(inventory, i);
            continue;
        }
        all++;
        items[count++] = (struct wire_file){.kind = row->kind,
                                            .name = wire_text_of(""),
                                            .path = wire_text_of(""),
                                            .object = row->object,
                                            .bytes = entry.bytes,
                                            .content = cache_entry_content(&entry)};
        if (count < HELD_AT_ONCE) continue;
        held_put(out, items, count);
        count = 0;
    }
    held_put(out, items, count);
    known_tell(cache, out);
    all_put(out, all);
}

void inventory_release(struct inventory *inventory)
{
    pool_release(&inventory->memory, &inventory->rows);
    map_release(&inventory->memory, &inventory->by_hash);
}
