// file_watch.h - checks that the files of a database are still the ones that SQLite has open.
//
// A deleted or replaced file still accepts writes, but no process will ever read them. So the files
// are compared by inode, and by what SQLite wrote to them: about once a second, and before a
// checkpoint.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sqlite_store;

enum file_kind { FILE_DATABASE, FILE_LOG, FILE_INDEX, FILE_LOCK, FILE_KINDS };

struct file_identity {
    uint64_t device, inode;  // inode 0: the file did not exist yet
    uint64_t place;          // of the open file; 0: not known
};

struct file_state {
    int64_t size, written;  // written: nanoseconds
};

// The database after the last checkpoint.
struct database_seen {
    struct file_state file;  // size 0: not known yet
    uint32_t salt[2];        // of the log
    uint32_t backfilled;     // number of frames that are in the database
    bool is_complete;        // all frames are
};

// Remembers the identity of files that are new since the last call, and the state of the database.
void files_note(struct sqlite_store *store);
// Between turns. False: a file was deleted, replaced or overwritten. Then all records are saved in
// another file if possible, and the store has failed with a message about it, unless it had failed
// before.
bool files_are_ours(struct sqlite_store *store);
bool files_check(struct sqlite_store *store);  // also false if the store has failed

// ---- open_files.c ----------------------------------------------------------------------------

// The descriptors of this process that are these files; -1: none. False: there is no /proc.
bool open_files_find(const struct file_identity files[FILE_KINDS], int found[FILE_KINDS]);
// A hash of the path that the kernel knows for an open file. It changes when the file or a folder
// above is moved or deleted, also if this process may not enter that folder. 0: not known.
uint64_t open_file_place(int file);

// ---- overwritten.c ---------------------------------------------------------------------------

bool log_is_overwritten(const struct sqlite_store *store);
bool log_is_short(const struct sqlite_store *store);  // one system call; true: may be overwritten
void database_note(struct sqlite_store *store, const struct file_state *file);
bool database_is_overwritten(struct sqlite_store *store, const struct file_state *file);
