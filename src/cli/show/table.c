// table.c - prints a table with columns as wide as their content.
#define _GNU_SOURCE
#include "cli/show/table.h"
#include "base/base.h"
#include "os/print.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 60 };

// ---- Colours --------------------------------------------------------------------------------

const char *colour_of(const char *status)
{
    static const char *const colours[][2] = {{"FAILED", "\033[31m"},
                                             {"ABORTED", "\033[31m"},
                                             {"BLOCKED", "\033[33m"},
                                             {"RUNNING", "\033[36m"},
                                             {"SUCCESS", "\033[32m"}};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (strcmp(colours[i][0], status) == 0) return colours[i][1];
    return "";
}

// ---- Cells ----------------------------------------------------------------------------------

void table_open(struct table *table, uint32_t columns)
{
    *table = (struct table){.columns = columns};
}

// The length in bytes of the first CELL_MAX characters.
static size_t cut(const char *text, bool *is_cut)
{
    size_t length = 0, characters = 0;
    for (; text[length]; length++) {
        bool begins = ((unsigned char)text[length] & 0xc0) != 0x80;
        if (begins && characters++ == CELL_MAX) break;
    }
    *is_cut = text[length] != 0;
    return length;
}

void table_add(struct table *table, const char *text)
{
    if (!ARRAY_MORE_RAW(&memory_heap, table->cells, table->count, table->capacity))
        query_no_memory();
    struct table_cell *cell = &table->cells[table->count++];
    size_t size;
    bool is_cut;
    FILE *out = open_memstream(&cell->text, &size);
    if (!out) query_no_memory();
    cell->width = plain_write(out, text, cut(text, &is_cut));
    if (is_cut) fputs("...", out), cell->width += 3;
    if (fclose(out)) query_no_memory();
}

void table_addf(struct table *table, const char *format, ...)
{
    char text[QUERY_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_add(table, text);
}

// ---- Printing -------------------------------------------------------------------------------

static size_t width_of(const struct table *table, uint32_t column)
{
    size_t width = 0;
    for (uint32_t i = column; i < table->count; i += table->columns)
        if (table->cells[i].width > width) width = table->cells[i].width;
    return width;
}

static void row_print(const struct table *table, uint32_t first, const size_t *widths, FILE *out)
{
    for (uint32_t i = 0; i < table->columns; i++) {
        const struct table_cell *cell = &table->cells[first + i];
        const char *colour = table->colour && first ? colour_of(cell->text) : "";
        size_t left = i + 1 < table->columns ? widths[i] - cell->width + 2 : 0;
        fprintf(out, "%s%s%s%*s", colour, cell->text, *colour ? "\033[0m" : "", (int)left, "");
    }
    putc('\n', out);
}

void table_print(struct table *table, FILE *out)
{
    size_t widths[16];
    table->colour = colour_is_wanted(out);
    for (uint32_t i = 0; i < table->columns; i++) widths[i] = width_of(table, i);
    bool is_empty = table->count <= table->columns;
    for (uint32_t i = 0; !is_empty && i + table->columns <= table->count; i += table->columns)
        row_print(table, i, widths, out);
    for (uint32_t i = 0; i < table->count; i++) free(table->cells[i].text);
    free(table->cells);
    *table = (struct table){0};
}

// ---- Names of tasks -------------------------------------------------------------------------

void name_write(FILE *out, const struct query *query, uint32_t task)
{
    plain_write(out, query->tasks[task].name, strlen(query->tasks[task].name));
}

const struct query_attempt *attempt_last(const struct query *query, const struct query_task *task)
{
    return task->count ? &query->attempts[task->first + task->count - 1] : NULL;
}
