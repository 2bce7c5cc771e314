// simulation.h - a simulated cluster: the real core, turns, messages and rules of workers, on
// machines, disks and a network that are simulated from a seed, with faults of all kinds.
//
// The same options give the same run, on every machine and with every compiler.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// The faults and other things that a series of runs must have seen: a fault that never happens
// finds no mistake.
#define SIM_SIGHTS(S)                                                                          \
    S(TURN, "turns")                                                                           \
    S(SETTLE, "turns made durable")                                                            \
    S(DELIVERY, "pieces of messages delivered")                                                \
    S(START, "processes started")                                                              \
    S(SUCCESS, "processes that succeeded")                                                     \
    S(FAILURE, "processes that failed")                                                        \
    S(SPAWN_FAILURE, "processes that could not be started")                                    \
    S(STOPPED, "processes that were stopped")                                                  \
    S(FENCED, "processes killed by the watchdog of their worker")                              \
    S(STUBBORN, "processes that ignore SIGTERM")                                               \
    S(REFUSED_RUN, "orders that came too late")                                                \
    S(HELD_RUN, "orders that waited for an older attempt")                                     \
    S(SERVER_CRASH, "server crashes")                                                          \
    S(SERVER_LOST_TURNS, "crashes that lost turns")                                            \
    S(SERVER_KEPT_TURNS, "crashes that kept turns without an answer")                          \
    S(WORKER_CRASH, "worker crashes")                                                          \
    S(WORKER_LOST_REPORT, "worker crashes that lost a report")                                 \
    S(WORKER_REBOOT, "machines that rebooted")                                                 \
    S(DEAD, "machines that stay dead")                                                         \
    S(ORDER_TWICE, "orders that came twice")                                                   \
    S(DOOMED, "processes that were to end")                                                    \
    S(CUT, "connections closed")                                                               \
    S(HALF_OPEN, "connections that only one side knows to be closed")                          \
    S(PARTITION, "partitions")                                                                 \
    S(HALVES, "networks split in two halves")                                                  \
    S(BRIDGE, "of them, with a worker that reaches both")                                      \
    S(ONE_WAY, "partitions one way")                                                           \
    S(STALL, "workers whose loop hung")                                                        \
    S(EVICTED, "workers that a batch system ended")                                            \
    S(AGENT_STOPPED, "workers whose agent was stopped")                                        \
    S(PARTED, "of them, disconnected by the server meanwhile")                                 \
    S(FENCE, "of them, whose watchdog killed the processes")                                   \
    S(STOP_AFTER, "processes that were stopped before they had started")                      \
    S(STUCK, "processes that took long to end")                                                \
    S(CLOCK_BACK, "clocks set back")                                                           \
    S(CLOCK_AHEAD, "clocks set ahead")                                                         \
    S(SYNC_SLOW, "slow syncs")                                                                 \
    S(SYNC_HUNG, "syncs that never ended")                                                     \
    S(SYNC_FAILED, "syncs that failed")                                                        \
    S(WRITE_FAILED, "writes that failed")                                                      \
    S(DISK_FULL, "disks that were full")                                                       \
    S(REPEAT, "requests sent twice")                                                           \
    S(CANCEL, "cancels acknowledged")                                                          \
    S(RETRY, "retries acknowledged")                                                           \
    S(REFUSAL, "requests refused")                                                             \
    S(ASKED_AGAIN, "of them, repeated")                                                        \
    S(ACCEPTED, "jobs accepted")                                                               \
    S(REPORT_STALE, "reports that came too late")                                              \
    S(REPORT_AGAIN, "reports that came twice")                                                 \
    S(GIVEN_UP, "workers that came back after their lease")                                    \
    S(BLOCKED, "tasks that ended blocked")                                                     \
    S(SAME_STATE, "states compared after a restart")                                           \
    S(PAUSE_LANE, "lanes paused")                                                              \
    S(PAUSE_WORKER, "workers paused")                                                          \
    S(PAUSE_JOB, "jobs paused")                                                                \
    S(RESUME, "pauses that were ended")                                                        \
    S(DRAINED, "workers that were drained and left")                                           \
    S(BAD_GRAPH, "invalid graphs refused")                                                     \
    S(CLIENT_CUT, "clients that were cut off")                                                 \
    S(FOLLOW, "clients that follow the events")                                                \
    S(EVENT, "events sent to them")                                                            \
    S(RECOMPUTED_WAITS, "recomputed tasks that wait")                                          \
    S(RECOMPUTED_OFFERED, "recomputed tasks that may start")                                   \
    S(FETCH, "transfers requested from other workers")                                         \
    S(TRANSFER, "transfers that succeeded")                                                    \
    S(TRANSFER_SLOW, "transfers that took long")                                               \
    S(TRANSFER_CUT, "transfers that were cut")                                                 \
    S(TRANSFER_CORRUPT, "transfers with another content")                                      \
    S(PRETENDED, "objects that a worker only claims to hold")                                      \
    S(FORGED, "transfers refused because of a false claim")                                    \
    S(SHOW, "workers asked whether they have an object")                                       \
    S(MISSED, "objects without a source")                                                      \
    S(CACHE_FULL, "objects for which there was no room")                                       \
    S(COPY_LOST, "copies lost silently")                                                       \
    S(DISK_LOST, "workers that lost all copies")                                               \
    S(EMPTY_DISK, "workers that came back with an empty disk")                                 \
    S(LACKING, "orders that waited for an object")                                             \
    S(BAD_INPUT, "orders whose object never came")                                             \
    S(DROP, "copies dropped by request of the server")                                         \
    S(REMADE, "objects made again")                                                            \
    S(REMAKE_FAILED, "of them, failed this time")                                              \
    S(WHEN_START, "starts of tasks with a condition")                                          \
    S(WHEN_NEVER, "tasks whose condition never came true")                                     \
    S(FORCED, "tasks that were started by hand")                                               \
    S(BUNDLE_GOOD, "bundles that succeeded")                                                   \
    S(BUNDLE_BAD, "bundles that failed")                                                       \
    S(GROWN, "jobs that grew")                                                                 \
    S(HOLD, "tasks claimed by handlers")                                                       \
    S(HOLD_DELIVERS, "of them, delivered")                                                     \
    S(HOLD_FAILS, "of them, failed")                                                           \
    S(HOLD_OVER, "of them, released at the end of the lease")                                  \
    S(HOLD_STALE, "reports of handlers that came too late")                                    \
    S(RENEWED, "leases of handlers renewed")                                                   \
    S(HANDLER_CRASH, "handlers that crashed")                                                  \
    S(STREAM_HERE, "streams read where they are written")                                      \
    S(STREAM_AWAY, "streams read on another worker")                                           \
    S(STREAM_READ, "streams read to their end")                                                \
    S(STREAM_CUT, "streams that were cut")                                                     \
    S(STREAM_PIPE, "writers that failed because their reader stopped")                         \
    S(STREAM_FAILED, "writers that failed while they had a reader")                            \
    S(VANISHED, "databases whose files were deleted")                                          \
    S(RESTORED, "databases restored from a backup")                                            \
    S(OTHER_TOKEN, "reports with the token of another attempt")                                \
    S(DUPLICATE, "workers with the name or folder of another one")                             \
    S(DUPLICATE_REFUSED, "of them, refused")                                                   \
    S(UNFETCHABLE, "transfers of objects that only their own worker can read")

#define SIM_SIGHT(name, text) SIGHT_##name,
enum sim_sight { SIM_SIGHTS(SIM_SIGHT) SIGHTS };
#undef SIM_SIGHT
extern const char *const sim_sight_names[SIGHTS];

struct sim_options {
    uint64_t seed;
    const uint16_t *tape;  // choices; null: they are drawn from the seed
    uint32_t tape_length;
    uint64_t events_max;   // a run with more events fails; 0: no limit
    FILE *trace;           // each event as a line; null: no trace
    FILE *choices;         // the choices as a tape, complete even if an assertion fails
    FILE *play;            // the events of the core, likewise; for sim_play_settle()
};

struct sim_result {
    char wrong[400];       // the error that a judge found; "": none
    char expect[160];      // the line of a play that the core alone does not meet; "": none
    uint64_t events;
    uint64_t digest;       // of everything that happened
    int64_t time;          // simulated microseconds
    uint32_t seen[SIGHTS];
    uint16_t *tape;        // the choices; the caller frees them
    uint32_t tape_length;
};

typedef void sim_run_fn(const struct sim_options *options, struct sim_result *result);
sim_run_fn sim_run;

// ---- play_record.c: removes from the text of `play` the turns that a crash has undone -----------

void sim_play_settle(char *text);

// ---- tape_text.c: choices as text; doc/testing.md has the format ------------------------------

enum { SIM_TAPE_MAX = 1 << 22 };

struct sim_tape {
    uint16_t *choices;
    uint32_t length;
    uint32_t line;  // the line of the error
};

bool sim_tape_read(const char *text, struct sim_tape *tape);  // false: it is invalid
void sim_tape_write(FILE *file, const uint16_t *choices, uint32_t length);
void sim_tape_release(struct sim_tape *tape);

// ---- shrink.c -----------------------------------------------------------------------------------

// Replaces the tape of `result`, a run that failed, by a shorter one with which the same judge
// fails, using at most `runs` runs. `run` is sim_run(), or isolate_run(), which survives
// assertions.
void sim_shrink(const struct sim_options *options, struct sim_result *result, uint32_t runs,
                  sim_run_fn *run);
