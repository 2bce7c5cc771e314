// worker_reports.c - what workers say about attempts and objects becomes events.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/lost_attempts.h"
#include "server/cluster/retry_rule.h"
#include "server/cluster/tokens.h"

#include <errno.h>

enum { FOREIGN_MAX = 10 };

// An attempt has one worker, so another one that reports it lies, or has another's files. It is
// answered as stale, which changes nothing, and not for ever.
static bool is_foreign(const struct hub *hub, const struct hub_peer *peer, rota_task_id task,
                       uint32_t attempt)
{
    struct rota_task_view view;
    return rota_task_look(hub->server->rota, task, &view) && view.attempt == attempt
           && view.worker.number && view.worker.number != peer->worker->id.number;
}

static bool foreign_note(struct hub_peer *peer)
{
    static const char reason[] = "it reports what another worker runs";
    hub_note_refusal(peer, WIRE_REFUSED_ROLE, reason);
    return ++peer->verdict.foreign < FOREIGN_MAX || hub_turn_away(peer, WIRE_REFUSED_ROLE, reason);
}

bool hub_started(struct hub *hub, struct hub_peer *peer, const struct wire_started *started)
{
    if (is_foreign(hub, peer, started->task, started->attempt)) return foreign_note(peer);
    struct rota_event event = {.kind = ROTA_EVENT_TASK_STARTED};
    event.report.worker = peer->worker->id;
    event.report.task = started->task;
    event.report.attempt = started->attempt;
    server_step(hub->server, &event);
    return true;
}

// ---- Ends --------------------------------------------------------------------------------------

// What ended because its worker lost touch, or was drained, is nobody's fault: it is lost, and runs
// again. So is what lacks an object that tasks make, or room for it. Stopped is what we have asked
// for.
static bool is_lost(const struct hub *hub, const struct wire_finished *finished)
{
    struct rota_task_view view;
    if (finished->end == WIRE_NOT_STARTED)
        return finished->status == ESTALE || finished->status == ECANCELED;
    if (hub_lacks_input(finished)) return true;
    if (finished->end != WIRE_STOPPED) return false;
    if (PLANTED(EVICTION_FAILS) && finished->status == ESHUTDOWN) return false;
    return rota_task_look(hub->server->rota, finished->task, &view) && !view.stopping;
}

// It does not count as a loss: it did not start, the stream it read broke off, or a batch system
// ended it with its worker.
static bool is_blameless(const struct wire_finished *finished)
{
    if (finished->end == WIRE_NOT_STARTED) return true;
    if (finished->end != WIRE_STOPPED) return false;
    return finished->status == ENOLINK || finished->status == ESHUTDOWN;
}

static enum rota_outcome outcome_of(const struct hub *hub, const struct wire_finished *finished)
{
    if (is_lost(hub, finished)) return ROTA_OUTCOME_LOST;
    return ends_outcome(finished);
}

static const struct rota_output *sizes_of(struct hub *hub, const struct wire_finished *finished)
{
    struct rota_output *sizes = hub_keep(hub, finished->outputs.count, sizeof *sizes);
    for (uint32_t i = 0; i < finished->outputs.count; i++) {
        sizes[i].task = finished->task.task;
        sizes[i].object = finished->outputs.items[i].object;
        sizes[i].bytes = finished->outputs.items[i].bytes;
        if (finished->outputs.items[i].kind != WIRE_STREAM)
            sizes[i].content = finished->outputs.items[i].content;
    }
    return sizes;
}

static void recorded_put(struct hub *hub, struct hub_peer *peer,
                         const struct wire_finished *finished, enum wire_how how)
{
    struct wire_message message = {.kind = WIRE_RECORDED_MESSAGE};
    message.recorded.task = finished->task;
    message.recorded.attempt = finished->attempt;
    message.recorded.how = PLANTED(RECORDED_ALWAYS) ? WIRE_NOW_RECORDED : how;
    if (PLANTED(RECORDED_NEVER)) return;
    wire_put(hub_later(hub, peer), &message);
}

// A failure ends the task when its own retries are used up, or are not for this one; only losses
// have more, and no rest.
static void repetition_fill(struct hub *hub, const struct wire_finished *finished,
                            struct rota_event *event)
{
    struct rota_task_view view;
    struct ends_repeat repeat = {0};
    enum rota_outcome outcome = event->report.outcome;
    if (outcome != ROTA_OUTCOME_EXIT && outcome != ROTA_OUTCOME_ERROR) return;
    // What is stopped is not repeated; its job may be closed, and must not be loaded again.
    if (!rota_task_look(hub->server->rota, finished->task, &view) || view.stopping) return;
    hub_repeat_find(hub, (rota_job_id){finished->task.job}, (uint32_t)view.body, &repeat);
    bool used_up = view.tries + HUB_LOSSES > view.retries_max + PLANTED(RETRY_MORE);
    event->report.final = used_up || ends_is_final(&repeat, finished);
    event->report.rest = ends_rest(&repeat, view.tries);
}

// The attempt was given up, and its worker has come to an end all the same. What has a content key
// is a result of it: nobody needs to make it again. But only the worker that was given the attempt
// is believed: another one could say what it likes of any task. The token of such an attempt is
// forgotten, so it cannot be compared. One that was not given out yet is of a lost server whose
// backup was restored.
static bool is_late_result(struct hub *hub, const struct hub_peer *peer,
                           const struct rota_event *report, uint64_t token)
{
    struct rota_event event = {.kind = ROTA_EVENT_KEY_COMPLETED};
    struct rota_task_view view;
    rota_task_id task = report->report.task;
    bool known = rota_task_look(hub->server->rota, task, &view) && (view.key.high || view.key.low);
    if (!known || report->report.outcome != ROTA_OUTCOME_OK) return false;
    if (token > hub->token) return false;
    rota_worker_id given = store_attempt_given(hub->server->store, task, report->report.attempt);
    if (given.number != peer->worker->id.number) return false;
    event.completed.worker = peer->worker->id;
    event.completed.key = view.key;
    event.completed.outcome = ROTA_OUTCOME_OK;
    event.completed.sizes = report->report.sizes;
    event.completed.size_count = report->report.size_count;
    return server_step(hub->server, &event) == ROTA_OK && view.state != ROTA_TASK_SUCCEEDED
           && rota_task_state(hub->server->rota, task) == ROTA_TASK_SUCCEEDED;
}

// A worker that leaves is forgotten with what it has; so it keeps in mind itself of which keys it
// has results.
static void result_note(struct hub *hub, struct hub_peer *peer, rota_object_id key,
                        const struct wire_finished *finished)
{
    if ((key.high || key.low) && hub_is_held(hub, key, peer->worker->id))
        hub_known_put(hub, peer, key, &finished->outputs);
}

static rota_object_id key_of(const struct hub *hub, rota_task_id task)
{
    struct rota_task_view view;
    return rota_task_look(hub->server->rota, task, &view) ? view.key : (rota_object_id){0};
}

static bool is_discarded(const struct hub *hub, rota_task_id task)
{
    struct rota_task_view view;
    return rota_task_look(hub->server->rota, task, &view) && view.discarded
           && !PLANTED(STREAM_TRUSTED);
}

// However it ended, it counts as stopped: a stream that it read will be written once more. A report
// whose token does not fit ends nothing: the process may still run.
static bool discard(struct hub *hub, struct hub_peer *peer, const struct wire_finished *finished,
                    struct rota_event *event, bool fits)
{
    struct wire_finished stopped = *finished;
    event->report.size_count = 0;
    recorded_put(hub, peer, finished, WIRE_IS_STALE);
    if (!fits && !PLANTED(DISCARD_UNCHECKED)) return true;
    if (server_step(hub->server, event) != ROTA_OK) return true;
    ends_discard(&stopped);
    hub_ahead_ended(hub, &stopped);
    if (!ends_note(hub->server, &stopped, peer->worker->id)) hub_no_memory();
    return true;
}

// The token and the core both refuse an older attempt: the planted mistake needs to pass both.
static bool is_current(const struct hub *hub, const struct hub_peer *peer,
                       const struct wire_finished *finished)
{
    struct rota_task_view view;
    bool is_older = PLANTED(STALE_ATTEMPT)
                    && rota_task_look(hub->server->rota, finished->task, &view)
                    && finished->attempt < view.attempt;
    return is_older || hub_token_fits(hub, peer->worker, finished->task, finished->token);
}

// Without the hash of a file every copy of it would be believed.
static bool lacks_hash(const struct wire_finished *finished)
{
    bool lacks = false;
    for (uint32_t i = 0; i < finished->outputs.count; i++) {
        const struct wire_file *output = &finished->outputs.items[i];
        lacks |= output->kind != WIRE_STREAM && !output->content.kind;
    }
    return lacks && ends_outcome(finished) == ROTA_OUTCOME_OK;
}

static bool finished_take(struct hub *hub, struct hub_peer *peer,
                          const struct wire_finished *finished)
{
    struct rota_event event = {.kind = ROTA_EVENT_TASK_FINISHED};
    if (is_foreign(hub, peer, finished->task, finished->attempt)) {
        recorded_put(hub, peer, finished, WIRE_IS_STALE);
        return foreign_note(peer);
    }
    event.report.worker = peer->worker->id;
    event.report.task = finished->task;
    event.report.attempt = finished->attempt;
    event.report.outcome = outcome_of(hub, finished);
    event.report.status = ends_status(finished);
    event.report.unstarted = is_blameless(finished);
    repetition_fill(hub, finished, &event);
    hub_loss_bound(hub, hub_lack_of(hub, peer->worker, finished), &event);
    if (event.report.outcome == ROTA_OUTCOME_OK) {
        event.report.sizes = sizes_of(hub, finished);
        event.report.size_count = finished->outputs.count;
    }
    bool fits = is_current(hub, peer, finished);
    if (fits) hub_token_drop(peer->worker, finished->task);
    if (is_discarded(hub, finished->task)) return discard(hub, peer, finished, &event, fits);
    rota_object_id key = key_of(hub, finished->task);  // with its end a task may be gone
    bool counts = fits && server_step(hub->server, &event) == ROTA_OK;
    if (counts || is_late_result(hub, peer, &event, finished->token)) {
        hub_ahead_ended(hub, finished);
        hub_reason_note(hub, finished);
        hub_liars_forget(hub, peer->worker->id, &finished->outputs);
        if (!ends_note(hub->server, finished, peer->worker->id)) hub_no_memory();
        recorded_put(hub, peer, finished, WIRE_NOW_RECORDED);
        result_note(hub, peer, key, finished);
        return true;
    }
    struct rota_task_view view;
    bool same = rota_task_look(hub->server->rota, finished->task, &view)
                && view.attempt == finished->attempt && !view.worker.number;
    recorded_put(hub, peer, finished, same ? WIRE_WAS_RECORDED : WIRE_IS_STALE);
    return true;
}

bool hub_finished(struct hub *hub, struct hub_peer *peer, const struct wire_finished *finished)
{
    struct wire_finished bad = *finished;
    if (!lacks_hash(finished)) return finished_take(hub, peer, finished);
    bad.end = WIRE_BAD_OUTPUT;
    bad.outputs = (wire_files){0};
    bad.reason = wire_text_of("its worker reported an output without a hash");
    return finished_take(hub, peer, &bad);
}
