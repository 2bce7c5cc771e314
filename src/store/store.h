// store.h - stores the records of a core, so that a new process can restore it.
//
// A store has the last row of every key. After a crash, ROTA_EVENT_RESTORE gets all rows that were
// committed. One turn is one transaction:
//
//     store_begin(store, now);
//     store_define(store, &event->submit, texts);    // names and commands, if there are any
//     do effects = rota_take(rota), store_put(store, rota, effects.records, count);
//     while (effects.more);
//     if (!store_commit(store)) print store_error(store)->text and stop;
//     perform(effects.actions);
//
// The calls between begin and commit need no check: the store remembers the first error, and the
// commit reports it. A commit that fails has changed nothing, and no other commit can follow.
#pragma once

#include "rota.h"

struct store;

// ---- Errors -----------------------------------------------------------------

enum store_fault {
    STORE_FINE,
    STORE_REFUSED,    // the file is not a database of this rota
    STORE_IN_USE,     // another process uses it; it may be free later
    STORE_FULL,       // no space on the disk, even after the ballast was freed
    STORE_BROKEN,     // the disk failed, or a row is invalid
    STORE_NO_MEMORY,  // failed: the core has changes that are not stored
};

struct store_error {
    enum store_fault fault;
    char text[400];  // one sentence, with the name of the file
};

int store_exit_status(const struct store_error *error);            // 0, 2 or 70
const struct store_error *store_error(const struct store *store);  // the first error

// ---- Opening and closing ----------------------------------------------------

struct store_options {
    uint64_t ballast_bytes;  // a file that is removed when the disk is full, to free space; 0: none
    uint32_t wal_pages;      // checkpoint the log when it has this many pages
    const char *vfs;         // null: the default; tests use their own
    // For processes that may be short: the ballast and the space in the log are made after some
    // turns, and closing leaves a short log without a checkpoint.
    bool brief;
    bool is_run;  // used by `rota run`: messages do not mention --restored, an option of the server
};

struct store_options store_options_default(void);

struct store *store_open_memory(void);  // null: out of memory; store/sqlite/open.h opens a file
void store_close(struct store *store);  // may be null

// ---- Writing: one turn, one transaction --------------------------------------

// The name of a task, and other texts that the core does not need. Null: not given.
struct store_text {
    const char *name, *command;
    uint64_t body;  // output of store_text_find() only: the `body` of the submission
    const char *run_days, *start_times, *run_window, *start_mins, *cron, *zone, *overlap;
    const char *details;  // for people: lines such as "group g" and "out a.txt"; write only
};

void store_begin(struct store *store, rota_time now);  // now: the time in the history

// Texts for the tasks of a submission that the core took in this turn: texts[i] belongs to
// spec->tasks[i]. The record of the submission finds them by the address of the spec.
void store_define(struct store *store, const struct rota_job_spec *spec,
                  const struct store_text *texts);

// A calendar has staged this task; it will not do so again for the same minute.
void store_fired(struct store *store, rota_task_id task, rota_time minute);

// A request that this turn has carried out or refused, and the answer it gets if it is repeated.
// Only the last STORE_REFUSALS refusals are stored.
enum { STORE_REFUSALS = 65536 };
struct store_request {
    uint8_t id[16];
    uint64_t body_hash;
    const char *answer;
    uint32_t refusal;  // why it was refused; 0: it was carried out
};
void store_answer(struct store *store, const struct store_request *request);

// A request of this turn and its client, as one line of the audit log. The line is copied.
void store_audit(struct store *store, const char *line);

// How often an attempt may be lost on a server: its tasks are stored with that many more retries.
enum { STORE_LOSSES = 5 };

// The end of an attempt, as the worker reported it. The texts must stay valid until the commit.
struct store_attempt {
    rota_task_id task;
    uint32_t attempt;
    const char *end;     // exit, signal, timeout, memory, stopped, not_started, output, input
    int32_t status;      // the exit status, signal or errno
    uint32_t flags;
    const char *reason;  // null: none
    rota_time began, ended, user, system;
    uint64_t memory_bytes, log_bytes;
    rota_worker_id worker;  // that has the log; 0: the log is in the folder of the database
};
void store_put_attempt(struct store *store, const struct store_attempt *attempt);

// attempt_text.c: "exit 2", "signal 9 (Killed, core dumped)", "timed out: REASON".
enum { STORE_CORE_DUMPED = 4 };  // of the flags
struct store_attempt_end {
    const char *end;  // as above
    int32_t status;
    uint32_t flags;
    const char *reason;     // null or "": none
    const char *otherwise;  // the text for any other end
};
void store_attempt_text(const struct store_attempt_end *end, char *out, size_t size);
// The end as the one number that the core keeps: an exit status up to 255; 256 and a signal; 512
// after a timeout, 768 out of memory, 1024 not started, 1280 an output, 1536 an input, each with
// the signal or errno added.
int32_t store_status_make(const char *end, int32_t status);
struct store_attempt_end store_status_read(int32_t status);

// A message to a worker, for tasks of a job: numbered from 1, and opaque to the store. The bytes
// must stay valid until the commit, and are removed with their job.
struct store_body {
    rota_job_id job;
    uint32_t number;
    const void *bytes;
    uint32_t length;
    uint32_t version;  // of the protocol that encodes them
};
void store_put_body(struct store *store, const struct store_body *body);

// The records of the turn, in as many parts as rota_take() returns. `rota` has the states of the
// tasks that are new in this turn: they have no other record than their submission.
void store_put(struct store *store, const struct rota *rota, const struct rota_record *records,
               uint32_t count);

bool store_commit(struct store *store);

// The same in three steps, so that the next turn can be prepared while the disk is busy:
//
//     turn = store_commit_write(store);   // writes the rows; readers see them
//     store_sync_begin(store);            // starts to sync all turns so far
//     ... the next turn ...
//     store_settle(store, turn);          // waits; then perform the actions of this turn
//
// 0 and false: as for store_commit(). Turns are numbered from 1 and become durable in this order;
// one sync may cover several.
uint64_t store_commit_write(struct store *store);
bool store_sync_begin(struct store *store);
bool store_settle(struct store *store, uint64_t turn);
uint64_t store_settled(struct store *store);   // the last durable turn
int store_settled_event(struct store *store);  // readable when that changes; -1: not supported

// Call it while idle: prepares the statements that the end of the first task will need. May wait
// for the disk if the database is new.
void store_foresee(struct store *store);

// True from the moment the disk was full until there is space again: accept no new work, only the
// end or cancellation of old work.
bool store_is_full(const struct store *store);

// Between turns, about once a second: checks that the files of the store still exist, and are the
// ones it has open. False: a file was deleted or replaced, and the store has failed, because
// further changes would be lost.
bool store_check(struct store *store);

// ---- Reading ----------------------------------------------------------------

// All rows, by kind; submissions by sequence, workers in the order they joined, others by key.
// Valid until the next call. Null: no rows, or an error (see store_error).
const struct rota_record *store_rows(struct store *store, uint32_t *count);
void store_rows_release(struct store *store);  // frees the rows

// The texts of a task. False: no such task. Valid until the next call.
bool store_text_find(struct store *store, rota_task_id task, struct store_text *text);

// The worker that has the log of an attempt; attempt 0 is replaced by the last one. Worker 0: the
// attempt was not reported, or the store has no attempts.
rota_worker_id store_attempt_worker(struct store *store, rota_task_id task, uint32_t *attempt);
// The worker that an earlier attempt was assigned to. 0: unknown.
rota_worker_id store_attempt_given(struct store *store, rota_task_id task, uint32_t attempt);

// The bodies of a job, by number. False: the store has failed, or stores no bodies.
typedef bool store_body_fn(void *context, const struct store_body *body);  // false: no memory
bool store_bodies(struct store *store, rota_job_id job, store_body_fn *take, void *context);

// Jobs that will get no more tasks and have no objects left, by number. False: as above.
typedef void store_job_fn(void *context, rota_job_id job);
bool store_jobs_plain(struct store *store, store_job_fn *take, void *context);

// The run times of tasks that succeeded, newest jobs first, a few thousand at most. False: as
// above.
typedef void store_took_fn(void *context, const char *name, rota_time took);
bool store_durations(struct store *store, store_took_fn *take, void *context);

// The journal: the changes of each turn, one line each, in the format of doc/database-schema.md.
struct store_turn {
    uint64_t sequence;
    rota_time at;
    const char *lines;  // "": no changes
};
typedef bool store_turn_fn(void *context, const struct store_turn *turn);  // false: stop
uint64_t store_journal_last(const struct store *store);  // 0: empty, or no journal
// The stored turns from `first` to `last`, by sequence. False: the store has failed.
bool store_journal(struct store *store, uint64_t first, uint64_t last, store_turn_fn *take,
                   void *context);
// The names of a task and of its lane; "": no name. False: no such task. Valid until the next call.
struct store_label {
    const char *name, *lane;
};
bool store_label_find(struct store *store, rota_task_id task, struct store_label *label);

// The answer to the request with request->id. False: unknown request. Valid until the next call.
bool store_answer_find(struct store *store, struct store_request *request);
