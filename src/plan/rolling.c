// rolling.c - a plan that is updated while the tasks run.
//
// Durations of finished tasks predict those of other tasks of their kind. As long as all goes as
// expected the first plan stays. After a deviation the next tasks are planned again, given what
// runs, is done and is being transferred. A task moves only if it gains enough.
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

// A late task will be even later: measured, 0.3 to 0.6 are alike, 0.05 and 1 are worse.
static const double overdue_share = 0.4;   // of its age a late task takes more
static const double loyalty_share = 0.25;  // of the mean duration
static const double for_ever = 1e12;
enum { AHEAD = 6 };                        // tasks planned for each core; 4 are too few
// After a deviation the rule that a search found best for the expected durations is unreliable. A
// rule that moves little data performs well in all cases.
static const struct plan_rule steady = {.penalty = 1, .few = true};

struct way {  // a copy that exists or is being transferred
    uint32_t object, worker;
    double asked;  // when it was requested; below 0: it has arrived
};

struct kind {
    const char *name;
    uint32_t count;  // number of finished tasks
    double seconds;  // sum of their durations
};

struct rolling {
    struct plan_graph *graph;
    const struct plan_cluster *cluster;
    struct planner *planner;
    struct plan_schedule schedule;
    uint8_t *stage;
    uint32_t *where, *kind_of;
    double *began;
    struct kind *kinds;
    uint32_t kind_count;
    struct way *ways;
    uint32_t way_count, way_capacity;
    uint32_t *planned, *before_worker, *before_order;
    uint32_t cores;
    bool *down;  // by worker
    bool is_surprised;
};

// ---- Kinds ----------------------------------------------------------------------------------

struct named {
    const char *name;
    uint32_t task;
};

static int by_name(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    return strcmp(one->name, other->name);
}

static void find_kinds(struct rolling *rolling, char *const *kinds)
{
    uint32_t count = rolling->graph->task_count;
    struct named *all = plan_take(count, sizeof *all);
    for (uint32_t i = 0; i < count; i++) all[i] = (struct named){kinds[i], i};
    qsort(all, count, sizeof *all, by_name);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(all[i].name, all[i - 1].name))
            rolling->kinds[rolling->kind_count++] = (struct kind){.name = all[i].name};
        rolling->kind_of[all[i].task] = rolling->kind_count - 1;
    }
    free(all);
}

struct rolling *rolling_open(struct plan_graph *graph, const struct plan_cluster *cluster,
                             char *const *kinds)
{
    struct rolling *rolling = plan_take(1, sizeof *rolling);
    uint32_t count = graph->task_count;
    rolling->graph = graph;
    rolling->cluster = cluster;
    rolling->planner = planner_open(graph, cluster);
    rolling->schedule = plan_schedule_take(count);
    rolling->stage = plan_take(count, sizeof *rolling->stage);
    rolling->where = plan_take(count, sizeof *rolling->where);
    rolling->kind_of = plan_take(count, sizeof *rolling->kind_of);
    rolling->began = plan_take(count, sizeof *rolling->began);
    rolling->kinds = plan_take(count, sizeof *rolling->kinds);
    rolling->planned = plan_take(count, sizeof *rolling->planned);
    rolling->before_worker = plan_take(count, sizeof *rolling->before_worker);
    rolling->before_order = plan_take(count, sizeof *rolling->before_order);
    rolling->down = plan_take(cluster->worker_count, sizeof *rolling->down);
    for (uint32_t i = 0; i < cluster->worker_count; i++) rolling->cores += cluster->cores[i];
    find_kinds(rolling, kinds);
    return rolling;
}

void rolling_close(struct rolling *rolling)
{
    if (!rolling) return;
    planner_close(rolling->planner);
    plan_schedule_release(&rolling->schedule);
    free(rolling->stage), free(rolling->where), free(rolling->kind_of), free(rolling->began);
    free(rolling->kinds), free(rolling->planned), free(rolling->ways);
    free(rolling->before_worker), free(rolling->before_order), free(rolling->down), free(rolling);
}

void rolling_bind(struct rolling *rolling, const struct plan_schedule *schedule)
{
    plan_schedule_copy(&rolling->schedule, schedule, rolling->graph->task_count);
}

// ---- Events ---------------------------------------------------------------------------------

static bool differ(double a, double b)
{
    double most = a > b ? a : b, difference = a > b ? a - b : b - a;
    return difference > 1e-6 * most;
}

void rolling_started(struct rolling *rolling, uint32_t task, uint32_t worker, double now)
{
    assert(task < rolling->graph->task_count);
    rolling->stage[task] = PLAN_RUNS;
    rolling->where[task] = worker;
    rolling->began[task] = now;
}

// Unfinished tasks of a kind are expected to take the mean of the finished ones.
static void learn(struct rolling *rolling, uint32_t task, double seconds)
{
    assert(seconds >= 0);
    struct kind *kind = &rolling->kinds[rolling->kind_of[task]];
    kind->count++;
    kind->seconds += seconds;
    rolling->is_surprised = true;
    if (!*kind->name) return;  // no other task is similar
    for (uint32_t i = 0; i < rolling->graph->task_count; i++)
        if (rolling->stage[i] != PLAN_DONE && rolling->kind_of[i] == rolling->kind_of[task])
            rolling->graph->seconds[i] = kind->seconds / kind->count;
}

void rolling_ended(struct rolling *rolling, uint32_t task, double now)
{
    assert(task < rolling->graph->task_count);
    double took = (now - rolling->began[task])
                  * plan_speed(rolling->cluster, rolling->where[task]);
    rolling->stage[task] = PLAN_DONE;
    if (differ(took, rolling->graph->seconds[task])) learn(rolling, task, took);
    rolling->graph->seconds[task] = took;
}

void rolling_made(struct rolling *rolling, uint32_t object, double mib)
{
    assert(object < rolling->graph->object_count);
    if (differ(mib, rolling->graph->mib[object])) rolling->is_surprised = true;
    rolling->graph->mib[object] = mib;
}

void rolling_asked(struct rolling *rolling, uint32_t object, uint32_t worker, double now)
{
    assert(object < rolling->graph->object_count);
    if (!ARRAY_MORE_RAW(&memory_heap, rolling->ways, rolling->way_count, rolling->way_capacity))
        abort();
    for (uint32_t i = 0; i < rolling->way_count; i++)
        if (rolling->ways[i].object == object && rolling->ways[i].worker == worker) return;
    rolling->ways[rolling->way_count++] = (struct way){object, worker, now};
}

void rolling_called_off(struct rolling *rolling, uint32_t object, uint32_t worker)
{
    for (uint32_t i = 0; i < rolling->way_count; i++)
        if (rolling->ways[i].object == object && rolling->ways[i].worker == worker)
            rolling->ways[i] = rolling->ways[--rolling->way_count];
}

void rolling_arrived(struct rolling *rolling, uint32_t object, uint32_t worker)
{
    assert(object < rolling->graph->object_count);
    for (uint32_t i = 0; i < rolling->way_count; i++)
        if (rolling->ways[i].object == object && rolling->ways[i].worker == worker)
            rolling->ways[i].asked = -1;
}

// Copies whose consumers have all ended are irrelevant.
static bool is_needed(const struct rolling *rolling, uint32_t object)
{
    assert(object < rolling->graph->object_count);
    const struct plan_object *at = &rolling->graph->objects[object];
    for (uint32_t i = 0; i < at->user_count; i++)
        if (rolling->stage[rolling->graph->users[at->user + i]] == PLAN_OPEN) return true;
    return false;
}

// ---- Faults ---------------------------------------------------------------------------------

void rolling_opened(struct rolling *rolling, uint32_t task)
{
    assert(task < rolling->graph->task_count);
    if (rolling->stage[task] == PLAN_OPEN) return;
    rolling->stage[task] = PLAN_OPEN;
    rolling->is_surprised = true;
}

// Another worker that has the outputs of a task that are still needed; PLAN_NONE: none.
static uint32_t other_holder(const struct rolling *rolling, uint32_t task)
{
    const struct plan_task *row = &rolling->graph->tasks[task];
    for (uint32_t i = 0; i < rolling->way_count; i++) {
        const struct way *way = &rolling->ways[i];
        bool its = way->object >= row->output && way->object < row->output + row->output_count;
        if (its && way->asked < 0 && !rolling->down[way->worker]) return way->worker;
    }
    return PLAN_NONE;
}

// Tasks that ran there do not run any more; objects that only this worker had must be made again,
// if a task reads them.
void rolling_worker_lost(struct rolling *rolling, uint32_t worker)
{
    assert(worker < rolling->cluster->worker_count);
    uint32_t kept = 0;
    rolling->down[worker] = true;
    rolling->is_surprised = true;
    for (uint32_t i = 0; i < rolling->way_count; i++)
        if (rolling->ways[i].worker != worker) rolling->ways[kept++] = rolling->ways[i];
    rolling->way_count = kept;
    for (uint32_t at = rolling->graph->task_count; at-- > 0;) {
        uint32_t task = rolling->graph->sorted[at], needed = 0;
        if (rolling->stage[task] == PLAN_OPEN || rolling->where[task] != worker) continue;
        const struct plan_task *row = &rolling->graph->tasks[task];
        for (uint32_t i = 0; i < row->output_count; i++)
            needed += is_needed(rolling, row->output + i);
        bool done = rolling->stage[task] == PLAN_DONE;
        uint32_t other = done ? other_holder(rolling, task) : PLAN_NONE;
        if (other != PLAN_NONE) rolling->where[task] = other;
        else if (needed || !done) rolling->stage[task] = PLAN_OPEN;
    }
}

void rolling_worker_back(struct rolling *rolling, uint32_t worker)
{
    assert(worker < rolling->cluster->worker_count);
    rolling->down[worker] = false;
    rolling->is_surprised = true;
}

bool rolling_is_surprised(const struct rolling *rolling)
{
    return rolling->is_surprised;
}

// ---- Planning again -------------------------------------------------------------------------

static double expected_left(const struct rolling *rolling, uint32_t task, double now)
{
    double speed = plan_speed(rolling->cluster, rolling->where[task]);
    double age = now - rolling->began[task], left = rolling->graph->seconds[task] / speed - age;
    return left > overdue_share * age ? left : overdue_share * age;
}

static void tell_planner(struct rolling *rolling, double now)
{
    struct planner *planner = rolling->planner;
    double mean = 0;
    uint32_t kept = 0;
    planner_clear(planner);
    for (uint32_t i = 0; i < rolling->graph->task_count; i++) {
        mean += rolling->graph->seconds[i];
        if (rolling->stage[i] == PLAN_DONE)
            planner_set_done(planner, i, rolling->where[i]);
        else if (rolling->stage[i] == PLAN_RUNS)
            planner_set_running(planner, i, rolling->where[i], expected_left(rolling, i, now));
        else
            planner_set_place(planner, i, rolling->schedule.worker[i]);
    }
    for (uint32_t i = 0; i < rolling->cluster->worker_count; i++)
        if (rolling->down[i]) planner_set_busy(planner, i, rolling->cluster->cores[i], for_ever);
    for (uint32_t i = 0; i < rolling->way_count; i++) {
        struct way way = rolling->ways[i];
        if (!is_needed(rolling, way.object)) continue;
        rolling->ways[kept++] = way;
        if (rolling->stage[rolling->graph->objects[way.object].producer] == PLAN_OPEN) continue;
        double takes = plan_transfer(rolling->cluster, rolling->graph->mib[way.object]);
        planner_set_copy(planner, way.object, way.worker, way.asked < 0 ? 0 : takes);
    }
    rolling->way_count = kept;
    planner_set_loyalty(planner, loyalty_share * mean / rolling->graph->task_count);
}

uint32_t rolling_plan(struct rolling *rolling, double now, const struct plan_schedule **schedule,
                      const uint32_t **tasks)
{
    struct plan_schedule *to = &rolling->schedule;
    uint32_t count = rolling->graph->task_count, changed = 0;
    memcpy(rolling->before_worker, to->worker, count * sizeof *to->worker);
    memcpy(rolling->before_order, to->order, count * sizeof *to->order);
    tell_planner(rolling, now);
    planner_plan(rolling->planner, &steady, to, AHEAD * rolling->cores);
    for (uint32_t i = 0; i < count; i++) {
        if (rolling->stage[i] != PLAN_OPEN) continue;
        // ahead of the tasks that were not planned
        if (to->worker[i] != PLAN_NONE) to->order[i] += count;
        if (to->worker[i] == rolling->before_worker[i] && to->order[i] == rolling->before_order[i])
            continue;
        rolling->planned[changed++] = i;
    }
    rolling->is_surprised = false;
    *schedule = to;
    *tasks = rolling->planned;
    return changed;
}

uint64_t rolling_planned(const struct rolling *rolling)
{
    return planner_planned(rolling->planner);
}
