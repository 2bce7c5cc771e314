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
    return place != PLACE_JOB && place != PLACE_STAGE;
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

static void bind_attempt(struct sqlite_store *store, const struct rota_record *record)
{
    sqlite3_stmt *statement = store->statement[PUT_EXEC];
    bind_number(statement, 11, record->task.worker.number);
    bind_number(statement, 12, (int64_t)record->task.handler);
    bind_number(statement, 13, row_id(record->task.run_as));
    bind_number(statement, 14, store->now);
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

static void history_add(struct sqlite_store *store, const struct rota_record *record,
                        const struct spot *spot, enum place place)
{
    bool was_out = spot->place == PLACE_EXEC && !spot->fresh, out = place == PLACE_EXEC;
    bool ended = was_out && (!out || spot->attempt != record->task.attempt);
    bool passed = !was_out && !out && record->task.attempt != spot->attempt;
    if (!ended && !passed) return;
    sqlite3_stmt *statement = store->statement[ended ? END_RUN : PUT_HISTORY];
    int place_of_status = ended ? 2 : 3;
    bind_number(statement, 1, row_id(record->task.id));
    if (passed) bind_number(statement, 2, record->task.attempt);
    bind_text(statement, place_of_status, end_word(record));
    if (out)
        sqlite3_bind_null(statement, place_of_status + 1);
    else
        bind_number(statement, place_of_status + 1, record->task.status);
    bind_number(statement, place_of_status + 2, store->now);
    statement_run(store, ended ? END_RUN : PUT_HISTORY);
}

// ---- Moving ---------------------------------------------------------------------

static void stage_move(struct sqlite_store *store, const struct rota_record *record,
                       const struct spot *spot, enum place place)
{
    int64_t id = row_id(record->task.id);
    bool was = !spot->fresh && spot->place != PLACE_JOB, is = place != PLACE_JOB;
    if (was && !is) statement_run_on(store, DROP_STAGE, id);
    if (was || !is) return;
    bind_number(store->statement[PUT_STAGE], 2, store->now);
    statement_run_on(store, PUT_STAGE, id);
    if (spot->fresh || spot->bundle) return;
    bind_text(store->statement[SET_STAGED], 2, "STAGED");
    statement_run_on(store, SET_STAGED, id);
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
    history_add(store, record, spot, place);
    stage_move(store, record, spot, place);
    bool leaves = !spot->fresh && has_table(spot->place) && spot->place != place;
    if (leaves) statement_run_on(store, drop_at[spot->place], row_id(record->task.id));
    enum statement put = has_table(place) ? put_at[place] : SET_JOB;
    bind_state(store->statement[put], record);
    if (put == PUT_EXEC) bind_attempt(store, record);
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
    if (place != PLACE_JOB) {
        bind_number(store->statement[PUT_STAGE], 2, store->now);
        statement_run_on(store, PUT_STAGE, row_id(task));
    }
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

// Its tasks were over or were stopped; what became of the last ones no record says.
void put_job_gone(struct sqlite_store *store, uint32_t job)
{
    struct spot *spot;
    for (uint32_t number = 1; (spot = places_find(&store->places, (rota_task_id){job, number}));
         number++) {
        int64_t id = row_id((rota_task_id){job, number});
        if (spot->place == PLACE_JOB) continue;
        if (spot->place == PLACE_EXEC) {
            bind_text(store->statement[END_RUN], 2, "CLOSED");
            sqlite3_bind_null(store->statement[END_RUN], 3);
            bind_number(store->statement[END_RUN], 4, store->now);
            statement_run_on(store, END_RUN, id);
        }
        if (has_table(spot->place)) statement_run_on(store, drop_at[spot->place], id);
        statement_run_on(store, DROP_STAGE, id);
        bind_text(store->statement[SET_STAGED], 2, "CLOSED");
        statement_run_on(store, SET_STAGED, id);
    }
    places_drop_job(&store->places, job);
}
