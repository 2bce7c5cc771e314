// attempt_end.h - the end of an attempt: turns a worker's report into an event and a row.
#pragma once

#include "turn/turn.h"
#include "net/wire/wire.h"

// How often an attempt may be lost, in addition to the retries.
enum { ATTEMPT_LOSSES_MAX = STORE_LOSSES };

// ---- From FINISHED to an event of the core ----------------------------------------------------

// The meaning of a stop that the core did not request.
enum attempt_stop {
    ATTEMPT_STOP_ABORTS,  // `rota run`: the user has interrupted the run
    // Server: the worker lost its connection or was drained; run the task again.
    ATTEMPT_STOP_LOSES,
};

// Whether the attempt did not start because an input could not be fetched, or because the worker
// had no disk space for it. Neither is the fault of the task, and both may pass: the input is
// produced again, another worker has space, another task ends and frees its files. So the attempt
// counts as lost and is repeated after a backoff, by `rota run` as by a server, at most
// ATTEMPT_LOSSES_MAX times.
bool attempt_end_lacks_input(const struct wire_finished *finished);

// Fills in the event, except for its worker, outputs and retries. `view` is the task before the
// report; its state is NONE if the task does not exist.
void attempt_end_event(const struct wire_finished *finished, const struct rota_task_view *view,
                       enum attempt_stop stop, struct rota_event *event);
enum rota_outcome attempt_end_outcome(const struct wire_finished *finished);  // ignores losses
// The writer of a stream that the attempt read has failed: counts the attempt as stopped.
void attempt_end_discard(struct wire_finished *finished);

// ---- Retries ----------------------------------------------------------------------------------

// Which failures are retried, and the backoff.
struct attempt_retry {
    rota_time backoff;      // before the first retry
    uint32_t percent;       // of the previous backoff, for each further retry; 0: 100
    const int32_t *exits;   // retry only these exit statuses; null: all failures
    uint32_t exit_count;
};

// Whether the outcome of the event is a failure that the task may retry.
bool attempt_end_may_retry(const struct rota_event *event, const struct rota_task_view *view);
// Sets in the event whether the failure is final, or else the backoff. `losses` of the retries that
// the core allows are reserved for lost attempts.
void attempt_end_retry(const struct attempt_retry *repeat, const struct wire_finished *finished,
                       const struct rota_task_view *view, uint32_t losses,
                       struct rota_event *event);
rota_time attempt_retry_backoff(const struct attempt_retry *repeat, uint32_t tries);

// The attempt lacked an input for the nth time: makes the loss final, or sets a backoff.
void attempt_end_lack(struct rota_event *event, uint32_t times, uint32_t most);
// The backoff after this number of attempts that did not start.
rota_time attempt_end_backoff(uint32_t times);

// ---- For the database -------------------------------------------------------------------------

const char *attempt_end_word(uint32_t end);  // of struct store_attempt
// The end (enum wire_end) and the status of a report of a worker, from the status of its event.
uint8_t ends_status_read(int32_t told, int32_t *status);
// In a turn: stores the report for queries; the core does not need it. False: out of memory.
bool attempt_end_note(struct server *server, const struct wire_finished *finished,
                      rota_worker_id worker);
