// store.h - where the core's records stay between two lives of the core.
//
// A store keeps the last row of every key. ROTA_EVENT_RESTORE gets after a crash the rows that were
// committed before it. One turn is one transaction:
//
//     store_begin(store, now);
//     store_define(store, &event->submit, texts);    // names and commands, if there are any
//     do effects = rota_take(rota), store_put(store, rota, effects.records, count);
//     while (effects.more);
//     if (!store_commit(store)) stop, saying store_error(store)->text;
//     perform(effects.actions);
//
// Nothing between begin and commit has to be looked at: a mistake is remembered, and told
// by the commit. A commit that fails has left no trace, and is the last one.
#pragma once

#include "rota.h"

struct store;

// ---- What can go wrong ------------------------------------------------------

enum store_fault {
    STORE_FINE,
    STORE_REFUSED,    // the file is not a database of this rota
    STORE_IN_USE,     // another process has it; later it may be free
    STORE_FULL,       // no room on the disk, not even with the ballast thrown off
    STORE_BROKEN,     // the disk failed, or a row says what cannot be
    STORE_NO_MEMORY,  // as good as broken: what the core knows is not on record
};

struct store_error {
    enum store_fault fault;
    char text[400];  // a sentence that names the file
};

int store_exit_status(const struct store_error *error);            // 0, 2 or 70
const struct store_error *store_error(const struct store *store);  // the first that happened

// ---- Opening and closing ----------------------------------------------------

struct store_options {
    uint64_t ballast_bytes;  // thrown off when the disk is full; 0: none
    uint32_t wal_pages;      // the log is folded into the database when it is so long
    const char *vfs;         // null: the system's; tests bring their own
    // For lives that may be short: the ballast and room in the log are made after some turns, and
    // a log that is still short is left as it is in the end.
    bool brief;
    bool is_run;  // of `rota run`: messages do not advise --restored, which only a server has
};

struct store_options store_options_default(void);

struct store *store_open_memory(void);  // null: no memory

// Creates a missing file. Null: refused or broken, and the error says why.
struct store *store_open_sqlite(const char *path, const struct store_options *options,
                                struct store_error *error);
void store_close(struct store *store);  // null is fine

// ---- Writing: one turn, one transaction --------------------------------------

// The name of a task, and other texts that the core does not need. Null: not given.
struct store_text {
    const char *name, *command;
    uint64_t body;  // only when it is found: what the submission said
    const char *run_days, *start_times, *run_window, *start_mins, *cron, *zone, *overlap;
    const char *details;  // for people: lines such as "group g" and "out a.txt"; is not found again
};

void store_begin(struct store *store, rota_time now);  // now: what the history will say

// Texts for the tasks of a submission that the core took in this turn: texts[i] belongs to
// spec->tasks[i]. The record of the submission finds them by the address of the spec.
void store_define(struct store *store, const struct rota_job_spec *spec,
                  const struct store_text *texts);

// A calendar has staged this task; the same minute will not do so again.
void store_fired(struct store *store, rota_task_id task, rota_time minute);

// A request that this turn has carried out, or refused, and the answer it will get if it comes
// again. Of those that were refused the last STORE_REFUSALS are kept.
enum { STORE_REFUSALS = 65536 };
struct store_request {
    uint8_t id[16];
    uint64_t body_hash;
    const char *answer;
    uint32_t refusal;  // why not; 0: it was carried out
};
void store_answer(struct store *store, const struct store_request *request);

// A request of this turn and its client, on one line, for a list that only grows. It is copied.
void store_audit(struct store *store, const char *line);

// The end of an attempt, as its worker reported it. The texts must last until the commit.
struct store_attempt {
    rota_task_id task;
    uint32_t attempt;
    const char *end;     // exit, signal, timeout, memory, stopped, not_started, output, input
    int32_t status;      // the exit status, signal or errno
    uint32_t flags;
    const char *reason;  // null: none
    rota_time began, ended, user, system;
    uint64_t memory_bytes, log_bytes;
    rota_worker_id worker;  // that has its log; none: the one beside the database
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

// A message to a worker, for tasks of a job: `number` from 1, and bytes that the store does not
// read. They must last until the commit, and are removed with their job.
struct store_body {
    rota_job_id job;
    uint32_t number;
    const void *bytes;
    uint32_t length;
    uint32_t version;  // of the protocol in which they are written
};
void store_put_body(struct store *store, const struct store_body *body);

// The records of the turn, in as many pieces as rota_take() gives. The core is asked for the
// states of tasks that are new in this turn: their submission is their only record.
void store_put(struct store *store, const struct rota *rota, const struct rota_record *records,
               uint32_t count);

bool store_commit(struct store *store);

// The same in three steps, so that the next turn can be prepared while the disk writes:
//
//     turn = store_commit_write(store);   // its rows are written, and every reader sees them
//     store_sync_begin(store);            // the disk begins to sync all turns so far
//     ... the next turn ...
//     store_settle(store, turn);          // now it is durable: its actions may be performed
//
// 0 and false: as for store_commit(). Turns are numbered from 1 and become durable in this order;
// several may do so by one sync.
uint64_t store_commit_write(struct store *store);
bool store_sync_begin(struct store *store);
bool store_settle(struct store *store, uint64_t turn);
uint64_t store_settled(struct store *store);   // the last that is durable
int store_settled_event(struct store *store);  // becomes readable when it changes; -1: never

// While there is nothing else to do: makes ready what the first end of a task will need. May wait
// for the disk if the database is new.
void store_foresee(struct store *store);

// True from the moment the disk was full until there is room again: take no new work, only
// what ends or cancels old work.
bool store_is_full(const struct store *store);

// Between turns, about once a second: the files of the store are still there and the ones that it
// has open. False: one was deleted or replaced. The store has failed: a change
// that is acknowledged now would be lost.
bool store_check(struct store *store);

// ---- Reading ----------------------------------------------------------------

// Every row, by kind as the enum counts, submissions by sequence, workers as they joined, the
// others by key. Valid until the next call. Null: no rows, or an error (see store_error).
const struct rota_record *store_rows(struct store *store, uint32_t *count);
void store_rows_release(struct store *store);  // gives the memory of the rows back

// The texts of a task. False: no such task. Valid until the next call.
bool store_text_find(struct store *store, rota_task_id task, struct store_text *text);

// The worker that has the log of an attempt; attempt 0 becomes the last one. Worker 0: the attempt
// was not reported, or the store keeps no attempts.
rota_worker_id store_attempt_worker(struct store *store, rota_task_id task, uint32_t *attempt);
// The worker that was given an attempt before the present one. None: nobody knows.
rota_worker_id store_attempt_given(struct store *store, rota_task_id task, uint32_t attempt);

// The bodies of a job, by number. False: the store has failed, or keeps none.
typedef bool store_body_fn(void *context, const struct store_body *body);  // false: no memory
bool store_bodies(struct store *store, rota_job_id job, store_body_fn *take, void *context);

// Jobs that will not grow and of which no object is left, by number. False: as above.
typedef void store_job_fn(void *context, rota_job_id job);
bool store_jobs_plain(struct store *store, store_job_fn *take, void *context);

// How long tasks took that succeeded, the newest jobs first; not more than some thousand. False: as
// above.
typedef void store_took_fn(void *context, const char *name, rota_time took);
bool store_durations(struct store *store, store_took_fn *take, void *context);

// The journal: what each turn has changed, a line each as doc/database-schema.md has them.
struct store_turn {
    uint64_t sequence;
    rota_time at;
    const char *lines;  // "" if none
};
typedef bool store_turn_fn(void *context, const struct store_turn *turn);  // false: enough
uint64_t store_journal_last(const struct store *store);  // 0: it is empty, or none is kept
// Turns from `first` to `last` that are kept, by sequence. False: the store has failed.
bool store_journal(struct store *store, uint64_t first, uint64_t last, store_turn_fn *take,
                   void *context);
// The names of the task of a line and of its lane; "": no name. False: no such task. Valid until
// the next call.
struct store_label {
    const char *name, *lane;
};
bool store_label_find(struct store *store, rota_task_id task, struct store_label *label);

// The answer a request got; request->id says which. False: it never came. Valid until the next
// call.
bool store_answer_find(struct store *store, struct store_request *request);
