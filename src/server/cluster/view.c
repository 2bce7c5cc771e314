// view.c - how a task is, or a job as a whole, for programs that ask.
#include "server/cluster/cluster.h"

static const char *worker_name(struct hub *hub, rota_worker_id id)
{
    const struct hub_worker *worker = id.number ? hub_worker_get(hub, id) : NULL;
    return worker && worker->name ? worker->name : "";
}

static bool task_see(struct hub *hub, rota_task_id task, struct wire_seen *seen)
{
    struct rota_task_view view;
    struct store_label label = {"", ""};
    if (!rota_task_look(hub->server->rota, task, &view)) return false;
    if (!store_label_find(hub->server->store, task, &label)) label.name = "";
    seen->state = view.state;
    seen->outcome = view.outcome;
    seen->status = view.status;
    seen->attempt = view.attempt;
    seen->name = wire_text_of(label.name);
    seen->worker = wire_text_of(worker_name(hub, view.worker));
    return true;
}

static uint32_t running_of(const struct hub *hub, uint32_t job)
{
    rota_task_id task = {job, 1};
    enum rota_task_state state;
    uint32_t running = 0;
    for (; (state = rota_task_state(hub->server->rota, task)) != ROTA_TASK_NONE; task.task++)
        running += state == ROTA_TASK_RUNNING;
    return running;
}

// One that is forgotten is as it ended.
static bool job_see(struct hub *hub, uint32_t job, struct wire_seen *seen)
{
    struct wire_over over = {.job = job};
    bool is_there = rota_job_status(hub->server->rota, (rota_job_id){job})[0];
    bool rests = is_there && hub_job_rests(hub, &over);
    if (!is_there && !hub_over_find(hub, job, &over)) return false;
    seen->flags = rests || !is_there ? WIRE_SEEN_OVER : 0;
    if (rota_job_is_paused(hub->server->rota, (rota_job_id){job})) seen->flags |= WIRE_SEEN_PAUSED;
    seen->tasks = over.tasks;
    seen->succeeded = over.succeeded;
    seen->failed = over.failed;
    seen->aborted = over.aborted;
    seen->running = is_there ? running_of(hub, job) : 0;
    return true;
}

void hub_look(struct hub *hub, struct hub_peer *peer, const struct wire_look *look)
{
    struct wire_message message = {.kind = WIRE_SEEN_MESSAGE};
    struct wire_seen *seen = &message.seen;
    seen->high = look->high;
    seen->low = look->low;
    seen->name = seen->worker = wire_text_of("");
    bool found = look->task.task ? task_see(hub, look->task, seen)
                                 : job_see(hub, look->task.job, seen);
    if (found)
        wire_put(hub_later(hub, peer), &message);
    else
        hub_refuse(peer, look->high, look->low, WIRE_REFUSED_NOT_FOUND,
                   look->task.task ? "there is no such task, or its job is over and forgotten"
                                   : "there is no such job");
}
