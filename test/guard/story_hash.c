// story_hash.c - hashes of effects, field by field.
#include "story.h"

// Adds each of the values to the hash.
#define ADD(...) \
    add_all(hash, (uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))
#define TASK(id) (id).job, (id).task
#define OBJECT(id) (id).high, (id).low

uint64_t hash_add(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 1099511628211u;
    return hash ^ hash >> 29;
}

static uint64_t add_all(uint64_t hash, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) hash = hash_add(hash, values[i]);
    return hash;
}

static uint64_t number(rota_time time)
{
    return (uint64_t)time;
}

static uint64_t hash_task_record(uint64_t hash, const struct rota_record *r)
{
    hash = ADD(TASK(r->task.id), TASK(r->task.run_as), r->task.state, r->task.flags,
               r->task.outcome, r->task.tries);
    return ADD((uint32_t)r->task.status, r->task.attempt, r->task.worker.number, r->task.asked,
               r->task.handler, number(r->task.since));
}

uint64_t hash_record(uint64_t hash, const struct rota_record *r)
{
    hash = ADD(r->kind, r->gone);
    switch (r->kind) {
    case ROTA_RECORD_CORE:
        hash = ADD(r->core.sequence, r->core.turn, r->core.random, r->core.plans);
        return ADD(number(r->core.plan_end), r->core.jobs, r->core.waits, r->core.plan_due);
    case ROTA_RECORD_LANE:
        return ADD(r->lane.lane, r->lane.flags, number(r->lane.patience));
    case ROTA_RECORD_WORKER:
        hash = ADD(r->worker.id.number, r->worker.cores, r->worker.memory_mib, r->worker.slots);
        return ADD(r->worker.machine, r->worker.asks, number(r->worker.silent_since));
    case ROTA_RECORD_JOB:
        hash = ADD(r->job.id.number, r->job.state, r->job.policy, r->job.on_failure);
        return ADD(r->job.client, r->job.key, r->job.failed_task);
    case ROTA_RECORD_SUBMIT:
        return ADD(r->submit.job.number, r->submit.first, r->submit.sequence);
    case ROTA_RECORD_TASK:
        return hash_task_record(hash, r);
    case ROTA_RECORD_OBJECT:
        return ADD(OBJECT(r->object.id), r->object.bytes, r->object.flags);
    case ROTA_RECORD_REPLICA:
        return ADD(OBJECT(r->replica.object), r->replica.worker.number, r->replica.flags);
    case ROTA_RECORD_WAIT:
        hash = ADD(r->wait.number, r->wait.index, r->wait.client, TASK(r->wait.task));
        return ADD(OBJECT(r->wait.object), r->wait.mode);
    }
    return hash;
}

uint64_t hash_action(uint64_t hash, const struct rota_action *a)
{
    hash = ADD(a->kind);
    switch (a->kind) {
    case ROTA_ACTION_ACCEPT:
        return ADD(a->accept.client, a->accept.key, a->accept.job.number, a->accept.first);
    case ROTA_ACTION_CONFIRM:
        return ADD(a->confirm.client, TASK(a->confirm.task), a->confirm.outcome,
                   (uint32_t)a->confirm.status);
    case ROTA_ACTION_JOB_OVER:
        hash = ADD(a->job_over.client, a->job_over.job.number, a->job_over.succeeded);
        return ADD(a->job_over.failed, a->job_over.aborted, a->job_over.failed_task);
    case ROTA_ACTION_WAIT_OVER:
        return ADD(a->wait_over.client, a->wait_over.wait, TASK(a->wait_over.task),
                   a->wait_over.outcome);
    case ROTA_ACTION_READ:
        return ADD(a->read.client, OBJECT(a->read.object), a->read.from.number, a->read.there);
    case ROTA_ACTION_GRANT:
        return ADD(a->grant.handler, a->grant.body, TASK(a->grant.task), a->grant.attempt);
    case ROTA_ACTION_RUN:
        return ADD(a->run.body, TASK(a->run.task), a->run.attempt, a->run.worker.number);
    case ROTA_ACTION_STOP:
        return ADD(TASK(a->stop.task), a->stop.attempt, a->stop.worker.number);
    case ROTA_ACTION_FETCH:
        return ADD(OBJECT(a->fetch.object), a->fetch.worker.number, a->fetch.from.number);
    case ROTA_ACTION_DROP:
        return ADD(OBJECT(a->drop.object), a->drop.worker.number);
    case ROTA_ACTION_SHOW:
        return ADD(OBJECT(a->show.object), a->show.worker.number);
    case ROTA_ACTION_ALIAS:
        return ADD(OBJECT(a->alias.from), OBJECT(a->alias.to), a->alias.worker.number,
                   a->alias.later);
    case ROTA_ACTION_STREAM:
        return ADD(OBJECT(a->stream.object), a->stream.worker.number, a->stream.to.number,
                   TASK(a->stream.consumer));
    case ROTA_ACTION_COMPLETED:
        return ADD(OBJECT(a->completed.key), a->completed.worker.number, a->completed.pending);
    }
    return hash;
}
