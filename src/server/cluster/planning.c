// planning.c - passes events to the live planner, and its plans to the core.
#include "server/cluster/planning.h"
#include "turn/attempt_end.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Jobs are added and removed -------------------------------------------------------------

void cluster_ahead_restored(void *live, const struct rota_record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind != ROTA_RECORD_SUBMIT) continue;
        struct rota_job_spec spec = *records[i].submit.spec;
        rota_job_id job = records[i].submit.job;
        bool grows = records[i].submit.first > 1;
        spec.job = grows ? job : (rota_job_id){0};
        if (live_wants(live, &spec)) live_submitted(live, job, &spec, NULL);
    }
}

static void learn(void *context, const char *name, rota_time took)
{
    live_learn(context, name, (double)took * 1e-6);
}

void cluster_ahead_begin(struct cluster *cluster, struct live *live)
{
    cluster->live = live;
    if (live) store_durations(cluster->server->store, learn, live);
}

void cluster_ahead_submitted(struct cluster *cluster, rota_job_id job,
                             const struct rota_job_spec *spec, const struct store_text *texts)
{
    if (!cluster->live || !live_wants(cluster->live, spec)) return;
    const char **names = cluster_keep(cluster, spec->task_count, sizeof *names);
    for (uint32_t i = 0; i < spec->task_count; i++) names[i] = texts[i].name;
    live_submitted(cluster->live, job, spec, names);
}

void cluster_ahead_gone(struct cluster *cluster, rota_job_id job)
{
    if (cluster->live) live_forget(cluster->live, job);
}

// ---- Events ---------------------------------------------------------------------------------

void cluster_ahead_ended(struct cluster *cluster, const struct wire_finished *finished)
{
    uint64_t bytes = 0;
    if (!cluster->live || !live_knows(cluster->live, (rota_job_id){finished->task.job})) return;
    for (uint32_t i = 0; i < finished->outputs.count; i++)
        bytes += finished->outputs.items[i].bytes;
    bool fine
        = attempt_end_outcome(finished) == ROTA_OUTCOME_OK && finished->ended > finished->began;
    double took = (double)(finished->ended - finished->began) * 1e-6;
    if (fine && !(finished->flags & WIRE_CACHED))
        live_ended(cluster->live, finished->task, took, bytes, finished->outputs.count);
    else
        live_news(cluster->live);
}

void cluster_ahead_news(struct cluster *cluster)
{
    if (cluster->live) live_news(cluster->live);
}

// ---- Plans ------------------------------------------------------------------------------------

static const char *name_of(void *context, rota_task_id task)
{
    struct cluster *cluster = context;
    struct store_text text;
    bool found = store_text_find(cluster->server->store, task, &text) && text.name;
    return found ? text.name : "";
}

// A plan that the core refuses is ignored: tasks are placed as if there were no plan.
static void give(void *context, rota_job_id job, const struct rota_placement *placements,
                 uint32_t count)
{
    struct cluster *cluster = context;
    struct rota_event event = {.kind = ROTA_EVENT_PLAN};
    event.plan.job = job;
    event.plan.placements = placements;
    event.plan.count = count;
    server_step(cluster->server, &event);
}

static rota_time stopwatch(const struct cluster *cluster)
{
    return cluster->limits.stopwatch ? cluster->limits.stopwatch() : 0;
}

// A call that planned no task does not count as a plan.
static void planned_note(struct cluster *cluster, rota_time began)
{
    uint64_t plans = live_sums(cluster->live).plans;
    if (plans == cluster->plans) return;
    cluster->plans = plans;
    cluster->plan_at = cluster->server->now;
    cluster->plan_took = stopwatch(cluster) - began;
}

void cluster_ahead_look(struct cluster *cluster)
{
    if (!cluster->live || live_due(cluster->live) > cluster->server->now) return;
    rota_worker_id *workers = cluster_keep(cluster, cluster->worker_count, sizeof *workers);
    for (uint32_t i = 0; i < cluster->worker_count; i++) workers[i] = cluster->workers[i]->id;
    struct live_view view = {.rota = cluster->server->rota,
                              .now = cluster->server->now,
                              .workers = workers,
                              .worker_count = cluster->worker_count,
                              .context = cluster,
                              .name_of = name_of,
                              .give = give};
    rota_time began = stopwatch(cluster);
    live_plan(cluster->live, &view);
    planned_note(cluster, began);
}

rota_time cluster_ahead_due(const struct cluster *cluster)
{
    rota_time due = cluster->live ? live_due(cluster->live) : ROTA_NEVER,
              now = cluster->server->now;
    if (due == ROTA_NEVER) return due;
    return due > now ? cluster->ticks + (due - now) : cluster->ticks;
}

size_t cluster_ahead_text(const struct cluster *cluster, char *out, size_t size)
{
    enum { LONGEST = 36, MOST = 8192 };
    uint32_t count = 0;
    size_t length = 0;
    struct live_word *words = cluster_allocate(MOST, sizeof *words);
    if (cluster->live) count = live_words(cluster->live, cluster->server->rota, words, MOST);
    out[0] = 0;
    for (uint32_t i = 0; i < count && i < MOST && length + LONGEST < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%u.%u=%u", i ? " " : "",
                                   words[i].task.job, words[i].task.task, words[i].worker.number);
    free(words);
    return length;
}
