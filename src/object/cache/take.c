// take.c - hands out contents: to a task as links, to the user as private copies.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool put(struct cache *cache, const struct cache_entry *entry, int parent, const char *leaf,
                enum cache_copies copies, struct cache_error *error)
{
    return entry->kind == CACHE_DIRECTORY
               ? cache_put_tree(cache, entry, parent, leaf, copies, error)
               : cache_put_file(cache, entry, parent, leaf, copies, error);
}

bool cache_take(struct cache *cache, const struct cache_entry *entry, int directory_fd,
                const char *name, struct cache_error *error)
{
    const char *leaf, *fault = tree_name_fault(name);
    if (fault) return cache_fail(error, CACHE_REFUSED, "the name \"%s\" %s", name, fault);
    int parent = tree_open_parent(directory_fd, name, &leaf);
    if (parent < 0) return cache_fail_system(error, "create the folder of", name);
    cache_enter(cache);
    bool fine = put(cache, entry, parent, leaf, CACHE_LINKED, error);
    cache_leave(cache);
    tree_close_parent(directory_fd, parent);
    return fine;
}

static bool put_in_place(int parent, const char *temporary, const char *leaf, enum cache_kind kind)
{
    if (renameat(parent, temporary, parent, leaf) == 0) return true;
    if (kind == CACHE_FILE || (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR))
        return false;
    if (renameat2(parent, temporary, parent, leaf, RENAME_EXCHANGE) != 0) return false;
    return os_tree_remove_at(parent, temporary);
}

static bool deliver(struct cache *cache, const struct cache_entry *entry, int parent,
                    const char *temporary, const char *path, struct cache_error *error)
{
    const char *leaf = strrchr(path, '/') + 1;
    if (!put(cache, entry, parent, temporary, CACHE_WRITABLE, error)) return false;
    if (put_in_place(parent, temporary, leaf, entry->kind)) return true;
    if (errno == EISDIR)
        cache_fail(error, CACHE_REFUSED, "%s is a directory", path);
    else
        cache_fail_system(error, "put in place", path);
    os_tree_remove_at(parent, temporary);
    return false;
}

// A note in tmp has the path of the unfinished copy, so that a later cleanup finds it.
static bool deliver_noted(struct cache *cache, const struct cache_entry *entry, int parent,
                          const char *path, struct cache_error *error)
{
    char temporary[64], number[24], *whole = NULL;
    if (!cache_own(cache, error)) return false;
    snprintf(number, sizeof number, "%" PRIu64, ++cache->serial);
    snprintf(temporary, sizeof temporary, ".rota-%s-%s", cache->own_name, number);
    int folder_length = (int)(strrchr(path, '/') - path);
    if (asprintf(&whole, "%.*s/%s", folder_length, path, temporary) < 0)
        return cache_fail(error, CACHE_BROKEN, "out of memory");
    bool noted = symlinkat(whole, cache->own, number) == 0;
    free(whole);
    if (!noted) return cache_fail_system(error, "write a note in tmp of", cache->path);
    cache_enter(cache);
    bool fine = deliver(cache, entry, parent, temporary, path, error);
    cache_leave(cache);
    unlinkat(cache->own, number, 0);
    return fine;
}

// The user's own path: its links belong to the user, and are followed.
static int folder_make(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) return -1;
    }
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool cache_deliver(struct cache *cache, const struct cache_entry *entry, const char *path,
                   struct cache_error *error)
{
    const char *fault = *path == '/' ? tree_name_fault(path + 1) : "is not absolute";
    if (fault) return cache_fail(error, CACHE_REFUSED, "the path \"%s\" %s", path, fault);
    char *folder = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);
    if (!folder) return cache_fail(error, CACHE_BROKEN, "out of memory");
    int parent = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0 && errno == ENOENT) parent = folder_make(folder);
    bool fine = parent >= 0 ? deliver_noted(cache, entry, parent, path, error)
                            : cache_fail_system(error, "open the folder of", path);
    if (parent >= 0) close(parent);
    free(folder);
    return fine;
}

bool cache_has(struct cache *cache, const struct cache_entry *entry)
{
    char name[CACHE_NAME];
    struct stat at;
    struct cache_manifest manifest;
    cache_name(entry, name);
    if (fstatat(cache->content, name, &at, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (entry->kind == CACHE_FILE)
        return S_ISREG(at.st_mode) && (uint64_t)at.st_size == entry->bytes;
    if (!cache_manifest_load(cache, entry, &manifest, NULL)) return false;
    bool there = true;
    for (uint32_t i = 0; i < manifest.count && there; i++)
        if (manifest.items[i].kind == CACHE_ITEM_FILE)
            there = cache_has(cache, &manifest.items[i].entry);
    cache_manifest_release(&manifest);
    return there;
}
