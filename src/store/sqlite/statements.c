// statements.c - the SQL statements of the store: prepared at their first use, run many times.
#include "store/sqlite/sqlite.h"

#include <string.h>

// Tasks with consecutive numbers, from ?1 to ?2, and the columns of their state.
#define RUN " WHERE id BETWEEN ?1 AND ?2"
#define OF_TASKS " FROM sched_task" RUN
#define STATE "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11"
#define BECOMES                                                                                    \
    "status = ?3, attempt = ?4, tries = ?5, outcome = ?6, exit = ?7, flags = ?8, phase = ?9,"      \
    " asked = ?10, since = ?11"

#define COLUMNS "status, attempt, tries, outcome, exit, flags, phase, asked, since"
// The end of an attempt, as the server decided it and as its worker reported it.
#define ENDS                                                                                       \
    "seq, ended, result, result_exit, \"end\", end_status, reason, ran_from, ran_to, user_us,"     \
    " system_us, memory_bytes, log_bytes, end_flags, log_worker"
#define SAID                                                                                       \
    "\"end\" = report(id, 0), end_status = report(id, 1), reason = report(id, 2),"                 \
    " ran_from = report(id, 3), ran_to = report(id, 4), user_us = report(id, 5),"                  \
    " system_us = report(id, 6), memory_bytes = report(id, 7), log_bytes = report(id, 8),"         \
    " end_flags = report(id, 9), log_worker = report(id, 10)"
#define END                                                                                        \
    BECOMES ", seq = ?12 + id - ?1, ended = max(started, ?13), result = ?14, result_exit = ?15,"   \
            " room = NULL"

// A row that will grow reserves space (`room`), so that it stays on its page. Splitting pages out
// of order costs more: SQLite then searches its whole cache, once per turn.
static const char *const texts[STATEMENTS] = {
    [DO_BEGIN] = "BEGIN IMMEDIATE",
    [DO_COMMIT] = "COMMIT",
    [PUT_LANE] = "REPLACE INTO sched_lane VALUES (?, ?, ?)",
    [PUT_WORKER] = "REPLACE INTO sched_worker VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_GRAPH] = "REPLACE INTO sched_graph VALUES (?, ?, ?, ?, ?, ?, ?)",
    [PUT_SUBMIT] = "REPLACE INTO sched_submit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_TASK] = "REPLACE INTO sched_task(id, kind, condition, needs, parent, machine, priority,"
                 " lane, grp, access, cores, memory_mib, retries, estimate, key, body, on_demand,"
                 " inputs, outputs, name, command, details, status) VALUES (?, ?, ?, ?, ?, ?, ?,"
                 " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_CALENDAR] = "REPLACE INTO sched_calendar VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
    [PUT_OBJECT] = "REPLACE INTO sched_object VALUES (?, ?, ?, ?, ?)",
    [PUT_REPLICA] = "REPLACE INTO sched_replica VALUES (?, ?, ?, ?)",
    [PUT_WAIT_FOR] = "REPLACE INTO sched_wait_for VALUES (?, ?, ?, ?, ?, ?)",
    [PUT_BODY] = "REPLACE INTO sched_body VALUES (?, ?, ?)",
    [PUT_REQUEST] = "REPLACE INTO sched_request VALUES (?, ?, ?, ?, ?)",
    [PUT_REFUSAL] = "REPLACE INTO sched_refusal(request, body_hash, answer, turn, done, refusal)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
    [PUT_AUDIT] = "INSERT INTO sched_audit(turn, line) VALUES (?, ?)",
    [PUT_EVENT] = "INSERT INTO sched_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [PUT_BUNDLE] = "REPLACE INTO sched_bundle SELECT id" OF_TASKS,
    [PUT_STATE] = "REPLACE INTO sched_state(id, " COLUMNS ", room) SELECT id, " STATE
                  ", zeroblob(72)" OF_TASKS,
    [PUT_OUT] = "REPLACE INTO sched_state(id, " COLUMNS ", worker, handler, run_as, started, room)"
                " SELECT id, " STATE ", ?12, ?13, ?14, ?15, zeroblob(60)" OF_TASKS,
    [PUT_RUN] = "REPLACE INTO sched_run(id, attempt, worker, handler, started, " ENDS ") SELECT id,"
                " attempt, worker, handler, started, " ENDS " FROM sched_state" RUN
                " AND seq IS NOT NULL",
    [SET_STATE] = "UPDATE sched_state SET " BECOMES RUN,
    [SET_OUT] = "UPDATE sched_state SET " BECOMES ", worker = ?12, handler = ?13, run_as = ?14,"
                " started = ?15, room = zeroblob(60), (" ENDS ") = (NULL, NULL, NULL, NULL, NULL,"
                " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)" RUN,
    [SET_EXEC] = "UPDATE sched_state SET " BECOMES ", worker = ?12, handler = ?13, run_as = ?14,"
                 " ran_from = coalesce(ran_from, ?15), room = zeroblob(52)" RUN,
    [SET_ENDS] = "UPDATE sched_state SET " END RUN,
    [SET_ENDS_REPORTED] = "UPDATE sched_state SET " END ", " SAID RUN,
    [SET_REPORTED] = "UPDATE sched_state SET " SAID " WHERE id = ?1 AND attempt = ?2",
    [SET_REPORTED_RUN] = "UPDATE sched_run SET " SAID " WHERE id = ?1 AND attempt = ?2",
    [SET_CLOSING] = "UPDATE sched_state SET seq = ?3 + id - ?1, ended = max(started, ?4), result ="
                    " 'CLOSED'" RUN,
    [SET_CLOSED] = "UPDATE sched_state SET status = 'CLOSED'" RUN,
    [SET_CLOSED_TASK] = "UPDATE sched_task SET status = 'CLOSED'" RUN,
    [SET_FIRED] = "UPDATE sched_calendar SET last_fired = ?2 WHERE id = ?1",
    [DROP_LANE] = "DELETE FROM sched_lane WHERE lane = ?",
    [DROP_WORKER] = "DELETE FROM sched_worker WHERE worker = ?",
    [DROP_GRAPH] = "DELETE FROM sched_graph WHERE job = ?",
    [DROP_SUBMITS] = "DELETE FROM sched_submit WHERE job = ?",
    [DROP_BODIES] = "DELETE FROM sched_body WHERE id BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295",
    [DROP_OBJECT] = "DELETE FROM sched_object WHERE object = ?",
    [DROP_OBJECTS] = "DELETE FROM sched_object WHERE job = ?",
    [DROP_REPLICA] = "DELETE FROM sched_replica WHERE object = ? AND worker = ?",
    [DROP_REPLICAS] = "DELETE FROM sched_replica WHERE object = ?",
    [DROP_WAIT_FOR] = "DELETE FROM sched_wait_for WHERE wait = ? AND place = ?",
    [DROP_BUNDLE] = "DELETE FROM sched_bundle" RUN,
    [GET_TEXT] = "SELECT name, command, run_days, start_times, run_window, start_mins, cron, zone,"
                 " overlap, body FROM sched_task LEFT JOIN sched_calendar USING (id) WHERE id = ?",
    [GET_WORKER] = "SELECT log_worker, attempt FROM sched_state"
                   " WHERE id = ?1 AND (attempt = ?2 OR ?2 = 0) AND log_worker UNION ALL"
                   " SELECT log_worker, attempt FROM sched_run"
                   " WHERE id = ?1 AND (attempt = ?2 OR ?2 = 0) AND log_worker"
                   " ORDER BY 2 DESC LIMIT 1",
    [GET_LABEL] = "SELECT t.name, n.name FROM sched_task t LEFT JOIN sched_name n"
                  " ON n.kind = 'lane' AND n.number = t.lane WHERE t.id = ?",
    [DROP_REFUSALS] = "DELETE FROM sched_refusal WHERE number <= ?1 - ?2",
    [GET_REQUEST] = "SELECT body_hash, answer, 0 FROM sched_request WHERE request = ?1 UNION ALL"
                    " SELECT body_hash, answer, refusal FROM sched_refusal WHERE request = ?1",
};

sqlite3_stmt *statement_get(struct sqlite_store *store, enum statement which)
{
    if (store->statement[which]) return store->statement[which];
    int result = sqlite3_prepare_v3(store->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
                                    &store->statement[which], NULL);
    if (result) turn_fail(store, sqlite3_extended_errcode(store->db));
    return store->statement[which];
}

void statements_finalize(struct sqlite_store *store)
{
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(store->statement[i]);
    memset(store->statement, 0, sizeof store->statement);
}

// ---- Values -------------------------------------------------------------------

int64_t row_id(rota_task_id task)
{
    return (int64_t)((uint64_t)task.job << 32 | task.task);
}

rota_task_id row_task(int64_t id)
{
    return (rota_task_id){(uint32_t)((uint64_t)id >> 32), (uint32_t)id};
}

void bind_number(sqlite3_stmt *statement, int place, int64_t number)
{
    sqlite3_bind_int64(statement, place, number);
}

// Bound values stay valid until the statement has run, so they are not copied, and binding cannot
// fail.
void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

void bind_line(sqlite3_stmt *statement, int place, const struct line *line)
{
    if (!line->length)
        sqlite3_bind_null(statement, place);
    else
        sqlite3_bind_text(statement, place, line->data, (int)line->length, SQLITE_STATIC);
}

void bind_object(struct sqlite_store *store, enum statement which, int place, rota_object_id id)
{
    sqlite3_stmt *statement = statement_get(store, which);
    if (!id.high && !id.low) {
        sqlite3_bind_null(statement, place);
        return;
    }
    int length = snprintf(store->object, sizeof store->object, "%llx-%llx",
                          (unsigned long long)id.high, (unsigned long long)id.low);
    sqlite3_bind_text(statement, place, store->object, length, SQLITE_STATIC);
}

// ---- Running ------------------------------------------------------------------

void turn_fail(struct sqlite_store *store, int result)
{
    if (!store->result) store->result = result;
}

// If memory runs out, SQLite may roll back a transaction after a statement that succeeded. The
// following statements would then be committed one by one.
static bool is_taken_back(const struct sqlite_store *store, enum statement which)
{
    return store->begun && which != DO_COMMIT && sqlite3_get_autocommit(store->db);
}

void statement_run(struct sqlite_store *store, enum statement which)
{
    if (store->result) return;
    int result = sqlite3_step(statement_get(store, which));
    if (result != SQLITE_DONE)
        turn_fail(store, sqlite3_extended_errcode(store->db));
    else if (is_taken_back(store, which))
        turn_fail(store, SQLITE_NOMEM);
    sqlite3_reset(statement_get(store, which));
}

void statement_run_on(struct sqlite_store *store, enum statement which, int64_t key)
{
    sqlite3_bind_int64(statement_get(store, which), 1, key);
    statement_run(store, which);
}
