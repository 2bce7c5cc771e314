// view.c - the state of a task or of a job, for programs that ask.
#include "server/cluster/cluster.h"

static const char *worker_name(struct cluster *cluster, rota_worker_id id)
{
    const struct cluster_worker *worker = id.number ? cluster_worker_get(cluster, id) : NULL;
    return worker && worker->name ? worker->name : "";
}

static bool task_see(struct cluster *cluster, rota_task_id task, struct wire_seen *seen)
{
    struct rota_task_view view;
    struct store_label label = {"", ""};
    if (!rota_task_look(cluster->server->rota, task, &view)) return false;
    if (!store_label_find(cluster->server->store, task, &label)) label.name = "";
    seen->state = view.state;
    seen->outcome = view.outcome;
    seen->status = view.status;
    seen->attempt = view.attempt;
    seen->name = wire_text_of(label.name);
    seen->worker = wire_text_of(worker_name(cluster, view.worker));
    return true;
}

static uint32_t running_of(const struct cluster *cluster, uint32_t job)
{
    rota_task_id task = {job, 1};
    enum rota_task_state state;
    uint32_t running = 0;
    for (; (state = rota_task_state(cluster->server->rota, task)) != ROTA_TASK_NONE; task.task++)
        running += state == ROTA_TASK_RUNNING;
    return running;
}

// A job that was removed is shown as it ended.
static bool job_see(struct cluster *cluster, uint32_t job, struct wire_seen *seen)
{
    struct wire_over over = {.job = job};
    bool is_there = rota_job_status(cluster->server->rota, (rota_job_id){job})[0];
    bool rests = is_there && cluster_job_is_idle(cluster, &over);
    if (!is_there && !cluster_over_find(cluster, job, &over)) return false;
    seen->flags = rests || !is_there ? WIRE_SEEN_OVER : 0;
    if (rota_job_is_paused(cluster->server->rota, (rota_job_id){job}))
        seen->flags |= WIRE_SEEN_PAUSED;
    seen->tasks = over.tasks;
    seen->succeeded = over.succeeded;
    seen->failed = over.failed;
    seen->aborted = over.aborted;
    seen->running = is_there ? running_of(cluster, job) : 0;
    return true;
}

void cluster_look(struct cluster *cluster, struct cluster_peer *peer, const struct wire_look *look)
{
    struct wire_message message = {.kind = WIRE_SEEN_MESSAGE};
    struct wire_seen *seen = &message.seen;
    seen->high = look->high;
    seen->low = look->low;
    seen->name = seen->worker = wire_text_of("");
    bool found = look->task.task ? task_see(cluster, look->task, seen)
                                 : job_see(cluster, look->task.job, seen);
    if (found)
        wire_put(cluster_later(cluster, peer), &message);
    else
        cluster_refuse(peer, look->high, look->low, WIRE_REFUSED_NOT_FOUND,
                       look->task.task ? "no such task, or its job has ended and was removed"
                                       : "no such job");
}
