// planted.h - mistakes that can be switched on, to see whether the simulator finds them.
//
// Only test/sim/cluster/planted_test is built with them. Everywhere else PLANTED() is 0, and
// nothing of it is left in the program.
#pragma once

#define PLANTS(P)                                                                               \
    P(GROUP_IGNORED, "a lane lets in two of a group")                                           \
    P(GROUP_KEPT, "a group is not given back")                                                  \
    P(CLASS_IGNORED, "a lane lets in readers beside writers")                                   \
    P(CLASS_KEPT, "a lane forgets to count a class down")                                       \
    P(LANE_BACKWARDS, "who comes last is first in a lane")                                      \
    P(RETRY_MORE, "a task is repeated once too often")                                          \
    P(CANCEL_FREES, "a cancel frees the lane of what a worker was told")                        \
    P(CANCEL_FORGOTTEN, "a cancelled task that fails is repeated")                              \
    P(ATTEMPT_SAME, "the next attempt has the number of the last")                              \
    P(ROOM_KEPT, "the cores of an attempt are not given back")                                  \
    P(ROOM_FREE, "an attempt takes no cores")                                                   \
    P(LEASE_SHORT, "a silent worker is lost after half its lease")                              \
    P(LOST_KEPT, "what a lost worker had is not taken from it")                                 \
    P(NEED_EARLY, "a task is ready when one of its needs is missing")                           \
    P(DEATH_UNTOLD, "a failure does not block who needs it")                                    \
    P(RESTORE_FIRST, "after a restart every attempt is the first")                              \
    P(RESTORE_TRIES, "after a restart no attempt counts")                                       \
    P(TOLD_EARLY, "a turn is told before it is durable")                                        \
    P(SETTLED_ALL, "a durable turn counts for the next one too")                                \
    P(TOKEN_SAME, "a token is given out twice")                                                 \
    P(TOKEN_ANEW, "tokens start again with every server")                                        \
    P(LEAP_IGNORED, "a clock that is set ahead ends leases")                                    \
    P(CLOCK_STANDS, "a clock that is set back stops all timers")                                \
    P(TAKE_OVER_SKIPPED, "a new server believes the leases of the old one")                     \
    P(REQUEST_FORGOTTEN, "a request that comes twice is done twice")                            \
    P(REFUSAL_FORGOTTEN, "what was refused is done when it comes again")                        \
    P(REQUEST_MIXED, "any request with a known id is answered with a job")                      \
    P(STRANGERS_SPARED, "unknown attempts keep running")                                        \
    P(JOIN_NOT_COMPARED, "what a worker never got is waited for")                               \
    P(BODY_NOT_KEPT, "a restart loses the commands")                                            \
    P(NAME_NOT_KEPT, "a restart loses the names of lanes")                                      \
    P(RECORDED_ALWAYS, "every report is said to be recorded now")                               \
    P(RECORDED_NEVER, "no report is said to be recorded")                                       \
    P(RUN_WITHOUT_BEAT, "an order names no heartbeat")                                          \
    P(BEAT_UNANSWERED, "heartbeats are not answered")                                           \
    P(AWAY_UNSAID, "a connection that is gone is not told to the core")                         \
    P(FENCE_SKIPPED, "an expired lease kills nothing")                                          \
    P(FENCE_STOPPED, "the fence is stopped with the agent")                                     \
    P(EVICTION_FAILS, "a command that a batch system ends has failed")                          \
    P(HOLD_SKIPPED, "a new attempt starts beside the old one")                                  \
    P(RUN_TWICE, "an order that comes twice is done twice")                                     \
    P(JOIN_WITHOUT_RUNNING, "a worker forgets to name what it runs")                            \
    P(CONNECTION_SAME, "a connection has the number of the last one")                           \
    P(REMAKE_WAITS, "dependents of an input that is lost for good wait forever")                \
    P(CANCEL_FREES_HANDS, "a cancel frees the lane of what a handler holds")                    \
    P(INPUT_FREES, "a lost input frees the lane of what a worker was told")                     \
    P(FEED_EARLY, "who follows is told what is not durable")                                    \
    P(FEED_AGAIN, "who follows again hears all of a turn again")                                \
    P(PAUSE_RESERVES, "a lane that is paused keeps a place for its first")                      \
    P(JOB_KEPT, "the commands of a job stay when it is forgotten")                              \
    P(STOP_UNSAID, "a stop that was lost with its connection is not said again")                \
    P(LEASE_FROM_ANSWER, "a lease counts from the answer, not from the question")               \
    P(START_LATE, "an order starts though its lease has expired")                               \
    P(STALE_ATTEMPT, "a report about an older attempt counts")                                  \
    P(PLAN_LATE, "a clock that is set back over a restart stops all plans")                     \
    P(CLAUSE_ABORTED, "an aborted task counts as a failed one in a condition")                  \
    P(CLAUSE_OR, "a condition wants all where one is enough")                                   \
    P(CONDITION_WAITS, "a condition that cannot come true is waited for")                       \
    P(BUNDLE_EARLY, "a bundle finishes while a member is running")                              \
    P(BUNDLE_FORGIVES, "a bundle succeeds though a member was aborted")                         \
    P(PAUSE_UNSAID, "the pause of a job is answered and not carried out")                       \
    P(PAUSE_LATE, "what becomes ready in a paused job is handed out")                           \
    P(PAUSE_ROOMY, "a paused worker gets what asks for room")                                   \
    P(PAUSE_ENTERS, "the next of a lane that is paused is let in")                              \
    P(STREAM_KEPT, "a stream whose reader gave up counts as there")                             \
    P(FLOW_UNSAID, "who reads a stream elsewhere is not told where")                            \
    P(STREAM_TRUSTED, "a reader succeeds although its writer failed")                           \
    P(CONTENT_TRUSTED, "who fetches believes the hash that the source names")                   \
    P(CONTENT_UNSAID, "a fetch does not say what the object consists of")                       \
    P(TOKEN_UNCHECKED, "a report counts without the token of its attempt")                      \
    P(DISCARD_UNCHECKED, "a discarded attempt ends without its token")                          \
    P(TOKEN_BACK, "tokens of a restored database are given out again")                          \
    P(FILES_UNCHECKED, "a database that was deleted is written to")                             \
    P(TWIN_TAKES_OVER, "a worker that comes with the name of another has it")                   \
    P(COPY_UNNOTICED, "a copy of a worker's folder counts as that worker")                      \
    P(LACK_UNCOUNTED, "an attempt that lacks an input does not count")                          \
    P(STREAM_UNCHECKED, "a worker starts a reader whose stream it does not have")               \
    P(LACK_KEPT, "a command waits for an input that cannot be fetched")                         \
    P(HELD_KEPT, "an order that was held is not started when it may be")                        \
    P(STOP_IGNORED, "a worker does not end a command that it is told to stop")

#ifdef ROTA_PLANTED
#define PLANT_NAME(name, text) PLANT_##name,
enum plant { PLANT_NONE, PLANTS(PLANT_NAME) PLANT_COUNT };
#undef PLANT_NAME
extern enum plant planted;
#define PLANTED(name) (planted == PLANT_##name)
#else
#define PLANTED(name) 0
#endif
