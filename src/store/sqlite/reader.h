// reader.h - a connection that cannot write, for those who only look.
#pragma once

#include "store/sqlite/query.h"
#include "store/sqlite/sqlite.h"

// It neither checkpoints nor cleans up: only the server's own connection may (SQLite before
// 3.51.3 can damage a file when two do). Null: the error says why.
sqlite3 *reader_open(const char *path, struct store_error *error);
