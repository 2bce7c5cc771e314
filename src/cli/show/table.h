// table.h - a table with columns as wide as their content, and names of tasks.
#pragma once

#include "query/query.h"

#include <stdio.h>

struct table {
    uint32_t columns, count, capacity;
    struct table_cell {
        char *text;
        size_t width;
    } * cells;
    bool colour;
};

void table_open(struct table *table, uint32_t columns);
// Adds a cell to the row; long texts are cut.
void table_add(struct table *table, const char *text);
void table_addf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints nothing if there is only the first row, which has the headings. Releases the table.
void table_print(struct table *table, FILE *out);

// ---- Names ------------------------------------------------------------------------------------

const char *colour_of(const char *status);  // "" for most
void name_write(FILE *out, const struct query *query, uint32_t task);
// The last attempt that ended or runs; null: there is no attempt.
const struct query_attempt *attempt_last(const struct query *query, const struct query_task *task);
