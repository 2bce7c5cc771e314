// model_faults.c - faults: workers that crash and return, tasks that fail.
#include "plan/model_internal.h"

void model_fate(struct model *model, uint32_t task, double times, bool fails)
{
    assert(times > 0);
    model->tasks[task].times = times;
    model->tasks[task].fails = fails;
}

bool model_failed(const struct model *model, uint32_t task)
{
    assert(task < model->graph->task_count);
    return model->tasks[task].fails;
}

bool model_is_down(const struct model *model, uint32_t worker)
{
    assert(worker < model->cluster->worker_count);
    return model->workers[worker].down;
}

void model_kill(struct model *model, uint32_t task)
{
    assert(task < model->graph->task_count);
    struct model_task *at = &model->tasks[task];
    model_uncut(model, task);
    if (at->state == TASK_RUNS) {
        model_free(model, task);
        at->state = TASK_AWAY;
        model_streams_left(model, task);
    } else if (at->state != TASK_OVER) {
        model_retract(model, task);
    }
}

// Removes all copies of an object except those on the worker, and those that are sent from there.
static void copies_thin(struct model *model, uint32_t object, uint32_t worker)
{
    assert(object < model->graph->object_count);
    uint32_t *link = &model->copy_of[object];
    while (*link) {
        struct copy *copy = &model->copies[*link - 1];
        bool comes = copy->state != COPY_THERE && model->links[copy->link].source == worker;
        if (copy->worker != worker && !comes) {
            link = &copy->next;
            continue;
        }
        if (copy->state != COPY_WAITS)
            room_give(model, copy->worker, model->graph->mib[object]);
        network_close(model, *link - 1);
        if (copy->worker != worker) {
            model_touch(model, copy->worker);
            model_grow(&model->broken, &model->broken_capacity, model->broken_count,
                       sizeof *model->broken);
            model->broken[model->broken_count++] = (struct model_arrival){object, copy->worker};
        }
        *link = copy->next;
    }
}

uint32_t model_crash(struct model *model, uint32_t worker, const struct model_arrival **broken)
{
    assert(!model_is_down(model, worker));
    struct model_worker *at = &model->workers[worker];
    model->broken_count = 0;
    for (uint32_t i = 0; i < model->graph->task_count; i++) {
        if (model->tasks[i].worker != worker) continue;
        model_kill(model, i);
        model->tasks[i].state = TASK_AWAY;  // its outputs are lost, too
    }
    for (uint32_t i = 0; i < model->graph->object_count; i++) copies_thin(model, i, worker);
    room_crash(model, worker);
    at->down = true;
    *broken = model->broken;
    return model->broken_count;
}

void model_come_back(struct model *model, uint32_t worker)
{
    assert(model_is_down(model, worker));
    model->workers[worker].down = false;
}

// ---- Tasks that were cut off ----------------------------------------------------------------

void model_cut_task(struct model *model, uint32_t task, enum model_cut why)
{
    assert(task < model->graph->task_count);
    model->tasks[task].why = why;
    model->cut[model->cut_count++] = task;
}

void model_uncut(struct model *model, uint32_t task)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->cut_count; i++)
        if (model->cut[i] != task) model->cut[kept++] = model->cut[i];
    model->cut_count = kept;
}

uint32_t model_cut_off(struct model *model, const uint32_t **tasks)
{
    uint32_t count = model->cut_count;
    for (uint32_t i = 0; i < count; i++) model->cut_told[i] = model->cut[i];
    model->cut_count = 0;
    *tasks = model->cut_told;
    return count;
}

enum model_cut model_why(const struct model *model, uint32_t task)
{
    return model->tasks[task].why;
}
