// claim_queue.c - requests of handlers for a task: granted now, when a task becomes available, or
// never.
//
// A handler sends CLAIM for one task, for any task of a job, or for any task at all, with a lease
// and a time it is willing to wait. The server tries the claim in the turn in which it arrives. The
// core answers within that turn, with a GRANT action or a refusal. A granted request gets GRANT
// when the turn is durable. A refused one waits in `waiting`, in order of arrival, and is tried
// again when something has changed, until its time is up; then it is refused.
//
// A cluster_queued_claim belongs to this file: to the list `waiting`, or to `granting` between the
// step and the GRANT of the same turn. Its peer may disconnect at any time; the request is then
// dropped, and a task already granted is released when its lease expires, unless the handler
// repeats the request. A repeated request, over any connection, is recognized by its id and gets
// the stored answer.
#include "server/cluster/request.h"
#include "server/cluster/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS = 16, ANSWER_MAX = 100 };
static const rota_time lease_min = 1000000, lease_max = 7ll * 24 * 3600 * 1000000;

// A CLAIM of a handler. Its token was passed to the core, and is new with each try.
struct cluster_queued_claim {
    struct cluster_queued_claim *next;
    struct cluster_peer *peer;  // null: disconnected
    char key[40];               // key of the peer
    struct wire_claim claim;
    uint64_t hash, token;
    rota_time until;  // ticks: when to stop waiting
};

static void claim_queue_append(struct cluster_claim_queue *list,
                               struct cluster_queued_claim *queued)
{
    queued->next = NULL;
    if (list->first)
        list->last->next = queued;
    else
        list->first = queued;
    list->last = queued;
}

static struct cluster_queued_claim *claim_queue_first(struct cluster_claim_queue *list)
{
    struct cluster_queued_claim *queued = list->first;
    if (queued) list->first = queued->next;
    return queued;
}

static bool is_any(const struct cluster_queued_claim *queued)
{
    return !queued->claim.task.task;
}

static struct cluster_request request_of(const struct cluster_queued_claim *queued)
{
    return (struct cluster_request){queued->claim.high, queued->claim.low, queued->hash};
}

// ---- Trying to claim ------------------------------------------------------------------------

// A refusal is not stored: a repeated request gets the present state.
static void queued_refuse(struct cluster_queued_claim *queued, enum wire_code code,
                          const char *reason)
{
    cluster_refuse(queued->peer, queued->claim.high, queued->claim.low, code, reason);
    free(queued);
}

// A named task that has ended does not become available by itself, nor does one that was removed.
static bool may_come(const struct cluster *cluster, const struct cluster_queued_claim *queued)
{
    if (is_any(queued)) return true;
    enum rota_task_state state = rota_task_state(cluster->server->rota, queued->claim.task);
    if (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED)
        return queued->claim.flags & ROTA_FAILED_OK;
    return state != ROTA_TASK_NONE && state != ROTA_TASK_SUCCEEDED;
}

// With FETCHED_OK a claim for a task that is already claimed succeeds without an effect.
static bool is_granted(const struct cluster *cluster, const struct cluster_queued_claim *queued)
{
    struct rota_task_view view;
    return is_any(queued)
           || (rota_task_look(cluster->server->rota, queued->claim.task, &view)
               && view.handler == queued->token);
}

static enum rota_error queued_try(struct cluster *cluster, struct cluster_queued_claim *queued)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM};
    event.claim.handler = queued->token = cluster_token_next(cluster);
    event.claim.task = queued->claim.task;
    event.claim.flags = queued->claim.flags & (ROTA_FETCHED_OK | ROTA_FAILED_OK);
    return server_step(cluster->server, &event);
}

// The request is answered with success.
static void queued_accept(struct cluster *cluster, struct cluster_queued_claim *queued)
{
    if (is_granted(cluster, queued)) {
        claim_queue_append(&cluster->handlers.granting, queued);
        return;
    }
    struct cluster_request request = request_of(queued);
    cluster_request_done(cluster, queued->peer, &request, "already claimed");
    free(queued);
}

// No task is available now, or ever. True: the request waits.
static bool queued_keep(struct cluster *cluster, struct cluster_queued_claim *queued,
                        enum rota_error error)
{
    bool waits
        = error == ROTA_NOT_NOW && cluster->ticks < queued->until && may_come(cluster, queued);
    if (waits) {
        claim_queue_append(&cluster->handlers.waiting, queued);
        if (queued->until < cluster->handlers.claims_due)
            cluster->handlers.claims_due = queued->until;
    } else if (error == ROTA_NOT_NOW && is_any(queued)) {
        queued_refuse(queued, WIRE_REFUSED_NOTHING, "no task is available");
    } else {
        cluster_refuse_error(cluster, queued->peer, queued->claim.high, queued->claim.low, error);
        free(queued);
    }
    return waits;
}

static bool queued_own(struct cluster_queued_claim *queued, struct cluster_peer *peer)
{
    queued->peer = peer;
    snprintf(queued->key, sizeof queued->key, "%s", peer->id);
    return true;
}

// A handler that repeats an unanswered request over another connection is answered there.
static bool queued_again(const struct cluster_claim_queue *list, struct cluster_peer *peer,
                         const struct wire_claim *claim)
{
    for (struct cluster_queued_claim *queued = list->first; queued; queued = queued->next)
        if (SAME_ID(queued->claim, *claim)) return queued_own(queued, peer);
    return false;
}

void cluster_claim_request(struct cluster *cluster, struct cluster_peer *peer,
                           const struct wire_claim *claim)
{
    uint64_t hash = hash_mix(hash_mix(WIRE_CLAIM_MESSAGE, claim->task.job), claim->task.task);
    hash = hash_mix(hash_mix(hash, claim->flags), (uint64_t)claim->lease);
    struct cluster_request request = {claim->high, claim->low, hash};
    if (cluster_request_is_old(cluster, peer, &request)) return;
    if (queued_again(&cluster->handlers.waiting, peer, claim)) return;
    if (queued_again(&cluster->handlers.granting, peer, claim)) return;
    bool sound = claim->wait >= 0
                 && (!claim->lease || (claim->lease >= lease_min && claim->lease <= lease_max));
    if (!sound) {
        cluster_refuse(peer, claim->high, claim->low, WIRE_REFUSED_REQUEST,
                       "a lease must be 1 s to 7 days, and a wait must not be negative");
        return;
    }
    struct cluster_queued_claim *queued = cluster_allocate(1, sizeof *queued);
    *queued = (struct cluster_queued_claim){.claim = *claim, .hash = hash};
    queued_own(queued, peer);
    queued->until
        = claim->wait < ROTA_NEVER - cluster->ticks ? cluster->ticks + claim->wait : ROTA_NEVER;
    enum rota_error error = queued_try(cluster, queued);
    if (error)
        queued_keep(cluster, queued, error);
    else
        queued_accept(cluster, queued);
}

// ---- Waiting -----------------------------------------------------------------------------------

// Jobs (0: all jobs) without an available task in this turn: further requests need not try them.
struct filters {
    uint32_t jobs[FILTERS];
    uint32_t count;
};

static bool is_in_vain(const struct filters *filters, const struct cluster_queued_claim *queued)
{
    for (uint32_t i = 0; is_any(queued) && i < filters->count; i++)
        if (!filters->jobs[i] || filters->jobs[i] == queued->claim.task.job) return true;
    return false;
}

void cluster_claim_queue_look(struct cluster *cluster)
{
    struct cluster_claim_queue list = cluster->handlers.waiting;
    struct filters filters = {.count = 0};
    struct cluster_queued_claim *queued;
    cluster->handlers.waiting = (struct cluster_claim_queue){0};
    while ((queued = claim_queue_first(&list))) {
        enum rota_error error
            = is_in_vain(&filters, queued) ? ROTA_NOT_NOW : queued_try(cluster, queued);
        if (error == ROTA_NOT_NOW && is_any(queued) && filters.count < FILTERS)
            filters.jobs[filters.count++] = queued->claim.task.job;
        if (!error)
            queued_accept(cluster, queued);
        else if (error == ROTA_NOT_FOUND && is_any(queued))
            queued_refuse(queued, WIRE_REFUSED_NOTHING, "the job has ended");
        else
            queued_keep(cluster, queued, error);
    }
}

void cluster_claim_queue_forget(struct cluster *cluster, const struct cluster_peer *peer)
{
    struct cluster_claim_queue list = cluster->handlers.waiting;
    struct cluster_queued_claim *queued;
    cluster->handlers.waiting = (struct cluster_claim_queue){0};
    while ((queued = claim_queue_first(&list))) {
        if (!peer || queued->peer == peer)
            free(queued);
        else
            claim_queue_append(&cluster->handlers.waiting, queued);
    }
    for (queued = cluster->handlers.granting.first; queued; queued = queued->next)
        if (queued->peer == peer) queued->peer = NULL;
    if (peer) return;
    while ((queued = claim_queue_first(&cluster->handlers.granting))) free(queued);
}

// ---- Granting ----------------------------------------------------------------------------------

static void granted_put(struct cluster *cluster, struct cluster_peer *peer, uint64_t high,
                        uint64_t low, const struct cluster_claim *claim)
{
    struct wire_message message = {.kind = WIRE_GRANTED_MESSAGE};
    message.granted.high = high;
    message.granted.low = low;
    message.granted.task = claim->task;
    message.granted.attempt = claim->attempt;
    message.granted.token = claim->token;
    message.granted.lease = claim->lease;
    message.granted.body = wire_text_of("");
    uint32_t length;
    const char *frame
        = cluster_body_find(cluster, (rota_job_id){claim->task.job}, claim->body, &length);
    if (frame) {
        char *copy = cluster_keep(cluster, length, 1);
        struct wire_run numbers
            = {.task = claim->task, .attempt = claim->attempt, .token = claim->token};
        memcpy(copy, frame, length);
        if (cluster_body_number(copy, length, &numbers))
            message.granted.body = (wire_text){copy, length};
    }
    wire_put(cluster_later(cluster, peer), &message);
}

// The handler may repeat the request with this id: the answer is stored together with the claim.
static void grant_note(struct cluster *cluster, const struct cluster_queued_claim *queued,
                       const struct cluster_claim *claim)
{
    char text[ANSWER_MAX];
    snprintf(text, sizeof text, "grant %u.%u token %" PRIu64 " body %u", claim->task.job,
             claim->task.task, claim->token, claim->body);
    struct cluster_request asked = request_of(queued);
    cluster_request_note(cluster, &asked, text);
    cluster_claim_keep(cluster, claim);
}

bool cluster_grant_again(struct cluster *cluster, struct cluster_peer *peer, uint64_t high,
                         uint64_t low, const char *text)
{
    rota_task_id task;
    uint64_t token;
    uint32_t body;
    int count = sscanf(text, "grant %" SCNu32 ".%" SCNu32 " token %" SCNu64 " body %" SCNu32,
                       &task.job, &task.task, &token, &body);
    if (count != 4) return false;
    struct cluster_claim *claim = cluster_claim_find(cluster, task, token);
    if (claim) {
        claim->body = body;
        granted_put(cluster, peer, high, low, claim);
    } else {
        cluster_refuse(peer, high, low, WIRE_REFUSED_STALE,
                       "the claim granted for this request has ended");
    }
    return true;
}

// The core grants in the order of the requests.
void cluster_grant(struct cluster *cluster, const struct rota_action *action)
{
    struct cluster_queued_claim *queued = claim_queue_first(&cluster->handlers.granting);
    assert(queued && queued->token == action->grant.handler);
    rota_time lease = queued->claim.lease ? queued->claim.lease : cluster->limits.lease;
    struct cluster_claim claim = {.token = queued->token,
                              .task = action->grant.task,
                              .attempt = action->grant.attempt,
                              .body = (uint32_t)action->grant.body,
                              .lease = lease,
                              .until = cluster->ticks + lease,
                              .began = cluster->server->now};
    memcpy(claim.key, queued->key, sizeof claim.key);
    cluster_claim_add(cluster, &claim);
    grant_note(cluster, queued, &claim);
    if (queued->peer)
        granted_put(cluster, queued->peer, queued->claim.high, queued->claim.low, &claim);
    free(queued);
}
