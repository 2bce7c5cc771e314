// digest.c - a hash of all state, by ids and not by rows: equal states have equal digests.
#include "core/core.h"

// Hashes of entities are added up, so that the order of rows does not matter.
static uint64_t of_task(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    rota_task_id id = task_id(rota, row);
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    bool bundle = task->flags & TASK_IS_BUNDLE;
    uint64_t hash = hash_mix((uint64_t)id.job << 32 | id.task, task->state);
    // Which attempts are overbooked follows from the other state, and is computed later.
    uint32_t flags = task->flags & ~(uint32_t)TASK_OVERBOOKED;
    hash
        = hash_mix(hash, flags >> TASK_STORED_SHIFT << TASK_STORED_SHIFT | (flags & TASK_UNFAILED));
    hash = hash_mix(hash,
                    (uint64_t)task->attempt << 32 | (uint32_t)task->tries << 8 | task->outcome);
    hash = hash_mix(hash, (uint64_t)rota->unmet[row] << 32 | task->dead);
    if (out && !bundle)
        hash = hash_mix(hash, task->worker ? WORKER(rota, task->worker)->id : 0);
    else
        hash = hash_mix(hash, (uint32_t)task->status);
    hash = hash_mix(hash, extra->asked ^ handler_of(rota, row) << 20);
    hash = hash_mix(hash, (uint64_t)extra->since);
    hash = hash_mix(hash,
                    (uint64_t)extra->verdict << 16 | (uint64_t)extra->resume << 8 | extra->phase);
    if (task->flags & TASK_BACKOFF) hash = hash_mix(hash, (uint64_t)backoff_until(rota, row));
    rota_task_id name = attempt_name(rota, row);
    return hash_mix(hash, (uint64_t)name.job << 32 | name.task);
}

static uint64_t of_jobs(const struct rota *rota)
{
    uint64_t sum = 0;
    for (job_row row = 1; row < rota->jobs.count; row++) {
        const struct job *job = JOB(rota, row);
        if (!job->id) continue;
        uint64_t hash = hash_mix(job->id, job->client);
        hash = hash_mix(hash, (uint64_t)job->paused << 24 | (uint64_t)job->state << 16
                                  | (uint64_t)job->policy << 8
                                  | (uint64_t)job->on_failure);
        sum += hash_mix(hash, (uint64_t)job->task_count << 32 | job->failed_task);
        for (task_row at = job_next_task(rota, row, 0); at; at = job_next_task(rota, row, at))
            sum += of_task(rota, at);
    }
    return sum;
}

static uint64_t of_lanes(const struct rota *rota)
{
    uint64_t sum = 0;
    for (lane_row row = 1; row < rota->lanes.count; row++) {
        const struct lane *lane = LANE(rota, row);
        if (!lane->number) continue;
        uint64_t hash
            = hash_mix(lane->number, (uint64_t)lane->flags << 32 | (uint32_t)lane->counter);
        hash = hash_mix(hash, (uint64_t)lane->patience);
        rota_task_id id = task_id(rota, lane->placing);
        sum += hash_mix(hash, (uint64_t)id.job << 32 | id.task);
    }
    for (group_row row = 1; row < rota->groups.count; row++) {
        const struct group *group = GROUP(rota, row);
        if (!group->uses) continue;
        rota_task_id id = task_id(rota, group->holder);
        uint64_t hash = hash_mix(LANE(rota, group->lane)->number, group->number);
        sum += hash_mix(hash, (uint64_t)id.job << 32 | id.task);
    }
    return sum;
}

static uint64_t of_workers(const struct rota *rota)
{
    uint64_t sum = 0;
    for (worker_row row = 1; row < rota->workers.count; row++) {
        const struct worker *worker = WORKER(rota, row);
        if (!worker->id) continue;
        uint64_t hash = hash_mix(worker->id, (uint64_t)worker->cores << 32 | worker->memory_mib);
        hash = hash_mix(hash, (uint64_t)worker->slots << 32 | worker->machine);
        hash = hash_mix(hash, (uint64_t)worker->asks << 32 | worker->tasks);
        hash = hash_mix(hash, worker->cores_used | (uint64_t)worker->paused << 62);
        sum += hash_mix(hash, (uint64_t)worker->silent_since);
    }
    return sum;
}

static uint64_t of_replicas(const struct rota *rota, const struct object *object)
{
    uint64_t sum = 0;
    for (replica_row row = object->replicas; row; row = REPLICA(rota, row)->next_of_object) {
        const struct replica *replica = REPLICA(rota, row);
        uint64_t hash = hash_mix(ID_HASH(object->id), WORKER(rota, replica->worker)->id);
        uint32_t flags = replica->flags & (REPLICA_LOCATED | REPLICA_PRIMARY | REPLICA_KEPT);
        sum += hash_mix(hash, (uint64_t)replica->users << 32 | flags);
    }
    return sum;
}

static uint64_t of_objects(const struct rota *rota)
{
    uint64_t sum = 0;
    for (object_row row = 1; row < rota->objects.count; row++) {
        const struct object *object = OBJECT(rota, row);
        sum += of_replicas(rota, object);
        if (!object->job) continue;
        uint64_t hash = hash_mix(ID_HASH(object->id), object->bytes);
        uint32_t flags = object->flags & ~(uint32_t)(OBJECT_MARKED | OBJECT_CHANGED);
        if (object->content.kind) hash = hash_mix(hash, content_digest(&object->content));
        sum += hash_mix(hash_mix(hash, flags), (uint64_t)object->need << 32 | object->view);
    }
    return sum;
}

static uint64_t of_waits(const struct rota *rota)
{
    uint64_t sum = 0;
    for (wait_row row = 1; row < rota->waits.count; row++) {
        const struct wait *item = WAIT(rota, row);
        if (!item->number) continue;
        rota_task_id id = task_id(rota, item->task);
        uint64_t hash = hash_mix((uint64_t)item->number << 32 | item->index, item->client);
        sum += hash_mix(hash_mix(hash, (uint64_t)id.job << 32 | id.task), item->mode);
    }
    return sum;
}

uint64_t rota_digest(const struct rota *rota)
{
    uint64_t hash = hash_mix(rota->sequence, rota->random);
    hash = hash_mix(hash, (uint64_t)rota->next_job << 32 | rota->next_wait);
    hash = hash_mix(hash, (uint64_t)rota->plan_due << 32 | rota->planned);
    hash = hash_mix(hash, rota->planned ? (uint64_t)rota->plan_end : 0);
    hash = hash_mix(hash, rota->plans);
    hash = hash_mix(hash, of_jobs(rota));
    hash = hash_mix(hash, of_lanes(rota));
    hash = hash_mix(hash, of_workers(rota));
    hash = hash_mix(hash, of_objects(rota));
    return hash_mix(hash, of_waits(rota));
}
