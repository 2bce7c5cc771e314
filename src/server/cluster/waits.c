// waits.c - who waits for a job hears of every end, and when nothing of it can go on.
#include "server/cluster/waits.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 200000 };

// ---- Beginning and ending -----------------------------------------------------------------------

static struct hub_watch **watch_find(struct hub_peer *peer, uint32_t job, uint32_t *count)
{
    struct hub_watch **at = &peer->watches;
    for (*count = 0; *at && (*at)->job != job; at = &(*at)->next_of_peer) ++*count;
    return at;
}

static void watch_end(struct hub *hub, struct hub_watch *watch)
{
    uint32_t count;
    *watch_find(watch->peer, watch->job, &count) = watch->next_of_peer;
    if (watch->next) watch->next->previous = watch->previous;
    if (watch->previous)
        watch->previous->next = watch->next;
    else
        hub->watching = watch->next;
    free(watch);
}

void hub_watches_end(struct hub *hub, struct hub_peer *peer)
{
    while (peer->watches) watch_end(hub, peer->watches);
}

// Who watches all jobs watches each of them once.
struct hub_watch *hub_watch_begin(struct hub *hub, struct hub_peer *peer, uint32_t job)
{
    uint32_t count;
    if (!job || (peer->watches && !peer->watches->job)) hub_watches_end(hub, peer);
    struct hub_watch **at = watch_find(peer, job, &count);
    if (*at) {
        (*at)->is_troubled = false;
        return *at;
    }
    if (count == HUB_WATCHES_MAX) {
        hub_refuse(peer, 0, job, WIRE_REFUSED_REQUEST, "that is too many jobs to watch");
        return NULL;
    }
    struct hub_watch *watch = hub_allocate(1, sizeof *watch);
    *watch = (struct hub_watch){.next = hub->watching, .peer = peer, .job = job};
    if (watch->next) watch->next->previous = watch;
    return hub->watching = *at = watch;
}

// ---- Ends ---------------------------------------------------------------------------------------

static bool watches(const struct hub_watch *watch, uint32_t job)
{
    return !watch->job || watch->job == job;
}

// ---- Why attempts ended ------------------------------------------------------------------------

struct hub_reason {
    struct hub_reason *next;
    rota_task_id task;
    const char *text;
};

// Nobody may watch, and many may end in one turn: then only some are told with their reason.
void hub_reason_note(struct hub *hub, const struct wire_finished *finished)
{
    enum { REASONS_MAX = 100 };
    uint32_t count = 0;
    if (!hub->watching || !finished->reason.length) return;
    for (const struct hub_reason *at = hub->reasons; at; at = at->next) count++;
    if (count >= REASONS_MAX) return;
    struct hub_reason *reason = hub_keep(hub, 1, sizeof *reason);
    char *text = hub_keep(hub, (size_t)finished->reason.length + 1, 1);
    memcpy(text, finished->reason.bytes, finished->reason.length);
    *reason = (struct hub_reason){hub->reasons, finished->task, text};
    hub->reasons = reason;
}

static const char *reason_of(const struct hub *hub, rota_task_id task, enum rota_outcome outcome)
{
    if (outcome == ROTA_OUTCOME_OK) return "";
    for (const struct hub_reason *at = hub->reasons; at; at = at->next)
        if (at->task.job == task.job && at->task.task == task.task) return at->text;
    return outcome == ROTA_OUTCOME_LOST ? "it was lost as often as it was tried" : "";
}

// ---- Telling -----------------------------------------------------------------------------------

static void ended_put(struct hub *hub, struct hub_peer *peer, rota_task_id task,
                      enum rota_outcome outcome, int32_t status)
{
    struct wire_message message = {.kind = WIRE_ENDED_MESSAGE};
    message.ended.task = task;
    message.ended.outcome = outcome;
    message.ended.status = status;
    message.ended.name = wire_text_of("");
    message.ended.reason = wire_text_of(reason_of(hub, task, outcome));
    wire_put(hub_later(hub, peer), &message);
}

void hub_tell_ended(struct hub *hub, const struct rota_action *action)
{
    uint32_t job = action->confirm.task.job;
    for (struct hub_watch *watch = hub->watching; watch; watch = watch->next) {
        if (!watches(watch, job)) continue;
        ended_put(hub, watch->peer, action->confirm.task, action->confirm.outcome,
                  action->confirm.status);
        watch->is_troubled |= action->confirm.outcome != ROTA_OUTCOME_OK;
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
    for (struct hub_watch *watch = hub->watching, *next; watch; watch = next) {
        next = watch->next;
        if (!watches(watch, message.over.job)) continue;
        wire_put(hub_later(hub, watch->peer), &message);
        if (watch->job) watch_end(hub, watch);
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

static void watch_look(struct hub *hub, struct hub_watch *watch)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    message.over.job = watch->job;
    if (!hub_job_rests(hub, &message.over)) return;
    if (!message.over.tasks) hub_over_find(hub, watch->job, &message.over);
    wire_put(hub_later(hub, watch->peer), &message);
    watch_end(hub, watch);
}

// A job with tasks that are blocked is never over for the core, which would let it go on. Looking
// at all its tasks takes a while, so that is done now and then, once something has failed.
void hub_watches_look(struct hub *hub)
{
    for (struct hub_watch *watch = hub->watching, *next; watch; watch = next) {
        next = watch->next;
        bool due = watch->is_troubled && hub->ticks >= watch->look_at;
        if (!due || !watch->job) continue;
        watch->look_at = hub->ticks + LOOK_EVERY;
        watch_look(hub, watch);
    }
}

static void over_tell(struct hub *hub, struct hub_peer *peer, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    if (hub_over_find(hub, job, &message.over))
        wire_put(hub_later(hub, peer), &message);
    else
        hub_refuse(peer, 0, job, WIRE_REFUSED_NOT_FOUND, "there is no such job");
}

void hub_watch(struct hub *hub, struct hub_peer *peer, const struct wire_watch *asked)
{
    struct rota_task_view view;
    struct hub_watch *watch = hub_watch_begin(hub, peer, asked->job);
    if (!watch || !asked->job) return;
    rota_task_id task = {asked->job, 1};
    for (; rota_task_look(hub->server->rota, task, &view); task.task++) {
        bool over = view.state == ROTA_TASK_SUCCEEDED || view.state == ROTA_TASK_FAILED
                    || view.state == ROTA_TASK_ABORTED;
        if (!over) continue;
        ended_put(hub, peer, task, view.outcome, view.status);
        watch->is_troubled |= view.state != ROTA_TASK_SUCCEEDED;
    }
    // One that is open may have no tasks so far: then all of them are over.
    bool is_there = rota_job_status(hub->server->rota, (rota_job_id){asked->job})[0];
    if (is_there) return watch_look(hub, watch);
    watch_end(hub, watch);
    over_tell(hub, peer, asked->job);
}
