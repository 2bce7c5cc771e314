// attempt_end.h - how an attempt ended: from the report of a worker to an event and a row.
#pragma once

#include "turn/turn.h"
#include "net/wire/wire.h"

enum { ENDS_SIGNAL = 256 };  // plus the signal: the status of an attempt that a signal ended
enum { ENDS_LOSSES = 5 };    // how often an attempt may be lost, beside the retries

// ---- From FINISHED to an event of the core ----------------------------------------------------

// The meaning of a stop that the core has not asked for.
enum ends_stop {
    ENDS_STOP_ABORTS,  // `rota run`: the user has interrupted the run
    ENDS_STOP_LOSES,   // server: the worker lost its connection or was drained; the task runs again
};

// The attempt did not start, because an input could not be fetched or there was no space for it on
// the disk of the worker. Neither is a fault of the task, and both may pass: the input is made
// again, another worker has space, another task ends and frees its files. So the attempt is lost
// and is repeated after a backoff, in `rota run` as on a server, but only ENDS_LOSSES times.
bool ends_lacks_input(const struct wire_finished *finished);

// Fills in the event, except for its worker, outputs and retries. `view` is the task before the
// report; its state is NONE if there is no such task.
void ends_event(const struct wire_finished *finished, const struct rota_task_view *view,
                enum ends_stop stop, struct rota_event *event);
enum rota_outcome ends_outcome(const struct wire_finished *finished);  // without losses
// The writer of a stream that the attempt read has failed: the attempt counts as stopped.
void ends_discard(struct wire_finished *finished);

// ---- Retries ----------------------------------------------------------------------------------

// Which failures are followed by another attempt, and when.
struct ends_repeat {
    rota_time rest;         // backoff before the first retry
    uint32_t percent;       // of the backoff before: each further one; 0: the same
    const int32_t *exits;   // only after these exit statuses; none: after all failures
    uint32_t exit_count;
};

// Whether the outcome of the event is a failure that the task may retry.
bool ends_may_retry(const struct rota_event *event, const struct rota_task_view *view);
// Sets in the event whether the failure is final, and else the backoff. `losses` of the retries
// that the core knows of are for losses only.
void ends_retry(const struct ends_repeat *repeat, const struct wire_finished *finished,
                const struct rota_task_view *view, uint32_t losses, struct rota_event *event);
rota_time ends_rest(const struct ends_repeat *repeat, uint32_t tries);

// The attempt lacked an input, for the nth time: either the loss is final, or there is a backoff.
void ends_lack(struct rota_event *event, uint32_t times, uint32_t most);
// The backoff after a number of attempts that could not begin.
rota_time ends_backoff(uint32_t times);

// ---- For the database -------------------------------------------------------------------------

const char *ends_word(uint32_t end);  // of struct store_attempt
// In a turn: stores the report for later queries; the core does not need it. False: out of memory.
bool ends_note(struct server *server, const struct wire_finished *finished, rota_worker_id worker);
