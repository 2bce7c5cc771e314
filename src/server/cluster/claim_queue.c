// claim_queue.c - who wants a task: it is granted at once, or as soon as there is one, or not at
// all.
#include "server/cluster/request.h"
#include "server/cluster/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS = 16, ANSWER_MAX = 100 };
static const rota_time lease_min = 1000000, lease_max = 7ll * 24 * 3600 * 1000000;

// Somebody's CLAIM. Its token was handed to the core, and is new with each try.
struct hub_wish {
    struct hub_wish *next;
    struct hub_peer *peer;  // null: gone since
    char key[40];           // of the peer
    struct wire_claim claim;
    uint64_t hash, token;
    rota_time until;  // ticks: so long it is worth waiting
};

static void wish_append(struct hub_wishes *list, struct hub_wish *wish)
{
    wish->next = NULL;
    if (list->first)
        list->last->next = wish;
    else
        list->first = wish;
    list->last = wish;
}

static struct hub_wish *wish_first(struct hub_wishes *list)
{
    struct hub_wish *wish = list->first;
    if (wish) list->first = wish->next;
    return wish;
}

static bool is_any(const struct hub_wish *wish)
{
    return !wish->claim.task.task;
}

static struct hub_request request_of(const struct hub_wish *wish)
{
    return (struct hub_request){wish->claim.high, wish->claim.low, wish->hash};
}

// ---- Trying ------------------------------------------------------------------------------------

// A refusal is not kept: whoever asks again wants to know what is there then.
static void wish_refuse(struct hub_wish *wish, enum wire_code code, const char *reason)
{
    hub_refuse(wish->peer, wish->claim.high, wish->claim.low, code, reason);
    free(wish);
}

// A named task that is over does not come by itself, and what is gone does not either.
static bool may_come(const struct hub *hub, const struct hub_wish *wish)
{
    if (is_any(wish)) return true;
    enum rota_task_state state = rota_task_state(hub->server->rota, wish->claim.task);
    if (state == ROTA_TASK_FAILED || state == ROTA_TASK_ABORTED)
        return wish->claim.flags & ROTA_FAILED_OK;
    return state != ROTA_TASK_NONE && state != ROTA_TASK_SUCCEEDED;
}

// With FETCHED_OK a task that somebody holds is no reason to complain, and nothing happens.
static bool is_granted(const struct hub *hub, const struct hub_wish *wish)
{
    struct rota_task_view view;
    return is_any(wish)
           || (rota_task_look(hub->server->rota, wish->claim.task, &view)
               && view.handler == wish->token);
}

static enum rota_error wish_try(struct hub *hub, struct hub_wish *wish)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLAIM};
    event.claim.handler = wish->token = hub_token_next(hub);
    event.claim.task = wish->claim.task;
    event.claim.flags = wish->claim.flags & (ROTA_FETCHED_OK | ROTA_FAILED_OK);
    return server_step(hub->server, &event);
}

// It got what it wanted, one way or the other.
static void wish_accept(struct hub *hub, struct hub_wish *wish)
{
    if (is_granted(hub, wish)) {
        wish_append(&hub->handlers.granting, wish);
        return;
    }
    struct hub_request request = request_of(wish);
    hub_request_done(hub, wish->peer, &request, "claimed already");
    free(wish);
}

// Not now, and perhaps never. True: it waits.
static bool wish_keep(struct hub *hub, struct hub_wish *wish, enum rota_error error)
{
    bool waits = error == ROTA_NOT_NOW && hub->ticks < wish->until && may_come(hub, wish);
    if (waits) {
        wish_append(&hub->handlers.waiting, wish);
        if (wish->until < hub->handlers.claims_due) hub->handlers.claims_due = wish->until;
    } else if (error == ROTA_NOT_NOW && is_any(wish)) {
        wish_refuse(wish, WIRE_REFUSED_NOTHING, "nothing is there to be fetched");
    } else {
        hub_refuse_error(hub, wish->peer, wish->claim.high, wish->claim.low, error);
        free(wish);
    }
    return waits;
}

static bool wish_own(struct hub_wish *wish, struct hub_peer *peer)
{
    wish->peer = peer;
    snprintf(wish->key, sizeof wish->key, "%s", peer->id);
    return true;
}

// Who asks again before he was answered, over another connection, is answered there.
static bool wish_again(const struct hub_wishes *list, struct hub_peer *peer,
                       const struct wire_claim *claim)
{
    for (struct hub_wish *wish = list->first; wish; wish = wish->next)
        if (wish->claim.high == claim->high && wish->claim.low == claim->low)
            return wish_own(wish, peer);
    return false;
}

void hub_wish(struct hub *hub, struct hub_peer *peer, const struct wire_claim *claim)
{
    uint64_t hash = hash_mix(hash_mix(WIRE_CLAIM_MESSAGE, claim->task.job), claim->task.task);
    hash = hash_mix(hash_mix(hash, claim->flags), (uint64_t)claim->lease);
    struct hub_request request = {claim->high, claim->low, hash};
    if (hub_request_is_old(hub, peer, &request)) return;
    if (wish_again(&hub->handlers.waiting, peer, claim)) return;
    if (wish_again(&hub->handlers.granting, peer, claim)) return;
    bool sound = claim->wait >= 0
                 && (!claim->lease || (claim->lease >= lease_min && claim->lease <= lease_max));
    if (!sound) {
        hub_refuse(peer, claim->high, claim->low, WIRE_REFUSED_REQUEST,
                   "a lease is 1 s to 7 days, and a wait not negative");
        return;
    }
    struct hub_wish *wish = hub_allocate(1, sizeof *wish);
    *wish = (struct hub_wish){.claim = *claim, .hash = hash};
    wish_own(wish, peer);
    wish->until = claim->wait < ROTA_NEVER - hub->ticks ? hub->ticks + claim->wait : ROTA_NEVER;
    enum rota_error error = wish_try(hub, wish);
    if (error)
        wish_keep(hub, wish, error);
    else
        wish_accept(hub, wish);
}

// ---- Waiting -----------------------------------------------------------------------------------

// Jobs, or all of them (0), that have nothing in this turn: the next who asks need not try.
struct filters {
    uint32_t jobs[FILTERS];
    uint32_t count;
};

static bool is_in_vain(const struct filters *filters, const struct hub_wish *wish)
{
    for (uint32_t i = 0; is_any(wish) && i < filters->count; i++)
        if (!filters->jobs[i] || filters->jobs[i] == wish->claim.task.job) return true;
    return false;
}

void hub_wishes_look(struct hub *hub)
{
    struct hub_wishes list = hub->handlers.waiting;
    struct filters filters = {.count = 0};
    struct hub_wish *wish;
    hub->handlers.waiting = (struct hub_wishes){0};
    while ((wish = wish_first(&list))) {
        enum rota_error error = is_in_vain(&filters, wish) ? ROTA_NOT_NOW : wish_try(hub, wish);
        if (error == ROTA_NOT_NOW && is_any(wish) && filters.count < FILTERS)
            filters.jobs[filters.count++] = wish->claim.task.job;
        if (!error)
            wish_accept(hub, wish);
        else if (error == ROTA_NOT_FOUND && is_any(wish))
            wish_refuse(wish, WIRE_REFUSED_NOTHING, "the job is over");
        else
            wish_keep(hub, wish, error);
    }
}

void hub_wishes_forget(struct hub *hub, const struct hub_peer *peer)
{
    struct hub_wishes list = hub->handlers.waiting;
    struct hub_wish *wish;
    hub->handlers.waiting = (struct hub_wishes){0};
    while ((wish = wish_first(&list))) {
        if (!peer || wish->peer == peer)
            free(wish);
        else
            wish_append(&hub->handlers.waiting, wish);
    }
    for (wish = hub->handlers.granting.first; wish; wish = wish->next)
        if (wish->peer == peer) wish->peer = NULL;
    if (peer) return;
    while ((wish = wish_first(&hub->handlers.granting))) free(wish);
}

// ---- Granting ----------------------------------------------------------------------------------

static void granted_put(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                        const struct hub_claim *claim)
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
    const char *frame = hub_body_find(hub, (rota_job_id){claim->task.job}, claim->body, &length);
    if (frame) {
        char *copy = hub_keep(hub, length, 1);
        struct wire_run numbers
            = {.task = claim->task, .attempt = claim->attempt, .token = claim->token};
        memcpy(copy, frame, length);
        if (hub_body_number(copy, length, &numbers))
            message.granted.body = (wire_text){copy, length};
    }
    wire_put(hub_later(hub, peer), &message);
}

// Whoever asked with this id may ask again: the answer is kept, and the claim with it.
static void grant_note(struct hub *hub, const struct hub_wish *wish, const struct hub_claim *claim)
{
    char text[ANSWER_MAX];
    snprintf(text, sizeof text, "grant %u.%u token %" PRIu64 " body %u", claim->task.job,
             claim->task.task, claim->token, claim->body);
    struct hub_request asked = request_of(wish);
    hub_request_note(hub, &asked, text);
    hub_claim_keep(hub, claim);
}

bool hub_grant_again(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                     const char *text)
{
    rota_task_id task;
    uint64_t token;
    uint32_t body;
    int count = sscanf(text, "grant %" SCNu32 ".%" SCNu32 " token %" SCNu64 " body %" SCNu32,
                       &task.job, &task.task, &token, &body);
    if (count != 4) return false;
    struct hub_claim *claim = hub_claim_find(hub, task, token);
    if (claim) {
        claim->body = body;
        granted_put(hub, peer, high, low, claim);
    } else {
        hub_refuse(peer, high, low, WIRE_REFUSED_STALE, "what was granted then is over");
    }
    return true;
}

// The core grants in the order in which it was asked.
void hub_grant(struct hub *hub, const struct rota_action *action)
{
    struct hub_wish *wish = wish_first(&hub->handlers.granting);
    assert(wish && wish->token == action->grant.handler);
    rota_time lease = wish->claim.lease ? wish->claim.lease : hub->limits.lease;
    struct hub_claim claim = {.token = wish->token,
                              .task = action->grant.task,
                              .attempt = action->grant.attempt,
                              .body = (uint32_t)action->grant.body,
                              .lease = lease,
                              .until = hub->ticks + lease,
                              .began = hub->server->now};
    memcpy(claim.key, wish->key, sizeof claim.key);
    hub_claim_add(hub, &claim);
    grant_note(hub, wish, &claim);
    if (wish->peer)
        granted_put(hub, wish->peer, wish->claim.high, wish->claim.low, &claim);
    free(wish);
}
