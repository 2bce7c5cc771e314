// snapshot_all.c - all jobs and workers of a database in a few rows, for `rota top`.
#include "store/sqlite/snapshot.h"
#include "store/sqlite/reader.h"

// The last jobs, including removed ones; older jobs are of no interest now.
#define LAST_JOBS "(SELECT max(id) >> 32 FROM sched_task) - 200"
#define IN_JOB(id) id " BETWEEN j.job << 32 AND (j.job << 32 | 4294967295)"

#define OF_JOB(condition) "sum(CASE WHEN " condition " THEN n ELSE 0 END)"

static const char *const questions[SNAPSHOT_LISTS] = {
    [SNAPSHOT_WORKERS] = "WITH e AS MATERIALIZED (SELECT id, status, worker FROM sched_exec)"
                         " SELECT w.worker, w.cores, w.silent_since, count(e.id),"
                         " coalesce(sum(e.status = 'RUNNING'), 0), 0, 0, 0, n.name, n.user, ''"
                         " FROM sched_worker w LEFT JOIN e ON e.worker = w.worker"
                         " LEFT JOIN sched_name n ON n.kind = 'worker' AND n.number = w.worker"
                         " GROUP BY w.worker ORDER BY w.silent_since < 9e18, w.worker LIMIT 1000",
    [SNAPSHOT_JOBS]
    = "WITH j AS (SELECT job, state FROM sched_graph ORDER BY job DESC LIMIT 200),"
      " c AS (SELECT j.job, j.state, coalesce(s.status, t.status) AS status,"
      " t.kind = 'callable' AS runs, count(*) AS n FROM j CROSS JOIN sched_task t"
      " LEFT JOIN sched_state s ON s.id = t.id WHERE " IN_JOB("t.id")
      " GROUP BY 1, 2, 3, 4)"
      " SELECT job, sum(n), " OF_JOB("status = 'SUCCESS'") ","
      OF_JOB("status = 'FAILED'") "," OF_JOB("status IN ('ABORTED', 'CLOSED')") ","
      OF_JOB("runs AND status = 'RUNNING'") ","
      OF_JOB("status = 'BLOCKED'") "," OF_JOB("status IN ('FROZEN', 'IDLE')") ","
      " state, '', '' FROM c GROUP BY job ORDER BY job DESC",
    [SNAPSHOT_OUT] = "SELECT e.id >> 32, e.id & 4294967295, coalesce(s.ran_from, e.started),"
                     " e.worker, t.cores, 0, 0, 0, t.name, e.status, n.name FROM sched_exec e"
                     " JOIN sched_task t ON t.id = e.id JOIN sched_state s ON s.id = e.id"
                     " LEFT JOIN sched_name n ON n.kind = 'worker' AND n.number = e.worker"
                     " ORDER BY e.status = 'ASSIGNED', 3, e.id LIMIT 1000",
    [SNAPSHOT_QUEUE] = "SELECT r.id >> 32, r.id & 4294967295, t.priority, 0, 0, 0, 0, 0, t.name,"
                       " r.status, n.name FROM sched_ready r JOIN sched_task t ON t.id = r.id"
                       " LEFT JOIN sched_name n ON n.kind = 'lane' AND n.number = t.lane"
                       " ORDER BY t.priority DESC, r.id LIMIT 1000",
    [SNAPSHOT_LANES] = "SELECT t.lane, sum(s.inside), sum(1 - s.inside),"
                       " sum(s.inside AND t.access = 'read'), 0, 0, 0, 0, n.name, '', '' FROM ("
                       "SELECT id, 1 AS inside FROM sched_exec"
                       " UNION ALL SELECT id, status = 'OFFERED' FROM sched_ready) s"
                       " JOIN sched_task t ON t.id = s.id LEFT JOIN sched_name n"
                       " ON n.kind = 'lane' AND n.number = t.lane WHERE t.lane > 0"
                       " GROUP BY t.lane ORDER BY t.lane LIMIT 1000",
    [SNAPSHOT_COUNTS] = "SELECT 0, n, 0, 0, 0, 0, 0, 0, status, '', '' FROM ("
                        "SELECT status, count(*) AS n FROM sched_stage GROUP BY status)",
    [SNAPSHOT_LATELY] = "SELECT id >> 32, sum(ended >= ?1 - 10000000), count(*), 0, 0, 0, 0, 0, '',"
                        " '', '' FROM sched_state WHERE id > (" LAST_JOBS ") << 32"
                        " AND ended >= ?1 - 60000000 GROUP BY 1",
};

bool snapshot_list(struct store *base, enum snapshot_list list, rota_time now,
                   snapshot_row_fn *take, void *context)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *row = load_prepare(store, questions[list]);
    int result = SQLITE_ERROR;
    if (row && sqlite3_bind_parameter_count(row)) bind_number(row, 1, now);
    while (row && (result = sqlite3_step(row)) == SQLITE_ROW) {
        struct snapshot_row told;
        for (int i = 0; i < SNAPSHOT_NUMBERS; i++) told.numbers[i] = sqlite3_column_int64(row, i);
        for (int i = 0; i < SNAPSHOT_TEXTS; i++) {
            const char *text = (const char *)sqlite3_column_text(row, SNAPSHOT_NUMBERS + i);
            told.texts[i] = text ? text : "";
        }
        if (take(context, &told)) continue;
        load_no_memory(store);
        break;
    }
    return load_end(store, row, result);
}
