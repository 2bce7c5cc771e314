// internal.h - the inside of an agent, as its files share it.
#pragma once

#include "worker/agent/agent.h"
#include "worker/agent/decide.h"
#include "worker/agent/spool.h"
#include "object/transfer/transfer.h"

#include <time.h>

// ---- inventory.c: what the cache holds ----------------------------------------------------------

struct objects {
    struct memory memory;
    struct pool rows;
    struct map by_hash;
};

bool objects_add(struct objects *objects, const wire_files *files);  // false: no memory
void objects_remove(struct objects *objects, const wire_files *files);
// HELD for all that are there, HELD_ALL behind them; the others are forgotten.
void objects_tell(struct objects *objects, struct cache *cache, struct wire_out *out);
void objects_release(struct objects *objects);

// ---- logs.c: what commands have printed, in pieces ----------------------------------------------

// Those who read a log ask for one piece after the other: a reader stays where it is for the next.
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

// One LOGGED for one LOG. `is_over`: nothing more will be printed.
void logs_answer(struct logs *logs, const struct wire_log *log, bool is_over,
                 struct wire_out *out);
void logs_release(struct logs *logs);

// ---- fence.c: the end of all commands when a lease is over and the loop cannot act --------------

struct fence {
    int timer;     // shared with the process that runs commands
    timer_t last;  // the kernel kills the agent
    pid_t worker;
    int64_t due;
};

bool fence_open(struct fence *fence);  // before the fork; false with errno
bool fence_watch(struct fence *fence, pid_t worker);  // behind it: it has a thread
// At these times of CLOCK_BOOTTIME the worker and this process are killed; INT64_MAX: not.
void fence_set(struct fence *fence, int64_t due, int64_t last);

// ---- The agent ----------------------------------------------------------------------------------

struct waiting {  // a RUN that waits for the end of an older attempt
    struct waiting *next;
    rota_task_id task;
    uint32_t attempt;
    struct wire_in frame;
};

// What goes between the caches of workers, and the RUNs that wait for it.
struct carry {
    struct memory memory;
    struct cache cache;
    struct data_server *server;  // null: nobody fetches here
    struct data_fetcher *fetcher;
    struct map fetching;         // hashes of the objects that are on their way
    struct waiting *lacking;
    int error;          // of the last object that did not come: ENODATA, or ENOSPC
    char reason[300];   // and why
    bool is_open;
};

// Streams that are written here and read elsewhere, and the other way round.
struct flows {
    struct outflow *out;
    struct inflow *in;
    int loop;
    int64_t tell_at;  // ticks: how far they are
};

struct agent {
    const struct agent_options *options;
    struct decide decide;
    struct spool spool;
    struct objects objects;
    struct logs logs;
    struct fence fence;
    struct carry carry;
    struct flows flows;
    struct waiting *waiting;
    struct alias *aliases;  // of what is not made yet
    int signals;
    int status;  // of the exit; -1: it goes on

    pid_t pid;            // of the process that runs commands
    struct link *worker;  // to it; null: it has ended
    bool has_hello;
    uint32_t cores, memory_mib;
    char limits[256];

    struct link *server;  // null: none
    bool is_welcome, was_welcome;
    uint32_t denials;  // servers in a row that did not take its key
    uint32_t turn;        // whose turn it is among the servers
    uint64_t boot, seed;
    uint64_t folder_id, place;  // identity.c
    uint64_t epoch;   // the largest that the server has told,
    uint64_t opened;  // and what it told with that
    int64_t pause, connect_at, welcome_by;
    struct report *unsafe;  // the first that is not on disk
    struct report *unsent;  // the first that was not sent on this connection
    int64_t sync_at;        // when notes or a full disk are tried again
    bool is_full;
    char said[500];         // about servers; the same is not said twice in a row

    uint32_t interrupts;
    bool is_leaving;        // ends when nothing runs any more
    bool is_ending;
    int64_t kill_at, leave_at;
    int64_t alive_at;       // when a supervisor is told again that the loop goes round
};

void agent_say(const struct agent *agent, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- service.c: a supervisor --------------------------------------------------------------------

void service_ready(const struct agent *agent);
void service_status(const struct agent *agent, const char *status, const char *address);
void service_stopping(const struct agent *agent, const char *status);
void service_beat(struct agent *agent, int64_t now);
int64_t service_due(const struct agent *agent);

// ---- identity.c: which folder this is -----------------------------------------------------------

bool identity_open(struct agent *agent);  // behind the spool, which locks the folder

// ---- connect.c: the way to a server -------------------------------------------------------------

void server_connect(struct agent *agent, int64_t now);  // to the next of them
void server_beat(struct agent *agent);
void server_drop(struct agent *agent, const char *reason);
void server_timers(struct agent *agent, int64_t now);  // BEATs, and patience
int64_t server_due(const struct agent *agent);
void on_welcome(struct agent *agent, const struct wire_welcome *welcome);

// ---- orders.c: what the server says -------------------------------------------------------------

void orders_take(struct agent *agent);
void attempt_end(struct agent *agent, struct attempt *attempt, int64_t grace);  // tells it to end
void waiting_go_on(struct agent *agent, rota_task_id task);
void waiting_release(struct agent *agent);
void agent_drain(struct agent *agent);  // starts nothing more
void agent_leave(struct agent *agent);  // the same, and ends when nothing runs
void agent_quit(struct agent *agent, int64_t grace);

bool waiting_add(struct waiting **list, const struct wire_message *message);  // false: no memory
void waiting_remove(struct waiting **at);
struct waiting **waiting_find(struct waiting **list, const struct attempt *attempt);

// ---- inputs.c: objects between workers ----------------------------------------------------------

bool carry_open(struct agent *agent);  // behind the fork: it has a thread
void carry_close(struct agent *agent);
const char *carry_address(const struct agent *agent);  // "": nowhere
void carry_give(struct agent *agent, const struct wire_message *message);  // a RUN may start
bool carry_take_back(struct agent *agent, const struct attempt *attempt);
void carry_refuse(struct agent *agent, int error, const char *reason);  // all that waits
void carry_fetch(struct agent *agent, const struct wire_fetch *fetch);
void carry_serve(struct agent *agent, const struct wire_serve *serve);
void carry_drop(struct agent *agent, const wire_files *objects);
int64_t carry_due(const struct agent *agent);  // ticks
void carry_work(struct agent *agent, int64_t ticks);
void carry_lies_tell(struct agent *agent);  // refused contents that the server does not know of

// ---- holdings.c: what the server thinks is here -------------------------------------------------

bool show_has(struct agent *agent, rota_object_id object, struct cache_entry *entry);
void show_lost(struct agent *agent, rota_object_id object);  // it is not; the server hears of it
void show_held(struct agent *agent, rota_object_id object, const struct cache_entry *entry);
void show_all(struct agent *agent, const wire_files *objects);  // one or the other, after a look

// ---- known_results.c: results, by content key ---------------------------------------------------

void known_take(struct agent *agent, const struct wire_known *known);
void known_tell(struct cache *cache, struct wire_out *out);  // HELD for each that is there

// ---- shared_results.c: objects with two names ---------------------------------------------------

void alias_take(struct agent *agent, const struct wire_alias *alias);
void alias_made(struct agent *agent, const wire_files *outputs);  // before the server hears of it
void alias_forget(struct agent *agent, const wire_files *outputs);  // they are made for themselves
void alias_release(struct agent *agent);

// ---- streams.c: streams between workers ---------------------------------------------------------

bool flows_open(struct agent *agent);
void flows_close(struct agent *agent);  // before carry_close
void flows_meet(struct agent *agent, const struct wire_flow *flow);
// A command is about to start. False: a stream it reads is neither here nor said to be elsewhere.
bool flows_given(struct agent *agent, const struct wire_run *run);
void flows_started(struct agent *agent, rota_task_id task, uint32_t attempt);
void flows_ended(struct agent *agent, const struct wire_finished *finished);
void flows_recorded(struct agent *agent, const struct wire_recorded *recorded);
void flows_give_up(struct agent *agent);  // the server of those that have ended is gone
bool flows_cut(struct agent *agent, rota_task_id task, uint32_t attempt);  // what it read broke off
void flows_forget(struct agent *agent, rota_object_id object);  // nobody is to read it
int64_t flows_due(const struct agent *agent);
void flows_work(struct agent *agent, int64_t ticks);

// ---- reports.c: what the process says that runs commands ----------------------------------------

void reports_take(struct agent *agent);
void report_refused(struct agent *agent, struct attempt *attempt, enum wire_end end, int error,
                    const char *reason);
void reports_sync(struct agent *agent, int64_t now);
void reports_send(struct agent *agent);
