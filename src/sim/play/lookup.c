// lookup.c - the ids that belong to the names of a play, and the names that belong to ids.
#include "query/query.h"
#include "sim/play/internal.h"

#include <stdlib.h>

enum { OBJECT_SPACE = 1, KEY_SPACE = 2 };  // the upper half of an object id

// ---- From names ------------------------------------------------------------

// After a failure a name may be unknown because the statement that defines it failed.
static void unknown(struct play *play, const char *what, const char *name)
{
    if (play->refused || play->halt) return;
    if (!play->failures) {
        play_wrong(play, "there is no %s '%s'", what, name);
        return;
    }
    play_fail(play, "a known name", name);
    play->halt = PLAY_SKIPS;
}

static uint32_t newest_find(const struct play *play, const char *name)
{
    uint32_t number = names_find(&play->task_names, name);
    return number < play->newest_capacity ? play->newest[number] : 0;
}

uint32_t job_find(const struct play *play, const char *name)
{
    uint32_t number = names_find(&play->job_names, name);
    for (uint32_t row = play->job_count; number && row > 0; row--) {
        if (play->jobs[row].name == number) return row;
    }
    return 0;
}

rota_task_id task_named(struct play *play, const char *name)
{
    uint32_t row = newest_find(play, name);
    if (row) return play->tasks[row].id;
    unknown(play, "task or bundle", name);
    return (rota_task_id) { UINT32_MAX, UINT32_MAX };
}

rota_task_id task_or_job_named(struct play *play, const char *name)
{
    uint32_t job = job_find(play, name);
    if (newest_find(play, name) || !job) return task_named(play, name);
    return (rota_task_id) { play->jobs[job].id.number, 0 };
}

rota_job_id job_named(struct play *play, const char *name)
{
    uint32_t row = job_find(play, name);
    if (row) return play->jobs[row].id;
    unknown(play, "job", name);
    return (rota_job_id) { UINT32_MAX };
}

uint32_t worker_named(struct play *play, const char *name)
{
    uint32_t number = names_find(&play->worker_names, name);
    if (number && number < play->worker_capacity && play->workers[number].known) return number;
    unknown(play, "worker", name);
    return UINT32_MAX;
}

rota_object_id object_named(struct play *play, const char *name)
{
    uint32_t number = names_find(&play->object_names, name);
    if (number < play->object_capacity && play->objects[number].known) {
        return (rota_object_id) { OBJECT_SPACE, number };
    }
    number = names_find(&play->key_names, name);
    if (number) return (rota_object_id) { KEY_SPACE, number };
    unknown(play, "object or key", name);
    return (rota_object_id) { OBJECT_SPACE, UINT64_MAX };
}

uint32_t lane_named(struct play *play, const char *name)
{
    uint32_t number = names_find(&play->lane_names, name);
    if (!number) unknown(play, "lane", name);
    return number ? number : UINT32_MAX;
}

// ---- Names that may be new -------------------------------------------------

struct play_worker *play_worker_meet(struct play *play, const char *name, uint32_t *number)
{
    *number = names_add(&play->worker_names, name);
    ARRAY_GROW(play->workers, *number, play->worker_capacity);
    return &play->workers[*number];
}

struct play_object *object_meet(struct play *play, const char *name, rota_object_id *id)
{
    uint32_t number = names_add(&play->object_names, name);
    ARRAY_GROW(play->objects, number, play->object_capacity);
    *id = (rota_object_id) { OBJECT_SPACE, number };
    return &play->objects[number];
}

rota_object_id key_meet(struct play *play, const char *name)
{
    return (rota_object_id) { KEY_SPACE, names_add(&play->key_names, name) };
}

struct play_client *client_meet(struct play *play, uint32_t client)
{
    ARRAY_GROW(play->clients, client, play->client_capacity);
    return &play->clients[client];
}

uint32_t object_client(struct play *play, rota_object_id id)
{
    bool known = id.high == OBJECT_SPACE && id.low < play->object_capacity;
    if (known && play->objects[id.low].known) return play->objects[id.low].client;
    return names_add(&play->client_names, "client");
}

// ---- From ids -----------------------------------------------------------------------------------

static uint32_t job_row_find(const struct play *play, rota_job_id id)
{
    for (uint32_t row = play->job_count; row > 0; row--) {
        if (play->jobs[row].id.number == id.number) return row;
    }
    return 0;
}

uint32_t task_row_find(const struct play *play, rota_task_id id)
{
    uint32_t job = job_row_find(play, (rota_job_id) { id.job });
    if (!job || !id.task || id.task > play->jobs[job].task_count) return 0;
    return play->jobs[job].tasks[id.task - 1];
}

const char *task_text(const struct play *play, rota_task_id id)
{
    uint32_t job = job_row_find(play, (rota_job_id) { id.job });
    if (job && !id.task) return names_text(&play->job_names, play->jobs[job].name);
    return names_text(&play->task_names, play->tasks[task_row_find(play, id)].name);
}

const char *worker_text(const struct play *play, rota_worker_id id)
{
    return id.number ? names_text(&play->worker_names, id.number) : "-";
}

// ---- Why -------------------------------------------------------------------

static const char *why_task(const void *context, rota_task_id id)
{
    return task_text(context, id);
}

static const char *why_worker(const void *context, rota_worker_id id)
{
    return worker_text(context, id);
}

static const char *why_lane(const void *context, uint32_t lane)
{
    return names_text(&((const struct play *)context)->lane_names, lane);
}

static const char *why_group(const void *context, uint32_t group)
{
    return names_text(&((const struct play *)context)->group_names, group);
}

static const char *why_machine(const void *context, uint32_t machine)
{
    return names_text(&((const struct play *)context)->machine_names, machine);
}

void play_why(const struct play *play, rota_task_id id, char *text, size_t size)
{
    struct why_names names = { play, why_task, why_worker, why_lane, why_group, why_machine,
                               time_text };
    struct rota_why why = rota_why(play->rota, id);
    struct rota_task_view view = { 0 };
    rota_task_look(play->rota, id, &view);
    const struct play_task *task = &play->tasks[task_row_find(play, id)];
    struct why_subject subject = {
        .status = rota_task_status(play->rota, id),
        .other_status = rota_task_status(play->rota, why.task),
        .worker = view.worker,
        .cores = task->cores,
        .memory_mib = task->memory_mib,
        .access = task->access,
    };
    why_text(&why, &subject, &names, text, size);
}

// ---- The end ---------------------------------------------------------------

static void names_release_all(struct play *play)
{
    struct names *all[] = {
        &play->task_names, &play->worker_names, &play->lane_names, &play->group_names,
        &play->machine_names, &play->job_names, &play->client_names, &play->handler_names,
        &play->object_names, &play->key_names,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) names_release(all[i]);
}

void play_things_release(struct play *play)
{
    for (uint32_t i = 1; i <= play->job_count; i++) free(play->jobs[i].tasks);
    for (uint32_t i = 0; i < play->worker_capacity; i++) free(play->workers[i].runs);
    for (uint32_t i = 0; i < play->client_capacity; i++) {
        strings_release(&play->clients[i].confirms);
        strings_release(&play->clients[i].waits);
    }
    free(play->tasks);
    free(play->newest);
    free(play->drafted);
    free(play->jobs);
    free(play->workers);
    free(play->objects);
    free(play->clients);
    free(play->lanes);
    names_release_all(play);
}
