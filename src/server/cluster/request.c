// request.c - what clients ask for is carried out once, however often it comes.
#include "base/planted.h"
#include "server/cluster/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- The same again ----------------------------------------------------------------------------

static struct store_request request_of(uint64_t high, uint64_t low)
{
    struct store_request request = {.answer = NULL};
    memcpy(request.id, &high, sizeof high);
    memcpy(request.id + sizeof high, &low, sizeof low);
    return request;
}

struct store_request hub_request_own(rota_task_id task)
{
    return request_of(UINT64_MAX, (uint64_t)task.job << 32 | task.task);
}

static void done_put(struct wire_out *out, const struct hub_request *request, const char *answer)
{
    struct wire_message message = {.kind = WIRE_DONE_MESSAGE};
    message.done.high = request->high;
    message.done.low = request->low;
    message.done.answer = wire_text_of(answer);
    wire_put(out, &message);
}

void hub_accepted_put(struct wire_out *out, const struct hub_request *request, uint32_t job,
                      uint32_t first)
{
    struct wire_message message = {.kind = WIRE_ACCEPTED_MESSAGE};
    message.accepted.high = request->high;
    message.accepted.low = request->low;
    message.accepted.job = job;
    message.accepted.first = first;
    wire_put(out, &message);
}

static void answer_again(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                         const struct store_request *known)
{
    struct wire_refuse refuse = {request->high, request->low, known->refusal,
                                 wire_text_of(known->answer)};
    uint32_t job, first;
    if (known->refusal)
        hub_refuse_later(hub, peer, &refuse);
    else if (sscanf(known->answer, "job %" SCNu32 " from %" SCNu32, &job, &first) == 2)
        hub_accepted_put(hub_later(hub, peer), request, job, first);
    else if (!hub_grant_again(hub, peer, request->high, request->low, known->answer))
        done_put(hub_later(hub, peer), request, known->answer);
}

bool hub_request_is_old(struct hub *hub, struct hub_peer *peer, const struct hub_request *request)
{
    uint64_t high = request->high, low = request->low;
    struct store_request known = request_of(high, low);
    if ((!high && !low) || high == UINT64_MAX) {
        hub_refuse(peer, high, low, WIRE_REFUSED_REQUEST, "that is no id of a request");
        return true;
    }
    if (!store_answer_find(hub->server->store, &known)) return false;
    if (PLANTED(REQUEST_MIXED))
        hub_accepted_put(hub_later(hub, peer), request, 1, 1);
    else if (known.body_hash != request->hash)
        hub_refuse(peer, high, low, WIRE_REFUSED_CONFLICT, "another request had this id");
    else
        answer_again(hub, peer, request, &known);
    return true;
}

static const char *text_keep(struct hub *hub, const char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = hub_keep(hub, size, 1);
    memcpy(kept, text, size);
    return kept;
}

void hub_request_note(struct hub *hub, const struct hub_request *request, const char *answer)
{
    struct store_request row = request_of(request->high, request->low);
    row.body_hash = request->hash;
    row.answer = text_keep(hub, answer);
    if (!PLANTED(REQUEST_FORGOTTEN)) store_answer(hub->server->store, &row);
}

void hub_request_done(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                      const char *answer)
{
    hub_request_note(hub, request, answer);
    done_put(hub_later(hub, peer), request, answer);
}

// ---- No, and it stays no -----------------------------------------------------------------------

static bool is_final(enum wire_code code)
{
    return code == WIRE_REFUSED_REQUEST || code == WIRE_REFUSED_STATE
           || code == WIRE_REFUSED_NOT_FOUND || code == WIRE_REFUSED_STALE;
}

// What was refused must not be carried out when it comes again, because nobody heard the refusal
// and the state has changed since. So it is kept like an answer, and told when it is durable. A
// disk that is full has no room for that, and so nothing was decided.
void hub_request_refuse(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                        enum wire_code code, const char *reason)
{
    struct store_request row = request_of(request->high, request->low);
    struct wire_refuse refuse = {request->high, request->low, code, wire_text_of(reason)};
    if (!is_final(code)) {
        hub_refuse(peer, request->high, request->low, code, reason);
    } else if (store_is_full(hub->server->store)) {
        hub_refuse(peer, request->high, request->low, WIRE_REFUSED_FULL,
                   "the disk is full: nothing was decided");
    } else {
        row.body_hash = request->hash;
        row.answer = text_keep(hub, reason);
        row.refusal = code;
        if (!PLANTED(REFUSAL_FORGOTTEN)) store_answer(hub->server->store, &row);
        hub_refuse_later(hub, peer, &refuse);
    }
}

// ---- Changes -----------------------------------------------------------------------------------

static bool event_of(const struct wire_change *change, struct rota_event *event)
{
    static const uint8_t manual[WIRE_VERBS] = {[WIRE_START] = ROTA_MANUAL_START,
                                               [WIRE_GREEN] = ROTA_MANUAL_GREEN,
                                               [WIRE_RED] = ROTA_MANUAL_RED,
                                               [WIRE_RESET] = ROTA_MANUAL_RESET,
                                               [WIRE_FREEZE] = ROTA_MANUAL_FREEZE};
    static const uint8_t plain[WIRE_VERBS] = {[WIRE_CANCEL] = ROTA_EVENT_CANCEL,
                                              [WIRE_RETRY] = ROTA_EVENT_RETRY,
                                              [WIRE_STAGE] = ROTA_EVENT_STAGE};
    if (change->verb >= WIRE_VERBS) return false;
    *event = (struct rota_event){.kind = ROTA_EVENT_MANUAL};
    if (manual[change->verb]) {
        event->manual.task = change->task;
        event->manual.action = (enum rota_manual)manual[change->verb];
    } else if (plain[change->verb]) {
        event->kind = (enum rota_event_kind)plain[change->verb];
        event->task.task = change->task;
    } else {
        return false;
    }
    return true;
}

static enum rota_error close_job(struct hub *hub, uint32_t job)
{
    struct wire_over over = {.job = job};
    hub_job_rests(hub, &over);
    over.aborted = over.tasks - over.succeeded - over.failed;
    return hub_job_close(hub, &over);
}

static enum wire_code code_of(enum rota_error error)
{
    if (error == ROTA_NOT_FOUND) return WIRE_REFUSED_NOT_FOUND;
    if (error == ROTA_TOO_MANY) return WIRE_REFUSED_FULL;
    if (error == ROTA_NO_MEMORY) return WIRE_REFUSED_MEMORY;
    return error == ROTA_NOT_NOW ? WIRE_REFUSED_STATE : WIRE_REFUSED_REQUEST;
}

void hub_refuse_error(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                      enum rota_error error)
{
    hub_refuse(peer, high, low, code_of(error), hub->server->reason);
}

void hub_request_fail(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                      enum rota_error error)
{
    hub_request_refuse(hub, peer, request, code_of(error), hub->server->reason);
}

void hub_change(struct hub *hub, struct hub_peer *peer, const struct wire_change *change)
{
    struct rota_event event;
    bool closes = change->verb == WIRE_CLOSE;
    uint64_t hash = hash_mix(hash_mix(change->verb, change->task.job), change->task.task);
    struct hub_request request = {change->high, change->low, hash};
    if (hub_request_is_old(hub, peer, &request)) return;
    if (!closes && !event_of(change, &event)) {
        hub_request_refuse(hub, peer, &request, WIRE_REFUSED_REQUEST, "no such verb");
        return;
    }
    enum rota_error error
        = closes ? close_job(hub, change->task.job) : server_step(hub->server, &event);
    if (error)
        hub_request_fail(hub, peer, &request, error);
    else
        hub_request_done(hub, peer, &request, "done");
}
