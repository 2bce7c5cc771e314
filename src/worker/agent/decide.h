// decide.h - the rules of a worker (model/README.md) as pure functions: no clock, no files.
//
// The caller reads the clock, which is CLOCK_BOOTTIME in microseconds, and executes the decisions.
// All attempts of this worker that are not recorded are in one table.
#pragma once

#include "net/wire/wire.h"

enum {
    DECIDE_ATTEMPTS_MAX = 1 << 19,  // so that all of them fit in one JOIN
    DECIDE_ANSWERED_MAX = 1 << 20,  // then a new connection is made, which starts at 0
};
#define DECIDE_LEASE_MAX ((int64_t)24 * 3600 * 1000000)

// ---- attempts.c: attempts of this worker ----------------------------------------------------

enum attempt_state {
    ATTEMPT_HELD = 1,  // waits until an older attempt of its task has ended
    ATTEMPT_GIVEN,     // passed to the process that runs commands
    ATTEMPT_RUNNING,
    ATTEMPT_ENDED,    // it has no process any more; its report is not on disk yet
    ATTEMPT_SPOOLED,  // its report is on disk, and the server has not recorded it
};

struct attempt {
    uint32_t older;  // attempt of the same task; 0: none. Used by the pool while it is free
    uint32_t number;
    rota_task_id task;
    uint64_t token, beat;
    int64_t grace;
    enum attempt_state state;
    bool is_exclusive;
    bool is_stopping;  // it was told to end
    bool is_fenced;    // it was killed because the lease expired
    bool has_started;
    void *report;      // of the caller
};

struct attempts {
    struct memory memory;
    struct pool rows;
    struct map by_task;  // the newest attempt of each
    uint32_t alive;      // HELD, GIVEN or RUNNING
    uint32_t going;      // of them, not yet told to end
    uint32_t exclusive;  // GIVEN or RUNNING, and must not outlive the lease
    uint32_t unfenced;   // of them, not yet killed
};

static inline bool attempt_is_alive(const struct attempt *attempt)
{
    return attempt->state && attempt->state <= ATTEMPT_RUNNING;
}

static inline uint64_t attempt_key(rota_task_id task)
{
    return (uint64_t)task.job << 32 | task.task;
}

bool attempts_reserve(struct attempts *attempts);  // room for one more
struct attempt *attempts_add(struct attempts *attempts, const struct attempt *attempt);
void attempts_remove(struct attempts *attempts, struct attempt *attempt);
struct attempt *attempts_find(const struct attempts *attempts, rota_task_id task, uint32_t number);
struct attempt *attempts_newest(const struct attempts *attempts, rota_task_id task);
struct attempt *attempts_older(const struct attempts *attempts, const struct attempt *attempt);
// Iterates in an arbitrary order; null begins, and null is the end.
struct attempt *attempts_next(const struct attempts *attempts, const struct attempt *after);
// Only these three functions change a row.
void attempts_move(struct attempts *attempts, struct attempt *attempt, enum attempt_state state);
void attempts_stop(struct attempts *attempts, struct attempt *attempt);
void attempts_fence(struct attempts *attempts, struct attempt *attempt);
// The report of one that has no process; it is ENDED from now on.
struct wire_finished attempts_refuse(struct attempts *attempts, struct attempt *attempt,
                                     enum wire_end end, int error, const char *reason,
                                     rota_time now);
// The server that has to record these reports is gone.
void attempts_forget_spooled(struct attempts *attempts);
static inline uint32_t attempts_count(const struct attempts *attempts)
{
    return pool_used(&attempts->rows);
}
void attempts_release(struct attempts *attempts);

// ---- decide.c: the rules --------------------------------------------------------------------

struct decide {
    struct attempts attempts;
    struct map answered;      // on this connection: the newest attempt of each task
    uint64_t connection;      // 0: there has been none
    bool is_connected;
    bool is_draining;
    int64_t lease, interval;  // as told by the server
    int64_t lease_until;      // exclusive attempts may run until then
    int64_t sent;             // the newest BEAT of this connection; 0: none
    int64_t heard;            // when a message of a server was last received
    int64_t alone_max;        // how long other attempts continue without one
};

void decide_init(struct decide *decide, int64_t now, int64_t alone_max);
void decide_release(struct decide *decide);

// A new connection: its number, larger than all before it since this machine was booted.
uint64_t decide_connect(struct decide *decide, int64_t now);
void decide_disconnect(struct decide *decide);
// False: this server cannot be ours.
bool decide_welcome(struct decide *decide, const struct wire_welcome *welcome, int64_t now);
// A BEAT has to be sent with this time, which was read just before.
bool decide_beat_is_due(const struct decide *decide, int64_t now);
void decide_beat(struct decide *decide, int64_t now);
void decide_beaten(struct decide *decide, uint64_t connection, uint64_t sent, int64_t now);
// The server has not answered for so long that another connection is worth a try.
bool decide_is_cut_off(const struct decide *decide, int64_t now);
bool decide_is_worn(const struct decide *decide);  // too many answers on this connection

enum decide_verdict {
    DECIDE_IGNORE,
    DECIDE_GIVE,    // it may start
    DECIDE_HOLD,    // when all older attempts of its task, which are killed now, have ended
    DECIDE_REFUSE,  // the row is ENDED: to be reported as not started, with error and reason
    DECIDE_BREAK,   // the message is invalid, or memory ran out: end the connection
};
struct decide_answer {
    enum decide_verdict verdict;
    struct attempt *attempt;
    int error;
    const char *reason;
};
struct decide_answer decide_run(struct decide *decide, uint64_t connection,
                                const struct wire_run *run, int64_t now);
// For a HELD attempt whose older attempts have ended; IGNORE: it still has to wait.
struct decide_answer decide_continue(struct decide *decide, struct attempt *attempt, int64_t now);
// The next attempt after one that must end now, and how: null is the end. Mark it at once.
struct attempt *decide_must_end(const struct decide *decide, const struct attempt *after,
                                int64_t now);
static inline bool decide_lease_is_over(const struct decide *decide, int64_t now)
{
    return now >= decide->lease_until;
}
// When the next of the above is due: a BEAT, the end of the lease, or of `alone_max`.
int64_t decide_due(const struct decide *decide);
// When all exclusive processes must be gone, or the entire worker is killed; INT64_MAX: there are
// none.
int64_t decide_fence_due(const struct decide *decide);
// When the kernel kills the worker, because even that has not helped.
int64_t decide_fence_last(const struct decide *decide);
// The complete table, for JOIN. `items` has room for attempts_count().
wire_attempts decide_join(const struct decide *decide, struct wire_attempt *items);
