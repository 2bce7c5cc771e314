// replay.h - the journal of a database, from its first turn on, and what it comes to.
#pragma once

#include "store/sqlite/snapshot.h"

#include <stdio.h>

struct replay {
    uint64_t turns, changes;  // read, and of tasks in them
    uint32_t jobs, tasks;     // submitted in them
    uint32_t different;       // told to `out`: what the journal and the rows do not agree about
    bool is_incomplete;       // and `reason` says what is missing; nothing was compared
    char reason[200];
};

// Repeats each change, in order, on the tasks as they were submitted. The result and the rows of
// the database must give the same state of the core. False: store_error() says why.
bool replay_journal(struct store *store, struct replay *replay, FILE *out);
