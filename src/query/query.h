// query.h - a job read from its database, for the commands that inspect a run.
//
//     struct query query;
//     if (!query_open(&query, store, job)) say store_error(store)->text;
//     ...
//     query_release(&query);
//
// Tasks are identified by their index. Texts are never null, but may be "". These functions read no
// clock and no file except the database. If memory runs out, the program ends.
#pragma once

#include "store/sqlite/definition_rows.h"
#include "store/sqlite/snapshot.h"

// ---- open.c: tasks and attempts -------------------------------------------------------------

struct query_task {
    rota_task_id id;
    const char *name;        // "7.3" if it has no name
    const char *command, *details, *status, *outcome, *access;
    const char *edges, *condition, *inputs, *outputs;  // see doc/database-schema.md
    const char *when;        // the condition with names
    const uint32_t *needs;   // indexes of all its dependencies, of any kind
    uint32_t need_count;
    uint32_t bundle;         // index plus 1; 0: none
    uint32_t machine, lane, group, cores, memory_mib, retries;
    uint32_t attempt, tries; // the last attempt; attempts since the last request
    uint32_t first, count;   // its attempts, query->attempts[first ... first + count)
    int32_t priority, exit;
    uint64_t asked;          // the turn in which it requested its lane
    rota_time since;         // when it entered this state; 0: unknown
    bool is_bundle;
};

enum query_attempt_flag { QUERY_CACHED = 1, QUERY_TRUNCATED = 2 };

struct query_attempt {
    uint32_t task, attempt, worker, flags;
    const char *status;      // from the history; RUNNING: not finished
    const char *end, *reason;
    int32_t code;
    rota_time began, ended;  // ended 0: not finished
    rota_time user, system;
    uint64_t memory_bytes, log_bytes;
    uint32_t slot;           // set by query_slots(): its line,
    rota_time drawn;         // and where its bar begins
    bool is_carried;         // did not run: the result is from an earlier job
    bool ran;                // its times are known: it is running, or its worker reported it
};

struct query {
    struct store *store;
    rota_job_id job;
    bool is_paused;                // no further tasks start
    uint32_t losses;               // retries of a stored task that its user did not ask for
    struct query_task *tasks;
    struct query_attempt *attempts;  // sorted by task and number
    uint32_t task_count, task_capacity, attempt_count, attempt_capacity;
    struct catalog_rows catalog;   // names of lanes and machines by number
    const char *path;              // of the job file; "": unknown
    struct query_waits {           // pull: how long the server lets tasks wait, if known
        bool known;
        rota_time cached, inputs;
    } waits;
    struct rota *rota;             // after query_core(), and the rows it was built from
    const struct rota_record *rows;
    uint32_t row_count;
    struct query_block *blocks;    // owns the texts
};

enum { QUERY_WORKER_CARRIED = 0xe0000000u, QUERY_NOT_FOUND = UINT32_MAX };

// False: see the error of the store; if it has none, the job does not exist. Release it in any
// case.
bool query_open(struct query *query, struct store *store, rota_job_id job);
void query_release(struct query *query);
_Noreturn void query_no_memory(void);
void *query_allocate(struct query *query, size_t size);  // zeroed; freed with the ask

// Builds a core from all rows of the database, for queries only. Null: see the error of the store;
// if it has none, see `reason`.
struct rota *query_core(struct query *query, const char **reason);

// ---- find.c: names --------------------------------------------------------------------------

// By name or "7.3"; or QUERY_NOT_FOUND.
uint32_t query_find(const struct query *query, const char *word);
bool query_id_read(const char *word, rota_task_id *id);      // "7.3"
const char *query_nearest(const struct query *query, const char *word);  // null: none is similar

// The name of a number in the catalog; null: it has none.
const char *query_name(const struct query *query, enum catalog_kind kind, uint32_t number);
const char *query_lane_name(const struct query *query, uint32_t lane);
// The value of the nth line of the details that begins with this word; null: none.
const char *query_detail(const char *details, const char *word, uint32_t nth, size_t *length);

struct query_object {
    rota_object_id id;
    uint32_t task;
    const char *kind;        // file, directory, stream
    const char *name;        // not terminated, see `length`
    int length;
    bool keep;
};
// The nth output of a task. False: there are fewer.
bool query_object(const struct query *query, uint32_t task, uint32_t nth,
                  struct query_object *object);

// ---- layout.c: layout for charts ------------------------------------------------------------

// Assigns lines to the attempts that ran so that no bars overlap. Returns the number of lines.
uint32_t query_slots(struct query *query, rota_time now);

// The critical path: the chain of tasks that took longest, from first to last. `path` has room for
// all tasks. Returns the number of tasks on it.
uint32_t query_critical(const struct query *query, rota_time now, uint32_t *path,
                        rota_time *length);
// Of all attempts.
rota_time query_duration(const struct query *query, uint32_t task, rota_time now);

// ---- text.c: formatting ---------------------------------------------------------------------

enum { QUERY_TEXT = 320 };
const char *query_end_text(const struct query_attempt *attempt, char out[QUERY_TEXT]);  // "exit 3"
// The number of attempts since the last request, and whether all of them ended in the same way.
uint32_t query_tries(const struct query *query, const struct query_task *task, bool *is_same);
const char *query_time_text(rota_time time, char out[QUERY_TEXT]);  // "1.25 s", "3 m 12 s"
const char *query_bytes_text(uint64_t bytes, char out[QUERY_TEXT]);  // "1.2 MiB"

// ---- why_text.c: the reason why a task does not run, in English ------------

// Names for the things in a reason. The texts must stay valid until why_text() returns.
struct why_names {
    const void *context;
    const char *(*task)(const void *context, rota_task_id id);
    const char *(*worker)(const void *context, rota_worker_id id);
    const char *(*lane)(const void *context, uint32_t lane);
    const char *(*group)(const void *context, uint32_t group);
    const char *(*machine)(const void *context, uint32_t machine);
    void (*time)(rota_time time, char *out, size_t size);
};

// Facts that the reason does not contain, about the task and the other task in the reason.
struct why_subject {
    const char *status, *other_status;  // as in the tables of the database
    rota_worker_id worker;              // where the task runs
    uint32_t cores, memory_mib;         // what the task needs
    enum rota_access access;
};

void why_text(const struct rota_why *why, const struct why_subject *subject,
              const struct why_names *names, char *out, size_t size);
