// simulation.h - a cluster in a box: the real core, turns, messages and rules of workers, in a
// world that is made up from a seed, with everything that can go wrong in one.
//
// The same options give the same world, on every machine and with every compiler.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// What a batch of worlds must have seen; a fault that never happens finds nothing.
#define WORLD_SIGHTS(S)                                                                        \
    S(TURN, "turns")                                                                           \
    S(SETTLE, "turns made durable")                                                            \
    S(DELIVERY, "pieces delivered")                                                            \
    S(START, "processes started")                                                              \
    S(SUCCESS, "processes that succeeded")                                                     \
    S(FAILURE, "processes that failed")                                                        \
    S(SPAWN_FAILURE, "processes that could not be started")                                    \
    S(STOPPED, "processes that were stopped")                                                  \
    S(FENCED, "processes that were fenced")                                                    \
    S(STUBBORN, "processes that ignore TERM")                                                  \
    S(REFUSED_RUN, "orders that came too late")                                                \
    S(HELD_RUN, "orders that waited for an older attempt")                                     \
    S(SERVER_CRASH, "server crashes")                                                          \
    S(SERVER_LOST_TURNS, "crashes that lost turns")                                            \
    S(SERVER_KEPT_TURNS, "crashes that kept turns nobody heard of")                            \
    S(WORKER_CRASH, "worker crashes")                                                          \
    S(WORKER_LOST_REPORT, "worker crashes that lost a report")                                 \
    S(WORKER_REBOOT, "machines that started again")                                            \
    S(BURIED, "machines that stay dead")                                                       \
    S(ORDER_TWICE, "orders that came twice")                                                   \
    S(DOOMED, "processes that were to go")                                                     \
    S(CUT, "connections cut")                                                                  \
    S(HALF_OPEN, "connections that only one side knows to be gone")                            \
    S(PARTITION, "partitions")                                                                 \
    S(HALVES, "networks in two halves")                                                        \
    S(BRIDGE, "networks in two halves with a bridge")                                          \
    S(ONE_WAY, "partitions one way")                                                           \
    S(STALL, "workers whose loop hung")                                                        \
    S(EVICTED, "workers that a batch system ended")                                            \
    S(AGENT_STOPPED, "workers whose agent was stopped")                                        \
    S(TORN, "of them, parted from the server meanwhile")                                       \
    S(FENCE, "of them, killed by their fence")                                                 \
    S(STOP_BEHIND, "processes that were to stop before they had started")                      \
    S(STUCK, "processes that took long to die")                                                \
    S(CLOCK_BACK, "clocks set back")                                                           \
    S(CLOCK_AHEAD, "clocks set ahead")                                                         \
    S(SYNC_SLOW, "slow syncs")                                                                 \
    S(SYNC_HUNG, "syncs that never answered")                                                  \
    S(SYNC_FAILED, "syncs that failed")                                                        \
    S(WRITE_FAILED, "writes that failed")                                                      \
    S(DISK_FULL, "disks that were full")                                                       \
    S(REPEAT, "requests sent twice")                                                           \
    S(CANCEL, "cancels acknowledged")                                                          \
    S(RETRY, "retries acknowledged")                                                           \
    S(REFUSAL, "requests refused")                                                             \
    S(ASKED_AGAIN, "of them, asked again")                                                     \
    S(ACCEPTED, "jobs accepted")                                                               \
    S(REPORT_STALE, "reports that came too late")                                              \
    S(REPORT_AGAIN, "reports that came twice")                                                 \
    S(GIVEN_UP, "workers that came back after their lease")                                    \
    S(BLOCKED, "tasks that ended blocked")                                                     \
    S(SAME_STATE, "states compared after a restart")                                           \
    S(REST_LANE, "lanes paused")                                                               \
    S(REST_WORKER, "workers paused")                                                           \
    S(REST_JOB, "jobs paused")                                                                 \
    S(RESUME, "things that go on")                                                             \
    S(DRAINED, "workers that were drained and left")                                           \
    S(BAD_GRAPH, "graphs refused because they make no sense")                                  \
    S(APART, "clients that were cut off")                                                      \
    S(FOLLOW, "clients that follow the journal")                                               \
    S(EVENT, "events they were told")                                                          \
    S(SECOND_WAITS, "second opinions on tasks that wait")                                      \
    S(SECOND_OFFERED, "second opinions on tasks that may start")                               \
    S(FETCH, "objects asked for from other workers")                                           \
    S(HAUL, "objects that came")                                                               \
    S(HAUL_SLOW, "transfers that took long")                                                   \
    S(HAUL_CUT, "transfers that were cut")                                                     \
    S(HAUL_ROT, "transfers with another content")                                              \
    S(LIE, "objects that a worker says it holds and made up")                                  \
    S(FORGED, "transfers refused because somebody lied")                                       \
    S(SHOW, "workers asked whether they have an object")                                       \
    S(MISSED, "objects that nobody could give")                                                \
    S(SHELF_FULL, "objects for which there was no room")                                       \
    S(COPY_LOST, "copies lost without a word")                                                 \
    S(DISK_LOST, "workers that lost all copies")                                               \
    S(BURNED, "workers that came back with an empty disk")                                     \
    S(LACKING, "orders that waited for an object")                                             \
    S(BAD_INPUT, "orders whose object never came")                                             \
    S(DROP, "copies dropped as the server wanted")                                             \
    S(REMADE, "objects made again")                                                            \
    S(REMAKE_FAILED, "of them, failed this time")                                              \
    S(WHEN_START, "starts of tasks with a condition")                                          \
    S(WHEN_NEVER, "tasks whose condition never came true")                                     \
    S(FORCED, "tasks that were started by hand")                                               \
    S(BUNDLE_GOOD, "bundles that succeeded")                                                   \
    S(BUNDLE_BAD, "bundles that failed")                                                       \
    S(GROWN, "jobs that grew")                                                                 \
    S(HOLD, "tasks in the hands of handlers")                                                  \
    S(HOLD_DELIVERS, "of them, delivered")                                                     \
    S(HOLD_FAILS, "of them, failed")                                                           \
    S(HOLD_OVER, "of them, let go when the lease was over")                                    \
    S(HOLD_STALE, "handlers that came too late")                                               \
    S(RENEWED, "leases of handlers renewed")                                                   \
    S(CLERK_CRASH, "handlers that crashed")                                                    \
    S(STREAM_HERE, "streams read where they are written")                                      \
    S(STREAM_AWAY, "streams read on another worker")                                           \
    S(STREAM_READ, "streams read to their end")                                                \
    S(STREAM_CUT, "streams that broke off")                                                    \
    S(STREAM_PIPE, "writers that failed because nobody read on")                               \
    S(STREAM_FAILED, "writers that failed while somebody could read")                          \
    S(VANISHED, "databases whose files were deleted")                                          \
    S(RESTORED, "databases restored from a backup")                                            \
    S(OTHER_TOKEN, "reports with the token of another attempt")                                \
    S(TWIN, "workers that came while another had their name or folder")                        \
    S(TWIN_REFUSED, "workers refused because another has their name or folder")                \
    S(UNFETCHABLE, "transfers of objects that only their maker's worker can read")

#define WORLD_SIGHT(name, text) SIGHT_##name,
enum world_sight { WORLD_SIGHTS(WORLD_SIGHT) SIGHTS };
#undef WORLD_SIGHT
extern const char *const world_sight_names[SIGHTS];

struct world_options {
    uint64_t seed;
    const uint16_t *tape;  // choices; null: they are drawn from the seed
    uint32_t tape_length;
    uint64_t events_max;   // with more it is given up, which is wrong, too; 0: never
    FILE *trace;           // what happens, a line each; null: nobody wants to know
    FILE *choices;         // what is chosen, as a tape; it is there also if an assertion speaks
    FILE *play;            // what the core is told, likewise; for world_play_settle()
};

struct world_result {
    char wrong[400];       // what must not be; "": all is well
    char expect[160];      // the line of a play that the core alone does not meet; "": none
    uint64_t events;
    uint64_t digest;       // of all that happened
    int64_t time;          // microseconds that passed in the world
    uint32_t seen[SIGHTS];
    uint16_t *tape;        // what was chosen; to be freed
    uint32_t tape_length;
};

typedef void world_run_fn(const struct world_options *options, struct world_result *result);
world_run_fn world_run;

// ---- play_record.c: what was written to `play`, without the turns that a crash has taken back ----

void world_play_settle(char *text);

// ---- tape_text.c: choices as text; doc/testing.md has the format ------------------------------

enum { WORLD_TAPE_MAX = 1 << 22 };

struct world_tape {
    uint16_t *choices;
    uint32_t length;
    uint32_t line;  // how far it was read: where it is none
};

bool world_tape_read(const char *text, struct world_tape *tape);  // false: it is no tape
void world_tape_write(FILE *file, const uint16_t *choices, uint32_t length);
void world_tape_release(struct world_tape *tape);

// ---- shrink.c -----------------------------------------------------------------------------------

// A shorter tape with which the same judge speaks, after at most so many runs. It replaces that of
// `result`, which is of a world that went wrong. `run` is world_run(), or one that survives it.
void world_shrink(const struct world_options *options, struct world_result *result, uint32_t runs,
                  world_run_fn *run);
