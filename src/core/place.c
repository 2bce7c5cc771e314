// place.c - placement: an offered task goes to the queue of its job's policy.
//
// Three policies use the same index of locations to decide which workers may take a task: claim
// (any handler), pull (holders of the result, then of an input, then every worker), plan (one
// worker, chosen by score).
#include "base/planted.h"
#include "core/core.h"

bool place_is_paused(const struct rota *rota, task_row row)
{
    return rota->paused_jobs && JOB(rota, task_job(rota, row))->paused;
}

bool place_shared(struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    if (!task->extra || !task_extra(rota, row)->key) return false;
    graph_settle_leaders(rota);
    if (!shared_key_attach(rota, row)) return false;
    if (task->flags & TASK_HAS_LANE) {
        lane_handed_out(rota, row);
        lane_started(rota, row);
    }
    return true;
}

// A task of a paused job is in no queue, and does not wait for another task that runs for it.
void place_add(struct rota *rota, task_row row)
{
    assert(rota->task[row].state == ROTA_TASK_OFFERED);
    const struct task *task = &rota->task[row];
    if ((place_is_paused(rota, row) && !PLANTED(PAUSE_LATE)) || place_shared(rota, row)) return;
    switch (PROFILE(rota, task->profile)->wants.policy) {
    case ROTA_POLICY_CLAIM: claim_add(rota, row); break;
    case ROTA_POLICY_PULL: pull_add(rota, row); break;
    default:
        if (planned_add(rota, row)) break;
        ready_push(rota, row);
        plan_news(rota, 1);
        break;
    }
}

// Of a lane, only the first admitted task is in a queue.
void place_remove(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (!lane_is_next(rota, row) || place_is_paused(rota, row)) return;
    switch (PROFILE(rota, rota->task[row].profile)->wants.policy) {
    case ROTA_POLICY_CLAIM: claim_remove(rota, row); break;
    case ROTA_POLICY_PULL: pull_remove(rota, row); break;
    default:
        if (!planned_remove(rota, row)) ready_remove(rota, row);
        break;
    }
}

bool place_fits(const struct worker *worker, const struct profile *profile)
{
    return worker->id && profile->wants.cores <= worker->cores
           && profile->wants.memory_mib <= worker->memory_mib
           && (!profile->wants.machine || profile->wants.machine == worker->machine);
}

bool place_has_room(const struct worker *worker, const struct profile *profile)
{
    return place_fits(worker, profile) && worker->silent_since == ROTA_NEVER
           && (!worker->paused || PLANTED(PAUSE_ROOMY))
           && worker->cores_used + profile->wants.cores <= worker->cores
           && worker->memory_used + profile->wants.memory_mib <= worker->memory_mib
           && (!worker->slots || worker->tasks < worker->slots);
}

bool place_unschedulable(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct profile *profile = PROFILE(rota, task->profile);
    bool waits = task->state == ROTA_TASK_HELD || task->state == ROTA_TASK_OFFERED;
    if (!waits || profile->wants.policy == ROTA_POLICY_CLAIM) return false;
    for (worker_row at = 1; at < rota->workers.count; at++)
        if (place_fits(WORKER(rota, at), profile)) return false;
    return true;
}

static uint32_t stream_consumers(const struct rota *rota, const struct extra *extra)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < extra->output_count; i++) {
        const struct object *object
            = OBJECT(rota, rota->use[extra->use_first + extra->input_count + i].object);
        if (!(object->flags & ROTA_OBJECT_STREAM)) continue;
        for (uint32_t use = object->uses; use; use = rota->use[use].next) count++;
    }
    return count;
}

// One RUN, a FETCH or STREAM for each input, a STREAM for each consumer, and a copy for each.
bool place_reserve(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    if (!rota->task[row].extra) return effect_reserve(rota, 1);
    uint32_t copies = extra->input_count + extra->output_count;
    return effect_reserve(rota, 1 + (uint64_t)extra->input_count + stream_consumers(rota, extra))
           && pool_reserve(&rota->memory, &rota->replicas, copies) && effect_cover(rota);
}
