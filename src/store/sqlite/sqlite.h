// sqlite.h - the store in a file; included by its parts only.
#pragma once

#include "base/base.h"
#include "store/sqlite/file_watch.h"
#include "store/sqlite/file_check.h"
#include "store/store_kind.h"
#include "store/line_buffer.h"
#include "store/log/log.h"
#include "store/sqlite/task_index.h"

#include <sqlite3.h>
#include <stdio.h>

// ---- schema.c: the tables ---------------------------------------------------

// In the header of the file: "rota", and the version of the tables. Other versions are refused.
enum { SCHEMA_APPLICATION = 0x726f7461, SCHEMA_VERSION = 1 };

// Small pages: a turn of few tasks changes a row or two in seven tables, and logs whole pages.
#define SCHEMA_PAGES "PRAGMA page_size = 2048"

int schema_create(sqlite3 *db);  // in an empty database, in one transaction
void schema_refuse(struct store_error *error, const char *path, int64_t version);  // sqlite.c
// A new database as a file has it, made while building.
extern const unsigned char schema_image[];
extern const size_t schema_image_size;

// ---- store/by_task.c: the edges, inputs and outputs of a submission, task by task ----

// Items of one kind, ordered by the task they belong to; equal ones as they came.
struct groups {
    uint32_t *item;   // indexes into the submission's array
    uint32_t *first;  // by task: where its items begin; one more than there are tasks
    uint32_t item_capacity, first_capacity;
    bool sorted;  // they came in this order
};

// owner(spec, i) is 0 for items of no task, else the index of the task plus 1.
typedef uint32_t group_owner_fn(const struct rota_job_spec *spec, uint32_t first, uint32_t item);
bool groups_build(struct groups *groups, const struct rota_job_spec *spec, uint32_t first,
                  uint32_t count, group_owner_fn *owner);
void groups_release(struct groups *groups);

// ---- statements.c: prepared when first said -----------------------------------------------

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
    SET_ENDS_SAID,
    SET_SAID,
    SET_SAID_RUN,
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

// Records of a turn that are kept for a second try; a larger turn has none.
enum { KEPT_MAX = 1 << 16 };

struct definition {
    const struct rota_job_spec *spec;
    const struct store_text *texts;
};
struct firing {
    rota_task_id task;
    rota_time minute;
};

// Neighbours that came from one place and became alike: their rows change together.
struct run {
    rota_task_id first;
    uint32_t count;  // 0: no run of rows
    struct spot from;
    enum place to;
    struct rota_record record;  // of the first
};

// The next report for said().
struct telling {
    uint32_t attempt;
    int64_t id;                        // the row it told of last; 0: none
    const struct store_attempt *said;  // of that row; null: nothing
};

// Texts of one row at a time; the row of a submission uses them for other texts than a task's.
enum { LINE_CONDITION, LINE_NEEDS, LINE_INPUTS, LINE_OUTPUTS, LINE_NAME, LINE_LANE, LINES };

struct sqlite_store {
    struct store store;
    struct store_options options;
    char *path;
    sqlite3 *db;
    struct gather gather;
    sqlite3_stmt *statement[STATEMENTS];
    int lock_file;
    struct file_identity files[FILE_KINDS];
    struct database_seen seen;
    int64_t index_size;  // the largest it ever had
    int64_t page_size;
    bool is_lost;  // one of them was deleted, replaced or overwritten
    int64_t busy_since;  // milliseconds: another program has locked the database
    bool busy_is_told;
    bool full;      // the ballast is thrown off
    bool begun;     // a transaction is open
    bool known;       // found as the last server left it
    bool is_new;      // made by us, and nothing was put in it so far
    bool is_set;      // as sqlite_set() does
    bool settled_in;  // the ballast and room in the log are there
    uint32_t turns;   // until then
    rota_time first;  // of them
    int result;     // of SQLite: the first in this turn that was no success
    int wal_pages;  // as of the last commit
    rota_time now;
    uint64_t sequence;  // of the last row in sched_event
    uint64_t ends, ends_written;  // attempts that ended, with and without those of this turn

    struct places places;
    bool placed;              // the places are those of the file
    struct run run;           // the records of tasks that came last, not written yet
    struct rota_record core;  // the last record of its kind; kind 0: no such record so far

    const struct rota *rota;  // of the turn, for a second try
    struct rota_record *kept;
    struct definition *definitions;
    struct store_request *requests;
    struct firing *firings;
    struct store_attempt *attempts;
    struct store_body *bodies;
    struct note *notes;  // what no record asks for
    struct map said;  // the task of each attempt: its place in attempts, plus 1
    struct telling telling;
    uint32_t kept_count, kept_capacity, definition_count, definition_capacity, definition_at;
    uint32_t request_count, request_capacity, firing_count, firing_capacity;
    uint32_t note_count, note_capacity;
    uint32_t attempt_count, attempt_capacity, body_count, body_capacity;
    bool too_many;  // more records than are kept

    struct line lines[LINES], events, audits;
    bool has_audit;  // the table is there
    char object[40];  // the text of the one that is bound
    struct groups edges, inputs, outputs;
    struct loaded *loaded;  // what store_rows() gave last
};

// ---- statements.c ------------------------------------------------------------------
sqlite3_stmt *statement_get(struct sqlite_store *store, enum statement which);  // null: failed
void statements_finalize(struct sqlite_store *store);
// Binds 0 as 0: the database needs no byte for it.
void bind_number(sqlite3_stmt *statement, int place, int64_t number);
void bind_text(sqlite3_stmt *statement, int place, const char *text);         // null: NULL
void bind_line(sqlite3_stmt *statement, int place, const struct line *line);  // empty: NULL
// None: NULL. A statement has at most one of them.
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
void put_run(struct sqlite_store *store);    // what put_task() has gathered
void put_attempts(struct sqlite_store *store);  // what no end of a task has taken along
void put_job_gone(struct sqlite_store *store, uint32_t job);
void put_submit(struct sqlite_store *store, const struct rota *rota,
                const struct rota_record *record);

// ---- attempt_columns.c: what workers said of attempts, until it is in a row ---------------------

int said_open(struct sqlite_store *store);  // said() can be used in statements
void said_note(struct sqlite_store *store, uint32_t at);
void said_choose(struct sqlite_store *store, uint32_t attempt);  // said() tells of these attempts
// Whether something was said of that attempt of the first task, and for how many from there on the
// same holds.
bool said_alike(const struct sqlite_store *store, rota_task_id first, uint32_t count,
                uint32_t attempt, uint32_t *alike);
void said_forget(struct sqlite_store *store, rota_task_id first, uint32_t count);
void said_clear(struct sqlite_store *store);
void said_release(struct sqlite_store *store);

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
    struct block *blocks;  // what the records point to
};

struct loaded *loaded_open(struct sqlite_store *store);  // null: the error says why
void loaded_close(struct loaded *loaded);
struct rota_record *loaded_add(struct loaded *loaded, enum rota_record_kind kind);
void *loaded_copy(struct loaded *loaded, const void *from, size_t size);  // null: no memory
bool load_submits(struct sqlite_store *store, struct loaded *loaded, uint32_t *first);
bool load_state(sqlite3_stmt *row, int place, struct rota_record *record);
bool load_fail(struct sqlite_store *store, const char *table, int64_t id, const char *what);
bool load_no_memory(struct sqlite_store *store);
sqlite3_stmt *load_prepare(struct sqlite_store *store, const char *sql);
bool load_end(struct sqlite_store *store, sqlite3_stmt *statement, int result);

// ---- sqlite.c: what a connection that only reads has in common with the store's own ----------

// Nothing is open yet. Null: the error is set.
struct sqlite_store *sqlite_allocate(const struct store_kind *kind, const char *path,
                                     struct store_error *error);
void sqlite_close(struct store *store);
// How much memory it takes and when it syncs. SQLite reads all definitions of tables first, which
// takes as long as all else at the start of a brief life: then a new file leaves it to its first
// turn.
void sqlite_set(struct sqlite_store *store);
const struct rota_record *sqlite_rows(struct store *store, uint32_t *count);
void sqlite_rows_release(struct store *store);
void sqlite_name(struct store *store, const struct catalog_name *name);
bool sqlite_catalog(struct store *store, struct catalog_rows *rows);
bool sqlite_text_find(struct store *store, rota_task_id task, struct store_text *text);
rota_worker_id sqlite_attempt_worker(struct store *store, rota_task_id task, uint32_t *attempt);
bool sqlite_bodies(struct store *store, rota_job_id job, store_body_fn *take, void *context);
bool sqlite_answer_find(struct store *store, struct store_request *request);

extern const sqlite3_mem_methods pieces_methods;  // small_alloc.c: memory for SQLite

// ---- busy.c: another program has locked the database ------------------------------------------

enum { STORE_BUSY_MS = 5000 };
int busy_wait(void *store, int count);  // for sqlite3_busy_handler()

// ---- clean_note.c: whether the files are as the last server left them ---------------------------

void left_note(const struct sqlite_store *store);   // when they are closed
bool left_alone(const struct sqlite_store *store);  // nobody has touched them since
