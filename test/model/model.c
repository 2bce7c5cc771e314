// model.c - finding things in the model, and its step.
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct model_task *model_task_search(struct model *model, rota_task_id id, uint16_t *hint)
{
    for (uint32_t i = 0; i < model->task_count; i++) {
        if (!model_same_task(model->tasks[i].id, id)) continue;
        *hint = (uint16_t)i;
        return &model->tasks[i];
    }
    return NULL;
}

struct model_job *model_job_find(struct model *model, uint32_t number)
{
    for (uint32_t i = 0; i < model->job_count; i++) {
        if (model->jobs[i].number == number) return &model->jobs[i];
    }
    return NULL;
}

struct model_object *model_object_find(struct model *model, rota_object_id id)
{
    uint16_t *hint = &model->object_hints[(id.high * 64 + id.low) % MODEL_HINTS];
    bool there = *hint < model->object_count && model_same_object(model->objects[*hint].id, id);
    if (there) return &model->objects[*hint];
    for (uint32_t i = 0; i < model->object_count; i++) {
        if (!model_same_object(model->objects[i].id, id)) continue;
        *hint = (uint16_t)i;
        return &model->objects[i];
    }
    return NULL;
}

struct model_worker *model_worker_find(struct model *model, rota_worker_id id)
{
    for (uint32_t i = 0; i < model->worker_count; i++) {
        if (model->workers[i].id.number == id.number) return &model->workers[i];
    }
    return NULL;
}

struct model_lane *model_lane_find(struct model *model, uint32_t number)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        if (model->lanes[i].number == number) return &model->lanes[i];
    }
    return NULL;
}

void model_add_action(struct model *model, struct rota_action action)
{
    if (model->action_count < MODEL_ACTIONS) model->actions[model->action_count++] = action;
}

void model_differs(struct model *model, const char *format, ...)
{
    if (model->difference[0]) return;
    model->difference_kind = format;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->difference, sizeof model->difference, format, arguments);
    va_end(arguments);
}

void model_open(struct model *model, const struct rota_config *config)
{
    memset(model, 0, sizeof *model);
    model->config = *config;
}

static enum model_verdict on_lane(struct model *model, const struct rota_event *event)
{
    if (event->lane.lane == 0) return MODEL_REFUSE;
    struct model_lane *lane = model_lane_find(model, event->lane.lane);
    bool changes = lane && lane->flags != event->lane.flags;
    for (uint32_t i = 0; i < model->task_count && changes; i++) {
        if (model->tasks[i].spec.lane == lane->number) return MODEL_REFUSE;
    }
    if (!lane) lane = &model->lanes[model->lane_count++];
    *lane = (struct model_lane){event->lane.lane, event->lane.flags, event->lane.patience};
    return MODEL_ACCEPT;
}

static enum model_verdict dispatch(struct model *model, const struct rota_event *event)
{
    switch (event->kind) {
    case ROTA_EVENT_SUBMIT: return model_on_submit(model, event);
    case ROTA_EVENT_CLOSE: return model_on_close(model, event);
    case ROTA_EVENT_CLIENT_LEFT: return model_on_client_left(model, event);
    case ROTA_EVENT_CANCEL: return model_on_cancel(model, event);
    case ROTA_EVENT_RETRY: return model_on_retry(model, event);
    case ROTA_EVENT_STAGE: return model_on_stage(model, event);
    case ROTA_EVENT_MANUAL: return model_on_manual(model, event);
    case ROTA_EVENT_KEEP:
    case ROTA_EVENT_RELEASE:
    case ROTA_EVENT_READ: return model_on_object(model, event);
    case ROTA_EVENT_WAIT: return model_on_wait(model, event);
    case ROTA_EVENT_LANE: return on_lane(model, event);
    case ROTA_EVENT_WORKER_JOINED:
    case ROTA_EVENT_WORKER_HEARD:
    case ROTA_EVENT_WORKER_SILENT:
    case ROTA_EVENT_WORKER_LEFT: return model_on_worker(model, event);
    case ROTA_EVENT_WORKER_ASKS: return model_on_asks(model, event);
    case ROTA_EVENT_CLAIM: return model_on_claim(model, event);
    case ROTA_EVENT_DELIVER:
    case ROTA_EVENT_FAIL: return model_on_deliver(model, event);
    case ROTA_EVENT_TASK_STARTED:
    case ROTA_EVENT_TASK_FINISHED: return model_on_report(model, event);
    case ROTA_EVENT_KEY_COMPLETED: return model_on_completed(model, event);
    case ROTA_EVENT_OBJECT_HELD:
    case ROTA_EVENT_OBJECT_LOST:
    case ROTA_EVENT_STREAMED: return model_on_replica(model, event);
    default: return MODEL_REFUSE;
    }
}

enum model_verdict model_step(struct model *model, const struct rota_event *event)
{
    if (event->now < model->now) return MODEL_REFUSE;
    model->now = event->now;
    model->turn++;
    enum model_verdict verdict = dispatch(model, event);
    if (verdict == MODEL_ACCEPT) model_settle(model);
    return verdict;
}
