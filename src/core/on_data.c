// on_data.c - requests of clients about objects and results: keep, release, read, wait.
#include "core/core.h"

static enum rota_error find_object(struct rota *rota, rota_object_id id, object_row *row)
{
    *row = object_find(rota, id);
    if (*row && OBJECT(rota, *row)->job) return ROTA_OK;
    return refuse(rota, ROTA_NOT_FOUND, "no such object");
}

enum rota_error on_keep(struct rota *rota, const struct rota_event *event)
{
    object_row row;
    enum rota_error error = find_object(rota, event->object.object, &row);
    return error ? error
                 : refuse(rota, ROTA_NOT_NOW, "an object can be kept only when it is submitted");
}

enum rota_error on_release(struct rota *rota, const struct rota_event *event)
{
    object_row row;
    enum rota_error error = find_object(rota, event->object.object, &row);
    if (error) return error;
    struct object *object = OBJECT(rota, row);
    if (JOB(rota, object->job)->state >= ROTA_JOB_FAILED)
        return refuse(rota, ROTA_NOT_NOW, "the job has failed or is closed");
    if (!(object->flags & ROTA_OBJECT_KEEP))
        return refuse(rota, ROTA_NOT_NOW, "the object is not kept");
    if (!effect_reserve(rota, 0)) return refuse(rota, ROTA_NO_MEMORY, "out of memory");
    object->flags &= ~(uint32_t)ROTA_OBJECT_KEEP;
    object->flags |= OBJECT_USED;
    object_mark(rota, row);
    object_purge(rota, row);
    return ROTA_OK;
}

enum rota_error on_read(struct rota *rota, const struct rota_event *event)
{
    object_row row;
    enum rota_error error = find_object(rota, event->object.object, &row);
    if (error) return error;
    const struct object *object = OBJECT(rota, row);
    if (JOB(rota, object->job)->state >= ROTA_JOB_FAILED)
        return refuse(rota, ROTA_NOT_NOW, "the job has failed or is closed");
    if (!(object->flags & ROTA_OBJECT_KEEP) || object->flags & OBJECT_REMOVED)
        return refuse(rota, ROTA_NOT_NOW, "the object is not kept, or was removed");
    if (!wait_reserve(rota, 1) || !effect_cover(rota) || !effect_reserve(rota, 1))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the wait");
    struct wait like = {.number = rota->next_wait++, .client = event->object.client, .object = row};
    effect_core(rota);
    wait_add(rota, &like, 0);
    if (object_is_present(rota, object))
        wait_object_over(rota, row);
    else
        object_refresh(rota, row);  // so that it is made again if it was lost
    return ROTA_OK;
}

// ---- Waiting for tasks ------------------------------------------------------------------

static enum rota_error check_one(struct rota *rota, rota_task_id id, uint64_t *items)
{
    job_row job = job_find(rota, (rota_job_id){id.job});
    if (!job || (id.task && !task_find(rota, id)))
        return refuse(rota, ROTA_NOT_FOUND, "a wait names an unknown task");
    if (JOB(rota, job)->state >= ROTA_JOB_FAILED)
        return refuse(rota, ROTA_NOT_NOW, "a task to wait for belongs to a failed or closed job");
    *items += id.task ? 1 : JOB(rota, job)->task_count;
    return ROTA_OK;
}

static wait_row add_job(struct rota *rota, struct wait *like, wait_row last, uint32_t id)
{
    assert(last == 0 || IS_ROW(rota->waits, last));
    job_row job = job_find(rota, (rota_job_id){id});
    for (task_row at = job_next_task(rota, job, 0); at; at = job_next_task(rota, job, at)) {
        if (rota->task[at].flags & TASK_IS_BUNDLE) continue;
        like->task = at;
        last = wait_add(rota, like, last);
        like->index++;
    }
    return last;
}

static void tell_nothing(struct rota *rota, const struct wait *like)
{
    struct rota_action *action = effect_action(rota, ROTA_ACTION_WAIT_OVER);
    action->wait_over.client = like->client;
    action->wait_over.wait = like->number;
}

enum rota_error on_wait(struct rota *rota, const struct rota_event *event)
{
    uint64_t items = 0;
    for (uint32_t i = 0; i < event->wait.count; i++) {
        enum rota_error error = check_one(rota, event->wait.tasks[i], &items);
        if (error) return error;
    }
    if (event->wait.mode > ROTA_WAIT_SOME)
        return refuse(rota, ROTA_BAD_EVENT, "unknown kind of wait");
    if (items > UINT32_MAX / 2 || !wait_reserve(rota, (uint32_t)items) || !effect_cover(rota)
        || !effect_reserve(rota, items + 1))
        return refuse(rota, ROTA_NO_MEMORY, "out of memory for the wait");
    struct wait like
        = {.number = rota->next_wait++, .mode = event->wait.mode, .client = event->wait.client};
    wait_row last = 0;
    effect_core(rota);
    for (uint32_t i = 0; i < event->wait.count; i++) {
        rota_task_id id = event->wait.tasks[i];
        if (id.task == 0) {
            last = add_job(rota, &like, last, id.job);
            continue;
        }
        like.task = task_find(rota, id);
        last = wait_add(rota, &like, last);
        like.index++;
    }
    if (last)
        wait_look(rota, WAIT(rota, last)->first);
    else
        tell_nothing(rota, &like);
    return ROTA_OK;
}
