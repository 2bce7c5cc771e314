// core_plan.c - the cost of placing ready tasks whose inputs are on many workers.
#include "core.h"

#include <stdio.h>

enum { INPUTS_MAX = 3, NEWS = 1000 };

static uint32_t draw(uint64_t *random, uint32_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % bound);
}

static rota_object_id object_name(uint32_t number)
{
    return (rota_object_id){1, number + 1};
}

// As many uploaded objects as tasks; each task reads 0 to 3 of them.
static struct load load_with_inputs(uint32_t task_count, uint64_t *random)
{
    struct load load = load_open("independent", task_count, ROTA_POLICY_PLAN);
    load.inputs = allocate((size_t)task_count * INPUTS_MAX, sizeof *load.inputs);
    load.outputs = allocate(task_count, sizeof *load.outputs);
    uint32_t inputs = 0;
    for (uint32_t task = 0; task < task_count; task++) {
        load.outputs[task] = (struct rota_output){
            0, ROTA_OBJECT_AWAY, object_name(task), 1 + draw(random, 1u << 20), {{0}, 0}};
        for (uint32_t left = draw(random, INPUTS_MAX + 1); left > 0; left--) {
            load.inputs[inputs++] =
                (struct rota_input){task + 1, 0, object_name(draw(random, task_count))};
        }
    }
    load.job.inputs = load.inputs;
    load.job.input_count = inputs;
    load.job.outputs = load.outputs;
    load.job.output_count = task_count;
    return load;
}

// Every object is reported by one worker, so that in the end every task is ready.
static void spread_objects(struct driver *driver, const struct load *load, uint32_t workers,
                           uint64_t *random)
{
    for (uint32_t object = 0; object < load->job.output_count; object++) {
        struct rota_event *event = driver_event(driver, ROTA_EVENT_OBJECT_HELD);
        event->replica.worker.number = 1 + draw(random, workers);
        event->replica.object = load->outputs[object].object;
        event->replica.bytes = load->outputs[object].bytes;
        driver_step(driver, event);
        if (object % NEWS == 0) driver_take(driver);
    }
    driver_take(driver);
}

int plan_command(const char **arguments)
{
    uint32_t workers = number_parse(arguments[0]), tasks = number_parse(arguments[1]);
    uint64_t random = 1;
    struct load load = load_with_inputs(tasks, &random);
    struct driver driver;
    driver_open(&driver, COUNTING_OFF);
    driver_workers(&driver, workers, tasks / workers * 5 / 4 + 1);  // a quarter stays free
    driver_submit(&driver, &load);
    spread_objects(&driver, &load, workers, &random);
    if (driver.run_count) return 1;  // placed before its turn

    uint32_t turns = 0;
    for (driver.time_seconds = 0; driver.run_count < tasks; turns++) {
        uint32_t before = driver.run_count;
        driver_turn(&driver);
        if (driver.run_count == before) driver_rest(&driver);
    }
    printf("%.4f us_per_task turns=%u\n", driver.time_seconds / tasks * 1e6, turns);
    driver_close(&driver);
    load_close(&load);
    return 0;
}
