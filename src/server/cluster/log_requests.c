// log_requests.c - who asks for a log is put through to the worker that has it.
#include "server/cluster/cluster.h"

// A request is the client's own number and, in the upper half, the number of its connection.
enum { SHIFT = 32 };

static rota_worker_id worker_of(struct hub *hub, rota_task_id task, uint32_t *attempt)
{
    struct rota_task_view view;
    bool any = !*attempt, known = rota_task_look(hub->server->rota, task, &view);
    if (any && known) *attempt = view.attempt;
    if (known && view.worker.number && view.attempt == *attempt) return view.worker;
    rota_worker_id worker = store_attempt_worker(hub->server->store, task, attempt);
    if (worker.number || !any) return worker;
    *attempt = 0;  // the last one was given up for the sake of another, which came late
    return store_attempt_worker(hub->server->store, task, attempt);
}

// The log of a task that took another one's result is the log of that one, which the answer names.
static rota_task_id task_of(const struct hub *hub, rota_task_id task)
{
    struct rota_task_view view;
    bool shares = rota_task_look(hub->server->rota, task, &view) && !view.attempt
                  && (view.key.high || view.key.low);
    rota_task_id maker = shares ? rota_maker(hub->server->rota, task) : (rota_task_id){0, 0};
    return maker.task ? maker : task;
}

void hub_log(struct hub *hub, struct hub_peer *peer, const struct wire_log *log)
{
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE, .log = *log};
    message.log.task = task_of(hub, log->task);
    rota_worker_id id = worker_of(hub, message.log.task, &message.log.attempt);
    struct hub_worker *worker = id.number ? hub_worker_get(hub, id) : NULL;
    if (!worker) {
        hub_refuse(peer, 0, log->request, WIRE_REFUSED_NOT_FOUND, "that attempt has no log");
        return;
    }
    if (!worker->peer) {
        hub_refuse(peer, 0, log->request, WIRE_REFUSED_STATE, "the worker that has it is away");
        return;
    }
    message.log.request = peer->number << SHIFT | (log->request & UINT32_MAX);
    wire_put(worker->peer->out, &message);
}

void hub_logged(struct hub *hub, const struct wire_logged *logged)
{
    struct wire_message message = {.kind = WIRE_LOGGED_MESSAGE, .logged = *logged};
    uint64_t number = logged->request >> SHIFT;
    message.logged.request = logged->request & UINT32_MAX;
    for (struct hub_peer *peer = hub->peers; peer; peer = peer->next)
        if (peer->number == number && !peer->worker) wire_put(peer->out, &message);
}
