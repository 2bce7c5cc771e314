// schema.c - the tables, and how older ones become these.
#include "store/sqlite/sqlite.h"

#include <assert.h>

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

// A task has one row for how far it is, which changes where it lies, with its last attempt. When
// rows moved from table to table, and an attempt had two of its own, it was six rows on six pages.
#define ENDS                                                                                       \
    "seq, ended, result, result_exit, \"end\", end_status, reason, ran_from, ran_to, user_us,"     \
    " system_us, memory_bytes, log_bytes, end_flags, log_worker"
#define END_COLUMNS                                                                                \
    "seq INTEGER, ended INTEGER, result TEXT, result_exit INTEGER, \"end\" TEXT,"                  \
    " end_status INTEGER, reason TEXT, ran_from INTEGER, ran_to INTEGER, user_us INTEGER,"         \
    " system_us INTEGER, memory_bytes INTEGER, log_bytes INTEGER, end_flags INTEGER,"              \
    " log_worker INTEGER"
#define STATE_NAMES "attempt, tries, outcome, exit, flags, phase, asked, since"
#define OF_LIVE_JOBS(id) id " BETWEEN g.job << 32 AND (g.job << 32) + 4294967295"
#define ACTIVE                                                                                     \
    "'STAGED', 'QUEUED', 'WAITING', 'BLOCKED', 'READY', 'HELD', 'OFFERED', 'SHARED', 'ASSIGNED',"  \
    " 'RUNNING'"
// The tasks of jobs that are there, by their status; the tables of workflows by their names.
#define TASKS_THAT_ARE(statuses)                                                                   \
    " FROM sched_graph g CROSS JOIN sched_task t LEFT JOIN sched_state s ON s.id = t.id"           \
    " WHERE " OF_LIVE_JOBS("t.id") " AND t.kind = 'callable'"                                      \
    " AND coalesce(s.status, t.status) IN (" statuses ")"
#define STATE_VIEW(name, statuses)                                                                 \
    "CREATE VIEW " name "(id, status, " STATE_NAMES ") AS SELECT t.id, coalesce(s.status,"         \
    " t.status), s.attempt, s.tries, s.outcome, s.exit, s.flags, s.phase, s.asked, s.since"        \
    TASKS_THAT_ARE(statuses) ";"
#define OLD(table) " FROM " table " WHERE attempt IS NOT NULL;"
#define OLD_STATUS(table) "(SELECT status FROM " table " o WHERE o.id = sched_task.id)"
#define ATTEMPTS_OF(table) " FROM " table " WHERE \"end\" IS NOT NULL"

static const char version_6[]
    = "ALTER TABLE sched_task ADD COLUMN status TEXT;"
      "ALTER TABLE sched_event ADD COLUMN ends INTEGER;"
      // Without a constraint: for one, SQLite would note each page before a statement changes it.
      "CREATE TABLE sched_state(id INTEGER PRIMARY KEY, status TEXT, attempt INTEGER,"
      " tries INTEGER, outcome TEXT, exit INTEGER, flags INTEGER, phase INTEGER, asked INTEGER,"
      " since INTEGER, worker INTEGER, handler INTEGER, run_as INTEGER, started INTEGER, "
      END_COLUMNS ", room BLOB);"
      "UPDATE sched_task SET status = coalesce(" OLD_STATUS("sched_queue") ","
      OLD_STATUS("sched_wait") "," OLD_STATUS("sched_ready") "," OLD_STATUS("sched_exec") ","
      OLD_STATUS("sched_last") ");"
      "INSERT INTO sched_state(id, status, " STATE_NAMES ", worker, handler, run_as, started)"
      " SELECT id, status, " STATE_NAMES ", worker, handler, run_as, started" OLD("sched_exec")
      "INSERT INTO sched_state(id, status, " STATE_NAMES ") SELECT id, status, " STATE_NAMES
      OLD("sched_queue")
      "INSERT INTO sched_state(id, status, " STATE_NAMES ") SELECT id, status, " STATE_NAMES
      OLD("sched_wait")
      "INSERT INTO sched_state(id, status, " STATE_NAMES ") SELECT id, status, " STATE_NAMES
      OLD("sched_ready")
      "INSERT INTO sched_state(id, status, " STATE_NAMES ") SELECT id, status, " STATE_NAMES
      OLD("sched_last")
      "DROP VIEW sched_history; DROP VIEW sched_status; DROP VIEW sched_job; DROP VIEW sched_stage;"
      "DROP TABLE sched_queue; DROP TABLE sched_wait; DROP TABLE sched_ready;"
      "DROP TABLE sched_exec; DROP TABLE sched_last; DROP TABLE sched_unstage;"
      "ALTER TABLE sched_run RENAME TO old_run; ALTER TABLE sched_attempt RENAME TO old_attempt;"
      "CREATE TABLE sched_run(id INTEGER, attempt INTEGER, worker INTEGER, handler INTEGER,"
      " started INTEGER, " END_COLUMNS ", PRIMARY KEY (id, attempt)) WITHOUT ROWID;"
      "INSERT OR IGNORE INTO sched_run(id, attempt, worker, handler, started, " ENDS ")"
      " SELECT r.id, r.attempt, r.worker, r.handler, r.started, r.seq, r.ended, r.status, r.exit,"
      " a.\"end\", a.status, a.reason, a.began, a.ended, a.user_us, a.system_us, a.memory_bytes,"
      " a.log_bytes, a.flags, a.worker FROM old_run r LEFT JOIN old_attempt a ON a.id = r.id AND"
      " a.attempt = r.attempt;"
      "UPDATE sched_event SET ends = (SELECT ifnull(max(seq), 0) FROM old_run)"
      " WHERE sequence = (SELECT max(sequence) FROM sched_event);"
      "DROP TABLE old_run; DROP TABLE old_attempt;"
      "UPDATE sched_state SET (worker, handler, started, " ENDS ") = (r.worker, r.handler,"
      " r.started, r.seq, r.ended, r.result, r.result_exit, r.\"end\", r.end_status, r.reason,"
      " r.ran_from, r.ran_to, r.user_us, r.system_us, r.memory_bytes, r.log_bytes, r.end_flags,"
      " r.log_worker) FROM sched_run r WHERE r.id = sched_state.id AND r.attempt ="
      " sched_state.attempt AND sched_state.status NOT IN ('ASSIGNED', 'RUNNING');"
      "DELETE FROM sched_run WHERE EXISTS (SELECT 1 FROM sched_state s WHERE s.id = sched_run.id"
      " AND s.attempt = sched_run.attempt AND s.seq IS NOT NULL);"
      STATE_VIEW("sched_queue", "'STAGED', 'QUEUED'")
      STATE_VIEW("sched_wait", "'WAITING', 'BLOCKED'")
      STATE_VIEW("sched_ready", "'READY', 'HELD', 'OFFERED', 'SHARED'")
      "CREATE VIEW sched_exec(id, status, " STATE_NAMES ", worker, handler, run_as, started) AS"
      " SELECT id, status, " STATE_NAMES ", worker, handler, run_as, started FROM (SELECT s.*"
      " FROM sched_graph g CROSS JOIN sched_state s WHERE " OF_LIVE_JOBS("s.id")
      " AND s.status IN ('ASSIGNED', 'RUNNING') AND s.worker IS NOT NULL);"
      "CREATE VIEW sched_unstage(id, status, " STATE_NAMES ") AS SELECT id, status, " STATE_NAMES
      " FROM sched_state WHERE 0;"
      "CREATE VIEW sched_stage(id, job, task, status) AS SELECT t.id, t.id >> 32,"
      " t.id & 4294967295, coalesce(s.status, t.status)" TASKS_THAT_ARE(ACTIVE)
      " UNION ALL SELECT id, id >> 32, id & 4294967295, 'RUNNING' FROM sched_bundle;"
      "CREATE VIEW sched_status(id, job, task, name, status) AS SELECT t.id, t.id >> 32,"
      " t.id & 4294967295, t.name, coalesce(s.status, t.status)"
      " FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id;"
      "CREATE VIEW sched_job(id, job, task, name, kind, command, condition, needs, parent, machine,"
      " priority, lane, grp, access, cores, memory_mib, retries, estimate, key, body, on_demand,"
      " inputs, outputs, status, " STATE_NAMES ", details) AS SELECT t.id, t.id >> 32,"
      " t.id & 4294967295, t.name, t.kind, t.command, t.condition, t.needs, t.parent, t.machine,"
      " t.priority, t.lane, t.grp, t.access, t.cores, t.memory_mib, t.retries, t.estimate, t.key,"
      " t.body, t.on_demand, t.inputs, t.outputs, iif(t.kind = 'callable' AND coalesce(s.status,"
      " t.status) IN (" ACTIVE "), 'STAGED', coalesce(s.status, t.status)), s.attempt, s.tries,"
      " s.outcome, s.exit, s.flags, s.phase, s.asked, s.since, t.details"
      " FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id;"
      "CREATE VIEW sched_history(seq, id, job, task, attempt, worker, handler, status, exit,"
      " started, ended) AS SELECT seq, id, id >> 32, id & 4294967295, attempt, worker, handler,"
      " result, result_exit, started, ended FROM sched_state WHERE seq IS NOT NULL UNION ALL"
      " SELECT seq, id, id >> 32, id & 4294967295, attempt, worker, handler, result, result_exit,"
      " started, ended FROM sched_run;"
      "CREATE VIEW sched_attempt(id, attempt, \"end\", status, reason, began, ended, user_us,"
      " system_us, memory_bytes, log_bytes, flags, worker) AS SELECT id, attempt, \"end\","
      " end_status, reason, ran_from, ran_to, user_us, system_us, memory_bytes, log_bytes,"
      " end_flags, log_worker" ATTEMPTS_OF("sched_state")
      " UNION ALL SELECT id, attempt, \"end\", end_status, reason, ran_from, ran_to, user_us,"
      " system_us, memory_bytes, log_bytes, end_flags, log_worker" ATTEMPTS_OF("sched_run") ";";

// The same views in fewer words: SQLite reads them all whenever it opens a database, a good
// part of a short run.
#define LIVE(name, condition)                                                                      \
    "CREATE VIEW " name " AS SELECT * FROM sched_live WHERE " condition ";"
#define NUMBERS "id >> 32 AS job, id & 4294967295 AS task"
#define ENDED                                                                                      \
    "attempt, worker, handler, result AS status, result_exit AS exit, started, ended FROM "
#define ATTEMPTED                                                                                  \
    "SELECT id, attempt, \"end\", end_status AS status, reason, ran_from AS began,"                \
    " ran_to AS ended, user_us, system_us, memory_bytes, log_bytes, end_flags AS flags,"           \
    " log_worker AS worker"

static const char version_7[]
    = "DROP VIEW sched_queue; DROP VIEW sched_wait; DROP VIEW sched_ready; DROP VIEW sched_exec;"
      "DROP VIEW sched_unstage; DROP VIEW sched_stage; DROP VIEW sched_status; DROP VIEW sched_job;"
      "DROP VIEW sched_history; DROP VIEW sched_attempt;"
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

// Requests that were refused. There are only so many of them, so they are numbered.
static const char version_8[]
    = "CREATE TABLE sched_refusal(number INTEGER PRIMARY KEY,"
      " request BLOB NOT NULL UNIQUE, body_hash INTEGER, answer TEXT, refusal INTEGER,"
      " turn INTEGER, done INTEGER);";

// What each object consists of: KIND:HASH, by the word of the attempt that made it.
static const char version_9[] = "ALTER TABLE sched_object ADD COLUMN content TEXT;";

// The user that the commands of a worker run as; and in which version of the protocol a body is
// written. None: by a rota that knew only the first.
static const char version_10[] = "ALTER TABLE sched_name ADD COLUMN user TEXT;"
                                 "ALTER TABLE sched_body ADD COLUMN version INTEGER;";

// Each takes the tables one version further.
static const char *const steps[] = {version_1, version_2, version_3, version_4, version_5,
                                    version_6, version_7, version_8, version_9, version_10};

int schema_version(void)
{
    return (int)(sizeof steps / sizeof *steps);
}

int schema_migrate(sqlite3 *db, int version)
{
    assert(version >= 0 && version < schema_version());
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
