// turn.h - a core and a store that go in step, and those who work on them: definitions and
// the allocator (document 4).
//
// One turn:
//
//     server_begin(server, now);
//     server_step(server, &event);           // any number; a refused one has changed nothing
//     if (!server_commit(server)) stop;      // the store says why; nobody may be told anything
//     perform(server->actions);              // what is in here is on the disk
//
// Nothing here reads a clock, a file or a socket; whoever calls does.
#pragma once

#include "store/definition_rows.h"
#include "job/definition/definition.h"

// ---- turn.c: one turn after the other -------------------------------------------

// Who looks on: at each event before the core hears it, and when the core has taken it.
struct server_watch {
    void *context;
    void (*comes)(void *context, const struct rota_event *event);
    void (*taken)(void *context, const struct rota_event *event);
};

struct server {
    struct rota *rota;
    struct store *store;
    struct rota_config config;
    rota_time now;                // of the turn, read once
    rota_time written;            // when an earlier life wrote its last turn; 0: there was none
    rota_job_id next_job;         // the number that the next new job will have
    struct kept *kept;            // what the events of the turn point to
    struct rota_action *actions;  // of the last turn
    uint32_t action_count, action_capacity;
    struct rota_effects effects;  // decided, not put
    bool is_decided;
    const struct server_watch *watch;  // null: nobody
    char reason[480];  // of the last refusal
    struct rota_fault fault;  // of the last submission, if it was refused
};

// Restores the core from the store's rows. False: the store or `reason` says why. The store stays
// the caller's. Close it in either case.
bool server_open(struct server *server, struct store *store, const struct rota_config *config);
// The same, and somebody else hears of the rows too.
typedef void server_rows_fn(void *context, const struct rota_record *records, uint32_t count);
bool server_open_telling(struct server *server, struct store *store,
                         const struct rota_config *config, server_rows_fn *tell, void *context);
void server_close(struct server *server);

// For what the store could not do, or the core could not take from it: 2 or 70.
int server_exit_status(const struct server *server);

void server_begin(struct server *server, rota_time now);

// Zeroed memory that lives until the turn is over. Null: there is none.
void *server_keep(struct server *server, size_t count, size_t size);

// Anything but ROTA_OK: refused, and `reason` says why. While the disk is full, new work is.
enum rota_error server_step(struct server *server, const struct rota_event *event);

// A job, or more of one, and what its tasks are called; both must last until the commit.
enum rota_error server_submit(struct server *server, const struct rota_job_spec *spec,
                              const struct store_text *texts);

// The time is stepped, and the actions are there. Nothing of it is kept yet: only who dies with
// this process may hear of them before the turn is written. Nothing may be stepped in between.
bool server_decide(struct server *server);
// The same, and the records are put; more may follow in this turn.
bool server_advance(struct server *server);

bool server_commit(struct server *server);
// The same without asking the disk: store_sync_begin() and store_settle() do. 0: as false.
uint64_t server_commit_write(struct server *server);

// The turn was not to be: the core is as the store has it. False: as for server_open().
bool server_undo(struct server *server);

// Whether a task is anywhere between staged and over.
bool task_is_active(const struct server *server, rota_task_id task);

// ---- catalog.c: what is defined ---------------------------------------------------

// Reads the content of a zone file. Null: there is no such zone, and `reason` says why.
typedef struct zone *zone_read_fn(const char *name, const char **reason);

enum entry_fate { ENTRY_STAYS, ENTRY_NEW, ENTRY_CHANGED, ENTRY_DELETED };

// A definition, and what a turn does to it.
struct entry {
    struct definition what;
    const char *text;   // what it was parsed from, or is written as
    rota_task_id task;  // none: the core has not seen it
    struct calendar_state state;
    enum entry_fate fate;
    uint32_t parent;       // the index of its bundle plus 1, or 0
    uint32_t *named;       // the indexes of those that its condition names, one a clause; else the
    uint32_t named_count;  // number of entries
    struct rota_clause *clauses;
    bool rebuilt;               // it gets a new job
    bool active, ended;         // as of the last turn; in it
    enum rota_task_state last;  // before it got one
};

// All definitions, in order of their names.
struct catalog {
    struct server *server;
    struct catalog_rows rows;
    struct definitions parsed;  // the texts of the entries are in here
    struct entry *entries;
    uint32_t count, capacity;
};

// False: the store has failed, or a row is none of ours; the server's reason says which.
bool catalog_open(struct catalog *catalog, struct server *server);
void catalog_close(struct catalog *catalog);
struct entry *catalog_find(const struct catalog *catalog, const char *name, size_t length);
struct entry *catalog_find_task(const struct catalog *catalog, rota_task_id task);
struct entry *catalog_add(struct catalog *catalog, const struct definition *what);  // null: memory
void catalog_sort(struct catalog *catalog);

// The number of a name, which gets one if it has none. 0: no memory; none for null and "".
uint32_t catalog_number(struct catalog *catalog, enum catalog_kind kind, const char *name);

// ---- server/definitions/apply.c, define_*.c: `rota define` --------------------------------------

enum define_result {
    DEFINE_DONE,
    DEFINE_REFUSED,  // error says why, and nothing has changed
    DEFINE_BROKEN,   // the store's error or the server's reason says why
};

// Does what a file says, in one turn, or nothing.
enum define_result define_all(struct server *server, const struct definitions *file, rota_time now,
                              zone_read_fn *zone_read, struct definition_error *error);

// What define_all() is made of.
struct define {
    struct catalog catalog;
    struct definition_error *error;
    zone_read_fn *zone_read;
    rota_time now;
    const struct entry *needed;  // deleted, but the error names others that need it
};
bool define_refuse(struct define *define, const struct entry *entry, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool define_no_memory(struct define *define);
bool define_check(struct define *define);   // parents, conditions, zones
bool define_spread(struct define *define);  // who else gets a new job
bool define_submit(struct define *define);  // closes, lanes, submissions, last states
bool define_in_order(struct define *define);
bool define_job(struct define *define, struct entry *const *members, uint32_t count);

// ---- allocator.c: what is due ------------------------------------------------------

struct schedule {
    struct entry *entry;
    struct calendar calendar;
    struct calendar_rules rules;
    struct zone *zone;
    rota_time look_at, ended;
    bool fired;  // in this turn
};

struct allocator {
    struct server *server;
    struct catalog catalog;
    struct schedule *schedules;
    uint32_t count;
    zone_read_fn *zone_read;
};

// Reads the definitions and their calendars. False: as for catalog_open().
bool allocator_open(struct allocator *allocator, struct server *server, rota_time now,
                    zone_read_fn *zone_read);
void allocator_close(struct allocator *allocator);

// Between server_begin() and server_commit(): stages what is due.
void allocator_stage(struct allocator *allocator);
// After the commit: which entries have ended in it.
void allocator_note_ends(struct allocator *allocator);
rota_time allocator_look_at(const struct allocator *allocator);  // when to stage again

// ---- server/definitions/manual.c: what somebody says about one task -----------------------------

// "stage", "start", "green", "red", "reset", "freeze", "abort". False: there is no such word.
bool act_event(const char *word, rota_task_id task, struct rota_event *event);

// ---- sim/play/pretend_worker.c: a worker that carries out nothing, in no time -------------------

// Commands as a whole: `exit N` fails with N, `sleep N` takes N seconds, all else succeeds.
struct pretend {
    struct server *server;
    struct pretend_run {
        rota_task_id task;
        uint32_t attempt;
        rota_time end;
    } * runs;
    uint32_t count, capacity;
    rota_time look_at;  // when the next one ends
};

// Between server_begin() and server_commit(): workers join where work waits for them, report
// what they have, and leave when there is none. True: something was reported, and more may follow.
bool pretend_work(struct pretend *pretend, const struct catalog *catalog);
void pretend_release(struct pretend *pretend);
