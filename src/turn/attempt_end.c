// attempt_end.c - how an attempt ended: what a worker reports, as the core and the store have it.
#include "turn/attempt_end.h"

#include <string.h>

enum rota_outcome ends_outcome(const struct wire_finished *finished)
{
    if (finished->end == WIRE_STOPPED) return ROTA_OUTCOME_ABORTED;
    if (finished->end == WIRE_EXITED && !finished->status) return ROTA_OUTCOME_OK;
    bool is_result = wire_is_result(finished->end, finished->status);
    return is_result ? ROTA_OUTCOME_EXIT : ROTA_OUTCOME_ERROR;
}

int32_t ends_status(const struct wire_finished *finished)
{
    bool signal = finished->end == WIRE_SIGNALED || finished->end == WIRE_TIMED_OUT;
    return signal ? ENDS_SIGNAL + finished->status : finished->status;
}

void ends_discard(struct wire_finished *finished)
{
    finished->end = WIRE_STOPPED;
    finished->status = 0;
    finished->outputs = (wire_files){0};
    finished->reason = wire_text_of("the writer of a stream it read did not succeed");
}

// ---- Repetitions -------------------------------------------------------------------------------

bool ends_is_final(const struct ends_repeat *repeat, const struct wire_finished *finished)
{
    bool listed = !repeat->exit_count;
    for (uint32_t i = 0; i < repeat->exit_count; i++)
        listed |= finished->end == WIRE_EXITED && repeat->exits[i] == finished->status;
    return !listed;
}

rota_time ends_rest(const struct ends_repeat *repeat, uint32_t tries)
{
    static const rota_time longest = 1000000000000000;  // 31 years
    uint32_t percent = repeat->percent ? repeat->percent : 100;
    rota_time rest = repeat->rest;
    for (uint32_t i = 1; i < tries && rest > 0 && rest < longest && percent != 100; i++)
        rest = rest / 100 * percent + rest % 100 * percent / 100;
    return rest < longest ? rest : longest;
}

// ---- Losses ------------------------------------------------------------------------------------

rota_time ends_backoff(uint32_t times)
{
    static const rota_time least = 100000, most = 10000000;
    rota_time wait = least;
    for (uint32_t i = 1; i < times && wait < most; i++) wait *= 2;
    return wait < most ? wait : most;
}

void ends_lack(struct rota_event *event, uint32_t times, uint32_t most)
{
    event->report.final = times > most;
    event->report.rest = ends_backoff(times);
}

// ---- For those who ask later -------------------------------------------------------------------

static const char *word_of(uint32_t end)
{
    static const char *const words[]
        = {[WIRE_EXITED] = "exit",       [WIRE_SIGNALED] = "signal",
           [WIRE_TIMED_OUT] = "timeout", [WIRE_OUT_OF_MEMORY] = "memory",
           [WIRE_STOPPED] = "stopped",   [WIRE_NOT_STARTED] = "not_started",
           [WIRE_BAD_OUTPUT] = "output", [WIRE_BAD_INPUT] = "input"};
    bool known = end < sizeof words / sizeof *words && words[end];
    return known ? words[end] : "unknown";
}

bool ends_note(struct server *server, const struct wire_finished *finished, rota_worker_id worker)
{
    struct store_attempt attempt = {
        .task = finished->task,
        .attempt = finished->attempt,
        .end = word_of(finished->end),
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
