// watch.c - who waits for a job hears of every end, and when nothing of it can go on.
#include "hub/hub.h"

enum { LOOK_EVERY = 200000 };

// Who watches is in a list: most peers are workers, and do not.
static void watch_set(struct hub *hub, struct hub_peer *peer, uint32_t job)
{
    bool was = peer->watched != UINT32_MAX, is = job != UINT32_MAX;
    peer->watched = job;
    if (was == is) return;
    if (is) {
        peer->previous_watching = NULL;
        peer->next_watching = hub->watching;
        if (hub->watching) hub->watching->previous_watching = peer;
        hub->watching = peer;
        return;
    }
    if (peer->next_watching)
        peer->next_watching->previous_watching = peer->previous_watching;
    if (peer->previous_watching)
        peer->previous_watching->next_watching = peer->next_watching;
    else
        hub->watching = peer->next_watching;
}

void hub_watch_end(struct hub *hub, struct hub_peer *peer)
{
    watch_set(hub, peer, UINT32_MAX);
}

static bool watches(const struct hub_peer *peer, uint32_t job)
{
    return !peer->watched || peer->watched == job;
}

static void ended_put(struct wire_out *out, rota_task_id task, enum rota_outcome outcome,
                      int32_t status)
{
    struct wire_message message = {.kind = WIRE_ENDED_MESSAGE};
    message.ended.task = task;
    message.ended.outcome = outcome;
    message.ended.status = status;
    message.ended.name = message.ended.reason = wire_text_of("");
    wire_put(out, &message);
}

void hub_tell_ended(struct hub *hub, const struct rota_action *action)
{
    uint32_t job = action->confirm.task.job;
    for (struct hub_peer *peer = hub->watching; peer; peer = peer->next_watching) {
        if (!watches(peer, job)) continue;
        ended_put(hub_later(hub, peer), action->confirm.task, action->confirm.outcome,
                  action->confirm.status);
        peer->is_troubled |= action->confirm.outcome != ROTA_OUTCOME_OK;
    }
}

struct wire_over hub_over_of(const struct rota_action *action)
{
    struct wire_over over = {.job = action->job_over.job.number};
    over.succeeded = action->job_over.succeeded;
    over.failed = action->job_over.failed;
    over.aborted = action->job_over.aborted;
    over.tasks = over.succeeded + over.failed + over.aborted;
    return over;
}

void hub_tell_over(struct hub *hub, const struct rota_action *action)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE, .over = hub_over_of(action)};
    for (struct hub_peer *peer = hub->watching, *next; peer; peer = next) {
        next = peer->next_watching;
        if (!watches(peer, message.over.job)) continue;
        wire_put(hub_later(hub, peer), &message);
        if (peer->watched) hub_watch_end(hub, peer);
    }
}

// A handler of a failure that did not happen is none of the tasks.
bool hub_job_rests(const struct hub *hub, struct wire_over *over)
{
    const struct rota *rota = hub->server->rota;
    rota_task_id task = {over->job, 1};
    enum rota_task_state state;
    uint32_t rest = 0;
    for (; (state = rota_task_state(rota, task)) != ROTA_TASK_NONE; task.task++) {
        bool moot = state == ROTA_TASK_BLOCKED && !rota_blockers(rota, task, NULL, 0);
        over->tasks += !moot;
        over->succeeded += state == ROTA_TASK_SUCCEEDED;
        over->failed += state == ROTA_TASK_FAILED;
        over->aborted += state == ROTA_TASK_ABORTED;
        rest += !moot
                && (state == ROTA_TASK_BLOCKED || state == ROTA_TASK_FROZEN
                    || state == ROTA_TASK_IDLE);
    }
    return over->succeeded + over->failed + over->aborted + rest == over->tasks;
}

static void peer_look(struct hub *hub, struct hub_peer *peer)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    message.over.job = peer->watched;
    if (!hub_job_rests(hub, &message.over)) return;
    if (!message.over.tasks) hub_over_find(hub, peer->watched, &message.over);
    wire_put(hub_later(hub, peer), &message);
    hub_watch_end(hub, peer);
}

// A job with tasks that are blocked is never over for the core, which would let it go on. Looking
// at all its tasks takes a while, so that is done now and then, once something has failed.
void hub_watches_look(struct hub *hub)
{
    for (struct hub_peer *peer = hub->watching, *next; peer; peer = next) {
        next = peer->next_watching;
        bool due = peer->is_troubled && hub->ticks >= peer->look_at;
        if (!due || !peer->watched) continue;
        peer->look_at = hub->ticks + LOOK_EVERY;
        peer_look(hub, peer);
    }
}

void hub_watch_begin(struct hub *hub, struct hub_peer *peer, uint32_t job)
{
    watch_set(hub, peer, job);
    peer->is_troubled = false;
}

static void watch_forgotten(struct hub *hub, struct hub_peer *peer, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    hub_watch_begin(hub, peer, UINT32_MAX);
    if (hub_over_find(hub, job, &message.over))
        wire_put(hub_later(hub, peer), &message);
    else
        hub_refuse(peer, 0, job, WIRE_REFUSED_NOT_FOUND, "there is no such job");
}

void hub_watch(struct hub *hub, struct hub_peer *peer, const struct wire_watch *watch)
{
    struct rota_task_view view;
    hub_watch_begin(hub, peer, watch->job);
    rota_task_id task = {watch->job, 1};
    for (; watch->job && rota_task_look(hub->server->rota, task, &view); task.task++) {
        bool over = view.state == ROTA_TASK_SUCCEEDED || view.state == ROTA_TASK_FAILED
                    || view.state == ROTA_TASK_ABORTED;
        if (!over) continue;
        ended_put(hub_later(hub, peer), task, view.outcome, view.status);
        peer->is_troubled |= view.state != ROTA_TASK_SUCCEEDED;
    }
    if (watch->job && task.task == 1)
        watch_forgotten(hub, peer, watch->job);
    else if (watch->job)
        peer_look(hub, peer);
}
