// pipeline_postgres.c - the same tasks in PostgreSQL, all statements of a commit in one pipeline.
//
//     pipeline_postgres CONNECTION TASKS BATCH     tasks a second
//
// Four statements a task, fewer than rota writes rows: a peer should not lose by our schema.
#include "bench.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_TASK = 4 };

static const char tables[]
    = "DROP TABLE IF EXISTS task, exec;"
      "CREATE TABLE task(id bigint PRIMARY KEY, command text NOT NULL, status text NOT NULL,"
      " exit int, ended bigint);"
      "CREATE TABLE exec(id bigint PRIMARY KEY, worker int NOT NULL, started bigint);";

static const char *const texts[PER_TASK] = {
    "INSERT INTO task VALUES ($1::bigint, 'compile src/module/file.c', 'STAGED')",
    "INSERT INTO exec VALUES ($1::bigint, 1, $1::bigint)",
    "DELETE FROM exec WHERE id = $1::bigint",
    "UPDATE task SET status = 'SUCCESS', exit = 0, ended = $1::bigint WHERE id = $1::bigint",
};
static const char *const names[PER_TASK] = {"submit", "start", "end", "record"};

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void expect(PGconn *connection, PGresult *result, ExecStatusType status)
{
    if (PQresultStatus(result) != status) stop(PQerrorMessage(connection));
    PQclear(result);
}

static void send(PGconn *connection, const char *name, uint32_t task)
{
    char number[16];
    const char *values[1] = {number};
    snprintf(number, sizeof number, "%u", task);
    if (!PQsendQueryPrepared(connection, name, 1, values, NULL, NULL, 0)) {
        stop(PQerrorMessage(connection));
    }
}

static void statements_prepare(PGconn *connection)
{
    expect(connection, PQexec(connection, "SET client_min_messages = warning"), PGRES_COMMAND_OK);
    expect(connection, PQexec(connection, tables), PGRES_COMMAND_OK);
    for (int i = 0; i < PER_TASK; i++) {
        expect(connection, PQprepare(connection, names[i], texts[i], 1, NULL), PGRES_COMMAND_OK);
    }
}

// The same as a turn of rota: the previous batch ends, a new one is submitted and started.
// Everything up to the sync is one transaction.
static uint32_t batch_send(PGconn *connection, uint32_t first, uint32_t batch)
{
    uint32_t sent = 0;
    for (uint32_t task = first; task < first + batch; task++) {
        if (first > batch) {
            send(connection, names[2], task - batch);
            send(connection, names[3], task - batch);
            sent += 2;
        }
        send(connection, names[0], task);
        send(connection, names[1], task);
        sent += 2;
    }
    if (!PQpipelineSync(connection)) stop(PQerrorMessage(connection));
    return sent;
}

static void answers_read(PGconn *connection, uint32_t count)
{
    for (; count > 0; count--) {
        expect(connection, PQgetResult(connection), PGRES_COMMAND_OK);
        if (PQgetResult(connection)) stop("an answer too many");
    }
    expect(connection, PQgetResult(connection), PGRES_PIPELINE_SYNC);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    uint32_t count = number_parse(argv[2]), batch = number_parse(argv[3]);
    PGconn *connection = PQconnectdb(argv[1]);
    if (PQstatus(connection) != CONNECTION_OK) stop(PQerrorMessage(connection));
    statements_prepare(connection);
    if (!PQenterPipelineMode(connection)) stop("no pipeline mode");
    double began = seconds_now();
    for (uint32_t first = 1; first <= count; first += batch) {
        answers_read(connection, batch_send(connection, first, batch));
    }
    printf("%.1f\n", count / (seconds_now() - began));
    PQfinish(connection);
    return 0;
}
