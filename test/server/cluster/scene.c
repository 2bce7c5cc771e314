// scene.c - a server with a client and a worker, in memory or with a database.
#include "scene.h"
#include "store/sqlite/open.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct peers peers;
struct played client, worker;
struct store *store;
const char *command = "true";  // of the tasks that are submitted
uint32_t grows_to;             // the job to which they are added

int begin(void **state)
{
    (void)state;
    store = store_open_memory();
    assert_non_null(store);
    peers_open(&peers, store);
    played_open(&peers, &client, WIRE_CLIENT);
    played_open(&peers, &worker, WIRE_WORKER);
    return 0;
}

int end(void **state)
{
    (void)state;
    played_close(&peers, &client);
    played_close(&peers, &worker);
    peers_turn(&peers);
    peers_close(&peers);
    store_close(store);
    return 0;
}

// ---- Messages -------------------------------------------------------------------------------

void greets(struct played *played, enum wire_role role, const char *name, uint64_t number)
{
    struct wire_message message = greet_of(role, name, number);
    assert_true(played_says(&peers, played, &message));
    assert_true(played_hears_kind(played, WIRE_WELCOME_MESSAGE, &message));
}

void joins(struct played *played, struct wire_attempt *attempts, uint32_t count)
{
    struct wire_message message = join_of(2, attempts, count);
    assert_true(played_says(&peers, played, &message));
}

void submits(uint64_t low, uint32_t tasks, uint32_t retries, uint32_t flags)
{
    struct wire_submit submit = {.low = low, .job = grows_to, .flags = flags};
    assert_true(played_submits(&peers, &client, &submit, command, tasks, retries));
}

void reports(struct played *played, const struct wire_run *run, enum wire_end how,
                    int32_t status)
{
    struct wire_message message = {.kind = WIRE_FINISHED_MESSAGE};
    message.finished.task = run->task;
    message.finished.attempt = run->attempt;
    message.finished.token = run->token;
    message.finished.end = how;
    message.finished.status = status;
    message.finished.reason = wire_text_of("");
    assert_true(played_says(&peers, played, &message));
}

// The first RUN that the worker gets.
struct wire_run given(struct played *played)
{
    struct wire_message message;
    assert_true(played_hears_kind(played, WIRE_RUN_MESSAGE, &message));
    return message.run;
}

void a_cluster_of_one(void)
{
    greets(&client, WIRE_CLIENT, "client", 0);
    greets(&worker, WIRE_WORKER, "one", 1);
    joins(&worker, NULL, 0);
    peers_turn(&peers);
}

struct wire_run given_first(uint64_t low, uint32_t retries)
{
    a_cluster_of_one();
    submits(low, 1, retries, 0);
    peers_turn(&peers);
    return given(&worker);
}

uint32_t accepted(void)
{
    struct wire_message message;
    peers_turn(&peers);
    return played_hears_kind(&client, WIRE_ACCEPTED_MESSAGE, &message) ? message.accepted.job : 0;
}

// ---- With a database -------------------------------------------------------------------------

static char path[64];

int begin_on_disk_at(rota_time now)
{
    struct store_options options = store_options_default();
    struct store_error error;
    snprintf(path, sizeof path, "/tmp/rota-hub-%d.db", (int)getpid());
    options.ballast_bytes = 0;
    store = store_open_sqlite(path, &options, &error);
    assert_non_null(store);
    peers_open_at(&peers, store, now);
    played_open(&peers, &client, WIRE_CLIENT);
    played_open(&peers, &worker, WIRE_WORKER);
    return 0;
}

int begin_on_disk(void **state)
{
    (void)state;
    return begin_on_disk_at(4000000);
}

static void files_remove(void)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    char name[80];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

int end_on_disk(void **state)
{
    end(state);
    files_remove();
    return 0;
}

struct wire_message draft_of(uint64_t low, uint32_t job, struct wire_spec *specs,
                                    uint32_t count)
{
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    message.submit.high = 1;
    message.submit.low = low;
    message.submit.job = job;
    message.submit.name = wire_text_of("");
    message.submit.tasks = (wire_specs){specs, count};
    for (uint32_t i = 0; i < count; i++) specs[i].name = specs[i].details = wire_text_of("");
    return message;
}

void rows_are(const char *table, int count)
{
    char sql[200];
    sqlite3 *base;
    sqlite3_stmt *row;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    assert_int_equal(sqlite3_open_v2(path, &base, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(base, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(row, 0), count);
    sqlite3_finalize(row);
    sqlite3_close(base);
}
