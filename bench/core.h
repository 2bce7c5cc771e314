// core.h - how rota-bench drives the core: loads to submit, a driver that takes turns.
#pragma once

#include "bench.h"
#include <rota.h>

#include <assert.h>

// ---- core_load.c: a submission, made before the clock starts ------------------

struct load {
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    struct rota_job_spec job;
};

struct load load_open(const char *shape, uint32_t task_count, enum rota_policy policy);
void load_close(struct load *load);

// ---- core_driver.c: turns, and every effect read ------------------------------

struct run { rota_task_id task; rota_worker_id worker; uint32_t attempt; };

struct driver {
    struct rota *rota;
    rota_time now;
    struct rota_event *events;  // of this turn: they must stay until its effects are taken
    uint32_t event_count, event_capacity;
    struct run *runs;           // assigned to workers and handlers by the last turn
    uint32_t run_count, run_capacity;
    uint64_t steps;             // events so far
    uint64_t sum;               // of all that was read, so that no reading is left out
    double time_seconds;        // spent in ROTA_EVENT_TIME
    size_t bytes, bytes_most;   // the core's memory, when it is counted
};

enum counting { COUNTING_OFF, COUNTING_ON };

void driver_open(struct driver *driver, enum counting counting);
void driver_close(struct driver *driver);

void driver_reserve(struct driver *driver, uint32_t events);  // room for this many in one turn
void driver_stop(struct driver *driver, const struct rota_event *event, enum rota_error error);

// An event of this turn. They come zeroed and are used again: fill in all that is ever
// filled in. The three below are here to be inlined, so that the figures exclude the driver.
static inline struct rota_event *driver_event(struct driver *driver, enum rota_event_kind kind)
{
    assert(driver->event_count < driver->event_capacity);
    struct rota_event *event = &driver->events[driver->event_count++];
    event->kind = kind;
    event->now = driver->now;
    return event;
}

static inline enum rota_error driver_try(struct driver *driver, const struct rota_event *event)
{
    driver->steps++;
    return rota_step(driver->rota, event);
}

static inline void driver_step(struct driver *driver, const struct rota_event *event)
{
    enum rota_error error = driver_try(driver, event);
    if (error != ROTA_OK) driver_stop(driver, event, error);
}

void driver_take(struct driver *driver);  // all effects; reads them, keeps RUN and GRANT
void driver_run_add(struct driver *driver, struct run run);  // something to be run
void driver_turn(struct driver *driver);  // TIME, then take
void driver_rest(struct driver *driver);  // moves to the deadline; there must be one

void driver_submit(struct driver *driver, const struct load *load);
void driver_workers(struct driver *driver, uint32_t count, uint32_t cores);

// ---- The commands -------------------------------------------------------------

int claim_command(const char **arguments);   // core_walk.c
int life_command(const char **arguments);
int lane_command(const char **arguments);
int scale_command(const char **arguments);
int plan_command(const char **arguments);    // core_plan.c
int memory_command(const char **arguments);  // core_memory.c
