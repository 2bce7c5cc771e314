// core_walk.c - complete graphs: claimed by a handler, or planned and run by workers.
#include "core.h"

#include <stdio.h>
#include <string.h>

enum { CLAIMS = 100, WORKERS = 32, CORES = 8 };

// ---- Claim and deliver --------------------------------------------------------

static void claim_some(struct driver *driver)
{
    for (int i = 0; i < CLAIMS; i++) {
        struct rota_event *event = driver_event(driver, ROTA_EVENT_CLAIM);
        event->claim.handler = 1;
        event->claim.task = (rota_task_id){0, 0};
        if (driver_try(driver, event) != ROTA_OK) break;  // nothing more is ready
    }
    driver_turn(driver);
}

static void deliver_all(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->run_count; i++) {
        struct rota_event *event = driver_event(driver, ROTA_EVENT_DELIVER);
        event->claim.handler = 1;
        event->claim.task = driver->runs[i].task;
        driver_step(driver, event);
    }
    driver->run_count = 0;
    driver_turn(driver);
}

static void walk_claims(struct driver *driver, uint32_t task_count)
{
    for (uint32_t done = 0; done < task_count;) {
        claim_some(driver);
        if (!driver->run_count) driver_rest(driver);
        done += driver->run_count;
        deliver_all(driver);
    }
}

// ---- The complete life cycle ----------------------------------------------------------------

static void report(struct driver *driver, const struct run *run, enum rota_event_kind kind,
                   enum rota_outcome outcome)
{
    struct rota_event *event = driver_event(driver, kind);
    event->report.worker = run->worker;
    event->report.task = run->task;
    event->report.attempt = run->attempt;
    event->report.outcome = outcome;
    driver_step(driver, event);
}

static void walk_life(struct driver *driver, uint32_t task_count)
{
    driver_turn(driver);
    for (uint32_t done = 0; done < task_count;) {
        if (!driver->run_count) driver_rest(driver);
        done += driver->run_count;
        driver_reserve(driver, driver->run_count * 2);
        for (uint32_t i = 0; i < driver->run_count; i++) {
            report(driver, &driver->runs[i], ROTA_EVENT_TASK_STARTED, ROTA_OUTCOME_NONE);
            report(driver, &driver->runs[i], ROTA_EVENT_TASK_FINISHED, ROTA_OUTCOME_OK);
        }
        driver->run_count = 0;
        driver_turn(driver);
    }
}

// ---- Measuring ----------------------------------------------------------------

typedef void walk_fn(struct driver *driver, uint32_t task_count);

// Submits the load into a new core and walks it; prints the cost.
static void measure_load(const struct load *load, walk_fn *walk)
{
    struct driver driver;
    struct measure measure;
    measure_begin(&measure);
    driver_open(&driver, COUNTING_OFF);
    struct rota_event lane = {.kind = ROTA_EVENT_LANE};
    lane.lane.lane = 1;
    lane.lane.patience = ROTA_NEVER;
    driver_step(&driver, &lane);
    driver_take(&driver);
    driver_workers(&driver, WORKERS, CORES);
    driver_submit(&driver, load);
    measure_built(&measure);
    uint64_t steps = driver.steps;
    walk(&driver, load->job.task_count);
    measure_walked(&measure);
    steps = driver.steps - steps;
    measure_print(&measure, load->job.task_count);
    printf(" event=%.2f\n", (measure.walked - measure.built) / (double)steps * 1e9);
    fflush(stdout);
    driver_close(&driver);
}

int claim_command(const char **arguments)
{
    struct load load = load_open(arguments[0], number_parse(arguments[1]), ROTA_POLICY_CLAIM);
    measure_load(&load, walk_claims);
    load_close(&load);
    return 0;
}

int life_command(const char **arguments)
{
    struct load load = load_open(arguments[0], number_parse(arguments[1]), ROTA_POLICY_PLAN);
    measure_load(&load, walk_life);
    load_close(&load);
    return 0;
}

int lane_command(const char **arguments)
{
    bool groups = !strcmp(arguments[0], "groups");
    uint32_t count = number_parse(arguments[1]);
    struct load load = load_open("independent", count, ROTA_POLICY_PLAN);
    for (uint32_t task = 0; task < count; task++) {
        load.tasks[task].lane = 1;
        load.tasks[task].access = ROTA_ACCESS_READ;
        load.tasks[task].group = groups ? task + 1 : 0;
    }
    measure_load(&load, walk_life);
    load_close(&load);
    return 0;
}

int scale_command(const char **arguments)
{
    (void)arguments;
    static const char *const shapes[] = {"layers", "independent"};
    static const char *const counts[] = {"100000", "1000000", "10000000"};
    for (int shape = 0; shape < 2; shape++) {
        for (int count = 0; count < 3; count++) {
            printf("%s %s: ", shapes[shape], counts[count]);
            life_command((const char *[]){shapes[shape], counts[count]});
        }
    }
    return 0;
}
