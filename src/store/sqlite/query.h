// query.h - SQL queries on a database file, and its verification; neither writes.
#pragma once

#include "store/store.h"

#include <stdio.h>

// ---- query.c ------------------------------------------------------------------

enum query_format { QUERY_TABLE, QUERY_JSON };

// Runs one SQL statement on a connection that cannot write, and prints its rows. False: the
// statement is refused, and the error says why. The statement may call end_text() (query.c).
bool store_query(const char *path, const char *sql, enum query_format format, FILE *out,
                 struct store_error *error);

// ---- verify.c -------------------------------------------------------------------

// Checks all invariants of a database between two turns, and prints a line for each violation.
// Returns their number; the error is set if the file could not be read.
uint32_t store_verify(const char *path, FILE *out, struct store_error *error);
