// replay.c - executes a fixed schedule: every worker knows its tasks from the beginning.
#include "plan/plan.h"

#include <stdlib.h>

// A task that waits only for transfers has its inputs fetched before those of others.
static const double only_transfers = 100000;

static void ask_for_outputs(struct model *model, const struct plan_graph *graph,
                            const struct plan_schedule *schedule, uint32_t *unmade, uint32_t ended)
{
    assert(ended < graph->task_count);
    const struct plan_task *task = &graph->tasks[ended];
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct plan_object *object = &graph->objects[task->output + i];
        for (uint32_t u = 0; u < object->user_count; u++) unmade[graph->users[object->user + u]]--;
    }
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct plan_object *object = &graph->objects[task->output + i];
        for (uint32_t u = 0; u < object->user_count; u++) {
            uint32_t user = graph->users[object->user + u];
            if (schedule->worker[user] == schedule->worker[ended]) continue;
            model_request(model, task->output + i, schedule->worker[user],
                          schedule->order[user] + (unmade[user] ? 0 : only_transfers));
        }
    }
}

double plan_replay(struct model *model, const struct plan_graph *graph,
                   const struct plan_schedule *schedule, double limit)
{
    assert(schedule->worker && schedule->order);
    uint32_t *unmade = plan_take(graph->task_count, sizeof *unmade), left = graph->task_count;
    model_reset(model);
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint32_t *inputs = graph->inputs + graph->tasks[task].input;
        for (uint32_t i = 0; i < graph->tasks[task].input_count; i++)
            unmade[task] += graph->objects[inputs[i]].producer != PLAN_NONE;
        model_assign(model, task, schedule->worker[task], schedule->order[task]);
    }
    model_settle(model);
    while (left && model_now(model) < limit && model_advance(model, limit)) {
        const uint32_t *ended;
        uint32_t count = model_ended(model, &ended);
        for (uint32_t i = 0; i < count; i++)
            ask_for_outputs(model, graph, schedule, unmade, ended[i]);
        left -= count;
        if (left) model_settle(model);
    }
    free(unmade);
    return left ? limit : model_now(model);
}
