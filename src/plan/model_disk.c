// model_disk.c - limited disks: they hold outputs and copies.
//
// An object takes space until it is dropped, a copy from the start of its download. An input that
// does not fit is not fetched, and the task that needs it there does not start. A task whose
// outputs do not fit at its end has failed.
#include "plan/model_internal.h"

#include <stdlib.h>

static const double nothing = 1e-9;  // MiB: tolerance for rounding

void room_open(struct model *model)
{
    if (model->cluster->disk_mib)
        model->gone = plan_take(model->graph->object_count, sizeof *model->gone);
}

void room_close(struct model *model)
{
    free(model->gone);
}

void room_reset(struct model *model)
{
    if (!model->gone) return;
    for (uint32_t i = 0; i < model->graph->object_count; i++) model->gone[i] = false;
    for (uint32_t i = 0; i < model->cluster->worker_count; i++)
        model->workers[i].disk_free = model->cluster->disk_mib[i];
}

bool room_take(struct model *model, uint32_t worker, double mib)
{
    assert(worker < model->cluster->worker_count);
    if (!model->gone) return true;
    if (mib > model->workers[worker].disk_free + nothing) return false;
    model->workers[worker].disk_free -= mib;
    return true;
}

void room_give(struct model *model, uint32_t worker, double mib)
{
    assert(worker < model->cluster->worker_count);
    if (model->gone) model->workers[worker].disk_free += mib;
}

void room_crash(struct model *model, uint32_t worker)
{
    assert(worker < model->cluster->worker_count);
    if (model->gone) model->workers[worker].disk_free = model->cluster->disk_mib[worker];
}

// ---- Outputs --------------------------------------------------------------------------------

static double outputs_mib(const struct model *model, uint32_t task, bool all)
{
    assert(task < model->graph->task_count);
    const struct plan_task *row = &model->graph->tasks[task];
    double mib = 0;
    for (uint32_t i = row->output; i < row->output + row->output_count; i++)
        if (!plan_is_stream(model->graph, i) && (all || !model->gone[i]))
            mib += model->graph->mib[i];
    return mib;
}

bool room_take_outputs(struct model *model, uint32_t task)
{
    const struct plan_task *row = &model->graph->tasks[task];
    if (!room_take(model, model->tasks[task].worker, outputs_mib(model, task, true))) return false;
    for (uint32_t i = row->output; i < row->output + row->output_count; i++) model->gone[i] = false;
    return true;
}

void room_forget_outputs(struct model *model, uint32_t task)
{
    room_give(model, model->tasks[task].worker, outputs_mib(model, task, false));
}

// ---- Copies ------------------------------------------------------------------------------------

static void unlink_copy(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    uint32_t *link = &model->copy_of[model->copies[copy].object];
    while (*link != copy + 1) link = &model->copies[*link - 1].next;
    *link = model->copies[copy].next;
}

static void refuse_task(struct model *model, uint32_t task)
{
    model_retract(model, task);
    model_cut_task(model, task, MODEL_CUT_INPUT);
}

void room_refuse(struct model *model, uint32_t copy)
{
    assert(copy < model->copy_count);
    uint32_t worker = model->copies[copy].worker, object = model->copies[copy].object;
    const struct plan_object *at = &model->graph->objects[object];
    model->workers[model->links[model->copies[copy].link].source].sending--;
    unlink_copy(model, copy);
    for (uint32_t i = 0; i < at->user_count; i++) {
        uint32_t user = model->graph->users[at->user + i];
        bool waits = model->tasks[user].state == TASK_GIVEN && model->tasks[user].worker == worker;
        if (waits) refuse_task(model, user);
    }
}

void model_drop(struct model *model, uint32_t object, uint32_t worker)
{
    assert(object < model->graph->object_count);
    const struct model_task *maker = &model->tasks[model->graph->objects[object].producer];
    if (!model->gone) return;
    if (maker->state == TASK_OVER && maker->worker == worker && !model->gone[object]) {
        model->gone[object] = true;
        room_give(model, worker, model->graph->mib[object]);
    }
    uint32_t at = model->copy_of[object];
    while (at && model->copies[at - 1].worker != worker) at = model->copies[at - 1].next;
    if (!at || model->copies[at - 1].state != COPY_THERE) return;
    unlink_copy(model, at - 1);
    room_give(model, worker, model->graph->mib[object]);
}
