// store_kind.h - the functions that a kind of store implements; store.c calls them for store.h.
#pragma once

#include "store/store.h"

struct catalog_name;
struct catalog_rows;

// The functions of store.h, with the same guarantees. A kind may leave some of them null.
struct store_kind {
    void (*close)(struct store *store);
    void (*begin)(struct store *store, rota_time now);
    void (*define)(struct store *store, const struct rota_job_spec *spec,
                   const struct store_text *texts);
    void (*fired)(struct store *store, rota_task_id task, rota_time minute);
    void (*answer)(struct store *store, const struct store_request *request);
    void (*audit)(struct store *store, const char *line);
    void (*attempt)(struct store *store, const struct store_attempt *attempt);
    void (*body)(struct store *store, const struct store_body *body);
    void (*put)(struct store *store, const struct rota *rota, const struct rota_record *records,
                uint32_t count);
    bool (*commit)(struct store *store);
    uint64_t (*commit_write)(struct store *store);
    bool (*sync_begin)(struct store *store);
    bool (*settle)(struct store *store, uint64_t turn);
    uint64_t (*settled)(struct store *store);
    int (*settled_event)(struct store *store);
    void (*foresee)(struct store *store);
    bool (*is_full)(const struct store *store);
    bool (*check)(struct store *store);
    const struct rota_record *(*rows)(struct store *store, uint32_t *count);
    void (*rows_release)(struct store *store);
    bool (*text_find)(struct store *store, rota_task_id task, struct store_text *text);
    rota_worker_id (*attempt_worker)(struct store *store, rota_task_id task, uint32_t *attempt);
    rota_worker_id (*attempt_given)(struct store *store, rota_task_id task, uint32_t attempt);
    bool (*bodies)(struct store *store, rota_job_id job, store_body_fn *take, void *context);
    bool (*jobs_plain)(struct store *store, store_job_fn *take, void *context);
    bool (*durations)(struct store *store, store_took_fn *take, void *context);
    bool (*answer_find)(struct store *store, struct store_request *request);
    uint64_t (*journal_last)(const struct store *store);
    bool (*journal)(struct store *store, uint64_t first, uint64_t last, store_turn_fn *take,
                    void *context);
    bool (*label_find)(struct store *store, rota_task_id task, struct store_label *label);
    void (*name)(struct store *store, const struct catalog_name *name);
    bool (*catalog)(struct store *store, struct catalog_rows *rows);  // `rows` is empty
};

// The first member of the struct of every kind.
struct store {
    const struct store_kind *kind;
    struct store_error error;
};

// Makes a deep copy of a submission, and frees it. Null: out of memory.
const struct rota_job_spec *store_spec_copy(const struct rota_job_spec *spec);
void store_spec_free(const struct rota_job_spec *spec);

// Stores the first error; later ones only follow from it.
void store_fail(struct store_error *error, enum store_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
