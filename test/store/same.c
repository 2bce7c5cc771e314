// same.c - compares two rows field by field.
#include "both.h"

#include <string.h>

#define SAME(field) (left->field == right->field)

static bool same_object(rota_object_id left, rota_object_id right)
{
    return left.high == right.high && left.low == right.low;
}

static bool same_id(rota_task_id left, rota_task_id right)
{
    return left.job == right.job && left.task == right.task;
}

static bool same_clauses(const struct rota_job_spec *left, const struct rota_job_spec *right,
                         uint32_t index)
{
    const struct rota_task_spec *one = &left->tasks[index], *other = &right->tasks[index];
    if (one->clause_count != other->clause_count) return false;
    for (uint32_t i = 0; i < one->clause_count; i++) {
        struct rota_clause a = left->clauses[one->clause_first + i];
        struct rota_clause b = right->clauses[other->clause_first + i];
        if (a.kind != b.kind) return false;
        if (a.kind < ROTA_CLAUSE_AND && !same_id(a.task, b.task)) return false;
    }
    return true;
}

static bool same_task_spec(const struct rota_task_spec *left, const struct rota_task_spec *right)
{
    return SAME(body) && same_object(left->key, right->key) && SAME(estimate) && SAME(flags)
           && SAME(bundle) && SAME(lane) && SAME(group) && SAME(machine) && SAME(cores)
           && SAME(memory_mib) && SAME(retries_max) && SAME(priority) && SAME(access);
}

static bool same_lists(const struct rota_job_spec *left, const struct rota_job_spec *right)
{
    for (uint32_t i = 0; i < left->edge_count; i++) {
        if (memcmp(&left->edges[i], &right->edges[i], sizeof left->edges[i]) != 0) return false;
    }
    for (uint32_t i = 0; i < left->input_count; i++) {
        const struct rota_input *one = &left->inputs[i], *other = &right->inputs[i];
        if (one->task != other->task || one->flags != other->flags) return false;
        if (!same_object(one->object, other->object)) return false;
    }
    for (uint32_t i = 0; i < left->output_count; i++) {
        const struct rota_output *one = &left->outputs[i], *other = &right->outputs[i];
        if (one->task != other->task || one->flags != other->flags) return false;
        if (!same_object(one->object, other->object) || one->bytes != other->bytes) return false;
    }
    return true;
}

static bool same_spec(const struct rota_job_spec *left, const struct rota_job_spec *right)
{
    bool same = SAME(job.number) && SAME(client) && SAME(key) && SAME(policy) && SAME(on_failure)
                && SAME(last) && SAME(task_count) && SAME(edge_count) && SAME(input_count)
                && SAME(output_count);
    for (uint32_t i = 0; same && i < left->task_count; i++) {
        same = same_task_spec(&left->tasks[i], &right->tasks[i]) && same_clauses(left, right, i);
    }
    return same && same_lists(left, right);
}

static bool same_task(const struct rota_record *left, const struct rota_record *right)
{
    return same_id(left->task.id, right->task.id) && same_id(left->task.run_as, right->task.run_as)
           && SAME(task.state) && SAME(task.flags) && SAME(task.outcome) && SAME(task.phase)
           && SAME(task.tries) && SAME(task.status) && SAME(task.attempt)
           && SAME(task.worker.number) && SAME(task.asked) && SAME(task.handler)
           && SAME(task.since);
}

static bool same_worker(const struct rota_record *left, const struct rota_record *right)
{
    return SAME(worker.id.number) && SAME(worker.cores) && SAME(worker.memory_mib)
           && SAME(worker.slots) && SAME(worker.machine) && SAME(worker.asks) && SAME(worker.order)
           && SAME(worker.silent_since);
}

static bool same_core(const struct rota_record *left, const struct rota_record *right)
{
    return SAME(core.sequence) && SAME(core.turn) && SAME(core.random) && SAME(core.plans)
           && SAME(core.plan_end) && SAME(core.plan_took) && SAME(core.jobs) && SAME(core.waits)
           && SAME(core.plan_due);
}

bool both_same(const struct rota_record *left, const struct rota_record *right)
{
    if (!SAME(kind)) return false;
    switch (left->kind) {
    case ROTA_RECORD_CORE: return same_core(left, right);
    case ROTA_RECORD_LANE: return SAME(lane.lane) && SAME(lane.flags) && SAME(lane.patience);
    case ROTA_RECORD_WORKER: return same_worker(left, right);
    case ROTA_RECORD_JOB:
        return SAME(job.id.number) && SAME(job.state) && SAME(job.policy) && SAME(job.on_failure)
               && SAME(job.client) && SAME(job.key) && SAME(job.failed_task);
    case ROTA_RECORD_SUBMIT:
        return SAME(submit.sequence) && SAME(submit.job.number) && SAME(submit.first)
               && same_spec(left->submit.spec, right->submit.spec);
    case ROTA_RECORD_TASK: return same_task(left, right);
    case ROTA_RECORD_OBJECT:
        return same_object(left->object.id, right->object.id) && SAME(object.job.number)
               && SAME(object.flags) && SAME(object.bytes);
    case ROTA_RECORD_REPLICA:
        return same_object(left->replica.object, right->replica.object)
               && SAME(replica.worker.number) && SAME(replica.flags) && SAME(replica.bytes);
    case ROTA_RECORD_WAIT:
        return SAME(wait.number) && SAME(wait.index) && SAME(wait.client) && SAME(wait.mode)
               && same_id(left->wait.task, right->wait.task)
               && same_object(left->wait.object, right->wait.object);
    }
    return false;
}
