// turn.h - a core and a store that go in step: events in, one transaction, then the actions.
//
// One turn:
//
//     server_begin(server, now);
//     server_step(server, &event);           // any number; a refused one has changed nothing
//     if (!server_commit(server)) stop;      // the store says why; nobody may be told anything
//     perform(server->actions);              // what is in here is on the disk
//
// Nothing here reads a clock, a file or a socket; the caller does.
#pragma once

#include "store/store.h"

// ---- turn.c: one turn after the other -------------------------------------------

// An observer: called with each event before the core gets it, and when the core has taken it.
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
    rota_time written;            // when an earlier life wrote its last turn; 0: no such turn
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

// Zeroed memory that lives until the end of the turn. Null: out of memory.
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
