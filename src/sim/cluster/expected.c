// expected.c - jobs as clients made them up: the judges' own memory of what was asked for.
#include "sim/cluster/internal.h"

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

void ghost_task_make(struct world *world, struct ghost_task *task, uint32_t lane)
{
    task->cores = 1 + choose(world, OF_CLIENTS, 2);
    task->retries = choose(world, OF_CLIENTS, 3);
    if (chance(world, OF_CLIENTS, world->swarm.fails))
        task->failures = 1 + choose(world, OF_CLIENTS, 3);
    if (!lane) return;
    task->lane = lane;
    task->group = choose(world, OF_CLIENTS, GHOST_GROUPS + 1);
    task->access = choose(world, OF_CLIENTS, 2) ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ;
}

// What is made, and which of the needs are things and not only ends.
static void objects_make(struct world *world, struct ghost_job *job)
{
    if (job->claims || !chance(world, OF_DATA, world->swarm.data)) return;
    for (uint32_t i = 0; i < job->count; i++) {
        struct ghost_task *task = &job->tasks[i];
        task->makes = choose(world, OF_DATA, 4);
        task->is_unfetchable = chance(world, OF_LACKS, world->swarm.unfetchable);
        for (uint32_t n = 0; n < task->need_count; n++)
            if (job->tasks[task->needs[n] - 1].makes && choose(world, OF_DATA, 4))
                task->reads |= 1u << n;
    }
}

// Chains of two and more that run at a time. In lanes they might keep each other out.
static void streams_make(struct world *world, struct ghost_job *job)
{
    bool may = !job->claims && !job->tasks[0].lane;
    if (!may || !chance(world, OF_BROOKS, world->swarm.streams)) return;
    for (uint32_t i = 1; i < job->first; i++) {
        struct ghost_task *task = &job->tasks[i];
        struct ghost_task *writer = task->need_count == 1 ? &job->tasks[task->needs[0] - 1] : NULL;
        if (!writer || writer->makes || writer->flows || !choose(world, OF_BROOKS, 4)) continue;
        writer->flows = task->drinks = true;
        writer->was_lost = true;  // it writes again whenever that is not read to its end
    }
}

rota_object_id ghost_object(uint32_t job, uint32_t index)
{
    return (rota_object_id){job + 1, index};
}

struct ghost_task *ghost_maker(struct world *world, rota_object_id object)
{
    const struct ghost_job *job
        = object.high && object.high <= world->job_count ? world->jobs[object.high - 1] : NULL;
    return job && object.low && object.low <= job->count ? &job->tasks[object.low - 1] : NULL;
}

struct ghost_job *ghost_make(struct world *world, uint32_t caller)
{
    struct ghost_job *job = world_allocate(1, sizeof *job);
    world_reserve(&world->jobs, &world->job_capacity, world->job_count, sizeof *world->jobs);
    world->jobs[world->job_count++] = job;
    job->caller = caller;
    job->count = 1 + choose(world, OF_CLIENTS, world->swarm.tasks_max);
    bool has_when = chance(world, OF_WHEN, world->swarm.when);
    uint32_t more = has_when ? 1 + choose(world, OF_WHEN, 4) : 0;
    job->tasks = world_allocate(job->count + more, sizeof *job->tasks);
    job->claims = world->swarm.clerks && chance(world, OF_CLERKS, world->swarm.claims);
    bool in_lane = chance(world, OF_CLIENTS, world->swarm.lanes);
    uint32_t lane = 1 + choose(world, OF_CLIENTS, GHOST_LANES);
    enum shape shape = (enum shape)choose(world, OF_CLIENTS, SHAPES);
    if (!in_lane) lane = 0;
    for (uint32_t i = 0; i < job->count; i++) ghost_task_make(world, &job->tasks[i], lane);
    needs_make(world, job, shape);
    objects_make(world, job);
    job->first = job->count;
    if (job->count > 1 && chance(world, OF_CLERKS, world->swarm.grows))
        job->first = 1 + choose(world, OF_CLERKS, job->count - 1);
    // What nobody reads may be gone before more of the job comes.
    for (uint32_t i = job->first; i < job->count; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (job->tasks[i].needs[n] <= job->first) job->tasks[i].reads &= ~(1u << n);
    streams_make(world, job);
    if (more) when_make(world, job, more, lane);
    return job;
}

struct ghost_job *ghost_find(struct world *world, uint32_t number)
{
    uint32_t at = map_find(&world->jobs_by_number, number);
    return at ? world->jobs[at - 1] : NULL;
}

// ---- As a message ------------------------------------------------------------------------------

static struct wire_file file_of(uint32_t job, uint32_t index, const char *name, bool flows)
{
    return (struct wire_file){.kind = flows ? WIRE_STREAM : WIRE_FILE,
                              .name = wire_text_of(name),
                              .path = wire_text_of(""),
                              .object = ghost_object(job, index)};
}

static wire_text body_make(uint32_t job, uint32_t task, const struct ghost_task *ghost)
{
    static const char *const names[GHOST_NEEDS] = {"one", "two", "three"};
    struct wire_file inputs[GHOST_NEEDS], output = file_of(job, task, "made", ghost->flows);
    uint32_t input_count = 0;
    char name[32];
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true");
    snprintf(name, sizeof name, "%u.%u", job, task);
    message.run.name = wire_text_of(name);
    message.run.cwd = message.run.stdin_path = wire_text_of("");
    message.run.argv = (wire_texts){&word, 1};
    message.run.flags = ghost->lane ? WIRE_RUN_EXCLUSIVE : 0;
    for (uint32_t i = 0; i < ghost->need_count; i++)
        if (ghost->reads >> i & 1 || ghost->drinks)
            inputs[input_count++] = file_of(job, ghost->needs[i], names[i], ghost->drinks);
    message.run.inputs = (wire_files){inputs, input_count};
    message.run.outputs = (wire_files){&output, ghost->makes || ghost->flows};
    wire_put(&frame, &message);
    return (wire_text){frame.bytes, frame.length};
}

// The tasks of one submission.
struct part {
    const struct ghost_job *job;
    uint32_t number, from, to;
};

static uint32_t edges_make(const struct part *part, struct wire_edge *edges)
{
    const struct ghost_job *job = part->job;
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (!(job->tasks[i].reads >> n & 1) && !job->tasks[i].drinks)
                edges[count++] = (struct wire_edge){job->tasks[i].needs[n], i + 1};
    return count;
}

static uint32_t uses_make(const struct part *part, struct wire_use *uses)
{
    const struct ghost_job *job = part->job;
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (job->tasks[i].reads >> n & 1 || job->tasks[i].drinks)
                uses[count++] = (struct wire_use){
                    .task = i + 1, .object = ghost_object(part->number, job->tasks[i].needs[n])};
    return count;
}

static uint32_t makes_make(const struct part *part, struct wire_make *makes)
{
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        if (part->job->tasks[i].makes || part->job->tasks[i].flows)
            makes[count++]
                = (struct wire_make){.task = i + 1,
                                     .flags = part->job->tasks[i].flows ? ROTA_OBJECT_STREAM : 0,
                                     .object = ghost_object(part->number, i + 1)};
    return count;
}

// Their clauses; each task knows which are its own.
static uint32_t clauses_make(const struct part *part, struct wire_spec *specs,
                             struct wire_clause *clauses)
{
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++) {
        const struct ghost_task *task = &part->job->tasks[i];
        specs[i - part->from].clause_first = count;
        specs[i - part->from].clause_count = task->when_count;
        for (uint32_t n = 0; n < task->when_count; n++)
            clauses[count++]
                = (struct wire_clause){.kind = task->when[n].kind, .task = {0, task->when[n].task}};
    }
    return count;
}

static void tasks_make(const struct part *part, struct wire_spec *specs, wire_text *bodies,
                       wire_text *commands)
{
    for (uint32_t i = part->from; i < part->to; i++) {
        const struct ghost_task *task = &part->job->tasks[i];
        uint32_t at = i - part->from;
        bodies[at] = body_make(part->number, i + 1, task);
        commands[at] = wire_text_of("true");
        specs[at] = (struct wire_spec){.body = task->is_bundle ? 0 : at + 1,
                                       .flags = task->is_bundle ? ROTA_TASK_BUNDLE : 0,
                                       .bundle = task->bundle,
                                       .lane = task->lane ? 1 : 0,
                                       .group = task->group,
                                       .access = task->access,
                                       .cores = task->cores,
                                       .retries = task->retries};
        specs[at].name = specs[at].details = wire_text_of("");
    }
}

static enum rota_policy policy_of(const struct world *world, const struct ghost_job *job)
{
    if (job->claims) return ROTA_POLICY_CLAIM;
    return world->swarm.is_plan ? ROTA_POLICY_PLAN : ROTA_POLICY_PULL;
}

void ghost_submit(struct world *world, uint32_t number, bool is_more, struct request_id id,
                  struct wire_out *out)
{
    const struct ghost_job *job = world->jobs[number];
    struct part part
        = {job, number, is_more ? job->first : 0, is_more ? job->count : job->first};
    static const char *const lane_names[] = {"one", "two", "three"};
    static const char *const group_names[] = {"a", "b", "c", "d"};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    uint32_t count = part.to - part.from, lane_number = job->tasks[0].lane;
    struct wire_spec *specs = world_allocate(count, sizeof *specs);
    wire_text *bodies = world_allocate(count, sizeof *bodies);
    wire_text *commands = world_allocate(count, sizeof *commands);
    struct wire_edge *edges = world_allocate((size_t)count * GHOST_NEEDS, sizeof *edges);
    struct wire_use *uses = world_allocate((size_t)count * GHOST_NEEDS, sizeof *uses);
    struct wire_make *makes = world_allocate(count, sizeof *makes);
    struct wire_clause *clauses
        = world_allocate((size_t)count * GHOST_CLAUSES, sizeof *clauses);
    struct wire_lane lane = {.name = wire_text_of(lane_number ? lane_names[lane_number - 1] : "")};
    wire_text groups[GHOST_GROUPS];
    for (uint32_t i = 0; i < GHOST_GROUPS; i++) groups[i] = wire_text_of(group_names[i]);
    tasks_make(&part, specs, bodies, commands);
    message.submit.high = id.high;
    message.submit.low = id.low;
    message.submit.job = is_more ? job->number : 0;
    message.submit.flags = part.to < job->count ? WIRE_SUBMIT_OPEN : 0;
    message.submit.policy = policy_of(world, job);
    message.submit.name = wire_text_of("");
    message.submit.lanes = (wire_lanes){&lane, lane.name.length ? 1 : 0};
    message.submit.groups = (wire_texts){groups, GHOST_GROUPS};
    message.submit.bodies = (wire_texts){bodies, count};
    message.submit.commands = (wire_texts){commands, count};
    message.submit.tasks = (wire_specs){specs, count};
    message.submit.clauses = (wire_clauses){clauses, clauses_make(&part, specs, clauses)};
    message.submit.edges = (wire_edges){edges, edges_make(&part, edges)};
    message.submit.inputs = (wire_uses){uses, uses_make(&part, uses)};
    message.submit.outputs = (wire_makes){makes, makes_make(&part, makes)};
    wire_put(out, &message);
    for (uint32_t i = 0; i < count; i++) free((void *)(uintptr_t)bodies[i].bytes);
    free(specs), free(bodies), free(commands), free(edges), free(uses), free(makes);
    free(clauses);
}
