// claim.c - tasks that handlers hold: kept alive, delivered, failed, or lost when the lease
// expires.
#include "server/cluster/request.h"


#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Claims ---------------------------------------------------------------------------------

void cluster_claim_add(struct cluster *cluster, const struct cluster_claim *claim)
{
    struct cluster_handlers *all = &cluster->handlers;
    bool there = map_reserve(&memory_heap, &all->claims_by_token, 1)
                 && ARRAY_MORE(&memory_heap, all->claims, all->claim_count, all->claim_capacity);
    if (!there) cluster_no_memory();
    all->claims[all->claim_count++] = *claim;
    map_put(&all->claims_by_token, claim->token, all->claim_count);
    if (claim->until < all->claims_due) all->claims_due = claim->until;
}

static void claim_drop(struct cluster *cluster, uint64_t token)
{
    uint32_t at = map_find(&cluster->handlers.claims_by_token, token);
    if (!at) return;
    struct cluster_claim *last = &cluster->handlers.claims[--cluster->handlers.claim_count];
    *map_place(&cluster->handlers.claims_by_token, last->token) = at;
    cluster->handlers.claims[at - 1] = *last;
    map_remove(&cluster->handlers.claims_by_token, token);
}

static bool is_held(const struct cluster *cluster, const struct cluster_claim *claim)
{
    struct rota_task_view view;
    return rota_task_look(cluster->server->rota, claim->task, &view) && view.handler == claim->token
           && !view.stopping;
}

// The task was cancelled while the handler holds it, and waits for the handler to release it.
static bool is_cancelled(const struct cluster *cluster, rota_task_id task, uint64_t token)
{
    struct rota_task_view view;
    return token && rota_task_look(cluster->server->rota, task, &view) && view.handler == token
           && view.stopping;
}

// Also finds out that a task was cancelled, or closed with its job.
struct cluster_claim *cluster_claim_find(struct cluster *cluster, rota_task_id task, uint64_t token)
{
    uint32_t at = token ? map_find(&cluster->handlers.claims_by_token, token) : 0;
    struct cluster_claim *claim = at ? &cluster->handlers.claims[at - 1] : NULL;
    bool same = claim && SAME_TASK(claim->task, task);
    return same && is_held(cluster, claim) ? claim : NULL;
}

static void give_back(struct cluster *cluster, rota_task_id task, uint64_t token)
{
    struct rota_event event = {.kind = ROTA_EVENT_FAIL};
    event.claim.handler = token;
    event.claim.task = task;
    event.claim.flags = ROTA_GIVEN_BACK;
    server_step(cluster->server, &event);
    claim_drop(cluster, token);
}

void cluster_claims_look(struct cluster *cluster)
{
    if (cluster->ticks < cluster->handlers.claims_due) return;
    cluster->handlers.claims_due = ROTA_NEVER;
    for (uint32_t i = cluster->handlers.claim_count; i-- > 0;) {
        const struct cluster_claim *claim = &cluster->handlers.claims[i];
        if (claim->until > cluster->ticks) {
            if (claim->until < cluster->handlers.claims_due)
                cluster->handlers.claims_due = claim->until;
            continue;
        }
        give_back(cluster, claim->task, claim->token);
    }
}

// ---- After a restart ---------------------------------------------------------------------------

// A key, and a lease other than the default, are stored as the answer to a request that no client
// can make.
void cluster_claim_keep(struct cluster *cluster, const struct cluster_claim *claim)
{
    enum { SIZE = 140 };
    if (claim->lease == cluster->limits.lease && !claim->key[0]) return;
    struct store_request request = cluster_request_own(claim->task);
    char *kept = cluster_keep(cluster, SIZE, 1);
    snprintf(kept, SIZE, "lease %" PRId64 " token %" PRIu64 " key %s", claim->lease, claim->token,
             claim->key);
    request.answer = kept;
    store_answer(cluster->server->store, &request);
}

// The default lease may have changed: the handler relies on the one it was told.
static void claim_find_kept(struct cluster *cluster, struct cluster_claim *claim)
{
    struct store_request request = cluster_request_own(claim->task);
    int64_t lease = 0;
    uint64_t token = 0;
    claim->lease = cluster->lease_believed;
    if (!store_answer_find(cluster->server->store, &request)) return;
    int count = sscanf(request.answer, "lease %" SCNd64 " token %" SCNu64 " key %39s", &lease,
                       &token, claim->key);
    bool is_known = count >= 2 && token == claim->token;  // older databases have no key
    if (is_known && lease > 0) claim->lease = lease;
    if (!is_known || count < 3) claim->key[0] = 0;
}

void cluster_claims_open(struct cluster *cluster)
{
    struct rota *rota = cluster->server->rota;
    rota_worker_id any = {0};
    uint32_t count = rota_list(rota, ROTA_LIST_EXEC, any, NULL, 0);
    rota_task_id *tasks = cluster_keep(cluster, count, sizeof *tasks);
    rota_list(rota, ROTA_LIST_EXEC, any, tasks, count);
    cluster->handlers.claims_due = ROTA_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        if (!rota_task_look(rota, tasks[i], &view) || !view.handler) continue;
        struct cluster_claim claim
            = {.token = view.handler, .task = tasks[i], .attempt = view.attempt};
        claim_find_kept(cluster, &claim);
        claim.until = claim.lease;
        cluster_claim_add(cluster, &claim);
        cluster_claim_keep(cluster, &claim);
        if (view.handler > cluster->token) cluster->token = view.handler;
    }
}

// The clock of `ticks` is not known before the first turn: until then `until` is a duration.
void cluster_claims_begin(struct cluster *cluster)
{
    struct cluster_handlers *all = &cluster->handlers;
    if (all->has_begun) return;
    all->has_begun = true;
    for (uint32_t i = 0; i < all->claim_count; i++) all->claims[i].until += cluster->ticks;
    if (all->claim_count) all->claims_due += cluster->ticks;
    cluster_claims_revoke(cluster);
}

// ---- Keys --------------------------------------------------------------------------------------

static bool is_key_gone(const struct cluster *cluster, const struct cluster_claim *claim)
{
    return claim->key[0] && cluster->limits.key_is_gone
           && cluster->limits.key_is_gone(cluster->limits.context, claim->key);
}

void cluster_claims_revoke(struct cluster *cluster)
{
    struct cluster_handlers *all = &cluster->handlers;
    rota_time until = cluster->ticks + cluster->limits.lease;
    for (uint32_t i = 0; i < all->claim_count; i++) {
        struct cluster_claim *claim = &all->claims[i];
        if (claim->until > until && is_key_gone(cluster, claim)) claim->until = until;
        if (claim->until < all->claims_due) all->claims_due = claim->until;
    }
}

void cluster_claims_close(struct cluster *cluster)
{
    cluster_claim_queue_forget(cluster, NULL);
    map_release(&memory_heap, &cluster->handlers.claims_by_token);
    free(cluster->handlers.claims);
}

// ---- Messages of handlers -------------------------------------------------------------------

static const char stale[] = "the token is stale: this handler no longer holds the task";

static bool is_stale(const struct cluster *cluster, rota_task_id task, uint64_t token)
{
    struct rota_task_view view;
    return token && rota_task_look(cluster->server->rota, task, &view)
           && (view.handler != token || view.stopping);
}

// Why the core refused it: the token belongs to another claim, or the state of the task does not
// allow it.
static void refuse(struct cluster *cluster, struct cluster_peer *peer,
                   const struct cluster_request *request, const struct rota_event *event,
                   enum rota_error error)
{
    if (is_stale(cluster, event->claim.task, event->claim.handler))
        cluster_request_refuse(cluster, peer, request, WIRE_REFUSED_STALE, stale);
    else
        cluster_request_fail(cluster, peer, request, error);
}

// The token is not secret, so another handler may have it from the one whose key was revoked.
static const char revoked[] = "the task was claimed with a key that was revoked";

static bool is_revoked(const struct cluster *cluster, uint64_t token)
{
    uint32_t at = token ? map_find(&cluster->handlers.claims_by_token, token) : 0;
    return at && is_key_gone(cluster, &cluster->handlers.claims[at - 1]);
}

void cluster_renew(struct cluster *cluster, struct cluster_peer *peer,
                   const struct wire_renew *renew)
{
    struct cluster_claim *claim = cluster_claim_find(cluster, renew->task, renew->token);
    struct wire_message message = {.kind = WIRE_RENEWED_MESSAGE};
    if (is_revoked(cluster, renew->token)) {
        cluster_refuse(peer, renew->high, renew->low, WIRE_REFUSED_STALE, revoked);
        return;
    }
    if (!claim && is_stale(cluster, renew->task, renew->token)) {
        cluster_refuse(peer, renew->high, renew->low, WIRE_REFUSED_STALE, stale);
        return;
    }
    if (!claim) {
        cluster_refuse_error(cluster, peer, renew->high, renew->low, ROTA_NOT_FOUND);
        return;
    }
    claim->until = cluster->ticks + claim->lease;
    message.renewed.high = renew->high;
    message.renewed.low = renew->low;
    message.renewed.lease = claim->lease;
    wire_put(peer->out, &message);
}

static void end_note(struct cluster *cluster, const struct cluster_claim *claim, int32_t status,
                     wire_text reason)
{
    struct wire_finished finished = {.task = claim->task,
                                     .attempt = claim->attempt,
                                     .end = WIRE_EXITED,
                                     .status = status,
                                     .began = claim->began,
                                     .ended = cluster->server->now,
                                     .reason = cluster_reason(reason)};
    if (!finished.began) finished.began = finished.ended;
    if (!attempt_end_note(cluster->server, &finished, (rota_worker_id){0})) cluster_no_memory();
}

static uint64_t hash_of(enum wire_kind kind, rota_task_id task, uint64_t token, uint32_t flags)
{
    uint64_t hash = hash_mix(hash_mix(kind, task.job), task.task);
    return hash_mix(hash_mix(hash, token), flags);
}

// The task was cancelled while this handler held it: any message about it releases it. Not so if
// the key was revoked: then the handler is not trusted, and the lease ends the claim.
static bool was_taken(struct cluster *cluster, struct cluster_peer *peer,
                      const struct cluster_request *request, const struct rota_event *event)
{
    if (is_revoked(cluster, event->claim.handler)) {
        cluster_request_refuse(cluster, peer, request, WIRE_REFUSED_STALE, revoked);
        return true;
    }
    if (!is_cancelled(cluster, event->claim.task, event->claim.handler)) return false;
    refuse(cluster, peer, request, event, ROTA_OK);
    give_back(cluster, event->claim.task, event->claim.handler);
    return true;
}

// Ends a claim, and records the end of its attempt unless the handler gives the task back.
static void claim_end(struct cluster *cluster, struct cluster_peer *peer,
                      const struct cluster_request *request, const struct rota_event *event,
                      int32_t status, wire_text reason)
{
    if (cluster_request_is_old(cluster, peer, request)) return;
    if (was_taken(cluster, peer, request, event)) return;
    rota_task_id task = event->claim.task;
    struct cluster_claim *claim = cluster_claim_find(cluster, task, event->claim.handler);
    enum rota_error error = server_step(cluster->server, event);
    if (error) return refuse(cluster, peer, request, event, error);
    if (claim && !(event->claim.flags & ROTA_GIVEN_BACK)) end_note(cluster, claim, status, reason);
    claim_drop(cluster, event->claim.handler);
    cluster_request_done(cluster, peer, request, "done");
}

void cluster_deliver(struct cluster *cluster, struct cluster_peer *peer,
                     const struct wire_deliver *deliver)
{
    struct rota_event event = {.kind = ROTA_EVENT_DELIVER};
    struct cluster_request request = {deliver->high, deliver->low, 0};
    request.hash = hash_of(WIRE_DELIVER_MESSAGE, deliver->task, deliver->token, deliver->flags);
    event.claim.handler = deliver->token;
    event.claim.task = deliver->task;
    event.claim.flags = deliver->flags & (ROTA_DELIVERED_OK | ROTA_NOFETCH_OK);
    claim_end(cluster, peer, &request, &event, 0, deliver->reason);
}

void cluster_fail(struct cluster *cluster, struct cluster_peer *peer, const struct wire_fail *fail)
{
    struct rota_event event = {.kind = ROTA_EVENT_FAIL};
    struct cluster_request request = {fail->high, fail->low, 0};
    request.hash = hash_of(WIRE_FAIL_MESSAGE, fail->task, fail->token, fail->flags);
    event.claim.handler = fail->token;
    event.claim.task = fail->task;
    event.claim.flags = fail->flags & (ROTA_NOFETCH_OK | ROTA_GIVEN_BACK);
    event.claim.status = fail->status;
    claim_end(cluster, peer, &request, &event, fail->status ? fail->status : 1, fail->reason);
}
