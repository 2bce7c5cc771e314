// rota_client.h - a client of a rota server: jobs, data, tasks for external workers, events.
//
//     struct rota_client *client = rota_client_open();
//     rota_client_connect(client, &(struct rota_client_options){"/run/rota/server.sock"});
//     rota_client_submit(client, job, &id);
//     rota_client_wait(client, id, ROTA_NEVER, NULL);
//     rota_client_close(client);
//
// A client is one connection, for one thread at a time; give each thread its own client. Nothing
// here ends the program, handles a signal, writes to the standard output or keeps state outside of
// a client. Functions return a code, and rota_client_reason() has the sentence for people.
#pragma once

#include "rota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_client;

enum rota_client_code {
    ROTA_CLIENT_OK,
    ROTA_CLIENT_WRONG,        // invalid argument: nothing was sent
    ROTA_CLIENT_NO_MEMORY,    // in this process; the connection may be closed
    ROTA_CLIENT_UNREACHABLE,  // there is no such server, or it rejects the key
    ROTA_CLIENT_GONE,         // the connection broke: the request may have been carried out, or not
    ROTA_CLIENT_TIMED_OUT,    // the same, but the connection is still open
    // The server refuses, and nothing has changed:
    ROTA_CLIENT_DENIED,       // the key does not allow it
    ROTA_CLIENT_REFUSED,      // the request is invalid there
    ROTA_CLIENT_NOT_NOW,      // the state does not allow it
    ROTA_CLIENT_NOT_FOUND,
    ROTA_CLIENT_FULL,         // a limit of the server, or its memory
    ROTA_CLIENT_STALE,        // the lease was lost: another worker may have the task
    ROTA_CLIENT_NOTHING,      // there is no task to fetch
    // Of put and get:
    ROTA_CLIENT_FILE,         // the caller's file cannot be read or written
    ROTA_CLIENT_DAMAGED,      // no peer sent the right bytes: discard the file
    ROTA_CLIENT_CODES         // the number of codes
};

// ---- A connection ------------------------------------------------------------

enum rota_client_role {
    ROTA_CLIENT_ROLE_CLIENT,   // jobs and queries
    ROTA_CLIENT_ROLE_HANDLER,  // fetches tasks: needs a worker's key, or an admin's
    ROTA_CLIENT_ROLE_ADMIN,    // both
};

struct rota_client_options {
    const char *address;       // "/path" of a socket, or "host:port"
    const char *key_file;      // with keys or a certificate, for host:port; null: none
    const char *name;          // shown to people; null: "program"
    enum rota_client_role role;
    rota_time patience;        // timeout of a request; 0: 10 s
};

struct rota_client *rota_client_open(void);        // not connected yet; null: no memory
void rota_client_close(struct rota_client *client);  // null is fine
// May be called again: to reconnect, or to connect to another server.
enum rota_client_code rota_client_connect(struct rota_client *client,
                                          const struct rota_client_options *options);
// The reason of the last call that did not return OK; never null, valid until the next call.
const char *rota_client_reason(const struct rota_client *client);
// The id of the server's database. Job numbers are valid within one database only.
uint64_t rota_client_server(const struct rota_client *client);

// ---- Jobs --------------------------------------------------------------------

struct rota_client_job;        // the tasks of one job, before it is submitted

struct rota_client_job_options {
    const char *name;          // null: none
    enum rota_policy policy;   // CLAIM: external workers run its tasks
    enum rota_on_failure on_failure;
};

// A file that another task of the job produces.
struct rota_client_input {
    const char *name;          // relative to the directory of the task that reads it
    uint32_t task;             // the producer
    const char *output;        // its name in the producer's outputs
};

// All zero but argv: a command that runs at once, on any worker, in an empty directory.
struct rota_client_task {
    const char *const *argv;   // ends with null; the worker finds the program in its PATH
    const char *name;          // null: the first word
    const char *const *env;    // NAME=VALUE, ends with null; added to the worker's
    const char *cwd;           // absolute, exists on the worker; null: a new directory
    const uint32_t *needs;     // numbers of tasks that were added earlier
    uint32_t need_count;
    const struct rota_client_input *inputs;
    uint32_t input_count;
    const char *const *outputs;  // files it produces, ends with null; relative to its directory
    bool keep;                 // keep the outputs when no task needs them: rota_client_get()
    const char *lane, *group;    // null: none
    enum rota_access access;   // with a lane: READ or WRITE
    const char *machine;       // null: any
    uint32_t cores;            // 0: one
    uint32_t memory_mib, retries;
    rota_time timeout;         // 0: none
    int priority;              // -128 to 127; higher runs first
};

struct rota_client_job *rota_client_job_open(const struct rota_client_job_options *options);
void rota_client_job_close(struct rota_client_job *job);  // null is fine
const char *rota_client_job_reason(const struct rota_client_job *job);
// Sets the flags of a lane (enum rota_lane_flag); call it before the lane's first task.
enum rota_client_code rota_client_lane_add(struct rota_client_job *job, const char *lane,
                                           uint32_t flags);
// Returns the number of the task, from 1 on; 0: refused, see rota_client_job_reason(). Copies what
// `task` points to.
uint32_t rota_client_task_add(struct rota_client_job *job, const struct rota_client_task *task);
// Submitting the same rota_client_job again, over any connection, creates no second job: repeat the
// call after GONE, TIMED_OUT or FULL. A job that the server has REFUSED stays refused.
enum rota_client_code rota_client_submit(struct rota_client *client,
                                         const struct rota_client_job *job, rota_job_id *id);

// The text of a job file, as for `rota submit`.
enum rota_client_format { ROTA_CLIENT_YAML, ROTA_CLIENT_JSON, ROTA_CLIENT_JSON_LINES };

struct rota_client_text {
    enum rota_client_format format;
    const char *path;          // the file name in `mistakes`; null: "job"
    const char *folder;        // absolute: where workers find the files that the text names, and
                               // put kept outputs; null: tasks may read only each other's outputs
    enum rota_policy policy;   // 0: the policy that the job file names
    uint64_t high, low;        // request id; zeros are filled in; the same id means the same job
    const char *mistakes;      // lines "path:line:column: reason"; valid until the next call
};
// WRONG: the text has mistakes, and the first one is the reason.
enum rota_client_code rota_client_submit_text(struct rota_client *client, const char *text,
                                              size_t length, struct rota_client_text *options,
                                              rota_job_id *id);

struct rota_client_sum { uint32_t tasks, succeeded, failed, aborted; };

// Waits until no task of the job runs or can run. TIMED_OUT: one still does. `sum` may be null.
enum rota_client_code rota_client_wait(struct rota_client *client, rota_job_id job,
                                       rota_time timeout, struct rota_client_sum *sum);

// Task 0 stands for all tasks of the job.
enum rota_client_code rota_client_cancel(struct rota_client *client, rota_task_id task);
enum rota_client_code rota_client_retry(struct rota_client *client, rota_task_id task);
// A paused job starts no further tasks; running ones continue. NOT_NOW: it is paused, or not
// paused, already. The same for a lane.
enum rota_client_code rota_client_pause(struct rota_client *client, rota_job_id job);
enum rota_client_code rota_client_resume(struct rota_client *client, rota_job_id job);
enum rota_client_code rota_client_lane_pause(struct rota_client *client, const char *lane);
enum rota_client_code rota_client_lane_resume(struct rota_client *client, const char *lane);
// The same for a worker; needs an admin's key. A drained worker exits when its tasks have ended.
enum rota_client_code rota_client_worker_pause(struct rota_client *client, const char *worker);
enum rota_client_code rota_client_worker_resume(struct rota_client *client, const char *worker);
enum rota_client_code rota_client_worker_drain(struct rota_client *client, const char *worker);
// The server stops the job, and removes it and its objects.
enum rota_client_code rota_client_forget(struct rota_client *client, rota_job_id job);

// ---- Queries ------------------------------------------------------------------

struct rota_client_view {
    enum rota_task_state state;   // of a task
    enum rota_outcome outcome;    // of its last attempt that ended
    int32_t status;               // its exit status; 256 and more: doc/database-schema.md, `exit`
    uint32_t attempt;
    char name[256], worker[256];  // worker: where it runs; "": it does not run
    struct rota_client_sum sum;   // of a job
    uint32_t running;             // tasks of the job
    bool is_over;                 // the job has finished
    bool is_paused;               // the job is paused
};

// Task 0 stands for the job. A server removes jobs whose tasks have all succeeded: it keeps their
// sums, and their tasks are NOT_FOUND.
enum rota_client_code rota_client_look(struct rota_client *client, rota_task_id task,
                                       struct rota_client_view *view);

// Runs a command that queries the server: {"why", "7.3", NULL} or {"ps", "--json", NULL}. `text` is
// its output, valid until the next call. REFUSED: its exit status was not 0.
enum rota_client_code rota_client_ask(struct rota_client *client, const char *const *words,
                                      const char **text);

// A piece of the output of a task's last attempt, from an offset on; it is empty at the end. The
// text ends with a zero byte and is valid until the next call.
enum rota_client_code rota_client_log(struct rota_client *client, rota_task_id task,
                                      uint64_t offset, const char **text, size_t *length);
// The same for a given attempt, from 1 on.
enum rota_client_code rota_client_log_of(struct rota_client *client, rota_task_id task,
                                         uint32_t attempt, uint64_t offset, const char **text,
                                         size_t *length);

// ---- Data --------------------------------------------------------------------

// The output of a task is named as for `rota data`: "7/sum", or "7.3/sum" if several tasks of job 7
// produce a sum. rota_client_put() returns the name of a file in the server's object store.
enum { ROTA_CLIENT_CONTENT = 96 };  // size of such a name, with the final zero

struct rota_client_object {
    rota_task_id task;
    uint64_t bytes;         // 0: unknown
    bool is_directory, is_stream, is_kept;
    char state[16];         // "unmade", "there", "made" (the job was removed), "removed"
    char where[600];        // workers that hold it, separated by commas; "server"; "-": none
};
enum rota_client_code rota_client_locate(struct rota_client *client, const char *name,
                                         struct rota_client_object *object);

// Waits until the object exists, and writes its bytes to `file`; on OK they match their checksum.
// `offset` is the number of bytes that `file` holds: repeat the call to resume, if `file` is a
// regular file open for reading, too. For a pipe it is 0 at first. A directory is REFUSED.
enum rota_client_code rota_client_get(struct rota_client *client, const char *name, int file,
                                      rota_time timeout, uint64_t *offset);
// Copies a regular file to the server's object store, unless the store has it. After GONE and
// TIMED_OUT, the same call resumes.
enum rota_client_code rota_client_put(struct rota_client *client, int file,
                                      char name[ROTA_CLIENT_CONTENT]);
// A kept object stays until rota_client_unkeep(), also when no task needs it.
enum rota_client_code rota_client_keep(struct rota_client *client, const char *name);
enum rota_client_code rota_client_unkeep(struct rota_client *client, const char *name);

// ---- Tasks for external workers ------------------------------------------------

// For jobs with the policy CLAIM. All zero: any task, without waiting.
struct rota_client_wish {
    rota_task_id task;           // task 0: any of that job
    uint32_t flags;              // ROTA_FETCHED_OK, ROTA_FAILED_OK: for one task only
    rota_time lease;             // 0: the server's default
    rota_time wait;              // for a task; 0: do not wait; ROTA_NEVER: no limit
    uint64_t high, low;          // request id; zeros are filled in. After GONE, the same id
                                 // fetches the same task.
};

struct rota_client_grant {
    rota_task_id task;
    uint64_t token;              // 0: it was fetched already, as ROTA_FETCHED_OK allows
    uint32_t attempt;
    rota_time lease;             // renew or end the task within this time, or lose it
    const char *name;
    const char *const *argv;     // ends with null, as does env
    const char *const *env;
    uint64_t high, low;          // request id of its end; zeros are filled in
    uint32_t flags;              // for its end: ROTA_DELIVERED_OK, ROTA_NOFETCH_OK
    void *memory;                // holds the texts
};

enum rota_client_code rota_client_fetch(struct rota_client *client, struct rota_client_wish *wish,
                                        struct rota_client_grant *grant);
void rota_client_grant_release(struct rota_client_grant *grant);  // also after a failed fetch

// These use only `task` and `token` of a grant, so another process may have fetched it. STALE: the
// lease was lost, and the attempt does not count.
enum rota_client_code rota_client_renew(struct rota_client *client,
                                        struct rota_client_grant *grant);
enum rota_client_code rota_client_deliver(struct rota_client *client,
                                          struct rota_client_grant *grant, const char *reason);

struct rota_client_failure {
    int32_t status;              // 0: 1
    const char *reason;          // shown to people; null: none
    bool give_back;              // not the task's fault: another worker may fetch it
};
enum rota_client_code rota_client_fail(struct rota_client *client, struct rota_client_grant *grant,
                                       const struct rota_client_failure *failure);

// ---- Events ---------------------------------------------------------------------

// A position in the journal of a server. All zero: its beginning.
struct rota_client_place { uint64_t sequence; uint32_t place; };

enum rota_client_event_kind {
    ROTA_CLIENT_EVENT_BEGIN = 1,  // events from after this position follow
    ROTA_CLIENT_EVENT_TASK, ROTA_CLIENT_EVENT_JOB, ROTA_CLIENT_EVENT_WORKER,
    ROTA_CLIENT_EVENT_GAP,        // the server has removed the events before this position
};

struct rota_client_event {
    struct rota_client_place place;  // pass it to rota_client_follow() to resume
    enum rota_client_event_kind kind;
    rota_time at;                    // microseconds since 1970 in UTC
    rota_task_id task;               // task 0: the job
    const char *state;               // "READY", "RUNNING", "SUCCESS", ...
    const char *name, *lane, *worker;  // "": none
    int32_t status;
    uint32_t attempt;
};

// Subscribes to the events after `place`; null: from now on. Topics are "job=7", "task=7.3",
// "name=", "lane=", "worker=" and "kind=" with their values, and end with null; null: all events.
// From then on, only rota_client_event() may use the connection.
enum rota_client_code rota_client_follow(struct rota_client *client,
                                         const struct rota_client_place *place,
                                         const char *const *topics);
// The next event; its texts are valid until the next call.
enum rota_client_code rota_client_event(struct rota_client *client, rota_time timeout,
                                        struct rota_client_event *event);

#ifdef __cplusplus
}
#endif
