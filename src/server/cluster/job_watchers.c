// job_watchers.c - sends each end of a task to clients that watch its job, and tells them when no
// task can progress.
#include "server/cluster/job_watchers.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 200000 };

// ---- Starting and ending --------------------------------------------------------------------

static struct cluster_watch **watch_find(struct cluster_peer *peer, uint32_t job, uint32_t *count)
{
    struct cluster_watch **at = &peer->watches;
    for (*count = 0; *at && (*at)->job != job; at = &(*at)->next_of_peer) ++*count;
    return at;
}

static void watch_end(struct cluster *cluster, struct cluster_watch *watch)
{
    uint32_t count;
    *watch_find(watch->peer, watch->job, &count) = watch->next_of_peer;
    if (watch->next) watch->next->previous = watch->previous;
    if (watch->previous)
        watch->previous->next = watch->next;
    else
        cluster->watching = watch->next;
    free(watch);
}

void cluster_watches_end(struct cluster *cluster, struct cluster_peer *peer)
{
    while (peer->watches) watch_end(cluster, peer->watches);
}

// A client that watches all jobs is told each end once.
struct cluster_watch *cluster_watch_begin(struct cluster *cluster, struct cluster_peer *peer,
                                          uint32_t job)
{
    uint32_t count;
    if (!job || (peer->watches && !peer->watches->job)) cluster_watches_end(cluster, peer);
    struct cluster_watch **at = watch_find(peer, job, &count);
    if (*at) {
        (*at)->is_troubled = false;
        return *at;
    }
    if (count == CLUSTER_WATCHES_MAX) {
        cluster_refuse(peer, 0, job, WIRE_REFUSED_REQUEST,
                       "too many jobs to watch on one connection");
        return NULL;
    }
    struct cluster_watch *watch = cluster_allocate(1, sizeof *watch);
    *watch = (struct cluster_watch){.next = cluster->watching, .peer = peer, .job = job};
    if (watch->next) watch->next->previous = watch;
    return cluster->watching = *at = watch;
}

// ---- Ends ---------------------------------------------------------------------------------------

static bool watches(const struct cluster_watch *watch, uint32_t job)
{
    return !watch->job || watch->job == job;
}

// ---- Why attempts ended ------------------------------------------------------------------------

struct cluster_reason {
    struct cluster_reason *next;
    rota_task_id task;
    const char *text;
};

// There may be no watching client, and many tasks may end in one turn: then only some are sent with
// their reason.
void cluster_reason_note(struct cluster *cluster, const struct wire_finished *finished)
{
    enum { REASONS_MAX = 100 };
    uint32_t count = 0;
    if (!cluster->watching || !finished->reason.length) return;
    for (const struct cluster_reason *at = cluster->reasons; at; at = at->next) count++;
    if (count >= REASONS_MAX) return;
    struct cluster_reason *reason = cluster_keep(cluster, 1, sizeof *reason);
    char *text = cluster_keep(cluster, (size_t)finished->reason.length + 1, 1);
    memcpy(text, finished->reason.bytes, finished->reason.length);
    *reason = (struct cluster_reason){cluster->reasons, finished->task, text};
    cluster->reasons = reason;
}

static const char *reason_of(const struct cluster *cluster, rota_task_id task,
                             enum rota_outcome outcome)
{
    if (outcome == ROTA_OUTCOME_OK) return "";
    for (const struct cluster_reason *at = cluster->reasons; at; at = at->next)
        if (SAME_TASK(at->task, task)) return at->text;
    return outcome == ROTA_OUTCOME_LOST ? "lost in each of its attempts" : "";
}

// ---- Sending --------------------------------------------------------------------------------

static void ended_put(struct cluster *cluster, struct cluster_peer *peer, rota_task_id task,
                      enum rota_outcome outcome, int32_t status)
{
    struct wire_message message = {.kind = WIRE_ENDED_MESSAGE};
    message.ended.task = task;
    message.ended.outcome = outcome;
    message.ended.status = status;
    message.ended.name = wire_text_of("");
    message.ended.reason = wire_text_of(reason_of(cluster, task, outcome));
    wire_put(cluster_later(cluster, peer), &message);
}

void cluster_tell_ended(struct cluster *cluster, const struct rota_action *action)
{
    uint32_t job = action->confirm.task.job;
    for (struct cluster_watch *watch = cluster->watching; watch; watch = watch->next) {
        if (!watches(watch, job)) continue;
        ended_put(cluster, watch->peer, action->confirm.task, action->confirm.outcome,
                  action->confirm.status);
        watch->is_troubled |= action->confirm.outcome != ROTA_OUTCOME_OK;
    }
}

struct wire_over cluster_over_of(const struct rota_action *action)
{
    struct wire_over over = {.job = action->job_over.job.number};
    over.succeeded = action->job_over.succeeded;
    over.failed = action->job_over.failed;
    over.aborted = action->job_over.aborted;
    over.tasks = over.succeeded + over.failed + over.aborted;
    return over;
}

void cluster_tell_over(struct cluster *cluster, const struct rota_action *action)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE, .over = cluster_over_of(action)};
    for (struct cluster_watch *watch = cluster->watching, *next; watch; watch = next) {
        next = watch->next;
        if (!watches(watch, message.over.job)) continue;
        wire_put(cluster_later(cluster, watch->peer), &message);
        if (watch->job) watch_end(cluster, watch);
    }
}

// A handler for a failure that did not happen does not count as a task.
bool cluster_job_is_idle(const struct cluster *cluster, struct wire_over *over)
{
    const struct rota *rota = cluster->server->rota;
    rota_task_id task = {over->job, 1};
    enum rota_task_state state;
    uint32_t rest = 0;
    for (; (state = rota_task_state(rota, task)) != ROTA_TASK_NONE; task.task++) {
        bool unneeded = state == ROTA_TASK_BLOCKED && !rota_blockers(rota, task, NULL, 0);
        over->tasks += !unneeded;
        over->succeeded += state == ROTA_TASK_SUCCEEDED;
        over->failed += state == ROTA_TASK_FAILED;
        over->aborted += state == ROTA_TASK_ABORTED;
        rest += !unneeded
                && (state == ROTA_TASK_BLOCKED || state == ROTA_TASK_FROZEN
                    || state == ROTA_TASK_IDLE);
    }
    return over->succeeded + over->failed + over->aborted + rest == over->tasks;
}

static void watch_look(struct cluster *cluster, struct cluster_watch *watch)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    message.over.job = watch->job;
    if (!cluster_job_is_idle(cluster, &message.over)) return;
    if (!message.over.tasks) cluster_over_find(cluster, watch->job, &message.over);
    wire_put(cluster_later(cluster, watch->peer), &message);
    watch_end(cluster, watch);
}

// The core never ends a job with blocked tasks, because they could be retried. Examining all its
// tasks takes a while, so that is done from time to time, once a task has failed.
void cluster_watches_look(struct cluster *cluster)
{
    for (struct cluster_watch *watch = cluster->watching, *next; watch; watch = next) {
        next = watch->next;
        bool due = watch->is_troubled && cluster->ticks >= watch->look_at;
        if (!due || !watch->job) continue;
        watch->look_at = cluster->ticks + LOOK_EVERY;
        watch_look(cluster, watch);
    }
}

static void over_tell(struct cluster *cluster, struct cluster_peer *peer, uint32_t job)
{
    struct wire_message message = {.kind = WIRE_OVER_MESSAGE};
    if (cluster_over_find(cluster, job, &message.over))
        wire_put(cluster_later(cluster, peer), &message);
    else
        cluster_refuse(peer, 0, job, WIRE_REFUSED_NOT_FOUND, "no such job");
}

void cluster_watch(struct cluster *cluster, struct cluster_peer *peer,
                   const struct wire_watch *asked)
{
    struct rota_task_view view;
    struct cluster_watch *watch = cluster_watch_begin(cluster, peer, asked->job);
    if (!watch || !asked->job) return;
    rota_task_id task = {asked->job, 1};
    for (; rota_task_look(cluster->server->rota, task, &view); task.task++) {
        bool over = view.state == ROTA_TASK_SUCCEEDED || view.state == ROTA_TASK_FAILED
                    || view.state == ROTA_TASK_ABORTED;
        if (!over) continue;
        ended_put(cluster, peer, task, view.outcome, view.status);
        watch->is_troubled |= view.state != ROTA_TASK_SUCCEEDED;
    }
    // An open job may have no tasks yet: then all of its tasks have ended.
    bool is_there = rota_job_status(cluster->server->rota, (rota_job_id){asked->job})[0];
    if (is_there) return watch_look(cluster, watch);
    watch_end(cluster, watch);
    over_tell(cluster, peer, asked->job);
}
