// core_record.c - what the core was told and whom it gave what, kept beside it: so that a mistake
// of the core alone is known as one, and can be told in a play.
#include "sim/cluster/internal.h"

enum { LINE_MAX = 150 };

// ---- What there is ------------------------------------------------------------------------------

static struct entry_task *task_find(const struct ledger *ledger, rota_task_id id)
{
    bool known = id.job < ledger->job_capacity && id.task
                 && id.task <= ledger->jobs[id.job].count;
    return known ? &ledger->jobs[id.job].tasks[id.task - 1] : NULL;
}

static void submit_note(struct ledger *ledger, const struct rota_job_spec *spec, uint32_t next_job)
{
    uint32_t number = spec->job.number ? spec->job.number : next_job;
    uint32_t first = spec->first ? spec->first : 1;
    while (number >= ledger->job_capacity) {
        uint32_t had = ledger->job_capacity;
        world_reserve(&ledger->jobs, &ledger->job_capacity, had, sizeof *ledger->jobs);
        memset(ledger->jobs + had, 0, (ledger->job_capacity - had) * sizeof *ledger->jobs);
    }
    struct entry_job *job = &ledger->jobs[number];
    job->count = first - 1;  // a crash may have taken what came behind
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct rota_task_spec *task = &spec->tasks[i];
        world_reserve(&job->tasks, &job->capacity, job->count, sizeof *job->tasks);
        job->tasks[job->count++] = (struct entry_task){.lane = task->lane,
                                                       .group = task->group,
                                                       .bundle = task->bundle,
                                                       .access = task->access};
    }
}

// A task, the members of a bundle, or (task 0) a whole job. What has succeeded stays so.
static void cancel_note(struct world *world, rota_task_id id, bool is_cancelled)
{
    struct ledger *ledger = &world->ledger;
    if (id.job >= ledger->job_capacity) return;
    for (uint32_t i = 0; i < ledger->jobs[id.job].count; i++) {
        struct entry_task *task = &ledger->jobs[id.job].tasks[i];
        bool meant = !id.task || id.task == i + 1 || id.task == task->bundle;
        struct rota_task_view view = {.state = ROTA_TASK_NONE};
        rota_task_look(world->seat.server.rota, (rota_task_id){id.job, i + 1}, &view);
        if (!meant) continue;
        task->is_cancelled = is_cancelled && view.state != ROTA_TASK_SUCCEEDED;
        task->attempt = view.attempt;
    }
}

// ---- Who has what -------------------------------------------------------------------------------

static void place_leave(struct ledger *ledger, uint32_t at)
{
    ledger->places[at] = ledger->places[--ledger->place_count];
}

static bool is_same(rota_task_id one, rota_task_id other)
{
    return one.job == other.job && one.task == other.task;
}

static void attempt_leaves(struct ledger *ledger, rota_task_id id, uint32_t attempt)
{
    for (uint32_t i = ledger->place_count; i-- > 0;)
        if (is_same(ledger->places[i].task, id) && ledger->places[i].attempt == attempt)
            place_leave(ledger, i);
}

static void handler_leaves(struct ledger *ledger, rota_task_id id, uint64_t handler)
{
    for (uint32_t i = ledger->place_count; i-- > 0;)
        if (is_same(ledger->places[i].task, id) && ledger->places[i].handler == handler)
            place_leave(ledger, i);
}

static void worker_leaves(struct ledger *ledger, uint32_t worker)
{
    for (uint32_t i = ledger->place_count; i-- > 0;)
        if (ledger->places[i].worker == worker) place_leave(ledger, i);
}

static rota_time *silence_of(struct ledger *ledger, uint32_t worker)
{
    while (worker >= ledger->worker_capacity) {
        uint32_t had = ledger->worker_capacity;
        world_reserve(&ledger->silent_since, &ledger->worker_capacity, had,
                      sizeof *ledger->silent_since);
        for (uint32_t i = had; i < ledger->worker_capacity; i++)
            ledger->silent_since[i] = ROTA_NEVER;
    }
    return &ledger->silent_since[worker];
}

static void leases_end(struct ledger *ledger, rota_time now, rota_time lease)
{
    for (uint32_t i = 1; i < ledger->worker_capacity; i++) {
        rota_time since = ledger->silent_since[i];
        if (since != ROTA_NEVER && now - since >= lease) worker_leaves(ledger, i);
    }
}

static void place_add(struct ledger *ledger, const struct place *place)
{
    if (!task_find(ledger, place->task)->lane) return;
    world_reserve(&ledger->places, &ledger->place_capacity, ledger->place_count,
                  sizeof *ledger->places);
    ledger->places[ledger->place_count++] = *place;
}

// ---- Events -------------------------------------------------------------------------------------

// Whoever says that it is over knows, also where the core does not want to hear it.
void ledger_comes(struct world *world, const struct rota_event *event)
{
    struct ledger *ledger = &world->ledger;
    if (event->kind == ROTA_EVENT_TASK_FINISHED)
        attempt_leaves(ledger, event->report.task, event->report.attempt);
    if (event->kind == ROTA_EVENT_DELIVER || event->kind == ROTA_EVENT_FAIL)
        handler_leaves(ledger, event->claim.task, event->claim.handler);
}

static void backoff_note(struct world *world, const struct rota_event *event)
{
    struct entry_task *task = task_find(&world->ledger, event->report.task);
    rota_time rest = event->report.rest;
    if (task && rest > 0) task->backoff_until = world->seat.server.now + rest;
}

bool ledger_backs_off(struct world *world, rota_task_id id)
{
    const struct entry_task *task = task_find(&world->ledger, id);
    return task && task->backoff_until > world->seat.server.now;
}

void ledger_taken(struct world *world, const struct rota_event *event)
{
    struct ledger *ledger = &world->ledger;
    uint32_t worker = event->worker.id.number;
    switch (event->kind) {
    case ROTA_EVENT_SUBMIT:
        submit_note(ledger, &event->submit, world->seat.server.next_job.number);
        break;
    case ROTA_EVENT_TASK_FINISHED: backoff_note(world, event); break;
    case ROTA_EVENT_CANCEL: cancel_note(world, event->task.task, true); break;
    case ROTA_EVENT_RETRY: cancel_note(world, event->task.task, false); break;
    case ROTA_EVENT_MANUAL: cancel_note(world, event->manual.task, false); break;
    case ROTA_EVENT_WORKER_LEFT: worker_leaves(ledger, worker); break;
    case ROTA_EVENT_WORKER_JOINED: rest_joined(world, worker); /* fall through */
    case ROTA_EVENT_WORKER_HEARD: *silence_of(ledger, worker) = ROTA_NEVER; break;
    case ROTA_EVENT_WORKER_SILENT:
        if (*silence_of(ledger, worker) == ROTA_NEVER) *silence_of(ledger, worker) = event->now;
        break;
    case ROTA_EVENT_TIME: leases_end(ledger, event->now, world->swarm.lease); break;
    default: break;
    }
}

// The crash may have taken its cancel back, or that it was given out.
static void task_restart(struct world *world, rota_task_id id)
{
    struct rota_task_view view = {.state = ROTA_TASK_NONE};
    bool known = rota_task_look(world->seat.server.rota, id, &view);
    struct place place = {id, view.attempt, view.worker.number, view.handler};
    if (!view.stopping && view.state != ROTA_TASK_ABORTED)
        task_find(&world->ledger, id)->is_cancelled = false;
    if (known && (place.worker || place.handler)) place_add(&world->ledger, &place);
}

// The rows say who had what.
void ledger_restart(struct world *world)
{
    struct ledger *ledger = &world->ledger;
    ledger->place_count = 0;
    for (uint32_t i = 0; i < ledger->worker_capacity; i++) ledger->silent_since[i] = ROTA_NEVER;
    for (uint32_t j = 0; j < ledger->job_capacity; j++)
        for (uint32_t t = 0; t < ledger->jobs[j].count; t++)
            task_restart(world, (rota_task_id){j, t + 1});
}

// ---- Judging ------------------------------------------------------------------------------------

// Any attempt before this one.
static const char *not_given(const struct place *given, char text[LINE_MAX])
{
    int length = snprintf(text, LINE_MAX, "expect attempt t%u_%u = -", given->task.job,
                          given->task.task);
    for (uint32_t i = 0; i < given->attempt && length < LINE_MAX - 12; i++)
        length += snprintf(text + length, LINE_MAX - (size_t)length, "|%u", i);
    return text;
}

// Somebody has it, or had it and nobody has said since that it is over.
static void judge_place(struct world *world, const struct place *given, const struct place *place)
{
    const struct entry_task *task = task_find(&world->ledger, given->task);
    const struct entry_task *other = task_find(&world->ledger, place->task);
    char line[LINE_MAX];
    if (other->lane != task->lane) return;
    if (task->group && task->group == other->group)
        wrong_of_core(world, not_given(given, line), "%u.%u is given out beside %u.%u of its group",
                      given->task.job, given->task.task, place->task.job, place->task.task);
    if (task->access != other->access)
        wrong_of_core(world, not_given(given, line), "%u.%u is given out beside %u.%u, which %s",
                      given->task.job, given->task.task, place->task.job, place->task.task,
                      other->access == ROTA_ACCESS_WRITE ? "writes" : "reads");
}

static void judge_given(struct world *world, struct place given)
{
    struct ledger *ledger = &world->ledger;
    rota_task_id id = given.task;
    const struct entry_task *task = task_find(ledger, id);
    char line[LINE_MAX];
    if (!task) return wrong(world, "%u.%u is given out and was not submitted", id.job, id.task);
    if (task->is_cancelled && given.attempt > task->attempt)
        wrong_of_core(world, not_given(&given, line), "%u.%u is given out behind its cancel",
                      id.job, id.task);
    const char *rests = rest_over(world, id, given.worker);
    if (rests)
        wrong_of_core(world, not_given(&given, line), "%u.%u is given out though its %s is paused",
                      id.job, id.task, rests);
    for (uint32_t i = 0; i < ledger->place_count; i++) {
        const struct place *place = &ledger->places[i];
        if (is_same(place->task, id) && place->attempt == given.attempt) return;
        judge_place(world, &given, place);
    }
    place_add(ledger, &given);
}

void judge_actions(struct world *world)
{
    const struct server *server = &world->seat.server;
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_RUN)
            judge_given(world, (struct place){.task = action->run.task,
                                              .attempt = action->run.attempt,
                                              .worker = action->run.worker.number});
        if (action->kind == ROTA_ACTION_GRANT)
            judge_given(world, (struct place){.task = action->grant.task,
                                              .attempt = action->grant.attempt,
                                              .handler = action->grant.handler});
    }
}

void ledger_release(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->job_capacity; i++) free(ledger->jobs[i].tasks);
    free(ledger->jobs), free(ledger->places), free(ledger->silent_since);
}
