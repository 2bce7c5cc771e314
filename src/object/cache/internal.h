// internal.h - internals of the cache, shared by its files.
#pragma once

#include "object/cache/cache.h"

#include <sys/stat.h>

enum {
    CACHE_HEX = WIRE_HEX,
    CACHE_NAME = CACHE_HEX + 8,  // size of the name of a content
    CACHE_BUFFER = 1 << 18,
    CACHE_OBJECT_NAME = 40,
};

// ---- text.c: names of contents, and error messages ------------------------------------------

// Both return false, for the caller to return. The second one adds the text of errno.
bool cache_fail(struct cache_error *error, enum cache_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool cache_fail_system(struct cache_error *error, const char *doing, const char *path);

void cache_name(const struct cache_entry *entry, char name[CACHE_NAME]);  // below content/
bool cache_name_read(const char *folder, const char *file, struct cache_entry *entry);
uint64_t cache_entry_key(const struct cache_entry *entry);

// ---- open.c ------------------------------------------------------------------

// While a process is inside, no other one evicts.
void cache_enter(struct cache *cache);
void cache_leave(struct cache *cache);
// creates a folder for this process
bool cache_own(struct cache *cache, struct cache_error *error);
// A new file in it, for writing and reading.
int cache_temporary(struct cache *cache, char name[24], struct cache_error *error);

// ---- hash.c -------------------------------------------------------------------

bool cache_hash_begin(struct cache *cache, struct cache_error *error);
void cache_hash_add(struct cache *cache, const void *bytes, size_t count);
void cache_hash_end(struct cache *cache, uint8_t hash[CACHE_HASH]);
// At most this many bytes: a file may grow forever.
bool cache_hash_file(struct cache *cache, int fd, off_t size, uint8_t hash[CACHE_HASH],
                     const char *path, struct cache_error *error);
void cache_hash_close(struct cache *cache);

// ---- content.c: contents by name ----------------------------------------------

// Verifies that the content exists and its bytes are correct; `at` gets the attributes of the file.
bool cache_content_check(struct cache *cache, const struct cache_entry *entry, struct stat *at,
                         struct cache_error *error);
// Gives the temporary file its name, unless the content exists already. The file is open; the cache
// may keep it open or close it, on failure too.
bool cache_content_install(struct cache *cache, const struct cache_entry *entry,
                           const char *temporary, int fd, enum cache_synced synced,
                           struct cache_error *error);
// Differs for another file, or if the file has been written to.
uint64_t cache_content_stamp(const struct cache_entry *entry, const struct stat *at);
// The content exists and is correct: it need not be written. It is not evicted from now on.
bool cache_content_reuse(struct cache *cache, const struct cache_entry *entry);
// It exists, is not evicted, and will be on the disk with the next sync.
bool cache_ready(struct cache *cache, const struct cache_entry *entry, struct cache_error *error);
// The same, but the files of a tree are not checked.
bool cache_safe(struct cache *cache, const struct cache_entry *entry, struct cache_error *error);
// Removes it if it still is that file.
void cache_content_throw(struct cache *cache, const struct cache_entry *entry, ino_t inode);
void cache_content_used(struct cache *cache, const struct cache_entry *entry);
// Its bytes have been verified; they are on the disk, too.
void cache_content_right(struct cache *cache, const struct cache_entry *entry,
                         const struct stat *at);
void cache_content_synced(struct cache *cache, const struct cache_entry *entry,
                          const struct stat *at);
int cache_content_open(struct cache *cache, const struct cache_entry *entry);

// ---- sync.c: contents that were added and are not named yet ---------------------------------

void cache_fresh_add(struct cache *cache, const struct cache_entry *entry, int fd, bool unsynced);
bool cache_fresh_has(const struct cache *cache, const struct cache_entry *entry);
void cache_fresh_close(struct cache *cache);

// ---- copy.c -----------------------------------------------------------------------

// both from their current position; false with errno
bool cache_copy(int from, int to, off_t size);

// ---- manifest.c: the list of a tree -------------------------------------------------

enum cache_item_kind { CACHE_ITEM_FILE = 'f', CACHE_ITEM_FOLDER = 'd', CACHE_ITEM_LINK = 'l' };

struct cache_item {
    char *path, *target;  // target: of a link
    enum cache_item_kind kind;
    struct cache_entry entry;  // of a file
};

// Items are sorted by path, so a folder comes before its items.
struct cache_manifest {
    struct cache_item *items;
    uint32_t count, capacity;
    uint64_t bytes;
};

// Takes the path and the target, which are freed in any case. False: out of memory, or too many.
bool cache_manifest_add(struct cache_manifest *manifest, struct cache_item item);
uint32_t cache_path_depth(const char *path);  // 0: at the top of the tree
void cache_manifest_sort(struct cache_manifest *manifest);
// Null, or why it is invalid; adds up the bytes.
const char *cache_manifest_fault(struct cache_manifest *manifest);
bool cache_manifest_write(const struct cache_manifest *manifest, int fd);  // false with errno
// Reads the list of a tree from the cache, and checks it.
bool cache_manifest_load(struct cache *cache, const struct cache_entry *entry,
                         struct cache_manifest *manifest, struct cache_error *error);
// The same without verifying its hash or bytes, to see which files it names.
bool cache_manifest_peek(struct cache *cache, const struct cache_entry *entry,
                         struct cache_manifest *manifest);
void cache_manifest_release(struct cache_manifest *manifest);

// ---- add.c, tree.c: adding ------------------------------------------------------------------

// CACHE_COPY_LOG: a log of the worker, which may belong to another user than its commands.
enum cache_how { CACHE_MAY_MOVE, CACHE_MUST_COPY, CACHE_COPY_LOG, CACHE_ONLY_LOOK };

bool cache_add_file(struct cache *cache, int directory_fd, const char *name, enum cache_how how,
                    struct cache_entry *out, struct cache_error *error);
bool cache_add_tree(struct cache *cache, int directory_fd, const char *name, enum cache_how how,
                    struct cache_entry *out, struct cache_error *error);
// Lists the open folder; files are hashed, and nothing is moved; `name` is for error messages.
bool cache_tree_look(struct cache *cache, int root, const char *name,
                     struct cache_manifest *manifest, struct cache_error *error);
// Opens a file or folder to be added; the error says what it is if it cannot be.
int cache_source_open(int directory_fd, const char *name, enum cache_kind kind,
                      struct cache_error *error);

// ---- put.c ----------------------------------------------------------------------------

enum cache_copies { CACHE_LINKED, CACHE_WRITABLE };

// Creates the file; it must not exist.
bool cache_put_file(struct cache *cache, const struct cache_entry *entry, int parent,
                    const char *leaf, enum cache_copies copies, struct cache_error *error);
bool cache_put_tree(struct cache *cache, const struct cache_entry *entry, int parent,
                    const char *leaf, enum cache_copies copies, struct cache_error *error);

// ---- result.c -------------------------------------------------------------------------

void cache_result_prune(struct cache *cache);  // removes incomplete results

// ---- object.c: names of objects and keys ----------------------------------------------

void cache_object_name(rota_object_id object, char name[CACHE_OBJECT_NAME]);
bool cache_object_name_read(const char *name, rota_object_id *object);

// ---- open_below.c: reading folders --------------------------------------------------

// Called for every name in the folder until it returns false. False: it could not be read.
typedef bool cache_list_fn(void *context, int folder_fd, const char *name);
bool cache_list(int parent_fd, const char *folder, cache_list_fn *call, void *context);
