// both.h - two stores side by side, which must have the same rows.
#pragma once

#include "store/store.h"

// A place for files that are thrown away, fast where the machine has memory for it.
const char *both_folder(void);
void both_remove(const char *path);  // the database and the files beside it
// Changes a database as another program may that removes the checksums, which are wrong then.
// Returns how many rows the statements changed, or -1: they failed.
int both_change(const char *path, const char *sql);

// The first difference of the last history; "" if the stores agreed throughout.
const char *both_difference(void);
uint64_t both_turns(void);

// Whether two rows say the same. Conditions are compared task by task: their place in
// the list of clauses means nothing.
bool both_same(const struct rota_record *left, const struct rota_record *right);
