// names.c - what lanes, groups, machines and workers are called, and the core's numbers for them.
#define XXH_INLINE_ALL
#include "base/planted.h"
#include "server/cluster/cluster.h"

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

static bool name_know(struct hub *hub, enum catalog_kind kind, const char *name, uint32_t number)
{
    if (!map_reserve(&heap, &hub->names[kind], 1)) return false;
    *map_place(&hub->names[kind], hash_of(name)) = number;
    if (number > hub->last_name[kind]) hub->last_name[kind] = number;
    return true;
}

bool hub_names_load(struct hub *hub)
{
    struct catalog_rows rows;
    bool kept = store_catalog(hub->server->store, &rows);
    for (uint32_t i = 0; kept && i < rows.name_count; i++) {
        const struct catalog_name *row = &rows.names[i];
        if (!name_know(hub, row->kind, row->name, row->number)) hub_no_memory();
        rota_worker_id worker = {row->number};
        if (row->kind == CATALOG_WORKER) hub_worker_meet(hub, worker, row->name);
    }
    catalog_rows_release(&rows);
    return !store_error(hub->server->store)->fault;
}

// ---- New ones ----------------------------------------------------------------------------------

uint32_t hub_name_try(struct hub *hub, enum catalog_kind kind, const char *name)
{
    uint32_t number = map_find(&hub->names[kind], hash_of(name));
    if (number) return number;
    size_t size = strlen(name) + 1;
    char *kept = server_keep(hub->server, size, 1);
    void *items = hub->tried;
    bool there = kept
                 && memory_reserve_raw(&heap, &items, &hub->tried_capacity,
                                       (uint64_t)hub->tried_count + 1, sizeof *hub->tried);
    hub->tried = items;
    number = hub->last_name[kind] + 1;
    if (!there || !name_know(hub, kind, name, number)) return 0;
    memcpy(kept, name, size);
    hub->tried[hub->tried_count++] = (struct catalog_name){kind, number, kept};
    return number;
}

uint32_t hub_name_known(struct hub *hub, enum catalog_kind kind, const char *name)
{
    return map_find(&hub->names[kind], hash_of(name));
}

void hub_names_keep(struct hub *hub)
{
    for (uint32_t i = 0; i < hub->tried_count && !PLANTED(NAME_NOT_KEPT); i++)
        store_put_name(hub->server->store, &hub->tried[i]);
    hub->tried_count = 0;
}

void hub_names_forget(struct hub *hub)
{
    while (hub->tried_count) {
        const struct catalog_name *row = &hub->tried[--hub->tried_count];
        map_remove(&hub->names[row->kind], hash_of(row->name));
        hub->last_name[row->kind]--;
    }
}

uint32_t hub_name(struct hub *hub, enum catalog_kind kind, const char *name)
{
    uint32_t number = hub_name_try(hub, kind, name);
    if (!number) hub_no_memory();
    hub_names_keep(hub);
    return number;
}
