// check.c - recomputes all derived state from scratch and asserts the invariants.
#include "core/core.h"

static void check_counters(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    uint32_t unmet, dead;
    graph_count_needs(rota, row, &unmet, &dead);
    assert(rota->unmet[row] == unmet);
    assert(task->dead == dead);
    bool bound = task->state == ROTA_TASK_WAITING || task->state == ROTA_TASK_BLOCKED;
    if (bound && extra->clause_count) assert(extra->verdict == condition_evaluate(rota, row));
}

// All dependencies of an available task are met; a blocked task has one that cannot be.
static void check_state(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    uint32_t unmet = rota->unmet[row];
    switch (task->state) {
    case ROTA_TASK_WAITING: assert(unmet > 0 && task->dead == 0); break;
    case ROTA_TASK_BLOCKED:
        assert(unmet > 0 && task->dead > 0);
        assert(!(task->flags & TASK_UNFAILED) == graph_has_real_cause(rota, row));
        break;
    case ROTA_TASK_HELD:
    case ROTA_TASK_OFFERED:
    case ROTA_TASK_SHARED:
    case ROTA_TASK_ASSIGNED: assert(unmet == 0); break;
    default: break;
    }
    assert(task->state != ROTA_TASK_NONE);
    assert(task->state != ROTA_TASK_STAGED && task->state != ROTA_TASK_QUEUED);
    assert(task->state != ROTA_TASK_READY);
    assert(!(task->flags & TASK_QUEUED_LOOK));
    bool waits = task->flags & TASK_BACKOFF;
    assert(waits == (heap_due(&rota->backoffs, row) != ROTA_NEVER));
    if (waits) assert(task->state == ROTA_TASK_WAITING || task->state == ROTA_TASK_BLOCKED);
    if (task->flags & TASK_CLAIMED) assert(task->state == ROTA_TASK_RUNNING && !task->worker);
    bool out = task->worker || task->flags & TASK_CLAIMED;
    if (task->flags & TASK_DISCARDED) assert(task->flags & TASK_STOPPING);
    if (task->flags & TASK_STOPPING) assert(task->state == ROTA_TASK_RUNNING && out);
}

static void check_key(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    const struct extra *extra = task_extra(rota, row);
    if (!extra->key) return;
    task_row runner = OBJECT(rota, extra->key)->runner;
    bool out = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
    bool placed = task->state == ROTA_TASK_OFFERED && lane_is_next(rota, row)
                  && !place_is_paused(rota, row);
    assert((runner == row) == (out || placed));
    if (task->state == ROTA_TASK_SHARED) assert(runner == extra->leader && runner != row);
}

static void task_check(const struct rota *rota, task_row row)
{
    const struct task *task = &rota->task[row];
    assert(task->batch && task->profile);
    if (task->flags & TASK_IS_BUNDLE) {
        const struct bundle *bundle = bundle_get(rota, row);
        assert(task->state == counts_state(bundle->counts, bundle->ever_staged));
        return;
    }
    check_counters(rota, row);
    check_state(rota, row);
    check_key(rota, row);
}

// One task of a group, readers or writers, the counter is correct, and the queue is in order.
static void check_lane_members(const struct rota *rota, lane_row at, int32_t *counter,
                               uint32_t *inside, uint32_t *starting)
{
    for (extra_row i = 1; i < rota->extras.count; i++) {
        const struct extra *extra = EXTRA(rota, i);
        if (!extra->task || extra->lane != at) continue;
        const struct task *task = &rota->task[extra->task];
        if (!task_is_inside(task)) continue;
        ++*inside;
        *starting += task_is_starting(task);
        *counter += task->flags & TASK_WRITES ? 1 : -1;
        if (extra->group) assert(GROUP(rota, extra->group)->holder == extra->task);
        assert(!extra->in_line);
    }
}

static void lane_check(const struct rota *rota, lane_row row)
{
    const struct lane *lane = LANE(rota, row);
    int32_t counter = 0;
    uint32_t inside = 0, starting = 0;
    check_lane_members(rota, row, &counter, &inside, &starting);
    assert(lane->counter == counter && lane->inside == inside && lane->starting == starting);
    assert((uint32_t)(counter < 0 ? -counter : counter) == inside);
    for (task_row at = lane->held_first; at; at = rota->task[at].next) {
        assert(task_extra(rota, at)->in_line && task_extra(rota, at)->lane == row);
        task_row next = rota->task[at].next;
        assert(next ? rota->task[next].previous == at : lane->held_last == at);
        bool by_request = !(lane->flags & ROTA_LANE_SUBMIT_ORDER);
        if (next && by_request)
            assert(task_extra(rota, at)->asked <= task_extra(rota, next)->asked);
    }
    if (lane->reserved) assert(lane->reserved == lane->held_first);
    if (lane->placing) assert(rota->task[lane->placing].state == ROTA_TASK_OFFERED);
    bool paused = lane->flags & ROTA_LANE_PAUSED;
    if (paused) assert(!lane->placing);
    if (!lane->placing && !paused) assert(!lane->offered_first);
    assert(!lane->looking && !lane->looking_strict);
}

// The room taken on a worker is the sum of its attempts.
static void worker_check(const struct rota *rota, worker_row row)
{
    const struct worker *worker = WORKER(rota, row);
    uint64_t cores = 0, memory = 0;
    uint32_t tasks = 0, overbooked = 0;
    for (task_row at = worker->first; at; at = rota->task[at].next) {
        const struct task *task = &rota->task[at];
        assert(task->worker == row);
        assert(task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING);
        cores += PROFILE(rota, task->profile)->wants.cores;
        memory += PROFILE(rota, task->profile)->wants.memory_mib;
        overbooked += (task->flags & TASK_OVERBOOKED) != 0;
        tasks++;
    }
    assert(worker->cores_used == cores && worker->memory_used == memory);
    assert(worker->tasks == tasks && worker->overbooked == overbooked);
    for (uint32_t kind = 0; kind < 2; kind++)
        for (offer_row at = worker->queue_first[kind]; at; at = OFFER(rota, at)->next)
            assert(rota->task[OFFER(rota, at)->task].state == ROTA_TASK_OFFERED);
}

// Consumers have seen the current state of the object; no task needs a removed object.
static void object_check(const struct rota *rota, object_row row)
{
    const struct object *object = OBJECT(rota, row);
    uint32_t located = 0, need = 0;
    for (replica_row at = object->replicas; at; at = REPLICA(rota, at)->next_of_object) {
        assert(REPLICA(rota, at)->object == row);
        located += (REPLICA(rota, at)->flags & REPLICA_LOCATED) != 0;
    }
    assert(object->located == located);
    if (!object->job) return;
    for (uint32_t use = object->uses; use; use = rota->use[use].next)
        need += object_holds_inputs((enum rota_task_state)rota->task[rota->use[use].task].state);
    assert(object->need == need);
    assert(object->view == object_view(rota, object));
    if (object->flags & OBJECT_REMOVED) assert(!object->replicas);
    uint8_t state = rota->task[object->producer].state;
    bool making = state >= ROTA_TASK_STAGED && state <= ROTA_TASK_RUNNING;
    bool idle = !need && !(object->flags & ROTA_OBJECT_KEEP) && object->producer && !making;
    if (idle && object->flags & OBJECT_FINISHED) assert(object->flags & OBJECT_REMOVED);
}

// The counters of a job and of its bundles are the sums over their tasks.
static void check_job(const struct rota *rota, job_row row)
{
    const struct job *job = JOB(rota, row);
    uint32_t counts[TASK_CLASSES] = {0}, tasks = 0, out = 0;
    for (task_row at = job_next_task(rota, row, 0); at; at = job_next_task(rota, row, at)) {
        const struct task *task = &rota->task[at];
        tasks++;
        task_check(rota, at);
        if (task->flags & TASK_IS_BUNDLE) continue;
        counts[task_class(task)]++;
        bool attempt = task->state == ROTA_TASK_ASSIGNED || task->state == ROTA_TASK_RUNNING;
        out += attempt && (task->worker || task->flags & TASK_CLAIMED);
    }
    assert(job->task_count == tasks && job->out == out);
    assert(!job->paused || rota->paused_jobs);
    for (int class = CLASS_ACTIVE; class < TASK_CLASSES; class ++)
        assert(job->counts[class] == counts[class]);
    assert(!job->looking);
}

static void check_bundle_sums(const struct rota *rota)
{
    for (extra_row i = 1; i < rota->extras.count; i++) {
        const struct extra *extra = EXTRA(rota, i);
        if (!extra->task || !extra->bundle) continue;
        enum task_class class = task_class(&rota->task[extra->task]);
        if (class != CLASS_NONE) assert(bundle_get(rota, extra->bundle)->counts[class] > 0);
    }
}

// An empty core holds nothing.
static void check_empty(const struct rota *rota)
{
    if (pool_used(&rota->jobs)) return;
    assert(rota->tasks == 0 && rota->out == 0 && rota->shared == 0 && rota->edges == 0);
    assert(pool_used(&rota->extras) == 0 && pool_used(&rota->groups) == 0);
    assert(pool_used(&rota->profiles) == 0 && pool_used(&rota->batches) == 0);
    assert(pool_used(&rota->handlers) == 0 && pool_used(&rota->offers) == 0
           && rota->phases.count == 0 && rota->backoffs.count == 0);
    assert(rota->plan_active == 0 && rota->plan_unplaced == 0 && rota->closing == 0);
    assert(rota->paused_jobs == 0);
}

void rota_check(const struct rota *rota)
{
    for (job_row row = 1; row < rota->jobs.count; row++)
        if (JOB(rota, row)->id) check_job(rota, row);
    for (lane_row row = 1; row < rota->lanes.count; row++)
        if (LANE(rota, row)->number) lane_check(rota, row);
    for (worker_row row = 1; row < rota->workers.count; row++)
        if (WORKER(rota, row)->id) worker_check(rota, row);
    for (object_row row = 1; row < rota->objects.count; row++)
        if (OBJECT(rota, row)->id.high || OBJECT(rota, row)->id.low) object_check(rota, row);
    check_bundle_sums(rota);
    check_empty(rota);
    assert(!rota->look_leaders.first && !rota->look_recalled.first);
    assert(!rota->look_tasks.first && !rota->look_bundles.first);
    assert(!rota->look_ready.first && !rota->look_lanes && !rota->look_strict && !rota->orphans);
}
