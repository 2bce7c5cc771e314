// schema.c - the tables and views of a database.
#include "store/sqlite/sqlite.h"

// SQLite parses the text of all tables and views whenever it opens a database, which is a large
// part of a short run. So the text of the views is short.
#define ACTIVE                                                                                     \
    "'STAGED', 'QUEUED', 'WAITING', 'BLOCKED', 'READY', 'HELD', 'OFFERED', 'SHARED', 'ASSIGNED',"  \
    " 'RUNNING'"
#define ATTEMPTED                                                                                  \
    "SELECT id, attempt, \"end\", end_status AS status, reason, ran_from AS began,"                \
    " ran_to AS ended, user_us, system_us, memory_bytes, log_bytes, end_flags AS flags,"           \
    " log_worker AS worker"
#define ATTEMPTS_OF(table) " FROM " table " WHERE \"end\" IS NOT NULL"
#define ENDED                                                                                      \
    "attempt, worker, handler, result AS status, result_exit AS exit, started, ended FROM "
#define END_COLUMNS                                                                                \
    "seq INTEGER, ended INTEGER, result TEXT, result_exit INTEGER, \"end\" TEXT,"                  \
    " end_status INTEGER, reason TEXT, ran_from INTEGER, ran_to INTEGER, user_us INTEGER,"         \
    " system_us INTEGER, memory_bytes INTEGER, log_bytes INTEGER, end_flags INTEGER,"              \
    " log_worker INTEGER"
// Tasks of existing jobs by status: the tables of the workflow documents, under their names.
#define LIVE(name, condition)                                                                      \
    "CREATE VIEW " name " AS SELECT * FROM sched_live WHERE " condition ";"
#define NUMBERS "id >> 32 AS job, id & 4294967295 AS task"
#define OF_LIVE_JOBS(id) id " BETWEEN g.job << 32 AND (g.job << 32) + 4294967295"
#define STATE_NAMES "attempt, tries, outcome, exit, flags, phase, asked, since"

static const char tables[]
    = "CREATE TABLE sched_lane(lane INTEGER PRIMARY KEY, flags INTEGER, patience INTEGER);"
      "CREATE TABLE sched_worker(worker INTEGER PRIMARY KEY, cores INTEGER, memory_mib INTEGER,"
      " slots INTEGER, machine INTEGER, asks INTEGER, joined INTEGER, silent_since INTEGER);"
      "CREATE TABLE sched_graph(job INTEGER PRIMARY KEY, state TEXT NOT NULL,"
      " policy TEXT NOT NULL, on_failure TEXT NOT NULL, client INTEGER, key INTEGER,"
      " failed_task INTEGER);"
      "CREATE TABLE sched_submit(job INTEGER, sequence INTEGER, first INTEGER NOT NULL,"
      " tasks INTEGER NOT NULL, grows INTEGER, client INTEGER, key INTEGER, policy TEXT,"
      " on_failure TEXT, last INTEGER, uploads TEXT, edge_order TEXT, input_order TEXT,"
      " output_order TEXT, PRIMARY KEY (job, sequence)) WITHOUT ROWID;"
      // The definition of a task is written once and its state often, so they are in two tables.
      "CREATE TABLE sched_task(id INTEGER PRIMARY KEY, name TEXT, kind TEXT NOT NULL, command TEXT,"
      " condition TEXT, needs TEXT, parent INTEGER, machine INTEGER, priority INTEGER,"
      " lane INTEGER, grp INTEGER, access TEXT, cores INTEGER, memory_mib INTEGER,"
      " retries INTEGER, estimate INTEGER, key TEXT, body INTEGER, on_demand INTEGER, inputs TEXT,"
      " outputs TEXT, details TEXT, status TEXT);"
      // A task has one row for its state and last attempt, which is updated in place. The table has
      // no constraint: with one, SQLite would save each page before a statement changes it.
      "CREATE TABLE sched_state(id INTEGER PRIMARY KEY, status TEXT, attempt INTEGER,"
      " tries INTEGER, outcome TEXT, exit INTEGER, flags INTEGER, phase INTEGER, asked INTEGER,"
      " since INTEGER, worker INTEGER, handler INTEGER, run_as INTEGER, started INTEGER, "
      END_COLUMNS ", room BLOB);"
      "CREATE TABLE sched_run(id INTEGER, attempt INTEGER, worker INTEGER, handler INTEGER,"
      " started INTEGER, " END_COLUMNS ", PRIMARY KEY (id, attempt)) WITHOUT ROWID;"
      "CREATE TABLE sched_bundle(id INTEGER PRIMARY KEY);"
      // A message to a worker, which several tasks of a job may share.
      "CREATE TABLE sched_body(id INTEGER PRIMARY KEY, frame BLOB NOT NULL, version INTEGER);"
      "CREATE TABLE sched_object(object TEXT PRIMARY KEY, job INTEGER NOT NULL, flags INTEGER,"
      " bytes INTEGER, content TEXT) WITHOUT ROWID;"
      "CREATE INDEX sched_object_job ON sched_object(job);"
      "CREATE TABLE sched_replica(object TEXT, worker INTEGER, flags INTEGER, bytes INTEGER,"
      " PRIMARY KEY (object, worker)) WITHOUT ROWID;"
      "CREATE TABLE sched_wait_for(wait INTEGER, place INTEGER, client INTEGER, task INTEGER,"
      " object TEXT, mode TEXT, PRIMARY KEY (wait, place)) WITHOUT ROWID;"
      "CREATE TABLE sched_request(request BLOB PRIMARY KEY, body_hash INTEGER, answer TEXT,"
      " turn INTEGER, done INTEGER) WITHOUT ROWID;"
      // Refused requests. They are numbered, because only the last ones are kept.
      "CREATE TABLE sched_refusal(number INTEGER PRIMARY KEY,"
      " request BLOB NOT NULL UNIQUE, body_hash INTEGER, answer TEXT, refusal INTEGER,"
      " turn INTEGER, done INTEGER);"
      "CREATE TABLE sched_define(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
      " definition TEXT NOT NULL, settled INTEGER, remembered INTEGER);"
      "CREATE TABLE sched_calendar(id INTEGER PRIMARY KEY, run_days TEXT, start_times TEXT,"
      " run_window TEXT, start_mins TEXT, cron TEXT, zone TEXT, overlap TEXT,"
      " last_fired INTEGER);"
      "CREATE TABLE sched_name(kind TEXT, number INTEGER, name TEXT NOT NULL, user TEXT,"
      " PRIMARY KEY (kind, number)) WITHOUT ROWID;"
      "CREATE TABLE sched_event(sequence INTEGER PRIMARY KEY, at INTEGER, lines TEXT,"
      " counter INTEGER, turn INTEGER, random INTEGER, plans INTEGER, plan_end INTEGER,"
      " plan_took INTEGER, jobs INTEGER, waits INTEGER, plan_due INTEGER, ends INTEGER);";

static const char views[]
    = "CREATE VIEW sched_core(counter, turn, random, plans, plan_end, plan_took, jobs, waits,"
      " plan_due) AS SELECT counter, turn, random, plans, plan_end, plan_took, jobs, waits,"
      " plan_due FROM sched_event WHERE sequence = (SELECT max(sequence) FROM sched_event)"
      " AND counter IS NOT NULL;"
      "CREATE VIEW sched_live AS SELECT t.id, coalesce(s.status, t.status) AS status, " STATE_NAMES
      " FROM sched_graph g CROSS JOIN sched_task t LEFT JOIN sched_state s ON s.id = t.id"
      " WHERE " OF_LIVE_JOBS("t.id") " AND kind = 'callable';"
      LIVE("sched_queue", "status IN ('STAGED', 'QUEUED')")
      LIVE("sched_wait", "status IN ('WAITING', 'BLOCKED')")
      LIVE("sched_ready", "status IN ('READY', 'HELD', 'OFFERED', 'SHARED')")
      LIVE("sched_unstage", "0")
      "CREATE VIEW sched_exec AS SELECT id, status, " STATE_NAMES ", worker, handler, run_as,"
      " started FROM sched_graph g CROSS JOIN sched_state WHERE " OF_LIVE_JOBS("id")
      " AND status IN ('ASSIGNED', 'RUNNING') AND worker IS NOT NULL;"
      "CREATE VIEW sched_stage AS SELECT id, " NUMBERS ", status FROM sched_live WHERE status"
      " IN (" ACTIVE ") UNION ALL SELECT id, " NUMBERS ", 'RUNNING' FROM sched_bundle;"
      "CREATE VIEW sched_status AS SELECT t.id, t.id >> 32 AS job, t.id & 4294967295 AS task, name,"
      " coalesce(s.status, t.status) AS status FROM sched_task t LEFT JOIN sched_state s"
      " ON s.id = t.id;"
      "CREATE VIEW sched_job AS SELECT t.id, t.id >> 32 AS job, t.id & 4294967295 AS task, name,"
      " kind, command, condition, needs, parent, machine, priority, lane, grp, access, cores,"
      " memory_mib, retries, estimate, key, body, on_demand, inputs, outputs,"
      " iif(kind = 'callable' AND coalesce(s.status, t.status) IN (" ACTIVE "), 'STAGED',"
      " coalesce(s.status, t.status)) AS status, " STATE_NAMES ", details"
      " FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id;"
      "CREATE VIEW sched_history AS SELECT seq, id, " NUMBERS ", " ENDED "sched_state WHERE seq"
      " IS NOT NULL UNION ALL SELECT seq, id, " NUMBERS ", " ENDED "sched_run;"
      "CREATE VIEW sched_attempt AS " ATTEMPTED ATTEMPTS_OF("sched_state") " UNION ALL "
      ATTEMPTED ATTEMPTS_OF("sched_run") ";";

int schema_create(sqlite3 *db)
{
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d",
             SCHEMA_VERSION, SCHEMA_APPLICATION);
    const char *steps[] = {"BEGIN IMMEDIATE", tables, views, pragmas, "COMMIT"};
    int result = SQLITE_OK;
    for (size_t i = 0; !result && i < sizeof steps / sizeof *steps; i++)
        result = sqlite3_exec(db, steps[i], NULL, NULL, NULL);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return result;
}
