// claim.c - what handlers hold: kept alive, delivered, failed, or lost when their lease is over.
#include "server/cluster/request.h"

#include "turn/attempt_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct memory heap = {memory_resize_heap, NULL};

// ---- The claims that are out -------------------------------------------------------------------

void hub_claim_add(struct hub *hub, const struct hub_claim *claim)
{
    struct hub_handlers *all = &hub->handlers;
    void *items = all->claims;
    bool there = map_reserve(&heap, &all->claims_by_token, 1)
                 && memory_reserve(&heap, &items, &all->claim_capacity,
                                   (uint64_t)all->claim_count + 1, sizeof *all->claims);
    all->claims = items;
    if (!there) hub_no_memory();
    all->claims[all->claim_count++] = *claim;
    map_put(&all->claims_by_token, claim->token, all->claim_count);
    if (claim->until < all->claims_due) all->claims_due = claim->until;
}

static void claim_drop(struct hub *hub, uint64_t token)
{
    uint32_t at = map_find(&hub->handlers.claims_by_token, token);
    if (!at) return;
    struct hub_claim *last = &hub->handlers.claims[--hub->handlers.claim_count];
    *map_place(&hub->handlers.claims_by_token, last->token) = at;
    hub->handlers.claims[at - 1] = *last;
    map_remove(&hub->handlers.claims_by_token, token);
}

static bool is_held(const struct hub *hub, const struct hub_claim *claim)
{
    struct rota_task_view view;
    return rota_task_look(hub->server->rota, claim->task, &view) && view.handler == claim->token
           && !view.stopping;
}

// It was cancelled in these hands, and waits for them to let go.
static bool is_cancelled(const struct hub *hub, rota_task_id task, uint64_t token)
{
    struct rota_task_view view;
    return token && rota_task_look(hub->server->rota, task, &view) && view.handler == token
           && view.stopping;
}

// What was cancelled, or closed with its job, is found out here.
struct hub_claim *hub_claim_find(struct hub *hub, rota_task_id task, uint64_t token)
{
    uint32_t at = token ? map_find(&hub->handlers.claims_by_token, token) : 0;
    struct hub_claim *claim = at ? &hub->handlers.claims[at - 1] : NULL;
    bool same = claim && claim->task.job == task.job && claim->task.task == task.task;
    return same && is_held(hub, claim) ? claim : NULL;
}

static void give_back(struct hub *hub, rota_task_id task, uint64_t token)
{
    struct rota_event event = {.kind = ROTA_EVENT_FAIL};
    event.claim.handler = token;
    event.claim.task = task;
    event.claim.flags = ROTA_GIVEN_BACK;
    server_step(hub->server, &event);
    claim_drop(hub, token);
}

void hub_claims_look(struct hub *hub)
{
    if (hub->ticks < hub->handlers.claims_due) return;
    hub->handlers.claims_due = ROTA_NEVER;
    for (uint32_t i = hub->handlers.claim_count; i-- > 0;) {
        const struct hub_claim *claim = &hub->handlers.claims[i];
        if (claim->until > hub->ticks) {
            if (claim->until < hub->handlers.claims_due) hub->handlers.claims_due = claim->until;
            continue;
        }
        give_back(hub, claim->task, claim->token);
    }
}

// ---- After a restart ---------------------------------------------------------------------------

// A key, and a lease that is not the usual one, are kept as the answer to a request that no client
// can make.
void hub_claim_keep(struct hub *hub, const struct hub_claim *claim)
{
    enum { SIZE = 140 };
    if (claim->lease == hub->limits.lease && !claim->key[0]) return;
    struct store_request request = hub_request_own(claim->task);
    char *kept = hub_keep(hub, SIZE, 1);
    snprintf(kept, SIZE, "lease %" PRId64 " token %" PRIu64 " key %s", claim->lease, claim->token,
             claim->key);
    request.answer = kept;
    store_answer(hub->server->store, &request);
}

// The usual lease may be another one by now: the handler believes in the one that it was told.
static void claim_find_kept(struct hub *hub, struct hub_claim *claim)
{
    struct store_request request = hub_request_own(claim->task);
    int64_t lease = 0;
    uint64_t token = 0;
    claim->lease = hub->lease_believed;
    if (!store_answer_find(hub->server->store, &request)) return;
    int count = sscanf(request.answer, "lease %" SCNd64 " token %" SCNu64 " key %39s", &lease,
                       &token, claim->key);
    bool is_known = count >= 2 && token == claim->token;  // databases of before have no key
    if (is_known && lease > 0) claim->lease = lease;
    if (!is_known || count < 3) claim->key[0] = 0;
}

void hub_claims_open(struct hub *hub)
{
    struct rota *rota = hub->server->rota;
    rota_worker_id any = {0};
    uint32_t count = rota_list(rota, ROTA_LIST_EXEC, any, NULL, 0);
    rota_task_id *tasks = hub_keep(hub, count, sizeof *tasks);
    rota_list(rota, ROTA_LIST_EXEC, any, tasks, count);
    hub->handlers.claims_due = ROTA_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        if (!rota_task_look(rota, tasks[i], &view) || !view.handler) continue;
        struct hub_claim claim = {.token = view.handler, .task = tasks[i], .attempt = view.attempt};
        claim_find_kept(hub, &claim);
        claim.until = claim.lease;
        hub_claim_add(hub, &claim);
        hub_claim_keep(hub, &claim);
        if (view.handler > hub->token) hub->token = view.handler;
    }
}

// The clock of `ticks` is not known before the first turn: until then `until` is how long.
void hub_claims_begin(struct hub *hub)
{
    struct hub_handlers *all = &hub->handlers;
    if (all->has_begun) return;
    all->has_begun = true;
    for (uint32_t i = 0; i < all->claim_count; i++) all->claims[i].until += hub->ticks;
    if (all->claim_count) all->claims_due += hub->ticks;
    hub_claims_revoke(hub);
}

// ---- Keys --------------------------------------------------------------------------------------

static bool is_key_gone(const struct hub *hub, const struct hub_claim *claim)
{
    return claim->key[0] && hub->limits.key_is_gone
           && hub->limits.key_is_gone(hub->limits.context, claim->key);
}

void hub_claims_revoke(struct hub *hub)
{
    struct hub_handlers *all = &hub->handlers;
    rota_time until = hub->ticks + hub->limits.lease;
    for (uint32_t i = 0; i < all->claim_count; i++) {
        struct hub_claim *claim = &all->claims[i];
        if (claim->until > until && is_key_gone(hub, claim)) claim->until = until;
        if (claim->until < all->claims_due) all->claims_due = claim->until;
    }
}

void hub_claims_close(struct hub *hub)
{
    hub_wishes_forget(hub, NULL);
    map_release(&heap, &hub->handlers.claims_by_token);
    free(hub->handlers.claims);
}

// ---- What handlers say -------------------------------------------------------------------------

static const char stale[] = "the token is stale: the task is not, or no longer, in these hands";

static bool is_stale(const struct hub *hub, rota_task_id task, uint64_t token)
{
    struct rota_task_view view;
    return token && rota_task_look(hub->server->rota, task, &view)
           && (view.handler != token || view.stopping);
}

// Why the core did not take it: the token is another's, or it was not the moment.
static void refuse(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                   const struct rota_event *event, enum rota_error error)
{
    if (is_stale(hub, event->claim.task, event->claim.handler))
        hub_request_refuse(hub, peer, request, WIRE_REFUSED_STALE, stale);
    else
        hub_request_fail(hub, peer, request, error);
}

// The token is no secret, so another handler may have it from the one whose key was revoked.
static const char revoked[] = "the task was claimed with a key that was revoked";

static bool is_revoked(const struct hub *hub, uint64_t token)
{
    uint32_t at = token ? map_find(&hub->handlers.claims_by_token, token) : 0;
    return at && is_key_gone(hub, &hub->handlers.claims[at - 1]);
}

void hub_renew(struct hub *hub, struct hub_peer *peer, const struct wire_renew *renew)
{
    struct hub_claim *claim = hub_claim_find(hub, renew->task, renew->token);
    struct wire_message message = {.kind = WIRE_RENEWED_MESSAGE};
    if (is_revoked(hub, renew->token)) {
        hub_refuse(peer, renew->high, renew->low, WIRE_REFUSED_STALE, revoked);
        return;
    }
    if (!claim && is_stale(hub, renew->task, renew->token)) {
        hub_refuse(peer, renew->high, renew->low, WIRE_REFUSED_STALE, stale);
        return;
    }
    if (!claim) {
        hub_refuse_error(hub, peer, renew->high, renew->low, ROTA_NOT_FOUND);
        return;
    }
    claim->until = hub->ticks + claim->lease;
    message.renewed.high = renew->high;
    message.renewed.low = renew->low;
    message.renewed.lease = claim->lease;
    wire_put(peer->out, &message);
}

static void end_note(struct hub *hub, const struct hub_claim *claim, int32_t status,
                     wire_text reason)
{
    struct wire_finished finished = {.task = claim->task,
                                     .attempt = claim->attempt,
                                     .end = WIRE_EXITED,
                                     .status = status,
                                     .began = claim->began,
                                     .ended = hub->server->now,
                                     .reason = reason};
    if (!finished.began) finished.began = finished.ended;
    if (!ends_note(hub->server, &finished, (rota_worker_id){0})) hub_no_memory();
}

static uint64_t hash_of(enum wire_kind kind, rota_task_id task, uint64_t token, uint32_t flags)
{
    uint64_t hash = hash_mix(hash_mix(kind, task.job), task.task);
    return hash_mix(hash_mix(hash, token), flags);
}

// It was cancelled in these hands: with whatever they say they let go. Not so when their key was
// revoked: then nothing is known of them, and the lease ends it.
static bool was_taken(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                      const struct rota_event *event)
{
    if (is_revoked(hub, event->claim.handler)) {
        hub_request_refuse(hub, peer, request, WIRE_REFUSED_STALE, revoked);
        return true;
    }
    if (!is_cancelled(hub, event->claim.task, event->claim.handler)) return false;
    refuse(hub, peer, request, event, ROTA_OK);
    give_back(hub, event->claim.task, event->claim.handler);
    return true;
}

void hub_deliver(struct hub *hub, struct hub_peer *peer, const struct wire_deliver *deliver)
{
    struct rota_event event = {.kind = ROTA_EVENT_DELIVER};
    struct hub_request request = {deliver->high, deliver->low, 0};
    request.hash = hash_of(WIRE_DELIVER_MESSAGE, deliver->task, deliver->token, deliver->flags);
    if (hub_request_is_old(hub, peer, &request)) return;
    event.claim.handler = deliver->token;
    event.claim.task = deliver->task;
    event.claim.flags = deliver->flags & (ROTA_DELIVERED_OK | ROTA_NOFETCH_OK);
    if (was_taken(hub, peer, &request, &event)) return;
    struct hub_claim *claim = hub_claim_find(hub, deliver->task, deliver->token);
    enum rota_error error = server_step(hub->server, &event);
    if (error) {
        refuse(hub, peer, &request, &event, error);
        return;
    }
    if (claim) end_note(hub, claim, 0, deliver->reason);
    claim_drop(hub, deliver->token);
    hub_request_done(hub, peer, &request, "done");
}

void hub_fail(struct hub *hub, struct hub_peer *peer, const struct wire_fail *fail)
{
    struct rota_event event = {.kind = ROTA_EVENT_FAIL};
    struct hub_request request = {fail->high, fail->low, 0};
    request.hash = hash_of(WIRE_FAIL_MESSAGE, fail->task, fail->token, fail->flags);
    if (hub_request_is_old(hub, peer, &request)) return;
    event.claim.handler = fail->token;
    event.claim.task = fail->task;
    event.claim.flags = fail->flags & (ROTA_NOFETCH_OK | ROTA_GIVEN_BACK);
    event.claim.status = fail->status;
    if (was_taken(hub, peer, &request, &event)) return;
    struct hub_claim *claim = hub_claim_find(hub, fail->task, fail->token);
    enum rota_error error = server_step(hub->server, &event);
    if (error) {
        refuse(hub, peer, &request, &event, error);
        return;
    }
    bool given_back = fail->flags & ROTA_GIVEN_BACK;
    if (claim && !given_back) end_note(hub, claim, fail->status ? fail->status : 1, fail->reason);
    claim_drop(hub, fail->token);
    hub_request_done(hub, peer, &request, "done");
}
