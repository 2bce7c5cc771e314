// durable.c - tasks from their submission to their recorded end, through the core and the store.
#include "durable.h"
#include "store/sqlite/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKER = 1 };

// ---- Opening ----------------------------------------------------------------------

static void files_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-ballast"};
    char name[4096];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

static void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void worker_join(struct durable *durable, uint32_t cores)
{
    struct rota_event *event = driver_event(&durable->driver, ROTA_EVENT_WORKER_JOINED);
    event->worker.id.number = WORKER;
    event->worker.cores = cores;
    event->worker.memory_mib = 1u << 20;
    event->worker.machine = 1;
    driver_step(&durable->driver, event);
}

void durable_open(struct durable *durable, const char *path, uint32_t batch)
{
    struct store_options options = store_options_default();
    struct store_error error;
    *durable = (struct durable){.path = path, .batch = batch};
    files_remove(path);
    driver_open(&durable->driver, COUNTING_OFF);
    driver_reserve(&durable->driver, batch * 6 + 64);
    options.ballast_bytes = 0;
    durable->store = store_open_sqlite(path, &options, &error);
    if (!durable->store) stop(error.text);
    worker_join(durable, batch * 2);
    durable_turn(durable, 0);
    durable_settle(durable);
}

void durable_leave(struct durable *durable)
{
    store_close(durable->store);
    driver_close(&durable->driver);
    free(durable->tasks);
    free(durable->texts);
    free(durable->over);
    free(durable->ready);
}

void durable_close(struct durable *durable)
{
    durable_leave(durable);
    files_remove(durable->path);
}

// ---- A turn -----------------------------------------------------------------------

static void report(struct durable *durable, const struct run *run, enum rota_event_kind kind,
                   enum rota_outcome outcome)
{
    struct rota_event *event = driver_event(&durable->driver, kind);
    event->report.worker = run->worker;
    event->report.task = run->task;
    event->report.attempt = run->attempt;
    event->report.outcome = outcome;
    driver_step(&durable->driver, event);
}

static void report_all(struct durable *durable)
{
    struct driver *driver = &durable->driver;
    for (uint32_t i = 0; i < durable->ready_count; i++) {
        report(durable, &durable->ready[i], ROTA_EVENT_TASK_STARTED, ROTA_OUTCOME_NONE);
        report(durable, &durable->ready[i], ROTA_EVENT_TASK_FINISHED, ROTA_OUTCOME_OK);
    }
    durable->recorded += durable->ready_count;
    durable->ready_count = 0;
    for (uint32_t i = 0; i < durable->over_ready; i++) {
        struct rota_event *event = driver_event(driver, ROTA_EVENT_CLOSE);
        event->close.job = durable->over[i];
        driver_step(driver, event);
    }
    durable->over_count -= durable->over_ready;
    memmove(durable->over, durable->over + durable->over_ready,
            durable->over_count * sizeof *durable->over);
    durable->over_ready = 0;
}

static void submit_reserve(struct durable *durable, uint32_t count)
{
    free(durable->tasks);
    free(durable->texts);
    durable->tasks = allocate(count, sizeof *durable->tasks);
    durable->texts = allocate(count, sizeof *durable->texts);
    for (uint32_t i = 0; i < count; i++) {
        durable->tasks[i].body = i + 1;
        durable->tasks[i].cores = 1;
        durable->texts[i].command = "compile src/module/file.c";
    }
    durable->submit = (struct rota_event){.kind = ROTA_EVENT_SUBMIT};
    durable->submit.submit = (struct rota_job_spec){.client = 1,
                                                    .policy = ROTA_POLICY_PLAN,
                                                    .last = true,
                                                    .tasks = durable->tasks,
                                                    .task_count = count};
}

static void submit(struct durable *durable, uint32_t count)
{
    if (count != durable->submit.submit.task_count) submit_reserve(durable, count);
    durable->submit.now = durable->driver.now;
    durable->submit.submit.edges = durable->edges;
    durable->submit.submit.edge_count = durable->edges ? count - 1 : 0;
    driver_step(&durable->driver, &durable->submit);
    store_define(durable->store, &durable->submit.submit, durable->texts);
}

static void over_add(struct durable *durable, rota_job_id job)
{
    if (durable->over_count == durable->over_capacity) {
        durable->over_capacity = durable->over_capacity * 2 + 64;
        durable->over = realloc(durable->over, durable->over_capacity * sizeof *durable->over);
        if (!durable->over) exit(1);
    }
    durable->over[durable->over_count++] = job;
}

static void actions_read(struct durable *durable, const struct rota_effects *effects)
{
    for (uint32_t i = 0; i < effects->action_count; i++) {
        const struct rota_action *action = &effects->actions[i];
        if (action->kind == ROTA_ACTION_JOB_OVER) over_add(durable, action->job_over.job);
        if (action->kind != ROTA_ACTION_RUN) continue;
        driver_run_add(&durable->driver,
                       (struct run){action->run.task, action->run.worker, action->run.attempt});
    }
}

// Tasks handed out in turns that are durable now may be executed.
void durable_settle(struct durable *durable)
{
    struct driver *driver = &durable->driver;
    bool fine = !durable->begun || store_settle(durable->store, durable->begun);
    if (!fine) stop(store_error(durable->store)->text);
    struct run *runs = durable->ready;
    uint32_t capacity = durable->ready_capacity;
    durable->ready = driver->runs;
    durable->ready_count = driver->run_count;
    durable->ready_capacity = driver->run_capacity;
    driver->runs = runs;
    driver->run_count = 0;
    driver->run_capacity = capacity;
    durable->over_ready = durable->over_count;
}

// The turn before becomes durable while this one is prepared. Each has a sync of its own.
void durable_turn(struct durable *durable, uint32_t new_tasks)
{
    struct driver *driver = &durable->driver;
    struct rota_event time = {.kind = ROTA_EVENT_TIME, .now = driver->now};
    store_begin(durable->store, driver->now);
    report_all(durable);
    if (new_tasks) submit(durable, new_tasks);
    driver_step(driver, &time);
    struct rota_effects effects;
    do {
        effects = rota_take(driver->rota);
        store_put(durable->store, driver->rota, effects.records, effects.record_count);
    } while (effects.more);
    uint64_t turn = store_commit_write(durable->store);
    if (turn && !store_sync_begin(durable->store)) turn = 0;
    if (!turn) stop(store_error(durable->store)->text);
    durable_settle(durable);
    durable->begun = turn;
    driver->event_count = 0;
    driver->now += 1000;
    actions_read(durable, &effects);
    durable->submitted += new_tasks;
}

// ---- The command ----------------------------------------------------------------------

// Prints tasks a second, and how memory grew from a quarter of the tasks on.
int durable_command(const char **arguments)
{
    uint32_t count = number_parse(arguments[1]), batch = number_parse(arguments[2]);
    uint32_t queued = arguments[3] ? number_parse(arguments[3]) : 0;
    struct durable durable;
    durable_open(&durable, arguments[0], batch);
    if (queued) {
        durable_turn(&durable, queued);
        durable_settle(&durable);
    }
    double bytes = 0, began = seconds_now();
    while (durable.recorded < count) {
        durable_turn(&durable, queued || durable.submitted < count ? batch : 0);
        if (!bytes && durable.recorded >= count / 4) bytes = bytes_now();
    }
    durable_settle(&durable);
    double seconds = seconds_now() - began;
    printf("%.1f growth=%.3f\n", count / seconds, bytes_now() / bytes);
    durable_close(&durable);
    return 0;
}
