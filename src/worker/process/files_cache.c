// files_cache.c - the worker's cache: opened when it is needed; lost and new objects are reported.
#define _GNU_SOURCE
#include "object/cache/cache.h"
#include "worker/process/internal.h"
#include "base/base.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HELD_AT_ONCE = 4096, LINK_ABOVE_AS_ROOT = 1 << 20 };

static void cache_folder(const struct files *files, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/cache", files->folder);
}

// Commands of root can write into a read-only file, so small files are copied then.
struct cache *files_cache(struct files *files, struct cache_error *error)
{
    char path[PATH_MAX];
    if (files->cache) return files->cache;
    cache_folder(files, path);
    struct cache *cache = calloc(1, sizeof *cache);
    if (cache && cache_open(cache, path, files->cache_max, error)) {
        cache->link_above = geteuid() == 0 && !files->user ? LINK_ABOVE_AS_ROOT : 0;
        cache->owner = files->user ? files->user->uid : 0;
        return files->cache = cache;
    }
    if (!cache && error)
        *error = (struct cache_error){.fault = CACHE_BROKEN, .text = "out of memory for the cache"};
    free(cache);
    return NULL;
}

void files_release(struct files *files)
{
    if (files->cache) cache_close(files->cache);
    free(files->cache);
    ARRAY_RELEASE(&memory_heap, files->lost, files->lost_capacity);
    ARRAY_RELEASE(&memory_heap, files->hashes, files->hash_capacity);
    map_release(&memory_heap, &files->hashed);
    *files = (struct files){0};
}

void files_drop(struct files *files, const wire_files *objects)
{
    char path[PATH_MAX];
    cache_folder(files, path);
    if (!files->cache && access(path, F_OK) != 0) return;
    struct cache *cache = files_cache(files, NULL);
    for (uint32_t i = 0; cache && i < objects->count; i++)
        cache_unbind_one(cache, objects->items[i].object, &objects->items[i].content);
}

// ---- Existing and lost objects --------------------------------------------------------------

// If memory runs out it is not reported, and the task fails as if the user's file were missing.
void files_lost_add(struct files *files, rota_object_id object)
{
    bool there = ARRAY_MORE(&memory_heap, files->lost, files->lost_count, files->lost_capacity);
    cache_unbind(files->cache, object, NULL);
    if (!there) return;
    files->lost[files->lost_count++] = (struct wire_file){
        .object = object, .name = wire_text_of(NULL), .path = wire_text_of(NULL)};
}

void report_lost(struct worker *worker)
{
    struct files *files = &worker->files;
    struct wire_message message = {.kind = WIRE_LOST_MESSAGE};
    message.lost.objects = (wire_files){files->lost, files->lost_count};
    if (files->lost_count) wire_put(&worker->out, &message);
    files->lost_count = 0;
}

struct held {
    struct wire_out *out;
    struct wire_file *items;
    uint32_t count;
};

static void held_put(struct held *held)
{
    struct wire_message message = {.kind = WIRE_HELD_MESSAGE};
    message.held.objects = (wire_files){held->items, held->count};
    if (held->count) wire_put(held->out, &message);
    held->count = 0;
}

static bool held_add(void *context, rota_object_id object, const struct cache_entry *entry)
{
    struct held *held = context;
    held->items[held->count++] = cache_entry_file(object, entry);
    if (held->count == HELD_AT_ONCE) held_put(held);
    return true;
}

void report_held(struct worker *worker)
{
    char path[PATH_MAX];
    cache_folder(&worker->files, path);
    if (access(path, F_OK) != 0) return;
    struct cache_error error;
    struct cache *cache = files_cache(&worker->files, &error);
    struct held held = {.out = &worker->out, .items = calloc(HELD_AT_ONCE, sizeof *held.items)};
    if (cache && held.items && cache_each(cache, held_add, &held)) held_put(&held);
    free(held.items);
}
