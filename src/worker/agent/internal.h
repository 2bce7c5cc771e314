// internal.h - internals of the agent, shared by its files.
#pragma once

#include "worker/agent/agent.h"
#include "object/cache/cache.h"
#include "worker/agent/decide.h"
#include "worker/agent/run_orders.h"
#include "worker/agent/spool.h"
#include "object/transfer/transfer.h"

#include <time.h>

// ---- inventory.c: contents of the cache -----------------------------------------------------

struct agent;
struct inventory {
    struct memory memory;
    struct pool rows;
    struct map by_hash;
};

bool inventory_add(struct inventory *inventory, const wire_files *files);  // false: out of memory
void inventory_remove(struct inventory *inventory, const wire_files *files);
// Sends HELD for all that exist and for results, then HELD_ALL; the others are removed.
void inventory_tell(struct inventory *inventory, struct cache *cache, struct wire_out *out);
void inventory_release(struct inventory *inventory);
void known_take(struct agent *agent, const struct wire_known *known);  // a result, by its key

// ---- logs.c: output of commands, in pieces --------------------------------------------------

// A client asks for one piece of a log after the other: the reader keeps its position for the next.
enum { LOGS_OPEN = 4, LOGS_PIECE = 64 << 10 };
struct logs {
    const char *folder;
    struct log_place {
        struct log_reader *reader;
        rota_task_id task;
        uint32_t attempt;
        uint64_t offset, used;
    } places[LOGS_OPEN];
    uint64_t clock;
    char piece[LOGS_PIECE];
};

// One LOGGED for one LOG. `is_over`: the command prints nothing more.
void logs_answer(struct logs *logs, const struct wire_log *log, bool is_over,
                 struct wire_out *out);
void logs_release(struct logs *logs);

// ---- fence.c: kills all commands when a lease expires and the loop cannot act ---------------

struct fence {
    int timer;     // shared with the process that runs commands
    timer_t last;  // when it expires the kernel kills the agent
    pid_t worker;
    int64_t due;
};

bool fence_open(struct fence *fence);  // before the fork; false with errno
bool fence_watch(struct fence *fence, pid_t worker);  // after the fork, because it starts a thread
// At these times of CLOCK_BOOTTIME the worker and this process are killed; INT64_MAX: never.
void fence_set(struct fence *fence, int64_t due, int64_t last);
// Does not return if the first of these times has passed: the thread ends this process.
void fence_obey(const struct fence *fence);

// ---- The agent ----------------------------------------------------------------------------------

// Transfers between the caches of workers.
struct inputs {
    struct memory memory;
    struct cache cache;
    struct data_server *server;  // null: other workers cannot fetch here
    struct data_fetcher *fetcher;
    struct map fetching;  // hashes of the objects that are being fetched
    int error;          // of the last object that could not be fetched: ENODATA, or ENOSPC
    char reason[300];   // and why
    bool is_open;
};

// Streams that are written here and read on another worker, and the reverse.
struct streams {
    struct stream_out *out;
    struct stream_in *in;
    int loop;
    int64_t tell_at;  // ticks: when to report their progress
};

struct agent {
    const struct agent_options *options;
    struct decide decide;
    struct spool spool;
    struct inventory inventory;
    struct logs logs;
    struct fence fence;
    struct inputs inputs;
    struct streams streams;
    struct run_orders orders;
    struct shared_result *shared_results;  // of objects that are not made yet
    int signals;
    int status;  // exit status; -1: it continues

    pid_t pid;            // of the process that runs commands
    struct link *worker;  // to it; null: it has ended
    bool has_hello;
    uint32_t cores, memory_mib;
    char limits[256];

    struct link *server;  // null: none
    bool is_welcome, was_welcome;
    uint32_t denials;  // number of servers in a row that refused its key
    uint32_t turn;     // index of the next server to try
    uint64_t boot, seed;
    uint64_t folder_id, place;  // identity.c
    uint64_t epoch;             // the largest that the server has sent,
    uint64_t opened;            // and `opened` of the same message
    int64_t pause, connect_at, welcome_by;
    struct report *unsafe;  // the first that is not on disk
    struct report *unsent;  // the first that was not sent on this connection
    int64_t sync_at;        // when to write notes, or to try a full disk, again
    bool is_full;
    char said[500];  // about servers; the same message is not repeated

    uint32_t interrupts;
    bool is_leaving;  // ends when no command runs any more
    bool is_ending;
    int64_t kill_at, leave_at;
    int64_t alive_at;  // when to tell the supervisor again that the loop works
};

void agent_say(const struct agent *agent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- service.c: the supervisor --------------------------------------------------------------

void service_status(const struct agent *agent, const char *status, const char *address);
void service_stopping(const struct agent *agent, const char *status);
void service_beat(struct agent *agent, int64_t now);
int64_t service_due(const struct agent *agent);

// ---- identity.c: the id of the folder -------------------------------------------------------

bool identity_open(struct agent *agent);  // after the spool, which locks the folder

// ---- connect.c: the connection to a server --------------------------------------------------

void server_beat(struct agent *agent);
void server_drop(struct agent *agent, const char *reason);
void server_timers(struct agent *agent, int64_t now);  // heartbeats and timeouts
int64_t server_due(const struct agent *agent);
void on_welcome(struct agent *agent, const struct wire_welcome *welcome);

// ---- orders.c: messages of the server -------------------------------------------------------

void orders_take(struct agent *agent);
void agent_leave(struct agent *agent);  // starts no more commands, ends when no command runs
// Starts no more commands either, and ends those that run after the grace period.
void agent_quit(struct agent *agent, int64_t grace);

// ---- inputs.c: objects between workers ----------------------------------------------------------

bool inputs_open(struct agent *agent);  // after the fork, because it starts a thread
void inputs_close(struct agent *agent);
const char *inputs_address(const struct agent *agent);  // "": none
extern const struct run_host inputs_host;              // for run_orders.c; its context is the agent
void inputs_fetch(struct agent *agent, const struct wire_fetch *fetch);
void inputs_serve(struct agent *agent, const struct wire_serve *serve);
void inputs_drop(struct agent *agent, const wire_files *objects);
int64_t inputs_due(const struct agent *agent);  // ticks
void inputs_work(struct agent *agent, int64_t ticks);
// reports false contents that the server does not know of
void inputs_report_false(struct agent *agent);

// ---- holdings.c: objects that the server asks about -----------------------------------------

bool holdings_has(struct agent *agent, rota_object_id object, struct cache_entry *entry);
// It is missing; the server is told.
void holdings_lost(struct agent *agent, rota_object_id object);
void holdings_held(struct agent *agent, rota_object_id object, const struct cache_entry *entry);
// One or the other, after a check.
void holdings_show(struct agent *agent, const wire_files *objects);

// ---- shared_results.c: objects with two names -----------------------------------------------

void shared_results_take(struct agent *agent, const struct wire_alias *alias);
// before the server gets the report
void shared_results_made(struct agent *agent, const wire_files *outputs);
// They are made on their own.
void shared_results_forget(struct agent *agent, const wire_files *outputs);
void shared_results_release(struct agent *agent);

// ---- streams.c: streams between workers ---------------------------------------------------------

bool streams_open(struct agent *agent);
void streams_close(struct agent *agent);  // before inputs_close
void streams_meet(struct agent *agent, const struct wire_flow *flow);
// A command is about to start. False: a stream it reads is neither here nor announced from another
// worker.
bool streams_given(struct agent *agent, const struct wire_run *run);
void streams_started(struct agent *agent, rota_task_id task, uint32_t attempt);
void streams_ended(struct agent *agent, const struct wire_finished *finished);
void streams_recorded(struct agent *agent, const struct wire_recorded *recorded);
void streams_abandon(struct agent *agent);  // the server of the ended writers is gone
// a stream it read broke off
bool streams_cut(struct agent *agent, rota_task_id task, uint32_t attempt);
void streams_forget(struct agent *agent, rota_object_id object);  // it will not be read
int64_t streams_due(const struct agent *agent);
void streams_work(struct agent *agent, int64_t ticks);

// ---- reports.c: messages of the process that runs commands ----------------------------------

void reports_take(struct agent *agent);
// Its context is the agent.
void report_refused(void *context, struct attempt *attempt, enum wire_end end, int error,
                    const char *reason);
void reports_sync(struct agent *agent, int64_t now);
void reports_send(struct agent *agent);
