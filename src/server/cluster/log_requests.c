// log_requests.c - forwards requests for logs to the worker that has the log.
#include "server/cluster/cluster.h"

#include <stdio.h>

// A request is the client's own number and, in the upper half, the number of its connection.
enum { SHIFT = 32, REASON = 120 };

static rota_worker_id worker_of(struct cluster *cluster, rota_task_id task, uint32_t *attempt)
{
    struct rota_task_view view;
    bool any = !*attempt, known = rota_task_look(cluster->server->rota, task, &view);
    if (any && known) *attempt = view.attempt;
    if (known && view.worker.number && view.attempt == *attempt) return view.worker;
    rota_worker_id worker = store_attempt_worker(cluster->server->store, task, attempt);
    if (worker.number || !any) return worker;
    *attempt = 0;  // the last one was cancelled in favour of a late result
    return store_attempt_worker(cluster->server->store, task, attempt);
}

// The log of a task that took the result of another is the log of that one, which the answer names.
static rota_task_id task_of(const struct cluster *cluster, rota_task_id task)
{
    struct rota_task_view view;
    bool shares = rota_task_look(cluster->server->rota, task, &view) && !view.attempt
                  && (view.key.high || view.key.low);
    rota_task_id maker = shares ? rota_maker(cluster->server->rota, task) : (rota_task_id){0, 0};
    return maker.task ? maker : task;
}

// ---- Requests without an answer -----------------------------------------------------------------

// A request is answered once, by the worker that was asked.
enum { ASKED_MAX = 64 };
struct cluster_asked {
    uint64_t of;  // the number of the worker's connection; 0: none
    rota_worker_id worker;
    uint32_t request, attempt;
    rota_task_id task;
};

// A worker that has disconnected will not answer.
static bool is_gone(struct cluster *cluster, const struct cluster_asked *asked)
{
    const struct cluster_worker *worker = cluster_worker_get(cluster, asked->worker);
    return !worker || !worker->peer || worker->peer->number != asked->of;
}

static const struct cluster_peer *peer_find(const struct cluster *cluster, uint64_t number)
{
    const struct cluster_peer *peer = cluster->peers;
    while (peer && peer->number != number) peer = peer->next;
    return peer;
}

// Null: all are in use.
static struct cluster_asked *asked_free(struct cluster *cluster, struct cluster_peer *peer)
{
    if (!peer->asked) peer->asked = cluster_allocate(ASKED_MAX, sizeof *peer->asked);
    for (uint32_t i = 0; i < ASKED_MAX; i++)
        if (!peer->asked[i].of) return &peer->asked[i];
    for (uint32_t i = 0; i < ASKED_MAX; i++)
        if (is_gone(cluster, &peer->asked[i])) return &peer->asked[i];
    return NULL;
}

static bool asked_take(const struct cluster_peer *peer, const struct cluster_asked *answer)
{
    for (uint32_t i = 0; peer->asked && i < ASKED_MAX; i++) {
        struct cluster_asked *asked = &peer->asked[i];
        if (asked->of != answer->of || asked->request != answer->request
            || asked->attempt != answer->attempt || !SAME_TASK(asked->task, answer->task))
            continue;
        asked->of = 0;
        return true;
    }
    return false;
}

// ---- Refusals -----------------------------------------------------------------------------------

// Why no worker has the log. `attempt` 0: the last one.
static void reason_write(struct cluster *cluster, rota_task_id task, uint32_t attempt,
                         char out[REASON])
{
    struct rota *rota = cluster->server->rota;
    struct rota_task_view view;
    uint32_t job = task.job;
    bool is_there = *rota_job_status(rota, (rota_job_id){job});
    if (!job || job >= cluster->server->next_job.number)
        snprintf(out, REASON, "no such job: %u", job);
    else if (!is_there)
        snprintf(out, REASON, "no log of %u.%u: its job has finished and was removed", job,
                 task.task);
    else if (!rota_task_look(rota, task, &view))
        snprintf(out, REASON, "no such task: %u.%u", job, task.task);
    else if (!view.attempt)
        snprintf(out, REASON, "task %u.%u has not run yet", job, task.task);
    else if (attempt > view.attempt)
        snprintf(out, REASON, "no such attempt of task %u.%u: %u (the last one is %u)", job,
                 task.task, attempt, view.attempt);
    else
        snprintf(out, REASON, "that attempt of task %u.%u has no log", job, task.task);
}

// ---- Messages -----------------------------------------------------------------------------------

void cluster_log(struct cluster *cluster, struct cluster_peer *peer, const struct wire_log *log)
{
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE, .log = *log};
    message.log.task = task_of(cluster, log->task);
    rota_worker_id id = worker_of(cluster, message.log.task, &message.log.attempt);
    struct cluster_worker *worker = id.number ? cluster_worker_get(cluster, id) : NULL;
    if (!worker) {
        char reason[REASON];
        reason_write(cluster, log->task, log->attempt, reason);
        cluster_refuse(peer, 0, log->request, WIRE_REFUSED_NOT_FOUND, reason);
        return;
    }
    if (!worker->peer) {
        cluster_refuse(peer, 0, log->request, WIRE_REFUSED_STATE,
                       "the worker that has the log is disconnected");
        return;
    }
    struct cluster_asked *asked = asked_free(cluster, peer);
    if (!asked) {
        cluster_refuse(peer, 0, log->request, WIRE_REFUSED_BUSY,
                       "busy, try again: 64 requests for logs have no answer yet");
        return;
    }
    *asked = (struct cluster_asked){worker->peer->number, id, (uint32_t)log->request,
                                    message.log.attempt, message.log.task};
    message.log.request = peer->number << SHIFT | asked->request;
    wire_put(worker->peer->out, &message);
}

void cluster_logged(struct cluster *cluster, const struct cluster_peer *worker,
                    const struct wire_logged *logged)
{
    struct wire_message message = {.kind = WIRE_LOGGED_MESSAGE, .logged = *logged};
    const struct cluster_peer *peer = peer_find(cluster, logged->request >> SHIFT);
    struct cluster_asked answer
        = {worker->number, {0}, (uint32_t)logged->request, logged->attempt, logged->task};
    message.logged.request = answer.request;
    if (peer && asked_take(peer, &answer)) wire_put(peer->out, &message);
}
