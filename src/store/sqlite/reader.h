// reader.h - a read-only connection to a database file.
#pragma once

#include "store/sqlite/query.h"
#include "store/sqlite/sqlite.h"

// It makes no checkpoints and removes no files: only the server's own connection may do so (SQLite
// before 3.51.3 can damage a file if two connections do). Null: the error says why. `batch` is
// zeros, and lasts as long as the connection.
sqlite3 *reader_open(const char *path, struct batch *batch, struct store_error *error);
// The two halves of it: the first reads no page.
sqlite3 *reader_connect(const char *path, struct batch *batch, struct store_error *error);
bool reader_is_ours(sqlite3 *db, const char *path, const struct batch *batch,
                    struct store_error *error);
