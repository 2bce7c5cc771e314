// file_check.h - checks of a database file before it is opened, its lock, its log and its ballast.
#pragma once

#include "store/store.h"

enum { FILE_CHECK_PATH = 4096 };

// Resolves a symbolic link at the end of the path: SQLite names its log after the target of the
// link, so all other files must be next to that, too.
bool file_check_path(const char *path, char out[FILE_CHECK_PATH], struct store_error *error);
// After its files were lost, a server leaves a saved copy or a note. False: it still exists, so the
// database must not be opened.
bool file_check_mended(const char *path, bool is_run, struct store_error *error);
bool file_check_file(const char *path, struct store_error *error);  // creates a missing file
int file_check_lock(const char *path, struct store_error *error);  // -1: it is locked already
// The file is a complete database.
bool file_check_header(const char *path, struct store_error *error);
// Restricts the modes of the files to the owner: a backup that was copied back may be readable by
// others.
bool file_check_modes(const char *path, struct store_error *error);
// A note in the lock file says that the database had records. It is written when the first turn is
// durable.
void used_note_write(int lock_file);
bool used_note_is_set(int lock_file);
// The same place: a process that could not reach its folder lost the database. False: it did.
void lost_note_write(int lock_file);
bool file_check_lost(int lock_file, const char *path, struct store_error *error);
// The database has that note. False: it is missing or empty.
bool file_check_used(const char *path, struct store_error *error);
// Turns an empty or missing file into a new database. `had` is its size when it was last closed, or
// 0. `made` is its descriptor, not synced yet, or -1.
bool file_check_create(const char *path, int64_t had, int *made, struct store_error *error);
void log_lengthen(const char *path, uint64_t bytes);
bool ballast_make(const char *path, uint64_t bytes);
void ballast_drop(const char *path);
uint64_t disk_free(const char *path);
