// request.c - what clients ask for is carried out once, however often it comes.
#include "base/planted.h"
#include "hub/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- The same again ----------------------------------------------------------------------------

static struct store_request request_of(uint64_t high, uint64_t low)
{
    struct store_request request = {{0}, 0, NULL};
    memcpy(request.id, &high, sizeof high);
    memcpy(request.id + sizeof high, &low, sizeof low);
    return request;
}

struct store_request hub_request_own(rota_task_id task)
{
    return request_of(UINT64_MAX, (uint64_t)task.job << 32 | task.task);
}

void hub_done_put(struct wire_out *out, uint64_t high, uint64_t low, const char *answer)
{
    struct wire_message message = {.kind = WIRE_DONE_MESSAGE};
    message.done.high = high;
    message.done.low = low;
    message.done.answer = wire_text_of(answer);
    wire_put(out, &message);
}

void hub_accepted_put(struct wire_out *out, uint64_t high, uint64_t low, uint32_t job,
                      uint32_t first)
{
    struct wire_message message = {.kind = WIRE_ACCEPTED_MESSAGE};
    message.accepted.high = high;
    message.accepted.low = low;
    message.accepted.job = job;
    message.accepted.first = first;
    wire_put(out, &message);
}

bool hub_request_is_old(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                        uint64_t body_hash)
{
    struct store_request request = request_of(high, low);
    uint32_t job, first;
    if ((!high && !low) || high == UINT64_MAX) {
        hub_refuse(peer, high, low, WIRE_REFUSED_REQUEST, "that is no id of a request");
        return true;
    }
    if (!store_answer_find(hub->server->store, &request)) return false;
    if (PLANTED(REQUEST_MIXED))
        hub_accepted_put(hub_later(hub, peer), high, low, 1, 1);
    else if (request.body_hash != body_hash)
        hub_refuse(peer, high, low, WIRE_REFUSED_CONFLICT, "another request had this id");
    else if (sscanf(request.answer, "job %" SCNu32 " from %" SCNu32, &job, &first) == 2)
        hub_accepted_put(hub_later(hub, peer), high, low, job, first);
    else if (!hub_grant_again(hub, peer, high, low, request.answer))
        hub_done_put(hub_later(hub, peer), high, low, request.answer);
    return true;
}

void hub_request_note(struct hub *hub, uint64_t high, uint64_t low, uint64_t body_hash,
                      const char *answer)
{
    struct store_request request = request_of(high, low);
    size_t size = strlen(answer) + 1;
    char *kept = hub_keep(hub, size, 1);
    memcpy(kept, answer, size);
    request.body_hash = body_hash;
    request.answer = kept;
    if (!PLANTED(REQUEST_FORGOTTEN)) store_answer(hub->server->store, &request);
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

void hub_change(struct hub *hub, struct hub_peer *peer, const struct wire_change *change)
{
    struct rota_event event;
    bool closes = change->verb == WIRE_CLOSE;
    uint64_t hash = hash_mix(hash_mix(change->verb, change->task.job), change->task.task);
    if (hub_request_is_old(hub, peer, change->high, change->low, hash)) return;
    if (!closes && !event_of(change, &event)) {
        hub_refuse(peer, change->high, change->low, WIRE_REFUSED_REQUEST, "no such verb");
        return;
    }
    enum rota_error error
        = closes ? close_job(hub, change->task.job) : server_step(hub->server, &event);
    if (error) {
        hub_refuse_error(hub, peer, change->high, change->low, error);
        return;
    }
    hub_request_note(hub, change->high, change->low, hash, "done");
    hub_done_put(hub_later(hub, peer), change->high, change->low, "done");
}
