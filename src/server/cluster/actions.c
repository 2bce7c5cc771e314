// actions.c - turns actions of the core into messages, held back until the turn is durable.
#include "base/planted.h"
#include "server/cluster/objects.h"
#include "server/cluster/tokens.h"

static struct cluster_worker *worker_here(struct cluster *cluster, rota_worker_id id)
{
    struct cluster_worker *worker = cluster_worker_get(cluster, id);
    return worker && worker->peer ? worker : NULL;
}

// The newest heartbeat dates from before the turn is written, because this runs before.
static void run_put(struct cluster *cluster, const struct rota_action *action)
{
    struct cluster_worker *worker = worker_here(cluster, action->run.worker);
    uint32_t length;
    rota_job_id job = {action->run.task.job};
    const char *frame = cluster_body_find(cluster, job, (uint32_t)action->run.body, &length);
    if (!worker || !frame) return;
    struct wire_run numbers = {.task = action->run.task,
                               .attempt = action->run.attempt,
                               .token = cluster_token_next(cluster),
                               .beat = PLANTED(RUN_WITHOUT_BEAT) ? 0 : worker->beat};
    cluster_run_put(cluster, (wire_text){frame, length}, &numbers,
                    cluster_later(cluster, worker->peer));
    cluster_token_give(worker, numbers.task, numbers.token);
    worker->given = cluster->ticks;
}

static void stop_put(struct cluster *cluster, const struct rota_action *action)
{
    struct cluster_worker *worker = worker_here(cluster, action->stop.worker);
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    if (!worker) return;
    message.stop.task = action->stop.task;
    message.stop.attempt = action->stop.attempt;
    message.stop.grace = WIRE_GRACE;
    wire_put(cluster_later(cluster, worker->peer), &message);
}

// DROP or SHOW.
static void copy_put(struct cluster *cluster, rota_worker_id id, const struct wire_file *what,
                     enum wire_kind kind)
{
    struct cluster_worker *worker = worker_here(cluster, id);
    struct wire_file file = *what;
    struct wire_message message = {.kind = kind};
    if (!worker) return;
    file.name = file.path = wire_text_of("");
    if (kind == WIRE_DROP_MESSAGE)
        message.drop.objects = (wire_files){&file, 1};
    else
        message.show.objects = (wire_files){&file, 1};
    wire_put(cluster_later(cluster, worker->peer), &message);
}

static void alias_put(struct cluster *cluster, const struct rota_action *action)
{
    struct cluster_worker *worker = worker_here(cluster, action->alias.worker);
    struct wire_message message = {.kind = WIRE_ALIAS_MESSAGE};
    if (!worker) return;
    message.alias.from = action->alias.from;
    message.alias.to = action->alias.to;
    message.alias.later = action->alias.later;
    wire_put(cluster_later(cluster, worker->peer), &message);
}

// Inputs of a command are fetched before the worker gets the RUN, and an object that has a second
// name gets it before it is used or fetched under that name.
void cluster_perform(struct cluster *cluster)
{
    const struct server *server = cluster->server;
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_ALIAS) alias_put(cluster, action);
    }
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_FETCH) cluster_fetch_put(cluster, action);
        if (action->kind == ROTA_ACTION_STREAM) cluster_flow_put(cluster, action);
    }
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        switch (action->kind) {
        case ROTA_ACTION_RUN: run_put(cluster, action); break;
        case ROTA_ACTION_GRANT: cluster_grant(cluster, action); break;
        case ROTA_ACTION_STOP: stop_put(cluster, action); break;
        case ROTA_ACTION_DROP:
            // A copy that is recalled may have arrived meanwhile and been reported: it stays.
            if (!action->drop.ahead)
                copy_put(cluster, action->drop.worker,
                         &(struct wire_file){.object = action->drop.object,
                                             .content = action->drop.content},
                         WIRE_DROP_MESSAGE);
            break;
        case ROTA_ACTION_SHOW:
            copy_put(cluster, action->show.worker,
                     &(struct wire_file){.object = action->show.object}, WIRE_SHOW_MESSAGE);
            break;
        case ROTA_ACTION_READ: cluster_read_put(cluster, action); break;
        case ROTA_ACTION_CONFIRM: cluster_tell_ended(cluster, action); break;
        case ROTA_ACTION_JOB_OVER:
            cluster_tell_over(cluster, action);
            cluster_job_over(cluster, action);
            break;
        default: break;
        }
    }
}
