// planted.h - mistakes that a test can switch on, to check that the simulator finds them.
//
// Only test/sim/cluster/planted_test is built with them. Everywhere else PLANTED() is 0, and the
// compiler removes the code.
#pragma once

#define PLANTS(P)                                                                               \
    P(GROUP_IGNORED, "a lane admits two tasks of a group")                                      \
    P(GROUP_KEPT, "a group is not released")                                                    \
    P(CLASS_IGNORED, "a lane admits readers beside writers")                                    \
    P(CLASS_KEPT, "a lane does not decrement the count of a class")                             \
    P(LANE_BACKWARDS, "a lane admits the newest request first")                                 \
    P(RETRY_MORE, "a task is retried once too often")                                           \
    P(CANCEL_FREES, "a cancel releases the lane of an attempt that a worker still has")         \
    P(CANCEL_FORGOTTEN, "a cancelled task that fails is retried")                               \
    P(ATTEMPT_SAME, "the next attempt has the same number as the last one")                     \
    P(ROOM_KEPT, "the cores of an attempt are not released")                                    \
    P(ROOM_FREE, "an attempt takes no cores")                                                   \
    P(LEASE_SHORT, "a silent worker is lost after half its lease")                              \
    P(LOST_KEPT, "a lost worker keeps its attempts")                                            \
    P(NEED_EARLY, "a task is ready while one dependency is missing")                            \
    P(DEATH_UNTOLD, "a failure does not block its dependents")                                  \
    P(RESTORE_FIRST, "after a restart every attempt is the first")                              \
    P(RESTORE_TRIES, "after a restart earlier attempts do not count")                           \
    P(TOLD_EARLY, "a turn is announced before it is durable")                                   \
    P(SETTLED_ALL, "a durable turn makes the next one count as durable")                        \
    P(TOKEN_SAME, "a token is issued twice")                                                    \
    P(TOKEN_RESET, "a new server issues tokens from the start again")                           \
    P(LEAP_IGNORED, "a clock that is set forward ends leases")                                  \
    P(CLOCK_STANDS, "a clock that is set back stops all timers")                                \
    P(TAKE_OVER_SKIPPED, "a new server trusts the leases of the old one")                       \
    P(REQUEST_FORGOTTEN, "a repeated request is executed twice")                                \
    P(REFUSAL_FORGOTTEN, "a refused request is executed when it is repeated")                   \
    P(REQUEST_MIXED, "any request with a known id is answered with a job")                      \
    P(STRANGERS_SPARED, "unknown attempts keep running")                                        \
    P(JOIN_NOT_COMPARED, "the server waits for attempts that the worker never got")             \
    P(BODY_NOT_KEPT, "a restart loses the commands")                                            \
    P(NAME_NOT_KEPT, "a restart loses the names of lanes")                                      \
    P(RECORDED_ALWAYS, "every report is acknowledged as recorded at once")                      \
    P(RECORDED_NEVER, "no report is acknowledged as recorded")                                  \
    P(RUN_WITHOUT_BEAT, "an order names no heartbeat")                                          \
    P(BEAT_UNANSWERED, "heartbeats are not answered")                                           \
    P(AWAY_UNSAID, "the core is not told that a connection is closed")                          \
    P(FENCE_SKIPPED, "an expired lease kills nothing")                                          \
    P(FENCE_STOPPED, "the fence is stopped with the agent")                                     \
    P(EVICTION_FAILS, "a command that a batch system kills counts as failed")                   \
    P(HOLD_SKIPPED, "a new attempt starts beside the old one")                                  \
    P(RUN_TWICE, "a repeated order is executed twice")                                          \
    P(JOIN_WITHOUT_RUNNING, "a joining worker does not list its running attempts")              \
    P(CONNECTION_SAME, "a connection has the same number as the last one")                      \
    P(REMAKE_WAITS, "dependents of a permanently lost input wait forever")                      \
    P(CANCEL_FREES_HANDS, "a cancel releases the lane of a task that a handler has claimed")    \
    P(INPUT_FREES, "a lost input releases the lane of an attempt that a worker has")            \
    P(FEED_EARLY, "a follower gets events that are not durable")                                \
    P(FEED_AGAIN, "a follower that reconnects gets all events of a turn again")                 \
    P(PAUSE_RESERVES, "a paused lane keeps resources for its first task")                       \
    P(JOB_KEPT, "the commands of a forgotten job are kept")                                     \
    P(STOP_UNSAID, "a stop that was lost with its connection is not sent again")                \
    P(LEASE_FROM_ANSWER, "a lease counts from the answer instead of the request")               \
    P(START_LATE, "an order starts although its lease has expired")                             \
    P(STALE_ATTEMPT, "a report about an older attempt counts")                                  \
    P(PLAN_LATE, "a clock that is set back during a restart stops all plans")                   \
    P(CLAUSE_ABORTED, "an aborted task counts as failed in a condition")                        \
    P(CLAUSE_OR, "a condition requires all clauses where one is enough")                        \
    P(CONDITION_WAITS, "a task waits for a condition that cannot become true")                  \
    P(BUNDLE_EARLY, "a bundle finishes while a member is running")                              \
    P(BUNDLE_FORGIVES, "a bundle succeeds although a member was aborted")                       \
    P(PAUSE_UNSAID, "the pause of a job is acknowledged but not executed")                      \
    P(PAUSE_LATE, "a task that becomes ready in a paused job is started")                       \
    P(PAUSE_ROOMY, "a paused worker gets tasks that ask for cores or memory")                   \
    P(PAUSE_ENTERS, "a paused lane admits its next task")                                       \
    P(STREAM_KEPT, "a stream whose reader gave up counts as present")                           \
    P(FLOW_UNSAID, "a reader on another worker is not told where its stream is")                \
    P(STREAM_TRUSTED, "a reader succeeds although its writer failed")                           \
    P(CONTENT_TRUSTED, "a fetching worker trusts the hash that the source names")               \
    P(CONTENT_UNSAID, "a fetch does not name the expected content of the object")               \
    P(TOKEN_UNCHECKED, "a report counts without the token of its attempt")                      \
    P(DISCARD_UNCHECKED, "a discarded attempt ends without its token")                          \
    P(TOKEN_BACK, "tokens of a restored database are issued again")                             \
    P(FILES_UNCHECKED, "the server writes to a deleted database")                               \
    P(TWIN_TAKES_OVER, "a second worker with the same name replaces the first")                 \
    P(COPY_UNNOTICED, "a copy of a worker's folder counts as that worker")                      \
    P(LACK_UNCOUNTED, "an attempt that lacks an input does not count")                          \
    P(STREAM_UNCHECKED, "a worker starts a reader without its stream")                          \
    P(LACK_KEPT, "a command waits for an input that cannot be fetched")                         \
    P(HELD_KEPT, "a held order is not started when it is released")                             \
    P(STOP_IGNORED, "a worker does not kill a command that it is told to stop")

#ifdef ROTA_PLANTED
#define PLANT_NAME(name, text) PLANT_##name,
enum plant { PLANT_NONE, PLANTS(PLANT_NAME) PLANT_COUNT };
#undef PLANT_NAME
extern enum plant planted;
#define PLANTED(name) (planted == PLANT_##name)
#else
#define PLANTED(name) 0
#endif
