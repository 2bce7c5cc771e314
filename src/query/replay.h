// replay.h - replays the journal of a database from its first turn.
#pragma once

#include "store/sqlite/snapshot.h"

#include <stdio.h>

struct replay {
    uint64_t turns, changes;  // turns read, and changes of tasks in them
    uint32_t jobs, tasks;     // submitted in these turns
    uint32_t different;       // differences between the journal and the rows, written to `out`
    bool is_incomplete;       // `reason` says what is missing; nothing was compared
    char reason[200];
};

// Replays all changes in order, starting from the submitted tasks. The result and the rows of the
// database must give the same state of the core. False: see store_error().
bool replay_journal(struct store *store, struct replay *replay, FILE *out);
