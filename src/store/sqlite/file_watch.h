// file_watch.h - whether the files of a database are still the ones that SQLite has open.
//
// A file that was deleted or replaced still takes all that is written to it, and no process will
// ever read it again. So the files are compared by inode, and with what SQLite has written to them:
// about once a second, and before the log is folded into the database.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sqlite_store;

enum file_kind { FILE_DATABASE, FILE_LOG, FILE_INDEX, FILE_LOCK, FILE_KINDS };

struct file_identity {
    uint64_t device, inode;  // inode 0: the file was not there yet
};

struct file_state {
    int64_t size, written;  // written: when, in nanoseconds
};

// The database after the log was folded into it last.
struct database_seen {
    struct file_state file;  // size 0: not looked at yet
    uint32_t salt[2];        // of the log
    uint32_t backfilled;     // frames of it that are in the database
    bool is_complete;        // all of them
};

// Remembers the files that are there now and were not when it was called before, and how the
// database is now.
void files_note(struct sqlite_store *store);
// Between turns. False: one was deleted, replaced or overwritten; all that was recorded is saved in
// another file if that is possible, and the store has failed with a sentence that says so, unless
// it had failed before.
bool files_are_ours(struct sqlite_store *store);
bool files_check(struct sqlite_store *store);  // also false when the store has failed

// ---- overwritten.c ---------------------------------------------------------------------------

bool log_is_overwritten(const struct sqlite_store *store);
bool log_is_short(const struct sqlite_store *store);  // one call of the system: may be overwritten
void database_note(struct sqlite_store *store, const struct file_state *file);
bool database_is_overwritten(struct sqlite_store *store, const struct file_state *file);
