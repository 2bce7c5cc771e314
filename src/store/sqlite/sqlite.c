// sqlite.c - opens, checks and closes the SQLite store.
#include "store/sqlite/open.h"
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKED_OVER_BYTES = 16 << 20, BRIEF_LOG_PAGES = 128 };

// These settings do not change the file, in case it belongs to another program.
static const char careful[]
    = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
      " PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0";
static const char settled[] = "PRAGMA cache_size = -16384; PRAGMA synchronous = FULL";
static const char lasting[] = "PRAGMA journal_mode = WAL";

static int number_take(void *number, int count, char **values, char **names)
{
    (void)names;
    if (count && values[0]) *(int64_t *)number = strtoll(values[0], NULL, 10);
    return 0;
}

static int64_t number_ask(struct sqlite_store *store, const char *sql)
{
    int64_t number = -1;
    if (store->result) return number;
    store->result = sqlite3_exec(store->db, sql, number_take, &number, NULL);
    if (store->result) store->result = sqlite3_extended_errcode(store->db);
    return number;
}

static int log_grew(void *context, sqlite3 *db, const char *name, int pages)
{
    (void)db, (void)name;
    ((struct sqlite_store *)context)->wal_pages = pages;
    return SQLITE_OK;
}

// ---- Opening ------------------------------------------------------------------------

// A damaged file, or a file of another program, is invalid input; only a failing disk is a broken
// store.
static void refuse_with(struct sqlite_store *store, struct store_error *error, const char *doing)
{
    int kind = store->result & 0xff;
    fail_with(store, store->result, doing);
    bool ours = kind == SQLITE_IOERR || kind == SQLITE_NOMEM || kind == SQLITE_FULL;
    if (store->batch.pages.damage.page) ours = false;
    if (!error->fault) *error = store->store.error;
    if (!ours) error->fault = STORE_REFUSED;
}

void schema_refuse(struct store_error *error, const char *path, int64_t version)
{
    store_fail(error, STORE_REFUSED,
               "%s: has schema version %lld, but this rota uses version %d (use the rota that"
               " created the file, or move the file away to start with a new one)",
               path, (long long)version, SCHEMA_VERSION);
}

static bool schema_fits(struct sqlite_store *store, bool *is_empty, struct store_error *error)
{
    int64_t version = number_ask(store, "PRAGMA user_version");
    int64_t application = number_ask(store, "PRAGMA application_id");
    *is_empty = number_ask(store, "SELECT count(*) FROM sqlite_schema") == 0;
    if (store->result || (*is_empty && !application && !version)) return !store->result;
    if (application != SCHEMA_APPLICATION)
        store_fail(error, STORE_REFUSED, "%s: is a database of another program", store->path);
    else if (version != SCHEMA_VERSION)
        schema_refuse(error, store->path, version);
    return !error->fault;
}

static bool schema_bring(struct sqlite_store *store, bool is_empty)
{
    store->result = sqlite3_exec(store->db, lasting, NULL, NULL, NULL);
    if (!store->result && is_empty) store->result = schema_create(store->db);
    return !store->result;
}

// Checks a small file completely; `rota verify` checks any file.
static void look_over(struct sqlite_store *store, struct store_error *error)
{
    int64_t pages = number_ask(store, "PRAGMA page_count");
    int64_t page = number_ask(store, "PRAGMA page_size");
    if (store->result || pages * page > LOOKED_OVER_BYTES) return;
    int64_t sound = number_ask(store, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)");
    if (store->result || sound == 1) return;
    if (!damage_say(&store->batch.pages, store->path, store->options.is_run, error))
        store_fail(error, STORE_REFUSED, "%s: is damaged (see 'rota verify')", store->path);
}

// Opens a file that another program may have damaged, or another version of rota may have made.
static bool file_adopt(struct sqlite_store *store, struct store_error *error)
{
    bool is_empty;
    store->result = sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);  // one lock for all reads
    look_over(store, error);
    bool fits = !store->result && !error->fault && schema_fits(store, &is_empty, error);
    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    return fits && schema_bring(store, is_empty);
}

static int event_take(void *context, int count, char **values, char **names)
{
    (void)count, (void)names;
    struct sqlite_store *store = context;
    store->sequence = strtoull(values[0], NULL, 10);
    store->ends = store->ends_written = strtoull(values[1], NULL, 10);
    return 0;
}

static bool events_find(struct sqlite_store *store)
{
    static const char last[]
        = "SELECT sequence, ifnull(ends, 0) FROM sched_event ORDER BY sequence DESC LIMIT 1";
    store->result = sqlite3_exec(store->db, last, event_take, store, NULL);
    if (store->result) store->result = sqlite3_extended_errcode(store->db);
    return !store->result;
}

void sqlite_set(struct sqlite_store *store)
{
    if (store->is_set || store->result) return;
    store->result = sqlite3_exec(store->db, settled, NULL, NULL, NULL);
    store->is_set = !store->result;
}

static bool database_open(struct sqlite_store *store, struct store_error *error)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    store->batch.pages.path = store->path;
    store->batch.pages.is_just_made = store->is_new;
    store->result = batch_open(store->path, &store->db, flags, store->options.vfs, &store->batch);
    if (store->result) return false;
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_busy_handler(store->db, busy_wait, store);
    store->result = sqlite3_exec(store->db, careful, NULL, NULL, NULL);
    if (!store->result) store->result = attempt_columns_open(store);
    if (store->result) return false;
    if (!store->is_new || !store->options.brief) sqlite_set(store);
    if (store->result) return false;
    // After the pragmas: wal_autocheckpoint removes the hook.
    sqlite3_wal_hook(store->db, log_grew, store);
    if (sqlite3_db_readonly(store->db, "main") == 1) {
        store_fail(error, STORE_REFUSED, "%s: is read-only", store->path);
        return false;
    }
    files_note(store);  // for a new file only itself and its lock exist
    if (store->is_new) return true;
    bool found = (store->known || file_adopt(store, error)) && events_find(store);
    files_note(store);
    return found;
}

struct sqlite_store *sqlite_allocate(const struct store_kind *kind, const char *path,
                                     struct store_error *error)
{
    struct sqlite_store *store = calloc(1, sizeof *store);
    char *name = strdup(path);
    if (!store || !name) {
        store_fail(error, STORE_NO_MEMORY, "%s: out of memory", path);
        free(store), free(name);
        return NULL;
    }
    store->store.kind = kind;
    store->path = name;
    store->lock_file = store->batch.image = -1;
    return store;
}

// ---- The functions of store.h ----------------------------------------------------------

// No checkpoint is made of the log of a damaged database. An empty log is removed.
static bool is_damaged(const struct sqlite_store *store)
{
    sqlite3_file *log = store->batch.pages.log;
    sqlite3_int64 size;
    return store->batch.pages.damage.page && log
           && (log->pMethods->xFileSize(log, &size) != SQLITE_OK || size > 0);
}

void sqlite_close(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    statements_finalize(store);
    // A checkpoint takes some syncs now; without it, the next opening must read the log, which
    // takes longer the longer the log is. After a checkpoint SQLite removes the file at the path of
    // its log. Even if the store has failed, that must be our own file. A connection that only
    // reads has no lock.
    bool is_reader = store->lock_file < 0;
    bool is_lost = store->db && !is_reader && !files_are_ours(store);
    bool is_brief = store->options.brief && store->wal_pages <= BRIEF_LOG_PAGES;
    int leave = is_reader || is_lost || is_brief || is_damaged(store);
    if (store->db) sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave, NULL);
    bool whole = store->db && !store->store.error.fault && store->batch.named;
    sqlite3_close(store->db);
    if (whole) clean_note_write(store);
    syncer_close(&store->batch.syncer);
    if (store->batch.image >= 0) close(store->batch.image);
    if (store->lock_file >= 0) close(store->lock_file);
    loaded_close(store->loaded);
    turn_release(store);
    free(store->path);
    free(store);
}

static bool sqlite_check(struct store *base)
{
    return files_check((struct sqlite_store *)base);
}

static bool sqlite_is_full(const struct store *base)
{
    return ((const struct sqlite_store *)base)->full;
}

void sqlite_rows_release(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    loaded_close(store->loaded);
    store->loaded = NULL;
}

const struct rota_record *sqlite_rows(struct store *base, uint32_t *count)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    *count = 0;
    sqlite_rows_release(base);
    if (base->error.fault) return NULL;
    task_index_release(&store->task_index);
    store->loaded = loaded_open(store);
    if (!store->loaded) return NULL;
    *count = store->loaded->count;
    return store->loaded->records;
}

bool sqlite_text_find(struct store *base, rota_task_id task, struct store_text *text)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement = statement_get(store, GET_TEXT);
    const char **texts[] = {&text->name,        &text->command,    &text->run_days,
                            &text->start_times, &text->run_window, &text->start_mins,
                            &text->cron,        &text->zone,       &text->overlap};
    sqlite3_reset(statement);
    bind_number(statement, 1, row_id(task));
    if (sqlite3_step(statement) != SQLITE_ROW) {
        sqlite3_reset(statement);
        return false;
    }
    for (int i = 0; i < 9; i++) *texts[i] = (const char *)sqlite3_column_text(statement, i);
    text->body = (uint64_t)sqlite3_column_int64(statement, 9);
    return true;
}

static rota_worker_id sqlite_attempt_worker(struct store *base, rota_task_id task,
                                            uint32_t *attempt)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement = statement_get(store, GET_WORKER);
    rota_worker_id worker = {0};
    bind_number(statement, 1, row_id(task));
    bind_number(statement, 2, *attempt);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        worker.number = (uint32_t)sqlite3_column_int64(statement, 0);
        *attempt = (uint32_t)sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    return worker;
}

static rota_worker_id sqlite_attempt_given(struct store *base, rota_task_id task, uint32_t attempt)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = load_prepare(store, "SELECT worker FROM sched_history"
                                            " WHERE id = ? AND attempt = ?");
    rota_worker_id worker = {0};
    int result = SQLITE_ERROR;
    if (row) {
        bind_number(row, 1, row_id(task));
        bind_number(row, 2, attempt);
        while ((result = sqlite3_step(row)) == SQLITE_ROW)
            worker.number = (uint32_t)sqlite3_column_int64(row, 0);
    }
    load_end(store, row, result);
    return worker;
}

static bool sqlite_bodies(struct store *base, rota_job_id job, store_body_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = load_prepare(store, "SELECT id, frame, ifnull(version, 1) FROM sched_body"
                                            " WHERE id BETWEEN ? AND ? ORDER BY id");
    int result = SQLITE_ERROR;
    if (row) {
        bind_number(row, 1, row_id((rota_task_id){job.number, 0}));
        bind_number(row, 2, row_id((rota_task_id){job.number, UINT32_MAX}));
    }
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        struct store_body body = {.job = job,
                                  .number = row_task(sqlite3_column_int64(row, 0)).task,
                                  .bytes = sqlite3_column_blob(row, 1),
                                  .length = (uint32_t)sqlite3_column_bytes(row, 1),
                                  .version = (uint32_t)sqlite3_column_int64(row, 2)};
        if (take(context, &body)) continue;
        load_no_memory(store);
        break;
    }
    return load_end(store, row, result);
}

static bool sqlite_jobs_plain(struct store *base, store_job_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = load_prepare(store, "SELECT job FROM sched_graph WHERE state = 'LAST' AND"
                                            " job NOT IN (SELECT job FROM sched_object)"
                                            " ORDER BY job");
    int result = SQLITE_ERROR;
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW)
        take(context, (rota_job_id){(uint32_t)sqlite3_column_int64(row, 0)});
    return load_end(store, row, result);
}

static bool sqlite_durations(struct store *base, store_took_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = load_prepare(
        store, "SELECT name, ran_to - ran_from FROM sched_state JOIN sched_task USING (id)"
               " WHERE sched_state.status = 'SUCCESS' AND ran_to > ran_from"
               " ORDER BY id DESC LIMIT 10000");
    int result = SQLITE_ERROR;
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        if (name) take(context, name, sqlite3_column_int64(row, 1));
    }
    return load_end(store, row, result);
}

// Finds a request that the current turn has carried out.
static const struct store_request *answer_pending(const struct sqlite_store *store,
                                                  const uint8_t id[16])
{
    for (uint32_t i = store->request_count; i > 0; i--)
        if (memcmp(store->requests[i - 1].id, id, 16) == 0) return &store->requests[i - 1];
    return NULL;
}

bool sqlite_answer_find(struct store *base, struct store_request *request)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    const struct store_request *pending = answer_pending(store, request->id);
    if (pending) {
        *request = *pending;
        return true;
    }
    if (store->is_new) return false;
    sqlite3_stmt *statement = statement_get(store, GET_REQUEST);
    sqlite3_reset(statement);
    sqlite3_bind_blob(statement, 1, request->id, sizeof request->id, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_ROW) {
        sqlite3_reset(statement);
        return false;
    }
    request->body_hash = (uint64_t)sqlite3_column_int64(statement, 0);
    request->answer = (const char *)sqlite3_column_text(statement, 1);
    request->refusal = (uint32_t)sqlite3_column_int(statement, 2);
    return true;
}

static const struct store_kind sqlite_kind = {
    .close = sqlite_close,
    .begin = turn_begin,
    .define = turn_define,
    .fired = turn_fired,
    .answer = turn_answer,
    .audit = turn_audit,
    .attempt = turn_attempt,
    .body = turn_body,
    .put = turn_put,
    .commit = turn_commit,
    .commit_write = turn_commit_write,
    .sync_begin = commit_sync_begin,
    .settle = commit_settle,
    .settled = commit_settled,
    .settled_event = commit_settled_event,
    .foresee = turn_foresee,
    .is_full = sqlite_is_full,
    .check = sqlite_check,
    .rows = sqlite_rows,
    .rows_release = sqlite_rows_release,
    .text_find = sqlite_text_find,
    .attempt_worker = sqlite_attempt_worker,
    .attempt_given = sqlite_attempt_given,
    .bodies = sqlite_bodies,
    .jobs_plain = sqlite_jobs_plain,
    .durations = sqlite_durations,
    .answer_find = sqlite_answer_find,
    .name = sqlite_name,
    .catalog = sqlite_catalog,
    .journal_last = sqlite_journal_last,
    .journal = sqlite_journal,
    .label_find = sqlite_label_find,
};

struct store *store_open_sqlite(const char *name, const struct store_options *options,
                                struct store_error *error)
{
    char path[FILE_CHECK_PATH];
    *error = (struct store_error){0};
    if (!file_check_path(name, path, error)) return NULL;
    // Counting memory costs a lock per block. If SQLite is in use already, this call fails, and
    // SQLite is only slower.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
#if !defined(__SANITIZE_ADDRESS__)  // which must see how freed memory of SQLite is used
    sqlite3_config(SQLITE_CONFIG_MALLOC, &small_alloc_methods);
#endif
    struct sqlite_store *store = sqlite_allocate(&sqlite_kind, path, error);
    if (!store) return NULL;
    store->options = options ? *options : store_options_default();
    if (file_check_file(path, error)) store->lock_file = file_check_lock(path, error);
    store->is_used = store->lock_file >= 0 && used_note_is_set(store->lock_file);
    bool open = store->lock_file >= 0 && file_check_modes(path, error)
                && file_check_mended(path, store->options.is_run, error)
                && file_check_lost(store->lock_file, path, error)
                && (!store->is_used || file_check_used(path, error))
                && file_check_create(path, clean_bytes(store), &store->batch.image, error);
    store->is_new = store->batch.image_is_unsynced = store->batch.image >= 0;
    store->known = store->batch.named = open && !store->is_new && clean_note_is_valid(store);
    open = open && (store->is_new || file_check_header(path, error)) && database_open(store, error);
    if (open && !store->options.brief)
        turn_settle_in(store);
    else if (!open && store->result)
        refuse_with(store, error, "cannot be opened");
    if (open) return &store->store;
    sqlite_close(&store->store);
    return NULL;
}
