// journal.h - the journal: all changes, one row per turn.
#pragma once

#include "store/store.h"

uint64_t sqlite_journal_last(const struct store *store);
bool sqlite_journal(struct store *store, uint64_t first, uint64_t last, store_turn_fn *take,
                    void *context);
bool sqlite_label_find(struct store *store, rota_task_id task, struct store_label *label);
