// attempt_end.c - the end of an attempt: turns a worker's report into an event and a row.
#include "turn/attempt_end.h"
#include "base/planted.h"

#include <errno.h>
#include <string.h>

// ---- From FINISHED to an event of the core ----------------------------------------------------

_Static_assert((uint32_t)STORE_CORE_DUMPED == WIRE_CORE_DUMPED, "flags are stored unchanged");

enum rota_outcome attempt_end_outcome(const struct wire_finished *finished)
{
    if (finished->end == WIRE_STOPPED) return ROTA_OUTCOME_ABORTED;
    if (finished->end == WIRE_EXITED && !finished->status) return ROTA_OUTCOME_OK;
    bool is_result = wire_is_result(finished->end, finished->status);
    return is_result ? ROTA_OUTCOME_EXIT : ROTA_OUTCOME_ERROR;
}

static int32_t status_of(const struct wire_finished *finished)
{
    return store_status_make(attempt_end_word(finished->end), finished->status);
}

bool attempt_end_lacks_input(const struct wire_finished *finished)
{
    return finished->end == WIRE_BAD_INPUT
           && (finished->status == ENODATA || finished->status == ENOSPC);
}

// An attempt is lost if it ended through no fault of its task.
static bool is_lost(const struct wire_finished *finished, const struct rota_task_view *view,
                    enum attempt_stop stop)
{
    assert(stop == ATTEMPT_STOP_ABORTS || stop == ATTEMPT_STOP_LOSES);
    if (attempt_end_lacks_input(finished)) return true;
    if (stop == ATTEMPT_STOP_ABORTS) return false;
    if (finished->end == WIRE_NOT_STARTED)
        return finished->status == ESTALE || finished->status == ECANCELED;
    if (finished->end != WIRE_STOPPED) return false;
    if (PLANTED(EVICTION_FAILS) && finished->status == ESHUTDOWN) return false;
    return view->state != ROTA_TASK_NONE && !view->stopping;
}

// Whether the loss does not count as a try: the attempt did not start, the stream it read broke
// off, or it ended because its worker was being ended.
static bool is_blameless(const struct wire_finished *finished)
{
    if (finished->end == WIRE_NOT_STARTED) return true;
    if (finished->end != WIRE_STOPPED) return false;
    return finished->status == ENOLINK || finished->status == ESHUTDOWN;
}

void attempt_end_event(const struct wire_finished *finished, const struct rota_task_view *view,
                       enum attempt_stop stop, struct rota_event *event)
{
    assert(finished && event);
    bool lost = is_lost(finished, view, stop);
    *event = (struct rota_event){.kind = ROTA_EVENT_TASK_FINISHED};
    event->report.task = finished->task;
    event->report.attempt = finished->attempt;
    event->report.outcome = lost ? ROTA_OUTCOME_LOST : attempt_end_outcome(finished);
    event->report.status = status_of(finished);
    event->report.unstarted = lost && is_blameless(finished);
}

void attempt_end_discard(struct wire_finished *finished)
{
    finished->end = WIRE_STOPPED;
    finished->status = 0;
    finished->outputs = (wire_files){0};
    finished->reason = wire_text_of("the writer of a stream it read did not succeed");
    assert(finished->end == WIRE_STOPPED);
}

// ---- Retries ----------------------------------------------------------------------------------

static bool is_final(const struct attempt_retry *repeat, const struct wire_finished *finished)
{
    bool listed = !repeat->exit_count;
    for (uint32_t i = 0; i < repeat->exit_count; i++)
        listed |= finished->end == WIRE_EXITED && repeat->exits[i] == finished->status;
    return !listed;
}

// A task that is stopped is not retried.
bool attempt_end_may_retry(const struct rota_event *event, const struct rota_task_view *view)
{
    enum rota_outcome outcome = event->report.outcome;
    if (outcome != ROTA_OUTCOME_EXIT && outcome != ROTA_OUTCOME_ERROR) return false;
    return view->state != ROTA_TASK_NONE && !view->stopping;
}

void attempt_end_retry(const struct attempt_retry *repeat, const struct wire_finished *finished,
                       const struct rota_task_view *view, uint32_t losses, struct rota_event *event)
{
    assert(event->kind == ROTA_EVENT_TASK_FINISHED);
    // A final failure overwrites the number of tries, which `rota why` reads. If no retry is
    // reserved for losses, the core itself notices that no retry is left.
    bool used_up = losses && view->tries + losses > view->retries_max + PLANTED(RETRY_MORE);
    event->report.final |= used_up || is_final(repeat, finished);
    event->report.rest = attempt_retry_backoff(repeat, view->tries);
}

rota_time attempt_retry_backoff(const struct attempt_retry *repeat, uint32_t tries)
{
    assert(repeat->backoff >= 0);
    static const rota_time longest = 1000000000000000;  // 31 years
    uint32_t percent = repeat->percent ? repeat->percent : 100;
    rota_time rest = repeat->backoff;
    for (uint32_t i = 1; i < tries && rest > 0 && rest < longest && percent != 100; i++)
        rest = rest / 100 * percent + rest % 100 * percent / 100;
    return rest < longest ? rest : longest;
}

rota_time attempt_end_backoff(uint32_t times)
{
    static const rota_time least = 100000, most = 10000000;
    rota_time wait = least;
    for (uint32_t i = 1; i < times && wait < most; i++) wait *= 2;
    assert(wait >= least);
    return wait < most ? wait : most;
}

void attempt_end_lack(struct rota_event *event, uint32_t times, uint32_t most)
{
    event->report.final = times > most;
    event->report.rest = attempt_end_backoff(times);
}

// ---- For the database -------------------------------------------------------------------------

const char *attempt_end_word(uint32_t end)
{
    static const char *const words[]
        = {[WIRE_EXITED] = "exit",       [WIRE_SIGNALED] = "signal",
           [WIRE_TIMED_OUT] = "timeout", [WIRE_OUT_OF_MEMORY] = "memory",
           [WIRE_STOPPED] = "stopped",   [WIRE_NOT_STARTED] = "not_started",
           [WIRE_BAD_OUTPUT] = "output", [WIRE_BAD_INPUT] = "input"};
    bool known = end < sizeof words / sizeof *words && words[end];
    return known ? words[end] : "unknown";
}

uint8_t ends_status_read(int32_t told, int32_t *status)
{
    struct store_attempt_end read = store_status_read(told);
    uint8_t end = WIRE_BAD_INPUT;
    while (end > WIRE_EXITED && strcmp(attempt_end_word(end), read.end) != 0) end--;
    *status = read.status;
    return end;
}

bool attempt_end_note(struct server *server, const struct wire_finished *finished,
                      rota_worker_id worker)
{
    assert(server && finished);
    struct store_attempt attempt = {
        .task = finished->task,
        .attempt = finished->attempt,
        .end = attempt_end_word(finished->end),
        .status = finished->status,
        .flags = finished->flags,
        .began = finished->began,
        .ended = finished->ended,
        .user = finished->user,
        .system = finished->system,
        .memory_bytes = finished->memory_bytes,
        .log_bytes = finished->log_bytes,
        .worker = worker,
    };
    if (finished->reason.length) {
        char *reason = server_keep(server, (size_t)finished->reason.length + 1, 1);
        if (!reason) return false;
        memcpy(reason, finished->reason.bytes, finished->reason.length);
        attempt.reason = reason;
    }
    store_put_attempt(server->store, &attempt);
    return true;
}
