// decide.c - the rules of a worker, as specified in model/README.md.
#include "worker/agent/decide.h"
#include "base/planted.h"

#include <errno.h>

enum { BEAT_MIN = 1000, BEATS_IN_LEASE = 4, NANOSECONDS = 1000, FENCE_SLACK_MAX = 2000000 };

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void decide_init(struct decide *decide, int64_t now, int64_t alone_max)
{
    assert(alone_max > 0);
    *decide = (struct decide){.heard = now, .alone_max = alone_max};
    decide->attempts.memory = memory_heap;
}

void decide_release(struct decide *decide)
{
    map_release(&decide->attempts.memory, &decide->answered);
    attempts_release(&decide->attempts);
}

// ---- Connections ---------------------------------------------------------------------------

uint64_t decide_connect(struct decide *decide, int64_t now)
{
    assert(now >= 0);
    uint64_t number = (uint64_t)now * NANOSECONDS;
    if (PLANTED(CONNECTION_SAME)) number = 1, decide->connection = 0;
    if (number <= decide->connection) number = decide->connection + 1;
    decide_disconnect(decide);
    decide->connection = number;
    return number;
}

void decide_disconnect(struct decide *decide)
{
    decide->is_connected = false;
    decide->sent = 0;
    map_release(&decide->attempts.memory, &decide->answered);
}

bool decide_welcome(struct decide *decide, const struct wire_welcome *welcome, int64_t now)
{
    assert(decide->connection);
    if (welcome->version != WIRE_VERSION || welcome->beat < BEAT_MIN) return false;
    if (welcome->lease > DECIDE_LEASE_MAX) return false;
    if (welcome->lease / BEATS_IN_LEASE < welcome->beat) return false;
    decide->lease = welcome->lease;
    decide->interval = welcome->beat;
    decide->heard = now;
    decide->is_connected = true;
    return true;
}

bool decide_is_worn(const struct decide *decide)
{
    return decide->answered.count >= DECIDE_ANSWERED_MAX;
}

// ---- The lease -------------------------------------------------------------------------------

bool decide_beat_is_due(const struct decide *decide, int64_t now)
{
    return decide->is_connected && (!decide->sent || now >= decide->sent + decide->interval);
}

void decide_beat(struct decide *decide, int64_t now)
{
    assert(now >= decide->sent);
    assert(decide->connection);
    decide->sent = now;
}

// The lease counts from the sending. A BEAT that was never sent cannot have been received.
void decide_beaten(struct decide *decide, uint64_t connection, uint64_t sent, int64_t now)
{
    if (!decide->is_connected || connection != decide->connection) return;
    if (!sent || sent > (uint64_t)decide->sent) return;
    int64_t from = PLANTED(LEASE_FROM_ANSWER) ? now : (int64_t)sent;
    decide->lease_until = later(decide->lease_until, from + decide->lease);
    decide->heard = now;
}

bool decide_is_cut_off(const struct decide *decide, int64_t now)
{
    return decide->is_connected && now >= decide->heard + decide->lease / 2;
}

// ---- RUN ---------------------------------------------------------------------------------------

// A BEAT that is newer than now was sent before this machine was rebooted.
static bool is_timely(const struct decide *decide, uint64_t beat, int64_t now)
{
    if (!beat || beat > (uint64_t)now) return false;
    return now < (int64_t)beat + decide->lease;
}

static bool has_older_alive(const struct decide *decide, const struct attempt *attempt)
{
    while ((attempt = attempts_older(&decide->attempts, attempt)))
        if (attempt_is_alive(attempt)) return true;
    return false;
}

static struct decide_answer refuse(struct decide *decide, struct attempt *attempt, int error,
                                   const char *reason)
{
    assert(error);
    attempts_move(&decide->attempts, attempt, ATTEMPT_ENDED);
    return (struct decide_answer){DECIDE_REFUSE, attempt, error, reason};
}

static struct decide_answer begin(struct decide *decide, struct attempt *attempt, int64_t now)
{
    assert(attempt->state == ATTEMPT_HELD);
    if (decide->is_draining) return refuse(decide, attempt, ECANCELED, "the worker is draining");
    if (attempt->is_exclusive && !is_timely(decide, attempt->beat, now) && !PLANTED(START_LATE))
        return refuse(decide, attempt, ESTALE, "it arrived too late: its lease had expired");
    if (has_older_alive(decide, attempt) && !PLANTED(HOLD_SKIPPED))
        return (struct decide_answer){.verdict = DECIDE_HOLD, .attempt = attempt};
    if (attempt->is_exclusive)
        decide->lease_until = later(decide->lease_until, (int64_t)attempt->beat + decide->lease);
    attempts_move(&decide->attempts, attempt, ATTEMPT_GIVEN);
    return (struct decide_answer){.verdict = DECIDE_GIVE, .attempt = attempt};
}

// A RUN that arrived before on this connection is not answered twice, whatever its state; nor is
// one that an earlier connection brought.
static bool is_known(const struct decide *decide, const struct wire_run *run)
{
    const struct attempt *newest = attempts_newest(&decide->attempts, run->task);
    if (PLANTED(RUN_TWICE)) return false;
    if (newest && newest->number >= run->attempt) return true;
    return map_find(&decide->answered, attempt_key(run->task)) >= run->attempt;
}

struct decide_answer decide_run(struct decide *decide, uint64_t connection,
                                const struct wire_run *run, int64_t now)
{
    assert(run);
    struct decide_answer none = {.verdict = DECIDE_IGNORE};
    if (!decide->is_connected || connection != decide->connection) return none;
    none.verdict = DECIDE_BREAK;
    if (!run->attempt || !run->task.job || !run->task.task) return none;
    none.verdict = DECIDE_IGNORE;
    if (is_known(decide, run)) return none;
    none.verdict = DECIDE_BREAK;
    if (!attempts_reserve(&decide->attempts)) return none;
    if (!map_reserve(&decide->attempts.memory, &decide->answered, 1)) return none;
    map_put(&decide->answered, attempt_key(run->task), run->attempt);
    struct attempt fresh = {.task = run->task,
                            .number = run->attempt,
                            .token = run->token,
                            .beat = run->beat,
                            .grace = run->grace,
                            .state = ATTEMPT_HELD,
                            .is_exclusive = run->flags & WIRE_RUN_EXCLUSIVE};
    return begin(decide, attempts_add(&decide->attempts, &fresh), now);
}

struct decide_answer decide_continue(struct decide *decide, struct attempt *attempt, int64_t now)
{
    struct decide_answer answer = {.verdict = DECIDE_IGNORE};
    if (attempt->state == ATTEMPT_HELD) answer = begin(decide, attempt, now);
    if (answer.verdict == DECIDE_HOLD) answer.verdict = DECIDE_IGNORE;
    return answer;
}

// ---- Attempts that must end -----------------------------------------------------------------

static bool must_end(const struct decide *decide, const struct attempt *attempt, int64_t now)
{
    if (!attempt_is_alive(attempt)) return false;
    if (!attempt->is_stopping && now >= decide->heard + decide->alone_max) return true;
    bool is_held = attempt->state == ATTEMPT_HELD;
    return attempt->is_exclusive && !attempt->is_fenced && !is_held && !PLANTED(FENCE_SKIPPED)
           && decide_lease_is_over(decide, now);
}

struct attempt *decide_must_end(const struct decide *decide, const struct attempt *after,
                                int64_t now)
{
    assert(!after || after->state);
    struct attempt *attempt = attempts_next(&decide->attempts, after);
    while (attempt && !must_end(decide, attempt, now))
        attempt = attempts_next(&decide->attempts, attempt);
    return attempt;
}

int64_t decide_due(const struct decide *decide)
{
    int64_t due = INT64_MAX;
    if (decide->is_connected) {
        due = decide->sent ? decide->sent + decide->interval : 0;
        due = earlier(due, decide->heard + decide->lease / 2);
    }
    if (decide->attempts.unfenced) due = earlier(due, decide->lease_until);
    if (decide->attempts.going) due = earlier(due, decide->heard + decide->alone_max);
    return due;
}

// The server waits a third of this lease longer before it gives a group to others (cli/server.c).
// Of that the loop may be late by a half, the fence by a quarter; kernel and clocks have the rest.
int64_t decide_fence_due(const struct decide *decide)
{
    if (!decide->attempts.exclusive) return INT64_MAX;
    return decide->lease_until + earlier(FENCE_SLACK_MAX, decide->lease / 6);
}

int64_t decide_fence_last(const struct decide *decide)
{
    if (!decide->attempts.exclusive) return INT64_MAX;
    return decide_fence_due(decide) + earlier(FENCE_SLACK_MAX, decide->lease / 12);
}

// ---- JOIN --------------------------------------------------------------------------------------

static uint32_t state_told(const struct attempt *attempt)
{
    assert(attempt->state);
    switch (attempt->state) {
    case ATTEMPT_HELD:
    case ATTEMPT_GIVEN: return WIRE_ATTEMPT_QUEUED;
    case ATTEMPT_RUNNING: return WIRE_ATTEMPT_RUNNING;
    case ATTEMPT_ENDED:  // its report could still be lost; it may never have started
        return attempt->has_started ? WIRE_ATTEMPT_RUNNING : WIRE_ATTEMPT_QUEUED;
    case ATTEMPT_SPOOLED: return WIRE_ATTEMPT_SPOOLED;
    }
    return 0;
}

wire_attempts decide_join(const struct decide *decide, struct wire_attempt *items)
{
    assert(items || attempts_count(&decide->attempts) == 0);
    wire_attempts list = {.items = items};
    const struct attempt *attempt = NULL;
    while ((attempt = attempts_next(&decide->attempts, attempt))) {
        if (PLANTED(JOIN_WITHOUT_RUNNING) && attempt->state == ATTEMPT_RUNNING) continue;
        items[list.count++] = (struct wire_attempt){attempt->task, attempt->number, attempt->token,
                                                    state_told(attempt)};
    }
    return list;
}
