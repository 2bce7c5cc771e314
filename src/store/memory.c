// memory.c - a store in memory: one hash table of rows, the last write wins.
#include "base/base.h"
#include "store/store_kind.h"

#include <stdlib.h>
#include <string.h>

// The kind is the first member, so that sorting by key also sorts by kind.
struct row_key {
    uint64_t part[4];
};

// The key is computed from the record: a table of small rows touches fewer pages.
struct row {
    struct rota_record record;  // a SUBMIT row owns its spec
    uint32_t hash;              // of its key
    uint32_t given_attempt;     // of a task: the last attempt that a worker got; 0: none
    rota_worker_id given_worker;
    bool used;  // false: a slot that was never used
    bool dead;  // deleted; the slot stays in use, so that later rows are found
};

struct memory_store {
    struct store store;
    struct row *slots;  // open addressing; slot_count is 0 or a power of two
    uint32_t slot_count, filled;
    struct map given;          // by attempt before the last: its worker, until its job is deleted
    struct rota_record *rows;  // the result of the last store_rows()
};

// ---- Keys ------------------------------------------------------------------

static struct row_key key_of(const struct rota_record *record)
{
    struct row_key key = {{(uint64_t)record->kind, 0, 0, 0}};
    uint64_t *id = key.part + 1;
    switch (record->kind) {
    case ROTA_RECORD_CORE: break;
    case ROTA_RECORD_LANE: id[0] = record->lane.lane; break;
    case ROTA_RECORD_WORKER: id[0] = record->worker.id.number; break;
    case ROTA_RECORD_JOB: id[0] = record->job.id.number; break;
    case ROTA_RECORD_SUBMIT:
        // An empty submission and the one after it share `first`.
        id[0] = record->submit.sequence;
        id[1] = record->submit.job.number;
        id[2] = record->submit.first;
        break;
    case ROTA_RECORD_TASK:
        id[0] = record->task.id.job;
        id[1] = record->task.id.task;
        break;
    case ROTA_RECORD_OBJECT:
        id[0] = record->object.id.high;
        id[1] = record->object.id.low;
        break;
    case ROTA_RECORD_REPLICA:
        id[0] = record->replica.object.high;
        id[1] = record->replica.object.low;
        id[2] = record->replica.worker.number;
        break;
    case ROTA_RECORD_WAIT:
        id[0] = record->wait.number;
        id[1] = record->wait.index;
        break;
    }
    return key;
}

static int key_compare(const struct row_key *left, const struct row_key *right)
{
    for (int i = 0; i < 4; i++) {
        if (left->part[i] < right->part[i]) return -1;
        if (left->part[i] > right->part[i]) return +1;
    }
    return 0;
}

static uint64_t key_hash(const struct row_key *key)
{
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ key->part[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

// ---- Copies of submissions -------------------------------------------------

void store_spec_free(const struct rota_job_spec *spec)
{
    if (!spec) return;
    free((void *)(uintptr_t)spec->tasks);
    free((void *)(uintptr_t)spec->edges);
    free((void *)(uintptr_t)spec->clauses);
    free((void *)(uintptr_t)spec->inputs);
    free((void *)(uintptr_t)spec->outputs);
    free((void *)(uintptr_t)spec);
}

static const void *array_copy(const void *array, uint32_t count, size_t size, bool *failed)
{
    if (!count || !array) return NULL;
    void *copy = malloc(count * size);
    if (copy)
        memcpy(copy, array, count * size);
    else
        *failed = true;
    return copy;
}

const struct rota_job_spec *store_spec_copy(const struct rota_job_spec *spec)
{
    struct rota_job_spec *copy = malloc(sizeof *copy);
    if (!copy) return NULL;
    bool failed = false;
    *copy = *spec;
    copy->tasks = array_copy(spec->tasks, spec->task_count, sizeof *spec->tasks, &failed);
    copy->edges = array_copy(spec->edges, spec->edge_count, sizeof *spec->edges, &failed);
    copy->clauses = array_copy(spec->clauses, spec->clause_count, sizeof *spec->clauses, &failed);
    copy->inputs = array_copy(spec->inputs, spec->input_count, sizeof *spec->inputs, &failed);
    copy->outputs = array_copy(spec->outputs, spec->output_count, sizeof *spec->outputs, &failed);
    if (!failed) return copy;
    store_spec_free(copy);
    return NULL;
}

// ---- Rows ------------------------------------------------------------------

// Returns the slot with the key of the record, or the free slot for it; and the hash of the key.
static struct row *slot_find(const struct memory_store *store, const struct rota_record *record,
                             uint32_t *hash)
{
    struct row_key key = key_of(record);
    uint32_t mask = store->slot_count - 1;
    *hash = (uint32_t)key_hash(&key);
    for (uint32_t at = *hash & mask;; at = (at + 1) & mask) {
        struct row *row = &store->slots[at];
        if (!row->used) return row;
        if (row->hash != *hash) continue;
        struct row_key other = key_of(&row->record);
        if (memcmp(&other, &key, sizeof key) == 0) return row;
    }
}

static void row_delete(struct row *row)
{
    if (!row->used || row->dead) return;
    if (row->record.kind == ROTA_RECORD_SUBMIT) {
        store_spec_free(row->record.submit.spec);
        row->record.submit.spec = NULL;
    }
    row->dead = true;
}

// Keeps the table at most half full; deleted rows are not copied.
static bool slots_reserve(struct memory_store *store)
{
    if ((uint64_t)store->filled * 2 + 2 <= store->slot_count) return true;
    struct memory_store grown = {.slot_count = 64};
    uint32_t alive = 0, hash;
    for (uint32_t i = 0; i < store->slot_count; i++) {
        alive += store->slots[i].used && !store->slots[i].dead;
    }
    while (grown.slot_count < (uint64_t)alive * 4 + 4) grown.slot_count *= 2;
    grown.slots = calloc(grown.slot_count, sizeof *grown.slots);
    if (!grown.slots) return false;
    for (uint32_t i = 0; i < store->slot_count; i++) {
        const struct row *row = &store->slots[i];
        if (!row->used || row->dead) continue;
        *slot_find(&grown, &row->record, &hash) = *row;
    }
    free(store->slots);
    store->slots = grown.slots;
    store->slot_count = grown.slot_count;
    store->filled = alive;
    return true;
}

static uint64_t attempt_key(rota_task_id task, uint32_t attempt)
{
    return hash_mix(hash_mix(task.job, task.task), attempt);
}

// Few tasks have a second attempt, so the row of a task has the worker of its last one. It is noted
// before the new record is written.
static bool given_note(struct memory_store *store, struct row *row,
                       const struct rota_record *record)
{
    if (!row->used || row->dead) row->given_attempt = 0;
    if (record->kind != ROTA_RECORD_TASK || !record->task.worker.number) return true;
    if (row->given_attempt && row->given_attempt != record->task.attempt) {
        if (!map_reserve(&memory_heap, &store->given, 1)) return false;
        uint64_t key = attempt_key(record->task.id, row->given_attempt);
        *map_place(&store->given, key) = row->given_worker.number;
    }
    row->given_attempt = record->task.attempt;
    row->given_worker = record->task.worker;
    return true;
}

static void given_forget(struct memory_store *store, const struct rota_record *task)
{
    for (uint32_t attempt = 1; store->given.count && attempt <= task->task.attempt; attempt++)
        map_remove(&store->given, attempt_key(task->task.id, attempt));
}

// Whether a row is deleted together with this owner.
static bool row_belongs(const struct rota_record *row, const struct rota_record *owner)
{
    if (owner->kind == ROTA_RECORD_JOB) {
        uint32_t job = owner->job.id.number;
        if (row->kind == ROTA_RECORD_SUBMIT) return row->submit.job.number == job;
        if (row->kind == ROTA_RECORD_OBJECT) return row->object.job.number == job;
        return row->kind == ROTA_RECORD_TASK && row->task.id.job == job;
    }
    if (owner->kind != ROTA_RECORD_OBJECT || row->kind != ROTA_RECORD_REPLICA) return false;
    rota_object_id object = row->replica.object;
    return SAME_ID(object, owner->object.id);
}

static void record_delete(struct memory_store *store, const struct rota_record *record)
{
    if (!store->slot_count) return;
    uint32_t hash;
    row_delete(slot_find(store, record, &hash));
    if (record->kind != ROTA_RECORD_JOB && record->kind != ROTA_RECORD_OBJECT) return;
    for (uint32_t i = 0; i < store->slot_count; i++) {
        struct row *row = &store->slots[i];
        if (!row_belongs(&row->record, record)) continue;
        if (row->record.kind == ROTA_RECORD_TASK && !row->dead) given_forget(store, &row->record);
        row_delete(row);
    }
}

static bool record_write(struct memory_store *store, const struct rota_record *record)
{
    if (!slots_reserve(store)) return false;
    uint32_t hash;
    struct row *row = slot_find(store, record, &hash);
    const struct rota_job_spec *spec = NULL;
    if (record->kind == ROTA_RECORD_SUBMIT) {
        spec = store_spec_copy(record->submit.spec);
        if (!spec) return false;
    }
    if (!given_note(store, row, record)) return false;
    if (!row->used) store->filled++;
    row_delete(row);
    row->record = *record;
    if (spec) row->record.submit.spec = spec;
    row->hash = hash;
    row->used = true;
    row->dead = false;
    return true;
}

// Workers are sorted by the time they joined, all others by key.
static struct row_key order_of(const struct rota_record *record)
{
    struct row_key key = key_of(record);
    if (record->kind != ROTA_RECORD_WORKER) return key;
    key.part[2] = key.part[1];
    key.part[1] = record->worker.order;
    return key;
}

static int row_compare(const void *left, const void *right)
{
    struct row_key left_key = order_of(left), right_key = order_of(right);
    return key_compare(&left_key, &right_key);
}

// ---- The functions of store.h ----------------------------------------------

static void memory_close(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    for (uint32_t i = 0; i < store->slot_count; i++) row_delete(&store->slots[i]);
    map_release(&memory_heap, &store->given);
    free(store->slots);
    free(store->rows);
    free(store);
}

static void memory_begin(struct store *base, rota_time now)
{
    (void)base, (void)now;
}

static void memory_put(struct store *base, const struct rota *rota,
                       const struct rota_record *records, uint32_t count)
{
    (void)rota;
    struct memory_store *store = (struct memory_store *)base;
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].gone) {
            record_delete(store, &records[i]);
        } else if (!record_write(store, &records[i])) {
            store_fail(&base->error, STORE_NO_MEMORY, "out of memory for the changes");
            return;
        }
    }
}

static bool memory_commit(struct store *base)
{
    return !base->error.fault;
}

static const struct rota_record *memory_rows(struct store *base, uint32_t *count)
{
    struct memory_store *store = (struct memory_store *)base;
    *count = 0;
    if (!store->filled) return NULL;
    struct rota_record *rows = realloc(store->rows, store->filled * sizeof *rows);
    if (!rows) return NULL;
    store->rows = rows;
    for (uint32_t i = 0; i < store->slot_count; i++) {
        const struct row *row = &store->slots[i];
        if (row->used && !row->dead) rows[(*count)++] = row->record;
    }
    qsort(rows, *count, sizeof *rows, row_compare);
    return rows;
}

static void memory_rows_release(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    free(store->rows);
    store->rows = NULL;
}

static rota_worker_id memory_attempt_given(struct store *base, rota_task_id task, uint32_t attempt)
{
    const struct memory_store *store = (const struct memory_store *)base;
    struct rota_record record = {.kind = ROTA_RECORD_TASK, .task = {.id = task}};
    uint32_t hash;
    const struct row *row = store->slot_count ? slot_find(store, &record, &hash) : NULL;
    if (!row || !row->used || row->dead) return (rota_worker_id){0};
    if (row->given_attempt == attempt) return row->given_worker;
    return (rota_worker_id){map_find(&store->given, attempt_key(task, attempt))};
}

static const struct store_kind memory_kind = {
    .close = memory_close,
    .begin = memory_begin,
    .put = memory_put,
    .commit = memory_commit,
    .rows = memory_rows,
    .rows_release = memory_rows_release,
    .attempt_given = memory_attempt_given,
};

struct store *store_open_memory(void)
{
    struct memory_store *store = calloc(1, sizeof *store);
    if (!store) return NULL;
    store->store.kind = &memory_kind;
    return &store->store;
}
