// definition_rows.h - definitions that are kept: the text of each, and the numbers that names have.
//
// A definition is kept as the text it was read from, so that its row says what its owner wrote;
// the columns of sched_job are what the core made of it. Rows are written in a turn, like records.
#pragma once

#include "job/calendar/calendar.h"
#include "store/store.h"

// ---- store/sqlite/definition_rows.c -------------------------------------------------------------

// One definition. Its calendar's state is all of it that changes between two `rota define`.
struct catalog_row {
    rota_task_id task;
    const char *name;
    const char *text;  // what definition_write() made; null in a put: the row goes
    struct calendar_state state;
};

// The names of lanes, groups and machines. A number is given once and stays.
enum catalog_kind { CATALOG_LANE, CATALOG_GROUP, CATALOG_MACHINE, CATALOG_WORKER, CATALOG_KINDS };

struct catalog_name {
    enum catalog_kind kind;
    uint32_t number;
    const char *name;
};

// In a turn, in order; what they point to stays as it is until the commit.
void store_put_definition(struct store *store, const struct catalog_row *row);
void store_put_calendar(struct store *store, rota_task_id task, const struct calendar_state *state);
void store_put_name(struct store *store, const struct catalog_name *name);
// The user that the commands of a worker run as. The worker has a name already.
void store_put_user(struct store *store, uint32_t worker, const char *user);

// All rows: definitions by name, as strcmp() has it, and names by kind and number. False: the store
// has failed, or keeps none. Release it in either case.
struct catalog_rows {
    struct catalog_row *rows;
    struct catalog_name *names;
    uint32_t row_count, row_capacity, name_count, name_capacity;
};
bool store_catalog(struct store *store, struct catalog_rows *rows);
void catalog_rows_release(struct catalog_rows *rows);

// The tasks whose attempts ended at `since` or later, the last first; at most `max`. Returns how
// many were written.
struct catalog_end {
    rota_task_id task;
    rota_time ended;
};
uint32_t store_ends(struct store *store, rota_time since, struct catalog_end *ends, uint32_t max);

// ---- store/sqlite/definition_sql.c --------------------------------------------------------------

// Runs a statement that writes on a table that looks like sched_job and holds `rows` alone; gives
// back what it changes as the text of a definition file, to be freed. Null: the error says why.
char *catalog_sql(const struct catalog_rows *rows, const char *sql, struct store_error *error);
