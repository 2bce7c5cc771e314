// reader.h - a read-only connection to a database file.
#pragma once

#include "store/sqlite/query.h"
#include "store/sqlite/sqlite.h"

// It makes no checkpoints and removes no files: only the server's own connection may do so (SQLite
// before 3.51.3 can damage a file if two connections do). Null: the error says why.
sqlite3 *reader_open(const char *path, struct store_error *error);
