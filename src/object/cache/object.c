// object.c - the content of an object: a link in object/ whose target describes it.
//
// Creating a link is atomic, even if the power fails.
#include "object/cache/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cache_object_name(rota_object_id object, char name[CACHE_OBJECT_NAME])
{
    snprintf(name, CACHE_OBJECT_NAME, "%016" PRIx64 "-%016" PRIx64, object.high, object.low);
}

bool cache_object_name_read(const char *name, rota_object_id *object)
{
    char *end, again[CACHE_OBJECT_NAME];
    *object = (rota_object_id){.high = strtoull(name, &end, 16)};
    if (*end == '-') object->low = strtoull(end + 1, &end, 16);
    cache_object_name(*object, again);
    return strcmp(name, again) == 0;
}

static bool object_read(struct cache *cache, const char *name, struct cache_entry *entry)
{
    char text[CACHE_ENTRY_TEXT + 1];
    ssize_t length = readlinkat(cache->object, name, text, sizeof text - 1);
    if (length <= 0) return false;
    text[length] = '\0';
    return cache_entry_read(text, entry);
}

// To replace an existing link: created under another name and renamed.
static bool link_replace(struct cache *cache, const char *text, const char *name)
{
    char aside[24];
    if (!cache_own(cache, NULL)) return false;
    snprintf(aside, sizeof aside, "%" PRIu64, ++cache->serial);
    if (symlinkat(text, cache->own, aside) != 0) return false;
    if (renameat(cache->own, aside, cache->object, name) == 0) return true;
    int reason = errno;
    unlinkat(cache->own, aside, 0);
    errno = reason;
    return false;
}

static bool link_make(struct cache *cache, rota_object_id object, const struct cache_entry *entry)
{
    char name[CACHE_OBJECT_NAME], text[CACHE_ENTRY_TEXT];
    struct cache_entry now;
    cache_object_name(object, name);
    cache_entry_write(entry, text);
    if (symlinkat(text, cache->object, name) == 0) return true;
    if (errno != EEXIST) return false;
    if (object_read(cache, name, &now) && cache_entry_is(&now, entry) && now.bytes == entry->bytes)
        return true;
    return link_replace(cache, text, name);
}

typedef bool ready_fn(struct cache *cache, const struct cache_entry *entry,
                      struct cache_error *error);

static bool bind(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                 ready_fn *ready, struct cache_error *error)
{
    cache_enter(cache);
    bool fine = ready(cache, entry, error) && cache_sync(cache, error);
    if (fine && !link_make(cache, object, entry))
        fine = cache_fail_system(error, "name an object in", cache->path);
    if (fine) cache_release(cache, entry);
    cache_leave(cache);
    return fine;
}

static bool names_sync(struct cache *cache, struct cache_error *error)
{
    return fsync(cache->object) == 0
           || cache_fail_system(error, "sync the names of objects in", cache->path);
}

bool cache_bind(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                struct cache_error *error)
{
    return bind(cache, object, entry, cache_ready, error);
}

bool cache_bind_synced(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                       struct cache_error *error)
{
    return bind(cache, object, entry, cache_ready, error) && names_sync(cache, error);
}

bool cache_bind_known(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                      struct cache_error *error)
{
    return bind(cache, object, entry, cache_safe, error) && names_sync(cache, error);
}

bool cache_is_bound(struct cache *cache, rota_object_id object, struct cache_entry *entry)
{
    char name[CACHE_OBJECT_NAME];
    cache_object_name(object, name);
    return object_read(cache, name, entry);
}

bool cache_find(struct cache *cache, rota_object_id object, struct cache_entry *entry)
{
    char name[CACHE_OBJECT_NAME];
    cache_object_name(object, name);
    return object_read(cache, name, entry) && cache_has(cache, entry);
}

bool cache_find_input(struct cache *cache, const struct wire_file *input,
                      struct cache_entry *entry)
{
    return cache_find(cache, input->object, entry) && cache_entry_has(entry, &input->content);
}

bool cache_unbind(struct cache *cache, rota_object_id object, struct cache_error *error)
{
    char name[CACHE_OBJECT_NAME];
    cache_object_name(object, name);
    if (unlinkat(cache->object, name, 0) == 0 || errno == ENOENT) return true;
    return cache_fail_system(error, "remove an object of", cache->path);
}

void cache_unbind_one(struct cache *cache, rota_object_id object, const wire_content *content)
{
    struct cache_entry entry;
    bool is_other = content->kind && cache_find(cache, object, &entry)
                    && !cache_entry_has(&entry, content);
    if (!is_other) cache_unbind(cache, object, NULL);
}

struct objects {
    rota_object_id *items;
    uint32_t count, capacity;
    bool failed;
};

static bool object_collect(void *context, int folder_fd, const char *name)
{
    (void)folder_fd;
    struct objects *objects = context;
    rota_object_id object;
    if (!cache_object_name_read(name, &object)) return true;
    objects->failed
        = !ARRAY_MORE_RAW(&memory_heap, objects->items, objects->count, objects->capacity);
    if (!objects->failed) objects->items[objects->count++] = object;
    return !objects->failed;
}

static int object_compare(const void *one, const void *other)
{
    const rota_object_id *a = one, *b = other;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->low < b->low ? -1 : a->low > b->low;
}

bool cache_each(struct cache *cache, cache_each_fn *call, void *context)
{
    struct objects objects = {0};
    struct cache_entry entry;
    bool fine = cache_list(cache->folder, "object", object_collect, &objects) && !objects.failed;
    if (fine && objects.count)
        qsort(objects.items, objects.count, sizeof *objects.items, object_compare);
    for (uint32_t i = 0; fine && i < objects.count; i++) {
        if (!cache_find(cache, objects.items[i], &entry)) continue;
        if (!call(context, objects.items[i], &entry)) break;
    }
    free(objects.items);
    return fine;
}
