// worker_reports.c - turns reports of workers about attempts and objects into events.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/lost_attempts.h"
#include "server/cluster/tokens.h"

enum { FOREIGN_MAX = 10 };
static const rota_time latest = 8000ll * 366 * 86400 * 1000000;  // in the year 9984

// An attempt has one worker, so another worker that reports it is wrong, or uses another's files.
// It gets the answer that the attempt is stale, which changes nothing, and only a limited number of
// times.
static bool is_foreign(const struct cluster_peer *peer, const struct rota_task_view *view,
                       uint32_t attempt)
{
    return view->attempt == attempt && view->worker.number
           && view->worker.number != peer->worker->id.number;
}

static bool foreign_note(struct cluster_peer *peer)
{
    static const char reason[] = "the worker reports attempts of another worker";
    cluster_note_refusal(peer, WIRE_REFUSED_ROLE, reason);
    return ++peer->verdict.foreign < FOREIGN_MAX
           || cluster_turn_away(peer, WIRE_REFUSED_ROLE, reason);
}

bool cluster_started(struct cluster *cluster, struct cluster_peer *peer,
                     const struct wire_started *started)
{
    struct rota_task_view view;
    rota_task_look(cluster->server->rota, started->task, &view);
    if (is_foreign(peer, &view, started->attempt)) return foreign_note(peer);
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    event.report.worker = peer->worker->id;
    event.report.task = started->task;
    event.report.attempt = started->attempt;
    server_step(cluster->server, &event);
    return true;
}

// ---- Ends --------------------------------------------------------------------------------------

static const struct rota_output *sizes_of(struct cluster *cluster,
                                          const struct wire_finished *finished)
{
    if (!finished->outputs.count) return NULL;
    struct rota_output *sizes = cluster_keep(cluster, finished->outputs.count, sizeof *sizes);
    for (uint32_t i = 0; i < finished->outputs.count; i++) {
        sizes[i].task = finished->task.task;
        sizes[i].object = finished->outputs.items[i].object;
        sizes[i].bytes = finished->outputs.items[i].bytes;
        if (finished->outputs.items[i].kind != WIRE_STREAM)
            sizes[i].content = finished->outputs.items[i].content;
    }
    return sizes;
}

static void recorded_put(struct cluster *cluster, struct cluster_peer *peer,
                         const struct wire_finished *finished, enum wire_how how)
{
    struct wire_message message;
    message.kind = WIRE_RECORDED_MESSAGE;
    message.recorded.task = finished->task;
    message.recorded.attempt = finished->attempt;
    message.recorded.how = PLANTED(RECORDED_ALWAYS) ? WIRE_NOW_RECORDED : how;
    if (PLANTED(RECORDED_NEVER)) return;
    wire_put(cluster_later(cluster, peer), &message);
}

// The job of a task that is stopped may be closed, and must not be loaded again.
static void retry_fill(struct cluster *cluster, const struct rota_task_view *view,
                       const struct wire_finished *finished, struct rota_event *event)
{
    struct attempt_retry repeat = {0};
    if (!attempt_end_may_retry(event, view)) return;
    cluster_repeat_find(cluster, (rota_job_id){finished->task.job}, (uint32_t)view->body, &repeat);
    attempt_end_retry(&repeat, finished, view, CLUSTER_LOSSES, event);
}

// The attempt was given up, but its worker finished it. With a content key its outputs are a
// result: no task needs to make it again. Only the worker that was assigned the attempt is
// believed: another one could claim any result. The token of such an attempt was removed, so it
// cannot be compared. An attempt that was not assigned yet belongs to a lost server whose backup
// was restored.
static bool is_late_result(struct cluster *cluster, const struct cluster_peer *peer,
                           const struct rota_task_view *view, const struct rota_event *report,
                           uint64_t token)
{
    struct rota_event event = {.kind = ROTA_EVENT_KEY_COMPLETED};
    rota_task_id task = report->report.task;
    bool keyed = view->key.high || view->key.low;
    if (!keyed || report->report.outcome != ROTA_OUTCOME_OK) return false;
    if (token > cluster->token) return false;
    rota_worker_id given
        = store_attempt_given(cluster->server->store, task, report->report.attempt);
    if (given.number != peer->worker->id.number) return false;
    event.completed.worker = peer->worker->id;
    event.completed.key = view->key;
    event.completed.outcome = ROTA_OUTCOME_OK;
    event.completed.sizes = report->report.sizes;
    event.completed.size_count = report->report.size_count;
    return server_step(cluster->server, &event) == ROTA_OK && view->state != ROTA_TASK_SUCCEEDED
           && rota_task_state(cluster->server->rota, task) == ROTA_TASK_SUCCEEDED;
}

// A worker that leaves is removed with its objects; so it stores itself for which keys it has
// results.
static void result_note(struct cluster *cluster, struct cluster_peer *peer, rota_object_id key,
                        const struct wire_finished *finished)
{
    if ((key.high || key.low) && cluster_is_held(cluster, key, peer->worker->id))
        cluster_known_put(cluster, peer, key, &finished->outputs);
}

// The attempt counts as stopped, whatever its end: a stream that it read will be written again. A
// report with a wrong token ends nothing: the process may still run.
static bool discard(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_finished *finished, struct rota_event *event, bool fits)
{
    struct wire_finished stopped = *finished;
    event->report.size_count = 0;
    recorded_put(cluster, peer, finished, WIRE_IS_STALE);
    if (!fits && !PLANTED(DISCARD_UNCHECKED)) return true;
    if (server_step(cluster->server, event) != ROTA_OK) return true;
    attempt_end_discard(&stopped);
    cluster_ahead_ended(cluster, &stopped);
    if (!attempt_end_note(cluster->server, &stopped, peer->worker->id)) cluster_no_memory();
    return true;
}

// Both the token and the core refuse an older attempt: the planted mistake has to pass both.
static bool is_current(const struct cluster *cluster, const struct cluster_peer *peer,
                       const struct rota_task_view *view, const struct wire_finished *finished)
{
    bool fits = cluster_token_take(cluster, peer->worker, finished->task, finished->token);
    return fits || (PLANTED(STALE_ATTEMPT) && finished->attempt < view->attempt);
}

// Without the hash of a file every copy of it would be accepted.
static bool lacks_hash(const struct wire_finished *finished)
{
    bool lacks = false;
    for (uint32_t i = 0; i < finished->outputs.count; i++) {
        const struct wire_file *output = &finished->outputs.items[i];
        lacks |= output->kind != WIRE_STREAM && !output->content.kind;
    }
    return lacks && attempt_end_outcome(finished) == ROTA_OUTCOME_OK;
}

static bool finished_take(struct cluster *cluster, struct cluster_peer *peer,
                          const struct wire_finished *finished)
{
    struct rota_event event;
    struct rota_task_view view;  // before the report: afterwards the task may be gone
    rota_task_look(cluster->server->rota, finished->task, &view);
    if (is_foreign(peer, &view, finished->attempt)) {
        recorded_put(cluster, peer, finished, WIRE_IS_STALE);
        return foreign_note(peer);
    }
    attempt_end_event(finished, &view, ATTEMPT_STOP_LOSES, &event);
    event.report.worker = peer->worker->id;
    retry_fill(cluster, &view, finished, &event);
    cluster_loss_bound(cluster, cluster_lack_of(cluster, peer->worker, finished), &event);
    if (event.report.outcome == ROTA_OUTCOME_OK) {
        event.report.sizes = sizes_of(cluster, finished);
        event.report.size_count = finished->outputs.count;
    }
    bool fits = is_current(cluster, peer, &view, finished);
    if (view.discarded && !PLANTED(STREAM_TRUSTED))
        return discard(cluster, peer, finished, &event, fits);
    bool counts = fits && server_step(cluster->server, &event) == ROTA_OK;
    if (counts || is_late_result(cluster, peer, &view, &event, finished->token)) {
        cluster_ahead_ended(cluster, finished);
        cluster_reason_note(cluster, finished);
        cluster_bad_sources_forget(cluster, peer->worker->id, &finished->outputs);
        if (!attempt_end_note(cluster->server, finished, peer->worker->id)) cluster_no_memory();
        recorded_put(cluster, peer, finished, WIRE_NOW_RECORDED);
        result_note(cluster, peer, view.key, finished);
        return true;
    }
    bool same = rota_task_look(cluster->server->rota, finished->task, &view)
                && view.attempt == finished->attempt && !view.worker.number;
    recorded_put(cluster, peer, finished, same ? WIRE_WAS_RECORDED : WIRE_IS_STALE);
    return true;
}

static uint64_t number_bound(uint64_t number)
{
    return number < INT64_MAX ? number : INT64_MAX;
}

// The processor time of an attempt of this duration.
static rota_time processor_bound(rota_time time, rota_time took)
{
    enum { PROCESSORS_MAX = 4096, ROUNDING = 1000000 };
    rota_time most = took < latest / PROCESSORS_MAX - ROUNDING
                         ? (took + ROUNDING) * PROCESSORS_MAX
                         : latest;
    return time < 0 ? 0 : time < most ? time : most;
}

// A worker measures times and sizes itself, and may report any numbers.
static void numbers_bound(struct wire_finished *finished, rota_time now)
{
    bool sound = finished->began >= 0 && finished->began <= finished->ended
                 && finished->ended <= latest;
    if (!sound) finished->began = finished->ended = now;
    rota_time took = finished->ended - finished->began;
    finished->user = processor_bound(finished->user, took);
    finished->system = processor_bound(finished->system, took);
    finished->memory_bytes = number_bound(finished->memory_bytes);
    finished->log_bytes = number_bound(finished->log_bytes);
    for (uint32_t i = 0; i < finished->outputs.count; i++)
        finished->outputs.items[i].bytes = number_bound(finished->outputs.items[i].bytes);
}

bool cluster_finished(struct cluster *cluster, struct cluster_peer *peer,
                      const struct wire_finished *finished)
{
    struct wire_finished report = *finished;
    numbers_bound(&report, cluster->server->now);
    report.reason = cluster_reason(report.reason);
    if (lacks_hash(finished)) {
        report.end = WIRE_BAD_OUTPUT;
        report.outputs = (wire_files){0};
        report.reason = wire_text_of("its worker reported an output without a hash");
    }
    return finished_take(cluster, peer, &report);
}
