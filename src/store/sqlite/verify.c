// verify.c - checks the invariants of a database between two turns: queries that must find nothing.
#include "store/sqlite/reader.h"

#include <string.h>

// Each query finds tasks, jobs or a count that violate the rule.
struct rule {
    const char *text, *sql;
};

static const struct rule task_rules[] = {
    {"has a state row but no definition",
     "SELECT id FROM sched_state EXCEPT SELECT id FROM sched_task"},
    {"has an unknown status",
     "SELECT id FROM sched_status WHERE ifnull(status, '') NOT IN ('IDLE', 'STAGED', 'QUEUED',"
     " 'WAITING', 'BLOCKED', 'READY', 'HELD', 'OFFERED', 'SHARED', 'ASSIGNED', 'RUNNING',"
     " 'SUCCESS', 'FAILED', 'ABORTED', 'FROZEN', 'CLOSED')"},
    {"is assigned without a worker or a start time",
     "SELECT s.id FROM sched_state s JOIN sched_task t ON t.id = s.id WHERE t.kind = 'callable'"
     " AND s.status IN ('ASSIGNED', 'RUNNING') AND (s.worker IS NULL OR s.started IS NULL)"},
    {"is assigned but has no state row",
     "SELECT id FROM sched_task WHERE kind = 'callable' AND status IN ('ASSIGNED', 'RUNNING')"
     " AND id NOT IN (SELECT id FROM sched_state)"},
    {"is an active bundle but not in sched_bundle",
     "SELECT id FROM sched_job WHERE kind = 'bundle' AND status = 'RUNNING'"
     " AND id NOT IN (SELECT id FROM sched_bundle)"},
    {"is in sched_bundle but is not an active bundle",
     "SELECT id FROM sched_bundle EXCEPT SELECT id FROM sched_job"
     " WHERE kind = 'bundle' AND status = 'RUNNING'"},
    {"is active in a removed job",
     "SELECT id FROM sched_job WHERE status IN ('STAGED', 'RUNNING')"
     " AND job NOT IN (SELECT job FROM sched_graph)"},
    {"runs on an unknown worker",
     "SELECT id FROM sched_exec WHERE handler = 0 AND worker > 0"
     " AND worker NOT IN (SELECT worker FROM sched_worker)"},
    {"is in an unknown lane",
     "SELECT id FROM sched_job WHERE lane > 0 AND job IN (SELECT job FROM sched_graph)"
     " AND lane NOT IN (SELECT lane FROM sched_lane)"},
    {"runs at the same time as another task of its group",
     "SELECT max(e.id) FROM sched_exec e JOIN sched_job j ON j.id = e.id"
     " WHERE j.lane > 0 AND j.grp > 0 GROUP BY j.lane, j.grp HAVING count(*) > 1"},
    {"runs in a lane with both readers and writers",
     "SELECT max(e.id) FROM sched_exec e JOIN sched_job j ON j.id = e.id"
     " WHERE j.lane > 0 GROUP BY j.lane HAVING count(DISTINCT j.access) > 1"},
    {"has earlier attempts but no definition",
     "SELECT id FROM sched_run EXCEPT SELECT id FROM sched_task"},
    {"has an attempt twice in the history",
     "SELECT id FROM sched_history GROUP BY id, attempt HAVING count(*) > 1"},
    {"has an attempt whose number in the history is not unique",
     "SELECT max(id) FROM sched_history GROUP BY seq HAVING count(*) > 1"},
    {"has a reported attempt that is not in the history",
     "SELECT id FROM sched_state WHERE \"end\" IS NOT NULL AND seq IS NULL"},
    {"has an attempt that ended but is running", "SELECT e.id FROM sched_exec e JOIN sched_state s"
                                                 " ON s.id = e.id WHERE s.seq IS NOT NULL"},
    {"has an attempt that ended before it started",
     "SELECT id FROM sched_history WHERE ended < started"},
    {"has an ended attempt that is not in the history",
     "SELECT id FROM (SELECT id, attempt FROM sched_job WHERE attempt > 0 AND status IN"
     " ('SUCCESS', 'FAILED', 'ABORTED') AND kind = 'callable'"
     " EXCEPT SELECT id, attempt FROM sched_history)"},
    {"does not exist, but a client waits for it",
     "SELECT task FROM sched_wait_for WHERE task > 0 AND task NOT IN (SELECT id FROM sched_job)"},
};

static const struct rule job_rules[] = {
    {"has a submission but does not exist",
     "SELECT job FROM sched_submit WHERE job NOT IN (SELECT job FROM sched_graph)"},
    {"has no submission",
     "SELECT job FROM sched_graph WHERE job NOT IN (SELECT job FROM sched_submit)"},
    {"has a gap between its submissions",
     "SELECT job FROM (SELECT job, first, lag(first + tasks, 1, 1) OVER (PARTITION BY job ORDER BY"
     " sequence) AS expected FROM sched_submit) WHERE first <> expected"},
    {"has objects but does not exist",
     "SELECT job FROM sched_object WHERE job NOT IN (SELECT job FROM sched_graph)"},
};

static const struct rule other_rules[] = {
    {"copies of objects on unknown workers",
     "SELECT count(*) FROM sched_replica WHERE worker NOT IN (SELECT worker FROM sched_worker)"},
    {"turns missing from the journal",
     "SELECT max(sequence) - min(sequence) + 1 - count(*) FROM sched_event"},
    {"requests answered in a turn that does not exist",
     "SELECT count(*) FROM (SELECT turn FROM sched_request UNION ALL SELECT turn FROM"
     " sched_refusal) WHERE turn > (SELECT max(sequence) FROM sched_event)"},
    {"calendars of tasks without a definition",
     "SELECT count(*) FROM sched_calendar WHERE id NOT IN (SELECT id FROM sched_job)"},
};

// For a database that has an audit log.
static const struct rule audit_rules[] = {
    {"lines missing from the audit log", "SELECT max(number) - count(*) FROM sched_audit"},
    {"lines of the audit log in a turn that does not exist",
     "SELECT count(*) FROM sched_audit WHERE turn > (SELECT max(sequence) FROM sched_event)"},
    {"lines of the audit log out of order",
     "SELECT count(*) FROM (SELECT turn, lag(turn, 1, 0) OVER (ORDER BY number) AS before"
     " FROM sched_audit) WHERE turn < before"},
    {"missing triggers that protect the audit log", "SELECT 2 - count(*) FROM sqlite_master"
     " WHERE type = 'trigger' AND tbl_name = 'sched_audit'"},
};

struct verifier {
    const char *path;
    sqlite3 *db;
    struct batch batch;
    FILE *out;
    struct store_error *error;
    uint32_t broken;
};

enum { DAMAGED_MAX = 100 };  // that are named

enum subject { SUBJECT_TASK, SUBJECT_JOB, SUBJECT_COUNT };

static void finding_print(struct verifier *verifier, enum subject subject, const char *text,
                          int64_t number)
{
    rota_task_id task = row_task(number);
    verifier->broken++;
    if (subject == SUBJECT_TASK) {
        fprintf(verifier->out, "task %u.%u %s\n", task.job, task.task, text);
    } else if (subject == SUBJECT_JOB) {
        fprintf(verifier->out, "job %lld %s\n", (long long)number, text);
    } else {
        fprintf(verifier->out, "%lld %s\n", (long long)number, text);
    }
}

static void rule_check(struct verifier *verifier, enum subject subject, const struct rule *rule)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(verifier->db, rule->sql, -1, &row, NULL);
    while (!result && (result = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t number = sqlite3_column_int64(row, 0);
        if (subject != SUBJECT_COUNT || number != 0) {
            finding_print(verifier, subject, rule->text, number);
        }
        result = SQLITE_OK;
    }
    sqlite3_finalize(row);
    if (result == SQLITE_DONE) return;
    verifier->broken++;
    fprintf(verifier->out, "cannot be read: %s\n", sqlite3_errmsg(verifier->db));
}

static void audit_check(struct verifier *verifier)
{
    if (sqlite3_table_column_metadata(verifier->db, NULL, "sched_audit", NULL, NULL, NULL, NULL,
                                      NULL, NULL) != SQLITE_OK)
        return;
    for (size_t i = 0; i < sizeof audit_rules / sizeof *audit_rules; i++)
        rule_check(verifier, SUBJECT_COUNT, &audit_rules[i]);
}

static void damage_print(void *context, struct page_damage damage)
{
    struct verifier *verifier = context;
    if (verifier->broken++ < DAMAGED_MAX)
        fprintf(verifier->out, "%s%s: page %u %s\n", verifier->path,
                damage.is_in_log ? "-wal" : "", damage.page,
                damage.is_empty ? "has lost its content" : "does not match its checksum");
}

// Before SQLite reads more than the first page: it stops at the first one that does not match.
static void checksums_check(struct verifier *verifier)
{
    bool is_read = pages_scan(&verifier->batch.pages, damage_print, verifier);
    if (!is_read)
        store_fail(verifier->error, STORE_BROKEN, "%s: cannot be read", verifier->path);
    else if (verifier->broken > DAMAGED_MAX)
        fprintf(verifier->out, "%u more pages do not match\n", verifier->broken - DAMAGED_MAX);
}

static void structure_check(struct verifier *verifier)
{
    sqlite3_stmt *row = NULL;
    int result = sqlite3_prepare_v2(verifier->db, "PRAGMA integrity_check", -1, &row, NULL);
    while (!result && (result = sqlite3_step(row)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        result = SQLITE_OK;
        if (text && strcmp(text, "ok") == 0) continue;
        verifier->broken++;
        fprintf(verifier->out, "%s\n", text ? text : "out of memory");
    }
    sqlite3_finalize(row);
    if (result == SQLITE_DONE) return;
    verifier->broken++;
    fprintf(verifier->out, "cannot be read: %s\n", sqlite3_errmsg(verifier->db));
}

// ---- The core that these rows give ----------------------------------------------------

static void core_check(struct verifier *verifier, const struct loaded *loaded)
{
    struct rota_config config = rota_config_default();
    struct rota *rota = NULL;
    config.tasks_max = config.groups_max = config.objects_max = 1u << 28;
    config.edges_max = config.jobs_max = 1u << 28;
    config.lanes_max = config.workers_max = 1u << 20;
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    event.restore.records = loaded->records;
    event.restore.count = loaded->count;
    if (rota_open(&config, &rota)) {
        store_fail(verifier->error, STORE_NO_MEMORY, "out of memory for a core");
        return;
    }
    if (loaded->count && rota_step(rota, &event)) {
        verifier->broken++;
        fprintf(verifier->out, "the core refuses these rows: %s\n", rota_reason(rota));
    } else {
        rota_check(rota);  // aborts with a message if the state of the core is inconsistent
    }
    rota_close(rota);
}

static void restore_check(struct verifier *verifier)
{
    struct sqlite_store store = {.db = verifier->db, .lock_file = -1};
    store.path = (char *)(uintptr_t)verifier->path;
    struct loaded *loaded = loaded_open(&store);
    if (loaded) {
        core_check(verifier, loaded);
    } else {
        verifier->broken++;
        fprintf(verifier->out, "%s\n", store.store.error.text);
    }
    loaded_close(loaded);
    turn_release(&store);
}

static void rules_check(struct verifier *verifier)
{
    structure_check(verifier);
    for (size_t i = 0; i < sizeof task_rules / sizeof *task_rules; i++) {
        rule_check(verifier, SUBJECT_TASK, &task_rules[i]);
    }
    for (size_t i = 0; i < sizeof job_rules / sizeof *job_rules; i++) {
        rule_check(verifier, SUBJECT_JOB, &job_rules[i]);
    }
    for (size_t i = 0; i < sizeof other_rules / sizeof *other_rules; i++) {
        rule_check(verifier, SUBJECT_COUNT, &other_rules[i]);
    }
    audit_check(verifier);
    if (!verifier->broken) restore_check(verifier);
}

uint32_t store_verify(const char *path, FILE *out, struct store_error *error)
{
    *error = (struct store_error){0};
    struct verifier verifier
        = {.path = path, .batch = {.image = -1}, .out = out, .error = error};
    if (file_check_header(path, error)) verifier.db = reader_connect(path, &verifier.batch, error);
    if (!verifier.db) return 0;
    // One snapshot, even while a server runs. If this fails, the checks below say why.
    sqlite3_exec(verifier.db, "BEGIN; PRAGMA user_version", NULL, NULL, NULL);
    checksums_check(&verifier);
    if (!error->fault && !verifier.broken
        && reader_is_ours(verifier.db, path, &verifier.batch, error))
        rules_check(&verifier);
    sqlite3_close(verifier.db);
    return verifier.broken;
}
