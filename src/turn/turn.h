// turn.h - keeps a core and a store in step: events in, one transaction, then the actions.
//
// One turn:
//
//     server_begin(server, now);
//     server_step(server, &event);           // any number; a refused event changes nothing
//     if (!server_commit(server)) stop;      // the store says why; send no answer
//     perform(server->actions);              // the records of these actions are on disk
//
// This room reads no clock, no file and no socket; the caller does.
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
    rota_time now;                // of the turn; the clock is read once per turn
    rota_time written;            // when the previous process wrote its last turn; 0: no such turn
    rota_job_id next_job;         // the id that the next new job gets
    struct kept *kept;            // the events of the turn, and memory that they refer to
    const struct rota_event *event;  // the last of them
    struct rota_action *actions;  // of the last turn
    uint32_t action_count, action_capacity;
    struct rota_effects effects;  // decided, but not yet passed to the store
    bool is_decided;
    const struct server_watch *watch;  // null: no observer
    char reason[480];  // why the last request was refused
    struct rota_fault fault;  // of the last submission, if it was refused
};

// Restores the core from the rows of the store. False: store_error() or `reason` says why. The
// caller keeps the store and closes it. Call server_close() in either case.
bool server_open(struct server *server, struct store *store, const struct rota_config *config);
// The same, and also passes the rows to `tell`.
typedef void server_rows_fn(void *context, const struct rota_record *records, uint32_t count);
bool server_open_telling(struct server *server, struct store *store,
                         const struct rota_config *config, server_rows_fn *tell, void *context);
void server_close(struct server *server);

// The exit status after a failure of the store, or after the core refused its rows: 2 or 70.
int server_exit_status(const struct server *server);

void server_begin(struct server *server, rota_time now);

// Zeroed memory that is freed at the end of the turn. Null: out of memory.
void *server_keep(struct server *server, size_t count, size_t size);

// Any result but ROTA_OK: the event is refused, and `reason` says why. While the disk is full, new
// work is refused.
enum rota_error server_step(struct server *server, const struct rota_event *event);

// Submits a job, or more tasks of a job, with the names of its tasks. Both must stay valid until
// the commit.
enum rota_error server_submit(struct server *server, const struct rota_job_spec *spec,
                              const struct store_text *texts);

// Steps the time and collects the actions. Nothing is stored yet, so before the commit only a child
// that ends with this process may get the actions. Do not call server_step() between this and the
// commit.
bool server_decide(struct server *server);
// The same, and passes the records to the store; the turn may continue with more events.
bool server_advance(struct server *server);

bool server_commit(struct server *server);
// The same, but without a sync: call store_sync_begin() and store_settle() for that. 0: failed.
uint64_t server_commit_write(struct server *server);

// Cancels the turn: restores the core from the store. False: as for server_open().
bool server_undo(struct server *server);

// Whether a task is staged and not finished yet.
bool task_is_active(const struct server *server, rota_task_id task);
