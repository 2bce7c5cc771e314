// claim_queue.c - requests of handlers for a task: granted now, when a task becomes available, or
// never.
//
// A handler sends CLAIM for one task, for any task of a job, or for any task at all, with a lease
// and a time it is willing to wait. The server tries the claim in the turn in which it arrives. The
// core answers within that turn, with a GRANT action or a refusal. A granted request gets GRANT
// when the turn is durable. A refused one waits in `waiting`, in order of arrival, and is tried
// again when something has changed, until its time is up; then it is refused.
//
// A cluster_wish belongs to this file: to the list `waiting`, or to `granting` between the step and
// the GRANT of the same turn. Its peer may disconnect at any time; the request is then dropped, and
// a task already granted is released when its lease expires, unless the handler repeats the
// request. A repeated request, over any connection, is recognized by its id and gets the stored
// answer.
#include "server/cluster/request.h"
#include "server/cluster/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS = 16, ANSWER_MAX = 100 };
static const rota_time lease_min = 1000000, lease_max = 7ll * 24 * 3600 * 1000000;

// A CLAIM of a handler. Its token was passed to the core, and is new with each try.
struct cluster_wish {
    struct cluster_wish *next;
    struct cluster_peer *peer;  // null: disconnected
    char key[40];               // key of the peer
    struct wire_claim claim;
    uint64_t hash, token;
    rota_time until;  // ticks: when to stop waiting
};

static void wish_append(struct cluster_wishes *list, struct cluster_wish *wish)
{
    wish->next = NULL;
    if (list->first)
        list->last->next = wish;
    else
        list->first = wish;
    list->last = wish;
}

static struct cluster_wish *wish_first(struct cluster_wishes *list)
{
    struct cluster_wish *wish = list->first;
    if (wish) list->first = wish->next;
    return wish;
}

static bool is_any(const struct cluster_wish *wish)
{
    return !wish->claim.task.task;
}

static struct cluster_request request_of(const struct cluster_wish *wish)
{
    return (struct cluster_request){wish->claim.high, wish->claim.low, wish->hash};
}

// ---- Trying to claim ------------------------------------------------------------------------

// A refusal is not stored: a repeated request gets the present state.
static void wish_refuse(struct cluster_wish *wish, enum wire_code code, const char *reason)
{
    cluster_refuse(wish->peer, wish->claim.high, wish->claim.low, code, reason);
    free(wish);
}

// A named task that has ended does not become available by itself, nor does one that was removed.
static bool may_come(const struct cluster *cluster, const struct cluster_wish *wish)
{
    if (is_any(wish)) return true;
    enum rota_task_state state = rota_task_state(cluster->server->rota, wish->claim.task);
    if (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED)
        return wish->claim.flags & ROTA_FAILED_OK;
    return state != ROTA_TASK_NONE && state != ROTA_TASK_SUCCEEDED;
}

// With FETCHED_OK a claim for a task that is already claimed succeeds without an effect.
static bool is_granted(const struct cluster *cluster, const struct cluster_wish *wish)
{
    struct rota_task_view view;
    return is_any(wish)
           || (rota_task_look(cluster->server->rota, wish->claim.task, &view)
               && view.handler == wish->token);
}

static enum rota_error wish_try(struct cluster *cluster, struct cluster_wish *wish)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM};
    event.claim.handler = wish->token = cluster_token_next(cluster);
    event.claim.task = wish->claim.task;
    event.claim.flags = wish->claim.flags & (ROTA_FETCHED_OK | ROTA_FAILED_OK);
    return server_step(cluster->server, &event);
}

// The request is answered with success.
static void wish_accept(struct cluster *cluster, struct cluster_wish *wish)
{
    if (is_granted(cluster, wish)) {
        wish_append(&cluster->handlers.granting, wish);
        return;
    }
    struct cluster_request request = request_of(wish);
    cluster_request_done(cluster, wish->peer, &request, "already claimed");
    free(wish);
}

// No task is available now, or ever. True: the request waits.
static bool wish_keep(struct cluster *cluster, struct cluster_wish *wish, enum rota_error error)
{
    bool waits = error == ROTA_NOT_NOW && cluster->ticks < wish->until && may_come(cluster, wish);
    if (waits) {
        wish_append(&cluster->handlers.waiting, wish);
        if (wish->until < cluster->handlers.claims_due) cluster->handlers.claims_due = wish->until;
    } else if (error == ROTA_NOT_NOW && is_any(wish)) {
        wish_refuse(wish, WIRE_REFUSED_NOTHING, "no task is available");
    } else {
        cluster_refuse_error(cluster, wish->peer, wish->claim.high, wish->claim.low, error);
        free(wish);
    }
    return waits;
}

static bool wish_own(struct cluster_wish *wish, struct cluster_peer *peer)
{
    wish->peer = peer;
    snprintf(wish->key, sizeof wish->key, "%s", peer->id);
    return true;
}

// A handler that repeats an unanswered request over another connection is answered there.
static bool wish_again(const struct cluster_wishes *list, struct cluster_peer *peer,
                       const struct wire_claim *claim)
{
    for (struct cluster_wish *wish = list->first; wish; wish = wish->next)
        if (SAME_ID(wish->claim, *claim)) return wish_own(wish, peer);
    return false;
}

void cluster_wish(struct cluster *cluster, struct cluster_peer *peer,
                  const struct wire_claim *claim)
{
    uint64_t hash = hash_mix(hash_mix(WIRE_CLAIM_MESSAGE, claim->task.job), claim->task.task);
    hash = hash_mix(hash_mix(hash, claim->flags), (uint64_t)claim->lease);
    struct cluster_request request = {claim->high, claim->low, hash};
    if (cluster_request_is_old(cluster, peer, &request)) return;
    if (wish_again(&cluster->handlers.waiting, peer, claim)) return;
    if (wish_again(&cluster->handlers.granting, peer, claim)) return;
    bool sound = claim->wait >= 0
                 && (!claim->lease || (claim->lease >= lease_min && claim->lease <= lease_max));
    if (!sound) {
        cluster_refuse(peer, claim->high, claim->low, WIRE_REFUSED_REQUEST,
                       "a lease must be 1 s to 7 days, and a wait must not be negative");
        return;
    }
    struct cluster_wish *wish = cluster_allocate(1, sizeof *wish);
    *wish = (struct cluster_wish){.claim = *claim, .hash = hash};
    wish_own(wish, peer);
    wish->until
        = claim->wait < ROTA_NEVER - cluster->ticks ? cluster->ticks + claim->wait : ROTA_NEVER;
    enum rota_error error = wish_try(cluster, wish);
    if (error)
        wish_keep(cluster, wish, error);
    else
        wish_accept(cluster, wish);
}

// ---- Waiting -----------------------------------------------------------------------------------

// Jobs (0: all jobs) without an available task in this turn: further requests need not try them.
struct filters {
    uint32_t jobs[FILTERS];
    uint32_t count;
};

static bool is_in_vain(const struct filters *filters, const struct cluster_wish *wish)
{
    for (uint32_t i = 0; is_any(wish) && i < filters->count; i++)
        if (!filters->jobs[i] || filters->jobs[i] == wish->claim.task.job) return true;
    return false;
}

void cluster_wishes_look(struct cluster *cluster)
{
    struct cluster_wishes list = cluster->handlers.waiting;
    struct filters filters = {.count = 0};
    struct cluster_wish *wish;
    cluster->handlers.waiting = (struct cluster_wishes){0};
    while ((wish = wish_first(&list))) {
        enum rota_error error = is_in_vain(&filters, wish) ? ROTA_NOT_NOW : wish_try(cluster, wish);
        if (error == ROTA_NOT_NOW && is_any(wish) && filters.count < FILTERS)
            filters.jobs[filters.count++] = wish->claim.task.job;
        if (!error)
            wish_accept(cluster, wish);
        else if (error == ROTA_NOT_FOUND && is_any(wish))
            wish_refuse(wish, WIRE_REFUSED_NOTHING, "the job has ended");
        else
            wish_keep(cluster, wish, error);
    }
}

void cluster_wishes_forget(struct cluster *cluster, const struct cluster_peer *peer)
{
    struct cluster_wishes list = cluster->handlers.waiting;
    struct cluster_wish *wish;
    cluster->handlers.waiting = (struct cluster_wishes){0};
    while ((wish = wish_first(&list))) {
        if (!peer || wish->peer == peer)
            free(wish);
        else
            wish_append(&cluster->handlers.waiting, wish);
    }
    for (wish = cluster->handlers.granting.first; wish; wish = wish->next)
        if (wish->peer == peer) wish->peer = NULL;
    if (peer) return;
    while ((wish = wish_first(&cluster->handlers.granting))) free(wish);
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
static void grant_note(struct cluster *cluster, const struct cluster_wish *wish,
                       const struct cluster_claim *claim)
{
    char text[ANSWER_MAX];
    snprintf(text, sizeof text, "grant %u.%u token %" PRIu64 " body %u", claim->task.job,
             claim->task.task, claim->token, claim->body);
    struct cluster_request asked = request_of(wish);
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
    struct cluster_wish *wish = wish_first(&cluster->handlers.granting);
    assert(wish && wish->token == action->grant.handler);
    rota_time lease = wish->claim.lease ? wish->claim.lease : cluster->limits.lease;
    struct cluster_claim claim = {.token = wish->token,
                              .task = action->grant.task,
                              .attempt = action->grant.attempt,
                              .body = (uint32_t)action->grant.body,
                              .lease = lease,
                              .until = cluster->ticks + lease,
                              .began = cluster->server->now};
    memcpy(claim.key, wish->key, sizeof claim.key);
    cluster_claim_add(cluster, &claim);
    grant_note(cluster, wish, &claim);
    if (wish->peer)
        granted_put(cluster, wish->peer, wish->claim.high, wish->claim.low, &claim);
    free(wish);
}
