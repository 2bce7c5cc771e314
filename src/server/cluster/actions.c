// actions.c - what the core asks for, as messages that wait until the turn is durable.
#include "base/planted.h"
#include "server/cluster/tokens.h"

static struct hub_worker *worker_here(struct hub *hub, rota_worker_id id)
{
    struct hub_worker *worker = hub_worker_get(hub, id);
    return worker && worker->peer ? worker : NULL;
}

// The newest heartbeat is that of before the turn is written, because this is.
static void run_put(struct hub *hub, const struct rota_action *action)
{
    struct hub_worker *worker = worker_here(hub, action->run.worker);
    uint32_t length;
    rota_job_id job = {action->run.task.job};
    const char *frame = hub_body_find(hub, job, (uint32_t)action->run.body, &length);
    if (!worker || !frame) return;
    struct wire_out *out = hub_later(hub, worker->peer);
    uint32_t at = out->length;
    wire_out_append(out, frame, length);
    if (out->failed) hub_no_memory();
    struct wire_run numbers = {.task = action->run.task,
                               .attempt = action->run.attempt,
                               .token = hub_token_next(hub),
                               .beat = PLANTED(RUN_WITHOUT_BEAT) ? 0 : worker->beat};
    if (!hub_body_number(out->bytes + at, length, &numbers)) out->length = at;
    hub_token_give(worker, numbers.task, numbers.token);
    worker->given = hub->ticks;
}

static void stop_put(struct hub *hub, const struct rota_action *action)
{
    struct hub_worker *worker = worker_here(hub, action->stop.worker);
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    if (!worker) return;
    message.stop.task = action->stop.task;
    message.stop.attempt = action->stop.attempt;
    message.stop.grace = HUB_GRACE;
    wire_put(hub_later(hub, worker->peer), &message);
}

// DROP or SHOW.
static void copy_put(struct hub *hub, rota_worker_id id, const struct wire_file *what,
                     enum wire_kind kind)
{
    struct hub_worker *worker = worker_here(hub, id);
    struct wire_file file = *what;
    struct wire_message message = {.kind = kind};
    if (!worker) return;
    file.name = file.path = wire_text_of("");
    if (kind == WIRE_DROP_MESSAGE)
        message.drop.objects = (wire_files){&file, 1};
    else
        message.show.objects = (wire_files){&file, 1};
    wire_put(hub_later(hub, worker->peer), &message);
}

static void alias_put(struct hub *hub, const struct rota_action *action)
{
    struct hub_worker *worker = worker_here(hub, action->alias.worker);
    struct wire_message message = {.kind = WIRE_ALIAS_MESSAGE};
    if (!worker) return;
    message.alias.from = action->alias.from;
    message.alias.to = action->alias.to;
    message.alias.later = action->alias.later;
    wire_put(hub_later(hub, worker->peer), &message);
}

// What a command lacks is asked for before the worker hears of the command, and what has another
// name is named before it goes under its first one, or is fetched under the second.
void hub_perform(struct hub *hub)
{
    const struct server *server = hub->server;
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_ALIAS) alias_put(hub, action);
    }
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_FETCH) hub_fetch_put(hub, action);
        if (action->kind == ROTA_ACTION_STREAM) hub_flow_put(hub, action);
    }
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        switch (action->kind) {
        case ROTA_ACTION_RUN: run_put(hub, action); break;
        case ROTA_ACTION_GRANT: hub_grant(hub, action); break;
        case ROTA_ACTION_STOP: stop_put(hub, action); break;
        case ROTA_ACTION_DROP:
            // One that is called off may have come in the meantime, and been told of: it stays.
            if (!action->drop.ahead)
                copy_put(hub, action->drop.worker,
                         &(struct wire_file){.object = action->drop.object,
                                             .content = action->drop.content},
                         WIRE_DROP_MESSAGE);
            break;
        case ROTA_ACTION_SHOW:
            copy_put(hub, action->show.worker,
                     &(struct wire_file){.object = action->show.object}, WIRE_SHOW_MESSAGE);
            break;
        case ROTA_ACTION_READ: hub_read_put(hub, action); break;
        case ROTA_ACTION_CONFIRM: hub_tell_ended(hub, action); break;
        case ROTA_ACTION_JOB_OVER:
            hub_tell_over(hub, action);
            hub_job_over(hub, action);
            break;
        default: break;
        }
    }
}
