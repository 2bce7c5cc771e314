// guard.h - what lies on the disk: whether a file may be opened, and by whom; its log; the ballast.
#pragma once

#include "store/store.h"

const char *guard_network(uint64_t magic);  // the name of a file system that is refused, or null
bool guard_file(const char *path, struct store_error *error);    // makes it if there is none
int guard_lock(const char *path, struct store_error *error);     // -1: somebody has it
bool guard_header(const char *path, struct store_error *error);  // it is a whole database
// A file without a byte becomes a new database: `made` is that file, still to be synced, or -1.
bool guard_make(const char *path, int *made, struct store_error *error);
void log_lengthen(const char *path, uint64_t bytes);
bool ballast_make(const char *path, uint64_t bytes);
void ballast_drop(const char *path);
uint64_t disk_free(const char *path);
