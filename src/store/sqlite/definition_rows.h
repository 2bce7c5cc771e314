// definition_rows.h - stored definitions: the text of each, and the numbers of names.
//
// A definition is stored as the text that its owner wrote; the columns of sched_job are what the
// core made of it. Rows are written in a turn, like records.
#pragma once

#include "job/calendar/calendar.h"
#include "store/store.h"

// One definition. Between two `rota define` only the state of its calendar changes.
struct catalog_row {
    rota_task_id task;
    const char *name;
    const char *text;  // from definition_write(); null when put: deletes the row
    struct calendar_state state;
};

// The names of lanes, groups and machines. A name keeps its number.
enum catalog_kind { CATALOG_LANE, CATALOG_GROUP, CATALOG_MACHINE, CATALOG_WORKER, CATALOG_KINDS };

struct catalog_name {
    enum catalog_kind kind;
    uint32_t number;
    const char *name;
};

// In a turn, in order; the texts must stay valid until the commit.
void store_put_definition(struct store *store, const struct catalog_row *row);
void store_put_calendar(struct store *store, rota_task_id task, const struct calendar_state *state);
void store_put_name(struct store *store, const struct catalog_name *name);
// The user that runs the commands of a worker. The name of the worker must be stored already.
void store_put_user(struct store *store, uint32_t worker, const char *user);

// All rows: definitions by name in strcmp() order, names by kind and number. False: the store has
// failed, or stores no definitions. Release it in either case.
struct catalog_rows {
    struct catalog_row *rows;
    struct catalog_name *names;
    uint32_t row_count, row_capacity, name_count, name_capacity;
};
bool store_catalog(struct store *store, struct catalog_rows *rows);
void catalog_rows_release(struct catalog_rows *rows);

// The tasks whose attempts ended at `since` or later, the last first, at most `max`. Returns their
// number.
struct catalog_end {
    rota_task_id task;
    rota_time ended;
};
uint32_t store_ends(struct store *store, rota_time since, struct catalog_end *ends, uint32_t max);

// ---- definition_sql.c ---------------------------------------------------------------------------

// Runs a writing SQL statement on a copy of sched_job that has only `rows`. Returns the changes as
// the text of a definition file; the caller frees it. Null: `error` says why.
char *catalog_sql(const struct catalog_rows *rows, const char *sql, struct store_error *error);
