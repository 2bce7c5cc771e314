// log_requests.c - forwards requests for logs to the worker that has the log.
#include "server/cluster/cluster.h"

// A request is the client's own number and, in the upper half, the number of its connection.
enum { SHIFT = 32 };

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

void cluster_log(struct cluster *cluster, struct cluster_peer *peer, const struct wire_log *log)
{
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE, .log = *log};
    message.log.task = task_of(cluster, log->task);
    rota_worker_id id = worker_of(cluster, message.log.task, &message.log.attempt);
    struct cluster_worker *worker = id.number ? cluster_worker_get(cluster, id) : NULL;
    if (!worker) {
        cluster_refuse(peer, 0, log->request, WIRE_REFUSED_NOT_FOUND, "that attempt has no log");
        return;
    }
    if (!worker->peer) {
        cluster_refuse(peer, 0, log->request, WIRE_REFUSED_STATE,
                       "the worker that has the log is disconnected");
        return;
    }
    message.log.request = peer->number << SHIFT | (log->request & UINT32_MAX);
    wire_put(worker->peer->out, &message);
}

void cluster_logged(struct cluster *cluster, const struct wire_logged *logged)
{
    struct wire_message message = {.kind = WIRE_LOGGED_MESSAGE, .logged = *logged};
    uint64_t number = logged->request >> SHIFT;
    message.logged.request = logged->request & UINT32_MAX;
    for (struct cluster_peer *peer = cluster->peers; peer; peer = peer->next)
        if (peer->number == number && !peer->worker) wire_put(peer->out, &message);
}
