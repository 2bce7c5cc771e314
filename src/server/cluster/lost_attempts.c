// lost_attempts.c - how often, and how soon, an attempt that was lost is repeated.
#include "server/cluster/lost_attempts.h"
#include "base/planted.h"
#include "server/cluster/replicas.h"

#include <errno.h>

enum {
    REFUSED_AT_ONCE = 20,  // refusals that are repeated at once
    REFUSED_MAX = 1000,    // attempts; beyond that a refusal counts as a loss, too
};

bool hub_lacks_input(const struct wire_finished *finished)
{
    return finished->end == WIRE_BAD_INPUT
           && (finished->status == ENODATA || finished->status == ENOSPC);
}

// ---- Inputs whose holders are cut off -----------------------------------------------------------

// A holder that joined after the reader was given its last attempt was away at that time.
static bool is_away(const struct hub_worker *holder, const struct hub_worker *reader)
{
    return !holder || !holder->peer || holder->silent || holder->joined > reader->given;
}

// Somebody holds the object, and all who do are away.
static bool object_is_away(struct hub *hub, const struct hub_worker *reader, rota_object_id object)
{
    const struct rota *rota = hub->server->rota;
    uint32_t count = rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0), away = 0;
    rota_worker_id *holders = hub_keep(hub, count, sizeof *holders);
    rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, count);
    for (uint32_t i = 0; i < count; i++) {
        if (hub_is_liar(hub, object, holders[i])) continue;
        const struct hub_worker *holder = hub_worker_get(hub, holders[i]);
        if (holder == reader || !is_away(holder, reader)) return false;
        away++;
    }
    return away && !hub_stored_find(hub, object);
}

static bool input_is_away(struct hub *hub, const struct hub_worker *reader, rota_task_id task)
{
    struct rota_task_view view;
    wire_files inputs;
    // The job of a task that is stopped may be closed, and must not be loaded again.
    if (!rota_task_look(hub->server->rota, task, &view) || view.stopping) return false;
    hub_inputs_find(hub, (rota_job_id){task.job}, (uint32_t)view.body, &inputs);
    for (uint32_t i = 0; i < inputs.count; i++)
        if (object_is_away(hub, reader, inputs.items[i].object)) return true;
    return false;
}

enum hub_lack hub_lack_of(struct hub *hub, const struct hub_worker *reader,
                          const struct wire_finished *finished)
{
    if (!hub_lacks_input(finished)) return HUB_LACKS_NOTHING;
    bool is_away = finished->status == ENODATA && input_is_away(hub, reader, finished->task);
    return is_away ? HUB_INPUT_IS_AWAY : HUB_LACKS_INPUT;
}

// ---- Bounds -------------------------------------------------------------------------------------

void hub_loss_bound(struct hub *hub, enum hub_lack lack, struct rota_event *event)
{
    struct rota_task_view view;
    if (event->report.outcome != ROTA_OUTCOME_LOST) return;
    if (!rota_task_look(hub->server->rota, event->report.task, &view)) return;
    uint32_t refused = view.attempt > view.tries ? view.attempt - view.tries : 0;
    if (lack == HUB_INPUT_IS_AWAY && view.attempt < REFUSED_MAX) {
        event->report.unstarted = true;
        event->report.rest = ends_backoff(refused + 1);
    } else if (lack) {
        ends_lack(event, view.tries, view.retries_max);
        event->report.unstarted = PLANTED(LACK_UNCOUNTED);
    } else if (event->report.unstarted) {
        if (refused > REFUSED_AT_ONCE) event->report.rest = ends_backoff(refused - REFUSED_AT_ONCE);
        if (view.attempt >= REFUSED_MAX) event->report.unstarted = false;
    }
}
