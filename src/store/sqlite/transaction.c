// transaction.c - a turn as a transaction: begin, fill, commit, and a second try if the disk is
// full.
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_TURNS = 64, BRIEF_TIME = 100000, LOG_PAGE = 2048 + 24 };

// Reserves space for one more item. False: out of memory, and the turn has failed.
static bool more(struct sqlite_store *store, void *items, uint32_t count, uint32_t *capacity,
                 size_t size)
{
    if (memory_reserve_raw(&memory_heap, items, capacity, (uint64_t)count + 1, size)) return true;
    turn_fail(store, SQLITE_NOMEM);
    return false;
}

// ---- Errors -------------------------------------------------------------------------

static bool is_full(sqlite3 *db, int result)
{
    if ((result & 0xff) == SQLITE_FULL) return true;
    bool writing = result == SQLITE_IOERR_WRITE || result == SQLITE_IOERR_SHMSIZE;
    int reason = sqlite3_system_errno(db);
    return writing && (reason == ENOSPC || reason == EDQUOT);
}

void fail_with(struct sqlite_store *store, int result, const char *doing)
{
    enum store_fault fault = STORE_BROKEN;
    if (damage_fail(store)) return;
    if (is_full(store->db, result)) fault = STORE_FULL;
    if ((result & 0xff) == SQLITE_NOMEM) fault = STORE_NO_MEMORY;
    int reason = sqlite3_system_errno(store->db);
    bool system = (result & 0xff) == SQLITE_IOERR && reason;
    if ((result & 0xff) == SQLITE_BUSY) {
        store_fail(&store->store.error, fault,
                   "%s: %s: another program has locked the database for more than %d s; end it,"
                   " and start again",
                   store->path, doing, STORE_BUSY_MS / 1000);
        return;
    }
    const char *advice
        = fault == STORE_FULL ? "; free space on the disk, and run the same command again" : "";
    store_fail(&store->store.error, fault, "%s: %s: %s%s%s%s", store->path, doing,
               sqlite3_errstr(result), system ? ": " : "", system ? strerror(reason) : "", advice);
}

// ---- Input --------------------------------------------------------------------------------

void turn_define(struct store *base, const struct rota_job_spec *spec,
                 const struct store_text *texts)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!more(store, &store->definitions, store->definition_count, &store->definition_capacity,
              sizeof *store->definitions))
        return;
    store->definitions[store->definition_count++] = (struct definition){spec, texts};
}

void turn_fired(struct store *base, rota_task_id task, rota_time minute)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!more(store, &store->firings, store->firing_count, &store->firing_capacity,
              sizeof *store->firings))
        return;
    store->firings[store->firing_count++] = (struct firing){task, minute};
}

void turn_answer(struct store *base, const struct store_request *request)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!more(store, &store->requests, store->request_count, &store->request_capacity,
              sizeof *store->requests))
        return;
    store->requests[store->request_count++] = *request;
}

void turn_attempt(struct store *base, const struct store_attempt *attempt)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!more(store, &store->attempts, store->attempt_count, &store->attempt_capacity,
              sizeof *store->attempts))
        return;
    store->attempts[store->attempt_count++] = *attempt;
    attempt_columns_note(store, store->attempt_count - 1);
}

void turn_body(struct store *base, const struct store_body *body)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!more(store, &store->bodies, store->body_count, &store->body_capacity,
              sizeof *store->bodies))
        return;
    store->bodies[store->body_count++] = *body;
}

static void turn_forget(struct sqlite_store *store)
{
    attempt_columns_clear(store);
    store->attempt_count = store->body_count = 0;
    store->kept_count = store->definition_count = store->definition_at = 0;
    store->request_count = store->firing_count = store->note_count = 0;
    store->too_many = false;
    line_clear(&store->events);
    line_clear(&store->audits);
}

void turn_begin(struct store *base, rota_time now)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    store->now = now;
    turn_forget(store);
}

static bool turn_open(struct sqlite_store *store)
{
    if (store->begun) return true;
    if (!store->index_is_loaded) {
        struct loaded *loaded = loaded_open(store);
        loaded_close(loaded);
        if (!loaded) return false;
    }
    sqlite3_reset(store->statement[GET_TEXT]);
    sqlite3_reset(store->statement[GET_REQUEST]);
    sqlite_set(store);
    // At this point all records of earlier turns are still in memory, and can be saved.
    if (log_is_short(store) && !files_check(store)) return false;
    statement_run(store, DO_BEGIN);
    store->begun = true;
    return true;
}

static void records_keep(struct sqlite_store *store, const struct rota_record *records,
                         uint32_t count)
{
    if ((uint64_t)store->kept_count + count > KEPT_MAX) store->too_many = true;
    if (store->too_many) return;
    if (!ARRAY_RESERVE_RAW(&memory_heap, store->kept, store->kept_capacity,
                           (uint64_t)store->kept_count + count)) {
        store->too_many = true;  // needed only for a second try
        return;
    }
    memcpy(store->kept + store->kept_count, records, count * sizeof *records);
    store->kept_count += count;
}

void turn_put(struct store *base, const struct rota *rota, const struct rota_record *records,
              uint32_t count)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (!count || !turn_open(store)) return;
    store->rota = rota;
    records_keep(store, records, count);
    for (uint32_t i = 0; i < count && !store->result; i++) put_record(store, rota, &records[i]);
}

// ---- Commit -----------------------------------------------------------------------------

// The number of refusals is limited, so that a client that is always refused does not fill the
// disk.
static void refusals_limit(struct sqlite_store *store)
{
    sqlite3_stmt *statement = statement_get(store, DROP_REFUSALS);
    bind_number(statement, 1, sqlite3_last_insert_rowid(store->db));
    bind_number(statement, 2, STORE_REFUSALS);
    statement_run(store, DROP_REFUSALS);
}

static void put_request(struct sqlite_store *store, const struct store_request *request)
{
    enum statement which = request->refusal ? PUT_REFUSAL : PUT_REQUEST;
    sqlite3_stmt *statement = statement_get(store, which);
    sqlite3_bind_blob(statement, 1, request->id, sizeof request->id, SQLITE_STATIC);
    bind_number(statement, 2, (int64_t)request->body_hash);
    bind_text(statement, 3, request->answer);
    bind_number(statement, 4, (int64_t)store->sequence + 1);
    bind_number(statement, 5, store->now);
    if (request->refusal) bind_number(statement, 6, request->refusal);
    statement_run(store, which);
    if (request->refusal) refusals_limit(store);
}

static void put_requests(struct sqlite_store *store)
{
    for (uint32_t i = 0; i < store->request_count; i++) put_request(store, &store->requests[i]);
    for (uint32_t i = 0; i < store->firing_count; i++) {
        bind_number(statement_get(store, SET_FIRED), 2, store->firings[i].minute);
        statement_run_on(store, SET_FIRED, row_id(store->firings[i].task));
    }
}

static void put_bodies(struct sqlite_store *store)
{
    for (uint32_t i = 0; i < store->body_count; i++) {
        const struct store_body *body = &store->bodies[i];
        sqlite3_stmt *put = statement_get(store, PUT_BODY);
        sqlite3_bind_blob(put, 2, body->bytes, (int)body->length, SQLITE_STATIC);
        bind_number(put, 3, body->version);
        statement_run_on(store, PUT_BODY, row_id((rota_task_id){body->job.number, body->number}));
    }
}

// The core record is part of the journal row: this saves a page per turn.
static void bind_core(struct sqlite_store *store)
{
    sqlite3_stmt *statement = statement_get(store, PUT_EVENT);
    const struct rota_record *record = &store->core;
    if (!record->kind) return;
    bind_number(statement, 4, (int64_t)record->core.sequence);
    bind_number(statement, 5, (int64_t)record->core.turn);
    bind_number(statement, 6, (int64_t)record->core.random);
    bind_number(statement, 7, (int64_t)record->core.plans);
    bind_number(statement, 8, record->core.plan_end);
    bind_number(statement, 9, record->core.plan_took);
    bind_number(statement, 10, record->core.jobs);
    bind_number(statement, 11, record->core.waits);
    bind_number(statement, 12, record->core.plan_due);
}

static void put_event(struct sqlite_store *store)
{
    sqlite3_stmt *statement = statement_get(store, PUT_EVENT);
    bind_core(store);
    if (store->events.failed) turn_fail(store, SQLITE_NOMEM);
    bind_number(statement, 2, store->now);
    bind_line(statement, 3, &store->events);
    bind_number(statement, 13, (int64_t)store->ends_written);
    statement_run_on(store, PUT_EVENT, (int64_t)store->sequence + 1);
}

static bool turn_finish(struct sqlite_store *store)
{
    put_run(store);
    put_requests(store);
    put_audits(store);
    put_attempts(store);
    put_bodies(store);
    put_notes(store);
    put_event(store);
    // A query that read a damaged page may have ended as if there were no more rows.
    if (store->batch.pages.damage.page) turn_fail(store, SQLITE_IOERR_DATA);
    statement_run(store, DO_COMMIT);
    if (!store->result) {
        store->has_committed = true;
        store->sequence++;
        store->ends = store->ends_written;
        store->begun = store->is_new = false;
        store->has_audit = store->has_audit || store->audits.length;
    }
    return !store->result;
}

static void turn_undo(struct sqlite_store *store)
{
    if (!sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    store->begun = false;
    store->result = SQLITE_OK;
    task_index_release(&store->task_index);
    store->index_is_loaded = false;
    line_clear(&store->events);
    store->definition_at = store->run.count = 0;
    store->ends_written = store->ends;
    attempt_columns_clear(store);
}

// The ballast frees space for changes that have happened already; from now on new work is refused.
static bool turn_again(struct sqlite_store *store)
{
    if (store->full || store->too_many || !store->options.ballast_bytes) return false;
    ballast_drop(store->path);
    store->full = true;
    turn_undo(store);
    if (!turn_open(store)) return false;
    for (uint32_t i = 0; i < store->attempt_count; i++) attempt_columns_note(store, i);
    for (uint32_t i = 0; i < store->kept_count && !store->result; i++) {
        put_record(store, store->rota, &store->kept[i]);
    }
    return turn_finish(store);
}

// Makes a checkpoint. Only this connection does so: two checkpoints at the same time can damage the
// file (SQLite before 3.51.3).
static void log_fold(struct sqlite_store *store)
{
    if (store->wal_pages < (int)store->options.wal_pages) return;
    if (!files_check(store)) return;
    store->batch.later = false;   // the database must not get pages that the log could still lose
    int result = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    files_note(store);
    if (result == SQLITE_OK || result == SQLITE_BUSY || result == SQLITE_LOCKED) return;
    if (is_full(store->db, result)) {
        // The turn is in the log in any case. A later checkpoint may have the space.
        if (store->options.ballast_bytes && !store->full) {
            ballast_drop(store->path);
            store->full = true;
        }
        return;
    }
    fail_with(store, result, "cannot make a checkpoint");
}

static void ballast_again(struct sqlite_store *store)
{
    uint64_t bytes = store->options.ballast_bytes;
    if (!store->full || disk_free(store->path) < bytes * 2) return;
    if (ballast_make(store->path, bytes)) store->full = false;
}

// Prepares the files for a process that runs for long.
void turn_settle_in(struct sqlite_store *store)
{
    store->full = !ballast_make(store->path, store->options.ballast_bytes);
    log_lengthen(store->path, (uint64_t)store->options.wal_pages * LOG_PAGE);
    store->settled_in = true;
    store->batch.pages.is_just_made = false;
}

static bool life_is_long(struct sqlite_store *store)
{
    if (!store->turns) store->first = store->now;
    return ++store->turns > BRIEF_TURNS || store->now - store->first > BRIEF_TIME;
}

// If a turn fails because another program has written to the files, report that instead.
static void fault_explain(struct sqlite_store *store)
{
    struct store_error found = store->store.error;
    if (store->is_lost) return;
    store->store.error = (struct store_error){0};
    if (files_are_ours(store)) store->store.error = found;
}

static bool sync_failed(struct sqlite_store *store, int result)
{
    if (result) fail_with(store, result, "cannot sync the changes");
    return result;
}

// Not before the turn is durable: if power failed between, the lock file would speak of records in
// a database that has none. The database of a run needs no note: without it, its tasks run again.
static void first_turn_note(struct sqlite_store *store)
{
    if (store->is_used || store->options.is_run) return;
    int flags = SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY;
    store->is_used = !sync_failed(store, batch_sync(&store->batch, flags));
    if (store->is_used) used_note_write(store->lock_file);
}

static bool turn_write(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (base->error.fault) return false;
    bool empty = !store->begun && !store->result && !store->request_count && !store->firing_count
                 && !store->note_count && !store->attempt_count && !store->body_count
                 && !store->audits.length;
    if (!empty && turn_open(store)) {
        bool done = turn_finish(store);
        if (!done && is_full(store->db, store->result)) done = turn_again(store);
        if (!done) fail_with(store, store->result, "cannot write the changes");
    }
    if (base->error.fault) {
        turn_undo(store);
        fault_explain(store);
        return false;
    }
    if (!store->files[FILE_INDEX].inode) files_note(store);
    if (!empty) first_turn_note(store);
    if (!empty) log_fold(store);
    if (!store->settled_in && life_is_long(store)) turn_settle_in(store);
    ballast_again(store);
    turn_forget(store);
    return !base->error.fault;
}

// Turns are numbered from 1, syncs from 0. The next sync covers all writes so far.
static uint64_t turn_number(const struct batch *batch)
{
    return batch->syncer.asked + (batch->unsynced ? 1 : 0) + 1;
}

bool commit_settle(struct store *base, uint64_t turn)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct batch *batch = &store->batch;
    bool asked = turn - 1 <= batch->syncer.asked;
    int flags = SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY;
    int result = asked ? syncer_wait(&batch->syncer, turn - 1) : batch_sync(batch, flags);
    sync_failed(store, result);
    return !base->error.fault;
}

bool commit_sync_begin(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    return !sync_failed(store, batch_sync_ask(&store->batch));
}

uint64_t commit_settled(struct store *base)
{
    return ((struct sqlite_store *)base)->batch.syncer.synced + 1;
}

int commit_settled_event(struct store *base)
{
    return syncer_watch(&((struct sqlite_store *)base)->batch.syncer);
}

void turn_foresee(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (base->error.fault) return;
    statement_get(store, SET_ENDS_REPORTED);
    sync_failed(store, batch_image_sync(&store->batch));
}

uint64_t turn_commit_write(struct store *base)
{
    struct batch *batch = &((struct sqlite_store *)base)->batch;
    batch->later = true;
    bool written = turn_write(base);
    batch->later = false;
    return written ? turn_number(batch) : 0;
}

bool turn_commit(struct store *base)
{
    return turn_write(base)
           && commit_settle(base, turn_number(&((struct sqlite_store *)base)->batch));
}

void turn_release(struct sqlite_store *store)
{
    free(store->kept);
    free(store->definitions);
    free(store->requests);
    free(store->firings);
    free(store->attempts);
    free(store->bodies);
    free(store->notes);
    line_release(&store->events);
    line_release(&store->audits);
    for (int i = 0; i < LINES; i++) line_release(&store->lines[i]);
    attempt_columns_release(store);
    by_task_release(&store->edges);
    by_task_release(&store->inputs);
    by_task_release(&store->outputs);
    task_index_release(&store->task_index);
}
