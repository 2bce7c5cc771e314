// task_groups.c - groups tasks that exchange much data, so that one worker gets the group.
//
// Placing tasks one by one sees too late that some belong together: the producers of a task's
// inputs are spread over all workers because those are idle. Here producers and consumers are
// joined first, along the largest objects, as long as a family is not larger than a worker's share
// of all work. Then a family goes to the worker with the least work.
#include "plan/planner_internal.h"

#include <stdlib.h>
#include <string.h>

struct tie {
    double mib;
    uint32_t maker, user;
};

static int by_size(const void *a, const void *b)
{
    const struct tie *one = a, *other = b;
    if (one->mib != other->mib) return one->mib > other->mib ? -1 : 1;
    if (one->maker != other->maker) return one->maker < other->maker ? -1 : 1;
    return (one->user > other->user) - (one->user < other->user);
}

static uint32_t head_of(uint32_t *family, uint32_t task)
{
    while (family[task] != task) task = family[task] = family[family[task]];
    return task;
}

static uint32_t ties_find(const struct plan_graph *graph, struct tie *ties)
{
    uint32_t count = 0;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const struct plan_task *row = &graph->tasks[task];
        for (uint32_t i = 0; i < row->input_count; i++) {
            uint32_t object = graph->inputs[row->input + i];
            uint32_t maker = graph->objects[object].producer;
            if (maker == PLAN_NONE || graph->mib[object] <= 0) continue;
            ties[count++] = (struct tie){graph->mib[object], maker, task};
        }
    }
    qsort(ties, count, sizeof *ties, by_size);
    return count;
}

static double work_of(const struct planner *planner, uint32_t task)
{
    assert(task < planner->graph->task_count);
    const struct plan_graph *graph = planner->graph;
    if (planner->stage[task] == PLAN_DONE) return 0;
    return graph->seconds[task] * graph->tasks[task].cores;
}

static void join(struct planner *planner, double share)
{
    assert(share > 0);
    struct family *families = &planner->families;
    struct tie *ties = plan_take(planner->graph->input_count, sizeof *ties);
    uint32_t count = ties_find(planner->graph, ties);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = head_of(families->of, ties[i].maker), b = head_of(families->of, ties[i].user);
        if (a == b || families->work[a] + families->work[b] > share) continue;
        families->of[b] = a;
        families->work[a] += families->work[b];
    }
    free(ties);
}

// A task that runs, is done or was bound determines the worker of its family. A task that was only
// bound does not keep its family on an overloaded worker, for example when a worker has joined.
static void homes_find(struct planner *planner, double share)
{
    assert(share > 0);
    struct family *families = &planner->families;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < planner->graph->task_count; i++) {
            uint32_t head = head_of(families->of, i);
            uint32_t where = pass ? planner->bound[i] : planner->before.where[i];
            if (families->home[head] != PLAN_NONE || where == PLAN_NONE) continue;
            if (pass && families->load[where] + families->work[head] > share) continue;
            families->home[head] = where;
            families->load[where] += families->work[head];
        }
    }
}

void family_begin(struct planner *planner)
{
    const struct plan_graph *graph = planner->graph;
    struct family *families = &planner->families;
    uint32_t workers = planner->cluster->worker_count;
    double all = 0;
    if (!families->of) {
        families->of = plan_take(graph->task_count, sizeof *families->of);
        families->work = plan_take(graph->task_count, sizeof *families->work);
        families->home = plan_take(graph->task_count, sizeof *families->home);
        families->load = plan_take(workers, sizeof *families->load);
    }
    for (uint32_t i = 0; i < graph->task_count; i++) {
        families->of[i] = i;
        families->home[i] = PLAN_NONE;
        families->work[i] = work_of(planner, i);
        all += families->work[i];
    }
    memset(families->load, 0, workers * sizeof *families->load);
    double share = all / workers * 1.0001;
    join(planner, share);
    homes_find(planner, share);
    planner->steps += 4 * (uint64_t)graph->input_count + graph->task_count;
}

void family_release(struct planner *planner)
{
    struct family *families = &planner->families;
    free(families->of), free(families->work), free(families->home), free(families->load);
}

uint32_t family_home(struct planner *planner, uint32_t task)
{
    assert(task < planner->graph->task_count);
    struct family *families = &planner->families;
    const uint32_t *cores = planner->cluster->cores;
    uint32_t head = head_of(families->of, task), need = planner->graph->tasks[task].cores;
    uint32_t *home = &families->home[head];
    if (*home != PLAN_NONE) return cores[*home] >= need ? *home : PLAN_NONE;
    for (uint32_t i = 0; i < planner->cluster->worker_count; i++) {
        if (cores[i] < need) continue;
        bool less = *home == PLAN_NONE
                    || families->load[i] * cores[*home] < families->load[*home] * cores[i];
        if (less) *home = i;
    }
    planner->steps += planner->cluster->worker_count;
    if (*home != PLAN_NONE) families->load[*home] += families->work[head];
    return *home;
}
