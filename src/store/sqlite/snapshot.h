// snapshot.h - a read-only snapshot of a database file, even while a server uses the file.
#pragma once

#include "store/store.h"

// A read-only store for store_rows(), store_text_find(), store_answer_find() and store_catalog().
// All calls see the same snapshot, however long it is open; the server's log grows meanwhile. Null:
// the error says why.
struct store *store_look(const char *path, struct store_error *error);

bool store_is_held(const char *path);  // by a server; asking does not lock the file

// The following functions are for such a store only. Texts may be null, and are valid during the
// call.

struct look_task {
    rota_task_id id;
    bool is_bundle;
    const char *name, *command, *details;
    const char *status;  // current, as in doc/database-schema.md
    const char *condition, *needs, *inputs, *outputs, *access, *outcome;
    uint32_t parent, machine, lane, group, cores, memory_mib, retries, attempt, tries;
    int32_t priority, exit;
    rota_time started;   // of the running attempt; 0: none
    uint64_t asked;      // the turn in which it joined the queue of its lane
};

struct look_attempt {
    const char *status;       // as in sched_history
    rota_time started;        // when it was assigned
    uint32_t worker;
    struct store_attempt it;  // if the worker sent no report, end is ""
};

typedef bool look_task_fn(void *context, const struct look_task *task);  // false: out of memory
typedef bool look_attempt_fn(void *context, const struct look_attempt *attempt);

// The tasks of a job by number; ended attempts by task and number. False: store_error() says why.
bool look_tasks(struct store *store, uint32_t job, look_task_fn *take, void *context);
bool look_attempts(struct store *store, uint32_t job, look_attempt_fn *take, void *context);
bool look_is_of_server(struct store *store);  // the database, not of a rota run
bool look_job_is_paused(struct store *store, uint32_t job);
uint32_t look_last_job(struct store *store);  // 0: no job

// ---- snapshot_all.c: all jobs and workers in few rows -------------------------------------------

// The columns of each row: numbers, then texts.
enum look_list {
    LOOK_WORKERS,  // worker, cores, silent since, assigned tasks, running tasks; name, user
    LOOK_JOBS,     // job, tasks, succeeded, failed, stopped, assigned, blocked, idle; state
    LOOK_OUT,      // assigned tasks: job, task, since, worker, cores; name, status, worker name
    LOOK_QUEUE,    // job, task, priority; name, status, lane
    LOOK_LANES,    // lane, tasks inside, tasks waiting, readers inside; name
    LOOK_COUNTS,   // 0, number of tasks; status
    LOOK_LATELY,   // job, attempts that ended in the last 10 s, in the last 60 s
    LOOK_LISTS
};
enum { LOOK_NUMBERS = 8, LOOK_TEXTS = 3 };
struct look_row {
    int64_t numbers[LOOK_NUMBERS];
    const char *texts[LOOK_TEXTS];  // "": no text
};
typedef bool look_row_fn(void *context, const struct look_row *row);  // false: out of memory
// At most 1000 rows; for jobs, the last 200.
bool look_list(struct store *store, enum look_list list, rota_time now, look_row_fn *take,
               void *context);
