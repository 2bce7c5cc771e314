// core_record.c - what the core was given as events and what it gave out, recorded outside of it:
// so a mistake of the core alone can be detected, and shown by a play.
#include "sim/cluster/internal.h"

enum { LINE_MAX = 150 };

// ---- Tasks --------------------------------------------------------------------------------------

static struct entry_task *task_find(const struct core_record *record, rota_task_id id)
{
    bool known = id.job < record->job_capacity && id.task
                 && id.task <= record->jobs[id.job].count;
    return known ? &record->jobs[id.job].tasks[id.task - 1] : NULL;
}

static void submit_note(struct core_record *record, const struct rota_job_spec *spec,
                        uint32_t next_job)
{
    uint32_t number = spec->job.number ? spec->job.number : next_job;
    uint32_t first = spec->first ? spec->first : 1;
    while (number >= record->job_capacity) {
        uint32_t had = record->job_capacity;
        sim_reserve(&record->jobs, &record->job_capacity, had, sizeof *record->jobs);
        memset(record->jobs + had, 0, (record->job_capacity - had) * sizeof *record->jobs);
    }
    struct entry_job *job = &record->jobs[number];
    job->count = first - 1;  // a crash may have removed the tasks after it
    for (uint32_t i = 0; i < spec->task_count; i++) {
        const struct rota_task_spec *task = &spec->tasks[i];
        *SIM_NEW(job->tasks, job->count, job->capacity)
            = (struct entry_task){.lane = task->lane,
                                  .group = task->group,
                                  .bundle = task->bundle,
                                  .access = task->access};
    }
}

// A task, the members of a bundle, or (task 0) all of a job. Tasks that have succeeded stay so.
static void cancel_note(struct sim *sim, rota_task_id id, bool is_cancelled)
{
    struct core_record *record = &sim->known;
    if (id.job >= record->job_capacity) return;
    for (uint32_t i = 0; i < record->jobs[id.job].count; i++) {
        struct entry_task *task = &record->jobs[id.job].tasks[i];
        bool meant = !id.task || id.task == i + 1 || id.task == task->bundle;
        struct rota_task_view view = {.state = ROTA_TASK_NONE};
        rota_task_look(sim->daemon.server.rota, (rota_task_id){id.job, i + 1}, &view);
        if (!meant) continue;
        task->is_cancelled = is_cancelled && view.state != ROTA_TASK_SUCCEEDED;
        task->attempt = view.attempt;
    }
}

// ---- Tasks given out ----------------------------------------------------------------------------

static void place_leave(struct core_record *record, uint32_t at)
{
    record->places[at] = record->places[--record->place_count];
}

static void attempt_leaves(struct core_record *record, rota_task_id id, uint32_t attempt)
{
    for (uint32_t i = record->place_count; i-- > 0;)
        if (SAME_TASK(record->places[i].task, id) && record->places[i].attempt == attempt)
            place_leave(record, i);
}

static void handler_leaves(struct core_record *record, rota_task_id id, uint64_t handler)
{
    for (uint32_t i = record->place_count; i-- > 0;)
        if (SAME_TASK(record->places[i].task, id) && record->places[i].handler == handler)
            place_leave(record, i);
}

static void worker_leaves(struct core_record *record, uint32_t worker)
{
    for (uint32_t i = record->place_count; i-- > 0;)
        if (record->places[i].worker == worker) place_leave(record, i);
}

static rota_time *silence_of(struct core_record *record, uint32_t worker)
{
    while (worker >= record->worker_capacity) {
        uint32_t had = record->worker_capacity;
        sim_reserve(&record->silent_since, &record->worker_capacity, had,
                      sizeof *record->silent_since);
        for (uint32_t i = had; i < record->worker_capacity; i++)
            record->silent_since[i] = ROTA_NEVER;
    }
    return &record->silent_since[worker];
}

static void leases_end(struct core_record *record, rota_time now, rota_time lease)
{
    for (uint32_t i = 1; i < record->worker_capacity; i++) {
        rota_time since = record->silent_since[i];
        if (since != ROTA_NEVER && now - since >= lease) worker_leaves(record, i);
    }
}

static void place_add(struct core_record *record, const struct place *place)
{
    if (!task_find(record, place->task)->lane) return;
    *SIM_NEW(record->places, record->place_count, record->place_capacity) = *place;
}

// ---- Events -------------------------------------------------------------------------------------

// A worker that reports an end knows it, even if the core ignores the report.
void core_record_comes(struct sim *sim, const struct rota_event *event)
{
    struct core_record *record = &sim->known;
    if (event->kind == ROTA_EVENT_TASK_FINISHED)
        attempt_leaves(record, event->report.task, event->report.attempt);
    if (event->kind == ROTA_EVENT_DELIVER || event->kind == ROTA_EVENT_FAIL)
        handler_leaves(record, event->claim.task, event->claim.handler);
}

static void backoff_note(struct sim *sim, const struct rota_event *event)
{
    struct entry_task *task = task_find(&sim->known, event->report.task);
    rota_time rest = event->report.rest;
    if (task && rest > 0) task->backoff_until = sim->daemon.server.now + rest;
}

bool core_record_backs_off(struct sim *sim, rota_task_id id)
{
    const struct entry_task *task = task_find(&sim->known, id);
    return task && task->backoff_until > sim->daemon.server.now;
}

void core_record_taken(struct sim *sim, const struct rota_event *event)
{
    struct core_record *record = &sim->known;
    uint32_t worker = event->worker.id.number;
    switch (event->kind) {
    case ROTA_EVENT_SUBMIT:
        submit_note(record, &event->submit, sim->daemon.server.next_job.number);
        break;
    case ROTA_EVENT_TASK_FINISHED: backoff_note(sim, event); break;
    case ROTA_EVENT_CANCEL: cancel_note(sim, event->task.task, true); break;
    case ROTA_EVENT_RETRY: cancel_note(sim, event->task.task, false); break;
    case ROTA_EVENT_MANUAL: cancel_note(sim, event->manual.task, false); break;
    case ROTA_EVENT_WORKER_LEFT: worker_leaves(record, worker); break;
    case ROTA_EVENT_WORKER_JOINED: pause_joined(sim, worker); /* fall through */
    case ROTA_EVENT_WORKER_HEARD: *silence_of(record, worker) = ROTA_NEVER; break;
    case ROTA_EVENT_WORKER_SILENT:
        if (*silence_of(record, worker) == ROTA_NEVER) *silence_of(record, worker) = event->now;
        break;
    case ROTA_EVENT_TIME: leases_end(record, event->now, sim->setting.lease); break;
    default: break;
    }
}

// The crash may have undone its cancel, or giving it out.
static void task_restart(struct sim *sim, rota_task_id id)
{
    struct rota_task_view view = {.state = ROTA_TASK_NONE};
    bool known = rota_task_look(sim->daemon.server.rota, id, &view);
    struct place place = {id, view.attempt, view.worker.number, view.handler};
    if (!view.stopping && view.state != ROTA_TASK_ABORTED)
        task_find(&sim->known, id)->is_cancelled = false;
    if (known && (place.worker || place.handler)) place_add(&sim->known, &place);
}

// The rows of the database say which worker or handler had which task.
void core_record_restart(struct sim *sim)
{
    struct core_record *record = &sim->known;
    record->place_count = 0;
    for (uint32_t i = 0; i < record->worker_capacity; i++) record->silent_since[i] = ROTA_NEVER;
    for (uint32_t j = 0; j < record->job_capacity; j++)
        for (uint32_t t = 0; t < record->jobs[j].count; t++)
            task_restart(sim, (rota_task_id){j, t + 1});
}

// ---- Judging ------------------------------------------------------------------------------------

// Expects any attempt before this one.
static const char *not_given(const struct place *given, char text[LINE_MAX])
{
    int length = snprintf(text, LINE_MAX, "expect attempt t%u_%u = -", given->task.job,
                          given->task.task);
    for (uint32_t i = 0; i < given->attempt && length < LINE_MAX - 12; i++)
        length += snprintf(text + length, LINE_MAX - (size_t)length, "|%u", i);
    return text;
}

// A worker or handler has it, or had it and its end has not been reported since.
static void judge_place(struct sim *sim, const struct place *given, const struct place *place)
{
    const struct entry_task *task = task_find(&sim->known, given->task);
    const struct entry_task *other = task_find(&sim->known, place->task);
    char line[LINE_MAX];
    if (other->lane != task->lane) return;
    if (task->group && task->group == other->group)
        wrong_of_core(sim, not_given(given, line), "%u.%u is given out beside %u.%u of its group",
                      given->task.job, given->task.task, place->task.job, place->task.task);
    if (task->access != other->access)
        wrong_of_core(sim, not_given(given, line), "%u.%u is given out beside %u.%u, which %s",
                      given->task.job, given->task.task, place->task.job, place->task.task,
                      other->access == ROTA_ACCESS_WRITE ? "writes" : "reads");
}

static void judge_given(struct sim *sim, struct place given)
{
    struct core_record *record = &sim->known;
    rota_task_id id = given.task;
    const struct entry_task *task = task_find(record, id);
    char line[LINE_MAX];
    if (!task) return wrong(sim, "%u.%u is given out and was not submitted", id.job, id.task);
    if (task->is_cancelled && given.attempt > task->attempt)
        wrong_of_core(sim, not_given(&given, line), "%u.%u is given out after its cancel",
                      id.job, id.task);
    const char *part = pause_over(sim, id, given.worker);
    if (part)
        wrong_of_core(sim, not_given(&given, line), "%u.%u is given out though its %s is paused",
                      id.job, id.task, part);
    for (uint32_t i = 0; i < record->place_count; i++) {
        const struct place *place = &record->places[i];
        if (SAME_TASK(place->task, id) && place->attempt == given.attempt) return;
        judge_place(sim, &given, place);
    }
    place_add(record, &given);
}

void judge_actions(struct sim *sim)
{
    const struct server *server = &sim->daemon.server;
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind == ROTA_ACTION_RUN)
            judge_given(sim, (struct place){.task = action->run.task,
                                              .attempt = action->run.attempt,
                                              .worker = action->run.worker.number});
        if (action->kind == ROTA_ACTION_GRANT)
            judge_given(sim, (struct place){.task = action->grant.task,
                                              .attempt = action->grant.attempt,
                                              .handler = action->grant.handler});
    }
}

void core_record_release(struct core_record *record)
{
    for (uint32_t i = 0; i < record->job_capacity; i++) free(record->jobs[i].tasks);
    free(record->jobs), free(record->places), free(record->silent_since);
}
