// core_driver.c - takes turns with the core as a server would, and reads every effect.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Opening ------------------------------------------------------------------

static void *resize_counted(void *context, void *old, size_t old_size, size_t new_size)
{
    struct driver *driver = context;
    void *fresh = NULL;
    if (new_size == 0) free(old);
    else if (!(fresh = realloc(old, new_size))) return NULL;
    driver->bytes += new_size - old_size;
    if (driver->bytes > driver->bytes_most) driver->bytes_most = driver->bytes;
    return fresh;
}

void driver_open(struct driver *driver, enum counting counting)
{
    *driver = (struct driver){0};
    struct rota_config config = rota_config_default();
    config.tasks_max = config.groups_max = config.objects_max = 1u << 26;
    config.edges_max = 1u << 28;
    config.workers_max = 1u << 16;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    if (counting == COUNTING_ON) {
        config.resize = resize_counted;
        config.resize_context = driver;
    }
    enum rota_error error = rota_open(&config, &driver->rota);
    if (error != ROTA_OK) {
        fprintf(stderr, "the core does not open: %s\n", rota_error_text(error));
        exit(1);
    }
    driver_reserve(driver, 4096);
}

void driver_close(struct driver *driver)
{
    volatile uint64_t kept = driver->sum;
    (void)kept;
    rota_close(driver->rota);
    free(driver->events);
    free(driver->runs);
    driver->rota = NULL;
}

void driver_reserve(struct driver *driver, uint32_t events)
{
    if (events <= driver->event_capacity) return;
    free(driver->events);
    driver->events = allocate(events, sizeof *driver->events);
    driver->event_capacity = events;
}

// ---- Refusals --------------------------------------------------------------------

void driver_stop(struct driver *driver, const struct rota_event *event, enum rota_error error)
{
    fprintf(stderr, "event %d is refused: %s: %s\n", event->kind, rota_error_text(error),
            rota_reason(driver->rota));
    exit(1);
}

// ---- Effects ------------------------------------------------------------------

static uint64_t record_sum(const struct rota_record *record)
{
    uint64_t sum = record->kind + record->gone;
    switch (record->kind) {
    case ROTA_RECORD_TASK:
        return sum + record->task.id.job + record->task.id.task + record->task.run_as.task
             + record->task.state + record->task.flags + record->task.outcome
             + record->task.tries + (uint32_t)record->task.status + record->task.attempt
             + record->task.worker.number + record->task.asked + record->task.handler
             + (uint64_t)record->task.since;
    case ROTA_RECORD_CORE:
        return sum + record->core.sequence + record->core.turn + record->core.random
             + record->core.plans + (uint64_t)record->core.plan_end;
    case ROTA_RECORD_JOB:
        return sum + record->job.id.number + record->job.state + record->job.client;
    case ROTA_RECORD_SUBMIT:
        return sum + record->submit.job.number + record->submit.spec->task_count;
    case ROTA_RECORD_OBJECT:
        return sum + record->object.id.low + record->object.bytes + record->object.flags;
    case ROTA_RECORD_REPLICA:
        return sum + record->replica.object.low + record->replica.worker.number;
    default:
        return sum;
    }
}

void driver_run_add(struct driver *driver, struct run run)
{
    if (driver->run_count == driver->run_capacity) {
        driver->run_capacity = driver->run_capacity * 2 + 4096;
        driver->runs = realloc(driver->runs, driver->run_capacity * sizeof *driver->runs);
        if (!driver->runs) exit(1);
    }
    driver->runs[driver->run_count++] = run;
}

static uint64_t action_read(struct driver *driver, const struct rota_action *action)
{
    switch (action->kind) {
    case ROTA_ACTION_RUN:
        driver_run_add(driver,
                       (struct run){action->run.task, action->run.worker, action->run.attempt});
        return action->run.body;
    case ROTA_ACTION_GRANT:
        driver_run_add(driver,
                       (struct run){.task = action->grant.task, .attempt = action->grant.attempt});
        return action->grant.body + action->grant.handler;
    case ROTA_ACTION_CONFIRM:
        return action->confirm.client + action->confirm.task.task + action->confirm.outcome
               + (uint32_t)action->confirm.status;
    case ROTA_ACTION_FETCH:
        return action->fetch.object.low + action->fetch.worker.number + action->fetch.from.number;
    case ROTA_ACTION_DROP:
        return action->drop.object.low + action->drop.worker.number;
    default:
        return action->kind;
    }
}

void driver_take(struct driver *driver)
{
    for (;;) {
        struct rota_effects effects = rota_take(driver->rota);
        if (!effects.record_count && !effects.action_count) break;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < effects.record_count; i++) sum += record_sum(&effects.records[i]);
        for (uint32_t i = 0; i < effects.action_count; i++) {
            sum += action_read(driver, &effects.actions[i]);
        }
        driver->sum += sum;
    }
    driver->event_count = 0;
}

// ---- Turns --------------------------------------------------------------------

void driver_turn(struct driver *driver)
{
    struct rota_event time = {.kind = ROTA_EVENT_TIME, .now = driver->now};
    double began = seconds_now();
    driver_step(driver, &time);
    driver->time_seconds += seconds_now() - began;
    driver_take(driver);
    driver->now += 1000;
}

void driver_rest(struct driver *driver)
{
    rota_time deadline = rota_deadline(driver->rota);
    if (deadline == ROTA_NEVER) {
        fprintf(stderr, "nothing runs, nothing is due, and tasks are left\n");
        exit(1);
    }
    if (deadline > driver->now) driver->now = deadline;
}

void driver_submit(struct driver *driver, const struct load *load)
{
    struct rota_event event = {.kind = ROTA_EVENT_SUBMIT, .now = driver->now, .submit = load->job};
    driver_step(driver, &event);
    driver_take(driver);
}

void driver_workers(struct driver *driver, uint32_t count, uint32_t cores)
{
    for (uint32_t number = 1; number <= count; number++) {
        struct rota_event event = {.kind = ROTA_EVENT_WORKER_JOINED, .now = driver->now};
        event.worker.id.number = number;
        event.worker.cores = cores;
        event.worker.memory_mib = 1u << 20;
        event.worker.machine = number;
        driver_step(driver, &event);
        driver_take(driver);
    }
}
