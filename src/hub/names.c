// names.c - what lanes, groups, machines and workers are called, and the core's numbers for them.
#define XXH_INLINE_ALL
#include "hub/hub.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const struct memory heap = {memory_resize_heap, NULL};

uint64_t hub_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

static uint64_t hash_of(const char *name)
{
    return hub_hash(name, strlen(name));
}

static void name_know(struct hub *hub, enum catalog_kind kind, const char *name, uint32_t number)
{
    if (!map_reserve(&heap, &hub->names[kind], 1)) hub_no_memory();
    *map_place(&hub->names[kind], hash_of(name)) = number;
    if (number > hub->last_name[kind]) hub->last_name[kind] = number;
}

bool hub_names_load(struct hub *hub)
{
    struct catalog_rows rows;
    bool kept = store_catalog(hub->server->store, &rows);
    for (uint32_t i = 0; kept && i < rows.name_count; i++) {
        const struct catalog_name *row = &rows.names[i];
        name_know(hub, row->kind, row->name, row->number);
        rota_worker_id worker = {row->number};
        if (row->kind == CATALOG_WORKER) hub_worker_meet(hub, worker, row->name);
    }
    catalog_rows_release(&rows);
    return !store_error(hub->server->store)->fault;
}

uint32_t hub_name(struct hub *hub, enum catalog_kind kind, const char *name)
{
    uint32_t number = map_find(&hub->names[kind], hash_of(name));
    if (number) return number;
    number = hub->last_name[kind] + 1;
    name_know(hub, kind, name, number);
    size_t size = strlen(name) + 1;
    char *kept = hub_keep(hub, size, 1);
    memcpy(kept, name, size);
    struct catalog_name row = {kind, number, kept};
    store_put_name(hub->server->store, &row);
    return number;
}
