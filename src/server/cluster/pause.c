// pause.c - lanes, workers and jobs that are paused, and workers that are drained.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/worker_identity.h"
#include "server/cluster/request.h"
#include "server/cluster/pause.h"

#include <stdlib.h>
#include <string.h>

static const rota_time grace = 5000000;

// 0: nobody is called that. Jobs have no other names than their numbers.
static uint32_t number_of(struct hub *hub, enum wire_part part, const char *name)
{
    enum catalog_kind kind = part == WIRE_PART_LANE ? CATALOG_LANE : CATALOG_WORKER;
    if (part == WIRE_PART_JOB) {
        bool plain = strspn(name, "0123456789") == strlen(name);
        unsigned long long job = plain ? strtoull(name, NULL, 10) : 0;
        return job <= UINT32_MAX ? (uint32_t)job : 0;
    }
    return hub_name_known(hub, kind, name);
}

static const char *fault_of(const struct wire_rest *rest, const struct hub_peer *peer,
                            enum wire_code *code)
{
    *code = WIRE_REFUSED_REQUEST;
    bool lane = rest->part == WIRE_PART_LANE, worker = rest->part == WIRE_PART_WORKER;
    bool job = rest->part == WIRE_PART_JOB;
    if (!lane && !worker && !job) return "a lane, a worker or a job can be paused";
    if (rest->how < WIRE_PAUSE || rest->how > WIRE_FORGET) return "no such verb";
    if (!worker && rest->how == WIRE_DRAIN_AND_QUIT) return "only workers can be drained";
    if (!worker && rest->how == WIRE_FORGET) return "only workers can be forgotten";
    *code = WIRE_REFUSED_ROLE;
    return worker && peer->role != WIRE_ADMIN ? "workers are an admin's business" : NULL;
}

static enum rota_error rest_step(struct hub *hub, const struct wire_rest *rest, uint32_t number)
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
        return server_step(hub->server, &event);
    }
    event.pause.worker.number = number;
    struct hub_worker *worker = hub_worker_get(hub, event.pause.worker);
    bool there = worker && rota_worker_look(hub->server->rota, worker->id, &view);
    bool drains = rest->how == WIRE_DRAIN_AND_QUIT;
    enum rota_error error
        = there && drains && view.paused ? ROTA_OK : server_step(hub->server, &event);
    if (!error) worker->drains = drains;
    hub_ahead_news(hub);
    return error;
}

static void forget(struct hub *hub, struct hub_peer *peer, const struct hub_request *request,
                   uint32_t number)
{
    struct hub_worker *worker = hub_worker_get(hub, (rota_worker_id){number});
    if (!worker || hub_identity_forget(hub, worker))
        hub_request_done(hub, peer, request, "done");
    else
        hub_request_refuse(hub, peer, request, WIRE_REFUSED_STATE,
                           "the name is in use: its worker is connected, or its lease is not over;"
                           " stop it (rota worker drain), and try again when the lease is over");
}

void hub_rest(struct hub *hub, struct hub_peer *peer, const struct wire_rest *rest)
{
    enum wire_code code;
    uint64_t hash = hash_mix(hash_mix(rest->how, rest->part),
                             hub_hash(rest->name.bytes, rest->name.length));
    struct hub_request request = {rest->high, rest->low, hash};
    if (hub_request_is_old(hub, peer, &request)) return;
    const char *fault = fault_of(rest, peer, &code);
    if (fault) {
        hub_request_refuse(hub, peer, &request, code, fault);
        return;
    }
    static const char *const unknown[] = {[WIRE_PART_LANE] = "there is no such lane",
                                          [WIRE_PART_WORKER] = "there is no such worker",
                                          [WIRE_PART_JOB] = "there is no such job"};
    uint32_t number = number_of(hub, (enum wire_part)rest->part, rest->name.bytes);
    if (!number) {
        hub_request_refuse(hub, peer, &request, WIRE_REFUSED_NOT_FOUND, unknown[rest->part]);
        return;
    }
    if (rest->how == WIRE_FORGET) return forget(hub, peer, &request, number);
    enum rota_error error = rest_step(hub, rest, number);
    if (error)
        hub_request_fail(hub, peer, &request, error);
    else
        hub_request_done(hub, peer, &request, "done");
}

// It ends by itself with the last that it runs. It says so again on each connection.
void hub_worker_leaves(struct hub *hub, struct hub_worker *worker)
{
    struct rota_event event = {.kind = ROTA_EVENT_PAUSE};
    event.pause.worker = worker->id;
    event.pause.leaves = true;
    server_step(hub->server, &event);
    hub_ahead_news(hub);
}

// It was told to start nothing more by getting nothing more. What it reports is recorded by then:
// the core has no attempt there.
void hub_rest_look(struct hub *hub, struct hub_worker *worker)
{
    struct rota_worker_view view;
    if (!worker->drains || !worker->peer) return;
    if (!rota_worker_look(hub->server->rota, worker->id, &view) || view.tasks) return;
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    message.quit.grace = grace;
    wire_put(hub_later(hub, worker->peer), &message);
    worker->drains = false;
    worker->leaves = true;
}
