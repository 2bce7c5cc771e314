// file_check.h - what lies on the disk: whether a file may be opened, and by whom; its log; the
// ballast.
#pragma once

#include "store/store.h"

enum { GUARD_PATH = 4096 };

// The path without a link at its end: SQLite names its log after the file that a link leads to, so
// all other files must be there too.
bool guard_path(const char *path, char out[GUARD_PATH], struct store_error *error);
// A server that lost its files has left a copy or a note. False: it is still there.
bool guard_mended(const char *path, bool is_run, struct store_error *error);
const char *guard_network(uint64_t magic);  // the name of a file system that is refused, or null
bool guard_file(const char *path, struct store_error *error);    // creates a missing file
int guard_lock(const char *path, struct store_error *error);     // -1: somebody has it
bool guard_header(const char *path, struct store_error *error);  // it is a whole database
// Files that others may read, as a backup that was copied back, become the owner's alone.
bool guard_modes(const char *path, struct store_error *error);
// A file without a byte becomes a new database: `made` is that file, still to be synced, or -1.
bool guard_make(const char *path, int *made, struct store_error *error);
void log_lengthen(const char *path, uint64_t bytes);
bool ballast_make(const char *path, uint64_t bytes);
void ballast_drop(const char *path);
uint64_t disk_free(const char *path);
