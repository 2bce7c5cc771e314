// place_plan.c - the policy plan: one worker for each ready task, chosen by score.
//
// A plan takes ready tasks by priority and rank. Among equal ones it compares a window of tasks and
// places first the task that gains most from its best worker: most bytes that need not be moved,
// then most cores. It never waits for a better place while a worker has room. A task that finds no
// room, and has no lane, may overbook a worker up to a limit; it is recalled as soon as another
// worker has room.
#include "core/core.h"

enum { WINDOW = 32, HOLDERS = 16, CORE_WORTH = 5000 };

struct candidate {
    task_row task;
    worker_row worker;  // the best one with room; 0: none
    uint64_t local;     // input bytes that are already there
};

// ---- When to plan ---------------------------------------------------------------------

void plan_news(struct rota *rota, uint32_t strength)
{
    assert(strength == 1 || strength == 2);
    if (rota->plan_due < strength) {
        rota->plan_due = strength;
        effect_core(rota);
    }
}

static rota_time threshold(const struct rota *rota)
{
    const rota_time by_news[]
        = {rota->config.plan_idle, rota->config.plan_update, rota->config.plan_submit};
    return by_news[rota->plan_due];
}

// A plan may run when more time has passed since the last one than the change is worth, and more
// than the last one took, so that planning takes less than half of the time.
rota_time plan_deadline(const struct rota *rota)
{
    if (rota->plan_more) return rota->now;
    rota_time least = threshold(rota), took = rota->plan_end - rota->plan_start;
    if (rota->plan_due == 0 && (least == 0 || rota->plan_active == 0 || !rota->planned))
        return ROTA_NEVER;
    if (!rota->planned || (least == 0 && took == 0)) return rota->now;
    rota_time wait = least > took ? least : took;
    return wait >= ROTA_NEVER - rota->plan_end ? ROTA_NEVER : rota->plan_end + wait + 1;
}

// ---- The best worker for a task -------------------------------------------------------------

// Artifacts of unknown size count one byte, so that a near one is preferred.
static uint64_t worth(const struct object *object)
{
    return object->bytes ? object->bytes : 1;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct holder {
    worker_row worker;
    uint64_t local;
};

static void holder_add(struct holder *holders, uint32_t *count, worker_row worker, uint64_t bytes)
{
    assert(worker);
    uint32_t i = 0;
    while (i < *count && holders[i].worker != worker) i++;
    if (i == *count) {
        if (i == HOLDERS) return;
        holders[(*count)++] = (struct holder){worker, 0};
    }
    holders[i].local = add_capped(holders[i].local, bytes);
}

// Workers that hold inputs, or the result. Of very many copies the first few are enough.
static uint32_t find_holders(const struct rota *rota, task_row row, struct holder *holders)
{
    assert(IS_TASK(rota, row));
    const struct extra *extra = task_extra(rota, row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < extra->input_count; i++) {
        const struct object *object = OBJECT(rota, rota->use[extra->use_first + i].object);
        for (replica_row at = object->replicas; at; at = REPLICA(rota, at)->next_of_object)
            if (REPLICA(rota, at)->flags & REPLICA_LOCATED)
                holder_add(holders, &count, REPLICA(rota, at)->worker, worth(object));
    }
    if (!extra->key) return count;
    // A worker that holds the result need not run the task, wherever the inputs are.
    const struct object *result = OBJECT(rota, extra->key);
    for (replica_row at = result->replicas; at; at = REPLICA(rota, at)->next_of_object)
        if (REPLICA(rota, at)->flags & REPLICA_LOCATED)
            holder_add(holders, &count, REPLICA(rota, at)->worker, UINT64_MAX / 4);
    return count;
}

// `anywhere` is a worker with room, if there is one.
static void find_worker(const struct rota *rota, struct candidate *candidate, worker_row anywhere)
{
    assert(IS_TASK(rota, candidate->task));
    const struct task *task = &rota->task[candidate->task];
    const struct profile *profile = PROFILE(rota, task->profile);
    struct holder holders[HOLDERS];
    uint32_t count = task->extra ? find_holders(rota, candidate->task, holders) : 0;
    worker_row bound = planned_worker(rota, candidate->task);
    candidate->worker = 0;
    candidate->local = 0;
    if (bound && place_has_room(WORKER(rota, bound), profile)) {
        candidate->worker = bound;
        candidate->local = UINT64_MAX / 2;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!place_has_room(WORKER(rota, holders[i].worker), profile)) continue;
        bool better
            = holders[i].local > candidate->local
              || (holders[i].local == candidate->local && holders[i].worker < candidate->worker);
        if (candidate->worker && !better) continue;
        candidate->worker = holders[i].worker;
        candidate->local = holders[i].local;
    }
    if (!candidate->worker) candidate->worker = anywhere;
}

// ---- The next tasks -------------------------------------------------------------------------

static bool profile_goes_first(const struct rota *rota, const struct profile *a,
                               const struct profile *b)
{
    if (a->wants.priority != b->wants.priority) return a->wants.priority > b->wants.priority;
    uint32_t one = rota->task[ready_first(rota, a)].rank,
             other = rota->task[ready_first(rota, b)].rank;
    if (one != other) return one > other;
    if (a->wants.cores != b->wants.cores) return a->wants.cores > b->wants.cores;
    return task_older(rota, ready_first(rota, a), ready_first(rota, b));
}

// The best ready task for which some worker has room, and that worker.
static struct candidate best_ready(const struct rota *rota)
{
    const struct profile *best = NULL;
    worker_row worker = 0;
    for (profile_row row = rota->ready_plan; row; row = PROFILE(rota, row)->next) {
        const struct profile *profile = PROFILE(rota, row);
        if (best && !profile_goes_first(rota, profile, best)) continue;
        worker_row room = room_find(rota, profile);
        if (!room) continue;
        best = profile;
        worker = room;
    }
    return (struct candidate){.task = best ? ready_first(rota, best) : 0, .worker = worker};
}

static bool same_level(const struct rota *rota, task_row a, task_row b)
{
    assert(a && b);
    const struct task *one = &rota->task[a], *other = &rota->task[b];
    return one->rank == other->rank
           && PROFILE(rota, one->profile)->wants.priority
                  == PROFILE(rota, other->profile)->wants.priority;
}

// Takes the next tasks of one priority and rank out of the queues.
static uint32_t take_window(struct rota *rota, struct candidate *window, uint32_t most)
{
    assert(most > 0);
    uint32_t count = 0;
    while (count < most) {
        struct candidate best = best_ready(rota);
        if (!best.task || (count && !same_level(rota, window[0].task, best.task))) break;
        ready_remove(rota, best.task);
        find_worker(rota, &best, best.worker);
        window[count++] = best;
    }
    return count;
}

static uint64_t gain(const struct rota *rota, const struct candidate *candidate)
{
    uint64_t cores = PROFILE(rota, rota->task[candidate->task].profile)->wants.cores;
    return add_capped(candidate->local, cores * CORE_WORTH);
}

static uint32_t most_gain(const struct rota *rota, const struct candidate *window, uint32_t count)
{
    assert(count > 0);
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t one = gain(rota, &window[i]), other = gain(rota, &window[best]);
        if (one > other || (one == other && task_older(rota, window[i].task, window[best].task)))
            best = i;
    }
    return best;
}

// The task is out of its queue; if memory runs out it returns there.
static bool assign(struct rota *rota, task_row row, worker_row worker, uint32_t flags)
{
    assert(IS_ROW(rota->workers, worker));
    if (!place_reserve(rota, row)) {
        rota->starved = true;
        ready_push_back(rota, row);
        return false;
    }
    attempt_assign(rota, row, worker, flags);
    graph_settle(rota);
    return true;
}

static bool has_place(const struct rota *rota, struct candidate *candidate)
{
    assert(candidate->task);
    const struct profile *profile = PROFILE(rota, rota->task[candidate->task].profile);
    if (!candidate->worker) return false;
    if (place_has_room(WORKER(rota, candidate->worker), profile)) return true;
    find_worker(rota, candidate, room_find(rota, profile));
    return candidate->worker != 0;
}

// Places one window; a task whose worker was taken by another one is evaluated again. Returns the
// number of placed tasks.
static uint32_t place_window(struct rota *rota, uint32_t work)
{
    struct candidate window[WINDOW], left[WINDOW];
    uint32_t most = pool_used(&rota->replicas) ? WINDOW : 1, placed = 0, left_count = 0;
    uint32_t count = take_window(rota, window, most < work ? most : work);
    while (count) {
        uint32_t i = most_gain(rota, window, count);
        worker_row before = window[i].worker;
        if (rota->starved || !has_place(rota, &window[i])) {
            left[left_count++] = window[i];
        } else if (window[i].worker != before) {
            continue;  // it gains less there, so another task may be placed first
        } else if (assign(rota, window[i].task, window[i].worker, 0)) {
            placed++;
        }
        window[i] = window[--count];
    }
    while (left_count) ready_push(rota, left[--left_count].task);
    return rota->starved ? 0 : placed;
}

// ---- Overbooking ----------------------------------------------------------------------------

static uint32_t overbook_max(const struct rota *rota, const struct worker *worker, bool reads)
{
    uint64_t cores = (uint64_t)worker->cores * rota->config.overbook_cores;
    uint32_t least = rota->config.overbook;
    if (reads || cores <= least) return least;
    return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

static worker_row least_overbooked(const struct rota *rota, const struct profile *profile)
{
    const struct task *task = &rota->task[ready_first(rota, profile)];
    bool reads = task->extra && task_extra(rota, ready_first(rota, profile))->input_count;
    worker_row best = 0;
    for (worker_row at = 1; at < rota->workers.count; at++) {
        const struct worker *worker = WORKER(rota, at);
        if (!place_fits(worker, profile) || worker->silent_since != ROTA_NEVER) continue;
        if (worker->paused) continue;
        if (worker->overbooked >= overbook_max(rota, worker, reads)) continue;
        if (worker->slots && worker->tasks >= worker->slots) continue;
        if (!best || worker->overbooked < WORKER(rota, best)->overbooked) best = at;
    }
    return best;
}

static bool overbook_one(struct rota *rota)
{
    const struct profile *best = NULL;
    worker_row worker = 0;  // for the best task
    for (profile_row row = rota->ready_plan; row; row = PROFILE(rota, row)->next) {
        const struct profile *profile = PROFILE(rota, row);
        bool gated = rota->task[ready_first(rota, profile)].flags & TASK_HAS_LANE;
        if (gated || (best && !profile_goes_first(rota, profile, best))) continue;
        worker_row found = planned_worker(rota, ready_first(rota, profile));
        if (!found)
            found = least_overbooked(rota, profile);
        else if (!planned_may_wait(rota, ready_first(rota, profile), found))
            continue;  // it waits for its worker, or for an idle one
        if (!found) continue;
        best = profile;
        worker = found;
    }
    if (!best) return false;
    task_row task = ready_first(rota, best);
    ready_remove(rota, task);
    return assign(rota, task, worker, TASK_OVERBOOKED);
}

static bool take_back_one(struct rota *rota, worker_row at)
{
    assert(IS_ROW(rota->workers, at));
    for (task_row row = WORKER(rota, at)->first; row; row = rota->task[row].next) {
        const struct task *task = &rota->task[row];
        if (!(task->flags & TASK_OVERBOOKED) || task->state != ROTA_TASK_ASSIGNED) continue;
        if (task->flags & TASK_HAS_LANE || planned_worker(rota, row) == at) continue;
        if (PROFILE(rota, task->profile)->wants.policy != ROTA_POLICY_PLAN) continue;
        if (!room_find(rota, PROFILE(rota, task->profile)) || !effect_reserve(rota, 1)) continue;
        attempt_stop(rota, row);
        attempt_end(rota, row);
        rota->task[row].tries--;  // it had no chance to run
        task_move(rota, row, CAUSE_RETURNED);
        outcome_ready(rota, row);
        return true;
    }
    return false;
}

// Attempts that wait on an overbooked worker are recalled when another worker has room. Skipped
// while no worker has a free core: there may be a million such attempts.
static bool take_back(struct rota *rota)
{
    if (!rota->room_leaves || rota->room_cores[1] <= 1) return false;
    workers_settle(rota);  // a recalled attempt may have left room for another
    for (worker_row at = 1; rota->overbooked && at < rota->workers.count; at++)
        if (WORKER(rota, at)->overbooked && take_back_one(rota, at)) return true;
    return false;
}

void plan_turn(struct rota *rota)
{
    if (plan_deadline(rota) > rota->now) return;
    if (!rota->plan_more) rota->plans++;
    rota->planned = true;
    rota->plan_start = rota->plan_end = rota->now;
    effect_core(rota);
    rota->starved = false;
    uint32_t work = rota->config.plan_work;
    do {
        for (uint32_t placed = 1; work && placed; work -= placed) placed = place_window(rota, work);
    } while (work && take_back(rota) && work--);
    // A task that found no memory may fit somewhere, so it is not overbooked.
    while (work && !rota->starved && rota->config.overbook && overbook_one(rota)) work--;
    rota->plan_due = 0;  // the plan has already looked at the tasks it made ready
    rota->plan_more = rota->starved || (work == 0 && best_ready(rota).task != 0);
}
