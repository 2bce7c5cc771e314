// query.h - questions to a database file, for people and tools. Nothing here writes.
#pragma once

#include "store/store.h"

#include <stdio.h>

// ---- query.c ------------------------------------------------------------------

enum query_format { QUERY_TABLE, QUERY_JSON };

// Runs one statement that only reads, on a connection that cannot write, and prints its rows.
// False: refused, and the error says why.
bool store_query(const char *path, const char *sql, enum query_format format, FILE *out,
                 struct store_error *error);

// ---- verify.c -------------------------------------------------------------------

// Checks every promise about a database between two turns and prints each broken one, one a line.
// Returns their number; the error is set if the file could not be read.
uint32_t store_verify(const char *path, FILE *out, struct store_error *error);
