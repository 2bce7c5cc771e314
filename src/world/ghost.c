// ghost.c - jobs as clients made them up: the judges' own memory of what was asked for.
#include "world/parts.h"

enum shape { ALONE, CHAIN, FAN, RANDOM, SHAPES };

static void need_add(struct ghost_task *task, uint32_t number)
{
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == number) return;
    if (task->need_count < GHOST_NEEDS) task->needs[task->need_count++] = number;
}

static void needs_make(struct world *world, struct ghost_job *job, enum shape shape)
{
    for (uint32_t i = 1; i < job->count; i++) {
        struct ghost_task *task = &job->tasks[i];
        if (shape == CHAIN) need_add(task, i);
        if (shape == FAN) need_add(task, i + 1 < job->count ? 1 : i);
        for (int n = 0; shape == RANDOM && n < GHOST_NEEDS; n++)
            if (choose(world, OF_CLIENTS, 3)) need_add(task, choose(world, OF_CLIENTS, i) + 1);
    }
}

static void task_make(struct world *world, struct ghost_task *task, bool in_lane, uint32_t lane)
{
    task->cores = 1 + choose(world, OF_CLIENTS, 2);
    task->retries = choose(world, OF_CLIENTS, 3);
    if (chance(world, OF_CLIENTS, world->swarm.fails))
        task->failures = 1 + choose(world, OF_CLIENTS, 3);
    if (!in_lane) return;
    task->lane = lane;
    task->group = choose(world, OF_CLIENTS, GHOST_GROUPS + 1);
    task->access = choose(world, OF_CLIENTS, 2) ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ;
}

struct ghost_job *ghost_make(struct world *world, uint32_t caller)
{
    struct ghost_job *job = world_allocate(1, sizeof *job);
    world_reserve(&world->jobs, &world->job_capacity, world->job_count, sizeof *world->jobs);
    world->jobs[world->job_count++] = job;
    job->caller = caller;
    job->count = 1 + choose(world, OF_CLIENTS, world->swarm.tasks_max);
    job->tasks = world_allocate(job->count, sizeof *job->tasks);
    bool in_lane = chance(world, OF_CLIENTS, world->swarm.lanes);
    uint32_t lane = 1 + choose(world, OF_CLIENTS, GHOST_LANES);
    enum shape shape = (enum shape)choose(world, OF_CLIENTS, SHAPES);
    for (uint32_t i = 0; i < job->count; i++) task_make(world, &job->tasks[i], in_lane, lane);
    needs_make(world, job, shape);
    return job;
}

struct ghost_job *ghost_find(struct world *world, uint32_t number)
{
    uint32_t at = map_find(&world->jobs_by_number, number);
    return at ? world->jobs[at - 1] : NULL;
}

// ---- As a message
// --------------------------------------------------------------------------------

static wire_text body_make(uint32_t job, uint32_t task, bool exclusive)
{
    char name[32];
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true");
    snprintf(name, sizeof name, "%u.%u", job, task);
    message.run.name = wire_text_of(name);
    message.run.cwd = message.run.stdin_path = wire_text_of("");
    message.run.argv = (wire_texts){&word, 1};
    message.run.flags = exclusive ? WIRE_RUN_EXCLUSIVE : 0;
    wire_put(&frame, &message);
    return (wire_text){frame.bytes, frame.length};
}

static uint32_t edges_make(const struct ghost_job *job, struct wire_edge *edges)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->count; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            edges[count++] = (struct wire_edge){job->tasks[i].needs[n], i + 1};
    return count;
}

void ghost_submit(struct world *world, uint32_t number, struct wire_out *out)
{
    const struct ghost_job *job = world->jobs[number];
    static const char *const lane_names[] = {"one", "two", "three"};
    static const char *const group_names[] = {"a", "b", "c", "d"};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    struct wire_spec *specs = world_allocate(job->count, sizeof *specs);
    wire_text *bodies = world_allocate(job->count, sizeof *bodies);
    wire_text *commands = world_allocate(job->count, sizeof *commands);
    struct wire_edge *edges = world_allocate((size_t)job->count * GHOST_NEEDS, sizeof *edges);
    struct wire_lane lane = {.name = wire_text_of("")};
    wire_text groups[GHOST_GROUPS];
    for (uint32_t i = 0; i < GHOST_GROUPS; i++) groups[i] = wire_text_of(group_names[i]);
    for (uint32_t i = 0; i < job->count; i++) {
        const struct ghost_task *task = &job->tasks[i];
        bodies[i] = body_make(number, i + 1, task->lane);
        commands[i] = wire_text_of("true");
        specs[i] = (struct wire_spec){.body = i + 1,
                                      .lane = task->lane ? 1 : 0,
                                      .group = task->group,
                                      .access = task->access,
                                      .cores = task->cores,
                                      .retries = task->retries};
        specs[i].name = specs[i].details = wire_text_of("");
        if (task->lane) lane.name = wire_text_of(lane_names[task->lane - 1]);
    }
    message.submit.high = job->caller + 1;
    message.submit.low = job->request + 1;
    message.submit.policy = world->swarm.is_plan ? ROTA_POLICY_PLAN : ROTA_POLICY_PULL;
    message.submit.name = wire_text_of("");
    message.submit.lanes = (wire_lanes){&lane, lane.name.length ? 1 : 0};
    message.submit.groups = (wire_texts){groups, GHOST_GROUPS};
    message.submit.bodies = (wire_texts){bodies, job->count};
    message.submit.commands = (wire_texts){commands, job->count};
    message.submit.tasks = (wire_specs){specs, job->count};
    message.submit.edges = (wire_edges){edges, edges_make(job, edges)};
    wire_put(out, &message);
    for (uint32_t i = 0; i < job->count; i++) free((void *)(uintptr_t)bodies[i].bytes);
    free(specs), free(bodies), free(commands), free(edges);
}
