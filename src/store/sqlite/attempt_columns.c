// attempt_columns.c - the columns of an ended attempt that come from the report of its worker.
//
// One statement writes the rows of consecutive tasks, but their reports differ, so the SQL function
// said(task, column) returns them. One statement per row took half as long again.
#include "store/sqlite/sqlite.h"

#include <string.h>

void said_clear(struct sqlite_store *store)
{
    if (!store->said.count) return;
    memset(store->said.slots, 0, store->said.capacity * sizeof *store->said.slots);
    store->said.count = 0;
}

void said_note(struct sqlite_store *store, uint32_t at)
{
    if (map_reserve(&memory_heap, &store->said, 1))
        map_put(&store->said, (uint64_t)row_id(store->attempts[at].task), at + 1);
    else
        turn_fail(store, SQLITE_NOMEM);
}

void said_release(struct sqlite_store *store)
{
    map_release(&memory_heap, &store->said);
}

static const struct store_attempt *said_find(const struct sqlite_store *store, int64_t id,
                                             uint32_t attempt)
{
    uint32_t at = map_find(&store->said, (uint64_t)id);
    const struct store_attempt *said = at ? &store->attempts[at - 1] : NULL;
    return said && said->attempt == attempt ? said : NULL;
}

void said_choose(struct sqlite_store *store, uint32_t attempt)
{
    store->telling = (struct telling){.attempt = attempt};
}

bool said_alike(const struct sqlite_store *store, rota_task_id first, uint32_t count,
                uint32_t attempt, uint32_t *alike)
{
    int64_t id = row_id(first);
    bool said = said_find(store, id, attempt);
    *alike = count;
    if (!store->said.count) return said;
    for (uint32_t i = 1; i < count; i++) {
        if ((said_find(store, id + i, attempt) != NULL) == said) continue;
        *alike = i;
        break;
    }
    return said;
}

void said_forget(struct sqlite_store *store, rota_task_id first, uint32_t count)
{
    int64_t id = row_id(first);
    for (uint32_t i = 0; i < count; i++) map_remove(&store->said, (uint64_t)(id + i));
}

// ---- The function ---------------------------------------------------------------------

static void column_tell(sqlite3_context *context, const struct store_attempt *said, int which)
{
    switch (which) {
    case 0: sqlite3_result_text(context, said->end, -1, SQLITE_STATIC); break;
    case 1: sqlite3_result_int64(context, said->status); break;
    case 2: sqlite3_result_text(context, said->reason, -1, SQLITE_STATIC); break;
    case 3: sqlite3_result_int64(context, said->began); break;
    case 4: sqlite3_result_int64(context, said->ended); break;
    case 5: sqlite3_result_int64(context, said->user); break;
    case 6: sqlite3_result_int64(context, said->system); break;
    case 7: sqlite3_result_int64(context, (int64_t)said->memory_bytes); break;
    case 8: sqlite3_result_int64(context, (int64_t)said->log_bytes); break;
    case 9: sqlite3_result_int64(context, said->flags); break;
    case 10: sqlite3_result_int64(context, said->worker.number); break;
    default: sqlite3_result_error(context, "said(): unknown column", -1); break;
    }
}

// Returns null for a task without a report. Each row reads all its columns before the next row
// does.
static void said_tell(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    struct sqlite_store *store = sqlite3_user_data(context);
    struct telling *telling = &store->telling;
    int64_t id = sqlite3_value_int64(values[0]);
    if (id != telling->id) {
        telling->id = id;
        telling->said = said_find(store, id, telling->attempt);
    }
    if (telling->said) column_tell(context, telling->said, sqlite3_value_int(values[1]));
}

int said_open(struct sqlite_store *store)
{
    return sqlite3_create_function(store->db, "said", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, store,
                                   said_tell, NULL, NULL);
}
