// schema.c - the tables, and how older ones become these.
#include "store/sqlite.h"

// The columns of how far a task is, in every table that can hold it. A task whose submission
// is its only record has no attempt there: null, not 0.
#define STATE_COLUMNS                                                                              \
    "status TEXT NOT NULL, attempt INTEGER, tries INTEGER, outcome TEXT, exit INTEGER,"            \
    " flags INTEGER, phase INTEGER, asked INTEGER, since INTEGER"

static const char version_1[]
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
      "CREATE TABLE sched_job(id INTEGER PRIMARY KEY,"
      " job INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL,"
      " task INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL,"
      " name TEXT, kind TEXT NOT NULL, command TEXT, condition TEXT, needs TEXT, parent INTEGER,"
      " machine INTEGER, priority INTEGER, lane INTEGER, grp INTEGER, access TEXT, cores INTEGER,"
      " memory_mib INTEGER, retries INTEGER, estimate INTEGER, key TEXT, body INTEGER,"
      " on_demand INTEGER, inputs TEXT, outputs TEXT, " STATE_COLUMNS ");"
      "CREATE TABLE sched_calendar(id INTEGER PRIMARY KEY, run_days TEXT, start_times TEXT,"
      " run_window TEXT, start_mins TEXT, cron TEXT, zone TEXT, overlap TEXT,"
      " last_fired INTEGER);"
      "CREATE TABLE sched_bundle(id INTEGER PRIMARY KEY);"
      "CREATE TABLE sched_queue(id INTEGER PRIMARY KEY, " STATE_COLUMNS ");"
      "CREATE TABLE sched_wait(id INTEGER PRIMARY KEY, " STATE_COLUMNS ");"
      "CREATE TABLE sched_ready(id INTEGER PRIMARY KEY, " STATE_COLUMNS ");"
      "CREATE TABLE sched_exec(id INTEGER PRIMARY KEY, " STATE_COLUMNS ","
      " worker INTEGER, handler INTEGER, run_as INTEGER, started INTEGER);"
      "CREATE TABLE sched_unstage(id INTEGER PRIMARY KEY, " STATE_COLUMNS ");"
      "CREATE TABLE sched_object(object TEXT PRIMARY KEY, job INTEGER NOT NULL, flags INTEGER,"
      " bytes INTEGER) WITHOUT ROWID;"
      "CREATE INDEX sched_object_job ON sched_object(job);"
      "CREATE TABLE sched_replica(object TEXT, worker INTEGER, flags INTEGER, bytes INTEGER,"
      " PRIMARY KEY (object, worker)) WITHOUT ROWID;"
      "CREATE TABLE sched_wait_for(wait INTEGER, place INTEGER, client INTEGER, task INTEGER,"
      " object TEXT, mode TEXT, PRIMARY KEY (wait, place)) WITHOUT ROWID;"
      "CREATE TABLE sched_request(request BLOB PRIMARY KEY, body_hash INTEGER, answer TEXT,"
      " turn INTEGER, done INTEGER) WITHOUT ROWID;"
      "CREATE TABLE sched_history(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL,"
      " job INTEGER GENERATED ALWAYS AS (id >> 32) VIRTUAL,"
      " task INTEGER GENERATED ALWAYS AS (id & 4294967295) VIRTUAL,"
      " attempt INTEGER, worker INTEGER, handler INTEGER, status TEXT NOT NULL, exit INTEGER,"
      " started INTEGER, ended INTEGER);"
      "CREATE TABLE sched_event(sequence INTEGER PRIMARY KEY, at INTEGER, lines TEXT,"
      " counter INTEGER, turn INTEGER, random INTEGER, plans INTEGER, plan_end INTEGER,"
      " plan_took INTEGER, jobs INTEGER, waits INTEGER, plan_due INTEGER);"
      "CREATE VIEW sched_core(counter, turn, random, plans, plan_end, plan_took, jobs, waits,"
      " plan_due) AS SELECT counter, turn, random, plans, plan_end, plan_took, jobs, waits,"
      " plan_due FROM sched_event WHERE sequence = (SELECT max(sequence) FROM sched_event)"
      " AND counter IS NOT NULL;"
      "CREATE VIEW sched_stage(id, job, task, status) AS"
      " SELECT id, id >> 32, id & 4294967295, status FROM (SELECT id, status FROM sched_queue"
      " UNION ALL SELECT id, status FROM sched_wait UNION ALL SELECT id, status FROM sched_ready"
      " UNION ALL SELECT id, status FROM sched_exec UNION ALL SELECT id, status FROM sched_unstage"
      " UNION ALL SELECT id, 'RUNNING' FROM sched_bundle);"
      "CREATE VIEW sched_status(id, job, task, name, status) AS"
      " SELECT j.id, j.job, j.task, j.name, coalesce(q.status, w.status, r.status, e.status,"
      " j.status) FROM sched_job j LEFT JOIN sched_queue q ON q.id = j.id"
      " LEFT JOIN sched_wait w ON w.id = j.id LEFT JOIN sched_ready r ON r.id = j.id"
      " LEFT JOIN sched_exec e ON e.id = j.id;";

// Definitions, and what their names mean.
static const char version_2[]
    = "CREATE TABLE sched_define(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
      " definition TEXT NOT NULL, settled INTEGER, remembered INTEGER);"
      "CREATE TABLE sched_name(kind TEXT, number INTEGER, name TEXT NOT NULL,"
      " PRIMARY KEY (kind, number)) WITHOUT ROWID;";

// What came of attempts, as their worker told it, and what only people need to know of a task.
static const char version_3[]
    = "CREATE TABLE sched_attempt(id INTEGER, attempt INTEGER, \"end\" TEXT NOT NULL,"
      " status INTEGER, reason TEXT, began INTEGER, ended INTEGER, user_us INTEGER,"
      " system_us INTEGER, memory_bytes INTEGER, log_bytes INTEGER, flags INTEGER,"
      " PRIMARY KEY (id, attempt)) WITHOUT ROWID;"
      "ALTER TABLE sched_job ADD COLUMN details TEXT;";

// What a task is and how far it was when it was active last are written at different times, so they
// are in different tables: a row that ends is short, and the definition is not written again.
static const char version_4[]
    = "CREATE TABLE sched_task(id INTEGER PRIMARY KEY, name TEXT, kind TEXT NOT NULL, command TEXT,"
      " condition TEXT, needs TEXT, parent INTEGER, machine INTEGER, priority INTEGER,"
      " lane INTEGER, grp INTEGER, access TEXT, cores INTEGER, memory_mib INTEGER,"
      " retries INTEGER, estimate INTEGER, key TEXT, body INTEGER, on_demand INTEGER, inputs TEXT,"
      " outputs TEXT, details TEXT);"
      "CREATE TABLE sched_last(id INTEGER PRIMARY KEY, " STATE_COLUMNS ");"
      "CREATE TABLE sched_run(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL, attempt INTEGER,"
      " worker INTEGER, handler INTEGER, status TEXT NOT NULL, exit INTEGER, started INTEGER,"
      " ended INTEGER);"
      "INSERT INTO sched_task SELECT id, name, kind, command, condition, needs, parent, machine,"
      " priority, lane, grp, access, cores, memory_mib, retries, estimate, key, body, on_demand,"
      " inputs, outputs, details FROM sched_job;"
      "INSERT INTO sched_last SELECT id, status, attempt, tries, outcome, exit, flags, phase,"
      " asked, since FROM sched_job WHERE kind = 'bundle' OR status <> 'STAGED';"
      "INSERT INTO sched_run SELECT seq, id, attempt, worker, handler, status, exit, started, ended"
      " FROM sched_history;"
      "DROP VIEW sched_status; DROP TABLE sched_job; DROP TABLE sched_history;"
      "CREATE VIEW sched_job(id, job, task, name, kind, command, condition, needs, parent, machine,"
      " priority, lane, grp, access, cores, memory_mib, retries, estimate, key, body, on_demand,"
      " inputs, outputs, status, attempt, tries, outcome, exit, flags, phase, asked, since,"
      " details) AS SELECT t.id, t.id >> 32, t.id & 4294967295, t.name, t.kind, t.command, "
      "t.condition,"
      " t.needs, t.parent, t.machine, t.priority, t.lane, t.grp, t.access, t.cores, t.memory_mib,"
      " t.retries, t.estimate, t.key, t.body, t.on_demand, t.inputs, t.outputs,"
      " coalesce(l.status, 'STAGED'), l.attempt, l.tries, l.outcome, l.exit, l.flags, l.phase,"
      " l.asked, l.since, t.details FROM sched_task t LEFT JOIN sched_last l ON l.id = t.id;"
      "CREATE VIEW sched_history(seq, id, job, task, attempt, worker, handler, status, exit,"
      " started, ended) AS SELECT seq, id, id >> 32, id & 4294967295, attempt, worker, handler,"
      " status, exit, started, ended FROM sched_run;"
      "CREATE VIEW sched_status(id, job, task, name, status) AS"
      " SELECT j.id, j.job, j.task, j.name, coalesce(q.status, w.status, r.status, e.status,"
      " j.status) FROM sched_job j LEFT JOIN sched_queue q ON q.id = j.id"
      " LEFT JOIN sched_wait w ON w.id = j.id LEFT JOIN sched_ready r ON r.id = j.id"
      " LEFT JOIN sched_exec e ON e.id = j.id;";

// What a worker is told to run: several tasks of a job may have the same. And who has the logs.
static const char version_5[]
    = "CREATE TABLE sched_body(id INTEGER PRIMARY KEY, frame BLOB NOT NULL);"
      "ALTER TABLE sched_attempt ADD COLUMN worker INTEGER;";

// Each takes the tables one version further.
static const char *const steps[] = {version_1, version_2, version_3, version_4, version_5};

int schema_version(void)
{
    return (int)(sizeof steps / sizeof *steps);
}

int schema_migrate(sqlite3 *db, int version)
{
    int result = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int at = version; !result && at < schema_version(); at++) {
        result = sqlite3_exec(db, steps[at], NULL, NULL, NULL);
    }
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d",
             schema_version(), SCHEMA_APPLICATION);
    if (!result) result = sqlite3_exec(db, pragmas, NULL, NULL, NULL);
    if (!result) result = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return result;
}
