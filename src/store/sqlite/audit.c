// audit.c - the audit log: the request of each client, written with the turn that handles it.
//
// The table is created with its first line, since few databases have one.
#include "store/sqlite/sqlite.h"

#include <string.h>

static const char table[]
    = "CREATE TABLE IF NOT EXISTS sched_audit(number INTEGER PRIMARY KEY, turn INTEGER NOT NULL,"
      " line TEXT NOT NULL);"
      "CREATE TRIGGER IF NOT EXISTS sched_audit_changes BEFORE UPDATE ON sched_audit BEGIN"
      " SELECT raise(ABORT, 'the audit log can only be added to'); END;"
      "CREATE TRIGGER IF NOT EXISTS sched_audit_goes BEFORE DELETE ON sched_audit BEGIN"
      " SELECT raise(ABORT, 'the audit log can only be added to'); END";

void turn_audit(struct store *base, const char *line)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    line_add(&store->audits, line, strlen(line));
    line_add_char(&store->audits, '\n');
}

// Finalizes all statements after that: otherwise SQLite would prepare them again in the middle of a
// turn, and if memory runs out just then, it would roll back the writes of the turn and continue.
static void table_make(struct sqlite_store *store)
{
    turn_fail(store, sqlite3_exec(store->db, table, NULL, NULL, NULL));
    statements_finalize(store);
}

void put_audits(struct sqlite_store *store)
{
    if (!store->audits.length) return;
    if (store->audits.failed) turn_fail(store, SQLITE_NOMEM);
    if (!store->result && !store->has_audit) table_make(store);
    const char *end;
    for (const char *at = store->audits.data; !store->result && *at; at = end + 1) {
        end = strchr(at, '\n');
        sqlite3_stmt *statement = statement_get(store, PUT_AUDIT);
        bind_number(statement, 1, (int64_t)store->sequence + 1);
        sqlite3_bind_text(statement, 2, at, (int)(end - at), SQLITE_STATIC);
        statement_run(store, PUT_AUDIT);
    }
}
