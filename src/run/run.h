// run.h - a job file on this machine: its submission, the orders to its worker, and its results.
//
// Nothing here reads a clock, a file or a socket; the caller does. Without memory the program ends:
// the database has all that was promised.
#pragma once

#include "job/file/jobfile.h"
#include "turn/catalog.h"
#include "job/message/submission.h"
#include "net/wire/wire.h"
#include "os/os.h"

// ---- run.c: what a run knows ------------------------------------------------------------

enum run_phase {
    RUN_WAITING,
    RUN_GIVEN,     // the worker has it, and has not said that it runs
    RUN_RUNNING,
    RUN_OK,
    RUN_DONE,      // it was done before this run
    RUN_FAILED,
    RUN_ABORTED,
    RUN_LEFT_OUT,  // not wanted in this run
    RUN_NOT_NEEDED,  // its condition can no longer come true, and nothing failed
    RUN_PHASES
};

struct run_task {
    uint64_t signature;  // of all that its result depends on
    rota_time began, ended;
    uint32_t attempt, tries; // in this run
    int32_t status;
    uint32_t group;
    uint8_t phase;           // enum run_phase
    bool again;              // its attempt is one of worker_again
    uint8_t end;             // enum wire_end, of the last attempt; 0: none
    uint8_t lacked;          // attempts in this run that did not start because an input was missing
    uint32_t end_flags;      // enum wire_finished_flag
    uint64_t log_bytes;
    char *reason;            // null: none
};

struct run_end {
    uint32_t task, attempt;
    enum run_phase phase;  // what it led to; by now another attempt may be out, or over
    struct run_task as;    // the task as this attempt left it, with a reason of its own
};

struct run {
    const struct jobfile *file;
    const char *folder;       // of the file, absolute
    const char *host;         // what this machine is called
    struct server *server;    // null: not yet
    struct run_task *tasks;   // beside file->tasks
    bool *wanted;             // by task; null: all are
    uint32_t *order;          // all tasks, each after its dependencies and its lane's
    uint32_t count[RUN_PHASES];  // tasks; bundles are not counted
    rota_job_id job;
    uint64_t token;           // of the last attempt
    rota_worker_id worker;    // of this life
    rota_worker_id worker_before;  // of the last life of a run of this file
    rota_worker_id worker_again;   // the same one, for what was carried and then lost
    uint32_t cores, memory_mib;
    struct catalog catalog;   // of names
    uint32_t machine;         // the worker's, which no other file's tasks may use
    uint32_t machine_carried; // of what need not be done again
    uint64_t digest;          // of the file
    struct run_end *ends;     // of attempts, not yet told
    uint32_t end_count, end_seen, end_capacity;  // seen: the core was asked what became of them
    bool keep_going;          // a failure is not the end of what does not need it
    bool draining;            // nothing new is started
    uint32_t carried, hits;   // tasks done in an earlier job; taken from the cache
    rota_object_id *lost;     // told as lost, before the report of the attempt that lacked them
    uint32_t lost_count;
};

enum { RUN_WORKER_CARRIED = 0xe0000000u };  // plus the machine: nobody, and worker_again

void run_open(struct run *run, const struct jobfile *file, const char *folder);
void run_release(struct run *run);
uint32_t run_left(const struct run *run);  // tasks that are not over
// When nothing runs any more: handlers of failures that did not happen are finished, too.
void run_sort_out(struct run *run);
void run_phase_set(struct run *run, uint32_t task, enum run_phase phase);
void run_end_add(struct run *run, uint32_t task);
void run_ends_drop(struct run *run);  // they are told
// Behind a turn: what the core says about a task, about all whose attempt ended.
void run_phase_look(struct run *run, uint32_t task);
void run_ends_look(struct run *run);
// When the run must act without a message: a plan is due, or the end of a backoff.
rota_time run_deadline(const struct run *run);
// All tasks are finished, or nothing more can be done.
bool run_is_over(const struct run *run);

// ---- signature.c: what a result depends on ----------------------------------------------

// The size and time of a file of the user, or 0: it is not there.
typedef uint64_t run_stamp_fn(const char *folder, const char *path);

// Fills in the order and every signature.
void run_sign(struct run *run, run_stamp_fn *stamp);
uint64_t run_hash(const void *bytes, size_t size);
uint64_t run_digest(const struct run *run, uint64_t digest);  // of the file, and of its tasks
// The name of an output for all runs: as long as the signature stays, so does its content.
rota_object_id run_output_name(const struct run *run, uint32_t task, uint32_t output);
// And the core's name for it, which is new in each job.
rota_object_id run_object(const struct run *run, uint32_t task, uint32_t output);
// Which of them that is; false: none of this job.
bool run_object_find(const struct run *run, rota_object_id id, uint32_t *task, uint32_t *output);

// ---- requirements.c: what a file needs of the one who runs it -----------------------------------

// Whether a condition asks for more than success: then a failure is never the end.
bool run_has_handlers(const struct jobfile *file);
// Tasks joined by streams run side by side. False: so many cores are not enough; `task` is one of
// those that need `need`.
bool run_streams_fit(const struct jobfile *file, uint32_t cores, uint32_t *task, uint32_t *need);

// ---- select.c: which tasks are wanted ----------------------------------------------------

// Behind run_sign(). Names with commas between; null, or the first that is not there.
const char *run_only(struct run *run, const char *names);
bool run_wants(const struct run *run, uint32_t task);

// ---- job_record.c: which job a file had, kept as the answer to a request -----------------------

struct run_entry {
    rota_job_id job;
    uint64_t digest;   // of the file it was made from
    const char *watched;  // lines about files: while all are as they were, so are the tasks
};

// False: there is none. Valid until the next question to the store.
bool run_entry_find(struct store *store, const char *path, struct run_entry *entry);
// In a turn. The text must last until the commit.
void run_entry_put(struct run *run, const char *path, const char *watched);
// The lines for this file, to be freed: sources of the user, and outputs that were put beside them.
char *run_watched(const struct run *run, run_stamp_fn *stamp);
bool run_watched_is_same(const char *watched, const char *folder, run_stamp_fn *stamp);

// The text of a file beside the database when all is done, to be freed, and whether it still holds.
char *run_done_text(uint64_t digest, uint64_t database, const char *watched);
bool run_done_holds(const char *text, uint64_t digest, uint64_t database, const char *folder,
                    run_stamp_fn *stamp);

// ---- submit.c: the job -----------------------------------------------------------------

// In a turn, before all others: what the machines of this file are called. False: the server says
// why.
bool run_machines(struct run *run);
// In a turn: all tasks of the file as a new job. Tasks that are done belong to another machine. If
// the result is not ROTA_OK, the server's reason says why.
enum rota_error run_submit(struct run *run, const bool *carried);

// ---- reuse.c: what need not be done again ------------------------------------------------

// Objects that the worker holds, by the name they have for all runs.
struct run_held {
    struct run_held_object {
        rota_object_id name;
        uint64_t bytes;
    } * items;
    uint32_t count, capacity;
    struct map by_name;
};
void run_held_add(struct run_held *held, const wire_files *files);
bool run_held_has(const struct run_held *held, rota_object_id name, uint64_t *bytes);
void run_held_release(struct run_held *held);

// Which tasks were done in an earlier job and are as they were. `old` may be none; without `held`
// nobody asks whether their objects are still there.
void run_carry(struct run *run, rota_job_id old, const struct run_held *held, run_stamp_fn *stamp,
               bool *carried);
// In a turn, after the submission: tasks that are done succeed without running.
void run_carry_out(struct run *run, const bool *carried, const struct run_held *held);

// Behind a submission: what only the tasks of an older job had made need not be held any more.
void run_drop(struct run *run, rota_job_id old, const struct run_held *held, struct wire_out *out);

// In a turn: resumes the job of an earlier life. Attempts of that life are lost, tasks that failed
// or were left out are tried, and tasks that are not wanted now are cancelled.
void run_resume(struct run *run, const struct run_held *held);

// ---- begin.c: the first turn ------------------------------------------------------------

struct run_start {
    const char *path;             // of the file, absolute
    const char *watched;          // its run_watched(); null: only looking
    run_stamp_fn *stamp;
    const struct run_held *held;  // by the worker
    uint32_t cores, memory_mib;   // of the worker
    bool fresh;                   // what was done before does not count
};

enum run_begun {
    RUN_BEGUN,
    RUN_BEGIN_REFUSED,  // the server's reason says why
    RUN_BEGIN_FAILED,   // the store has failed
};

// In the first turn: resumes the job of an earlier run, or begins a new one.
enum run_begun run_job_begin(struct run *run, const struct run_start *start, struct wire_out *out);
// Only looking: which tasks would run, as far as can be said without a worker. Without a server
// nothing was done before.
void run_preview(struct run *run, const struct run_start *start, bool *would);

// ---- lost_objects.c: objects that turn out to be gone -------------------------------------------

// The worker tells this just before it reports the attempt that lacks them. That report comes first
// for the core, which would else take the attempt back, and it would never count.
void run_lost(struct run *run, const wire_files *objects);
// In a turn, after a report: the objects are made again.
void run_lost_settle(struct run *run);
// In a turn: what worker_again has made is there for all.
void run_made_again(struct run *run, uint32_t task, const struct wire_finished *finished);
void run_worker_join(struct run *run, rota_worker_id id, uint32_t machine);
// In a turn: the worker of an earlier life is gone, with all it had.
void run_replace_worker(struct run *run);
rota_worker_id run_worker_of(const struct run *run, uint32_t task);
bool run_worker_is_ours(const struct run *run, rota_worker_id id);

// ---- worker_messages.c: between the core and the worker -----------------------------------------

void run_join(struct run *run, uint32_t cores, uint32_t memory_mib);
// In a turn: what the worker said, as events.
void run_intake(struct run *run, const struct wire_message *message);
// Behind a turn: what the core asks for, as messages; after a failure nothing new, unless the run
// keeps going.
void run_perform(struct run *run, struct wire_out *out);
// Nothing new is started from now on, by the worker neither.
void run_drain(struct run *run, struct wire_out *out);

// "exit 2", "signal 9 (Killed)", "timed out", ...; valid until the next call with this buffer.
enum { RUN_END_TEXT = 576 };
const char *run_end_text(const struct run_task *task, char out[RUN_END_TEXT]);
