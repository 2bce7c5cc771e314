// cache.h - what tasks make and read, kept by content: collected, checked, handed out, evicted.
//
// A content is a file named by the SHA-256 of its bytes; it appears whole or not at all, and no
// object or result names it before it is on the disk. Several processes may share one folder:
//
//     content/ab/cdef...      read-only; ".x" behind it: executable, ".d": the list of a tree
//     object/HIGH-LOW         a link whose target says "KIND:BYTES:HASH", not a path
//     result/KEY              what a command made, for the next who wants the same
//     known/HIGH-LOW          the contents of a result that a server knows by this content key
//     tmp/NAME/               what a process is at; locked while it lives
//     lock, total             who may evict; the bytes of all contents
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

// ---- What can go wrong --------------------------------------------------------

enum cache_fault {
    CACHE_FINE,
    CACHE_REFUSED,  // what the task made, or what was asked for, cannot be accepted
    CACHE_LOST,     // the content is gone or damaged; it has to be made again
    CACHE_BROKEN,   // the disk is full or failed: nobody's result
};

struct cache_error {
    enum cache_fault fault;
    char text[400];  // a sentence that names the path
};

// ---- What is kept ---------------------------------------------------------------

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

// A file that is open: it was added or is held, and is locked so that nobody evicts it.
struct cache_open_file {
    struct cache_entry entry;  // CACHE_NONE: it was delivered, and only waits to be synced
    int fd;
    uint32_t count;  // holds
    bool unsynced;
};

struct cache {
    int folder, content, object, result, known, temporary, lock, total;
    int own;  // the folder of this process below tmp; -1 until it is needed
    char own_name[24];
    char *path;
    uint64_t bytes_max, evict_above, serial;
    uint64_t link_above;  // what is taken and has so many bytes or less is copied
    uint32_t owner;  // files of this user are collected, and those all may read; 0: any
    struct memory memory;
    struct map verified;  // contents this process has hashed, as they then were
    struct os_digest *digest;  // null: nothing was hashed so far
    struct os_sum *sum;
    char *buffer;
    struct cache_open_file fresh[CACHE_FRESH_MAX];  // added, and not named by anything yet
    uint32_t fresh_count;
    struct cache_open_file *held;
    uint32_t held_count, held_capacity;
    uint32_t inside;  // how often the lock was entered
    uint64_t losses;  // contents that this process has removed
    bool sync_whole;  // more waits to be synced than is open
};

// Makes the folders that are missing and removes what dead processes left in tmp.
bool cache_open(struct cache *cache, const char *folder, uint64_t bytes_max,
                struct cache_error *error);
void cache_close(struct cache *cache);

// ---- Collecting -----------------------------------------------------------------

// `name` is relative to the directory and may have slashes; nothing outside it is ever read. The
// file is taken away if that saves a copy. What was added is safe from eviction until it is bound,
// put into a result or released, or CACHE_FRESH_MAX others were added.
bool cache_add(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
               struct cache_entry *out, struct cache_error *error);
// The same for what is not ours to take: it stays where it is, as it is.
bool cache_add_copy(struct cache *cache, int directory_fd, const char *name, enum cache_kind kind,
                    struct cache_entry *out, struct cache_error *error);

// All that was added or delivered is on the disk when it returns. Costs nothing when nothing was.
bool cache_sync(struct cache *cache, struct cache_error *error);

// ---- Handing out ----------------------------------------------------------------

// Puts it below the directory, read-only, as a link to the content where that is possible.
// Folders on the way are made; what is there already is refused.
bool cache_take(struct cache *cache, const struct cache_entry *entry, int directory_fd,
                const char *name, struct cache_error *error);
// Puts a copy of the caller's own there, in place of what was there. The copy is on the disk after
// the next cache_sync, cache_bind or cache_result_put.
bool cache_deliver(struct cache *cache, const struct cache_entry *entry, const char *path,
                   struct cache_error *error);
// Is it there, with all its parts? Looks at sizes only; taking it looks at every byte.
bool cache_has(struct cache *cache, const struct cache_entry *entry);

// ---- Objects ----------------------------------------------------------------------

bool cache_bind(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                struct cache_error *error);
// The same, and the name outlives a crash of the machine. Only what nobody can make again needs it.
bool cache_bind_synced(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                       struct cache_error *error);
// The same for a tree of which the caller knows that all files are there: its list is not read.
bool cache_bind_known(struct cache *cache, rota_object_id object, const struct cache_entry *entry,
                      struct cache_error *error);
// To what it is bound, whether that is there or not. False: to nothing.
bool cache_is_bound(struct cache *cache, rota_object_id object, struct cache_entry *entry);
bool cache_find(struct cache *cache, rota_object_id object, struct cache_entry *entry);
bool cache_unbind(struct cache *cache, rota_object_id object, struct cache_error *error);
// The same, unless it has become another content than that; of kind 0: in any case.
void cache_unbind_one(struct cache *cache, rota_object_id object, const wire_content *content);

// Calls for all objects whose content is there, by id, until it says false. False: out of memory.
typedef bool cache_each_fn(void *context, rota_object_id object, const struct cache_entry *entry);
bool cache_each(struct cache *cache, cache_each_fn *call, void *context);

// ---- Results ------------------------------------------------------------------------

// All that decides what a command makes. Order counts, so the caller sorts what has none.
struct cache_command {
    wire_texts argv, environment, outputs;
    wire_text directory;  // where it runs; empty: in one of its own
    const struct cache_output *inputs;
    uint32_t input_count;
};

bool cache_key(struct cache *cache, const struct cache_command *command, uint8_t key[CACHE_HASH],
               struct cache_error *error);
// `log_path` is a file that is kept with it; null: none.
bool cache_result_put(struct cache *cache, const uint8_t key[CACHE_HASH],
                      const struct cache_output *outputs, uint32_t count, const char *log_path,
                      struct cache_error *error);
// Fills in the entries of the outputs, whose names the caller gives in the order of the put; a log
// of kind CACHE_NONE: there was none. False: not known, or not all of it is there any more.
bool cache_result_find(struct cache *cache, const uint8_t key[CACHE_HASH],
                       struct cache_output *outputs, uint32_t count, struct cache_entry *log);

// A command that failed, and would again: its status and its log. It takes the place of what was
// known of the key, and is forgotten when that is asked for as above.
bool cache_failure_put(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t status,
                       const char *log_path, struct cache_error *error);
bool cache_failure_find(struct cache *cache, const uint8_t key[CACHE_HASH], int32_t *status,
                        struct cache_entry *log);

// ---- known.c: content keys of a server ---------------------------------------------

// There is a result for it, made of these. A hint, which need not last: the result itself is found
// by what its command is.
bool cache_known_put(struct cache *cache, rota_object_id key, const struct cache_entry *entries,
                     uint32_t count);
// Calls for all keys whose contents are there, until it says false; the others are forgotten.
typedef bool cache_known_fn(void *context, rota_object_id key);
void cache_known_each(struct cache *cache, cache_known_fn *call, void *context);

// ---- Eviction -----------------------------------------------------------------------

// What is held stays, also when another process evicts. Each hold costs an open file.
bool cache_hold(struct cache *cache, const struct cache_entry *entry, struct cache_error *error);
void cache_release(struct cache *cache, const struct cache_entry *entry);

// Removes what was not used for longest, until there is room again; never what is held or bound.
// Adding does this by itself. Not done while another process is adding.
void cache_evict(struct cache *cache);
// All of that, whether there is room or not.
void cache_evict_all(struct cache *cache);
uint64_t cache_bytes(const struct cache *cache);  // of all contents

// ---- text.c, move.c: contents that go to another cache, or come from one -------

// "KIND:BYTES:HASH", KIND being f, x for an executable file, or d. False: no such text.
void cache_entry_write(const struct cache_entry *entry, char text[CACHE_ENTRY_TEXT]);
bool cache_entry_read(const char *text, struct cache_entry *entry);
rota_object_id cache_entry_object(const struct cache_entry *entry);  // whose name is its content
bool cache_entry_is(const struct cache_entry *one, const struct cache_entry *other);
wire_content cache_entry_content(const struct cache_entry *entry);
bool cache_entry_has(const struct cache_entry *entry, const wire_content *content);  // or unknown

// SHA-256 of bytes as they come; a thread may feed it while others use the cache.
struct os_sum *cache_sum_open(struct cache *cache, struct cache_error *error);

// A content that is open. Until the file is closed nobody evicts it, nor, if it is the list of a
// tree, any of its files. Nobody has looked at its bytes: the caller may, and then vouch for them.
struct cache_reading {
    int fd;
    uint64_t bytes, stamp;
};
bool cache_read(struct cache *cache, const struct cache_entry *entry,
                struct cache_reading *reading);
// The bytes are right and on the disk. False: the file has changed since it was opened.
bool cache_vouch(struct cache *cache, const struct cache_entry *entry,
                 const struct cache_reading *reading);
// The bytes are wrong: nobody else shall find it.
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

// A file that becomes a content when its bytes are there.
struct cache_arrival {
    int fd;  // -1: none
    char name[24];
};
bool cache_arrival_open(struct cache *cache, struct cache_arrival *arrival,
                        struct cache_error *error);
// The caller has hashed what is in the file, and sees to it that it is on the disk before anything
// is bound to it. There is no arrival afterwards, in any case.
bool cache_arrival_name(struct cache *cache, struct cache_arrival *arrival,
                        const struct cache_entry *entry, struct cache_error *error);
// The same for one that is on the disk only with the next cache_sync or cache_bind.
bool cache_arrival_add(struct cache *cache, struct cache_arrival *arrival,
                       const struct cache_entry *entry, struct cache_error *error);
void cache_arrival_drop(struct cache *cache, struct cache_arrival *arrival);  // fine without one
// The content is there, all its bytes are right, and nobody evicts it until it is bound or
// CACHE_FRESH_MAX others were added. Of a tree: its list.
bool cache_reuse(struct cache *cache, const struct cache_entry *entry);

// ---- survey.c: what a file or folder would be as a content, without taking it ---------

struct cache_manifest;
struct cache_survey {
    struct cache_entry entry;
    char *folder;                 // its real path, or that of the one the file is in
    char *leaf;                   // of a file, below that
    struct cache_manifest *tree;  // null: it is a file
    char *list;                   // of a tree, as a text
    uint64_t list_bytes;
};
// One of the contents it consists of: a file below `folder`, or (path null) the list.
struct cache_part {
    struct cache_entry entry;
    const char *path;
    uint64_t bytes;
};

void cache_init(struct cache *cache);  // for surveys and sums only; cache_close() ends it
bool cache_survey(struct cache *cache, const char *path, struct cache_survey *survey,
                  struct cache_error *error);
// The nth of them; the list is the last one. False: there are no more.
bool cache_survey_part(const struct cache_survey *survey, uint32_t *at, struct cache_part *part);
int cache_survey_open(const struct cache_survey *survey, const struct cache_part *part);  // a file
void cache_survey_release(struct cache_survey *survey);

// ---- open_below.c: folders, without ever following a link --------------------------------

// Null, or why the name must not be used below a directory: it is absolute, or has ".." in it.
const char *tree_name_fault(const char *name);
// Opens what is below the directory, through folders only. -1 with errno.
int tree_open_below(int directory_fd, const char *name, int flags);
// The folder the last part of the name is in, made if it is missing; `leaf` is that last part.
// It may be the directory itself: close it with tree_close_parent. -1 with errno.
int tree_open_parent(int directory_fd, const char *name, const char **leaf);
void tree_close_parent(int directory_fd, int parent);
