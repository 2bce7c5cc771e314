// damage_text.h - a page of the database or its log does not match its checksum.
#pragma once

#include "store/log/database_vfs.h"
#include "store/store.h"

struct sqlite_store;

// False: no such page was read so far. A file that is being opened is refused; a store that has
// committed a turn fails.
bool damage_say(const struct pages *pages, const char *path, bool is_run,
                struct store_error *error);
bool damage_fail(struct sqlite_store *store);
