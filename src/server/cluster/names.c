// names.c - names of lanes, groups, machines and workers, and their numbers in the core.
#define XXH_INLINE_ALL
#include "base/planted.h"
#include "server/cluster/cluster.h"

#include <string.h>
#include <xxhash.h>

uint64_t cluster_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

static uint64_t hash_of(const char *name)
{
    return cluster_hash(name, strlen(name));
}

static bool name_know(struct cluster *cluster, enum catalog_kind kind, const char *name,
                      uint32_t number)
{
    if (!map_reserve(&memory_heap, &cluster->names[kind], 1)) return false;
    *map_place(&cluster->names[kind], hash_of(name)) = number;
    if (number > cluster->last_name[kind]) cluster->last_name[kind] = number;
    return true;
}

bool cluster_names_load(struct cluster *cluster)
{
    struct catalog_rows rows;
    bool kept = store_catalog(cluster->server->store, &rows);
    for (uint32_t i = 0; kept && i < rows.name_count; i++) {
        const struct catalog_name *row = &rows.names[i];
        if (!name_know(cluster, row->kind, row->name, row->number)) cluster_no_memory();
        rota_worker_id worker = {row->number};
        if (row->kind == CATALOG_WORKER) cluster_worker_meet(cluster, worker, row->name);
    }
    catalog_rows_release(&rows);
    return !store_error(cluster->server->store)->fault;
}

// ---- New names ------------------------------------------------------------------------------

uint32_t cluster_name_try(struct cluster *cluster, enum catalog_kind kind, const char *name)
{
    uint32_t number = map_find(&cluster->names[kind], hash_of(name));
    if (number) return number;
    size_t size = strlen(name) + 1;
    char *kept = server_keep(cluster->server, size, 1);
    bool there = kept
                 && ARRAY_MORE_RAW(&memory_heap, cluster->tried, cluster->tried_count,
                                   cluster->tried_capacity);
    number = cluster->last_name[kind] + 1;
    if (!there || !name_know(cluster, kind, name, number)) return 0;
    memcpy(kept, name, size);
    cluster->tried[cluster->tried_count++] = (struct catalog_name){kind, number, kept};
    return number;
}

uint32_t cluster_name_known(struct cluster *cluster, enum catalog_kind kind, const char *name)
{
    return map_find(&cluster->names[kind], hash_of(name));
}

void cluster_names_keep(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->tried_count && !PLANTED(NAME_NOT_KEPT); i++)
        store_put_name(cluster->server->store, &cluster->tried[i]);
    cluster->tried_count = 0;
}

void cluster_names_forget(struct cluster *cluster)
{
    while (cluster->tried_count) {
        const struct catalog_name *row = &cluster->tried[--cluster->tried_count];
        map_remove(&cluster->names[row->kind], hash_of(row->name));
        cluster->last_name[row->kind]--;
    }
}

uint32_t cluster_name(struct cluster *cluster, enum catalog_kind kind, const char *name)
{
    uint32_t number = cluster_name_try(cluster, kind, name);
    if (!number) cluster_no_memory();
    cluster_names_keep(cluster);
    return number;
}
