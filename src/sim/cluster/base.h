// base.h - the parts that a simulation is built on: choices, time, a disk and a network.
#pragma once

#include "base/base.h"
#include "net/wire/wire.h"
#include "server/cluster/cluster.h"
#include "store/store_kind.h"
#include "sim/cluster/simulation.h"

#include <stdlib.h>
#include <string.h>

struct sim;
struct node;

enum { NOBODY = UINT32_MAX };

void *sim_allocate(size_t count, size_t size);  // zeroed; ends the program if there is no memory
// Makes room for one more item.
void sim_reserve(void *items, uint32_t *capacity, uint32_t count, size_t size);
// The address of that item, which is counted from now on.
#define SIM_NEW(items, count, capacity)                                                            \
    (sim_reserve(&(items), &(capacity), count, sizeof *(items)), &(items)[(count)++])

// ---- tape.c: choices ---------------------------------------------------------------------------

// Each part of the simulation has a random stream of its own, so that a new choice in one part
// changes no choice in another.
enum stream {
    OF_SETTING,
    OF_NETWORK,
    OF_DISK,
    OF_TURNS,
    OF_WORKERS,
    OF_CLIENTS,
    OF_FAULTS,
    OF_DATA,
    OF_HANDLERS,
    OF_CONDITIONS,
    OF_REQUESTS,
    OF_STREAMS,
    OF_PRETENDED,
    OF_FILES,
    OF_DUPLICATES,
    OF_INPUTS,
    OF_PROFILES,
    STREAMS
};

struct tape {
    uint64_t states[STREAMS];
    const uint16_t *given;
    uint32_t given_length, at;
    uint16_t *made;
    uint32_t length, capacity;
    FILE *out;  // null: the choices are not written while they are made
};

void tape_open(struct tape *tape, const struct sim_options *options);
// A number below `bound`, which is at most 65,536. 0 is the choice without a fault, and the only
// one after the end of a tape.
uint32_t choose(struct sim *sim, enum stream stream, uint32_t bound);
bool chance(struct sim *sim, enum stream stream, uint32_t per_mille);
int64_t choose_time(struct sim *sim, enum stream stream, int64_t max);  // 0 to max

// ---- event_queue.c: the events to come ----------------------------------------------------------

enum due_kind {
    DUE_TURN = 1,
    DUE_SETTLE,
    DUE_WAKE,
    DUE_SERVER_UP,
    DUE_SERVER_KILL,
    DUE_TO_SERVER,
    DUE_TO_FAR,
    DUE_WORKER,
    DUE_WORKER_UP,
    DUE_PROCESS,
    DUE_SPOOL,
    DUE_FENCE,
    DUE_EVICTED,
    DUE_PARTED,
    DUE_MEND,
    DUE_CLIENT,
    DUE_FAULT,
    DUE_TRANSFER,
    DUE_HANDLER,
    DUE_FEED,
};

struct due {
    int64_t at;
    uint64_t order;  // among events of the same time: the order in which they were added
    uint32_t kind, who, mark;
};

struct event_queue {
    struct due *items;
    uint32_t count, capacity;
    uint64_t noted;
};

void event_queue_add(struct event_queue *queue, int64_t at, enum due_kind kind, uint32_t who,
                     uint32_t mark);
bool event_queue_next(struct event_queue *queue, struct due *due);

// ---- disk.c: a store that loses in a crash what was not synced ----------------------------------

struct store *disk_open(struct sim *sim);
void disk_crash(struct store *store);  // loses some, all or none of the turns that were not durable
void disk_sync(struct store *store, uint64_t turn);
uint64_t disk_written(const struct store *store);
// A copy of the durable state, and the reason for making it.
enum disk_copy {
    COPY_NONE,
    COPY_LOST,    // everything written from now on goes to deleted files
    COPY_BACKUP,
};
enum disk_copy disk_copy_of(const struct store *store);
void disk_copy_make(struct store *store, enum disk_copy why);
void disk_copy_back(struct store *store);  // after a crash: restores the state of the copy
void disk_copy_drop(struct store *store);

// ---- database_files.c: people delete the files of a database, or restore a backup ---------------

struct daemon_files {
    int64_t copied_at;         // when its files were deleted
    bool restored, ends_soon;  // it started from a backup; it is to be lost after the next crash
};

void files_draw(struct sim *sim);
void files_vanish(struct sim *sim);  // a user deletes them
void files_told(struct sim *sim, const struct wire_message *message);  // the server sent this
void files_crash(struct sim *sim);  // after a crash of the server: may restore a backup
void files_forge(struct sim *sim, struct node *node);  // sends reports with a wrong token
// The same for an attempt that was just told to stop and may be discarded.
void files_forge_stopped(struct sim *sim, struct node *node, const struct wire_stop *stop);
// Whether the message is such a report. The server must ignore it.
bool files_is_forged(struct sim *sim, uint32_t who, const struct wire_message *message);
bool files_forged(struct sim *sim, struct node *node, const struct wire_recorded *told);

// ---- network.c: connections ---------------------------------------------------------------------

enum side { SERVER_SIDE, FAR_SIDE };

struct piece {
    struct piece *next;
    int64_t at;
    uint32_t length;
    char bytes[];
};

struct flow {  // one direction
    struct piece *first, **last;
    int64_t latest;
    bool scheduled;
    bool landed;  // everything has arrived and nothing follows: faults do not delay it
};

// Connections are freed only at the end, because they are named by their index.
struct link {
    bool is_worker, is_handler;
    uint32_t who;            // the worker, handler or client at the far end
    struct flow flow[2];     // towards that side
    struct wire_out out[2];  // output of that side
    struct wire_in in[2];
    bool open[2];
    bool noted;              // in the list of inputs of the server
    struct cluster_peer *peer;
    int64_t heard;           // when the server last read from it; 0: never
};

enum link_kind { LINK_CLIENT, LINK_WORKER, LINK_HANDLER };
// NOBODY: there is no connection.
uint32_t sim_link_open(struct sim *sim, enum link_kind kind, uint32_t who);
void sim_link_send(struct sim *sim, uint32_t number, enum side from);
void sim_link_deliver(struct sim *sim, uint32_t number, enum side to);
// Takes the next message for the far side. False: no message has come, or it cannot be decoded.
bool sim_link_take(struct sim *sim, uint32_t number, struct wire_message *message);
// One side is gone. The other side learns of it later, or never.
void sim_link_close(struct sim *sim, uint32_t number, enum side by, bool silently);
void sim_link_release(struct link *link);
