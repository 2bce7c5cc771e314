// request.c - executes requests of clients once, however often they are sent.
#include "base/planted.h"
#include "server/cluster/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- Repeated requests ----------------------------------------------------------------------

static struct store_request request_of(uint64_t high, uint64_t low)
{
    struct store_request request = {.answer = NULL};
    memcpy(request.id, &high, sizeof high);
    memcpy(request.id + sizeof high, &low, sizeof low);
    return request;
}

struct store_request cluster_request_own(rota_task_id task)
{
    return request_of(UINT64_MAX, (uint64_t)task.job << 32 | task.task);
}

static void done_put(struct wire_out *out, const struct cluster_request *request,
                     const char *answer)
{
    struct wire_message message = {.kind = WIRE_DONE_MESSAGE};
    message.done.high = request->high;
    message.done.low = request->low;
    message.done.answer = wire_text_of(answer);
    wire_put(out, &message);
}

void cluster_accepted_put(struct wire_out *out, const struct cluster_request *request, uint32_t job,
                      uint32_t first)
{
    struct wire_message message = {.kind = WIRE_ACCEPTED_MESSAGE};
    message.accepted.high = request->high;
    message.accepted.low = request->low;
    message.accepted.job = job;
    message.accepted.first = first;
    wire_put(out, &message);
}

static void answer_again(struct cluster *cluster, struct cluster_peer *peer,
                         const struct cluster_request *request, const struct store_request *known)
{
    struct wire_refuse refuse = {request->high, request->low, known->refusal,
                                 wire_text_of(known->answer)};
    uint32_t job, first;
    if (known->refusal)
        cluster_refuse_later(cluster, peer, &refuse);
    else if (sscanf(known->answer, "job %" SCNu32 " from %" SCNu32, &job, &first) == 2)
        cluster_accepted_put(cluster_later(cluster, peer), request, job, first);
    else if (!cluster_grant_again(cluster, peer, request->high, request->low, known->answer))
        done_put(cluster_later(cluster, peer), request, known->answer);
}

bool cluster_request_is_old(struct cluster *cluster, struct cluster_peer *peer,
                            const struct cluster_request *request)
{
    uint64_t high = request->high, low = request->low;
    struct store_request known = request_of(high, low);
    if ((!high && !low) || high == UINT64_MAX) {
        cluster_refuse(peer, high, low, WIRE_REFUSED_REQUEST, "invalid request id");
        return true;
    }
    if (!store_answer_find(cluster->server->store, &known)) return false;
    if (PLANTED(REQUEST_MIXED))
        cluster_accepted_put(cluster_later(cluster, peer), request, 1, 1);
    else if (known.body_hash != request->hash)
        cluster_refuse(peer, high, low, WIRE_REFUSED_CONFLICT, "another request had this id");
    else
        answer_again(cluster, peer, request, &known);
    return true;
}

static const char *text_keep(struct cluster *cluster, const char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = cluster_keep(cluster, size, 1);
    memcpy(kept, text, size);
    return kept;
}

void cluster_request_note(struct cluster *cluster, const struct cluster_request *request,
                          const char *answer)
{
    struct store_request row = request_of(request->high, request->low);
    row.body_hash = request->hash;
    row.answer = text_keep(cluster, answer);
    if (!PLANTED(REQUEST_FORGOTTEN)) store_answer(cluster->server->store, &row);
}

void cluster_request_done(struct cluster *cluster, struct cluster_peer *peer,
                          const struct cluster_request *request, const char *answer)
{
    cluster_request_note(cluster, request, answer);
    done_put(cluster_later(cluster, peer), request, answer);
}

// ---- Refusals that are stored ---------------------------------------------------------------

static bool is_final(enum wire_code code)
{
    return code == WIRE_REFUSED_REQUEST || code == WIRE_REFUSED_STATE
           || code == WIRE_REFUSED_NOT_FOUND || code == WIRE_REFUSED_STALE;
}

// A refused request must not be executed when it is repeated, because the client missed the refusal
// and the state has changed since. So the refusal is stored like an answer, and sent when it is
// durable. A full disk has no space for that, so then nothing was decided.
void cluster_request_refuse(struct cluster *cluster, struct cluster_peer *peer,
                            const struct cluster_request *request, enum wire_code code,
                            const char *reason)
{
    struct store_request row = request_of(request->high, request->low);
    struct wire_refuse refuse = {request->high, request->low, code, wire_text_of(reason)};
    if (!is_final(code)) {
        cluster_refuse(peer, request->high, request->low, code, reason);
    } else if (store_is_full(cluster->server->store)) {
        cluster_refuse(peer, request->high, request->low, WIRE_REFUSED_FULL,
                   "the disk is full: nothing was decided");
    } else {
        row.body_hash = request->hash;
        row.answer = text_keep(cluster, reason);
        row.refusal = code;
        if (!PLANTED(REFUSAL_FORGOTTEN)) store_answer(cluster->server->store, &row);
        cluster_refuse_later(cluster, peer, &refuse);
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

static enum rota_error close_job(struct cluster *cluster, uint32_t job)
{
    struct wire_over over = {.job = job};
    cluster_job_is_idle(cluster, &over);
    over.aborted = over.tasks - over.succeeded - over.failed;
    return cluster_job_close(cluster, &over);
}

static enum wire_code code_of(enum rota_error error)
{
    if (error == ROTA_NOT_FOUND) return WIRE_REFUSED_NOT_FOUND;
    if (error == ROTA_TOO_MANY) return WIRE_REFUSED_FULL;
    if (error == ROTA_NO_MEMORY) return WIRE_REFUSED_MEMORY;
    return error == ROTA_NOT_NOW ? WIRE_REFUSED_STATE : WIRE_REFUSED_REQUEST;
}

void cluster_refuse_error(struct cluster *cluster, struct cluster_peer *peer, uint64_t high,
                          uint64_t low, enum rota_error error)
{
    cluster_refuse(peer, high, low, code_of(error), cluster->server->reason);
}

void cluster_request_fail(struct cluster *cluster, struct cluster_peer *peer,
                          const struct cluster_request *request, enum rota_error error)
{
    cluster_request_refuse(cluster, peer, request, code_of(error), cluster->server->reason);
}

void cluster_change(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_change *change)
{
    struct rota_event event;
    bool closes = change->verb == WIRE_CLOSE;
    uint64_t hash = hash_mix(hash_mix(change->verb, change->task.job), change->task.task);
    struct cluster_request request = {change->high, change->low, hash};
    if (cluster_request_is_old(cluster, peer, &request)) return;
    if (!closes && !event_of(change, &event)) {
        cluster_request_refuse(cluster, peer, &request, WIRE_REFUSED_REQUEST, "unknown verb");
        return;
    }
    enum rota_error error
        = closes ? close_job(cluster, change->task.job) : server_step(cluster->server, &event);
    if (error)
        cluster_request_fail(cluster, peer, &request, error);
    else
        cluster_request_done(cluster, peer, &request, "done");
}
