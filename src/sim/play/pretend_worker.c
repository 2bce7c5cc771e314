// pretend_worker.c - a worker that runs no commands, for tests of calendars and conditions.
#include "sim/play/pretend_worker.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

// One worker for each machine, with numbers above those of real workers.
enum { CORES = 1 << 30 };
static const uint32_t worker_first = 0xf0000000;

static uint32_t machine_of(const struct catalog *catalog, rota_task_id task)
{
    const struct entry *entry = catalog_find_task(catalog, task);
    const char *machine = entry ? entry->what.machine : NULL;
    for (uint32_t i = 0; i < catalog->rows.name_count && machine; i++) {
        const struct catalog_name *name = &catalog->rows.names[i];
        bool it = name->kind == CATALOG_MACHINE && strcmp(name->name, machine) == 0;
        if (it) return name->number;
    }
    return 0;
}

static bool worker_step(struct pretend *pretend, enum rota_event_kind kind, uint32_t machine)
{
    struct rota_event event = {.kind = kind};
    event.worker.id.number = worker_first + machine;
    event.worker.cores = event.worker.memory_mib = CORES;
    event.worker.machine = machine;
    return server_step(pretend->server, &event) == ROTA_OK;
}

static bool worker_is_there(const struct pretend *pretend, uint32_t machine, uint32_t *tasks)
{
    struct rota_worker_view view;
    rota_worker_id id = {worker_first + machine};
    if (!rota_worker_look(pretend->server->rota, id, &view)) return false;
    *tasks = view.tasks;
    return true;
}

// ---- Running tasks ------------------------------------------------------------------------------

static struct pretend_run *run_find(struct pretend *pretend, rota_task_id task, uint32_t attempt)
{
    for (uint32_t i = 0; i < pretend->count; i++) {
        struct pretend_run *run = &pretend->runs[i];
        bool it = SAME_TASK(run->task, task);
        if (it && run->attempt == attempt) return run;
    }
    if (!ARRAY_MORE_RAW(&memory_heap, pretend->runs, pretend->count, pretend->capacity))
        return NULL;
    pretend->runs[pretend->count] = (struct pretend_run){task, attempt, CALENDAR_NONE};
    return &pretend->runs[pretend->count++];
}

// The number after a word, if there is nothing else, or -1.
static int64_t command_number(const char *command, const char *word)
{
    size_t length = strlen(word);
    if (!command || strncmp(command, word, length) != 0 || command[length] != ' ') return -1;
    char *end;
    long number = strtol(command + length + 1, &end, 10);
    return *end || number < 0 || number > 1000000000 ? -1 : number;
}

static bool report_step(struct pretend *pretend, enum rota_event_kind kind, rota_task_id task,
                        const struct rota_task_view *view, enum rota_outcome outcome,
                        int32_t status)
{
    struct rota_event event = {.kind = kind};
    event.report.worker = view->worker;
    event.report.task = view->run_as.job ? view->run_as : task;
    event.report.attempt = view->attempt;
    event.report.outcome = outcome;
    event.report.status = status;
    return server_step(pretend->server, &event) == ROTA_OK;
}

static bool task_end(struct pretend *pretend, rota_task_id task, const struct rota_task_view *view,
                     const char *command)
{
    int64_t status = command_number(command, "exit");
    enum rota_outcome outcome = status > 0 ? ROTA_OUTCOME_EXIT : ROTA_OUTCOME_OK;
    if (view->stopping) outcome = ROTA_OUTCOME_ABORTED;
    return report_step(pretend, ROTA_EVENT_TASK_FINISHED, task, view, outcome,
                       outcome == ROTA_OUTCOME_EXIT ? (int32_t)status : 0);
}

static bool task_work(struct pretend *pretend, rota_task_id task)
{
    struct rota_task_view view;
    struct store_text text = {0};
    struct server *server = pretend->server;
    if (!rota_task_look(server->rota, task, &view) || view.worker.number < worker_first)
        return false;
    store_text_find(server->store, task, &text);
    struct pretend_run *run = run_find(pretend, task, view.attempt);
    int64_t seconds = command_number(text.command, "sleep");
    if (run && run->end == CALENDAR_NONE)
        run->end = server->now + (seconds > 0 ? seconds * 1000000 : 0);
    bool worked = false;
    if (view.state == ROTA_TASK_ASSIGNED && !view.stopping)
        worked = report_step(pretend, ROTA_EVENT_TASK_STARTED, task, &view, ROTA_OUTCOME_NONE, 0);
    if (!run || view.stopping || run->end <= server->now) {
        if (run) *run = pretend->runs[--pretend->count];
        return task_end(pretend, task, &view, text.command) || worked;
    }
    if (run->end < pretend->look_at) pretend->look_at = run->end;
    return worked;
}

// ---- All tasks ----------------------------------------------------------------------------------

// A list of the core at this moment; it does not change while it is read.
static rota_task_id *list_copy(struct pretend *pretend, enum rota_list list, uint32_t *count)
{
    const struct rota *rota = pretend->server->rota;
    rota_worker_id none = {0};
    *count = rota_list(rota, list, none, NULL, 0);
    rota_task_id *tasks = server_keep(pretend->server, (size_t)*count + 1, sizeof *tasks);
    if (tasks) rota_list(rota, list, none, tasks, *count);
    if (!tasks) *count = 0;
    return tasks;
}

static bool workers_leave(struct pretend *pretend, const struct catalog *catalog)
{
    bool left = false;
    uint32_t tasks = 0;
    for (uint32_t i = 0; i <= catalog->rows.name_count; i++) {
        const struct catalog_name *name = i ? &catalog->rows.names[i - 1] : NULL;
        if (name && name->kind != CATALOG_MACHINE) continue;
        uint32_t machine = name ? name->number : 0;
        if (worker_is_there(pretend, machine, &tasks) && !tasks)
            left |= worker_step(pretend, ROTA_EVENT_WORKER_LEFT, machine);
    }
    return left;
}

bool pretend_work(struct pretend *pretend, const struct catalog *catalog)
{
    uint32_t running, ready, tasks;
    bool worked = false;
    pretend->look_at = ROTA_NEVER;
    const rota_task_id *runs = list_copy(pretend, ROTA_LIST_EXEC, &running);
    for (uint32_t i = 0; i < running; i++) worked |= task_work(pretend, runs[i]);
    const rota_task_id *waiting = list_copy(pretend, ROTA_LIST_READY, &ready);
    for (uint32_t i = 0; i < ready; i++) {
        uint32_t machine = machine_of(catalog, waiting[i]);
        if (!worker_is_there(pretend, machine, &tasks))
            worked |= worker_step(pretend, ROTA_EVENT_WORKER_JOINED, machine);
    }
    return worked || (!ready && workers_leave(pretend, catalog));
}

void pretend_release(struct pretend *pretend)
{
    free(pretend->runs);
    *pretend = (struct pretend){0};
}
