// submit.c - turns definitions into jobs: closes old ones, and submits new ones in an order in
// which conditions find the tasks they name.
#include "server/definitions/definitions.h"

#include <string.h>

static bool event_step(struct define *define, const struct entry *entry,
                       const struct rota_event *event)
{
    struct server *server = define->catalog.server;
    if (!server_step(server, event)) return true;
    return define_refuse(define, entry, "\"%.100s\": %s", entry ? entry->what.name : "",
                         server->reason);
}

// ---- Closing -----------------------------------------------------------------------------

static bool job_close(struct define *define, const struct entry *entry)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLOSE};
    event.close.job.number = entry->task.job;
    const struct rota *rota = define->catalog.server->rota;
    if (strcmp(rota_job_status(rota, event.close.job), "CLOSED") == 0) return true;
    if (!*rota_job_status(rota, event.close.job)) return true;
    return event_step(define, entry, &event);
}

static bool jobs_close(struct define *define)
{
    for (uint32_t i = 0; i < define->catalog.count; i++) {
        const struct entry *entry = &define->catalog.entries[i];
        bool goes = entry->rebuilt || entry->fate == ENTRY_DELETED;
        if (goes && entry->task.job && !job_close(define, entry)) return false;
    }
    return true;
}

// ---- One job -----------------------------------------------------------------------------

static bool lane_define(struct define *define, const struct entry *entry, uint32_t lane)
{
    int32_t counter;
    if (rota_lane_counter(define->catalog.server->rota, lane, &counter)) return true;
    struct rota_event event = {.kind = ROTA_EVENT_LANE};
    event.lane.lane = lane;
    event.lane.patience = ROTA_NEVER;
    return event_step(define, entry, &event);
}

static bool number_find(struct define *define, enum catalog_kind kind, const char *name,
                        uint32_t *number)
{
    *number = 0;
    if (!name || !*name) return true;
    *number = catalog_number(&define->catalog, kind, name);
    return *number || define_no_memory(define);
}

static bool task_fill(struct define *define, const struct entry *entry, struct rota_task_spec *task)
{
    const struct definition *what = &entry->what;
    task->flags = ROTA_TASK_ON_DEMAND;
    if (what->type == DEFINITION_BUNDLE) {
        task->flags |= ROTA_TASK_BUNDLE;
        return true;
    }
    if (entry->parent) task->bundle = define->catalog.entries[entry->parent - 1].task.task;
    task->cores = what->cores;
    task->memory_mib = what->memory_mib;
    task->retries_max = what->retries;
    task->priority = (int16_t)((int)what->priority - DEFINITION_NORMAL);
    task->access = (uint8_t)what->access;
    return number_find(define, CATALOG_LANE, what->lane, &task->lane)
           && number_find(define, CATALOG_GROUP, what->group, &task->group)
           && number_find(define, CATALOG_MACHINE, what->machine, &task->machine)
           && (!task->lane || lane_define(define, entry, task->lane));
}

static struct store_text text_of(const struct definition *what)
{
    static const char *const overlaps[] = {"skip", "queue"};
    const struct calendar_fields *schedule = &what->schedule;
    return (struct store_text){
        .name = what->name,
        .command = what->command,
        .run_days = schedule->run_days,
        .start_times = schedule->start_times,
        .run_window = schedule->run_window,
        .start_mins = schedule->start_mins,
        .cron = schedule->cron,
        .zone = schedule->zone,
        .overlap = definition_has(what, DEFINITION_OVERLAP) ? overlaps[what->overlap] : NULL,
    };
}

// Clauses that name tasks of the same job get job 0, which the core replaces by its number.
static void clauses_fill(const struct define *define, const struct entry *entry,
                         struct rota_clause *clauses)
{
    const struct catalog *catalog = &define->catalog;
    for (uint32_t i = 0; i < entry->named_count; i++) {
        clauses[i] = entry->clauses[i];
        if (entry->named[i] >= catalog->count) continue;
        const struct entry *target = &catalog->entries[entry->named[i]];
        clauses[i].task = target->task;
        if (target->task.job == catalog->server->next_job.number) clauses[i].task.job = 0;
    }
}

struct draft {
    struct rota_task_spec *tasks;
    struct rota_clause *clauses;
    struct store_text *texts;
};

static bool draft_fill(struct define *define, struct entry *const *members, uint32_t count,
                       struct rota_job_spec *spec, const struct draft *draft)
{
    for (uint32_t i = 0; i < count; i++) {
        struct entry *entry = members[i];
        struct rota_task_spec *task = &draft->tasks[i];
        if (!task_fill(define, entry, task)) return false;
        task->clause_first = spec->clause_count;
        task->clause_count = entry->named_count;
        clauses_fill(define, entry, draft->clauses + spec->clause_count);
        spec->clause_count += entry->named_count;
        draft->texts[i] = text_of(&entry->what);
    }
    return true;
}

// Stored before the step: the store finds the texts by the address of the spec.
bool define_job(struct define *define, struct entry *const *members, uint32_t count)
{
    struct server *server = define->catalog.server;
    uint32_t clauses = 0;
    for (uint32_t i = 0; i < count; i++) {
        members[i]->task = (rota_task_id){server->next_job.number, i + 1};
        clauses += members[i]->named_count;
    }
    struct draft draft = {.tasks = server_keep(server, count, sizeof *draft.tasks),
                          .clauses = server_keep(server, clauses + 1, sizeof *draft.clauses),
                          .texts = server_keep(server, count, sizeof *draft.texts)};
    if (!draft.tasks || !draft.clauses || !draft.texts) return define_no_memory(define);
    struct rota_job_spec spec = {.policy = ROTA_POLICY_PLAN,
                                 .tasks = draft.tasks,
                                 .clauses = draft.clauses,
                                 .task_count = count};
    if (!draft_fill(define, members, count, &spec, &draft)) return false;
    if (!server_submit(server, &spec, draft.texts)) return true;
    return define_refuse(define, members[0], "\"%.100s\"%s: %s", members[0]->what.name,
                         count > 1 ? " and the tasks affected by it" : "", server->reason);
}

// ---- Restoring earlier states ---------------------------------------------------------------

static bool last_restore(struct define *define, const struct entry *entry)
{
    static const enum rota_manual actions[ROTA_TASK_STATES] = {
        [ROTA_TASK_SUCCEEDED] = ROTA_MANUAL_GREEN,
        [ROTA_TASK_FAILED] = ROTA_MANUAL_RED,
        [ROTA_TASK_FROZEN] = ROTA_MANUAL_FREEZE,
    };
    struct rota_event event = {.kind = ROTA_EVENT_MANUAL};
    event.manual.task = entry->task;
    event.manual.action = actions[entry->last];
    if (!event.manual.action || entry->what.type == DEFINITION_BUNDLE) return true;
    return event_step(define, entry, &event);
}

bool define_submit(struct define *define)
{
    struct catalog *catalog = &define->catalog;
    for (uint32_t i = 0; i < catalog->count; i++) {
        struct entry *entry = &catalog->entries[i];
        entry->last = rota_task_state(catalog->server->rota, entry->task);
    }
    if (!jobs_close(define) || !define_in_order(define)) return false;
    for (uint32_t i = 0; i < catalog->count; i++)
        if (catalog->entries[i].rebuilt && !last_restore(define, &catalog->entries[i]))
            return false;
    return true;
}
