// pause.c - pauses lanes, workers and jobs, and drains workers.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/worker_identity.h"
#include "server/cluster/request.h"
#include "server/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 0: unknown name. Jobs are named by their numbers only.
static uint32_t number_of(struct cluster *cluster, enum wire_part part, const char *name)
{
    enum catalog_kind kind = part == WIRE_PART_LANE ? CATALOG_LANE : CATALOG_WORKER;
    if (part == WIRE_PART_JOB) {
        bool plain = strspn(name, "0123456789") == strlen(name);
        unsigned long long job = plain ? strtoull(name, NULL, 10) : 0;
        return job <= UINT32_MAX ? (uint32_t)job : 0;
    }
    return cluster_name_known(cluster, kind, name);
}

static const char *fault_of(const struct wire_rest *rest, const struct cluster_peer *peer,
                            enum wire_code *code)
{
    *code = WIRE_REFUSED_REQUEST;
    bool lane = rest->part == WIRE_PART_LANE, worker = rest->part == WIRE_PART_WORKER;
    bool job = rest->part == WIRE_PART_JOB;
    if (!lane && !worker && !job) return "only a lane, a worker or a job can be paused";
    if (rest->how < WIRE_PAUSE || rest->how > WIRE_FORGET) return "unknown verb";
    if (!worker && rest->how == WIRE_DRAIN_AND_QUIT) return "only workers can be drained";
    if (!worker && rest->how == WIRE_FORGET) return "only workers can be forgotten";
    *code = WIRE_REFUSED_ROLE;
    return worker && peer->role != WIRE_ADMIN
               ? "permission denied: only an admin may pause or drain workers"
               : NULL;
}

static enum rota_error rest_step(struct cluster *cluster, const struct wire_rest *rest,
                                 uint32_t number)
{
    bool resume = rest->how == WIRE_RESUME;
    struct rota_event event = {.kind = resume ? ROTA_EVENT_RESUME : ROTA_EVENT_PAUSE};
    struct rota_worker_view view;
    if (rest->part != WIRE_PART_WORKER) {
        if (rest->part == WIRE_PART_LANE)
            event.pause.lane = number;
        else
            event.pause.job.number = number;
        if (PLANTED(PAUSE_UNSAID) && event.pause.job.number && !resume) return ROTA_OK;
        return server_step(cluster->server, &event);
    }
    event.pause.worker.number = number;
    struct cluster_worker *worker = cluster_worker_get(cluster, event.pause.worker);
    bool there = worker && rota_worker_look(cluster->server->rota, worker->id, &view);
    bool drains = rest->how == WIRE_DRAIN_AND_QUIT;
    enum rota_error error
        = there && drains && view.paused ? ROTA_OK : server_step(cluster->server, &event);
    if (!error) worker->drains = drains;
    cluster_ahead_news(cluster);
    return error;
}

static void forget(struct cluster *cluster, struct cluster_peer *peer,
                   const struct cluster_request *request, uint32_t number)
{
    struct cluster_worker *worker = cluster_worker_get(cluster, (rota_worker_id){number});
    if (!worker || cluster_identity_forget(cluster, worker))
        cluster_request_done(cluster, peer, request, "done");
    else
        cluster_request_refuse(
            cluster, peer, request, WIRE_REFUSED_STATE,
            "the name is in use: its worker is connected, or its lease has not expired;"
            " stop it (rota worker drain), and try again when the lease has expired");
}

void cluster_rest(struct cluster *cluster, struct cluster_peer *peer, const struct wire_rest *rest)
{
    enum wire_code code;
    uint64_t hash = hash_mix(hash_mix(rest->how, rest->part),
                             cluster_hash(rest->name.bytes, rest->name.length));
    struct cluster_request request = {rest->high, rest->low, hash};
    if (cluster_request_is_old(cluster, peer, &request)) return;
    const char *fault = fault_of(rest, peer, &code);
    if (fault) {
        cluster_request_refuse(cluster, peer, &request, code, fault);
        return;
    }
    static const char *const parts[] = {
        [WIRE_PART_LANE] = "lane", [WIRE_PART_WORKER] = "worker", [WIRE_PART_JOB] = "job"};
    char reason[200];
    const char *part = parts[rest->part];
    uint32_t number = number_of(cluster, (enum wire_part)rest->part, rest->name.bytes);
    bool is_number = strspn(rest->name.bytes, "0123456789") == rest->name.length;
    if (!number && rest->part == WIRE_PART_JOB && !is_number) {
        snprintf(reason, sizeof reason, "invalid job number '%.100s'", rest->name.bytes);
        cluster_request_refuse(cluster, peer, &request, WIRE_REFUSED_REQUEST, reason);
        return;
    }
    if (!number) {
        snprintf(reason, sizeof reason, "no such %s: %.100s", part, rest->name.bytes);
        cluster_request_refuse(cluster, peer, &request, WIRE_REFUSED_NOT_FOUND, reason);
        return;
    }
    if (rest->how == WIRE_FORGET) return forget(cluster, peer, &request, number);
    enum rota_error error = rest_step(cluster, rest, number);
    if (!error) {
        cluster_request_done(cluster, peer, &request, "done");
        return;
    }
    if (error == ROTA_NOT_FOUND)
        snprintf(reason, sizeof reason, "no such %s: %.100s", part, rest->name.bytes);
    else
        snprintf(reason, sizeof reason, "%s %.80s: %.100s", part, rest->name.bytes,
                 cluster->server->reason);
    snprintf(cluster->server->reason, sizeof cluster->server->reason, "%s", reason);
    cluster_request_fail(cluster, peer, &request, error);
}

// It ends by itself after its last command. It repeats this on each connection.
void cluster_worker_leaves(struct cluster *cluster, struct cluster_worker *worker)
{
    struct rota_event event = {.kind = ROTA_EVENT_PAUSE};
    event.pause.worker = worker->id;
    event.pause.leaves = true;
    server_step(cluster->server, &event);
    cluster_ahead_news(cluster);
}

// The worker gets no new tasks. All its reports are recorded by then: the core has no attempt
// there.
void cluster_rest_look(struct cluster *cluster, struct cluster_worker *worker)
{
    struct rota_worker_view view;
    if (!worker->drains || !worker->peer) return;
    if (!rota_worker_look(cluster->server->rota, worker->id, &view) || view.tasks) return;
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    message.quit.grace = WIRE_GRACE;
    wire_put(cluster_later(cluster, worker->peer), &message);
    worker->drains = false;
    worker->leaves = true;
}
