// put_task.c - how far tasks are: their rows move from one table to the next.
#include "store/sqlite.h"

#include <stdlib.h>
#include <string.h>

static const enum statement put_at[PLACES]
    = {[PLACE_LAST] = PUT_LAST,   [PLACE_QUEUE] = PUT_QUEUE, [PLACE_WAIT] = PUT_WAIT,
       [PLACE_READY] = PUT_READY, [PLACE_EXEC] = PUT_EXEC,   [PLACE_BUNDLE] = PUT_LAST};
static const enum statement drop_at[PLACES]
    = {[PLACE_LAST] = DROP_LAST,   [PLACE_QUEUE] = DROP_QUEUE, [PLACE_WAIT] = DROP_WAIT,
       [PLACE_READY] = DROP_READY, [PLACE_EXEC] = DROP_EXEC,   [PLACE_BUNDLE] = DROP_LAST};

// Places 1 and 2 are the first and the last id.
static void run_statement(struct sqlite_store *store, const struct run *run, enum statement which)
{
    int64_t id = row_id(run->first);
    bind_number(statement_get(store, which), 1, id);
    bind_number(statement_get(store, which), 2, id + run->count - 1);
    statement_run(store, which);
}

// Places 3 and on are the columns of the state.
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

static void bind_status(sqlite3_stmt *statement, const char *status)
{
    bind_text(statement, 3, status);
    for (int place = 4; place <= 11; place++) sqlite3_bind_null(statement, place);
}

// ---- History --------------------------------------------------------------------

// How an attempt ended, when its task goes on.
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

// Who ran it and since when is in sched_exec, unless it came and went within this turn.
static void attempts_end(struct sqlite_store *store, const struct run *run)
{
    const struct rota_record *record = &run->record;
    bool was_out = run->from.place == PLACE_EXEC && !run->from.fresh, out = run->to == PLACE_EXEC;
    bool ended = was_out && (!out || run->from.attempt != record->task.attempt);
    bool passed = !was_out && !out && record->task.attempt != run->from.attempt;
    if (!ended && !passed) return;
    enum statement put = ended ? PUT_HISTORY : PUT_PASSED;
    sqlite3_stmt *statement = statement_get(store, put);
    bind_text(statement, 3, end_word(record));
    if (out)
        sqlite3_bind_null(statement, 4);
    else
        bind_number(statement, 4, record->task.status);
    bind_number(statement, 5, store->now);
    if (passed) bind_number(statement, 6, record->task.attempt);
    run_statement(store, run, put);
}

static void bind_attempt(struct sqlite_store *store, enum statement put,
                         const struct rota_record *record)
{
    sqlite3_stmt *statement = statement_get(store, put);
    bind_number(statement, 12, record->task.worker.number);
    bind_number(statement, 13, (int64_t)record->task.handler);
    bind_number(statement, 14, row_id(record->task.run_as));
    if (put == PUT_EXEC) bind_number(statement, 15, store->now);
}

// ---- Moving ---------------------------------------------------------------------

// A bundle is in sched_last always, and in sched_bundle while it is active.
static void bundle_move(struct sqlite_store *store, const struct run *run)
{
    bool was = !run->from.fresh && run->from.place == PLACE_BUNDLE, is = run->to == PLACE_BUNDLE;
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

// An attempt that is still the same keeps the time at which it was handed out.
static enum statement statement_of(const struct run *run)
{
    bool was_out = run->from.place == PLACE_EXEC && !run->from.fresh;
    if (run->to != PLACE_EXEC || !was_out) return put_at[run->to];
    return run->from.attempt == run->record.task.attempt ? SET_EXEC : PUT_EXEC;
}

void put_run(struct sqlite_store *store)
{
    struct run *run = &store->run;
    if (!run->count) return;
    attempts_end(store, run);
    bundle_move(store, run);
    bool leaves = !run->from.fresh && put_at[run->from.place] != put_at[run->to];
    if (leaves) run_statement(store, run, drop_at[run->from.place]);
    enum statement put = statement_of(run);
    bind_state(statement_get(store, put), &run->record);
    if (run->to == PLACE_EXEC) bind_attempt(store, put, &run->record);
    run_statement(store, run, put);
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
    struct spot *spot = places_find(&store->places, record->task.id);
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
                          .place = (uint32_t)place & 7u,
                          .bundle = spot->bundle};
}

// ---- New tasks --------------------------------------------------------------------

static void put_fresh_run(struct sqlite_store *store, const struct run *run)
{
    if (run->to == PLACE_BUNDLE) run_statement(store, run, PUT_BUNDLE);
    bind_status(statement_get(store, put_at[run->to]), word_of(words_state, run->from.state));
    run_statement(store, run, put_at[run->to]);
}

static void put_fresh_span(struct sqlite_store *store, const struct fresh_span *span)
{
    struct run run = {.count = 0};
    for (uint32_t at = 0; at < span->count; at++) {
        rota_task_id task = {span->job, span->first + at};
        struct spot *spot = places_find(&store->places, task);
        bool fresh = spot && spot->fresh;
        bool alike = fresh && run.count && memcmp(spot, &run.from, sizeof *spot) == 0;
        if (!alike) {
            if (run.count) put_fresh_run(store, &run);
            run = (struct run){.first = task};
        }
        if (!fresh) continue;
        run.from = *spot;
        run.to = place_of((enum rota_task_state)spot->state, spot->bundle);
        run.count++;
        *spot = (struct spot){.place = (uint32_t)run.to & 7u, .bundle = spot->bundle};
    }
    if (run.count) put_fresh_run(store, &run);
}

void put_fresh(struct sqlite_store *store)
{
    for (uint32_t i = 0; i < store->fresh_count; i++) put_fresh_span(store, &store->fresh[i]);
    store->fresh_count = 0;
}

// ---- The end of a job ---------------------------------------------------------------

static void put_task_gone(struct sqlite_store *store, rota_task_id task, const struct spot *spot)
{
    struct run run = {.first = task, .count = 1};
    if (spot->place == PLACE_EXEC) {
        bind_text(statement_get(store, PUT_HISTORY), 3, "CLOSED");
        sqlite3_bind_null(statement_get(store, PUT_HISTORY), 4);
        bind_number(statement_get(store, PUT_HISTORY), 5, store->now);
        run_statement(store, &run, PUT_HISTORY);
    }
    if (spot->place == PLACE_BUNDLE) run_statement(store, &run, DROP_BUNDLE);
    run_statement(store, &run, drop_at[spot->place]);
    bind_status(statement_get(store, PUT_LAST), "CLOSED");
    run_statement(store, &run, PUT_LAST);
}

// Its tasks were over or were stopped; what became of the last ones no record says.
void put_job_gone(struct sqlite_store *store, uint32_t job)
{
    rota_task_id task = {job, 1};
    const struct spot *spot;
    for (; (spot = places_find(&store->places, task)); task.task++) {
        if (spot->place != PLACE_LAST) put_task_gone(store, task, spot);
    }
    places_drop_job(&store->places, job);
}
