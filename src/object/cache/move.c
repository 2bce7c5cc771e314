// move.c - contents that are sent to another cache, or received from one.
#include "os/os.h"
#include "object/cache/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

// ---- Sending --------------------------------------------------------------------------------

bool cache_read(struct cache *cache, const struct cache_entry *entry,
                struct cache_reading *reading)
{
    struct stat at;
    cache_enter(cache);
    *reading = (struct cache_reading){.fd = cache_content_open(cache, entry)};
    if (reading->fd >= 0) flock(reading->fd, LOCK_SH | LOCK_NB);
    cache_leave(cache);
    if (reading->fd < 0) return false;
    if (fstat(reading->fd, &at) == 0 && S_ISREG(at.st_mode)) {
        reading->bytes = (uint64_t)at.st_size;
        reading->stamp = cache_content_stamp(entry, &at);
        cache_content_used(cache, entry);
        return true;
    }
    close(reading->fd);
    reading->fd = -1;
    return false;
}

bool cache_vouch(struct cache *cache, const struct cache_entry *entry,
                 const struct cache_reading *reading)
{
    struct stat at;
    if (fstat(reading->fd, &at) != 0 || cache_content_stamp(entry, &at) != reading->stamp)
        return false;
    cache_content_right(cache, entry, &at);
    cache_content_synced(cache, entry, &at);
    return true;
}

void cache_throw(struct cache *cache, const struct cache_entry *entry,
                 const struct cache_reading *reading)
{
    struct stat at;
    if (fstat(reading->fd, &at) == 0) cache_content_throw(cache, entry, at.st_ino);
}

// ---- Trees ----------------------------------------------------------------------

static int entry_compare(const void *one, const void *other)
{
    const struct cache_entry *a = one, *b = other;
    int order = memcmp(a->hash, b->hash, CACHE_HASH);
    return order ? order : (int)a->executable - (int)b->executable;
}

static void files_sort(struct cache_files *files)
{
    uint32_t kept = 0;
    if (files->count) qsort(files->items, files->count, sizeof *files->items, entry_compare);
    for (uint32_t i = 0; i < files->count; i++)
        if (i == 0 || entry_compare(&files->items[kept - 1], &files->items[i]) != 0)
            files->items[kept++] = files->items[i];
    files->count = kept;
}

bool cache_files_load(struct cache *cache, const struct cache_entry *tree,
                      struct cache_files *files, struct cache_error *error)
{
    struct cache_manifest manifest;
    *files = (struct cache_files){0};
    if (!cache_manifest_load(cache, tree, &manifest, error)) return false;
    files->items = calloc(manifest.count + 1, sizeof *files->items);
    for (uint32_t i = 0; files->items && i < manifest.count; i++)
        if (manifest.items[i].kind == CACHE_ITEM_FILE)
            files->items[files->count++] = manifest.items[i].entry;
    cache_manifest_release(&manifest);
    if (!files->items) return cache_fail(error, CACHE_BROKEN, "out of memory");
    files_sort(files);
    return true;
}

bool cache_files_have(const struct cache_files *files, const struct cache_entry *entry)
{
    const struct cache_entry *found
        = files->count
              ? bsearch(entry, files->items, files->count, sizeof *files->items, entry_compare)
              : NULL;
    return found && found->kind == entry->kind && found->bytes == entry->bytes;
}

void cache_files_release(struct cache_files *files)
{
    free(files->items);
    *files = (struct cache_files){0};
}

// ---- Receiving ------------------------------------------------------------------------------

bool cache_arrival_open(struct cache *cache, struct cache_arrival *arrival,
                        struct cache_error *error)
{
    arrival->fd = cache_temporary(cache, arrival->name, error);
    return arrival->fd >= 0;
}

bool cache_arrival_add(struct cache *cache, struct cache_arrival *arrival,
                       const struct cache_entry *entry, enum cache_synced synced,
                       struct cache_error *error)
{
    cache_enter(cache);
    bool fine = cache_content_install(cache, entry, arrival->name, arrival->fd, synced, error);
    cache_leave(cache);
    arrival->fd = -1;
    if (cache_bytes(cache) > cache->evict_above) cache_evict(cache);
    return fine;
}

void cache_arrival_drop(struct cache *cache, struct cache_arrival *arrival)
{
    if (arrival->fd < 0) return;
    close(arrival->fd);
    os_tree_remove_at(cache->own, arrival->name);
    arrival->fd = -1;
}

bool cache_reuse(struct cache *cache, const struct cache_entry *entry)
{
    cache_enter(cache);
    bool there = cache_content_reuse(cache, entry);
    cache_leave(cache);
    return there;
}
