// attempt_columns.c - the columns of an ended attempt that come from the report of its worker.
//
// One statement writes the rows of consecutive tasks, but their reports differ, so the SQL function
// report(task, column) returns them. One statement per row took half as long again.
#include "store/sqlite/sqlite.h"

#include <string.h>

void attempt_columns_clear(struct sqlite_store *store)
{
    if (!store->reports.count) return;
    memset(store->reports.slots, 0, store->reports.capacity * sizeof *store->reports.slots);
    store->reports.count = 0;
}

void attempt_columns_note(struct sqlite_store *store, uint32_t at)
{
    if (map_reserve(&memory_heap, &store->reports, 1))
        map_put(&store->reports, (uint64_t)row_id(store->attempts[at].task), at + 1);
    else
        turn_fail(store, SQLITE_NOMEM);
}

void attempt_columns_release(struct sqlite_store *store)
{
    map_release(&memory_heap, &store->reports);
}

static const struct store_attempt *attempt_columns_find(const struct sqlite_store *store,
                                                        int64_t id, uint32_t attempt)
{
    uint32_t at = map_find(&store->reports, (uint64_t)id);
    const struct store_attempt *report = at ? &store->attempts[at - 1] : NULL;
    return report && report->attempt == attempt ? report : NULL;
}

void attempt_columns_choose(struct sqlite_store *store, uint32_t attempt)
{
    store->telling = (struct telling){.attempt = attempt};
}

bool attempt_columns_alike(const struct sqlite_store *store, rota_task_id first, uint32_t count,
                           uint32_t attempt, uint32_t *alike)
{
    int64_t id = row_id(first);
    bool is_reported = attempt_columns_find(store, id, attempt);
    *alike = count;
    if (!store->reports.count) return is_reported;
    for (uint32_t i = 1; i < count; i++) {
        if ((attempt_columns_find(store, id + i, attempt) != NULL) == is_reported) continue;
        *alike = i;
        break;
    }
    return is_reported;
}

void attempt_columns_forget(struct sqlite_store *store, rota_task_id first, uint32_t count)
{
    int64_t id = row_id(first);
    for (uint32_t i = 0; i < count; i++) map_remove(&store->reports, (uint64_t)(id + i));
}

// ---- The function ---------------------------------------------------------------------

static void column_tell(sqlite3_context *context, const struct store_attempt *report, int which)
{
    switch (which) {
    case 0: sqlite3_result_text(context, report->end, -1, SQLITE_STATIC); break;
    case 1: sqlite3_result_int64(context, report->status); break;
    case 2: sqlite3_result_text(context, report->reason, -1, SQLITE_STATIC); break;
    case 3: sqlite3_result_int64(context, report->began); break;
    case 4: sqlite3_result_int64(context, report->ended); break;
    case 5: sqlite3_result_int64(context, report->user); break;
    case 6: sqlite3_result_int64(context, report->system); break;
    case 7: sqlite3_result_int64(context, (int64_t)report->memory_bytes); break;
    case 8: sqlite3_result_int64(context, (int64_t)report->log_bytes); break;
    case 9: sqlite3_result_int64(context, report->flags); break;
    case 10: sqlite3_result_int64(context, report->worker.number); break;
    default: sqlite3_result_error(context, "report(): unknown column", -1); break;
    }
}

// Returns null for a task without a report. Each row reads all its columns before the next row
// does.
static void attempt_columns_tell(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct sqlite_store *store = sqlite3_user_data(context);
    struct telling *telling = &store->telling;
    int64_t id = sqlite3_value_int64(values[0]);
    if (id != telling->id) {
        telling->id = id;
        telling->report = attempt_columns_find(store, id, telling->attempt);
    }
    if (telling->report) column_tell(context, telling->report, sqlite3_value_int(values[1]));
}

int attempt_columns_open(struct sqlite_store *store)
{
    return sqlite3_create_function(store->db, "report", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, store,
                                   attempt_columns_tell, NULL, NULL);
}
