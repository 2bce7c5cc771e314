// query.h - a job as its database has it, for the commands that query a run.
//
//     struct ask ask;
//     if (!ask_open(&ask, store, job)) say store_error(store)->text;
//     ...
//     ask_release(&ask);
//
// Tasks are named by their place in the array. Texts are never null, but may be "". Nothing here
// reads a clock, or a file but that of the store. Without memory the program ends.
#pragma once

#include "store/definition_rows.h"
#include "store/sqlite/snapshot.h"

// ---- open.c: tasks and attempts -------------------------------------------------------------

struct ask_task {
    rota_task_id id;
    const char *name;        // "7.3" if it has none
    const char *command, *details, *status, *outcome, *access;
    const char *edges, *condition, *inputs, *outputs;  // as doc/database-schema.md has them
    const char *when;        // the condition, with names
    const uint32_t *needs;   // places of what it waits for in any of these ways
    uint32_t need_count;
    uint32_t bundle;         // its place plus 1; 0: none
    uint32_t machine, lane, group, cores, memory_mib, retries;
    uint32_t attempt, tries; // the last one; since somebody asked for it
    uint32_t first, count;   // its attempts, ask->attempts[first ... first + count)
    int32_t priority, exit;
    uint64_t asked;          // the turn in which it asked for its lane
    rota_time since;         // in this state: 0 is unknown
    bool is_bundle;
};

enum ask_attempt_flag { ASK_CACHED = 1, ASK_TRUNCATED = 2 };

struct ask_attempt {
    uint32_t task, attempt, worker, flags;
    const char *status;      // of the history; RUNNING: it is out
    const char *end, *reason;
    int32_t code;
    rota_time began, ended;  // ended 0: it is out
    rota_time user, system;
    uint64_t memory_bytes, log_bytes;
    uint32_t slot;           // ask_slots() fills it in,
    rota_time drawn;         // and where its bar begins in that line
    bool is_carried;         // nothing ran: it was done in an earlier job
    bool ran;                // and its times are known: it is out, or its worker reported it
};

struct ask {
    struct store *store;
    rota_job_id job;
    bool is_paused;                // nothing new of it starts
    struct ask_task *tasks;
    struct ask_attempt *attempts;  // by task, then by number
    uint32_t task_count, task_capacity, attempt_count, attempt_capacity;
    struct catalog_rows catalog;   // what numbers of lanes and machines are called
    const char *path;              // of the job file; "": not known
    struct ask_waits {             // pull: how long its server lets tasks wait, if that is known
        bool known;
        rota_time cached, inputs;
    } waits;
    struct rota *rota;             // after ask_core(), and the rows it was made of
    const struct rota_record *rows;
    uint32_t row_count;
    struct ask_block *blocks;      // where the texts lie
};

enum { ASK_WORKER_CARRIED = 0xe0000000u, ASK_NONE = UINT32_MAX };

// False: the store says why, or there is no such job: then it has no tasks. Release it always.
bool ask_open(struct ask *ask, struct store *store, rota_job_id job);
void ask_release(struct ask *ask);
_Noreturn void ask_no_memory(void);
void *ask_allocate(struct ask *ask, size_t size);  // zeroed, lives as long as the ask

// A core made of all rows of the database, for queries only. Null: the store has the reason, or, if
// the store has no fault, `reason`.
struct rota *ask_core(struct ask *ask, const char **reason);

// ---- condition.c: what a task waits for -------------------------------------------------------

const char *ask_condition(struct ask *ask, const char *text);  // "su(3)" as "su(build)"; kept

// ---- find.c: names --------------------------------------------------------------------------

uint32_t ask_find(const struct ask *ask, const char *word);  // by name, or by "7.3"; or ASK_NONE
bool ask_id_read(const char *word, rota_task_id *id);        // "7.3"
const char *ask_nearest(const struct ask *ask, const char *word);  // null: none is like it

// The name of a lane in the job file.
// The name that the catalog has for a number; null: it has no name.
const char *ask_name(const struct ask *ask, enum catalog_kind kind, uint32_t number);
const char *ask_lane_name(const struct ask *ask, uint32_t lane);
// The value of the nth line of the details that begins with this word; null: no such line.
const char *ask_detail(const char *details, const char *word, uint32_t nth, size_t *length);

struct ask_object {
    rota_object_id id;
    uint32_t task;
    const char *kind;        // file, directory, stream
    const char *name;        // ends where `length` says
    int length;
    bool keep;
};
// The nth object that a task makes. False: it makes no more.
bool ask_object(const struct ask *ask, uint32_t task, uint32_t nth, struct ask_object *object);

// ---- layout.c: for pictures -----------------------------------------------------------------

// Gives each attempt that ran a line in which its bar overlaps none. Returns how many there are.
uint32_t ask_slots(struct ask *ask, rota_time now);

// The chain of tasks that took longest, first to last; `path` has room for all tasks. Returns how
// many there are.
uint32_t ask_critical(const struct ask *ask, rota_time now, uint32_t *path, rota_time *length);
rota_time ask_duration(const struct ask *ask, uint32_t task, rota_time now);  // of all attempts

// ---- text.c: for people ---------------------------------------------------------------------

enum { ASK_TEXT = 320 };
const char *ask_end_text(const struct ask_attempt *attempt, char out[ASK_TEXT]);  // "exit 3"
const char *ask_time_text(rota_time time, char out[ASK_TEXT]);     // "1.25 s", "3 m 12 s"
const char *ask_bytes_text(uint64_t bytes, char out[ASK_TEXT]);    // "1.2 MiB"

// ---- why_text.c: the reason why a task does not run, in English ------------

// Names for the things in a reason; the texts must live until why_text() returns.
struct why_names {
    const void *context;
    const char *(*task)(const void *context, rota_task_id id);
    const char *(*worker)(const void *context, rota_worker_id id);
    const char *(*lane)(const void *context, uint32_t lane);
    const char *(*group)(const void *context, uint32_t group);
    const char *(*machine)(const void *context, uint32_t machine);
    void (*time)(rota_time time, char *out, size_t size);
};

// Facts about the task, and about the other task in the reason, that the reason does not hold.
struct why_subject {
    const char *status, *other_status;  // in the words of the tables
    rota_worker_id worker;              // where it runs
    uint32_t cores, memory_mib;         // what it needs
    enum rota_access access;
};

void why_text(const struct rota_why *why, const struct why_subject *subject,
              const struct why_names *names, char *out, size_t size);
