// known.c - content keys for which there is a result: one file for each, with one entry per line.
#define _GNU_SOURCE
#include "object/cache/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ending[] = "end\n";

static bool entries_write(int fd, const struct cache_entry *entries, uint32_t count)
{
    char text[CACHE_ENTRY_TEXT];
    FILE *file = fdopen(fd, "w");
    if (!file) close(fd);
    if (!file) return false;
    for (uint32_t i = 0; i < count; i++) {
        cache_entry_write(&entries[i], text);
        fprintf(file, "%s\n", text);
    }
    fputs(ending, file);
    bool fine = !ferror(file);
    return fclose(file) == 0 && fine;
}

bool cache_known_put(struct cache *cache, rota_object_id key, const struct cache_entry *entries,
                     uint32_t count)
{
    char name[CACHE_OBJECT_NAME], temporary[24];
    int fd = cache_temporary(cache, temporary, NULL);
    if (fd < 0) return false;
    cache_object_name(key, name);
    bool fine = entries_write(fd, entries, count)
                && renameat(cache->own, temporary, cache->known, name) == 0;
    if (!fine) unlinkat(cache->own, temporary, 0);
    return fine;
}

struct telling {
    struct cache *cache;
    cache_known_fn *call;
    void *context;
};

// A file that was cut off by a crash has no end mark.
static bool is_there(struct cache *cache, const char *name)
{
    size_t size, length = sizeof ending - 1;
    char *text = cache_text_read(cache->known, name, &size);
    bool whole = text && size >= length && strcmp(text + size - length, ending) == 0;
    bool there = whole && cache_lines_are_there(cache, text);
    free(text);
    return there;
}

static bool key_look(void *context, int folder_fd, const char *name)
{
    const struct telling *telling = context;
    rota_object_id key;
    if (cache_object_name_read(name, &key) && is_there(telling->cache, name))
        return telling->call(telling->context, key);
    unlinkat(folder_fd, name, 0);
    return true;
}

void cache_known_each(struct cache *cache, cache_known_fn *call, void *context)
{
    struct telling telling = {cache, call, context};
    cache_list(cache->folder, "known", key_look, &telling);
}
