// cache.h - a cache of inputs and outputs, by content: adding, verifying, handing out, evicting.
//
// A content is a file named by the SHA-256 of its bytes. It appears complete or not at all, and no
// object or result names it before it is on the disk. Several processes may share one folder:
//
//     content/ab/cdef...      read-only; suffix ".x": executable, ".d": the list of a tree
//     object/HIGH-LOW         a link whose target is "KIND:BYTES:HASH", not a path
//     result/KEY              the outputs of a command, for the next one with the same key
//     known/HIGH-LOW          the contents of a result that a server knows by this content key
//     tmp/NAME/               temporary files of a process; locked while it lives
//     lock, total             the lock for eviction; the bytes of all contents
#pragma once

#include "base/base.h"
#include "rota_types.h"
#include "net/wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CACHE_HASH = 32,
    CACHE_ENTRY_TEXT = CACHE_HASH * 2 + 32,
    CACHE_FRESH_MAX = 64,
    CACHE_TREE_ENTRIES_MAX = 1000000,
    CACHE_TREE_DEPTH_MAX = 64,
};

// ---- Errors ---------------------------------------------------------------------------------

enum cache_fault {
    CACHE_FINE,
    CACHE_REFUSED,  // the output, or the request, is invalid
    CACHE_LOST,     // the content is gone or damaged; it has to be made again
    CACHE_BROKEN,   // the disk is full or failed: says nothing about the task
};

struct cache_error {
    enum cache_fault fault;
    char text[400];  // a message with the path
    bool is_full;    // BROKEN: there is no room on the disk
};

// ---- Contents -------------------------------------------------------------------------------

enum cache_kind { CACHE_NONE, CACHE_FILE, CACHE_DIRECTORY };

struct cache_entry {
    uint8_t hash[CACHE_HASH];  // of the file's bytes, or of the list of the tree
    uint64_t bytes;            // of the file, or of all files of the tree
    enum cache_kind kind;
    bool executable;
};

struct cache_output {
    wire_text name;
    struct cache_entry entry;
};

// A file that was added and is open, and locked so that no process evicts it.
struct cache_open_file {
    struct cache_entry entry;  // CACHE_NONE: it was delivered, and only waits to be synced
    int fd;
    bool unsynced;
};

struct cache {
    int folder, content, object, result, known, temporary, lock, total;
    int own;  // the folder of this process below tmp; -1 until it is needed
    char own_name[24];
    char *path;
    uint64_t bytes_max, evict_above, serial;
    uint64_t link_above;  // contents of at most this size are copied when taken
    uint32_t owner;       // only files of this user, and those readable by all, are added; 0: any
    struct memory memory;
    struct map verified;  // contents this process has hashed, with their attributes at that time
    struct os_digest *digest;  // null: nothing was hashed so far
    struct os_hash *sum;
    char *buffer;
    struct cache_open_file fresh[CACHE_FRESH_MAX];  // added, and not named yet
    uint32_t fresh_count;
    uint32_t inside;  // how often the lock was entered
    uint64_t losses;  // contents that this process has removed
    bool sync_whole;  // more files wait to be synced than are open
};

// Creates missing folders and removes files that dead processes left in tmp.
bool cache_open(struct cache *cache, const char *folder, uint64_t bytes_max,
                struct cache_error *error);
void cache_close(struct cache *cache);

// ---- Adding ---------------------------------------------------------------------------------

// `name` is relative to the directory and may have slashes; nothing outside it is ever read. The
// file is moved if that saves a copy. An added content is not evicted until it is bound, put into a
// result or released, or CACHE_FRESH_MAX others were added.
bool cache_add(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
               struct cache_entry *out, struct cache_error *error);
// The same for a file that must not be moved: it stays unchanged.
bool cache_add_copy(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
                    struct cache_entry *out, struct cache_error *error);

// When it returns all added and delivered contents are on the disk. Without any it costs nothing.
bool cache_sync(struct cache *cache, struct cache_error *error);

// ---- Handing out ----------------------------------------------------------------

// Puts it below the directory, read-only, as a hard link to the content if possible. Missing
// folders are created; an existing file is an error.
bool cache_take(struct cache *cache, const struct cache_entry *entry, int directory_fd,
                const char *name, struct cache_error *error);
// Puts a private copy there, and replaces an existing file. The copy is on the disk after the next
// cache_sync, cache_bind or cache_result_put.
bool cache_deliver(struct cache *cache, const struct cache_entry *entry, const char *path,
                   struct cache_error *error);
// Whether all its parts exist. Compares sizes only; taking it verifies every byte.
bool cache_has(struct cache *cache, const struct cache_entry *entry);

// ---- Objects ----------------------------------------------------------------------

bool cache_bind(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                struct cache_error *error);
// The same, and the name survives a crash of the machine. Needed only for contents that cannot be
// made again.
bool cache_bind_synced(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                       struct cache_error *error);
// The same for a tree whose files are known to exist: its list is not read.
bool cache_bind_known(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                      struct cache_error *error);
// The content it is bound to, whether that exists or not. False: not bound.
bool cache_is_bound(struct cache *cache, rota_object_id object, struct cache_entry *entry);
bool cache_find(struct cache *cache, rota_object_id object, struct cache_entry *entry);
// The same for an input of a command, only with the recorded hash.
bool cache_find_input(struct cache *cache, const struct wire_file *input,
                      struct cache_entry *entry);
bool cache_unbind(struct cache *cache, rota_object_id object, struct cache_error *error);
// The same, unless it is bound to another content by now; of kind 0: in any case.
void cache_unbind_one(struct cache *cache, rota_object_id object, const wire_content *content);

// Called for all objects whose content exists, by id, until it returns false. False: out of memory.
typedef bool cache_each_fn(void *context, rota_object_id object, const struct cache_entry *entry);
bool cache_each(struct cache *cache, cache_each_fn *call, void *context);

// ---- Results ------------------------------------------------------------------------

// Everything that determines the outputs of a command. The order counts, so the caller sorts lists
// without an order.
struct cache_command {
    wire_texts argv, environment, outputs;
    wire_text directory;  // where it runs; empty: in a private one
    const struct cache_output *inputs;
    uint32_t input_count;
};

bool cache_key(struct cache *cache, const struct cache_command *command, uint8_t key[CACHE_HASH],
               struct cache_error *error);
// `log_path` is a file that is stored with it; null: none.
bool cache_result_put(struct cache *cache, const uint8_t key[CACHE_HASH],
                      const struct cache_output *outputs, uint32_t count, const char *log_path,
                      struct cache_error *error);
// Fills in the entries of the outputs, whose names the caller gives in the order of the put; a log
// of kind CACHE_NONE: there was none. False: unknown, or incomplete by now.
bool cache_result_find(struct cache *cache, const uint8_t key[CACHE_HASH],
                       struct cache_output *outputs, uint32_t count, struct cache_entry *log);

// A command that failed, and would fail again: its status and its log. It replaces the stored
// result of the key, and is removed when a successful result is asked for as above.
bool cache_failure_put(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t status,
                       const char *log_path, struct cache_error *error);
bool cache_failure_find(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t *status,
                        struct cache_entry *log);

// There is a result for this key, with these contents. A hint, which may be lost: the result itself
// is found by its command.
bool cache_known_put(struct cache *cache, rota_object_id key, const struct cache_entry *entries,
                     uint32_t count);
// Called for all keys whose contents exist, until it returns false; the others are removed.
typedef bool cache_known_fn(void *context, rota_object_id key);
void cache_known_each(struct cache *cache, cache_known_fn *call, void *context);

// ---- Eviction -----------------------------------------------------------------------

// An added content that is not bound may be evicted from now on.
void cache_release(struct cache *cache, const struct cache_entry *entry);

// Removes the least recently used contents, until there is room again; never those open or bound.
// Adding does this automatically. Not done while another process is adding.
void cache_evict(struct cache *cache);
// Removes all of those, whether there is room or not.
void cache_evict_all(struct cache *cache);
uint64_t cache_bytes(const struct cache *cache);  // of all contents

// ---- text.c, move.c: contents that are sent to another cache, or received from one ----------

// "KIND:BYTES:HASH", KIND being f, x for an executable file, or d. False: invalid text.
void cache_entry_write(const struct cache_entry *entry, char text[CACHE_ENTRY_TEXT]);
bool cache_entry_read(const char *text, struct cache_entry *entry);
// whose id is derived from its content
rota_object_id cache_entry_object(const struct cache_entry *entry);
bool cache_entry_is(const struct cache_entry *one, const struct cache_entry *other);
wire_content cache_entry_content(const struct cache_entry *entry);
struct wire_file cache_entry_file(rota_object_id object, const struct cache_entry *entry);
bool cache_entry_has(const struct cache_entry *entry, const wire_content *content);  // or unknown

// SHA-256 of bytes as they arrive; a thread may feed it while others use the cache.
struct os_hash *cache_hash_open(struct cache *cache, struct cache_error *error);

// An open content. Until the file is closed it is not evicted, nor, if it is the list of a tree,
// any of its files. Its bytes are not verified: the caller may do that, and then confirm them.
struct cache_reading {
    int fd;
    uint64_t bytes, stamp;
};
bool cache_read(struct cache *cache, const struct cache_entry *entry,
                struct cache_reading *reading);
// The bytes are correct and on the disk. False: the file has changed since it was opened.
bool cache_vouch(struct cache *cache, const struct cache_entry *entry,
                 const struct cache_reading *reading);
// The bytes are wrong: removes the content.
void cache_throw(struct cache *cache, const struct cache_entry *entry,
                 const struct cache_reading *reading);

// The files of a tree, sorted, each content once.
struct cache_files {
    struct cache_entry *items;
    uint32_t count;
};
bool cache_files_load(struct cache *cache, const struct cache_entry *tree,
                      struct cache_files *files, struct cache_error *error);
bool cache_files_have(const struct cache_files *files, const struct cache_entry *entry);
void cache_files_release(struct cache_files *files);

// A file that becomes a content when all its bytes have arrived.
struct cache_arrival {
    int fd;  // -1: none
    char name[24];
};
bool cache_arrival_open(struct cache *cache, struct cache_arrival *arrival,
                        struct cache_error *error);
// SYNCED: the caller makes sure that the file is on the disk before it is bound. UNSYNCED: it is
// there with the next cache_sync or cache_bind.
enum cache_synced { CACHE_UNSYNCED, CACHE_SYNCED };
// The caller has hashed the file. The arrival ends in any case.
bool cache_arrival_add(struct cache *cache, struct cache_arrival *arrival,
                       const struct cache_entry *entry, enum cache_synced synced,
                       struct cache_error *error);
void cache_arrival_drop(struct cache *cache, struct cache_arrival *arrival);  // allowed without one
// The content exists, all its bytes are correct, and it is not evicted until it is bound or
// CACHE_FRESH_MAX others were added. Of a tree: its list.
bool cache_reuse(struct cache *cache, const struct cache_entry *entry);

// ---- hash_in_place.c: hashes a file or folder without adding it --------------------------------

struct cache_manifest;
struct cache_survey {
    struct cache_entry entry;
    char *folder;                 // its real path, or that of the folder of the file
    char *leaf;                   // of a file, below that
    struct cache_manifest *tree;  // null: it is a file
    char *list;                   // of a tree, as a text
    uint64_t list_bytes;
};
// One of its contents: a file below `folder`, or (path null) the list.
struct cache_part {
    struct cache_entry entry;
    const char *path;
    uint64_t bytes;
};

void cache_init(struct cache *cache);  // for surveys and hashes only; cache_close() ends it
bool cache_survey(struct cache *cache, const char *path, struct cache_survey *survey,
                  struct cache_error *error);
// The nth of them; the list is the last one. False: there are no more.
bool cache_survey_part(const struct cache_survey *survey, uint32_t *at, struct cache_part *part);
int cache_survey_open(const struct cache_survey *survey, const struct cache_part *part);  // a file
void cache_survey_release(struct cache_survey *survey);

// ---- open_below.c: opens files without following links --------------------------------------

// Null, or why the name cannot be used below a directory: it is absolute, or contains "..".
const char *tree_name_fault(const char *name);
// Opens a path below the directory, through folders only. -1 with errno.
int tree_open_below(int directory_fd, const char *name, int flags);
// Opens the folder of the last part of the name, and creates it if it is missing; `leaf` is that
// last part. It may be the directory itself: close it with tree_close_parent. -1 with errno.
int tree_open_parent(int directory_fd, const char *name, const char **leaf);
void tree_close_parent(int directory_fd, int parent);
