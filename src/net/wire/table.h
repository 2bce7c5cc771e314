// table.h - every message that rota's processes send each other, as one table.
//
// A message is a list of fields, each with its kind. The structs, the encoder, the decoder, the
// dump and doc/protocol.md all come from these rows, so they cannot disagree.
#pragma once

#include "net/wire/fields.h"

// ---- Messages ------------------------------------------------------------------------

enum wire_run_flag {
    WIRE_RUN_CACHE = 1,    // the result may be taken from, and is put into, the cache
    WIRE_RUN_PRIVATE = 2,  // in a directory of its own, with its inputs in it
    WIRE_RUN_EXCLUSIVE = 4,  // it holds a group or a class: it ends with the worker's lease
    WIRE_RUN_ANYWHERE = 8,   // where there is no `cwd`, in a directory of its own
    WIRE_RUN_CACHE_FAILURE = 16,  // with CACHE: a failure is a result too, for the first attempt
};

// ---- Between a server and a worker -------------------------------------------------------

// Server to worker.
#define WIRE_RUN(F)                                                                  \
    F(task, task)                                                                    \
    F(u32, attempt)                                                                  \
    F(u64, token)       /* fencing token */                                          \
    F(u64, beat)        /* the newest BEAT known before it was committed; 0: none */ \
    F(text, name)                                                                    \
    F(texts, argv)      /* the first word is looked up in PATH */                    \
    F(texts, env)       /* NAME=VALUE, on top of the worker's own */                 \
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
#define WIRE_DROP(F) F(files, objects)  // only `object` of each counts
#define WIRE_QUIT(F) F(time, grace)     // stops all, reports all, ends
#define WIRE_DRAIN(F) F(u32, reserved)  // starts nothing more; a worker says it before it ends
#define WIRE_PROBE(F) F(u32, reserved)  // the worker sends a BEAT at once
#define WIRE_BEATEN(F) F(u64, sent)     // that BEAT has come, and the lease runs from its sending
enum wire_how {
    WIRE_NOW_RECORDED = 1,
    WIRE_WAS_RECORDED,  // by an earlier report of the same attempt
    WIRE_IS_STALE,      // the attempt is no longer current
};
#define WIRE_RECORDED(F) F(task, task) F(u32, attempt) F(u32, how)  // need not be sent again
#define WIRE_FETCH(F)                                                   \
    F(object, object)                                                   \
    F(u64, bytes)       /* exactly; 0: not known */                     \
    F(content, content) /* as its maker reported it; others are refused */ \
    F(texts, addresses) /* of workers that hold it, the best first */   \
    F(text, ticket)     /* to be shown there */
// A peer that shows the ticket within `valid` may fetch the object here.
#define WIRE_SERVE(F)                                                   \
    F(object, object) F(text, ticket) F(time, valid)                    \
    F(u64, client)      /* whose share of tickets it counts for; 0: a worker's */

// Looks whether these are still there, and says HELD or LOST of each.
#define WIRE_SHOW(F) F(files, objects)  // only `object` of each counts

// What a command made, or (`later`) will have made, as one object is another one, too; with `later`
// the first will be nobody's.
#define WIRE_ALIAS(F) F(object, from) F(object, to) F(u32, later)

// What it has made is a result for this content key, and is told of as such when it joins again.
#define WIRE_KNOWN(F) F(object, key) F(files, outputs)  // only `object` of each counts

// A stream that one of its commands reads flows from there, to whoever shows the ticket first.
#define WIRE_FLOW(F) F(object, object) F(text, address) F(text, ticket)

// Worker to server.
enum wire_end {
    WIRE_EXITED = 1,       // status: the exit status
    WIRE_SIGNALED,         // status: the signal
    WIRE_TIMED_OUT,        // status: the signal that ended it
    WIRE_OUT_OF_MEMORY,
    WIRE_STOPPED,          // as asked for
    WIRE_NOT_STARTED,      // could not be started; status: errno
    WIRE_BAD_OUTPUT,       // it exited with 0, but an output is not there or not as declared
    WIRE_BAD_INPUT,        // an input is not there
};
enum wire_finished_flag { WIRE_CACHED = 1, WIRE_LOG_TRUNCATED = 2, WIRE_CORE_DUMPED = 4 };

#define WIRE_HELLO(F) F(u32, version) F(u32, cores) F(u32, memory_mib) F(text, name) F(text, limits)
enum { WIRE_RESULTS_MAX = 100000 };     // of a worker, when it joins: others are not told
enum { WIRE_HELD_MAX = 4096 };          // objects in one HELD, LOST or STREAMED to a server
#define WIRE_HELD(F) F(files, objects)  // what is in the cache; all of it before HELLO
// On each new connection, behind the last of those HELD: nothing else is there any more.
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
    F(time, user)        /* of the command and all it waited for */     \
    F(time, system)                                                     \
    F(u64, memory_bytes) /* the largest of its processes */             \
    F(u64, log_bytes)    /* of output, before any was cut; 0: no log */ \
    F(text, reason)      /* "", or why it is not as it should be */     \
    F(files, outputs)
#define WIRE_STREAMED(F) F(files, objects)  // so many bytes of each have passed

enum wire_attempt_state {
    WIRE_ATTEMPT_QUEUED = 1,  // given, not started
    WIRE_ATTEMPT_RUNNING,
    WIRE_ATTEMPT_SPOOLED,     // ended, and its report not yet recorded
};
// Says what it is and has, on each new connection, before all else but GREET.
#define WIRE_JOIN(F)                                                          \
    F(u32, cores)                                                             \
    F(u32, memory_mib)                                                        \
    F(text, machine)                                                          \
    F(text, address)      /* where others fetch its objects; "": nowhere */   \
    F(text, limits)       /* as in HELLO */                                   \
    F(text, user)         /* commands run as this user; "root": uid 0 */      \
    F(u64, epoch)         /* the largest that this server has told it; 0: none */ \
    F(u64, opened)        /* what it told with that */                        \
    F(attempts, attempts) /* all that it has been given and is not recorded */
#define WIRE_BEAT(F) F(u64, sent)  // microseconds of its own clock, read before sending
#define WIRE_MISSED(F) F(object, object) F(text, reason)  // it could not be fetched
// Whoever has that address sends other bytes than those the object consists of.
#define WIRE_FORGED(F) F(object, object) F(text, address) F(text, reason)
#define WIRE_LOGGED(F)                                     \
    F(u64, request) F(task, task) F(u32, attempt)          \
    F(u64, offset) F(text, bytes)                          \
    F(u32, whole) /* 1: the log ends here; 0: so far */

#include "net/wire/table_data.h"

// ---- Between a client and a server --------------------------------------------------------

enum wire_role {
    WIRE_CLIENT = 1, WIRE_WORKER = 2, WIRE_ADMIN = 4, WIRE_PEER = 8, WIRE_HANDLER = 16
};

// The first message of every connection, and the first answer.
#define WIRE_GREET(F)                                                              \
    F(u32, version)                                                                \
    F(u32, role)        /* enum wire_role; the key must allow it */                \
    F(text, name)       /* of a worker: always the same; of others: for people */  \
    F(u64, boot)        /* another one whenever all its processes are gone */      \
    F(u64, connection)  /* of a worker: grows, over its restarts too */            \
    F(u64, folder)      /* of a worker: the id of its folder */                    \
    F(u64, place)       /* the same as long as its folder has the same lock; 0: not known */
#define WIRE_WELCOME(F)                                                            \
    F(u32, version)                                                                \
    F(u64, server)      /* another one for another database */                     \
    F(u64, epoch)       /* of its tokens: grows whenever the database is opened */ \
    F(u64, opened)      /* when it was: a restored database has other times */     \
    F(u64, peer)        /* the server's number for this peer */                    \
    F(time, lease)      /* a worker counts so long from the sending of a BEAT */   \
    F(time, beat)       /* and sends one so often */
enum wire_code {
    WIRE_REFUSED_VERSION = 1, WIRE_REFUSED_ROLE, WIRE_REFUSED_REQUEST, WIRE_REFUSED_STATE,
    WIRE_REFUSED_NOT_FOUND, WIRE_REFUSED_CONFLICT, WIRE_REFUSED_FULL, WIRE_REFUSED_MEMORY,
    WIRE_REFUSED_FRAME, WIRE_REFUSED_STALE, WIRE_REFUSED_NOTHING, WIRE_REFUSED_BUSY,
    WIRE_REFUSED_NAME,
};
#define WIRE_REFUSE(F) F(u64, high) F(u64, low) F(u32, code) F(text, reason)

enum wire_submit_flag {
    WIRE_SUBMIT_MORE = 1,  // not all of it: another piece follows, and nothing happens before
    WIRE_SUBMIT_OPEN = 2,  // the job may grow later
    WIRE_SUBMIT_WATCH = 4, // as if WATCH had come with it
};
// A job, or more of one. `high` and `low` are the id of the request; the same twice is done once.
// Pieces of one submission have the same id; numbers and indexes go on from one to the next.
#define WIRE_SUBMIT(F)                                                       \
    F(u64, high) F(u64, low)                                                 \
    F(u32, flags)                                                            \
    F(u32, job)         /* one that is open; 0: a new one */                 \
    F(u32, policy) F(u32, on_failure)                                        \
    F(text, name)                                                            \
    F(lanes, lanes)                                                          \
    F(texts, groups)                                                         \
    F(texts, machines)                                                       \
    F(texts, bodies)    /* each a RUN, whose numbers are set later; behind it maybe a REPEAT */ \
    F(texts, commands)  /* beside the bodies, for people */                  \
    F(specs, tasks) F(edges, edges) F(clauses, clauses)                      \
    F(uses, inputs) F(makes, outputs)
// When a failed attempt is followed by another one, as far as the number of them allows. Stands
// behind a RUN in a body, and is for the server.
#define WIRE_REPEAT(F)                                                       \
    F(time, rest)       /* before the first repetition */                    \
    F(u32, percent)     /* of the rest before: each further one */           \
    F(exits, exits)     /* only after these exit statuses; none: after all failures */
#define WIRE_ACCEPTED(F) F(u64, high) F(u64, low) F(u32, job) F(u32, first)

enum wire_verb {
    WIRE_CANCEL = 1, WIRE_RETRY, WIRE_STAGE, WIRE_START, WIRE_GREEN, WIRE_RED, WIRE_RESET,
    WIRE_FREEZE, WIRE_CLOSE, WIRE_VERBS
};
#define WIRE_CHANGE(F) F(u64, high) F(u64, low) F(u32, verb) F(task, task)
// Nothing new for a lane, a worker or a job; a worker that is drained is told to QUIT when it has
// ended all; the name of one that is forgotten may be used with another key.
enum wire_rest_how { WIRE_PAUSE = 1, WIRE_RESUME, WIRE_DRAIN_AND_QUIT, WIRE_FORGET };
enum wire_part { WIRE_PART_LANE = 1, WIRE_PART_WORKER, WIRE_PART_JOB };  // a job: its number
#define WIRE_REST(F) F(u64, high) F(u64, low) F(u32, how) F(u32, part) F(text, name)
#define WIRE_DONE(F) F(u64, high) F(u64, low) F(text, answer)

// From now on all that ends in a job, or in every job (0), is told; first what has ended already.
#define WIRE_WATCH(F) F(u32, job)
#define WIRE_ENDED(F)                                               \
    F(task, task) F(u32, outcome) F(i32, status) F(u32, attempt)    \
    F(text, name) F(text, reason)
#define WIRE_OVER(F) F(u32, job) F(u32, succeeded) F(u32, failed) F(u32, aborted) F(u32, tasks)

enum wire_follow_flag {
    WIRE_FOLLOW_FROM_NOW = 1,  // and not from the place that is named
    WIRE_FOLLOW_ENDS = 2,      // when all that has happened is told
};
// What changes, from behind a place in the journal on. A topic is KEY=VALUE with the keys job,
// task, name, lane, worker and kind; an event is told if of each key that is there one value fits.
#define WIRE_FOLLOW(F) F(u64, sequence) F(u32, place) F(u32, flags) F(texts, topics)
enum wire_event_kind {
    WIRE_EVENT_BEGIN = 1,  // that place, before all others
    WIRE_EVENT_TASK, WIRE_EVENT_JOB, WIRE_EVENT_WORKER,
    WIRE_EVENT_GAP,        // what came between the last place and this one is no longer kept
    WIRE_EVENT_END,        // this is all so far
};
#define WIRE_EVENT(F)                                                          \
    F(u64, sequence) F(u32, place) /* of a turn, and within it, from 1 */      \
    F(time, at)                                                                \
    F(u32, kind)                                                               \
    F(text, state)                                                             \
    F(task, task)                  /* or the job alone */                      \
    F(text, name) F(text, lane) F(text, worker)                                \
    F(i32, status) F(u32, attempt)

// How a task is, or (task 0) a job as a whole.
#define WIRE_LOOK(F) F(u64, high) F(u64, low) F(task, task)
enum wire_seen_flag {
    WIRE_SEEN_OVER = 1,  // nothing of the job goes on by itself
    WIRE_SEEN_PAUSED = 2
};
#define WIRE_SEEN(F)                                                           \
    F(u64, high) F(u64, low)                                                   \
    F(u32, flags)                                                              \
    F(u32, state)                  /* enum rota_task_state; 0: a job */        \
    F(u32, outcome) F(i32, status) /* of the last attempt that ended */        \
    F(u32, attempt)                                                            \
    F(text, name) F(text, worker)  /* "": it is nowhere */                     \
    F(u32, tasks) F(u32, succeeded) F(u32, failed) F(u32, aborted) F(u32, running)

// A question that a command of this program answers, and its output in pieces.
#define WIRE_ASK(F) F(u64, request) F(texts, words)
#define WIRE_ANSWER(F) F(u64, request) F(u32, stream) F(text, bytes)
#define WIRE_ANSWERED(F) F(u64, request) F(u32, status)

#define WIRE_LOG(F) F(u64, request) F(task, task) F(u32, attempt) F(u64, offset)

enum wire_data_verb {
    WIRE_DATA_READ = 1,  // FETCH says where, as soon as it is made
    WIRE_DATA_THROUGH,   // the same, when no worker can be reached from here
    WIRE_DATA_KEEP,
    WIRE_DATA_RELEASE,
};
#define WIRE_DATA(F) F(u64, high) F(u64, low) F(u32, verb) F(object, object)

#include "net/wire/table_handler.h"

// ---- All of them ------------------------------------------------------------------------

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
