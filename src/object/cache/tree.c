// tree.c - adds a directory: its files one by one, then the list of them.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct collection {
    struct cache *cache;
    int root;
    const char *folder;  // the one being read, below the root; empty: the root
    enum cache_how how;
    struct cache_manifest manifest;
    struct cache_error *error;
    bool fine;
};

static char *path_join(const char *folder, const char *name)
{
    char *path = NULL;
    if (!*folder) return strdup(name);
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static char *target_read(int folder_fd, const char *name)
{
    char target[4097];
    ssize_t length = readlinkat(folder_fd, name, target, sizeof target - 1);
    return length < 0 ? NULL : strndup(target, (size_t)length);
}

static bool item_found(void *context, int folder_fd, const char *name)
{
    struct collection *collection = context;
    struct stat at;
    struct cache_item item = {.kind = CACHE_ITEM_FILE};
    item.path = path_join(collection->folder, name);
    collection->fine = item.path && fstatat(folder_fd, name, &at, AT_SYMLINK_NOFOLLOW) == 0;
    if (!collection->fine) {
        cache_fail_system(collection->error, "inspect", item.path ? item.path : name);
        free(item.path);
        return false;
    }
    if (S_ISDIR(at.st_mode)) item.kind = CACHE_ITEM_FOLDER;
    if (S_ISLNK(at.st_mode)) item.kind = CACHE_ITEM_LINK;
    if (item.kind == CACHE_ITEM_LINK) item.target = target_read(folder_fd, name);
    collection->fine = cache_manifest_add(&collection->manifest, item);
    if (!collection->fine)
        cache_fail(collection->error, CACHE_REFUSED, "%s: more than %d entries, or out of memory",
                   name, CACHE_TREE_ENTRIES_MAX);
    return collection->fine;
}

static bool folder_read(struct collection *collection, const char *folder)
{
    collection->folder = folder;
    int fd = *folder
                 ? cache_source_open(collection->root, folder, CACHE_DIRECTORY, collection->error)
                 : fcntl(collection->root, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return false;
    bool read = cache_list(fd, ".", item_found, collection);
    if (!read && collection->fine) cache_fail_system(collection->error, "read", folder);
    close(fd);
    return read && collection->fine;
}

// The list grows while it is read: folders that are found are read in their turn.
static bool folders_read(struct collection *collection)
{
    if (!folder_read(collection, "")) return false;
    for (uint32_t i = 0; i < collection->manifest.count; i++) {
        const struct cache_item item = collection->manifest.items[i];
        if (cache_path_depth(item.path) >= CACHE_TREE_DEPTH_MAX)
            return cache_fail(collection->error, CACHE_REFUSED, "%s is nested more than %d deep",
                              item.path, CACHE_TREE_DEPTH_MAX);
        if (item.kind == CACHE_ITEM_FOLDER && !folder_read(collection, item.path)) return false;
    }
    return true;
}

static bool files_add(struct collection *collection)
{
    for (uint32_t i = 0; i < collection->manifest.count; i++) {
        struct cache_item *item = &collection->manifest.items[i];
        if (item->kind == CACHE_ITEM_FILE
            && !cache_add_file(collection->cache, collection->root, item->path, collection->how,
                               &item->entry, collection->error))
            return false;
    }
    return true;
}

static bool manifest_add(struct collection *collection, struct cache_entry *out)
{
    char temporary[24];
    struct stat at;
    struct cache *cache = collection->cache;
    int fd = cache_temporary(cache, temporary, collection->error);
    if (fd < 0) return false;
    bool fine = (cache_manifest_write(&collection->manifest, fd) && fstat(fd, &at) == 0)
                || cache_fail_system(collection->error, "write to", cache->path);
    fine
        = fine && cache_hash_file(cache, fd, at.st_size, out->hash, cache->path, collection->error);
    if (fine)
        return cache_content_install(cache, out, temporary, fd, CACHE_UNSYNCED, collection->error);
    close(fd);
    os_tree_remove_at(cache->own, temporary);
    return false;
}

// The links are checked before anything is moved.
static bool tree_collect(struct collection *collection, const char *name)
{
    struct cache_manifest *manifest = &collection->manifest;
    if (!folders_read(collection)) return false;
    cache_manifest_sort(manifest);
    const char *fault = cache_manifest_fault(manifest);
    if (fault) return cache_fail(collection->error, CACHE_REFUSED, "%s %s", name, fault);
    if (!files_add(collection)) return false;
    fault = cache_manifest_fault(manifest);  // counts the bytes, now that they are known
    return !fault || cache_fail(collection->error, CACHE_REFUSED, "%s %s", name, fault);
}

static bool tree_add(struct collection *collection, const char *name, struct cache_entry *out)
{
    if (!tree_collect(collection, name)) return false;
    out->bytes = collection->manifest.bytes;
    return manifest_add(collection, out);
}

bool cache_tree_look(struct cache *cache, int root, const char *name,
                     struct cache_manifest *manifest, struct cache_error *error)
{
    struct collection collection
        = {.cache = cache, .root = root, .how = CACHE_ONLY_LOOK, .error = error, .fine = true};
    bool fine = tree_collect(&collection, name);
    *manifest = collection.manifest;
    return fine;
}

bool cache_add_tree(struct cache *cache, int directory_fd, const char *name, enum cache_how how,
                    struct cache_entry *out, struct cache_error *error)
{
    struct collection collection = {.cache = cache, .how = how, .error = error, .fine = true};
    *out = (struct cache_entry){.kind = CACHE_DIRECTORY};
    collection.root = cache_source_open(directory_fd, name, CACHE_DIRECTORY, error);
    if (collection.root < 0) return false;
    bool fine = tree_add(&collection, name, out);
    cache_manifest_release(&collection.manifest);
    close(collection.root);
    return fine;
}
