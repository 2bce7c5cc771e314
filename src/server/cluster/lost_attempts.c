// lost_attempts.c - how often, and how soon, a lost attempt is repeated.
#include "server/cluster/lost_attempts.h"
#include "base/planted.h"
#include "server/cluster/objects.h"
#include "server/cluster/replicas.h"

#include <errno.h>

enum {
    REFUSED_AT_ONCE = 20,  // refusals that are repeated at once
    REFUSED_MAX = 1000,    // attempts; above this a refusal counts as a loss
};

// ---- Inputs whose holders are disconnected --------------------------------------------------

// A holder that joined after the reader got its last attempt was disconnected at that time.
static bool is_away(const struct cluster_worker *holder, const struct cluster_worker *reader)
{
    return !holder || !holder->peer || holder->silent || holder->joined > reader->given;
}

// The object has holders, and all of them are disconnected.
static bool object_is_away(struct cluster *cluster, const struct cluster_worker *reader,
                           rota_object_id object)
{
    const struct rota *rota = cluster->server->rota;
    uint32_t count = rota_object_workers(rota, object, ROTA_SET_LOCATED, NULL, 0), away = 0;
    rota_worker_id *holders = cluster_keep(cluster, count, sizeof *holders);
    rota_object_workers(rota, object, ROTA_SET_LOCATED, holders, count);
    for (uint32_t i = 0; i < count; i++) {
        if (cluster_is_bad_source(cluster, object, holders[i])) continue;
        const struct cluster_worker *holder = cluster_worker_get(cluster, holders[i]);
        if (holder == reader || !is_away(holder, reader)) return false;
        away++;
    }
    return away && !cluster_stored_find(cluster, object);
}

static bool input_is_away(struct cluster *cluster, const struct cluster_worker *reader,
                          rota_task_id task)
{
    struct rota_task_view view;
    wire_files inputs;
    // The job of a stopped task may be closed, and must not be loaded again.
    if (!rota_task_look(cluster->server->rota, task, &view) || view.stopping) return false;
    cluster_inputs_find(cluster, (rota_job_id){task.job}, (uint32_t)view.body, &inputs);
    for (uint32_t i = 0; i < inputs.count; i++)
        if (object_is_away(cluster, reader, inputs.items[i].object)) return true;
    return false;
}

enum cluster_lack cluster_lack_of(struct cluster *cluster, const struct cluster_worker *reader,
                          const struct wire_finished *finished)
{
    if (!attempt_end_lacks_input(finished)) return CLUSTER_LACKS_NOTHING;
    bool is_away = finished->status == ENODATA && input_is_away(cluster, reader, finished->task);
    return is_away ? CLUSTER_INPUT_IS_AWAY : CLUSTER_LACKS_INPUT;
}

// ---- Limits ---------------------------------------------------------------------------------

void cluster_loss_bound(struct cluster *cluster, enum cluster_lack lack, struct rota_event *event)
{
    struct rota_task_view view;
    if (event->report.outcome != ROTA_OUTCOME_LOST) return;
    if (!rota_task_look(cluster->server->rota, event->report.task, &view)) return;
    uint32_t refused = view.attempt > view.tries ? view.attempt - view.tries : 0;
    if (lack == CLUSTER_INPUT_IS_AWAY && view.attempt < REFUSED_MAX) {
        event->report.unstarted = true;
        event->report.rest = attempt_end_backoff(refused + 1);
    } else if (lack) {
        attempt_end_lack(event, view.tries, view.retries_max);
        event->report.unstarted = PLANTED(LACK_UNCOUNTED);
    } else if (event->report.unstarted) {
        if (refused > REFUSED_AT_ONCE)
            event->report.rest = attempt_end_backoff(refused - REFUSED_AT_ONCE);
        if (view.attempt >= REFUSED_MAX) event->report.unstarted = false;
    }
}
