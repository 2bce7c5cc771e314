// store.c - keeps the rows that the core stores: the last write wins, removed rows go, specs are
// copied.
#include <stdlib.h>
#include <string.h>

#include "history.h"

struct history_store {
    struct rota_record *rows;
    uint32_t count, capacity;
};

struct history_store *history_store_open(void)
{
    return calloc(1, sizeof(struct history_store));
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size ? size : 1);
    if (!to) abort();
    if (size) memcpy(to, from, size);
    return to;
}

static struct rota_job_spec *spec_copy(const struct rota_job_spec *from)
{
    struct rota_job_spec *spec = copy(from, sizeof *from);
    spec->tasks = copy(from->tasks, from->task_count * sizeof *from->tasks);
    spec->edges = copy(from->edges, from->edge_count * sizeof *from->edges);
    spec->clauses = copy(from->clauses, from->clause_count * sizeof *from->clauses);
    spec->inputs = copy(from->inputs, from->input_count * sizeof *from->inputs);
    spec->outputs = copy(from->outputs, from->output_count * sizeof *from->outputs);
    return spec;
}

static void row_release(struct rota_record *row)
{
    if (row->kind != ROTA_RECORD_SUBMIT || !row->submit.spec) return;
    const struct rota_job_spec *spec = row->submit.spec;
    free((void *)spec->tasks);
    free((void *)spec->edges);
    free((void *)spec->clauses);
    free((void *)spec->inputs);
    free((void *)spec->outputs);
    free((void *)spec);
}

static bool same_key(const struct rota_record *a, const struct rota_record *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ROTA_RECORD_CORE: return true;
    case ROTA_RECORD_LANE: return a->lane.lane == b->lane.lane;
    case ROTA_RECORD_WORKER: return a->worker.id.number == b->worker.id.number;
    case ROTA_RECORD_JOB: return a->job.id.number == b->job.id.number;
    case ROTA_RECORD_SUBMIT:
        return a->submit.sequence == b->submit.sequence;
    case ROTA_RECORD_TASK: return model_same_task(a->task.id, b->task.id);
    case ROTA_RECORD_OBJECT: return model_same_object(a->object.id, b->object.id);
    case ROTA_RECORD_REPLICA:
        return model_same_object(a->replica.object, b->replica.object)
               && a->replica.worker.number == b->replica.worker.number;
    case ROTA_RECORD_WAIT:
        return a->wait.number == b->wait.number && a->wait.index == b->wait.index;
    }
    return false;
}

static bool belongs_to(const struct rota_record *row, uint32_t job)
{
    if (row->kind == ROTA_RECORD_SUBMIT) return row->submit.job.number == job;
    if (row->kind == ROTA_RECORD_OBJECT) return row->object.job.number == job;
    return row->kind == ROTA_RECORD_TASK && row->task.id.job == job;
}

static void row_delete(struct history_store *store, uint32_t index)
{
    row_release(&store->rows[index]);
    memmove(store->rows + index, store->rows + index + 1,
            (store->count - index - 1) * sizeof *store->rows);
    store->count--;
}

static void row_write(struct history_store *store, const struct rota_record *record)
{
    uint32_t at = 0;
    while (at < store->count && !same_key(&store->rows[at], record)) at++;
    if (record->gone) {
        if (at < store->count) row_delete(store, at);
        if (record->kind != ROTA_RECORD_JOB) return;
        for (uint32_t i = store->count; i-- > 0;) {
            if (belongs_to(&store->rows[i], record->job.id.number)) row_delete(store, i);
        }
        return;
    }
    if (at < store->count) {
        row_release(&store->rows[at]);
    } else {
        at = 0;
        while (at < store->count && store->rows[at].kind <= record->kind) at++;
        if (store->count == store->capacity) {
            store->capacity = store->capacity ? 2 * store->capacity : 64;
            store->rows = realloc(store->rows, store->capacity * sizeof *store->rows);
            if (!store->rows) abort();
        }
        memmove(store->rows + at + 1, store->rows + at, (store->count - at) * sizeof *store->rows);
        store->count++;
    }
    store->rows[at] = *record;
    if (record->kind == ROTA_RECORD_SUBMIT)
        store->rows[at].submit.spec = spec_copy(record->submit.spec);
}

void history_store_take(const struct history *history, const struct rota_effects *effects)
{
    for (uint32_t i = 0; i < effects->record_count; i++) {
        row_write(history->store, &effects->records[i]);
    }
}

const struct rota_record *history_store_rows(struct history_store *store, uint32_t *count)
{
    *count = store->count;
    return store->rows;
}

void history_store_close(struct history_store *store)
{
    if (!store) return;
    while (store->count) row_delete(store, store->count - 1);
    free(store->rows);
    free(store);
}
