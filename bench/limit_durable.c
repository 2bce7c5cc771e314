// limit_durable.c - what keeping tasks on disk costs at least, without a core.
//
//     limit_durable sync FILE COUNT          4 KiB written over and synced, a second
//     limit_durable log  FILE TASKS BATCH    three lines of 64 bytes a task, appended and synced
//     limit_durable rows FILE TASKS BATCH    the rows rota writes, by statements alone
//     limit_durable scan FILE                seconds to step through all rows of tasks
#define _GNU_SOURCE
#include "bench.h"
#include "store/sqlite/open.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, LINES = 3 * 64 };

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void write_synced(int file, const char *data, size_t size, off_t place)
{
    if (pwrite(file, data, size, place) != (ssize_t)size) stop("cannot write");
    if (fdatasync(file)) stop("cannot sync");
}

static int file_make(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) stop("cannot open the file");
    return file;
}

// ---- Without a database ---------------------------------------------------------------

static double sync_run(const char *path, uint32_t count)
{
    char page[PAGE] = {0};
    int file = file_make(path);
    write_synced(file, page, sizeof page, 0);
    double began = seconds_now();
    for (uint32_t i = 0; i < count; i++) {
        page[0]++;
        write_synced(file, page, sizeof page, 0);
    }
    double seconds = seconds_now() - began;
    close(file);
    return count / seconds;
}

static double log_run(const char *path, uint32_t count, uint32_t batch)
{
    size_t size = (size_t)batch * LINES;
    char *lines = allocate(size, 1);
    int file = file_make(path);
    double began = seconds_now();
    for (uint32_t done = 0; done < count; done += batch) {
        memset(lines, 'a' + (int)(done % 26), size);
        write_synced(file, lines, size, (off_t)done * LINES);
    }
    double seconds = seconds_now() - began;
    close(file);
    free(lines);
    return count / seconds;
}

// ---- The rows of rota ----------------------------------------------------------------------

enum statement {
    BEGIN,
    GRAPH,
    SUBMIT,
    JOB,
    EXEC,
    END,
    UNGRAPH,
    UNSUBMIT,
    EVENT,
    COMMIT,
    STATEMENTS
};

static const char *const texts[STATEMENTS] = {
    "BEGIN IMMEDIATE",
    "INSERT INTO sched_graph VALUES (?1, 'LAST', 'plan', 'block', 1, 0, 0)",
    "INSERT INTO sched_submit VALUES (?1, ?1, 1, ?2, 0, 1, 0, 'plan', NULL, 1, NULL, NULL, NULL,"
    " NULL)",
    "INSERT INTO sched_task(id, kind, parent, machine, priority, lane, grp, cores, memory_mib,"
    " retries, estimate, body, on_demand, command, status) VALUES (?1, 'callable', 0, 0, 0, 0, 0,"
    " 1, 0, 0, 0, 1, 0, 'compile src/module/file.c', 'ASSIGNED')",
    "INSERT INTO sched_state(id, status, attempt, tries, flags, phase, asked, since, worker,"
    " handler, run_as, started) VALUES (?1, 'ASSIGNED', 1, 1, 0, 0, 0, 0, 1, 0, 0, ?2)",
    "UPDATE sched_state SET status = 'SUCCESS', outcome = 'ok', exit = 0, seq = ?1, ended = ?2,"
    " result = 'SUCCESS', result_exit = 0 WHERE id = ?1",
    "DELETE FROM sched_graph WHERE job = ?1",
    "DELETE FROM sched_submit WHERE job = ?1",
    "INSERT INTO sched_event VALUES (?1, ?2, ?3, ?1, ?1, ?1, ?1, ?1, 0, ?1, 1, 2, ?1)",
    "COMMIT",
};

struct rows {
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
    char lines[80];  // of the journal, as long as rota's own
    uint32_t batch;
};

static void run(struct rows *rows, enum statement which, int64_t first, int64_t second)
{
    sqlite3_stmt *statement = rows->statement[which];
    int wanted = sqlite3_bind_parameter_count(statement);
    if (wanted > 0) sqlite3_bind_int64(statement, 1, first);
    if (wanted > 1) sqlite3_bind_int64(statement, 2, second);
    if (sqlite3_step(statement) != SQLITE_DONE) stop(sqlite3_errmsg(rows->db));
    sqlite3_reset(statement);
}

static void rows_turn(struct rows *rows, int64_t turn)
{
    run(rows, BEGIN, 0, 0);
    for (int64_t task = 1; task <= rows->batch && turn > 1; task++)
        run(rows, END, (turn - 1) << 32 | task, turn);
    run(rows, UNGRAPH, turn - 2, 0);
    run(rows, UNSUBMIT, turn - 2, 0);
    run(rows, GRAPH, turn, 0);
    run(rows, SUBMIT, turn, rows->batch);
    for (int64_t task = 1; task <= rows->batch; task++) run(rows, JOB, turn << 32 | task, 0);
    for (int64_t task = 1; task <= rows->batch; task++) run(rows, EXEC, turn << 32 | task, turn);
    run(rows, EVENT, turn, turn);
    run(rows, COMMIT, 0, 0);
}

static void rows_open(struct rows *rows, const char *path, uint32_t batch)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    struct store_options options = store_options_default();
    struct store_error error;
    char name[4096];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
    options.ballast_bytes = 0;
    struct store *store = store_open_sqlite(path, &options, &error);
    if (!store) stop(error.text);
    store_close(store);
    if (sqlite3_open(path, &rows->db)) stop("cannot open the database");
    sqlite3_exec(rows->db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 8192", NULL,
                 NULL, NULL);
    for (int i = 0; i < STATEMENTS; i++) {
        int flags = SQLITE_PREPARE_PERSISTENT;
        if (sqlite3_prepare_v3(rows->db, texts[i], -1, (unsigned)flags, &rows->statement[i],
                               NULL)) {
            stop(sqlite3_errmsg(rows->db));
        }
    }
    rows->batch = batch;
    memset(rows->lines, 'x', sizeof rows->lines);
    sqlite3_bind_text(rows->statement[EVENT], 3, rows->lines, sizeof rows->lines, SQLITE_STATIC);
}

static double rows_run(const char *path, uint32_t count, uint32_t batch)
{
    struct rows rows;
    rows_open(&rows, path, batch);
    double began = seconds_now();
    for (uint32_t turn = 1; turn <= count / batch; turn++) rows_turn(&rows, turn);
    double seconds = seconds_now() - began;
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(rows.statement[i]);
    sqlite3_close(rows.db);
    unlink(path);
    return count / seconds;
}

// ---- Reading -----------------------------------------------------------------------------

static double scan_run(const char *path)
{
    static const char *const tables[] = {"SELECT * FROM sched_task", "SELECT * FROM sched_state"};
    sqlite3 *db;
    double began = seconds_now();
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL)) stop("cannot open the database");
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *rows;
        if (sqlite3_prepare_v2(db, tables[i], -1, &rows, NULL)) stop(sqlite3_errmsg(db));
        while (sqlite3_step(rows) == SQLITE_ROW) continue;
        sqlite3_finalize(rows);
    }
    sqlite3_close(db);
    return seconds_now() - began;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "scan")) {
        printf("%.4f\n", scan_run(argv[2]));
        return 0;
    }
    if (argc < 4) return 2;
    uint32_t count = number_parse(argv[3]), batch = argc > 4 ? number_parse(argv[4]) : 1;
    double figure;
    if (!strcmp(argv[1], "sync"))
        figure = sync_run(argv[2], count);
    else if (!strcmp(argv[1], "log"))
        figure = log_run(argv[2], count, batch);
    else if (!strcmp(argv[1], "rows"))
        figure = rows_run(argv[2], count, batch);
    else
        return 2;
    unlink(argv[2]);
    printf("%.1f\n", figure);
    return 0;
}
