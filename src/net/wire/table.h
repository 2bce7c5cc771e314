// table.h - every message between rota processes, as one table.
//
// A message is a list of typed fields. The structs, the encoder, the decoder, the dump and
// doc/wire-protocol.md are all generated from these rows, so they cannot disagree.
#pragma once

#include "net/wire/fields.h"

// ---- Messages ------------------------------------------------------------------------

enum wire_run_flag {
    WIRE_RUN_CACHE = 1,    // the result may come from the cache, and is added to it
    WIRE_RUN_PRIVATE = 2,  // in a new directory that contains its inputs
    WIRE_RUN_EXCLUSIVE = 4,  // holds a group or a lane: it is killed when the lease expires
    WIRE_RUN_ANYWHERE = 8,   // if `cwd` does not exist, in a new directory
    WIRE_RUN_CACHE_FAILURE = 16,  // with CACHE: a failure counts as a result, for the first attempt
};

// ---- Between a server and a worker -------------------------------------------------------

// Server to worker.
#define WIRE_RUN(F)                                                                  \
    F(task, task)                                                                    \
    F(u32, attempt)                                                                  \
    F(u64, token)       /* fencing token */                                          \
    F(u64, beat)        /* the newest BEAT known before it was committed; 0: none */ \
    F(text, name)                                                                    \
    F(texts, argv)      /* the first word is found by PATH */                        \
    F(texts, env)       /* NAME=VALUE, added to the worker's environment */          \
    F(text, cwd)        /* absolute; "" with PRIVATE: that directory */              \
    F(text, stdin_path) /* "": nothing to read */                                    \
    F(time, timeout)    /* 0: none */                                                \
    F(time, grace)      /* between TERM and KILL */                                  \
    F(u32, cores)                                                                    \
    F(u32, memory_mib)                                                               \
    F(u64, log_max)     /* bytes of output that are kept; 0: the worker's default */ \
    F(u32, flags)       /* enum wire_run_flag */                                     \
    F(files, inputs)                                                                 \
    F(files, outputs)
#define WIRE_STOP(F) F(task, task) F(u32, attempt) F(time, grace)
#define WIRE_DROP(F) F(files, objects)  // uses only `object` of each
#define WIRE_QUIT(F) F(time, grace)     // the worker stops and reports all tasks, then exits
#define WIRE_DRAIN(F) F(u32, reserved)  // no further tasks; a worker sends it before it exits
#define WIRE_PROBE(F) F(u32, reserved)  // the worker answers with a BEAT at once
#define WIRE_BEATEN(F) F(u64, sent)     // acknowledges that BEAT: the lease starts when it was sent
enum wire_how {
    WIRE_NOW_RECORDED = 1,
    WIRE_WAS_RECORDED,  // by an earlier report of the same attempt
    WIRE_IS_STALE,      // the attempt is no longer current
};
#define WIRE_RECORDED(F) F(task, task) F(u32, attempt) F(u32, how)  // the worker may forget it
#define WIRE_FETCH(F)                                                   \
    F(object, object)                                                   \
    F(u64, bytes)       /* exactly; 0: unknown */                       \
    F(content, content) /* as its producer reported it; others are refused */ \
    F(texts, addresses) /* of workers that hold it, best first */       \
    F(text, ticket)     /* to show there */
// A peer that shows the ticket within `valid` may fetch the object here.
#define WIRE_SERVE(F)                                                   \
    F(object, object) F(text, ticket) F(time, valid)                    \
    F(u64, client)      /* whose quota of tickets it counts for; 0: a worker's */

// The worker checks whether it still has these objects, and answers HELD or LOST for each.
#define WIRE_SHOW(F) F(files, objects)  // uses only `object` of each

// A present or (`later`) future output of a command gets a second object id. With `later`, no task
// will read the first one.
#define WIRE_ALIAS(F) F(object, from) F(object, to) F(u32, later)

// The outputs are the result for this content key. The worker reports it when it joins again.
#define WIRE_KNOWN(F) F(object, key) F(files, outputs)  // uses only `object` of each

// The source of a stream that a command of the worker reads: connect there and show the ticket.
#define WIRE_FLOW(F) F(object, object) F(text, address) F(text, ticket)

// Worker to server.
enum wire_end {
    WIRE_EXITED = 1,       // status: the exit status
    WIRE_SIGNALED,         // status: the signal
    WIRE_TIMED_OUT,        // status: the signal that killed it
    WIRE_OUT_OF_MEMORY,
    WIRE_STOPPED,          // as requested
    WIRE_NOT_STARTED,      // could not be started; status: errno
    WIRE_BAD_OUTPUT,  // it exited with 0, but an output is missing or differs from its declaration
    WIRE_BAD_INPUT,        // an input is missing
};
enum wire_finished_flag { WIRE_CACHED = 1, WIRE_LOG_TRUNCATED = 2, WIRE_CORE_DUMPED = 4 };

#define WIRE_HELLO(F) F(u32, version) F(u32, cores) F(u32, memory_mib) F(text, name) F(text, limits)
enum { WIRE_RESULTS_MAX = 100000 };     // maximum that a joining worker reports
enum { WIRE_HELD_MAX = 4096 };          // maximum per HELD, LOST or STREAMED to a server
#define WIRE_HELD(F) F(files, objects)  // objects in the cache; all of them before HELLO
// Sent on each new connection after the last HELD: the worker has no other objects.
#define WIRE_HELD_ALL(F) F(u64, count)
#define WIRE_LOST(F) F(files, objects)
#define WIRE_STARTED(F) F(task, task) F(u32, attempt) F(time, at) F(u32, pid)
#define WIRE_FINISHED(F)                                                \
    F(task, task)                                                       \
    F(u32, attempt)                                                     \
    F(u64, token)                                                       \
    F(u32, end)          /* enum wire_end */                            \
    F(i32, status)                                                      \
    F(u32, flags)        /* enum wire_finished_flag */                  \
    F(time, began)                                                      \
    F(time, ended)                                                      \
    F(time, user)        /* of the command and its children */          \
    F(time, system)                                                     \
    F(u64, memory_bytes) /* the largest of its processes */             \
    F(u64, log_bytes)    /* of output, before any was cut; 0: no log */ \
    F(text, reason)      /* "", or why it failed */                     \
    F(files, outputs)
#define WIRE_STREAMED(F) F(files, objects)  // the number of bytes of each written so far

enum wire_attempt_state {
    WIRE_ATTEMPT_QUEUED = 1,  // assigned, not started
    WIRE_ATTEMPT_RUNNING,
    WIRE_ATTEMPT_SPOOLED,     // ended, but the server has not recorded its report
};
// The first message of a worker after GREET, on each new connection.
#define WIRE_JOIN(F)                                                          \
    F(u32, cores)                                                             \
    F(u32, memory_mib)                                                        \
    F(text, machine)                                                          \
    F(text, address)      /* where others fetch its objects; "": nowhere */   \
    F(text, limits)       /* as in HELLO */                                   \
    F(text, user)         /* commands run as this user; "root": uid 0 */      \
    F(u64, epoch)         /* the largest that this server has sent it; 0: none */ \
    F(u64, opened)        /* the one of that epoch */                         \
    F(attempts, attempts) /* all that are assigned to it and not recorded */
#define WIRE_BEAT(F) F(u64, sent)  // microseconds of the worker's clock, read before sending
#define WIRE_MISSED(F) F(object, object) F(text, reason)  // the object could not be fetched
// The peer at that address sent bytes that do not match the hash of the object.
#define WIRE_FORGED(F) F(object, object) F(text, address) F(text, reason)
#define WIRE_LOGGED(F)                                     \
    F(u64, request) F(task, task) F(u32, attempt)          \
    F(u64, offset) F(text, bytes)                          \
    F(u32, whole) /* 1: the log is complete; 0: more may follow */

#include "net/wire/table_data.h"

// ---- Between a client and a server --------------------------------------------------------

enum wire_role {
    WIRE_CLIENT = 1, WIRE_WORKER = 2, WIRE_ADMIN = 4, WIRE_PEER = 8, WIRE_HANDLER = 16
};

// The first message of every connection, and the first answer.
#define WIRE_GREET(F)                                                              \
    F(u32, version)                                                                \
    F(u32, role)        /* enum wire_role; the key must allow it */                \
    F(text, name)       /* of a worker: permanent; of others: shown to people */   \
    F(u64, boot)        /* changes whenever all its processes have ended */        \
    F(u64, connection)  /* of a worker: grows, over its restarts too */            \
    F(u64, folder)      /* of a worker: the id of its folder */                    \
    F(u64, place)       /* changes with the lock of its folder; 0: unknown */
#define WIRE_WELCOME(F)                                                            \
    F(u32, version)                                                                \
    F(u64, server)      /* the id of its database */                               \
    F(u64, epoch)       /* of its tokens: grows whenever the database is opened */ \
    F(u64, opened)      /* when that was: a restored database has another time */  \
    F(u64, peer)        /* the server's number for this peer */                    \
    F(time, lease)      /* of a worker, from the sending of a BEAT */              \
    F(time, beat)       /* the interval of BEATs */
enum wire_code {
    WIRE_REFUSED_VERSION = 1, WIRE_REFUSED_ROLE, WIRE_REFUSED_REQUEST, WIRE_REFUSED_STATE,
    WIRE_REFUSED_NOT_FOUND, WIRE_REFUSED_CONFLICT, WIRE_REFUSED_FULL, WIRE_REFUSED_MEMORY,
    WIRE_REFUSED_FRAME, WIRE_REFUSED_STALE, WIRE_REFUSED_NOTHING, WIRE_REFUSED_BUSY,
    WIRE_REFUSED_NAME,
};
#define WIRE_REFUSE(F) F(u64, high) F(u64, low) F(u32, code) F(text, reason)

enum wire_submit_flag {
    WIRE_SUBMIT_MORE = 1,  // another piece follows; the server waits for the last one
    WIRE_SUBMIT_OPEN = 2,  // the job may grow later
    WIRE_SUBMIT_WATCH = 4, // also starts a WATCH of the job
};
// A job, or additional tasks of a job. `high` and `low` are the request id; the server executes a
// repeated request once. All pieces of a submission have the same id and continue its numbering.
#define WIRE_SUBMIT(F)                                                       \
    F(u64, high) F(u64, low)                                                 \
    F(u32, flags)                                                            \
    F(u32, job)         /* an open job; 0: a new one */                      \
    F(u32, policy) F(u32, on_failure)                                        \
    F(text, name)                                                            \
    F(lanes, lanes)                                                          \
    F(texts, groups)                                                         \
    F(texts, machines)                                                       \
    F(texts, bodies)    /* each a RUN, whose numbers are set later, and perhaps a REPEAT */ \
    F(texts, commands)  /* of the bodies, shown to people */                 \
    F(specs, tasks) F(edges, edges) F(clauses, clauses)                      \
    F(uses, inputs) F(makes, outputs)
// When the server retries a failed attempt, within the number of retries. Follows a RUN in a body.
#define WIRE_REPEAT(F)                                                       \
    F(time, rest)       /* backoff before the first retry */                 \
    F(u32, percent)     /* of the previous backoff: each further one */      \
    F(exits, exits)     /* only after these exit statuses; none: after all failures */
#define WIRE_ACCEPTED(F) F(u64, high) F(u64, low) F(u32, job) F(u32, first)

enum wire_verb {
    WIRE_CANCEL = 1, WIRE_RETRY, WIRE_STAGE, WIRE_START, WIRE_GREEN, WIRE_RED, WIRE_RESET,
    WIRE_FREEZE, WIRE_CLOSE, WIRE_VERBS
};
#define WIRE_CHANGE(F) F(u64, high) F(u64, low) F(u32, verb) F(task, task)
// Pauses or resumes a lane, a worker or a job. A drained worker gets QUIT when its tasks have
// finished. After FORGET, the name of the worker may be used with another key.
enum wire_rest_how { WIRE_PAUSE = 1, WIRE_RESUME, WIRE_DRAIN_AND_QUIT, WIRE_FORGET };
enum wire_part { WIRE_PART_LANE = 1, WIRE_PART_WORKER, WIRE_PART_JOB };  // a job by its number
#define WIRE_REST(F) F(u64, high) F(u64, low) F(u32, how) F(u32, part) F(text, name)
#define WIRE_DONE(F) F(u64, high) F(u64, low) F(text, answer)

// Reports every task of a job, or of all jobs (0), that finishes, starting with those already
// finished.
#define WIRE_WATCH(F) F(u32, job)
#define WIRE_ENDED(F)                                               \
    F(task, task) F(u32, outcome) F(i32, status) F(u32, attempt)    \
    F(text, name) F(text, reason)
#define WIRE_OVER(F) F(u32, job) F(u32, succeeded) F(u32, failed) F(u32, aborted) F(u32, tasks)

enum wire_follow_flag {
    WIRE_FOLLOW_FROM_NOW = 1,  // ignores the position
    WIRE_FOLLOW_ENDS = 2,      // stop after the last event so far
};
// Sends the events after a position in the journal. A topic is KEY=VALUE with the keys job, task,
// name, lane, worker and kind; an event is sent if it matches a value of each key that is given.
#define WIRE_FOLLOW(F) F(u64, sequence) F(u32, place) F(u32, flags) F(texts, topics)
enum wire_event_kind {
    WIRE_EVENT_BEGIN = 1,  // the position, before any other event
    WIRE_EVENT_TASK, WIRE_EVENT_JOB, WIRE_EVENT_WORKER,
    WIRE_EVENT_GAP,        // the server has removed the events before this position
    WIRE_EVENT_END,        // no further events so far
};
#define WIRE_EVENT(F)                                                          \
    F(u64, sequence) F(u32, place) /* of a turn; within it, from 1 */          \
    F(time, at)                                                                \
    F(u32, kind)                                                               \
    F(text, state)                                                             \
    F(task, task)                  /* task 0: the job */                       \
    F(text, name) F(text, lane) F(text, worker)                                \
    F(i32, status) F(u32, attempt)

// Requests the state of a task or (task 0) of a job.
#define WIRE_LOOK(F) F(u64, high) F(u64, low) F(task, task)
enum wire_seen_flag {
    WIRE_SEEN_OVER = 1,  // the job has finished
    WIRE_SEEN_PAUSED = 2
};
#define WIRE_SEEN(F)                                                           \
    F(u64, high) F(u64, low)                                                   \
    F(u32, flags)                                                              \
    F(u32, state)                  /* enum rota_task_state; 0: a job */        \
    F(u32, outcome) F(i32, status) /* of the last attempt that ended */        \
    F(u32, attempt)                                                            \
    F(text, name) F(text, worker)  /* "": it does not run */                   \
    F(u32, tasks) F(u32, succeeded) F(u32, failed) F(u32, aborted) F(u32, running)

// A query: the server runs a command of this program and sends its output in pieces.
#define WIRE_ASK(F) F(u64, request) F(texts, words)
#define WIRE_ANSWER(F) F(u64, request) F(u32, stream) F(text, bytes)
#define WIRE_ANSWERED(F) F(u64, request) F(u32, status)

#define WIRE_LOG(F) F(u64, request) F(task, task) F(u32, attempt) F(u64, offset)

enum wire_data_verb {
    WIRE_DATA_READ = 1,  // FETCH names its holders as soon as the object exists
    WIRE_DATA_THROUGH,   // the same through the server if no worker is reachable
    WIRE_DATA_KEEP,
    WIRE_DATA_RELEASE,
};
#define WIRE_DATA(F) F(u64, high) F(u64, low) F(u32, verb) F(object, object)

#include "net/wire/table_handler.h"

// ---- All messages -----------------------------------------------------------------------

#define WIRE_MESSAGES(M)                                                                   \
    M(HELLO, hello) M(RUN, run) M(STOP, stop) M(DROP, drop) M(QUIT, quit) M(DRAIN, drain)  \
    M(HELD, held) M(LOST, lost) M(STARTED, started) M(FINISHED, finished)                  \
    M(STREAMED, streamed)                                                                  \
    M(GREET, greet) M(WELCOME, welcome) M(REFUSE, refuse) M(JOIN, join)                    \
    M(BEAT, beat) M(BEATEN, beaten) M(RECORDED, recorded) M(FETCH, fetch)                  \
    M(SERVE, serve) M(MISSED, missed) M(LOG, log) M(LOGGED, logged)                        \
    M(SUBMIT, submit) M(ACCEPTED, accepted) M(CHANGE, change) M(DONE, done)                \
    M(WATCH, watch) M(ENDED, ended) M(OVER, over)                                          \
    M(ASK, ask) M(ANSWER, answer) M(ANSWERED, answered)                                    \
    M(CLAIM, claim) M(GRANTED, granted) M(DELIVER, deliver) M(FAIL, fail)                  \
    M(GET, get) M(CONTENT, content) M(WANT, want) M(PIECE, piece)                          \
    M(FOLLOW, follow) M(EVENT, event)                                                      \
    M(OFFER, offer) M(OFFERED, offered) M(STORED, stored) M(BIND, bind) M(BOUND, bound)    \
    M(DATA, data)                                                                          \
    M(RENEW, renew) M(RENEWED, renewed) M(FLOW, flow) M(REPEAT, repeat) M(REST, rest)      \
    M(LOOK, look) M(SEEN, seen) M(SHOW, show) M(HELD_ALL, held_all) M(ALIAS, alias)     \
    M(KNOWN, known) M(FORGED, forged) M(BROUGHT, brought) M(PROBE, probe)
