// put_task.c - how far a task is: its row moves from one table to the next.
#include "store/sqlite.h"

static const enum statement put_at[PLACES] = {[PLACE_QUEUE] = PUT_QUEUE,
                                              [PLACE_WAIT] = PUT_WAIT,
                                              [PLACE_READY] = PUT_READY,
                                              [PLACE_EXEC] = PUT_EXEC};
static const enum statement drop_at[PLACES] = {[PLACE_QUEUE] = DROP_QUEUE,
                                               [PLACE_WAIT] = DROP_WAIT,
                                               [PLACE_READY] = DROP_READY,
                                               [PLACE_EXEC] = DROP_EXEC};

static bool has_table(enum place place)
{
    return place != PLACE_JOB && place != PLACE_BUNDLE;
}

// Place 1 is the id, 2 and on are the columns of the state.
static void bind_state(sqlite3_stmt *statement, const struct rota_record *record)
{
    bool out = record->task.state == ROTA_TASK_ASSIGNED || record->task.state == ROTA_TASK_RUNNING;
    bind_number(statement, 1, row_id(record->task.id));
    bind_text(statement, 2, word_of(words_state, record->task.state));
    bind_number(statement, 3, record->task.attempt);
    bind_number(statement, 4, record->task.tries);
    bind_text(statement, 5, word_of(words_outcome, record->task.outcome));
    if (out)
        sqlite3_bind_null(statement, 6);
    else
        bind_number(statement, 6, record->task.status);
    bind_number(statement, 7, record->task.flags);
    bind_number(statement, 8, record->task.phase);
    bind_number(statement, 9, (int64_t)record->task.asked);
    bind_number(statement, 10, record->task.since);
}

static void bind_fresh(sqlite3_stmt *statement, rota_task_id task, enum rota_task_state state)
{
    bind_number(statement, 1, row_id(task));
    bind_text(statement, 2, word_of(words_state, state));
    for (int place = 3; place <= 10; place++) sqlite3_bind_null(statement, place);
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

static void history_add(struct sqlite_store *store, rota_task_id task, uint32_t attempt,
                        const char *status)
{
    static const struct attempt none;
    const struct attempt *out = attempt_find(&store->places, task);
    sqlite3_stmt *statement = store->statement[PUT_HISTORY];
    if (!out) out = &none;  // it came and went within this turn
    bind_number(statement, 1, row_id(task));
    bind_number(statement, 2, attempt);
    bind_number(statement, 3, out->worker);
    bind_number(statement, 4, (int64_t)out->handler);
    bind_text(statement, 5, status);
    bind_number(statement, 7, out == &none ? store->now : out->started);
    bind_number(statement, 8, store->now);
    statement_run(store, PUT_HISTORY);
    attempt_drop(&store->places, task);
}

static void attempt_end(struct sqlite_store *store, const struct rota_record *record,
                        const struct spot *spot, enum place place)
{
    bool was_out = spot->place == PLACE_EXEC && !spot->fresh, out = place == PLACE_EXEC;
    bool ended = was_out && (!out || spot->attempt != record->task.attempt);
    bool passed = !was_out && !out && record->task.attempt != spot->attempt;
    if (!ended && !passed) return;
    sqlite3_stmt *statement = store->statement[PUT_HISTORY];
    if (out)
        sqlite3_bind_null(statement, 6);
    else
        bind_number(statement, 6, record->task.status);
    history_add(store, record->task.id, ended ? spot->attempt : record->task.attempt,
                end_word(record));
}

static void attempt_begin(struct sqlite_store *store, const struct rota_record *record)
{
    sqlite3_stmt *statement = store->statement[PUT_EXEC];
    struct attempt *attempt = attempt_find(&store->places, record->task.id);
    if (!attempt) {
        attempt = attempt_add(&store->places, record->task.id);
        if (attempt) attempt->started = store->now;
    }
    if (!attempt) {
        turn_fail(store, SQLITE_NOMEM);
        return;
    }
    attempt->worker = record->task.worker.number;
    attempt->handler = record->task.handler;
    bind_number(statement, 11, attempt->worker);
    bind_number(statement, 12, (int64_t)attempt->handler);
    bind_number(statement, 13, row_id(record->task.run_as));
    bind_number(statement, 14, attempt->started);
}

// ---- Moving ---------------------------------------------------------------------

static void stage_move(struct sqlite_store *store, const struct rota_record *record,
                       const struct spot *spot, enum place place)
{
    int64_t id = row_id(record->task.id);
    bool was = !spot->fresh && spot->place != PLACE_JOB, is = place != PLACE_JOB;
    if (was == is && !spot->fresh) return;
    if (spot->bundle) {
        statement_run_on(store, is ? PUT_BUNDLE : DROP_BUNDLE, id);
    } else if (is && !spot->fresh) {
        bind_text(store->statement[SET_STAGED], 2, "STAGED");
        statement_run_on(store, SET_STAGED, id);
    }
}

static void event_add(struct line *line, const struct rota_record *record)
{
    line_add_task(line, record->task.id);
    line_add_char(line, ' ');
    line_add_word(line, word_of(words_state, record->task.state));
    if (record->task.worker.number) {
        line_add(line, " w", 2);
        line_add_number(line, record->task.worker.number);
    }
    line_add_char(line, '\n');
}

void put_task(struct sqlite_store *store, const struct rota_record *record)
{
    struct spot *spot = places_find(&store->places, record->task.id);
    if (!spot || !word_of(words_state, record->task.state)) {
        turn_fail(store, SQLITE_MISMATCH);
        return;
    }
    enum place place = place_of((enum rota_task_state)record->task.state, spot->bundle);
    attempt_end(store, record, spot, place);
    stage_move(store, record, spot, place);
    bool leaves = !spot->fresh && has_table(spot->place) && spot->place != place;
    if (leaves) statement_run_on(store, drop_at[spot->place], row_id(record->task.id));
    enum statement put = has_table(place) ? put_at[place] : SET_JOB;
    bind_state(store->statement[put], record);
    if (put == PUT_EXEC) attempt_begin(store, record);
    statement_run(store, put);
    event_add(&store->events, record);
    *spot = (struct spot){.attempt = record->task.attempt & ((1u << 22) - 1),
                          .place = (uint32_t)place & 7u,
                          .bundle = spot->bundle};
}

// ---- New tasks --------------------------------------------------------------------

static void put_fresh_task(struct sqlite_store *store, rota_task_id task, struct spot *spot)
{
    enum rota_task_state state = (enum rota_task_state)spot->state;
    enum place place = place_of(state, spot->bundle);
    if (place == PLACE_BUNDLE) statement_run_on(store, PUT_BUNDLE, row_id(task));
    if (has_table(place)) {
        bind_fresh(store->statement[put_at[place]], task, state);
        statement_run(store, put_at[place]);
    }
    *spot = (struct spot){.place = (uint32_t)place & 7u, .bundle = spot->bundle};
}

void put_fresh(struct sqlite_store *store)
{
    for (uint32_t i = 0; i < store->fresh_count; i++) {
        const struct fresh_span *span = &store->fresh[i];
        for (uint32_t at = 0; at < span->count; at++) {
            rota_task_id task = {span->job, span->first + at};
            struct spot *spot = places_find(&store->places, task);
            if (spot && spot->fresh) put_fresh_task(store, task, spot);
        }
    }
    store->fresh_count = 0;
}

// ---- The end of a job ---------------------------------------------------------------

static void put_task_gone(struct sqlite_store *store, rota_task_id task, const struct spot *spot)
{
    if (spot->place == PLACE_EXEC) {
        sqlite3_bind_null(store->statement[PUT_HISTORY], 6);
        history_add(store, task, spot->attempt, "CLOSED");
    }
    if (spot->bundle)
        statement_run_on(store, DROP_BUNDLE, row_id(task));
    else
        statement_run_on(store, drop_at[spot->place], row_id(task));
    bind_text(store->statement[SET_STAGED], 2, "CLOSED");
    statement_run_on(store, SET_STAGED, row_id(task));
}

// Its tasks were over or were stopped; what became of the last ones no record says.
void put_job_gone(struct sqlite_store *store, uint32_t job)
{
    rota_task_id task = {job, 1};
    const struct spot *spot;
    for (; (spot = places_find(&store->places, task)); task.task++) {
        if (spot->place != PLACE_JOB) put_task_gone(store, task, spot);
    }
    places_drop_job(&store->places, job);
}
