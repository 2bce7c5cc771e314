// store.c - the functions of store.h, which call the functions of the kind of store.
#include "store/store_kind.h"

#include <stdarg.h>
#include <stdio.h>

void store_fail(struct store_error *error, enum store_fault fault, const char *format, ...)
{
    if (error->fault) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->fault = fault;
}

int store_exit_status(const struct store_error *error)
{
    if (error->fault == STORE_FINE) return 0;
    return error->fault <= STORE_IN_USE ? 2 : 70;
}

const struct store_error *store_error(const struct store *store)
{
    return &store->error;
}

struct store_options store_options_default(void)
{
    return (struct store_options){.ballast_bytes = 64u << 20, .wal_pages = 8192};
}

void store_close(struct store *store)
{
    if (store) store->kind->close(store);
}

void store_begin(struct store *store, rota_time now)
{
    store->kind->begin(store, now);
}

void store_define(struct store *store, const struct rota_job_spec *spec,
                  const struct store_text *texts)
{
    if (store->kind->define) store->kind->define(store, spec, texts);
}

void store_fired(struct store *store, rota_task_id task, rota_time minute)
{
    if (store->kind->fired) store->kind->fired(store, task, minute);
}

void store_answer(struct store *store, const struct store_request *request)
{
    if (store->kind->answer) store->kind->answer(store, request);
}

void store_audit(struct store *store, const char *line)
{
    if (store->kind->audit) store->kind->audit(store, line);
}

void store_put_attempt(struct store *store, const struct store_attempt *attempt)
{
    if (store->kind->attempt) store->kind->attempt(store, attempt);
}

void store_put_body(struct store *store, const struct store_body *body)
{
    if (store->kind->body) store->kind->body(store, body);
}

void store_put(struct store *store, const struct rota *rota, const struct rota_record *records,
               uint32_t count)
{
    if (!store->error.fault) store->kind->put(store, rota, records, count);
}

bool store_commit(struct store *store)
{
    return store->kind->commit(store);
}

uint64_t store_commit_write(struct store *store)
{
    const struct store_kind *kind = store->kind;
    return kind->commit_write ? kind->commit_write(store) : kind->commit(store);
}

bool store_sync_begin(struct store *store)
{
    return !store->kind->sync_begin || store->kind->sync_begin(store);
}

bool store_settle(struct store *store, uint64_t turn)
{
    return store->kind->settle ? store->kind->settle(store, turn) : !store->error.fault;
}

uint64_t store_settled(struct store *store)
{
    return store->kind->settled ? store->kind->settled(store) : UINT64_MAX;
}

int store_settled_event(struct store *store)
{
    return store->kind->settled_event ? store->kind->settled_event(store) : -1;
}

void store_foresee(struct store *store)
{
    if (store->kind->foresee) store->kind->foresee(store);
}

bool store_is_full(const struct store *store)
{
    return store->kind->is_full && store->kind->is_full(store);
}

bool store_check(struct store *store)
{
    return store->kind->check ? store->kind->check(store) : !store->error.fault;
}

const struct rota_record *store_rows(struct store *store, uint32_t *count)
{
    return store->kind->rows(store, count);
}

void store_rows_release(struct store *store)
{
    store->kind->rows_release(store);
}

bool store_text_find(struct store *store, rota_task_id task, struct store_text *text)
{
    return store->kind->text_find && store->kind->text_find(store, task, text);
}

rota_worker_id store_attempt_given(struct store *store, rota_task_id task, uint32_t attempt)
{
    if (!store->kind->attempt_given) return (rota_worker_id){0};
    return store->kind->attempt_given(store, task, attempt);
}

rota_worker_id store_attempt_worker(struct store *store, rota_task_id task, uint32_t *attempt)
{
    if (!store->kind->attempt_worker) return (rota_worker_id){0};
    return store->kind->attempt_worker(store, task, attempt);
}

bool store_bodies(struct store *store, rota_job_id job, store_body_fn *take, void *context)
{
    return store->kind->bodies && store->kind->bodies(store, job, take, context);
}

bool store_jobs_plain(struct store *store, store_job_fn *take, void *context)
{
    return store->kind->jobs_plain && store->kind->jobs_plain(store, take, context);
}

bool store_durations(struct store *store, store_took_fn *take, void *context)
{
    return store->kind->durations && store->kind->durations(store, take, context);
}

bool store_answer_find(struct store *store, struct store_request *request)
{
    return store->kind->answer_find && store->kind->answer_find(store, request);
}

uint64_t store_journal_last(const struct store *store)
{
    return store->kind->journal_last ? store->kind->journal_last(store) : 0;
}

bool store_journal(struct store *store, uint64_t first, uint64_t last, store_turn_fn *take,
                   void *context)
{
    return !store->kind->journal || store->kind->journal(store, first, last, take, context);
}

bool store_label_find(struct store *store, rota_task_id task, struct store_label *label)
{
    return store->kind->label_find && store->kind->label_find(store, task, label);
}
