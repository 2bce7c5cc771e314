// snapshot.c - reads a snapshot of a database file on a read-only connection.
#include "store/sqlite/snapshot.h"
#include "store/sqlite/reader.h"

// ---- Opening --------------------------------------------------------------------------

static const struct store_kind snapshot_kind = {
    .close = sqlite_close,
    .rows = sqlite_rows,
    .rows_release = sqlite_rows_release,
    .text_find = sqlite_text_find,
    .answer_find = sqlite_answer_find,
    .catalog = sqlite_catalog,
    .journal = sqlite_journal,
};

static int64_t number_ask(struct sqlite_store *store, const char *sql)
{
    sqlite3_stmt *row = load_prepare(store, sql);
    int result = row ? sqlite3_step(row) : SQLITE_ERROR;
    int64_t number = result == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    return load_end(store, row, result) ? number : 0;
}

// The first query begins the snapshot that all later ones see.
static bool moment_begin(struct sqlite_store *store, struct store_error *error)
{
    int result = sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
    if (result) fail_with(store, result, "cannot be read");
    int64_t version = result ? 0
                             : number_ask(store, "SELECT user_version FROM pragma_user_version,"
                                                 " (SELECT count(*) FROM sqlite_schema)");
    *error = store->store.error;
    if (!error->fault && version != SCHEMA_VERSION) schema_refuse(error, store->path, version);
    return !error->fault;
}

struct store *snapshot_open(const char *path, struct store_error *error)
{
    *error = (struct store_error){0};
    if (!file_check_header(path, error)) return NULL;
    struct sqlite_store *store = sqlite_allocate(&snapshot_kind, path, error);
    if (!store) return NULL;
    store->db = reader_open(store->path, &store->batch, error);
    if (store->db && moment_begin(store, error)) return &store->store;
    sqlite_close(&store->store);
    return NULL;
}

// ---- Columns ----------------------------------------------------------------------------

static const char *text_at(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static uint32_t small_at(sqlite3_stmt *row, int column)
{
    return (uint32_t)sqlite3_column_int64(row, column);
}

static sqlite3_stmt *of_job(struct sqlite_store *store, const char *sql, uint32_t job)
{
    sqlite3_stmt *row = load_prepare(store, sql);
    if (!row) return NULL;
    bind_number(row, 1, row_id((rota_task_id){job, 0}));
    bind_number(row, 2, row_id((rota_task_id){job, UINT32_MAX}));
    return row;
}

// ---- Tasks ------------------------------------------------------------------------------

static const char tasks_sql[]
    = "SELECT t.id, t.kind = 'bundle', t.name, t.command, t.details, coalesce(s.status, t.status),"
      " t.condition, t.needs, t.inputs, t.outputs, t.access, s.outcome, t.parent, t.machine,"
      " t.lane, t.grp, t.cores, t.memory_mib, t.retries, s.attempt, s.tries, t.priority, s.exit,"
      " iif(s.status IN ('ASSIGNED', 'RUNNING'), coalesce(s.ran_from, s.started), 0), s.asked"
      " FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id WHERE t.id BETWEEN ? AND ?"
      " ORDER BY t.id";

static void task_read(sqlite3_stmt *row, struct snapshot_task *task)
{
    const char **texts[]
        = {&task->name,  &task->command, &task->details, &task->status, &task->condition,
           &task->needs, &task->inputs,  &task->outputs, &task->access, &task->outcome};
    uint32_t *numbers[]
        = {&task->parent,     &task->machine, &task->lane,    &task->group, &task->cores,
           &task->memory_mib, &task->retries, &task->attempt, &task->tries};
    task->id = row_task(sqlite3_column_int64(row, 0));
    task->is_bundle = sqlite3_column_int(row, 1) != 0;
    for (int i = 0; i < 10; i++) *texts[i] = text_at(row, 2 + i);
    for (int i = 0; i < 9; i++) *numbers[i] = small_at(row, 12 + i);
    task->priority = sqlite3_column_int(row, 21);
    task->exit = sqlite3_column_int(row, 22);
    task->started = sqlite3_column_int64(row, 23);
    task->asked = (uint64_t)sqlite3_column_int64(row, 24);
}

bool snapshot_tasks(struct store *base, uint32_t job, snapshot_task_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = of_job(store, tasks_sql, job);
    int result = SQLITE_ERROR;
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        struct snapshot_task task;
        task_read(row, &task);
        if (take(context, &task)) continue;
        load_no_memory(store);
        break;
    }
    return load_end(store, row, result);
}

// ---- Attempts ---------------------------------------------------------------------------

#define ATTEMPTS                                                                                   \
    " attempt, worker, result, started, ended, result_exit, \"end\", end_status, reason,"          \
    " ran_from, ran_to, user_us, system_us, memory_bytes, log_bytes, end_flags FROM "
static const char attempts_sql[]
    = "SELECT id AS task," ATTEMPTS "sched_state WHERE id BETWEEN ?1 AND ?2 AND seq IS NOT NULL"
      " UNION ALL SELECT id AS task," ATTEMPTS "sched_run WHERE id BETWEEN ?1 AND ?2 ORDER BY 1, 2";

static void attempt_read(sqlite3_stmt *row, struct snapshot_attempt *attempt)
{
    struct store_attempt *it = &attempt->it;
    bool is_reported = sqlite3_column_type(row, 7) != SQLITE_NULL;
    it->task = row_task(sqlite3_column_int64(row, 0));
    it->attempt = small_at(row, 1);
    attempt->worker = small_at(row, 2);
    attempt->status = text_at(row, 3);
    attempt->started = sqlite3_column_int64(row, 4);
    it->end = is_reported ? text_at(row, 7) : "";
    it->status = sqlite3_column_int(row, is_reported ? 8 : 6);
    it->reason = text_at(row, 9);
    it->began = sqlite3_column_int64(row, is_reported ? 10 : 4);
    it->ended = sqlite3_column_int64(row, is_reported ? 11 : 5);
    it->user = sqlite3_column_int64(row, 12);
    it->system = sqlite3_column_int64(row, 13);
    it->memory_bytes = (uint64_t)sqlite3_column_int64(row, 14);
    it->log_bytes = (uint64_t)sqlite3_column_int64(row, 15);
    it->flags = small_at(row, 16);
}

bool snapshot_attempts(struct store *base, uint32_t job, snapshot_attempt_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = of_job(store, attempts_sql, job);
    int result = SQLITE_ERROR;
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        struct snapshot_attempt attempt;
        attempt_read(row, &attempt);
        if (take(context, &attempt)) continue;
        load_no_memory(store);
        break;
    }
    return load_end(store, row, result);
}

// ---- Other queries ----------------------------------------------------------------------

// A run has neither names of workers nor messages for them.
bool look_is_of_server(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row
        = load_prepare(store, "SELECT EXISTS (SELECT 1 FROM sched_name WHERE kind = 'worker') OR"
                              " EXISTS (SELECT 1 FROM sched_body)");
    int result = row ? sqlite3_step(row) : SQLITE_ERROR;
    bool is_server = result == SQLITE_ROW && sqlite3_column_int(row, 0);
    return load_end(store, row, result) && is_server;
}

bool snapshot_job_is_paused(struct store *store, uint32_t job)
{
    struct sqlite_store *sqlite = (struct sqlite_store *)store;
    sqlite3_stmt *row
        = load_prepare(sqlite, "SELECT failed_task >> 32 & 1 FROM sched_graph WHERE job = ?");
    if (row) bind_number(row, 1, job);
    int result = row ? sqlite3_step(row) : SQLITE_ERROR;
    bool is_paused = result == SQLITE_ROW && sqlite3_column_int(row, 0);
    return load_end(sqlite, row, result) && is_paused;
}

uint32_t snapshot_last_job(struct store *store)
{
    return (uint32_t)(number_ask((struct sqlite_store *)store, "SELECT max(id) FROM sched_job")
                      >> 32);
}
