// job_remove.c - removes a job: its tasks, edges, objects, and all references to them.
#include "core/core.h"

static void unwatch(struct rota *rota, task_row row, job_row own)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        task_row named = rota->clause[extra->clause_first + i].task.job;
        if (!named) continue;
        if (!(rota->task[named].flags & TASK_UNWATCHED)) {
            graph_late_remove_watches(rota, named, own);
            rota->task[named].flags |= TASK_UNWATCHED;
        }
        job_row other = task_job(rota, named);
        if (other == own) continue;
        JOB(rota, other)->watched--;
        job_look_at(rota, other);
    }
}

static void forget_condition(struct rota *rota, task_row row)
{
    struct extra *extra = task_extra(rota, row);
    for (uint32_t i = 0; i < extra->clause_count; i++) {
        task_row named = rota->clause[extra->clause_first + i].task.job;
        if (named) rota->task[named].flags &= (uint16_t)~TASK_UNWATCHED;
    }
    extra->clause_count = 0;
}

// Conditions of closed jobs no longer apply, so closed jobs never keep each other in memory. Each
// task that they name is visited once: a hundred thousand conditions may name the same one.
void remove_conditions(struct rota *rota, job_row own)
{
    assert(IS_ROW(rota->jobs, own));
    for (task_row row = job_next_task(rota, own, 0); row; row = job_next_task(rota, own, row))
        if (rota->task[row].extra) unwatch(rota, row, own);
    for (task_row row = job_next_task(rota, own, 0); row; row = job_next_task(rota, own, row))
        if (rota->task[row].extra) forget_condition(rota, row);
}

static void forget_uses(struct rota *rota, const struct extra *extra)
{
    for (uint32_t i = 0; i < extra->input_count; i++) {
        uint32_t at = extra->use_first + i;
        object_row row = rota->use[at].object;
        struct object *object = OBJECT(rota, row);
        if (object->job) continue;  // removed with the job
        uint32_t *link = &object->uses;
        while (*link != at) link = &rota->use[*link].next;
        *link = rota->use[at].next;
        object->named--;
        object_drop_unused_artifact(rota, row);
    }
}

static void forget_group(struct rota *rota, group_row row)
{
    assert(IS_ROW(rota->groups, row));
    struct group *group = GROUP(rota, row);
    if (--group->uses > 0) return;
    map_remove(&rota->group_by_number, (uint64_t)group->lane << 32 | group->number);
    pool_give(&rota->groups, row);
}

static void forget_extra(struct rota *rota, task_row row)
{
    extra_row at = rota->task[row].extra;
    if (!at) return;
    const struct extra *extra = EXTRA(rota, at);
    assert(extra->clause_count == 0);  // see remove_conditions()
    forget_uses(rota, extra);
    if (extra->group) forget_group(rota, extra->group);
    if (extra->key) {
        object_row key = extra->key;
        OBJECT(rota, key)->named--;
        rota->keyed--;
        object_drop_unused_artifact(rota, key);
    }
    if (extra->lane) LANE(rota, extra->lane)->named--;
    pool_give(&rota->extras, at);
}

static void forget_links(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    wait_drop_task(rota, row);
    while (graph_late_first(rota, row)) {
        const struct late *late = LATE(rota, graph_late_first(rota, row));
        graph_late_remove(rota, row, (enum late_kind)late->kind, late->target);
    }
}

static void forget_tasks(struct rota *rota, const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        task_row row = batch->first + i;
        uint32_t bundle = map_find(&rota->bundle_of, row);
        forget_links(rota, row);
        profile_give(rota, rota->task[row].profile);
        if (!bundle) continue;
        map_remove(&rota->bundle_of, row);
        pool_give(&rota->bundles, bundle);
    }
    for (uint32_t i = 0; i < batch->count; i++) forget_extra(rota, batch->first + i);
}

static void forget_batch(struct rota *rota, batch_row row)
{
    assert(rota->tasks >= BATCH(rota, row)->count);
    assert(IS_ROW(rota->batches, row));
    const struct batch *batch = BATCH(rota, row);
    for (uint32_t i = 0; i < batch->count; i++) bits_clear(&rota->task_marks, batch->first + i);
    rota->tasks -= batch->count;
    rota->edges -= batch->edge_count;
    memset(&rota->task[batch->first], 0, (batch->count + 1) * sizeof *rota->task);
    planned_forget(rota, batch->first, batch->count + 1);
    span_give(&rota->rows, batch->first, batch->count + 1);
    if (batch->link_count) span_give(&rota->links, batch->link_first, batch->link_count);
    if (batch->use_count) span_give(&rota->uses, batch->use_first, batch->use_count);
    if (batch->clause_count) span_give(&rota->clauses, batch->clause_first, batch->clause_count);
    effect_forget_marks(rota, ROTA_RECORD_SUBMIT, row);
    pool_give(&rota->batches, row);
}

// Most objects were removed when the job was closed; some were kept for tasks that still ran.
static void forget_objects(struct rota *rota, object_row row)
{
    assert(row == 0 || IS_ROW(rota->objects, row));
    object_row next;
    for (; row; row = next) {
        next = OBJECT(rota, row)->next_of_job;
        replica_surplus_drop_all(rota, row);
        OBJECT(rota, row)->job = 0;
        OBJECT(rota, row)->uses = OBJECT(rota, row)->named = 0;
        OBJECT(rota, row)->producer = 0;
        object_drop_unused_artifact(rota, row);
    }
}

void remove_job(struct rota *rota, job_row row)
{
    assert(JOB(rota, row)->state == ROTA_JOB_CLOSED);
    struct job *job = JOB(rota, row);
    struct rota_record tomb = {.kind = ROTA_RECORD_JOB, .gone = true};
    tomb.job.id.number = job->id;
    effect_tomb(rota, tomb);
    trace_say(rota, "job %u is closed and none of its tasks runs -> removed", job->id);
    for (batch_row at = job->first_batch; at; at = BATCH(rota, at)->next)
        forget_tasks(rota, BATCH(rota, at));
    forget_objects(rota, job->objects);
    if (job->on_failure == ROTA_FAILURE_FAIL_JOB) rota->fail_job_tasks -= job->task_count;
    if (job->marked) effect_forget_marks(rota, ROTA_RECORD_JOB, row);
    map_remove(&rota->job_by_id, job->id);
    if (job->key) map_remove(&rota->job_by_key, hash_mix(job->client, job->key));
    for (batch_row at = job->first_batch, next; at; at = next) {
        next = BATCH(rota, at)->next;
        forget_batch(rota, at);
    }
    ARRAY_RELEASE(&rota->memory, job->later, job->later_capacity);
    rota->paused_jobs -= job->paused;
    rota->closing--;
    if (rota->last_job == row) rota->last_job = 0;
    if (job->looking) {  // referenced again by the job that was just removed
        job_row *link = &rota->look_jobs;
        while (*link != row) link = &JOB(rota, *link)->next_look;
        *link = job->next_look;
    }
    pool_give(&rota->jobs, row);
}
