// internal.h - the inside of a world, as its files share it.
#pragma once

#include "worker/agent/decide.h"
#include "sim/cluster/stream.h"
#include "sim/cluster/handler.h"
#include "sim/cluster/expected.h"
#include "sim/cluster/base.h"
#include "sim/cluster/record.h"
#include "sim/cluster/server.h"
#include "sim/cluster/duplicate_workers.h"

// ---- worker.c, orders.c: a worker ---------------------------------------------------------------

enum process_state { PROCESS_SPAWNING = 1, PROCESS_RUNNING };

struct process {
    rota_task_id task;
    uint32_t attempt, number;  // number: its name in the agenda
    uint64_t token;
    uint32_t job, index;       // of its ghost
    enum process_state state;
    int64_t at;                // when it starts or ends
    int32_t status;
    bool is_stubborn, is_stopped, fails_to_start;
    bool is_evicted;           // a batch system ended it with its worker
    int64_t stop_at;           // it starts first, because nobody can call it back; 0: it goes on
    int64_t doomed_at;         // since when the server wants it gone; 0: it does not
    enum thirst thirst;        // it reads a stream
    bool has_enough;           // before the end of it
    uint32_t from, writing;    // of which hand, and of which attempt of the writer
};

struct spooled {
    struct wire_finished finished;
    rota_object_id made;  // none: it makes nothing
    bool safe;
};

struct copy {
    rota_object_id object;
    wire_content content;  // as its worker names it: a word
    bool is_gone;   // and its worker does not know it yet
    bool is_false, is_lie;  // its bytes are not those of the content; its worker made it up
};

enum { HAUL_SOURCES = 9 };

struct haul {  // an object on its way
    rota_object_id object;
    wire_content content;  // that is wanted
    uint32_t number;  // its name in the agenda
    uint32_t sources[HAUL_SOURCES], source_count, at;
};

struct hand {
    bool up, welcome, buried;
    bool rests;                    // a pause of it was acknowledged, and it has not left since
    bool is_twin;                  // duplicate_workers.c
    char name[24], address[24];
    uint32_t cores, mark, cable, numbers;
    struct decide decide;
    uint64_t boot, welcomed;       // of this life; and of the last that was welcome
    uint64_t folder, place;        // its folder's id, and its lock under this start of the machine
    uint64_t epoch, opened, server;  // what it knows of the server
    int64_t rate;                  // of its clock: millionths more or less
    int64_t booted;                // when its clock began, in the time of the world
    int64_t connect_at, welcome_by, pause;  // on its clock
    int64_t timer_at;              // in the time of the world: noted in the agenda
    int64_t stalled_until;         // the same: its loop does nothing before
    bool is_stopped;               // meanwhile, with all threads of the agent
    bool spool_is_due;
    struct wire_recorded forged;   // database_files.c: it has told an end of that with another token
    struct process *processes;
    struct spooled *spool;
    struct wire_in *waiting, *lacking;  // orders: for an older attempt; for objects
    struct copy *shelf;
    struct haul *hauls;
    struct brooks brooks;
    rota_object_id *losses;        // what it had, or was to have, and is not to blame for
    int haul_error;                // of the last that did not come
    uint32_t lacking_count, lacking_capacity, shelf_count, shelf_capacity;
    uint32_t haul_count, haul_capacity, loss_count, loss_capacity;
    uint32_t process_count, process_capacity, spool_count, spool_capacity;
    uint32_t waiting_count, waiting_capacity;
};

int64_t hand_clock(const struct world *world, const struct hand *hand);
void hand_start(struct world *world, uint32_t who);
void hand_crash(struct world *world, uint32_t who, bool reboots);
void hand_work(struct world *world, uint32_t who);      // what is due on its clock
void hand_beat(struct world *world, struct hand *hand);
void hand_hears(struct world *world, uint32_t who);     // its cable has something
void hand_cut_off(struct world *world, uint32_t who);   // its cable is gone
void hand_spool(struct world *world, uint32_t who);     // its reports are on disk now
void hand_process(struct world *world, uint32_t who, uint32_t number);
void hand_burn(struct world *world, uint32_t who);      // it comes back with an empty disk
void hand_bury(struct world *world, uint32_t who);      // it never comes back
void hand_stall(struct world *world, uint32_t who);     // its loop hangs for a while
void hand_fence(struct world *world, uint32_t who);     // and its fence does not
void hand_evict(struct world *world, uint32_t who);     // a batch system ends it
void hand_tear(struct world *world, uint32_t who);      // the server gives up its connection
void hand_schedule(struct world *world, uint32_t who);
void hand_flush(struct world *world, uint32_t who);
void hand_release(struct hand *hand);
// process.c
void process_begin(struct world *world, uint32_t who, const struct wire_run *run);
void process_stop(struct world *world, struct hand *hand, struct process *process, int64_t grace);
struct process *process_find(struct hand *hand, rota_task_id task, uint32_t attempt);
void processes_die(struct world *world, struct hand *hand);
void processes_evict(struct world *world, uint32_t who);  // those that run get a signal
void report_add(struct world *world, struct hand *hand, struct attempt *attempt, enum wire_end end,
                int32_t status);
void report_put(const struct spooled *spooled, struct wire_out *out);
// cache.c: objects
bool shelf_has(const struct hand *hand, rota_object_id object);
void shelf_add(struct hand *hand, const struct copy *copy);
void shelf_lose(struct world *world, uint32_t who, bool all);
void shelf_begin(struct hand *hand);
void shelf_crash(struct hand *hand);
void shelf_bury(struct world *world, struct hand *hand);
void shelf_tell(struct world *world, struct hand *hand);
void shelf_drop(struct world *world, struct hand *hand, const struct wire_file *file);
void shelf_show(struct world *world, struct hand *hand, rota_object_id object);
void shelf_give(struct world *world, uint32_t who, const struct wire_message *message);
void shelf_fetch(struct world *world, uint32_t who, const struct wire_fetch *fetch);
void shelf_haul(struct world *world, uint32_t who, uint32_t number);
wire_content shelf_content(uint32_t attempt);  // of what an attempt makes
void shelf_lie(struct world *world, uint32_t who);
// False: something that it reads is gone, and the server was told.
bool shelf_inputs_are_there(struct world *world, struct hand *hand, uint32_t job, uint32_t index);
// orders.c
void frame_keep(struct wire_in **list, uint32_t *count, uint32_t *capacity,
                const struct wire_message *message);
void frame_look(struct wire_in *frame, struct wire_message *message);
bool order_take(struct world *world, uint32_t who, const struct wire_message *message);
void order_end(struct world *world, struct hand *hand, struct attempt *attempt, int64_t grace);
void order_go_on(struct world *world, uint32_t who, rota_task_id task);

// ---- client.c: a client ------------------------------------------------------------------------

enum request_kind { REQUEST_WORK, REQUEST_REST, REQUEST_BAD };

struct request {
    enum request_kind kind;
    uint32_t job, task;  // of its ghost; task 0: a submission
    uint32_t verb;
    uint32_t part, number;  // of what rests; which nonsense
    bool is_more;        // of a job that was accepted
    bool answered;
    uint32_t refused;    // the code that the server has given; 0: it has not said no
    bool asks_again;     // though it was refused
    bool is_void;        // somebody has wished otherwise since
};

struct caller {
    uint32_t cable, mark;
    bool welcome;
    struct request *requests;
    uint32_t request_count, request_capacity, unsent;
    uint32_t submissions;  // still to come
    struct journal_place followed;  // how far it has heard what happens
    bool has_ended_rests;
    int64_t cut_until;  // nothing goes to it, or comes from it
};

void caller_work(struct world *world, uint32_t who);
void caller_hears(struct world *world, uint32_t who);
void caller_cut_off(struct world *world, uint32_t who);
bool caller_is_done(const struct caller *caller);
struct request *request_add(struct caller *caller, uint32_t job, uint32_t task);
void caller_release(struct caller *caller);

// ---- requests.c: what else it asks for ----------------------------------------------------------

void rest_make(struct world *world, uint32_t who);
void rests_end(struct world *world, struct caller *caller);
void rest_put(struct wire_out *out, const struct request *request, struct request_id id);
void bad_make(struct world *world, uint32_t who);
void bad_put(struct wire_out *out, const struct request *request, struct request_id id);
bool bad_is_meant(const struct world *world, const struct wire_message *message);

static inline const char *cable_end(const struct cable *cable)
{
    return cable->is_worker ? "worker" : cable->is_clerk ? "handler" : "client";
}

// ---- judges: each says what must not be --------------------------------------------------------

void wrong(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The core alone shows it: a play can say what is to be instead.
void wrong_of_core(struct world *world, const char *expect, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void states_say(struct world *world, const struct ghost_job *job);  // to the trace
void judge_start(struct world *world, const struct hand *hand, const struct process *process);
void judge_end(struct world *world, const struct process *process, bool ran, bool well);
void judge_told(struct world *world, const struct cable *cable, const struct wire_message *message);
void judge_heard(struct world *world, const struct wire_message *message);
void judge_lack(struct world *world, const struct hand *hand, const struct wire_run *run,
                rota_object_id object);
void judge_drop(struct world *world, const struct hand *hand, const struct wire_file *file);
void judge_input(struct world *world, const char *who, rota_task_id task, const struct copy *copy);
void judge_recovery(struct world *world);
void judge_turn(struct world *world);
void judge_second(struct world *world);  // recompute.c
// judge_pause.c
void rest_void(struct world *world, uint32_t part, uint32_t number);  // what was asked for so far
bool rest_may_end(const struct world *world, uint32_t part, uint32_t number);
void rest_joined(struct world *world, uint32_t worker);  // as the core calls it
void rest_told(struct world *world, const struct request *request);
const char *rest_over(struct world *world, rota_task_id task, uint32_t worker);
void judge_bounds(struct world *world);  // bounds.c
void *core_resize(void *context, void *old, size_t old_size, size_t new_size);
void judge_close(struct world *world);  // when all is over
bool judge_is_over(struct world *world);

// ---- faults.c: faults -------------------------------------------------------------------------

struct swarm {
    uint32_t hands, callers, submissions, tasks_max;
    int64_t lease, latency, sync, tick, storm;  // storm: so long the weather is bad
    uint32_t server_crash, worker_crash, reboot, cut, half_open, partition, one_way, clock;
    uint32_t sync_slow, sync_fails, write_fails, full, spawn_fails, stubborn, fails, repeat, cancel;
    uint32_t stall, torn, stuck, split, sync_hangs, burned, vanish, backup, forged;
    uint32_t lanes, is_long, endless;  // per mille of jobs; of processes
    uint32_t run_twice, stays_dead, follows, rests, bad, apart;
    uint32_t streams, lies, twins, unfetchable;
    uint32_t grows, when, clerks, claims, lazy, clerk_crash;
    uint32_t data, haul_slow, haul_cut, haul_rots, shelf_full, copy_lost, disk_lost, remake_fails;
    bool is_plan;
};

enum { SIDE_LEFT = 1, SIDE_RIGHT = 2, SIDE_BOTH = SIDE_LEFT | SIDE_RIGHT };

void swarm_draw(struct world *world);
bool hands_are_parted(const struct world *world, uint32_t one, uint32_t other);
bool hand_is_parted(const struct world *world, uint32_t who);  // from the server
void weather_change(struct world *world);
void weather_clear(struct world *world);

// ---- The whole ---------------------------------------------------------------------------------

struct world {
    int64_t now;
    uint64_t words;      // how often the server has spoken
    int64_t moved;       // when something began, ended or was acknowledged last
    bool is_clear;       // no more faults
    struct tape tape;
    struct agenda agenda;
    struct swarm swarm;
    struct seat seat;
    struct hand *hands;
    struct caller *callers;
    struct clerk *clerks;
    bool *cut[2];        // by hand: nothing goes towards that side
    uint8_t *sides;      // of the server, then of each hand: bits; who shares none is parted
    int64_t full_until;
    struct cable **cables;
    uint32_t cable_count, cable_capacity;
    struct ghost_job **jobs;
    uint32_t job_count, job_capacity;
    struct map jobs_by_number;
    uint32_t inside[GHOST_LANES + 1][GHOST_GROUPS + 1];  // processes, in truth
    uint32_t readers[GHOST_LANES + 1], writers[GHOST_LANES + 1];
    uint64_t tokens[GHOST_LANES + 1][GHOST_GROUPS + 1];
    bool lane_rests[GHOST_LANES + 1];  // a pause was acknowledged, and nobody wants otherwise
    size_t core_bytes;
    struct ledger ledger;
    struct story story;
    struct world_result *result;
    FILE *trace, *play;
};

static inline void see(struct world *world, enum world_sight sight)
{
    world->result->seen[sight]++;
}
void world_note(struct world *world, uint64_t fact);  // becomes part of the digest
enum { DUMP_SIZE = 200 };
void world_dump(const struct wire_message *message, char text[DUMP_SIZE]);  // as one line of ASCII
void world_say(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
