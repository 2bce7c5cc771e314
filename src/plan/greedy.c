// greedy.c - plans in order of time: an idle core takes the ready task of highest rank.
//
// No core is kept for a task that is not ready. Among idle workers the one that has to fetch least
// gets the task.
#include "plan/planner_internal.h"

#include <stdlib.h>

struct event {
    double at;
    uint32_t task;
};

struct course {
    struct event *events;  // a heap of ends of tasks
    uint32_t count;
    double now;
};

static void push(struct course *course, struct event event)
{
    assert(event.at >= 0);
    uint32_t place = course->count++;
    for (; place > 0 && event.at < course->events[(place - 1) / 2].at; place = (place - 1) / 2)
        course->events[place] = course->events[(place - 1) / 2];
    course->events[place] = event;
}

static uint32_t pop(struct course *course)
{
    assert(course->count > 0);
    struct event first = course->events[0], last = course->events[--course->count];
    uint32_t place = 0;
    for (uint32_t child; (child = place * 2 + 1) < course->count; place = child) {
        if (child + 1 < course->count
            && course->events[child + 1].at < course->events[child].at)
            child++;
        if (course->events[child].at >= last.at) break;
        course->events[place] = course->events[child];
    }
    course->events[place] = last;
    course->now = first.at;
    return first.task;
}

static struct place find_idle(struct planner *planner, const struct plan_rule *rule, uint32_t task,
                              double now)
{
    assert(task < planner->graph->task_count);
    struct place best = {.worker = PLAN_NONE};
    uint32_t cores = planner->graph->tasks[task].cores;
    for (uint32_t i = 0; i < planner_workers(planner, rule); i++) {
        if (!plan_fits(planner->graph, planner->cluster, task, i)) continue;
        if (planner_cores(planner, i)[cores - 1] > now) continue;
        struct place place = planner_try(planner, rule, task, i);
        planner->steps += 3 + planner->needed_count;
        bool better = place.mib != best.mib ? place.mib < best.mib : place.finish < best.finish;
        if (best.worker == PLAN_NONE || better) best = place;
    }
    return best;
}

static void begin(struct planner *planner, struct course *course)
{
    const struct plan_graph *graph = planner->graph;
    for (uint32_t at = 0; at < graph->task_count; at++) {
        uint32_t task = graph->sorted[at];
        if (planner->stage[task] == PLAN_RUNS) {
            const struct plan_task *row = &graph->tasks[task];
            double left = row->output_count ? planner->now.made[row->output] : 0;
            push(course, (struct event){left, task});
        }
        if (planner->stage[task] != PLAN_OPEN) continue;
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        uint32_t lacks = 0;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++) {
            uint32_t producer = graph->objects[inputs[i]].producer;
            lacks += producer != PLAN_NONE && planner->stage[producer] != PLAN_DONE;
        }
        planner->lacks[task] = lacks;
        if (!lacks) planner_push(planner, task);
    }
}

uint32_t greedy_plan(struct planner *planner, const struct plan_rule *rule,
                     struct plan_schedule *schedule, uint32_t tasks_max, double *end)
{
    uint32_t all = planner->graph->task_count, placed = 0, count = 0;
    uint32_t *passed = plan_take(all, sizeof *passed);
    struct course course = {.events = plan_take(all, sizeof *course.events)};
    begin(planner, &course);
    while (placed < tasks_max) {
        while (planner->ready.count && placed < tasks_max) {
            uint32_t task = plan_queue_pop(&planner->ready, planner->keys);
            planner_need(planner, task);
            struct place place = find_idle(planner, rule, task, course.now);
            if (place.worker == PLAN_NONE) {
                passed[count++] = task;
                if (planner_cores(planner, planner->tree[1])[0] > course.now) break;
                continue;
            }
            if (place.start < course.now) {
                place.finish += course.now - place.start;
                place.start = course.now;
            }
            planner_commit(planner, rule, task, &place);
            schedule->worker[task] = place.worker;
            schedule->order[task] = all - placed++;
            if (*end < place.finish) *end = place.finish;
            push(&course, (struct event){place.finish, task});
        }
        while (count) planner_push(planner, passed[--count]);
        if (!course.count) break;
        planner_release_users(planner, pop(&course));
        while (course.count && course.events[0].at <= course.now)
            planner_release_users(planner, pop(&course));
    }
    free(passed), free(course.events);
    return placed;
}
