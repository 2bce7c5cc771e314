// sqlite.h - the SQLite store; only its own files include this.
#pragma once

#include "base/base.h"
#include "store/sqlite/damage_text.h"
#include "store/sqlite/file_check.h"
#include "store/sqlite/file_watch.h"
#include "store/store_kind.h"
#include "store/line_buffer.h"
#include "store/log/log.h"
#include "store/sqlite/task_index.h"

#include <sqlite3.h>
#include <stdio.h>

// ---- schema.c: the tables ---------------------------------------------------

// In the header of the file: "rota", and the schema version. Other versions are refused.
enum { SCHEMA_APPLICATION = 0x726f7461, SCHEMA_VERSION = 1 };

// Small pages: a turn with few tasks changes a row or two in seven tables, and logs whole pages.
#define SCHEMA_PAGES "PRAGMA page_size = 2048"

int schema_create(sqlite3 *db);  // in an empty database, in one transaction
void schema_refuse(struct store_error *error, const char *path, int64_t version);  // sqlite.c
// A new database as a file image, made at build time.
extern const unsigned char schema_image[];
extern const size_t schema_image_size;

// ---- put_submit.c: the edges, inputs and outputs of a submission, by task ------------

// Items of one kind, sorted by the task they belong to; the sort is stable.
struct by_task {
    uint32_t *item;   // indexes into the submission's array
    uint32_t *first;  // by task: its first item; one more entry than tasks
    uint32_t item_capacity, first_capacity;
    bool sorted;  // the input was already sorted
};
void by_task_release(struct by_task *by_task);

// ---- statements.c: prepared at their first use -------------------------------------------

enum statement {
    DO_BEGIN,
    DO_COMMIT,
    PUT_LANE,
    PUT_WORKER,
    PUT_GRAPH,
    PUT_SUBMIT,
    PUT_TASK,
    PUT_CALENDAR,
    PUT_OBJECT,
    PUT_REPLICA,
    PUT_WAIT_FOR,
    PUT_BODY,
    PUT_REQUEST,
    PUT_REFUSAL,
    PUT_AUDIT,
    PUT_EVENT,
    PUT_BUNDLE,
    PUT_STATE,
    PUT_OUT,
    PUT_RUN,
    SET_STATE,
    SET_OUT,
    SET_EXEC,
    SET_ENDS,
    SET_ENDS_REPORTED,
    SET_REPORTED,
    SET_REPORTED_RUN,
    SET_CLOSING,
    SET_CLOSED,
    SET_CLOSED_TASK,
    SET_FIRED,
    DROP_LANE,
    DROP_WORKER,
    DROP_GRAPH,
    DROP_SUBMITS,
    DROP_BODIES,
    DROP_OBJECT,
    DROP_OBJECTS,
    DROP_REPLICA,
    DROP_REPLICAS,
    DROP_WAIT_FOR,
    DROP_BUNDLE,
    GET_TEXT,
    GET_WORKER,
    GET_LABEL,
    DROP_REFUSALS,
    GET_REQUEST,
    STATEMENTS
};

// ---- The store ------------------------------------------------------------------

// Records of a turn that are kept for a second try when the disk is full; a larger turn gets none.
enum { KEPT_MAX = 1 << 16 };

struct definition {
    const struct rota_job_spec *spec;
    const struct store_text *texts;
};
struct firing {
    rota_task_id task;
    rota_time minute;
};

// Consecutive tasks with equal old and equal new states: one statement changes their rows.
struct run {
    rota_task_id first;
    uint32_t count;  // 0: empty
    struct spot from;
    enum place to;
    struct rota_record record;  // of the first task
};

// The report that report() returns next.
struct telling {
    uint32_t attempt;
    int64_t id;                          // the last row it returned; 0: none
    const struct store_attempt *report;  // of that row; null: none
};

// Texts of one row at a time; the row of a submission uses them for other texts than a task's row.
enum { LINE_CONDITION, LINE_NEEDS, LINE_INPUTS, LINE_OUTPUTS, LINE_NAME, LINE_LANE, LINES };

struct sqlite_store {
    struct store store;
    struct store_options options;
    char *path;
    sqlite3 *db;
    struct batch batch;
    sqlite3_stmt *statement[STATEMENTS];
    int lock_file;
    struct file_identity files[FILE_KINDS];
    struct database_seen seen;
    int64_t page_size, index_size;  // the index: the largest size so far
    bool is_lost;  // a file was deleted, replaced or overwritten
    int64_t busy_since;  // milliseconds: since when another program has locked the database
    bool busy_is_told, unreachable_is_told, has_committed;  // this process has committed a turn
    bool full;      // the ballast was removed
    bool begun;     // a transaction is open
    bool known;       // unchanged since the last server closed it
    bool is_new;      // created by us, and still empty
    bool is_used;     // the lock file says that a turn was recorded
    bool is_set;      // sqlite_set() was called
    bool settled_in;  // the ballast and the space in the log exist
    uint32_t turns;   // number of turns before that
    rota_time first;  // time of the first turn
    int result;     // of SQLite: the first error in this turn
    int wal_pages;  // after the last commit
    rota_time now;
    uint64_t sequence;  // of the last row in sched_event
    uint64_t ends, ends_written;  // number of ended attempts, with and without this turn

    struct task_index task_index;
    bool index_is_loaded;     // `places` has the tasks of the file
    struct run run;           // the last records of tasks, not written yet
    struct rota_record core;  // the last core record; kind 0: none so far

    const struct rota *rota;  // of the turn, for a second try
    struct rota_record *kept;
    struct definition *definitions;
    struct store_request *requests;
    struct firing *firings;
    struct store_attempt *attempts;
    struct store_body *bodies;
    struct note *notes;  // rows without a record
    struct map reports;  // the task of each attempt: its index in attempts, plus 1
    struct telling telling;
    uint32_t kept_count, kept_capacity, definition_count, definition_capacity, definition_at;
    uint32_t request_count, request_capacity, firing_count, firing_capacity;
    uint32_t note_count, note_capacity;
    uint32_t attempt_count, attempt_capacity, body_count, body_capacity;
    bool too_many;  // more records than KEPT_MAX

    struct line lines[LINES], events, audits;
    bool has_audit;  // the audit table exists
    char object[40];  // the text of the object id that is bound
    struct by_task edges, inputs, outputs;
    struct loaded *loaded;  // the last result of store_rows()
};

// ---- statements.c ------------------------------------------------------------------
sqlite3_stmt *statement_get(struct sqlite_store *store, enum statement which);  // null: failed
void statements_finalize(struct sqlite_store *store);
// 0 is bound as 0, not NULL: the database needs no byte for it.
void bind_number(sqlite3_stmt *statement, int place, int64_t number);
void bind_text(sqlite3_stmt *statement, int place, const char *text);         // null: NULL
void bind_line(sqlite3_stmt *statement, int place, const struct line *line);  // empty: NULL
// Binds the id of an object; no object is NULL. A statement has at most one of them.
void bind_object(struct sqlite_store *store, enum statement which, int place, rota_object_id id);
void statement_run(struct sqlite_store *store, enum statement which);
void statement_run_on(struct sqlite_store *store, enum statement which, int64_t key);
void turn_fail(struct sqlite_store *store, int result);
int64_t row_id(rota_task_id task);
rota_task_id row_task(int64_t id);

// ---- put.c, put_task.c, put_submit.c: records become rows ---------------------------------

void put_record(struct sqlite_store *store, const struct rota *rota,
                const struct rota_record *record);
void put_task(struct sqlite_store *store, const struct rota_record *record);
void put_run(struct sqlite_store *store);    // writes the collected records of put_task()
void put_attempts(struct sqlite_store *store);  // reports of other attempts
void put_job_gone(struct sqlite_store *store, uint32_t job);
void put_submit(struct sqlite_store *store, const struct rota *rota,
                const struct rota_record *record);

// ---- attempt_columns.c: reports of workers, until they are in a row -----------------------------

int attempt_columns_open(struct sqlite_store *store);  // makes report() available to statements
void attempt_columns_note(struct sqlite_store *store, uint32_t at);
// Report() returns these attempts.
void attempt_columns_choose(struct sqlite_store *store, uint32_t attempt);
// Whether the first task has a report of this attempt, and for how many consecutive tasks the
// answer is the same.
bool attempt_columns_alike(const struct sqlite_store *store, rota_task_id first, uint32_t count,
                           uint32_t attempt, uint32_t *alike);
void attempt_columns_forget(struct sqlite_store *store, rota_task_id first, uint32_t count);
void attempt_columns_clear(struct sqlite_store *store);
void attempt_columns_release(struct sqlite_store *store);

// ---- transaction.c: begin, put, commit ----------------------------------------------------------

void turn_release(struct sqlite_store *store);
void turn_begin(struct store *store, rota_time now);
void turn_define(struct store *store, const struct rota_job_spec *spec,
                 const struct store_text *texts);
void turn_fired(struct store *store, rota_task_id task, rota_time minute);
void turn_answer(struct store *store, const struct store_request *request);
void turn_audit(struct store *store, const char *line);
void put_audits(struct sqlite_store *store);
void turn_attempt(struct store *store, const struct store_attempt *attempt);
void turn_body(struct store *store, const struct store_body *body);
void turn_put(struct store *store, const struct rota *rota, const struct rota_record *records,
              uint32_t count);
bool turn_commit(struct store *store);
void turn_settle_in(struct sqlite_store *store);
uint64_t turn_commit_write(struct store *store);
void turn_foresee(struct store *store);
bool commit_sync_begin(struct store *store);
bool commit_settle(struct store *store, uint64_t turn);
uint64_t commit_settled(struct store *store);
int commit_settled_event(struct store *store);
void fail_with(struct sqlite_store *store, int result, const char *doing);
void put_notes(struct sqlite_store *store);  // definition_rows.c

// ---- load.c, load_submit.c: rows become records --------------------------------------------

struct loaded {
    struct rota_record *records;
    uint32_t count, capacity;
    struct block *blocks;  // memory of the records
};

struct loaded *loaded_open(struct sqlite_store *store);  // null: the error says why
void loaded_close(struct loaded *loaded);
struct rota_record *loaded_add(struct loaded *loaded, enum rota_record_kind kind);
void *loaded_copy(struct loaded *loaded, const void *from, size_t size);  // null: out of memory
bool load_submits(struct sqlite_store *store, struct loaded *loaded, uint32_t *first);
bool load_state(sqlite3_stmt *row, int place, struct rota_record *record);
bool load_fail(struct sqlite_store *store, const char *table, int64_t id, const char *what);
bool load_no_memory(struct sqlite_store *store);
sqlite3_stmt *load_prepare(struct sqlite_store *store, const char *sql);
bool load_end(struct sqlite_store *store, sqlite3_stmt *statement, int result);

// ---- sqlite.c: shared by the store and by read-only connections -------------------------------

// A store without a connection yet. Null: the error is set.
struct sqlite_store *sqlite_allocate(const struct store_kind *kind, const char *path,
                                     struct store_error *error);
void sqlite_close(struct store *store);
// Sets the cache size and when to sync. SQLite then reads the whole schema, which takes as long as
// all the rest of opening a file: so a brief store with a new file does this in its first turn.
void sqlite_set(struct sqlite_store *store);
const struct rota_record *sqlite_rows(struct store *store, uint32_t *count);
void sqlite_rows_release(struct store *store);
void sqlite_name(struct store *store, const struct catalog_name *name);
bool sqlite_catalog(struct store *store, struct catalog_rows *rows);
bool sqlite_text_find(struct store *store, rota_task_id task, struct store_text *text);
bool sqlite_answer_find(struct store *store, struct store_request *request);

extern const sqlite3_mem_methods small_alloc_methods;  // small_alloc.c: the allocator of SQLite

// journal.c: all changes, one row per turn
uint64_t sqlite_journal_last(const struct store *store);
bool sqlite_journal(struct store *store, uint64_t first, uint64_t last, store_turn_fn *, void *);
bool sqlite_label_find(struct store *store, rota_task_id task, struct store_label *label);

// ---- lock_wait.c: another program has locked the database --------------------------------------

enum { STORE_BUSY_MS = 5000 };
int busy_wait(void *store, int count);  // for sqlite3_busy_handler()

// ---- clean_note.c: whether the files are unchanged since the last process closed them -----------

void clean_note_write(const struct sqlite_store *store);  // when the files are closed
int64_t clean_bytes(const struct sqlite_store *store);  // size of the database then; 0: unknown
bool clean_note_is_valid(const struct sqlite_store *store);  // no process has changed them since
