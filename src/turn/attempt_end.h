// attempt_end.h - how an attempt ended: what a worker reports, as the core and the store have it.
#pragma once

#include "turn/turn.h"
#include "net/wire/wire.h"

enum { ENDS_SIGNAL = 256 };  // plus a signal: the status of what it ended
enum { ENDS_LOSSES = 5 };    // so often an attempt may be lost, beside the retries

// What was stopped is what we have asked for; whether it was lost is for the caller to know.
enum rota_outcome ends_outcome(const struct wire_finished *finished);
int32_t ends_status(const struct wire_finished *finished);
// A writer of a stream that it read did not succeed: however it ended, it counts as stopped.
void ends_discard(struct wire_finished *finished);
// When a failed attempt is followed by another one, as far as the number of them allows.
struct ends_repeat {
    rota_time rest;         // before the first repetition
    uint32_t percent;       // of the rest before: each further one; 0: the same
    const int32_t *exits;   // only after these exit statuses; none: after all failures
    uint32_t exit_count;
};

bool ends_is_final(const struct ends_repeat *repeat, const struct wire_finished *finished);
// So long a task rests that has been tried so often.
rota_time ends_rest(const struct ends_repeat *repeat, uint32_t tries);

// An attempt that lacked an input is lost. After so many of them, of which there may be so many:
// how long the next one waits, or that there is none.
void ends_lack(struct rota_event *event, uint32_t times, uint32_t most);
// Before an attempt behind so many that could not begin.
rota_time ends_backoff(uint32_t times);

// In a turn, for those who ask later; the core needs none of it. False: no memory.
bool ends_note(struct server *server, const struct wire_finished *finished, rota_worker_id worker);
