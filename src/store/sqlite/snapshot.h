// snapshot.h - a read-only snapshot of a database file, even while a server uses the file.
#pragma once

#include "store/store.h"

// A read-only store for store_rows(), store_text_find(), store_answer_find() and store_catalog().
// All calls see the same snapshot, however long it is open; the server's log grows meanwhile. Null:
// the error says why.
struct store *snapshot_open(const char *path, struct store_error *error);

bool store_is_held(const char *path);  // by a server; asking does not lock the file

// The following functions are for such a store only. Texts may be null, and are valid during the
// call.

struct snapshot_task {
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

struct snapshot_attempt {
    const char *status;       // as in sched_history
    rota_time started;        // when it was assigned
    uint32_t worker;
    struct store_attempt it;  // if the worker sent no report, end is ""
};

// False: out of memory.
typedef bool snapshot_task_fn(void *context, const struct snapshot_task *task);
typedef bool snapshot_attempt_fn(void *context, const struct snapshot_attempt *attempt);

// The tasks of a job by number; ended attempts by task and number. False: store_error() says why.
bool snapshot_tasks(struct store *store, uint32_t job, snapshot_task_fn *take, void *context);
bool snapshot_attempts(struct store *store, uint32_t job, snapshot_attempt_fn *take, void *context);
bool look_is_of_server(struct store *store);  // the database, not of a rota run
bool snapshot_job_is_paused(struct store *store, uint32_t job);
uint32_t snapshot_last_job(struct store *store);  // 0: no job

// ---- snapshot_all.c: all jobs and workers in few rows -------------------------------------------

// The columns of each row: numbers, then texts.
enum snapshot_list {
    SNAPSHOT_WORKERS,  // worker, cores, silent since, assigned tasks, running tasks; name, user
    SNAPSHOT_JOBS,  // job, tasks, succeeded, failed, stopped, assigned, blocked, idle; state
    SNAPSHOT_OUT,  // assigned tasks: job, task, since, worker, cores; name, status, worker name
    SNAPSHOT_QUEUE,  // job, task, priority; name, status, lane
    SNAPSHOT_LANES,  // lane, tasks inside, tasks waiting, readers inside; name
    SNAPSHOT_COUNTS,  // 0, number of tasks; status
    SNAPSHOT_LATELY,  // job, attempts that ended in the last 10 s, in the last 60 s
    SNAPSHOT_LISTS
};
enum { SNAPSHOT_NUMBERS = 8, SNAPSHOT_TEXTS = 3 };
struct snapshot_row {
    int64_t numbers[SNAPSHOT_NUMBERS];
    const char *texts[SNAPSHOT_TEXTS];  // "": no text
};
// False: out of memory.
typedef bool snapshot_row_fn(void *context, const struct snapshot_row *row);
// At most 1000 rows; for jobs, the last 200.
bool snapshot_list(struct store *store, enum snapshot_list list, rota_time now,
                   snapshot_row_fn *take, void *context);
