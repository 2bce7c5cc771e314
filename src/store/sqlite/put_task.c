// put_task.c - writes the state of tasks: one row per task, updated in place.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

// Parameters 1 and 2 are the first and the last id.
static void rows_statement(struct sqlite_store *store, rota_task_id first, uint32_t count,
                           enum statement which)
{
    int64_t id = row_id(first);
    bind_number(statement_get(store, which), 1, id);
    bind_number(statement_get(store, which), 2, id + count - 1);
    statement_run(store, which);
}

static void run_statement(struct sqlite_store *store, const struct run *run, enum statement which)
{
    rows_statement(store, run->first, run->count, which);
}

// Parameters from 3 on are the columns of the state.
static void bind_state(sqlite3_stmt *statement, const struct rota_record *record)
{
    bool out = record->task.state == ROTA_TASK_ASSIGNED || record->task.state == ROTA_TASK_RUNNING;
    bind_text(statement, 3, word_of(words_state, record->task.state));
    bind_number(statement, 4, record->task.attempt);
    bind_number(statement, 5, record->task.tries);
    bind_text(statement, 6, word_of(words_outcome, record->task.outcome));
    if (out)
        sqlite3_bind_null(statement, 7);
    else
        bind_number(statement, 7, record->task.status);
    bind_number(statement, 8, record->task.flags);
    bind_number(statement, 9, record->task.phase);
    bind_number(statement, 10, (int64_t)record->task.asked);
    bind_number(statement, 11, record->task.since);
}

// ---- Ended attempts -----------------------------------------------------------------

// The end of an attempt whose task is not finished.
static const char *const end_words[]
    = {[ROTA_OUTCOME_NONE] = "RETURNED",   [ROTA_OUTCOME_OK] = "RETURNED",
       [ROTA_OUTCOME_EXIT] = "FAILED",     [ROTA_OUTCOME_ERROR] = "FAILED",
       [ROTA_OUTCOME_ABORTED] = "ABORTED", [ROTA_OUTCOME_LOST] = "LOST"};

static const char *end_word(const struct rota_record *record)
{
    uint8_t state = record->task.state;
    bool over = state == ROTA_TASK_SUCCEEDED || state == ROTA_TASK_FAILED;
    if (over || record->task.outcome > ROTA_OUTCOME_LOST) return word_of(words_state, state);
    if (state == ROTA_TASK_ABORTED && record->task.outcome < ROTA_OUTCOME_ABORTED) return "ABORTED";
    return end_words[record->task.outcome];
}

static void bind_end(struct sqlite_store *store, enum statement which, const struct run *run,
                     uint32_t attempt)
{
    const struct rota_record *record = &run->record;
    sqlite3_stmt *statement = statement_get(store, which);
    bind_state(statement, record);
    bind_number(statement, 4, attempt);
    bind_number(statement, 12, (int64_t)store->ends_written + 1);
    bind_number(statement, 13, store->now);
    bind_text(statement, 14, end_word(record));
    if (run->to == PLACE_EXEC)
        sqlite3_bind_null(statement, 15);
    else
        bind_number(statement, 15, record->task.status);
}

// The report of a worker may have come before the end; without a report, its columns do not change.
// Ends are numbered consecutively, like their tasks.
static void attempts_end(struct sqlite_store *store, const struct run *run, uint32_t attempt)
{
    attempt_columns_choose(store, attempt);
    for (uint32_t from = 0, count; from < run->count; from += count) {
        rota_task_id first = {run->first.job, run->first.task + from};
        bool is_reported = attempt_columns_alike(store, first, run->count - from, attempt, &count);
        enum statement which = is_reported ? SET_ENDS_REPORTED : SET_ENDS;
        bind_end(store, which, run, attempt);
        rows_statement(store, first, count, which);
        if (is_reported) attempt_columns_forget(store, first, count);
        store->ends_written += count;
    }
}

// Writes reports of attempts that ended in another turn, or that are not the last attempt in this
// turn.
void put_attempts(struct sqlite_store *store)
{
    enum statement ways[] = {SET_REPORTED, SET_REPORTED_RUN};
    for (uint32_t i = 0; i < store->attempt_count && store->reports.count; i++) {
        const struct store_attempt *report = &store->attempts[i];
        int64_t id = row_id(report->task);
        if (map_find(&store->reports, (uint64_t)id) != i + 1) continue;
        attempt_columns_choose(store, report->attempt);
        for (int way = 0; way < 2; way++) {
            bind_number(statement_get(store, ways[way]), 2, report->attempt);
            statement_run_on(store, ways[way], id);
        }
        attempt_columns_forget(store, report->task, 1);
    }
}

// ---- Attempts ---------------------------------------------------------------------

// The row of a task has its last attempt; earlier attempts are in sched_run.
static void attempt_begin(struct sqlite_store *store, const struct run *run, rota_worker_id worker)
{
    const struct rota_record *record = &run->record;
    enum statement put = run->from.moved ? SET_OUT : PUT_OUT;
    sqlite3_stmt *statement = statement_get(store, put);
    if (run->from.attempt) run_statement(store, run, PUT_RUN);
    bind_state(statement, record);
    bind_number(statement, 12, worker.number);
    bind_number(statement, 13, (int64_t)record->task.handler);
    bind_number(statement, 14, row_id(record->task.run_as));
    bind_number(statement, 15, store->now);
    run_statement(store, run, put);
}

// `ran_from` is the time of the first report that it runs, until the worker reports its end.
static void attempt_continues(struct sqlite_store *store, const struct run *run)
{
    const struct rota_record *record = &run->record;
    sqlite3_stmt *statement = statement_get(store, SET_EXEC);
    bind_state(statement, record);
    bind_number(statement, 12, record->task.worker.number);
    bind_number(statement, 13, (int64_t)record->task.handler);
    bind_number(statement, 14, row_id(record->task.run_as));
    if (record->task.state == ROTA_TASK_RUNNING)
        bind_number(statement, 15, store->now);
    else
        sqlite3_bind_null(statement, 15);
    run_statement(store, run, SET_EXEC);
}

// ---- Changes ------------------------------------------------------------------------

// An attempt may begin and end within a turn, or one may begin in the turn in which another ends.
static void rows_change(struct sqlite_store *store, const struct run *run)
{
    const struct rota_record *record = &run->record;
    bool was_out = run->from.place == PLACE_EXEC, out = run->to == PLACE_EXEC;
    bool another = (record->task.attempt & ATTEMPT_MAX) != run->from.attempt;
    if (was_out && (another || !out)) attempts_end(store, run, run->from.attempt);
    if (another && !out) {
        attempt_begin(store, run, (rota_worker_id){0});
        attempts_end(store, run, record->task.attempt);
    } else if (out && (another || !was_out)) {
        attempt_begin(store, run, record->task.worker);
    } else if (out) {
        attempt_continues(store, run);
    } else if (!was_out) {
        enum statement put = run->from.moved ? SET_STATE : PUT_STATE;
        bind_state(statement_get(store, put), record);
        run_statement(store, run, put);
    }
}

// A bundle is in sched_bundle while it is active.
static void bundle_move(struct sqlite_store *store, const struct run *run)
{
    bool was = run->from.place == PLACE_BUNDLE, is = run->to == PLACE_BUNDLE;
    if (was != is) run_statement(store, run, is ? PUT_BUNDLE : DROP_BUNDLE);
}

static void event_add(struct line *line, const struct run *run)
{
    line_add_task(line, run->first);
    if (run->count > 1) {
        line_add_char(line, '-');
        line_add_number(line, run->first.task + run->count - 1);
    }
    line_add_char(line, ' ');
    line_add_word(line, word_of(words_state, run->record.task.state));
    if (run->record.task.worker.number) {
        line_add(line, " w", 2);
        line_add_number(line, run->record.task.worker.number);
    }
    if (run->record.task.state == ROTA_TASK_FAILED && run->record.task.status) {
        line_add_word(line, " exit ");
        if (run->record.task.status < 0) line_add_char(line, '-');
        line_add_number(line, (uint64_t)llabs(run->record.task.status));
    }
    if (run->record.task.attempt > 1) {
        line_add_word(line, " attempt ");
        line_add_number(line, run->record.task.attempt);
    }
    line_add_char(line, '\n');
}

void put_run(struct sqlite_store *store)
{
    struct run *run = &store->run;
    if (!run->count) return;
    bundle_move(store, run);
    rows_change(store, run);
    event_add(&store->events, run);
    run->count = 0;
}

static bool run_takes(const struct run *run, const struct rota_record *record, struct spot spot)
{
    struct rota_record alike = *record;
    alike.task.id = run->first;
    bool next = run->count && record->task.id.job == run->first.job
                && record->task.id.task == run->first.task + run->count;
    return next && memcmp(&spot, &run->from, sizeof spot) == 0
           && memcmp(&alike, &run->record, sizeof alike) == 0;
}

void put_task(struct sqlite_store *store, const struct rota_record *record)
{
    struct spot *spot = task_index_find(&store->task_index, record->task.id);
    if (!spot || !word_of(words_state, record->task.state)) {
        turn_fail(store, SQLITE_MISMATCH);
        return;
    }
    struct run *run = &store->run;
    enum place place = place_of((enum rota_task_state)record->task.state, spot->bundle);
    if (!run_takes(run, record, *spot)) {
        put_run(store);
        run->record = *record;
        run->first = record->task.id;
        run->from = *spot;
        run->to = place;
    }
    run->count++;
    *spot = (struct spot){.attempt = record->task.attempt & ATTEMPT_MAX,
                          .place = (uint32_t)place & 3u,
                          .bundle = spot->bundle,
                          .moved = 1};
}

// ---- The end of a job ---------------------------------------------------------------

static void put_task_gone(struct sqlite_store *store, rota_task_id task, const struct spot *spot)
{
    struct run run = {.first = task, .count = 1, .from = *spot, .to = PLACE_LAST};
    if (spot->place == PLACE_EXEC) {
        sqlite3_stmt *statement = statement_get(store, SET_CLOSING);
        bind_number(statement, 3, (int64_t)store->ends_written + 1);
        bind_number(statement, 4, store->now);
        run_statement(store, &run, SET_CLOSING);
        store->ends_written++;
    }
    if (spot->place == PLACE_BUNDLE) run_statement(store, &run, DROP_BUNDLE);
    run_statement(store, &run, spot->moved ? SET_CLOSED : SET_CLOSED_TASK);
}

// The tasks of the job are finished or were stopped; no record reports the end of the last ones.
void put_job_gone(struct sqlite_store *store, uint32_t job)
{
    rota_task_id task = {job, 1};
    const struct spot *spot;
    for (; (spot = task_index_find(&store->task_index, task)); task.task++) {
        if (spot->place != PLACE_LAST) put_task_gone(store, task, spot);
    }
    task_index_drop_job(&store->task_index, job);
}
