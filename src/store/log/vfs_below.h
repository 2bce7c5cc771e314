// vfs_below.h - methods of a file that only call the file of the vfs below.
#pragma once

#include <sqlite3.h>
#include <stddef.h>

// Begins the file of a vfs, in memory that SQLite allocates. The file below follows it.
struct vfs_below {
    sqlite3_file file;
    sqlite3_file *below;
};

// Opens the file below at the end of `size` bytes.
int below_open(sqlite3_vfs *vfs, sqlite3_filename name, struct vfs_below *file, size_t size,
               int flags, int *out);
int below_sync(sqlite3_file *file, int flags);
int below_size(sqlite3_file *file, sqlite3_int64 *size);
int below_lock(sqlite3_file *file, int kind);
int below_unlock(sqlite3_file *file, int kind);
int below_is_reserved(sqlite3_file *file, int *answer);
int below_control(sqlite3_file *file, int what, void *argument);
int below_sector_size(sqlite3_file *file);
int below_characteristics(sqlite3_file *file);
int below_index_lock(sqlite3_file *file, int offset, int count, int flags);
void below_index_barrier(sqlite3_file *file);
