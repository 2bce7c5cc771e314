// load.c - reads all rows as records, and fills the index of tasks.
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 18 };

// Memory of the submissions, freed all at once.
struct block {
    struct block *next;
    size_t used, size;
};

// ---- The result -----------------------------------------------------------------------

void loaded_close(struct loaded *loaded)
{
    if (!loaded) return;
    for (struct block *block = loaded->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(loaded->records);
    free(loaded);
}

void *loaded_copy(struct loaded *loaded, const void *from, size_t size)
{
    size_t whole = (size + 15) & ~(size_t)15;
    struct block *block = loaded->blocks;
    if (!block || block->size - block->used < whole) {
        size_t room = whole > BLOCK ? whole : BLOCK;
        block = malloc(sizeof *block + 16 + room);
        if (!block) return NULL;
        *block = (struct block){loaded->blocks, 0, room};
        loaded->blocks = block;
    }
    char *start = (char *)(((uintptr_t)(block + 1) + 15) & ~(uintptr_t)15);
    void *to = start + block->used;
    if (size) memcpy(to, from, size);
    block->used += whole;
    return to;
}

// Null: out of memory.
struct rota_record *loaded_add(struct loaded *loaded, enum rota_record_kind kind)
{
    if (!ARRAY_MORE_RAW(&memory_heap, loaded->records, loaded->count, loaded->capacity))
        return NULL;
    struct rota_record *record = &loaded->records[loaded->count++];
    memset(record, 0, sizeof *record);
    record->kind = kind;
    return record;
}

// ---- Statements ---------------------------------------------------------------------------

bool load_fail(struct sqlite_store *store, const char *table, int64_t id, const char *what)
{
    rota_task_id task = row_task(id);
    store_fail(&store->store.error, STORE_BROKEN, "%s: %s: task %u.%u %s", store->path, table,
               task.job, task.task, what);
    return false;
}

bool load_no_memory(struct sqlite_store *store)
{
    store_fail(&store->store.error, STORE_NO_MEMORY, "%s: out of memory for its rows", store->path);
    return false;
}

sqlite3_stmt *load_prepare(struct sqlite_store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (result) fail_with(store, result, "cannot be read");
    return statement;
}

bool load_end(struct sqlite_store *store, sqlite3_stmt *statement, int result)
{
    if (result != SQLITE_DONE && result != SQLITE_ROW) fail_with(store, result, "cannot be read");
    sqlite3_finalize(statement);
    return !store->store.error.fault;
}

static uint32_t small(sqlite3_stmt *statement, int column)
{
    return (uint32_t)sqlite3_column_int64(statement, column);
}

static uint64_t large(sqlite3_stmt *statement, int column)
{
    return (uint64_t)sqlite3_column_int64(statement, column);
}

static bool object_at(sqlite3_stmt *statement, int column, rota_object_id *id)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return !text || (text_read_object(&text, id) && !*text);
}

static bool word_at(sqlite3_stmt *statement, int column, struct words words, uint32_t *number)
{
    return word_find(words, (const char *)sqlite3_column_text(statement, column), number);
}

// ---- The small tables ------------------------------------------------------------------------

// False: the row is invalid.
typedef bool read_fn(sqlite3_stmt *row, struct rota_record *record);

static bool read_core(sqlite3_stmt *row, struct rota_record *record)
{
    record->core.sequence = large(row, 0);
    record->core.turn = large(row, 1);
    record->core.random = large(row, 2);
    record->core.plans = large(row, 3);
    record->core.plan_end = (rota_time)large(row, 4);
    record->core.plan_took = (rota_time)large(row, 5);
    record->core.jobs = small(row, 6);
    record->core.waits = small(row, 7);
    record->core.plan_due = small(row, 8);
    return true;
}

static bool read_lane(sqlite3_stmt *row, struct rota_record *record)
{
    record->lane.lane = small(row, 0);
    record->lane.flags = small(row, 1);
    record->lane.patience = (rota_time)large(row, 2);
    return true;
}

static bool read_worker(sqlite3_stmt *row, struct rota_record *record)
{
    record->worker.id.number = small(row, 0);
    record->worker.cores = small(row, 1);
    record->worker.memory_mib = small(row, 2);
    record->worker.slots = (uint32_t)large(row, 3);
    record->worker.paused = large(row, 3) >> 32 & 1;
    record->worker.leaves = large(row, 3) >> 33 & 1;
    record->worker.machine = small(row, 4);
    record->worker.asks = small(row, 5);
    record->worker.order = small(row, 6);
    record->worker.silent_since = (rota_time)large(row, 7);
    return true;
}

static bool read_job(sqlite3_stmt *row, struct rota_record *record)
{
    uint32_t state, policy, on_failure;
    bool fine = word_at(row, 1, words_job_state, &state) && word_at(row, 2, words_policy, &policy)
                && word_at(row, 3, words_on_failure, &on_failure);
    if (!fine) return false;
    record->job.id.number = small(row, 0);
    record->job.state = (enum rota_job_state)state;
    record->job.policy = (enum rota_policy)policy;
    record->job.on_failure = (enum rota_on_failure)on_failure;
    record->job.client = large(row, 4);
    record->job.key = large(row, 5);
    record->job.failed_task = (uint32_t)large(row, 6);
    record->job.paused = large(row, 6) >> 32 & 1;
    return true;
}

static bool read_object(sqlite3_stmt *row, struct rota_record *record)
{
    record->object.job.number = small(row, 1);
    record->object.flags = small(row, 2);
    record->object.bytes = large(row, 3);
    const char *content = (const char *)sqlite3_column_text(row, 4);
    if (content && !content_read(content, &record->object.content)) return false;
    return object_at(row, 0, &record->object.id);
}

static bool read_replica(sqlite3_stmt *row, struct rota_record *record)
{
    record->replica.worker.number = small(row, 1);
    record->replica.flags = small(row, 2);
    record->replica.bytes = large(row, 3);
    return object_at(row, 0, &record->replica.object);
}

static bool read_wait(sqlite3_stmt *row, struct rota_record *record)
{
    record->wait.number = small(row, 0);
    record->wait.index = small(row, 1);
    record->wait.client = large(row, 2);
    record->wait.task = row_task((int64_t)large(row, 3));
    return object_at(row, 4, &record->wait.object)
           && word_at(row, 5, words_wait_mode, &record->wait.mode);
}

static bool load_table(struct sqlite_store *store, struct loaded *loaded, const char *sql,
                       enum rota_record_kind kind, read_fn *read)
{
    sqlite3_stmt *row = load_prepare(store, sql);
    if (!row) return false;
    int result;
    while ((result = sqlite3_step(row)) == SQLITE_ROW) {
        struct rota_record *record = loaded_add(loaded, kind);
        if (!record)
            load_no_memory(store);
        else if (!read(row, record)) {
            store_fail(&store->store.error, STORE_BROKEN, "%s: invalid row in the result of \"%s\"",
                       store->path, sql);
        }
        if (store->store.error.fault) break;
    }
    return load_end(store, row, result);
}

// ---- Tasks --------------------------------------------------------------------------------------

// Reads the columns of the state from `place` on, and the worker or handler that has the task.
bool load_state(sqlite3_stmt *row, int place, struct rota_record *record)
{
    uint32_t state, outcome;
    if (!word_at(row, place, words_state, &state)) return false;
    if (!word_at(row, place + 3, words_outcome, &outcome)) return false;
    record->task.state = (uint8_t)state;
    record->task.attempt = small(row, place + 1);
    record->task.tries = (uint16_t)small(row, place + 2);
    record->task.outcome = (uint8_t)outcome;
    record->task.status = (int32_t)small(row, place + 4);
    record->task.flags = (uint8_t)small(row, place + 5);
    record->task.phase = (uint8_t)small(row, place + 6);
    record->task.asked = large(row, place + 7);
    record->task.since = (rota_time)large(row, place + 8);
    bool out = state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING;
    if (!out || sqlite3_column_type(row, place + 9) == SQLITE_NULL) return true;
    record->task.worker.number = small(row, place + 9);
    record->task.handler = large(row, place + 10);
    record->task.run_as = row_task((int64_t)large(row, place + 11));
    return true;
}

// ---- Order -------------------------------------------------------------------------------------

static int compare(uint64_t left, uint64_t right)
{
    return left < right ? -1 : left > right;
}

static int object_compare(rota_object_id left, rota_object_id right)
{
    int high = compare(left.high, right.high);
    return high ? high : compare(left.low, right.low);
}

// Compares two records of one kind by id, not by the text of the id.
static int record_compare(const void *one, const void *other)
{
    const struct rota_record *left = one, *right = other;
    if (left->kind == ROTA_RECORD_TASK) {
        return compare((uint64_t)row_id(left->task.id), (uint64_t)row_id(right->task.id));
    }
    if (left->kind == ROTA_RECORD_OBJECT) return object_compare(left->object.id, right->object.id);
    int object = object_compare(left->replica.object, right->replica.object);
    return object ? object : compare(left->replica.worker.number, right->replica.worker.number);
}

static void order(struct loaded *loaded, uint32_t first)
{
    struct rota_record *records = loaded->records;
    for (uint32_t i = first + 1; i < loaded->count; i++) {
        if (record_compare(&records[i - 1], &records[i]) <= 0) continue;
        qsort(records + first, loaded->count - first, sizeof *records, record_compare);
        return;
    }
}

// ---- All tables --------------------------------------------------------------------------------

static bool load_tasks(struct sqlite_store *store, struct loaded *loaded)
{
    uint32_t first = loaded->count;
    bool fine = load_submits(store, loaded, &first);
    if (fine) order(loaded, first);
    return fine;
}

static bool load_objects(struct sqlite_store *store, struct loaded *loaded)
{
    uint32_t first = loaded->count;
    bool fine
        = load_table(store, loaded, "SELECT * FROM sched_object", ROTA_RECORD_OBJECT, read_object);
    if (fine) order(loaded, first);
    first = loaded->count;
    fine = fine
           && load_table(store, loaded, "SELECT * FROM sched_replica", ROTA_RECORD_REPLICA,
                         read_replica);
    if (fine) order(loaded, first);
    return fine;
}

static bool load_tables(struct sqlite_store *store, struct loaded *loaded)
{
    return load_table(store, loaded, "SELECT * FROM sched_core", ROTA_RECORD_CORE, read_core)
           && load_table(store, loaded, "SELECT * FROM sched_lane ORDER BY lane", ROTA_RECORD_LANE,
                         read_lane)
           && load_table(store, loaded, "SELECT * FROM sched_worker ORDER BY joined, worker",
                         ROTA_RECORD_WORKER, read_worker)
           && load_table(store, loaded, "SELECT * FROM sched_graph ORDER BY job", ROTA_RECORD_JOB,
                         read_job)
           && load_tasks(store, loaded) && load_objects(store, loaded)
           && load_table(store, loaded, "SELECT * FROM sched_wait_for ORDER BY wait, place",
                         ROTA_RECORD_WAIT, read_wait);
}

// In one transaction: one snapshot, one lock.
static bool load_all(struct sqlite_store *store, struct loaded *loaded)
{
    bool alone = sqlite3_get_autocommit(store->db);
    if (alone) sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
    bool fine = load_tables(store, loaded);
    int result = sqlite3_extended_errcode(store->db);
    if (alone) sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (!fine) fail_with(store, result, "cannot be read");
    return fine;
}

struct loaded *loaded_open(struct sqlite_store *store)
{
    struct loaded *loaded = calloc(1, sizeof *loaded);
    bool fine = loaded ? true : load_no_memory(store);
    if (fine && !store->is_new) fine = load_all(store, loaded);
    store->index_is_loaded = fine;
    store->core = fine && loaded->count && loaded->records[0].kind == ROTA_RECORD_CORE
                      ? loaded->records[0]
                      : (struct rota_record){0};
    if (fine) return loaded;
    // A failure must never look like an empty file.
    fail_with(store, sqlite3_extended_errcode(store->db), "cannot be read");
    loaded_close(loaded);
    return NULL;
}
