// record.c - records for the store: the content of each kind, and handing them to the caller.
#include "core/core.h"

static void write_core(const struct rota *rota, struct rota_record *record)
{
    record->core.sequence = rota->sequence;
    record->core.turn = rota->turn;
    record->core.random = rota->random;
    record->core.plans = rota->plans;
    record->core.plan_end = rota->planned ? rota->plan_end : -1;
    record->core.plan_took = rota->plan_end - rota->plan_start;
    record->core.jobs = rota->next_job;
    record->core.waits = rota->next_wait;
    record->core.plan_due = rota->plan_due;
}

static void write_lane(struct rota *rota, lane_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->lanes, row));
    struct lane *lane = LANE(rota, row);
    lane->marked = false;
    record->lane.lane = lane->number;
    record->lane.flags = lane->flags;
    record->lane.patience = lane->patience;
}

static void write_worker(struct rota *rota, worker_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->workers, row));
    struct worker *worker = WORKER(rota, row);
    worker->marked = false;
    record->worker.id.number = worker->id;
    record->worker.cores = worker->cores;
    record->worker.memory_mib = worker->memory_mib;
    record->worker.slots = worker->slots;
    record->worker.machine = worker->machine;
    record->worker.asks = worker->asks;
    record->worker.order = row;
    record->worker.silent_since = worker->silent_since;
    record->worker.paused = worker->paused & PAUSE_ORDERED;
    record->worker.leaves = worker->paused & PAUSE_LEAVING;
}

static void write_job(struct rota *rota, job_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->jobs, row));
    struct job *job = JOB(rota, row);
    job->marked = false;
    record->job.id.number = job->id;
    record->job.state = job->state;
    record->job.policy = job->policy;
    record->job.on_failure = job->on_failure;
    record->job.paused = job->paused;
    record->job.client = job->client;
    record->job.key = job->key;
    record->job.failed_task = job->failed_task;
}

static void write_submit(struct rota *rota, batch_row row, struct rota_record *record)
{
    assert(BATCH(rota, row)->spec);
    struct batch *batch = BATCH(rota, row);
    record->submit.job.number = JOB(rota, batch->job)->id;
    record->submit.first = batch->number;
    record->submit.sequence = batch->sequence;
    record->submit.spec = batch->spec;
    batch->spec = NULL;
}

static void write_task(const struct rota *rota, task_row row, struct rota_record *record)
{
    const struct task *task = &rota->task[row];
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    *record = (struct rota_record){.kind = ROTA_RECORD_TASK};
    record->task.id = task_id(rota, row);
    record->task.state = task->state;
    record->task.flags = (uint8_t)(task->flags >> TASK_STORED_SHIFT);
    record->task.outcome = task->outcome;
    record->task.tries = (uint16_t)task->tries;
    record->task.attempt = task->attempt;
    if (!out) {
        record->task.status = task->status;
    } else if (task->worker) {
        record->task.worker.number = WORKER(rota, task->worker)->id;
        if (map_find(&rota->run_as, row)) record->task.run_as = attempt_name(rota, row);
    }
    if (task->flags & TASK_CLAIMED) record->task.handler = HANDLER(rota, task->next)->id;
    if (task->flags & TASK_IS_BUNDLE) record->task.phase = bundle_get(rota, row)->ever_staged;
    record->task.since = backoff_until(rota, row);
    if (!task->extra) return;
    const struct extra *extra = EXTRA(rota, task->extra);
    if (!(task->flags & TASK_IS_BUNDLE))
        record->task.phase = (uint8_t)(extra->phase | extra->resume << 4);
    record->task.asked = extra->asked;
    if (!(task->flags & TASK_BACKOFF)) record->task.since = extra->since;
}

static void write_object(struct rota *rota, object_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->objects, row));
    struct object *object = OBJECT(rota, row);
    object->flags &= ~(uint32_t)OBJECT_MARKED;
    record->object.id = object->id;
    record->object.job.number = JOB(rota, object->job)->id;
    record->object.bytes = object->bytes;
    record->object.content = object->content;
    record->object.flags = object->flags & ~(uint32_t)(OBJECT_CHANGED | OBJECT_SPREADING);
}

static void write_replica(struct rota *rota, replica_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->replicas, row));
    struct replica *replica = REPLICA(rota, row);
    replica->flags &= ~(uint32_t)REPLICA_MARKED;
    record->replica.object = OBJECT(rota, replica->object)->id;
    record->replica.worker.number = WORKER(rota, replica->worker)->id;
    record->replica.flags = replica->flags;
    record->replica.bytes = OBJECT(rota, replica->object)->bytes;
}

static void write_wait(struct rota *rota, wait_row row, struct rota_record *record)
{
    assert(IS_ROW(rota->waits, row));
    struct wait *item = WAIT(rota, row);
    item->marked = false;
    record->wait.number = item->number;
    record->wait.index = item->index;
    record->wait.client = item->client;
    record->wait.task = task_id(rota, item->task);
    record->wait.mode = item->mode;
    if (item->object) record->wait.object = OBJECT(rota, item->object)->id;
}

static void write_mark(struct rota *rota, struct mark mark, struct rota_record *record)
{
    *record = (struct rota_record){.kind = (enum rota_record_kind)mark.kind};
    switch (record->kind) {
    case ROTA_RECORD_CORE: write_core(rota, record); break;
    case ROTA_RECORD_LANE: write_lane(rota, mark.number, record); break;
    case ROTA_RECORD_WORKER: write_worker(rota, mark.number, record); break;
    case ROTA_RECORD_JOB: write_job(rota, mark.number, record); break;
    case ROTA_RECORD_SUBMIT: write_submit(rota, mark.number, record); break;
    case ROTA_RECORD_TASK: break;  // they have marks of their own
    case ROTA_RECORD_OBJECT: write_object(rota, mark.number, record); break;
    case ROTA_RECORD_REPLICA: write_replica(rota, mark.number, record); break;
    case ROTA_RECORD_WAIT: write_wait(rota, mark.number, record); break;
    }
}

// Removed rows come first: their ids may have been reused since.
static bool next_but_tasks(struct rota *rota, struct rota_record *record)
{
    if (rota->tomb_taken < rota->tomb_count) {
        *record = rota->tombs[rota->tomb_taken++];
    } else if (rota->core_marked) {
        rota->core_marked = false;
        write_mark(rota, (struct mark){ROTA_RECORD_CORE, 0}, record);
    } else if (rota->mark_taken < rota->mark_count) {
        write_mark(rota, rota->marks[rota->mark_taken++], record);
    } else {
        return false;
    }
    return true;
}

static uint32_t write_records(struct rota *rota)
{
    uint32_t count = 0, group = 0;
    task_row row;
    while (count < ROTA_RECORDS_MAX && next_but_tasks(rota, &rota->records[count])) count++;
    while (count < ROTA_RECORDS_MAX && bits_take(&rota->task_marks, &group, &row))
        write_task(rota, row, &rota->records[count++]);
    if (count < ROTA_RECORDS_MAX)
        rota->tomb_count = rota->tomb_taken = rota->mark_count = rota->mark_taken = 0;
    return count;
}

// A step began before all records were taken: the remaining ones move to the front.
void record_compact(struct rota *rota)
{
    uint32_t taken = rota->mark_taken;
    rota->mark_count -= taken;
    memmove(rota->marks, rota->marks + taken, rota->mark_count * sizeof *rota->marks);
    rota->mark_taken = 0;
}

struct rota_effects rota_take(struct rota *rota)
{
    struct rota_effects effects = {.records = rota->records, .actions = rota->actions};
    workers_settle(rota);
    if (rota->taken) {
        rota->action_count = 0;
        rota->trace.length = 0;
    }
    rota->taken = false;
    effects.record_count = write_records(rota);
    effects.more = effects.record_count == ROTA_RECORDS_MAX;
    effects.trace = "";
    if (effects.more) return effects;
    effects.action_count = rota->action_count;
    if (rota->trace.length) effects.trace = rota->trace.data;
    rota->taken = true;
    return effects;
}
