// files.h - whether the files of a database are still the ones that SQLite has open.
//
// A file that was deleted or replaced still takes all that is written to it, and nobody will ever
// read it again. So the files are compared by inode: about once a second, and before the log is
// folded into the database.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sqlite_store;

enum file_kind { FILE_DATABASE, FILE_LOG, FILE_INDEX, FILE_LOCK, FILE_KINDS };

struct file_identity {
    uint64_t device, inode;  // inode 0: the file was not there yet
};

// Remembers the files that are there now and were not when it was called before.
void files_note(struct sqlite_store *store);
// Between turns. False: one was deleted or replaced; all that was recorded is saved in another file
// if that is possible, and the store has failed with a sentence that says so, unless it had failed
// before.
bool files_are_ours(struct sqlite_store *store);
bool files_check(struct sqlite_store *store);  // also false when the store has failed
