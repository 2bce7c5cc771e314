// rota_client.h - a program that talks to a server of rota: jobs, data, tasks by hand, events.
//
//     struct rota_client *client = rota_client_open();
//     rota_client_connect(client, &(struct rota_client_options){.address = "/run/rota/rota.sock"});
//     rota_client_submit(client, job, &id);
//     rota_client_wait(client, id, ROTA_NEVER, NULL);
//     rota_client_close(client);
//
// A client is one connection, for one thread at a time; other threads have their own. Nothing here
// ends the program, handles a signal, writes to the standard output or keeps anything outside of a
// client. Functions return how it went, and rota_client_reason() has it as a sentence.
#pragma once

#include "rota.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rota_client;

enum rota_client_code {
    ROTA_CLIENT_OK,
    ROTA_CLIENT_WRONG,        // an argument makes no sense: nothing was sent
    ROTA_CLIENT_NO_MEMORY,    // here; the connection may be gone
    ROTA_CLIENT_UNREACHABLE,  // there is no such server, or it does not take the key
    ROTA_CLIENT_GONE,         // the connection broke: it may have been carried out, or not
    ROTA_CLIENT_TIMED_OUT,    // likewise; the connection is still there
    // The server refuses, and nothing has changed:
    ROTA_CLIENT_DENIED,       // the key does not allow it
    ROTA_CLIENT_REFUSED,      // it makes no sense there
    ROTA_CLIENT_NOT_NOW,
    ROTA_CLIENT_NOT_FOUND,
    ROTA_CLIENT_FULL,         // a limit of the server, or its memory
    ROTA_CLIENT_STALE,        // the task is in other hands by now
    ROTA_CLIENT_NOTHING,      // there is no task to fetch
    // What is sent or fetched:
    ROTA_CLIENT_FILE,         // the program's own file cannot be read or written
    ROTA_CLIENT_DAMAGED,      // nobody has sent what was asked for: none of it counts
    ROTA_CLIENT_CODES         // how many there are
};

// ---- A connection ------------------------------------------------------------

enum rota_client_role {
    ROTA_CLIENT_ROLE_CLIENT,   // jobs and questions
    ROTA_CLIENT_ROLE_HANDLER,  // fetches tasks: needs a worker's key, or an admin's
    ROTA_CLIENT_ROLE_ADMIN,    // both
};

struct rota_client_options {
    const char *address;       // "/path" of a socket, or "host:port"
    const char *key_file;      // with keys or a certificate, for host:port; null: none
    const char *name;          // for people; null: "program"
    enum rota_client_role role;
    rota_time patience;        // how long an answer is waited for; 0: 10 s
};

struct rota_client *rota_client_open(void);        // not connected yet; null: no memory
void rota_client_close(struct rota_client *client);  // null is fine
// Also again, when the connection is gone or another one is wanted.
enum rota_client_code rota_client_connect(struct rota_client *client,
                                          const struct rota_client_options *options);
// Of the last call that did not return OK; never null, and valid until the next call.
const char *rota_client_reason(const struct rota_client *client);
// Another one for another database: numbers of jobs mean something in one of them only.
uint64_t rota_client_server(const struct rota_client *client);

// ---- Jobs --------------------------------------------------------------------

struct rota_client_job;        // tasks that will be one job

struct rota_client_job_options {
    const char *name;          // null: none
    enum rota_policy policy;   // CLAIM: its tasks are for handlers
    enum rota_on_failure on_failure;
};

// A file that another task of the job makes.
struct rota_client_input {
    const char *name;          // relative to the directory of the task that reads it
    uint32_t task;             // makes it
    const char *output;        // the name it has there
};

// All zero but argv: a command that runs at once, on any worker, in a directory of its own.
struct rota_client_task {
    const char *const *argv;   // ends with null; the first word is looked up in PATH
    const char *name;          // null: the first word
    const char *const *env;    // NAME=VALUE, ends with null; on top of the worker's
    const char *cwd;           // absolute, and there on the worker; null: a new one, for itself
    const uint32_t *needs;     // numbers of tasks that were added before
    uint32_t need_count;
    const struct rota_client_input *inputs;
    uint32_t input_count;
    const char *const *outputs;  // files that it makes, ends with null; relative to its directory
    bool keep;                 // they stay when no task needs them: rota_client_get()
    const char *lane, *group;    // null: none
    enum rota_access access;   // in a lane READ or WRITE
    const char *machine;       // null: any
    uint32_t cores;            // 0: one
    uint32_t memory_mib, retries;
    rota_time timeout;         // 0: none
    int priority;              // -128 to 127; higher goes first
};

struct rota_client_job *rota_client_job_open(const struct rota_client_job_options *options);
void rota_client_job_close(struct rota_client_job *job);  // null is fine
const char *rota_client_job_reason(const struct rota_client_job *job);
// Says that a lane is to be of that kind (enum rota_lane_flag); before its first task.
enum rota_client_code rota_client_lane_add(struct rota_client_job *job, const char *lane,
                                           uint32_t flags);
// Its number, from 1 on; 0: refused, and rota_client_job_reason() says why. What the task points to
// is not kept.
uint32_t rota_client_task_add(struct rota_client_job *job, const struct rota_client_task *task);
// The same job again, over whichever connection, is the same job: after GONE and TIMED_OUT nothing
// is done twice, and what the server has REFUSED it refuses again. After FULL it may be taken.
enum rota_client_code rota_client_submit(struct rota_client *client,
                                         const struct rota_client_job *job, rota_job_id *id);

// A job file, as `rota submit` takes it.
enum rota_client_format { ROTA_CLIENT_YAML, ROTA_CLIENT_JSON, ROTA_CLIENT_JSON_LINES };

struct rota_client_text {
    enum rota_client_format format;
    const char *path;          // what mistakes are said to be in; null: "job"
    const char *folder;        // absolute: where workers see the files that the text names, and put
                               // what it keeps; null: it may name no files but those of its tasks
    enum rota_policy policy;   // 0: what the text says
    uint64_t high, low;        // of this request: filled in when they are 0; the same, the same job
    const char *mistakes;      // "path:line:column: reason", a line each, until the next call
};
// WRONG: there are mistakes, and the first one is the reason.
enum rota_client_code rota_client_submit_text(struct rota_client *client, const char *text,
                                              size_t length, struct rota_client_text *options,
                                              rota_job_id *id);

struct rota_client_sum { uint32_t tasks, succeeded, failed, aborted; };

// Until nothing of a job goes on any more. TIMED_OUT: it is not over. `sum` may be null.
enum rota_client_code rota_client_wait(struct rota_client *client, rota_job_id job,
                                       rota_time timeout, struct rota_client_sum *sum);

// Task 0 is the job as a whole.
enum rota_client_code rota_client_cancel(struct rota_client *client, rota_task_id task);
enum rota_client_code rota_client_retry(struct rota_client *client, rota_task_id task);
// Nothing new of the job is handed out from now on; and now it is again. NOT_NOW: it is so already.
// The same for a lane, with all its tasks.
enum rota_client_code rota_client_pause(struct rota_client *client, rota_job_id job);
enum rota_client_code rota_client_resume(struct rota_client *client, rota_job_id job);
enum rota_client_code rota_client_lane_pause(struct rota_client *client, const char *lane);
enum rota_client_code rota_client_lane_resume(struct rota_client *client, const char *lane);
// And for a worker: what runs there goes on. Only an admin may. One that is drained ends then.
enum rota_client_code rota_client_worker_pause(struct rota_client *client, const char *worker);
enum rota_client_code rota_client_worker_resume(struct rota_client *client, const char *worker);
enum rota_client_code rota_client_worker_drain(struct rota_client *client, const char *worker);
// The server forgets the job and what it made; what of it has not ended is stopped.
enum rota_client_code rota_client_forget(struct rota_client *client, rota_job_id job);

// ---- Questions ----------------------------------------------------------------

struct rota_client_view {
    enum rota_task_state state;   // of a task
    enum rota_outcome outcome;    // of its last attempt that ended
    int32_t status;               // likewise
    uint32_t attempt;
    char name[256], worker[256];  // worker: where it runs; "": nowhere
    struct rota_client_sum sum;   // of a job
    uint32_t running;             // likewise
    bool is_over;                 // nothing of the job goes on
    bool is_paused;               // nothing new of it is handed out
};

// Task 0 is the job as a whole. A server forgets jobs of which all has succeeded: then their sums
// are all it knows, and their tasks are NOT_FOUND.
enum rota_client_code rota_client_look(struct rota_client *client, rota_task_id task,
                                       struct rota_client_view *view);

// What a command line would answer: {"why", "7.3", NULL} or {"ps", "--json", NULL}. The text is
// valid until the next call. REFUSED: the command ended with another status than 0.
enum rota_client_code rota_client_ask(struct rota_client *client, const char *const *words,
                                      const char **text);

// What the last attempt of a task has printed so far, from an offset on: a piece of it, none at the
// end. Valid until the next call; there is a zero behind it.
enum rota_client_code rota_client_log(struct rota_client *client, rota_task_id task,
                                      uint64_t offset, const char **text, size_t *length);
// The same of another attempt, from 1 on.
enum rota_client_code rota_client_log_of(struct rota_client *client, rota_task_id task,
                                         uint32_t attempt, uint64_t offset, const char **text,
                                         size_t *length);

// ---- Data --------------------------------------------------------------------

// What tasks make is named as for `rota data`: "7/sum", or "7.3/sum" if several tasks of job 7 make
// a sum. What was put into the store of a server is named by its content: rota_client_put() has it.
enum { ROTA_CLIENT_CONTENT = 96 };  // bytes of such a name, with the zero behind it

struct rota_client_object {
    rota_task_id task;
    uint64_t bytes;         // 0: not known
    bool is_directory, is_stream, is_kept;
    char state[16];         // "unmade", "there", "made" (the job is forgotten), "removed"
    char where[600];        // workers that have it, with commas between; "server"; "-": nobody
};
enum rota_client_code rota_client_locate(struct rota_client *client, const char *name,
                                         struct rota_client_object *object);

// The bytes of a file, as soon as it is made; on OK they are right. `offset` is how many of them
// the file has from an earlier call, and how many it has then: the same again goes on there, in a
// regular file that can be read too. A pipe is written to from 0 on. A directory is REFUSED.
enum rota_client_code rota_client_get(struct rota_client *client, const char *name, int file,
                                      rota_time timeout, uint64_t *offset);
// A regular file as it is now, into the store of the server, unless it is there. After GONE and
// TIMED_OUT the same again goes on where it was.
enum rota_client_code rota_client_put(struct rota_client *client, int file,
                                      char name[ROTA_CLIENT_CONTENT]);
// It stays until somebody says the other one, also when nobody needs it.
enum rota_client_code rota_client_keep(struct rota_client *client, const char *name);
enum rota_client_code rota_client_unkeep(struct rota_client *client, const char *name);

// ---- Tasks by hand -------------------------------------------------------------

// Of jobs with the policy CLAIM. All zero: any task, if there is one now.
struct rota_client_wish {
    rota_task_id task;           // task 0: any of that job
    uint32_t flags;              // ROTA_FETCHED_OK, ROTA_FAILED_OK: about one task
    rota_time lease;             // 0: the server's
    rota_time wait;              // until there is one; 0: not at all, ROTA_NEVER
    uint64_t high, low;          // of this request: filled in when they are 0. After GONE, the
                                 // same once more gets the same task.
};

struct rota_client_grant {
    rota_task_id task;
    uint64_t token;              // 0: it was fetched already, which was fine
    uint32_t attempt;
    rota_time lease;             // it is lost when it is neither renewed nor ended so long
    const char *name;
    const char *const *argv;     // ends with null, as does env
    const char *const *env;
    uint64_t high, low;          // of its end; likewise
    uint32_t flags;              // for its end: ROTA_DELIVERED_OK, ROTA_NOFETCH_OK
    void *memory;                // of the texts
};

enum rota_client_code rota_client_fetch(struct rota_client *client, struct rota_client_wish *wish,
                                        struct rota_client_grant *grant);
void rota_client_grant_release(struct rota_client_grant *grant);  // also of a fetch that failed

// Of a grant task and token count, so they may come from elsewhere. STALE: the task was lost, and
// what was done for it does not count.
enum rota_client_code rota_client_renew(struct rota_client *client,
                                        struct rota_client_grant *grant);
enum rota_client_code rota_client_deliver(struct rota_client *client,
                                          struct rota_client_grant *grant, const char *reason);

struct rota_client_failure {
    int32_t status;              // 0: 1
    const char *reason;          // for people; null: none
    bool give_back;              // it was not the task's fault: others may have it
};
enum rota_client_code rota_client_fail(struct rota_client *client, struct rota_client_grant *grant,
                                       const struct rota_client_failure *failure);

// ---- Events ---------------------------------------------------------------------

// A place in the history of a server. All zero: its beginning.
struct rota_client_place { uint64_t sequence; uint32_t place; };

enum rota_client_event_kind {
    ROTA_CLIENT_EVENT_BEGIN = 1,  // following begins behind this place
    ROTA_CLIENT_EVENT_TASK, ROTA_CLIENT_EVENT_JOB, ROTA_CLIENT_EVENT_WORKER,
    ROTA_CLIENT_EVENT_GAP,        // what was before this place is no longer kept
};

struct rota_client_event {
    struct rota_client_place place;  // to go on behind it
    enum rota_client_event_kind kind;
    rota_time at;                    // microseconds since 1970 in UTC
    rota_task_id task;               // task 0: the job alone
    const char *state;               // "READY", "RUNNING", "SUCCESS", ...
    const char *name, *lane, *worker;  // "": none
    int32_t status;
    uint32_t attempt;
};

// What comes behind `place`; null: what comes from now on. Topics are "job=7", "task=7.3", "name=",
// "lane=", "worker=" and "kind=" with their values, and end with null; null: everything. From then
// on the connection is for rota_client_event() alone.
enum rota_client_code rota_client_follow(struct rota_client *client,
                                         const struct rota_client_place *place,
                                         const char *const *topics);
// The next one; its texts are valid until the next call.
enum rota_client_code rota_client_event(struct rota_client *client, rota_time timeout,
                                        struct rota_client_event *event);

#ifdef __cplusplus
}
#endif
