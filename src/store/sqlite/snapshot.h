// snapshot.h - one moment of a database file, for those who only look: also beside a server.
#pragma once

#include "store/store.h"

// A store that can only be read, with store_rows(), store_text_find(), store_answer_find() and
// store_catalog(). All of it is of one moment, however long it is open; a server's log grows
// meanwhile. Null: the error says why.
struct store *store_look(const char *path, struct store_error *error);

bool store_is_held(const char *path);  // by a server; nobody is kept out by the question

// The rest is for such a store only. Texts may be null, and last for the call.

struct look_task {
    rota_task_id id;
    bool is_bundle;
    const char *name, *command, *details;
    const char *status;  // now, in the words of doc/database-schema.md
    const char *condition, *needs, *inputs, *outputs, *access, *outcome;
    uint32_t parent, machine, lane, group, cores, memory_mib, retries, attempt, tries;
    int32_t priority, exit;
    rota_time started;   // of an attempt that is out; 0: none is
    uint64_t asked;      // the turn in which it asked for its lane
};

struct look_attempt {
    const char *status;       // of the history
    rota_time started;        // handed out
    uint32_t worker;
    struct store_attempt it;  // where the worker said nothing, end is ""
};

typedef bool look_task_fn(void *context, const struct look_task *task);  // false: no memory
typedef bool look_attempt_fn(void *context, const struct look_attempt *attempt);

// Tasks of a job by number; attempts that ended by task and number. False: store_error() says why.
bool look_tasks(struct store *store, uint32_t job, look_task_fn *take, void *context);
bool look_attempts(struct store *store, uint32_t job, look_attempt_fn *take, void *context);
// The journal from a time on; `lines` may be null.
typedef bool look_turn_fn(void *context, rota_time at, const char *lines);
bool look_journal(struct store *store, rota_time since, look_turn_fn *take, void *context);
bool look_job_is_paused(struct store *store, uint32_t job);
uint32_t look_last_job(struct store *store);  // 0: no job

// ---- snapshot_all.c: the whole database in few rows ---------------------------------------------

// The columns of each row: its numbers, then its texts.
enum look_list {
    LOOK_WORKERS,  // worker, cores, silent since, tasks it has, of them running; name, user
    LOOK_JOBS,     // job, tasks, succeeded, failed, stopped, out, blocked, never to run; state
    LOOK_OUT,      // job, task, since when, worker, cores; name, status, name of the worker
    LOOK_QUEUE,    // job, task, priority; name, status, lane
    LOOK_LANES,    // lane, inside, waiting, readers inside; name
    LOOK_COUNTS,   // 0, how many; status
    LOOK_LATELY,   // job, attempts that ended in the last 10 s, in the last 60 s
    LOOK_LISTS
};
enum { LOOK_NUMBERS = 8, LOOK_TEXTS = 3 };
struct look_row {
    int64_t numbers[LOOK_NUMBERS];
    const char *texts[LOOK_TEXTS];  // "": none
};
typedef bool look_row_fn(void *context, const struct look_row *row);  // false: no memory
// At most a thousand rows, of jobs the last two hundred.
bool look_list(struct store *store, enum look_list list, rota_time now, look_row_fn *take,
               void *context);
