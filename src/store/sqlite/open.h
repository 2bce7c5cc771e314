// open.h - opens a store in a file.
#pragma once

#include "store/store.h"

// Creates a missing file. Null: refused or broken, and the error says why.
struct store *store_open_sqlite(const char *path, const struct store_options *options,
                                struct store_error *error);
