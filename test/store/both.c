// both.c - a store for the histories of test/model: one in memory and one in a file, compared.
#define _GNU_SOURCE
#include "both.h"
#include "store/sqlite/open.h"
#include "model/history.h"
#include "store/sqlite/query.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RESTORES_EVERY = 7 };

struct history_store {
    struct store *memory, *file;
    char path[128];
    uint64_t turns;
};

static char difference[400];
static uint64_t turns;

const char *both_difference(void)
{
    return difference;
}

uint64_t both_turns(void)
{
    return turns;
}

const char *both_folder(void)
{
    struct stat status;
    if (stat("/dev/shm", &status) == 0) return "/dev/shm";
    return "/tmp";
}

void both_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-ballast", "-journal"};
    char name[256];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

int both_change(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    bool done = sqlite3_open(path, &db) == SQLITE_OK
                && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    int changes = sqlite3_changes(db);
    done = done && sqlite3_exec(db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return done ? changes : -1;
}

static void differ(const char *format, ...)
{
    if (*difference) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(difference, sizeof difference, format, arguments);
    va_end(arguments);
}

static struct store *file_open(const char *path)
{
    struct store_options options = store_options_default();
    struct store_error error;
    options.ballast_bytes = 0;
    options.wal_pages = 50;
    struct store *store = store_open_sqlite(path, &options, &error);
    if (!store) differ("%s", error.text);
    return store;
}

struct history_store *history_store_open(void)
{
    struct history_store *store = calloc(1, sizeof *store);
    if (!store) abort();
    snprintf(store->path, sizeof store->path, "%s/rota-both-%ld", both_folder(), (long)getpid());
    both_remove(store->path);
    store->memory = store_open_memory();
    store->file = file_open(store->path);
    if (!store->memory || !store->file) abort();
    return store;
}

void history_store_close(struct history_store *store)
{
    if (!store) return;
    turns += store->turns;
    store_close(store->memory);
    store_close(store->file);
    both_remove(store->path);
    free(store);
}

// The promises hold beside a server that keeps writing, and beside an idle one.
static void promises_check(const struct history_store *store)
{
    struct store_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    uint32_t broken = store_verify(store->path, out, &error);
    fclose(out);
    if (error.fault) differ("verify: %s", error.text);
    if (broken) differ("verify: %s", text);
    free(text);
}

static void put(struct store *store, const struct history *history,
                const struct rota_effects *effects)
{
    store_begin(store, history->now);
    store_put(store, history->rota, effects->records, effects->record_count);
}

static void rows_compare(struct history_store *store)
{
    uint32_t left_count, right_count;
    const struct rota_record *left = store_rows(store->memory, &left_count);
    const struct rota_record *right = store_rows(store->file, &right_count);
    const char *wrong = store_error(store->file)->text;
    if (left_count != right_count)
        differ("%u rows, %u in the file %s", left_count, right_count, wrong);
    for (uint32_t i = 0; i < left_count && i < right_count; i++) {
        if (!both_same(&left[i], &right[i])) {
            differ("row %u of kind %d is another in the file", i, left[i].kind);
        }
    }
}

static void restore_compare(struct history_store *store, const struct history *history)
{
    struct rota *rota = NULL;
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE, .now = history->now};
    store_close(store->file);
    store->file = file_open(store->path);
    if (!store->file || rota_open(&history->config, &rota)) abort();
    event.restore.records = store_rows(store->file, &event.restore.count);
    if (rota_step(rota, &event))
        differ("the file cannot be restored: %s", rota_reason(rota));
    else if (rota_digest(rota) != rota_digest(history->rota))
        differ("the digest is another one");
    if (!*difference) rota_check(rota);
    rota_close(rota);
    store_rows_release(store->file);
}

void history_store_take(const struct history *history, const struct rota_effects *effects)
{
    struct history_store *store = history->store;
    store->turns++;
    put(store->memory, history, effects);
    put(store->file, history, effects);
    if (store->turns % RESTORES_EVERY == 2) promises_check(store);  // in the middle of a turn
    if (!store_commit(store->memory)) differ("out of memory");
    if (!store_commit(store->file)) differ("%s", store_error(store->file)->text);
    if (store->turns % 3 == 0) rows_compare(store);
    if (store->turns % RESTORES_EVERY == 0) restore_compare(store, history);
    if (store->turns % RESTORES_EVERY == 1) promises_check(store);
}

const struct rota_record *history_store_rows(struct history_store *store, uint32_t *count)
{
    rows_compare(store);
    return store_rows(store->file, count);
}
