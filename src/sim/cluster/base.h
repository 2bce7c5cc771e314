// base.h - what a world stands on: choices, time, a disk and a network.
#pragma once

#include "base/base.h"
#include "server/cluster/cluster.h"
#include "store/store_kind.h"
#include "sim/cluster/simulation.h"

#include <stdlib.h>
#include <string.h>

struct world;
struct hand;

enum { NOBODY = UINT32_MAX };

void *world_allocate(size_t count, size_t size);  // zeroed; ends the program without memory
// Room for one more.
void world_reserve(void *items, uint32_t *capacity, uint32_t count, size_t size);

// ---- tape.c: choices ---------------------------------------------------------------------------

// Each part of the world draws from a stream of its own: one more draw shifts no other part.
enum stream {
    OF_SWARM,
    OF_NETWORK,
    OF_DISK,
    OF_TURNS,
    OF_WORKERS,
    OF_CLIENTS,
    OF_WEATHER,
    OF_DATA,
    OF_CLERKS,
    OF_WHEN,
    OF_WISHES,
    OF_BROOKS,
    OF_LIES,
    OF_FILES,
    OF_TWINS,
    OF_LACKS,
    OF_THEMES,
    STREAMS
};

struct tape {
    uint64_t states[STREAMS];
    const uint16_t *given;
    uint32_t given_length, at;
    uint16_t *made;
    uint32_t length, capacity;
    FILE *out;  // null: nobody wants to know at once
};

void tape_open(struct tape *tape, const struct world_options *options);
// Less than `bound`, which is at most 65,536. 0 is the quiet choice, and all there is behind the
// end of a tape.
uint32_t choose(struct world *world, enum stream stream, uint32_t bound);
bool chance(struct world *world, enum stream stream, uint32_t per_mille);
int64_t choose_time(struct world *world, enum stream stream, int64_t max);  // 0 to max

// ---- event_queue.c: what happens next -----------------------------------------------------------

enum due_kind {
    DUE_TURN = 1,
    DUE_SETTLE,
    DUE_WAKE,
    DUE_SERVER_UP,
    DUE_SERVER_KILL,
    DUE_TO_SERVER,
    DUE_TO_FAR,
    DUE_HAND,
    DUE_HAND_UP,
    DUE_PROCESS,
    DUE_SPOOL,
    DUE_FENCE,
    DUE_EVICTED,
    DUE_TORN,
    DUE_MEND,
    DUE_CALLER,
    DUE_WEATHER,
    DUE_HAUL,
    DUE_CLERK,
    DUE_FEED,
};

struct due {
    int64_t at;
    uint64_t order;  // of those at one time: as they were noted
    uint32_t kind, who, mark;
};

struct agenda {
    struct due *items;
    uint32_t count, capacity;
    uint64_t noted;
};

void agenda_add(struct agenda *agenda, int64_t at, enum due_kind kind, uint32_t who, uint32_t mark);
bool agenda_next(struct agenda *agenda, struct due *due);

// ---- disk.c: a store that forgets what was not synced ------------------------------------------

struct store *disk_open(struct world *world);
void disk_crash(struct store *store);  // some of the last turns are gone, maybe none, maybe all
void disk_sync(struct store *store, uint64_t turn);
uint64_t disk_written(const struct store *store);
// One copy of what is durable now, and why there is one.
enum disk_copy {
    COPY_NONE,
    COPY_LOST,    // all that is written from now on goes to files that were deleted
    COPY_BACKUP,
};
enum disk_copy disk_copy_of(const struct store *store);
void disk_copy_make(struct store *store, enum disk_copy why);
void disk_copy_back(struct store *store);  // behind a crash: all is as it was then
void disk_copy_drop(struct store *store);

// ---- database_files.c: what people do to the files of a database --------------------------------

struct seat_files {
    int64_t copied_at;         // when its files were deleted
    bool restored, ends_soon;  // it begins with a backup; it is to be lost behind one
};

void files_draw(struct world *world);
void files_vanish(struct world *world);  // they are deleted
void files_told(struct world *world, const struct wire_message *message);  // by the server
void files_crash(struct world *world);  // behind a crash of the server: a backup may be restored
void files_forge(struct world *world, struct hand *hand);  // reports with another token
// The same of an attempt that was just told to stop, and may be discarded.
void files_forge_stopped(struct world *world, struct hand *hand, const struct wire_stop *stop);
// Such a report: it must change nothing.
bool files_is_forged(struct world *world, uint32_t who, const struct wire_message *message);
bool files_forged(struct world *world, struct hand *hand, const struct wire_recorded *told);

// ---- network.c: connections ---------------------------------------------------------------------

enum side { SERVER_SIDE, FAR_SIDE };

struct piece {
    struct piece *next;
    int64_t at;
    uint32_t length;
    char bytes[];
};

struct flow {  // in one direction
    struct piece *first, **last;
    int64_t latest;
    bool scheduled;
    bool landed;  // all of it has arrived, and nothing follows: no fault holds it up
};

// Lines are never freed before the end: their index is their name.
struct cable {
    bool is_worker, is_clerk;
    uint32_t who;            // the hand, clerk or caller at the far end
    struct flow flow[2];     // towards that side
    struct wire_out out[2];  // of that side
    struct wire_in in[2];
    bool open[2];
    bool noted;              // among the inputs of the server
    struct hub_peer *peer;
    int64_t heard;           // when the server took something from it last; 0: never
};

enum cable_kind { CABLE_CALLER, CABLE_HAND, CABLE_CLERK };
// NOBODY: nobody is there.
uint32_t cable_open(struct world *world, enum cable_kind kind, uint32_t who);
void cable_send(struct world *world, uint32_t number, enum side from);
void cable_deliver(struct world *world, uint32_t number, enum side to);
// One side is gone; the other hears of it later, or not.
void cable_close(struct world *world, uint32_t number, enum side by, bool silently);
void cable_release(struct cable *cable);
