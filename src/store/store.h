// store.h - where the core's records stay between two lives of the core.
//
// A store keeps the last row of every key. What is committed before a crash is
// what ROTA_EVENT_RESTORE gets after it.
#pragma once

#include "rota.h"

struct store;

// ---- memory.c: rows in memory, for plays and simulations -------------------

struct store *store_open(void);  // null: no memory
void store_close(struct store *store);

// Writes records; the pieces that one turn gives are one transaction. False: no
// memory; the store is then no longer to be trusted and its owner must stop.
bool store_commit(struct store *store, const struct rota_record *records, uint32_t count);

// Every row, by kind as the enum counts, submissions by sequence, the others by
// key: as a database would give them, not as they happened to be written. Valid
// until the next call. Null: no memory, or no rows.
const struct rota_record *store_rows(struct store *store, uint32_t *count);
