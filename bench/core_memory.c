// core_memory.c - the bytes a waiting task takes, counted where the core allocates them.
#include "core.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 16, BUNDLE = 1000, MACHINES = 64, SHARED = 1024 };

// Lane, group, bundle, machine, priority and content key: the optional columns of a task. Groups
// and keys have rows of their own; `distinct` is their number.
static void fill_columns(struct load *load, uint32_t distinct)
{
    for (uint32_t number = 1; number <= load->job.task_count; number++) {
        struct rota_task_spec *task = &load->tasks[number - 1];
        if (number % BUNDLE == 1) {  // a bundle of the tasks that follow it
            task->flags = ROTA_TASK_BUNDLE;
            task->cores = 0;
            continue;
        }
        task->bundle = number - (number - 1) % BUNDLE;
        task->lane = 1 + number % LANES;
        task->group = 1 + number % distinct;
        task->access = ROTA_ACCESS_READ;
        task->machine = 1 + number % MACHINES;
        task->priority = (int16_t)(number % 5);
        task->key = (rota_object_id){2, 1 + number % distinct};
    }
}

static bool is_bundle(const struct load *load, uint32_t number)
{
    return load->tasks[number - 1].flags & ROTA_TASK_BUNDLE;
}

// A bundle has no edges.
static void drop_bundle_edges(struct load *load)
{
    uint32_t kept = 0;
    for (uint32_t edge = 0; edge < load->job.edge_count; edge++) {
        struct rota_edge one = load->edges[edge];
        if (is_bundle(load, one.before) || is_bundle(load, one.after)) continue;
        load->edges[kept++] = one;
    }
    load->job.edge_count = kept;
}

// Each task makes an object, reads the object of the task before it, and has a condition on it.
static void fill_needs(struct load *load)
{
    uint32_t count = load->job.task_count;
    load->clauses = allocate(count, sizeof *load->clauses);
    load->inputs = allocate(count, sizeof *load->inputs);
    load->outputs = allocate(count, sizeof *load->outputs);
    struct rota_job_spec *job = &load->job;
    for (uint32_t number = 1; number <= count; number++) {
        if (is_bundle(load, number)) continue;
        load->outputs[job->output_count++] =
            (struct rota_output){number, 0, {3, number}, number, {{0}, 0}};
        if (number < 2 || is_bundle(load, number - 1)) continue;
        load->inputs[job->input_count++] = (struct rota_input){number, 0, {3, number - 1}};
        load->tasks[number - 1].clause_first = job->clause_count;
        load->tasks[number - 1].clause_count = 1;
        load->clauses[job->clause_count++] =
            (struct rota_clause){ROTA_CLAUSE_SUCCESS, {0, number - 1}};
    }
    job->clauses = load->clauses;
    job->inputs = load->inputs;
    job->outputs = load->outputs;
}

static void define_lanes(struct driver *driver)
{
    for (uint32_t lane = 1; lane <= LANES; lane++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = lane;
        event.lane.patience = ROTA_NEVER;
        driver_step(driver, &event);
        driver_take(driver);
    }
}

int memory_command(const char **arguments)
{
    const char *use = arguments[2] ? arguments[2] : "edges";
    struct load load = load_open(arguments[0], number_parse(arguments[1]), ROTA_POLICY_PLAN);
    if (strcmp(use, "edges")) {
        fill_columns(&load, strcmp(use, "columns") ? UINT32_MAX : SHARED);
        drop_bundle_edges(&load);
    }
    if (!strcmp(use, "all")) fill_needs(&load);

    struct driver driver;
    driver_open(&driver, COUNTING_ON);
    define_lanes(&driver);
    size_t before = driver.bytes;
    driver_submit(&driver, &load);
    driver_turn(&driver);
    double count = load.job.task_count;
    printf("%.2f bytes_per_task peak=%.2f edges=%.2f objects=%.2f\n",
           (double)(driver.bytes - before) / count, (double)(driver.bytes_most - before) / count,
           load.job.edge_count / count, load.job.output_count / count);
    driver_close(&driver);
    load_close(&load);
    return 0;
}
