// internal.h - the structures of a simulation that its files share.
#pragma once

#include "worker/agent/run_orders.h"
#include "sim/cluster/stream.h"
#include "sim/cluster/handler.h"
#include "sim/cluster/expected.h"
#include "sim/cluster/base.h"
#include "sim/cluster/record.h"
#include "sim/cluster/server.h"

// ---- worker.c, worker_messages.c: a worker -----------------------------------------------------

enum process_state { PROCESS_SPAWNING = 1, PROCESS_RUNNING };

struct process {
    rota_task_id task;
    uint32_t attempt, number;  // number: its id in the event queue
    uint64_t token;
    uint32_t job, index;       // of its expected task
    enum process_state state;
    int64_t at;                // when it starts or ends
    int32_t status;
    bool is_stubborn, is_stopped, fails_to_start;
    bool is_evicted;           // a batch system ended it with its worker
    int64_t stop_at;           // it starts first, as it cannot be called back; 0: it is not stopped
    int64_t doomed_at;         // since when the server wants it to end; 0: it does not
    enum read_state reading;        // it reads a stream
    bool has_enough;           // it stops reading before the end
    uint32_t from, writing;    // the worker and the attempt whose stream it reads
};

struct spooled {
    struct wire_finished finished;
    rota_object_id made;  // none: it has no output
    bool safe;
};

struct copy {
    rota_object_id object;
    wire_content content;  // as its worker names it
    bool is_gone;   // lost, but its worker does not know it yet
    bool is_false;      // its bytes differ from the content
    bool is_pretended;  // its worker only claims to have it
};

enum { TRANSFER_SOURCES = 9 };

struct transfer {  // an object in transfer
    rota_object_id object;
    wire_content content;  // the content that is wanted
    uint32_t number;  // its id in the event queue
    uint32_t sources[TRANSFER_SOURCES], source_count, at;
};

struct node {
    bool up, welcome, is_dead;
    bool is_paused;                    // a pause was acknowledged, and it has not left since
    bool is_duplicate;                  // duplicate_workers.c
    char name[24], address[24];
    uint32_t cores, mark, link, numbers;
    struct decide decide;
    uint64_t boot, welcomed;       // of this life; and of the last life that was welcome
    uint64_t folder, place;        // the id of its folder, and its lock since the machine booted
    uint64_t epoch, opened, server;  // what it knows of the server
    int64_t rate;                  // of its clock: parts per million faster or slower
    int64_t booted;                // when its clock began, in simulated time
    int64_t connect_at, welcome_by, pause;  // on its clock
    int64_t timer_at;              // in simulated time: its event in the queue
    int64_t stalled_until;         // the same: its loop does nothing before
    bool is_stopped;               // meanwhile, all threads of the agent are stopped, too
    bool spool_is_due;
    struct wire_recorded forged;   // database_files.c: it reported this with another token
    struct process *processes;
    struct spooled *spool;
    struct sim *sim;
    struct run_orders orders;      // the real rules for RUN and STOP
    struct copy *cache;
    struct transfer *transfers;
    struct open_streams open_streams;
    rota_object_id *losses;        // objects that it had or expected, and did not lose itself
    int transfer_error;                // of the last transfer that failed
    uint32_t cache_count, cache_capacity;
    uint32_t transfer_count, transfer_capacity, loss_count, loss_capacity;
    uint32_t process_count, process_capacity, spool_count, spool_capacity;
};

int64_t sim_node_clock(const struct sim *sim, const struct node *node);
void sim_node_start(struct sim *sim, uint32_t who);
void sim_node_crash(struct sim *sim, uint32_t who, bool reboots);
void sim_node_work(struct sim *sim, uint32_t who);      // acts on what is due on its clock
void sim_node_beat(struct sim *sim, struct node *node);
void sim_node_hears(struct sim *sim, uint32_t who);     // its connection has input
void sim_node_cut_off(struct sim *sim, uint32_t who);   // its connection is closed
void sim_node_spool(struct sim *sim, uint32_t who);     // its reports are on disk now
void sim_node_process(struct sim *sim, uint32_t who, uint32_t number);
void sim_node_lose_disk(struct sim *sim, uint32_t who);      // it comes back with an empty disk
void sim_node_end(struct sim *sim, uint32_t who);      // it never comes back
void sim_node_stall(struct sim *sim, uint32_t who);     // its loop hangs for a while
void sim_node_fence(struct sim *sim, uint32_t who);     // its watchdog, which does not hang
void sim_node_evict(struct sim *sim, uint32_t who);     // a batch system ends it
void sim_node_part(struct sim *sim, uint32_t who);      // the server closes its connection
void sim_node_schedule(struct sim *sim, uint32_t who);
void sim_node_flush(struct sim *sim, uint32_t who);
void sim_node_release(struct node *node);
// process.c
void process_begin(struct sim *sim, uint32_t who, const struct wire_run *run);
void process_stop(struct sim *sim, struct node *node, struct process *process, int64_t grace);
struct process *process_find(struct node *node, rota_task_id task, uint32_t attempt);
void processes_die(struct sim *sim, struct node *node);
void processes_evict(struct sim *sim, uint32_t who);  // the running ones get a signal
void report_add(struct sim *sim, struct node *node, struct attempt *attempt, enum wire_end end,
                int32_t status);
void report_put(const struct spooled *spooled, struct wire_out *out);
// cache.c: objects
bool sim_cache_has(const struct node *node, rota_object_id object);
void sim_cache_add(struct node *node, const struct copy *copy);
void sim_cache_lose(struct sim *sim, uint32_t who, bool all);
void sim_cache_begin(struct node *node);
void sim_cache_crash(struct node *node);
void sim_cache_end(struct sim *sim, struct node *node);
void sim_cache_tell(struct sim *sim, struct node *node);
void sim_cache_drop(struct sim *sim, struct node *node, const struct wire_file *file);
void sim_cache_show(struct sim *sim, struct node *node, rota_object_id object);
bool sim_cache_is_coming(const struct node *node, rota_object_id object);
void sim_cache_lost(struct sim *sim, struct node *node, rota_object_id object);
void sim_cache_fetch(struct sim *sim, uint32_t who, const struct wire_fetch *fetch);
void sim_cache_transfer(struct sim *sim, uint32_t who, uint32_t number);
wire_content sim_cache_content(uint32_t attempt);  // of the output of an attempt
void sim_cache_pretend(struct sim *sim, uint32_t who);
// False: one of its inputs is lost, and the server was told.
bool sim_cache_inputs_are_there(struct sim *sim, struct node *node, uint32_t job, uint32_t index);
// worker_messages.c
void orders_init(struct sim *sim, struct node *node);
bool order_take(struct sim *sim, uint32_t who, const struct wire_message *message);

// ---- client.c: a client ------------------------------------------------------------------------

enum request_kind { REQUEST_WORK, REQUEST_PAUSE, REQUEST_BAD };

struct request {
    enum request_kind kind;
    uint32_t job, task;  // of the expected task; task 0: a submission
    uint32_t verb;
    uint32_t part, number;  // of what is paused; the kind of invalid graph
    bool is_more;        // more tasks of a job that was accepted
    bool answered;
    uint32_t refused;    // the code with which the server refused it; 0: it has not
    bool asks_again;     // although it was refused
    bool is_void;        // a later request contradicts it
};

struct client {
    uint32_t link, mark;
    bool welcome;
    struct request *requests;
    uint32_t request_count, request_capacity, unsent;
    uint32_t submissions;  // still to be sent
    struct journal_place followed;  // how far it has received the events
    bool has_ended_pauses;
    int64_t cut_until;  // its connection carries nothing until then
};

void sim_client_work(struct sim *sim, uint32_t who);
void sim_client_hears(struct sim *sim, uint32_t who);
void sim_client_cut_off(struct sim *sim, uint32_t who);
bool sim_client_is_done(const struct client *client);
struct request *request_add(struct client *client, uint32_t job, uint32_t task);
void sim_client_release(struct client *client);

// ---- requests.c: pauses and invalid graphs ------------------------------------------------------

void pause_make(struct sim *sim, uint32_t who);
void pauses_end(struct sim *sim, struct client *client);
void pause_put(struct wire_out *out, const struct request *request, struct request_id id);
void bad_make(struct sim *sim, uint32_t who);
void bad_put(struct wire_out *out, const struct request *request, struct request_id id);
bool bad_is_meant(const struct sim *sim, const struct wire_message *message);

static inline const char *sim_link_end(const struct link *link)
{
    return link->is_worker ? "worker" : link->is_handler ? "handler" : "client";
}

// ---- Judges: each reports what must not happen --------------------------------------------------

void wrong(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The core alone shows the mistake: a play can expect `line` instead.
void wrong_of_core(struct sim *sim, const char *expect, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void states_say(struct sim *sim, const struct expected_job *job);  // prints to the trace
void judge_start(struct sim *sim, const struct node *node, const struct process *process);
void judge_end(struct sim *sim, const struct process *process, bool ran, bool well);
void judge_told(struct sim *sim, const struct link *link, const struct wire_message *message);
void judge_heard(struct sim *sim, const struct wire_message *message);
void judge_lack(struct sim *sim, const struct node *node, const struct wire_run *run,
                rota_object_id object);
void judge_drop(struct sim *sim, const struct node *node, const struct wire_file *file);
void judge_input(struct sim *sim, const char *who, rota_task_id task, const struct copy *copy);
void judge_recovery(struct sim *sim);
void judge_turn(struct sim *sim);
void judge_recomputed(struct sim *sim);  // recompute.c
// judge_pause.c
// Earlier pause requests no longer count as evidence.
void pause_void(struct sim *sim, uint32_t part, uint32_t number);
bool pause_may_end(const struct sim *sim, uint32_t part, uint32_t number);
void pause_joined(struct sim *sim, uint32_t worker);  // by the worker id of the core
void pause_told(struct sim *sim, const struct request *request);
const char *pause_over(struct sim *sim, rota_task_id task, uint32_t worker);
void judge_bounds(struct sim *sim);  // bounds.c
void *core_resize(void *context, void *old, size_t old_size, size_t new_size);
void judge_close(struct sim *sim);  // at the end
bool judge_is_over(struct sim *sim);

// ---- faults.c -----------------------------------------------------------------------------------

struct setting {
    uint32_t nodes, clients, submissions, tasks_max;
    int64_t lease, latency, sync, tick, fault_time;  // fault_time: how long there are faults
    uint32_t server_crash, worker_crash, reboot, cut, half_open, partition, one_way, clock;
    uint32_t sync_slow, sync_fails, write_fails, full, spawn_fails, stubborn, fails, repeat, cancel;
    uint32_t stall, parted, stuck, split, sync_hangs, empty_disk, vanish, backup, forged;
    uint32_t lanes, is_long, endless;  // per mille of jobs; of processes
    uint32_t run_twice, stays_dead, follows, pauses, bad, client_cut;
    uint32_t streams, pretended, duplicates, unfetchable;
    uint32_t grows, when, handlers, claims, lazy, handler_crash;
    uint32_t data, transfer_slow, transfer_cut, transfer_corrupts, cache_full, copy_lost, disk_lost,
        remake_fails;
    bool is_plan;
};

enum { SIDE_LEFT = 1, SIDE_RIGHT = 2, SIDE_BOTH = SIDE_LEFT | SIDE_RIGHT };

void setting_draw(struct sim *sim);
// Whether a worker can read from another one now.
bool sim_node_is_reached(const struct sim *sim, uint32_t reader, uint32_t from);
bool sim_node_is_parted(const struct sim *sim, uint32_t who);  // from the server
void faults_change(struct sim *sim);
void faults_clear(struct sim *sim);

// ---- duplicate_workers.c: workers that use the name, or a copy of the folder, of another -----

void duplicates_draw(struct sim *sim);
void duplicate_make(struct sim *sim, uint32_t who);  // it uses the name or folder of that worker
void duplicates_end(struct sim *sim);                // permanently
// As the server sees it. Null: no other worker of its name or folder is connected.
const struct node *duplicate_alive(const struct sim *sim, uint32_t who);
bool duplicate_shares_name(const struct sim *sim, const struct node *node);

// ---- Everything together ------------------------------------------------------------------------

struct sim {
    int64_t now;
    uint64_t words;      // number of messages of the server
    int64_t moved;       // when something last began, ended or was acknowledged
    bool is_clear;       // there are no more faults
    struct tape tape;
    struct event_queue queue;
    struct setting setting;
    struct daemon daemon;
    struct node *nodes;
    struct client *clients;
    struct handler *handlers;
    bool *cut[2];        // by worker: nothing is delivered towards that side
    uint8_t *sides;      // bits, of the server, then of each worker: those in common can connect
    int64_t full_until;
    struct link **links;
    uint32_t link_count, link_capacity;
    struct expected_job **jobs;
    uint32_t job_count, job_capacity;
    struct map jobs_by_number;
    uint32_t inside[EXPECTED_LANES + 1][EXPECTED_GROUPS + 1];  // processes that really run
    uint32_t readers[EXPECTED_LANES + 1], writers[EXPECTED_LANES + 1];
    uint64_t tokens[EXPECTED_LANES + 1][EXPECTED_GROUPS + 1];
    bool lane_is_paused[EXPECTED_LANES + 1];  // a pause was acknowledged, and holds
    size_t core_bytes;
    struct core_record known;
    struct play_record played;
    struct sim_result *result;
    FILE *trace, *play;
};

static inline void see(struct sim *sim, enum sim_sight sight)
{
    sim->result->seen[sight]++;
}
void sim_note(struct sim *sim, uint64_t fact);  // adds to the digest
enum { DUMP_SIZE = 200 };
void sim_dump(const struct wire_message *message, char text[DUMP_SIZE]);  // as one line of ASCII
void sim_say(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
