// put.c - writes a content, or the tree that a list describes, into a folder.
#define _GNU_SOURCE
#include "os/os.h"
#include "object/cache/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool refuse_there(const char *leaf, struct cache_error *error)
{
    if (errno == EEXIST) return cache_fail(error, CACHE_REFUSED, "%s already exists", leaf);
    return cache_fail_system(error, "make", leaf);
}

static mode_t file_mode(const struct cache_entry *entry, enum cache_copies copies)
{
    if (copies == CACHE_WRITABLE) return entry->executable ? 0777 : 0666;
    return entry->executable ? 0555 : 0444;
}

static bool file_copy(struct cache *cache, const struct cache_entry *entry, int parent,
                      const char *leaf, enum cache_copies copies, struct cache_error *error)
{
    int from = cache_content_open(cache, entry);
    if (from < 0) return cache_fail_system(error, "open the content of", leaf);
    int to = openat(parent, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    file_mode(entry, copies));
    bool fine = to >= 0 || refuse_there(leaf, error);
    if (fine && !cache_copy(from, to, (off_t)entry->bytes)) {
        fine = cache_fail_system(error, "write", leaf);
        unlinkat(parent, leaf, 0);
    }
    close(from);
    if (fine && copies == CACHE_WRITABLE)
        cache_fresh_add(cache, NULL, to, true);
    else if (to >= 0)
        close(to);
    return fine;
}

bool cache_put_file(struct cache *cache, const struct cache_entry *entry, int parent,
                    const char *leaf, enum cache_copies copies, struct cache_error *error)
{
    char name[CACHE_NAME];
    struct stat at;
    if (!cache_content_check(cache, entry, &at, error)) return false;
    cache_content_used(cache, entry);
    cache_name(entry, name);
    bool is_copied = cache->link_above && entry->bytes <= cache->link_above;
    if (copies == CACHE_LINKED && !is_copied) {
        if (linkat(cache->content, name, parent, leaf, 0) == 0) return true;
        if (errno != EXDEV && errno != EMLINK && errno != EPERM) return refuse_there(leaf, error);
    }
    return file_copy(cache, entry, parent, leaf, copies, error);
}

// The folder that was opened last: neighbours in the list are mostly in the same one.
struct place {
    int root, parent;
    size_t length;  // of the path of `parent`, which is the start of the last item's path
    const char *path;
};

static bool place_move(struct place *place, const char *path, const char **leaf)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    *leaf = slash ? slash + 1 : path;
    bool same = place->path && length == place->length && memcmp(path, place->path, length) == 0;
    if (!same) {
        tree_close_parent(place->root, place->parent);
        place->parent = tree_open_parent(place->root, path, leaf);
    }
    place->path = path;
    place->length = length;
    return place->parent >= 0;
}

static bool item_put(struct cache *cache, const struct cache_item *item, struct place *place,
                     enum cache_copies copies, struct cache_error *error)
{
    const char *leaf;
    if (!place_move(place, item->path, &leaf))
        return cache_fail_system(error, "open the folder of", item->path);
    if (item->kind == CACHE_ITEM_FILE)
        return cache_put_file(cache, &item->entry, place->parent, leaf, copies, error);
    int failed = item->kind == CACHE_ITEM_FOLDER ? mkdirat(place->parent, leaf, 0777)
                                                 : symlinkat(item->target, place->parent, leaf);
    return failed ? refuse_there(item->path, error) : true;
}

static bool items_put(struct cache *cache, const struct cache_manifest *manifest, int root,
                      enum cache_copies copies, struct cache_error *error)
{
    struct place place = {.root = root, .parent = root};
    bool fine = true;
    for (uint32_t i = 0; i < manifest->count && fine; i++)
        fine = item_put(cache, &manifest->items[i], &place, copies, error);
    tree_close_parent(root, place.parent);
    return fine;
}

bool cache_put_tree(struct cache *cache, const struct cache_entry *entry, int parent,
                    const char *leaf, enum cache_copies copies, struct cache_error *error)
{
    struct cache_manifest manifest;
    struct cache_error inner = {0};
    if (!cache_manifest_load(cache, entry, &manifest, error)) return false;
    bool made = mkdirat(parent, leaf, 0777) == 0;
    bool fine = made || refuse_there(leaf, error);
    int root = fine ? tree_open_below(parent, leaf, O_RDONLY | O_DIRECTORY) : -1;
    if (fine && root < 0) fine = cache_fail_system(error, "open", leaf);
    if (fine) fine = items_put(cache, &manifest, root, copies, &inner);
    if (fine) cache_content_used(cache, entry);
    if (root >= 0) close(root);
    if (made && !fine) os_tree_remove_at(parent, leaf);
    if (inner.fault != CACHE_FINE && error) *error = inner;
    cache_manifest_release(&manifest);
    return fine;
}
