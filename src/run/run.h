// run.h - the model of a run: the submission of a job file, orders to the worker, and results.
//
// This header reads no clock, no file and no socket; the caller does. If memory runs out, the
// program ends: every result that was printed is in the database.
#pragma once

#include "job/file/jobfile.h"
#include "base/base.h"
#include "turn/definitions.h"
#include "job/message/submission.h"
#include "net/wire/wire.h"
#include "os/os.h"

// ---- run.c: the state of each task ------------------------------------------------------

enum run_phase {
    RUN_WAITING,
    RUN_GIVEN,     // sent to the worker, which has not reported a start yet
    RUN_RUNNING,
    RUN_OK,
    RUN_DONE,      // finished before this run
    RUN_FAILED,
    RUN_ABORTED,
    RUN_LEFT_OUT,  // not selected by --only
    RUN_NOT_NEEDED,  // its condition can no longer become true, and nothing failed
    RUN_PHASES
};

struct run_task {
    uint64_t signature;  // hash of everything that its result depends on
    rota_time began, ended;
    uint32_t attempt, tries; // in this run
    int32_t status;
    uint32_t group;
    uint8_t phase;           // enum run_phase
    bool again;              // its attempt runs on worker_again
    uint8_t end;             // enum wire_end of the last attempt; 0: no attempt
    uint8_t lacked;          // attempts of this run that did not start because an input was missing
    uint32_t end_flags;      // enum wire_finished_flag
    uint64_t log_bytes;
    char *reason;            // null: none
};

struct run_end {
    uint32_t task, attempt;
    enum run_phase phase;  // of the task after this attempt; later attempts may change it again
    struct run_task as;    // the task after this attempt; it owns its own copy of `reason`
};

struct run {
    const struct jobfile *file;
    const char *folder;       // of the file, absolute
    const char *host;         // the name of this machine
    struct server *server;    // null: not open yet
    struct run_task *tasks;   // same index as file->tasks
    bool *wanted;             // by task; null: all tasks
    uint32_t *order;          // all tasks, each after its dependencies and its lane's earlier tasks
    uint32_t count[RUN_PHASES];  // tasks; bundles are not counted
    rota_job_id job;
    uint64_t token;           // of the last attempt
    rota_worker_id worker;    // of this process
    rota_worker_id worker_before;  // of the previous run of this file
    rota_worker_id worker_again;   // our second id, to run reused tasks whose outputs were lost
    uint32_t cores, memory_mib;
    struct catalog catalog;   // numbers of names
    uint32_t machine;         // of the worker; tasks of other files cannot use it
    uint32_t machine_carried; // of tasks that are reused and need not run
    uint64_t digest;          // of the file
    struct run_end *ends;     // ended attempts that are not printed yet
    uint32_t end_count, end_seen, end_capacity;  // seen: their phase was read from the core
    bool keep_going;          // after a failure, tasks that do not depend on it still run
    bool draining;            // no new task is started
    uint32_t carried, hits;   // tasks that were finished in an earlier job; results from the cache
    rota_object_id *lost;     // reported as lost before the attempt that lacked them
    uint32_t lost_count;
};

enum { RUN_WORKER_CARRIED = 0xe0000000u };  // plus the machine: the worker of reused tasks

void run_open(struct run *run, const struct jobfile *file, const char *folder);
void run_release(struct run *run);
uint32_t run_left(const struct run *run);  // tasks that are not finished
// After the last task: marks tasks whose condition can no longer become true as not needed.
void run_sort_out(struct run *run);
void run_phase_set(struct run *run, uint32_t task, enum run_phase phase);
void run_end_add(struct run *run, uint32_t task);
void run_ends_drop(struct run *run);  // after they were printed
// After a turn: reads the core's state of one task, or of all tasks whose attempt ended.
void run_phase_look(struct run *run, uint32_t task);
void run_ends_look(struct run *run);
// When the run must act without a message: at the next plan, or at the end of a backoff.
rota_time run_deadline(const struct run *run);
// True: all tasks are finished, or no other task can start.
bool run_is_over(const struct run *run);

// ---- signature.c: everything that a result depends on -----------------------------------

// Returns the size and time of a user file as one number. 0: no such file.
typedef uint64_t run_stamp_fn(const char *folder, const char *path);

// Computes the order and all signatures.
void run_sign(struct run *run, run_stamp_fn *stamp);
uint64_t run_hash(const void *bytes, size_t size);
uint64_t run_digest(const struct run *run, uint64_t digest);  // of the file and its tasks
// The id of an output in the worker's cache. It is the same in all runs while the signature stays
// the same.
rota_object_id run_output_name(const struct run *run, uint32_t task, uint32_t output);
// The core's id of the same output, which is new in each job.
rota_object_id run_object(const struct run *run, uint32_t task, uint32_t output);
// Finds the output with this id. False: it does not belong to this job.
bool run_object_find(const struct run *run, rota_object_id id, uint32_t *task, uint32_t *output);

// ---- requirements.c: what a job file requires of the run ----------------------------------------

// Whether a condition tests for more than success: then the run continues after a failure.
bool run_has_handlers(const struct jobfile *file);
// Tasks joined by streams run at the same time. False: there are not enough cores; `task` is one of
// the joined tasks, which need `need` cores.
bool run_streams_fit(const struct jobfile *file, uint32_t cores, uint32_t *task, uint32_t *need);

// ---- select.c: which tasks run -----------------------------------------------------------

// After run_sign(). `names` is separated by commas. Returns null, or the first unknown name.
const char *run_only(struct run *run, const char *names);
bool run_wants(const struct run *run, uint32_t task);

// ---- job_record.c: the last job of a file, stored as the answer to a request -------------------

struct run_entry {
    rota_job_id job;
    uint64_t digest;   // of the job file
    const char *watched;  // a line per file; while no file has changed, the tasks have not either
};

// Finds the entry of a job file. Its texts are valid until the next query of the store.
bool run_entry_find(struct store *store, const char *path, struct run_entry *entry);
// In a turn. The text must stay valid until the commit.
void run_entry_put(struct run *run, const char *path, const char *watched);
// The lines for this job file: the user's source files, and outputs that were delivered to the
// user. The caller frees them.
char *run_watched(const struct run *run, run_stamp_fn *stamp);
// Whether the source files are unchanged, not whether the delivered outputs still exist.
bool run_sources_are_same(const char *watched, const char *folder, run_stamp_fn *stamp);

// The text of the note that says that everything is done; the caller frees it. And whether the note
// is still valid.
char *run_done_text(uint64_t digest, uint64_t database, const char *watched);
bool run_done_holds(const char *text, uint64_t digest, uint64_t database, const char *folder,
                    run_stamp_fn *stamp);

// ---- submit.c: the job -----------------------------------------------------------------

// In a turn, before the other functions: numbers the machines of this file. False: server->reason
// says why.
bool run_machines(struct run *run);
// In a turn: submits all tasks of the file as a new job. Reused tasks belong to another machine. If
// the result is not ROTA_OK, server->reason says why.
enum rota_error run_submit(struct run *run, const bool *carried);

// ---- reuse.c: tasks that need not run again ----------------------------------------------

// Objects that the worker holds, by their id in the cache.
struct run_held {
    struct run_held_object {
        rota_object_id name;
        uint64_t bytes;
    } * items;
    uint32_t count, capacity;
    struct map by_name;
};
void run_held_add(struct run_held *held, const wire_files *files);
void run_held_release(struct run_held *held);

// Whether the outputs exist that the tasks of a job of this file have delivered to the user.
bool run_kept_are_there(const struct run *run, rota_job_id job, run_stamp_fn *stamp);

// Finds tasks that were finished in an earlier job and have not changed. `old` may be 0. If `held`
// is null, it is not checked whether their objects still exist.
void run_carry(struct run *run, rota_job_id old, const struct run_held *held, run_stamp_fn *stamp,
               bool *carried);
// In a turn, after the submission: lets the reused tasks succeed without running.
void run_carry_out(struct run *run, const bool *carried, const struct run_held *held);

// After a submission: lets the worker drop objects that only the older job used.
void run_drop(struct run *run, rota_job_id old, const struct run_held *held, struct wire_out *out);

// In a turn: resumes the job of an earlier run. Its attempts are lost; failed and skipped tasks are
// tried again; tasks that are not selected now are cancelled.
void run_resume(struct run *run, const struct run_held *held);

// ---- begin.c: the first turn ------------------------------------------------------------

struct run_start {
    const char *path;             // of the file, absolute
    const char *watched;          // from run_watched(); null: only a preview
    run_stamp_fn *stamp;
    const struct run_held *held;  // by the worker
    uint32_t cores, memory_mib;   // of the worker
    bool fresh;                   // ignore results of earlier runs
};

enum run_begun {
    RUN_BEGUN,
    RUN_BEGIN_REFUSED,  // the server's reason says why
    RUN_BEGIN_FAILED,   // the store has failed
};

// In the first turn: resumes the job of an earlier run, or begins a new one.
enum run_begun run_job_begin(struct run *run, const struct run_start *start, struct wire_out *out);
// A preview: which tasks would run, as far as is known without a worker. Without a server nothing
// was done before.
void run_preview(struct run *run, const struct run_start *start, bool *would);

// ---- lost_objects.c: objects that are missing ---------------------------------------------------

// The worker reports lost objects just before the attempt that lacks them. The core must get that
// attempt first: otherwise it would revoke the attempt, and the loss would never count.
void run_lost(struct run *run, const wire_files *objects);
// In a turn, after a report: has the lost objects produced again.
void run_lost_settle(struct run *run);
// In a turn: makes outputs of worker_again available to all tasks.
void run_made_again(struct run *run, uint32_t task, const struct wire_finished *finished);
void run_worker_join(struct run *run, rota_worker_id id, uint32_t machine);
// In a turn: removes the worker of the previous run, with its objects and attempts.
void run_replace_worker(struct run *run);
rota_worker_id run_worker_of(const struct run *run, uint32_t task);
bool run_worker_is_ours(const struct run *run, rota_worker_id id);

// ---- worker_messages.c: between the core and the worker -----------------------------------------

void run_join(struct run *run, uint32_t cores, uint32_t memory_mib);
// In a turn: turns a message of the worker into events.
void run_intake(struct run *run, const struct wire_message *message);
// After a turn: turns actions of the core into messages. After a failure no new task is sent,
// unless the run keeps going.
void run_perform(struct run *run, struct wire_out *out);
// From now on neither the run nor its worker starts a new task.
void run_drain(struct run *run, struct wire_out *out);

// "exit 2", "signal 9 (Killed)", "timed out", ...; valid until the next call with this buffer.
enum { RUN_END_TEXT = 576 };
const char *run_end_text(const struct run_task *task, char out[RUN_END_TEXT]);
