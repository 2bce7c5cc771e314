// planning.c - what happens becomes news for a plan, and a plan becomes an event.
#include "server/cluster/planning.h"
#include "turn/attempt_end.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Jobs come and go -------------------------------------------------------------------------

void hub_ahead_restored(void *guide, const struct rota_record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != ROTA_RECORD_SUBMIT) continue;
        struct rota_job_spec spec = *records[i].submit.spec;
        rota_job_id job = records[i].submit.job;
        bool grows = records[i].submit.first > 1;
        spec.job = grows ? job : (rota_job_id){0};
        if (guide_wants(guide, &spec)) guide_submitted(guide, job, &spec, NULL);
    }
}

static void learn(void *context, const char *name, rota_time took)
{
    guide_learn(context, name, (double)took * 1e-6);
}

void hub_ahead_begin(struct hub *hub, struct guide *guide)
{
    hub->guide = guide;
    if (guide) store_durations(hub->server->store, learn, guide);
}

void hub_ahead_submitted(struct hub *hub, rota_job_id job, const struct rota_job_spec *spec,
                         const struct store_text *texts)
{
    if (!hub->guide || !guide_wants(hub->guide, spec)) return;
    const char **names = hub_keep(hub, spec->task_count, sizeof *names);
    for (uint32_t i = 0; i < spec->task_count; i++) names[i] = texts[i].name;
    guide_submitted(hub->guide, job, spec, names);
}

void hub_ahead_gone(struct hub *hub, rota_job_id job)
{
    if (hub->guide) guide_forget(hub->guide, job);
}

// ---- What happens -----------------------------------------------------------------------------

void hub_ahead_ended(struct hub *hub, const struct wire_finished *finished)
{
    uint64_t bytes = 0;
    if (!hub->guide || !guide_knows(hub->guide, (rota_job_id){finished->task.job})) return;
    for (uint32_t i = 0; i < finished->outputs.count; i++)
        bytes += finished->outputs.items[i].bytes;
    bool fine = ends_outcome(finished) == ROTA_OUTCOME_OK && finished->ended > finished->began;
    double took = (double)(finished->ended - finished->began) * 1e-6;
    if (fine && !(finished->flags & WIRE_CACHED))
        guide_ended(hub->guide, finished->task, took, bytes, finished->outputs.count);
    else
        guide_news(hub->guide);
}

void hub_ahead_news(struct hub *hub)
{
    if (hub->guide) guide_news(hub->guide);
}

// ---- Plans ------------------------------------------------------------------------------------

static const char *name_of(void *context, rota_task_id task)
{
    struct hub *hub = context;
    struct store_text text;
    bool found = store_text_find(hub->server->store, task, &text) && text.name;
    return found ? text.name : "";
}

// A plan that is refused is none: tasks are placed as if nobody had planned them.
static void give(void *context, rota_job_id job, const struct rota_placement *placements,
                 uint32_t count)
{
    struct hub *hub = context;
    struct rota_event event = {.kind = ROTA_EVENT_PLAN};
    event.plan.job = job;
    event.plan.placements = placements;
    event.plan.count = count;
    server_step(hub->server, &event);
}

static rota_time stopwatch(const struct hub *hub)
{
    return hub->limits.stopwatch ? hub->limits.stopwatch() : 0;
}

// Looking in vain is no plan.
static void planned_note(struct hub *hub, rota_time began)
{
    uint64_t plans = guide_sums(hub->guide).plans;
    if (plans == hub->plans) return;
    hub->plans = plans;
    hub->plan_at = hub->server->now;
    hub->plan_took = stopwatch(hub) - began;
}

void hub_ahead_look(struct hub *hub)
{
    if (!hub->guide || guide_due(hub->guide) > hub->server->now) return;
    rota_worker_id *workers = hub_keep(hub, hub->worker_count, sizeof *workers);
    for (uint32_t i = 0; i < hub->worker_count; i++) workers[i] = hub->workers[i]->id;
    struct guide_view view = {.rota = hub->server->rota,
                              .now = hub->server->now,
                              .workers = workers,
                              .worker_count = hub->worker_count,
                              .context = hub,
                              .name_of = name_of,
                              .give = give};
    rota_time began = stopwatch(hub);
    guide_plan(hub->guide, &view);
    planned_note(hub, began);
}

rota_time hub_ahead_due(const struct hub *hub)
{
    rota_time due = hub->guide ? guide_due(hub->guide) : ROTA_NEVER, now = hub->server->now;
    if (due == ROTA_NEVER) return due;
    return due > now ? hub->ticks + (due - now) : hub->ticks;
}

size_t hub_ahead_text(const struct hub *hub, char *out, size_t size)
{
    enum { LONGEST = 36, MOST = 8192 };
    uint32_t count = 0;
    size_t length = 0;
    struct guide_word *words = hub_allocate(MOST, sizeof *words);
    if (hub->guide) count = guide_words(hub->guide, hub->server->rota, words, MOST);
    out[0] = 0;
    for (uint32_t i = 0; i < count && i < MOST && length + LONGEST < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%u.%u=%u", i ? " " : "",
                                   words[i].task.job, words[i].task.task, words[i].worker.number);
    free(words);
    return length;
}
