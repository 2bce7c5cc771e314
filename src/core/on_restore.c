// on_restore.c - restores the core from stored records; derived state is computed again.
//
// First every row gets its place, then its stored state. Then counters, lanes and attempts are
// rebuilt, and waiting tasks are admitted again: the same dependencies give the same states.
#include "base/planted.h"
#include "core/core.h"

typedef enum rota_error restore_fn(struct rota *rota, const struct rota_record *record);

static enum rota_error damaged(struct rota *rota)
{
    return refuse(rota, ROTA_BAD_EVENT, "a stored record contradicts the others");
}

static enum rota_error no_memory(struct rota *rota)
{
    return refuse(rota, ROTA_NO_MEMORY, "out of memory for the stored records");
}

static enum rota_error restore_core(struct rota *rota, const struct rota_record *record)
{
    rota->sequence = record->core.sequence;
    rota->turn = record->core.turn;
    rota->random = record->core.random;
    rota->plans = record->core.plans;
    rota->planned = record->core.plan_end >= 0;
    rota->plan_end = rota->planned ? record->core.plan_end : 0;
    rota->plan_start = rota->plan_end - record->core.plan_took;
    rota->next_job = record->core.jobs;
    rota->next_wait = record->core.waits;
    rota->plan_due = record->core.plan_due <= 2 ? record->core.plan_due : 2;
    return ROTA_OK;
}

static enum rota_error restore_lane(struct rota *rota, const struct rota_record *record)
{
    struct rota_event event = {.kind = ROTA_EVENT_LANE};
    event.lane.lane = record->lane.lane;
    event.lane.flags = record->lane.flags & ~(uint32_t)ROTA_LANE_PAUSED;
    event.lane.patience = record->lane.patience;
    enum rota_error error = on_lane(rota, &event);
    if (!error && record->lane.flags & ROTA_LANE_PAUSED)
        LANE(rota, map_find(&rota->lane_by_number, record->lane.lane))->flags |= ROTA_LANE_PAUSED;
    return error;
}

static enum rota_error restore_worker(struct rota *rota, const struct rota_record *record)
{
    if (!worker_reserve(rota) || !effect_cover(rota)) return no_memory(rota);
    if (!record->worker.id.number || worker_find(rota, record->worker.id)) return damaged(rota);
    worker_row row = worker_add(rota, record->worker.id);
    struct worker *worker = WORKER(rota, row);
    worker->cores = record->worker.cores;
    worker->memory_mib = record->worker.memory_mib;
    worker->slots = record->worker.slots;
    worker->machine = record->worker.machine;
    worker->asks = record->worker.asks;
    worker->silent_since = record->worker.silent_since;
    if (record->worker.paused) worker->paused |= PAUSE_ORDERED;
    if (record->worker.leaves) worker->paused |= PAUSE_LEAVING;
    rota->asking += worker->asks != 0;
    rota_time lease = rota->config.lease, since = worker->silent_since;
    if (since != ROTA_NEVER)
        heap_set(&rota->leases, row, since > ROTA_NEVER - lease ? ROTA_NEVER : since + lease);
    room_update(rota, row);
    return ROTA_OK;
}

// Submissions are restored before the last state of the job is set: afterwards they would be
// refused.
static enum rota_error restore_job(struct rota *rota, const struct rota_record *record)
{
    struct rota_job_spec spec = {
        .client = record->job.client, .key = record->job.key, .on_failure = record->job.on_failure};
    struct intake intake
        = {.spec = &spec, .policy = record->job.policy, .job_id = record->job.id.number};
    if (!intake.job_id || job_find(rota, record->job.id)) return damaged(rota);
    if (!pool_reserve(&rota->memory, &rota->jobs, 1)
        || !map_reserve(&rota->memory, &rota->job_by_id, 1)
        || !map_reserve(&rota->memory, &rota->job_by_key, 1) || !effect_cover(rota))
        return no_memory(rota);
    job_row row = submit_job(rota, &intake);
    JOB(rota, row)->failed_task = record->job.failed_task;
    JOB(rota, row)->paused = record->job.paused;
    rota->paused_jobs += record->job.paused;
    JOB(rota, row)->was_closed = record->job.state == ROTA_JOB_CLOSED;
    return ROTA_OK;
}

static bool is_bundle_row(const struct rota *rota, task_row row)
{
    return rota->task[row].flags & TASK_IS_BUNDLE;
}

static enum rota_error restore_submit(struct rota *rota, const struct rota_record *record)
{
    if (!record->submit.spec) return damaged(rota);
    struct rota_job_spec spec = *record->submit.spec;
    spec.job = record->submit.job;
    spec.first = record->submit.first;
    job_row job = job_find(rota, spec.job);
    struct intake intake = {.spec = &spec, .unconditional = job && JOB(rota, job)->was_closed};
    enum rota_error error = submit_verify(rota, &intake);
    if (!error) error = submit_reserve(rota, &intake);
    if (!error) error = submit_stage_objects(rota, &intake);
    if (!error) error = submit_order(rota, &intake);
    if (!error) {
        uint64_t sequence = rota->sequence;
        batch_row batch = submit_rows(rota, &intake);
        BATCH(rota, batch)->sequence = record->submit.sequence;
        rota->sequence = sequence > record->submit.sequence ? sequence : record->submit.sequence;
        for (uint32_t i = 0; i < spec.task_count; i++) {
            bool idle = spec.tasks[i].flags & ROTA_TASK_ON_DEMAND;
            task_row row = intake.row + i;
            if (is_bundle_row(rota, row)) continue;
            task_restore(rota, row, idle ? ROTA_TASK_IDLE : ROTA_TASK_QUEUED,
                         rota->task[row].flags);
        }
    }
    submit_release(rota, &intake);
    return error;
}

static enum rota_error restore_attempt(struct rota *rota, const struct rota_record *record,
                                       task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    if (task->flags & TASK_CLAIMED) {
        if (!handler_reserve(rota, record->task.handler)) return no_memory(rota);
        handler_take(rota, row, record->task.handler);
        task->worker = 0;
        return ROTA_OK;
    }
    worker_row worker = worker_find(rota, record->task.worker);
    if (!worker) return damaged(rota);
    task->worker = worker;
    if (!record->task.run_as.job) return ROTA_OK;
    if (!graph_late_reserve(rota, 1) || !map_reserve(&rota->memory, &rota->run_as, 1)
        || !map_reserve(&rota->memory, &rota->runs, 1))
        return no_memory(rota);
    attempt_put_name(rota, row, record->task.run_as);
    return ROTA_OK;
}

// Waiting tasks wait again; lanes and placement find their places again.
static enum rota_task_state state_to_begin_with(enum rota_task_state state)
{
    bool waits = state >= ROTA_TASK_STAGED && state <= ROTA_TASK_SHARED;
    return waits ? ROTA_TASK_QUEUED : state;
}

static void restore_extra(struct rota *rota, const struct rota_record *record, task_row row)
{
    assert(IS_TASK(rota, row));
    struct extra *extra = task_extra(rota, row);
    if (!rota->task[row].extra) return;
    extra->asked = record->task.asked;
    extra->resume = (record->task.phase >> 4) & 15u;
    extra->restored = record->task.state;
    extra->since = record->task.since;
}

// A task that is being stopped runs, on a worker or with a handler.
static bool flags_fit(enum rota_task_state state, uint16_t flags)
{
    bool stopping = flags & TASK_STOPPING, claimed = flags & TASK_CLAIMED;
    bool waits = state == ROTA_TASK_WAITING || state == ROTA_TASK_BLOCKED;
    if (flags & TASK_BACKOFF && !waits) return false;
    if (flags & TASK_DISCARDED && !stopping) return false;
    return (!stopping && !claimed) || state == ROTA_TASK_RUNNING;
}

static enum rota_error restore_task(struct rota *rota, const struct rota_record *record)
{
    task_row row = task_find(rota, record->task.id);
    enum rota_task_state state = (enum rota_task_state)record->task.state;
    if (!row || state == ROTA_TASK_NONE || state >= ROTA_TASK_STATES) return damaged(rota);
    struct task *task = &rota->task[row];
    if (is_bundle_row(rota, row)) {
        bundle_get(rota, row)->ever_staged |= record->task.phase != 0;
        return ROTA_OK;
    }
    restore_extra(rota, record, row);
    task->outcome = record->task.outcome;
    task->tries = (uint32_t)record->task.tries & 1023u;
    task->attempt = record->task.attempt & TASK_ATTEMPT_MAX;
    if (PLANTED(RESTORE_FIRST) && task->attempt) task->attempt = 1;
    if (PLANTED(RESTORE_TRIES)) task->tries = 0;
    task->status = record->task.status;
    if (record->task.asked > rota->turn) rota->turn = record->task.asked;
    uint16_t flags = (uint16_t)(task->flags | record->task.flags << TASK_STORED_SHIFT);
    if (!flags_fit(state, flags)) return damaged(rota);
    if (flags & TASK_BACKOFF) {
        if (!backoff_reserve(rota)) return no_memory(rota);
        heap_set(&rota->backoffs, row, record->task.since);  // its dependencies are counted later
        if (task->extra) task_extra(rota, row)->since = 0;
    }
    task_restore(rota, row, state_to_begin_with(state), flags);
    bool out = state == ROTA_TASK_ASSIGNED || state == ROTA_TASK_RUNNING;
    return out ? restore_attempt(rota, record, row) : ROTA_OK;
}

static enum rota_error restore_object(struct rota *rota, const struct rota_record *record)
{
    object_row row = object_find(rota, record->object.id);
    if (!row || !OBJECT(rota, row)->job) return damaged(rota);
    OBJECT(rota, row)->bytes = record->object.bytes;
    OBJECT(rota, row)->content = record->object.content;
    OBJECT(rota, row)->flags = record->object.flags & ~(uint32_t)(OBJECT_MARKED | OBJECT_CHANGED);
    return ROTA_OK;
}

static enum rota_error restore_replica(struct rota *rota, const struct rota_record *record)
{
    if (!object_reserve(rota, 1) || !pool_reserve(&rota->memory, &rota->replicas, 1)
        || !effect_cover(rota))
        return no_memory(rota);
    worker_row worker = worker_find(rota, record->replica.worker);
    object_row object = object_find(rota, record->replica.object);
    if (!worker) return damaged(rota);
    if (!object) {
        object = object_add(rota, record->replica.object);
        OBJECT(rota, object)->flags = ROTA_OBJECT_ARTIFACT;
    }
    if (!OBJECT(rota, object)->job) OBJECT(rota, object)->bytes = record->replica.bytes;
    replica_row row = replica_add(rota, object, worker);
    if (record->replica.flags & REPLICA_LOCATED) replica_locate(rota, row);
    REPLICA(rota, row)->flags |= record->replica.flags & (REPLICA_PRIMARY | REPLICA_KEPT);
    return ROTA_OK;
}

static wait_row last_item(const struct rota *rota, uint32_t number)
{
    for (wait_row at = rota->waits.count; at-- > 1;)
        if (WAIT(rota, at)->number == number) return at;
    return 0;
}

static enum rota_error restore_wait(struct rota *rota, const struct rota_record *record)
{
    if (!wait_reserve(rota, 1) || !effect_cover(rota)) return no_memory(rota);
    struct wait like = {.number = record->wait.number,
                        .index = record->wait.index,
                        .mode = record->wait.mode,
                        .client = record->wait.client};
    bool read = record->wait.object.high || record->wait.object.low;
    if (read)
        like.object = object_find(rota, record->wait.object);
    else
        like.task = task_find(rota, record->wait.task);
    if (!like.object && !like.task) return damaged(rota);
    wait_add(rota, &like, read ? 0 : last_item(rota, like.number));
    return ROTA_OK;
}

// ---- After all rows are restored: derived state ---------------------------------------------

typedef void each_fn(struct rota *rota, task_row row);

static void for_each_task(struct rota *rota, each_fn *call)
{
    for (job_row job = 1; job < rota->jobs.count; job++) {
        if (!JOB(rota, job)->id) continue;
        for (task_row row = job_next_task(rota, job, 0); row; row = job_next_task(rota, job, row))
            call(rota, row);
    }
}

// Members of a bundle that was never staged have no record of their own.
static void restore_idle(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    bool fresh = extra->bundle && !extra->restored && rota->task[row].state == ROTA_TASK_QUEUED;
    if (fresh && !bundle_get(rota, extra->bundle)->ever_staged)
        task_restore(rota, row, ROTA_TASK_IDLE, rota->task[row].flags);
}

static void restore_need(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    bool holds = object_holds_inputs((enum rota_task_state)rota->task[row].state);
    for (uint32_t i = 0; i < extra->input_count; i++) {
        struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        if (object->job) object->need += holds;
    }
    for (uint32_t i = 0; i < extra->output_count; i++) {
        struct object *object
            = OBJECT(rota, rota->use[extra->use_first + extra->input_count + i].object);
        object->view = object_view(rota, object);
    }
}

static void restore_uploads(struct rota *rota)
{
    for (object_row row = 1; row < rota->objects.count; row++)
        if (OBJECT(rota, row)->job) OBJECT(rota, row)->view = object_view(rota, OBJECT(rota, row));
}

static bool has_passed(const struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    uint8_t state = task_extra(rota, row)->restored;
    return state >= ROTA_TASK_HELD && state <= ROTA_TASK_RUNNING;
}

static void restore_bundle(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (!is_bundle_row(rota, row)) return;
    const struct bundle *bundle = bundle_get(rota, row);
    task_restore(rota, row, counts_state(bundle->counts, bundle->ever_staged),
                 rota->task[row].flags);
}

static void restore_counters(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct extra *extra = task_extra(rota, row);
    bool bound = rota->task[row].state == ROTA_TASK_QUEUED && !has_passed(rota, row);
    if (extra->clause_count)
        extra->verdict = bound ? (uint8_t)condition_evaluate(rota, row) : VERDICT_TRUE;
    graph_count_needs(rota, row, &rota->unmet[row], &rota->task[row].dead);
}

static void restore_running(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    if (!out || task->flags & TASK_IS_BUNDLE) return;
    if (task->worker) worker_charge(rota, task->worker, row);
    for (uint32_t i = 0; task->worker && i < extra->input_count; i++) {
        object_row at = rota->use[extra->use_first + i].object;
        bool plain = OBJECT(rota, at)->job && !(OBJECT(rota, at)->flags & ROTA_OBJECT_STREAM);
        if (plain) replica_use(rota, at, task->worker);
    }
    if (extra->key) OBJECT(rota, extra->key)->runner = row;
    if (!(task->flags & TASK_HAS_LANE)) return;
    lane_enter(rota, row);
    if (task->state == ROTA_TASK_RUNNING) lane_started(rota, row);
}

static void restore_lined_up(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (rota->task[row].state != ROTA_TASK_QUEUED || !(rota->task[row].flags & TASK_HAS_LANE))
        return;
    uint8_t state = task_extra(rota, row)->restored;
    if (state == ROTA_TASK_HELD) outcome_ready(rota, row);
    if (state == ROTA_TASK_OFFERED) lane_restore_offered(rota, row);
}

static void restore_offered(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (rota->task[row].state != ROTA_TASK_QUEUED) return;
    if (task_extra(rota, row)->restored != ROTA_TASK_OFFERED) return;
    outcome_ready(rota, row);
}

static void restore_shared(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    if (rota->task[row].state != ROTA_TASK_QUEUED) return;
    if (task_extra(rota, row)->restored != ROTA_TASK_SHARED) return;
    task_move(rota, row, CAUSE_OFFERED);
    if (rota->task[row].flags & TASK_HAS_LANE) lane_enter(rota, row);
    if (!place_shared(rota, row)) place_add(rota, row);
}

static void restore_waiting(struct rota *rota, task_row row)
{
    assert(IS_TASK(rota, row));
    bool shared = task_extra(rota, row)->restored == ROTA_TASK_SHARED;
    if (rota->task[row].state == ROTA_TASK_QUEUED && !shared) outcome_admit(rota, row);
}

// Phases of pull resume where they were; the extra rows kept them until now.
static bool restore_phases(struct rota *rota, const struct rota_record *records, uint32_t count)
{
    assert(records || !count);
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != ROTA_RECORD_TASK) continue;
        task_row row = task_find(rota, records[i].task.id);
        const struct task *task = &rota->task[row];
        bool queued = task->state == ROTA_TASK_OFFERED && task_policy(rota, row) == ROTA_POLICY_PULL
                      && lane_is_next(rota, row) && !place_is_paused(rota, row);
        if (queued && !pull_restore(rota, row, records[i].task.phase & 15u, records[i].task.since))
            return false;
    }
    return true;
}

static void restore_job_states(struct rota *rota, const struct rota_record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != ROTA_RECORD_JOB) continue;
        struct job *job = JOB(rota, job_find(rota, records[i].job.id));
        job->state = records[i].job.state;
        rota->closing += job->state == ROTA_JOB_CLOSED;
        job->told = job->state == ROTA_JOB_FAILED
                        ? job->out == 0
                        : job->state == ROTA_JOB_LAST && !job->counts[CLASS_ACTIVE];
    }
}

// The store already has these rows, so no records are written.
static void forget_effects(struct rota *rota)
{
    struct rota_effects effects;
    do effects = rota_take(rota);
    while (effects.more);
    rota->action_count = 0;
    rota->trace.length = 0;
    rota->taken = false;
}

// Restored workers get rows without gaps. A worker whose row differs from its record is recorded
// again: otherwise it would be confused with later workers at the next restore.
static void number_workers(struct rota *rota, const struct rota_record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != ROTA_RECORD_WORKER || records[i].gone) continue;
        worker_row row = worker_find(rota, records[i].worker.id);
        if (row && row != records[i].worker.order) worker_mark(rota, row);
    }
}

static enum rota_error restore_rows(struct rota *rota, const struct rota_record *records,
                                    uint32_t count, enum rota_record_kind kind, restore_fn *restore)
{
    assert(kind <= ROTA_RECORD_WAIT);
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != kind || records[i].gone) continue;
        enum rota_error error = restore(rota, &records[i]);
        if (error) return error;
    }
    return ROTA_OK;
}

static enum rota_error rebuild(struct rota *rota, const struct rota_record *records, uint32_t count)
{
    for_each_task(rota, restore_idle);
    for_each_task(rota, restore_need);
    restore_uploads(rota);
    for_each_task(rota, restore_bundle);
    for_each_task(rota, restore_counters);
    if (!effect_reserve(rota, 0) || !effect_cover(rota)) return no_memory(rota);
    for_each_task(rota, restore_running);
    for_each_task(rota, restore_lined_up);
    lane_restore_placing(rota);
    for_each_task(rota, restore_offered);
    for_each_task(rota, restore_waiting);
    for_each_task(rota, restore_shared);  // all leaders are in place by now
    graph_settle(rota);
    if (!restore_phases(rota, records, count)) return no_memory(rota);
    restore_job_states(rota, records, count);
    return restore_rows(rota, records, count, ROTA_RECORD_WAIT, restore_wait);
}

enum rota_error on_restore(struct rota *rota, const struct rota_event *event)
{
    static const struct {
        enum rota_record_kind kind;
        restore_fn *restore;
    } steps[] = {
        {ROTA_RECORD_CORE, restore_core},       {ROTA_RECORD_LANE, restore_lane},
        {ROTA_RECORD_WORKER, restore_worker},   {ROTA_RECORD_JOB, restore_job},
        {ROTA_RECORD_SUBMIT, restore_submit},   {ROTA_RECORD_OBJECT, restore_object},
        {ROTA_RECORD_REPLICA, restore_replica}, {ROTA_RECORD_TASK, restore_task},
    };
    if (rota->sequence || rota->lanes.count || rota->workers.count || rota->jobs.count)
        return refuse(rota, ROTA_NOT_NOW, "only an empty core can be restored");
    enum rota_error error = ROTA_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !error; i++)
        error = restore_rows(rota, event->restore.records, event->restore.count, steps[i].kind,
                             steps[i].restore);
    uint32_t news = rota->plan_due;
    if (!error) error = rebuild(rota, event->restore.records, event->restore.count);
    rota->plan_due = news;  // admitting known tasks again is no reason to plan
    if (error) {
        core_reset(rota);
        return error;
    }
    wait_settle(rota);
    job_settle(rota);
    forget_effects(rota);
    number_workers(rota, event->restore.records, event->restore.count);
    return ROTA_OK;
}
