// expected.c - generated jobs: the judges' own record of what clients submitted.
#include "sim/cluster/internal.h"

enum shape { ALONE, CHAIN, FAN, RANDOM, SHAPES };

static void need_add(struct expected_task *task, uint32_t number)
{
    for (uint32_t i = 0; i < task->need_count; i++)
        if (task->needs[i] == number) return;
    if (task->need_count < EXPECTED_NEEDS) task->needs[task->need_count++] = number;
}

static void needs_make(struct sim *sim, struct expected_job *job, enum shape shape)
{
    for (uint32_t i = 1; i < job->count; i++) {
        struct expected_task *task = &job->tasks[i];
        if (shape == CHAIN) need_add(task, i);
        if (shape == FAN) need_add(task, i + 1 < job->count ? 1 : i);
        for (int n = 0; shape == RANDOM && n < EXPECTED_NEEDS; n++)
            if (choose(sim, OF_CLIENTS, 3)) need_add(task, choose(sim, OF_CLIENTS, i) + 1);
    }
}

void sim_expected_task_make(struct sim *sim, struct expected_task *task, uint32_t lane)
{
    task->cores = 1 + choose(sim, OF_CLIENTS, 2);
    task->retries = choose(sim, OF_CLIENTS, 3);
    if (chance(sim, OF_CLIENTS, sim->setting.fails))
        task->failures = 1 + choose(sim, OF_CLIENTS, 3);
    if (!lane) return;
    task->lane = lane;
    task->group = choose(sim, OF_CLIENTS, EXPECTED_GROUPS + 1);
    task->access = choose(sim, OF_CLIENTS, 2) ? ROTA_ACCESS_WRITE : ROTA_ACCESS_READ;
}

// The outputs, and which of the dependencies are objects.
static void objects_make(struct sim *sim, struct expected_job *job)
{
    if (job->claims || !chance(sim, OF_DATA, sim->setting.data)) return;
    for (uint32_t i = 0; i < job->count; i++) {
        struct expected_task *task = &job->tasks[i];
        task->makes = choose(sim, OF_DATA, 4);
        task->is_unfetchable = chance(sim, OF_INPUTS, sim->setting.unfetchable);
        for (uint32_t n = 0; n < task->need_count; n++)
            if (job->tasks[task->needs[n] - 1].makes && choose(sim, OF_DATA, 4))
                task->reads |= 1u << n;
    }
}

// Chains of two or more tasks that run at the same time. In lanes they might block each other.
static void streams_make(struct sim *sim, struct expected_job *job)
{
    bool may = !job->claims && !job->tasks[0].lane;
    if (!may || !chance(sim, OF_STREAMS, sim->setting.streams)) return;
    for (uint32_t i = 1; i < job->first; i++) {
        struct expected_task *task = &job->tasks[i];
        struct expected_task *writer
            = task->need_count == 1 ? &job->tasks[task->needs[0] - 1] : NULL;
        if (!writer || writer->makes || writer->writes_stream || !choose(sim, OF_STREAMS, 4))
            continue;
        writer->writes_stream = task->reads_stream = true;
        writer->was_lost = true;  // it writes again whenever its stream is not read to the end
    }
}

rota_object_id sim_expected_object(uint32_t job, uint32_t index)
{
    return (rota_object_id){job + 1, index};
}

struct expected_task *sim_expected_maker(struct sim *sim, rota_object_id object)
{
    const struct expected_job *job
        = object.high && object.high <= sim->job_count ? sim->jobs[object.high - 1] : NULL;
    return job && object.low && object.low <= job->count ? &job->tasks[object.low - 1] : NULL;
}

struct expected_job *sim_expected_make(struct sim *sim, uint32_t client)
{
    struct expected_job *job = sim_allocate(1, sizeof *job);
    *SIM_NEW(sim->jobs, sim->job_count, sim->job_capacity) = job;
    job->client = client;
    job->count = 1 + choose(sim, OF_CLIENTS, sim->setting.tasks_max);
    bool has_when = chance(sim, OF_CONDITIONS, sim->setting.when);
    uint32_t more = has_when ? 1 + choose(sim, OF_CONDITIONS, 4) : 0;
    job->tasks = sim_allocate(job->count + more, sizeof *job->tasks);
    job->claims = sim->setting.handlers && chance(sim, OF_HANDLERS, sim->setting.claims);
    bool in_lane = chance(sim, OF_CLIENTS, sim->setting.lanes);
    uint32_t lane = 1 + choose(sim, OF_CLIENTS, EXPECTED_LANES);
    enum shape shape = (enum shape)choose(sim, OF_CLIENTS, SHAPES);
    if (!in_lane) lane = 0;
    for (uint32_t i = 0; i < job->count; i++) sim_expected_task_make(sim, &job->tasks[i], lane);
    needs_make(sim, job, shape);
    objects_make(sim, job);
    job->first = job->count;
    if (job->count > 1 && chance(sim, OF_HANDLERS, sim->setting.grows))
        job->first = 1 + choose(sim, OF_HANDLERS, job->count - 1);
    // An object without readers may be dropped before more of the job is submitted.
    for (uint32_t i = job->first; i < job->count; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (job->tasks[i].needs[n] <= job->first) job->tasks[i].reads &= ~(1u << n);
    streams_make(sim, job);
    if (more) when_make(sim, job, more, lane);
    return job;
}

struct expected_job *sim_expected_find(struct sim *sim, uint32_t number)
{
    uint32_t at = map_find(&sim->jobs_by_number, number);
    return at ? sim->jobs[at - 1] : NULL;
}

// ---- Messages -----------------------------------------------------------------------------------

static struct wire_file file_of(uint32_t job, uint32_t index, const char *name, bool writes_stream)
{
    return (struct wire_file){.kind = writes_stream ? WIRE_STREAM : WIRE_FILE,
                              .name = wire_text_of(name),
                              .path = wire_text_of(""),
                              .object = sim_expected_object(job, index)};
}

static wire_text body_make(uint32_t job, uint32_t task, const struct expected_task *expected)
{
    static const char *const names[EXPECTED_NEEDS] = {"one", "two", "three"};
    struct wire_file inputs[EXPECTED_NEEDS],
        output = file_of(job, task, "made", expected->writes_stream);
    uint32_t input_count = 0;
    char name[32];
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE};
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true");
    snprintf(name, sizeof name, "%u.%u", job, task);
    message.run.name = wire_text_of(name);
    message.run.cwd = message.run.stdin_path = wire_text_of("");
    message.run.argv = (wire_texts){&word, 1};
    message.run.flags = expected->lane ? WIRE_RUN_EXCLUSIVE : 0;
    for (uint32_t i = 0; i < expected->need_count; i++)
        if (expected->reads >> i & 1 || expected->reads_stream)
            inputs[input_count++]
                = file_of(job, expected->needs[i], names[i], expected->reads_stream);
    message.run.inputs = (wire_files){inputs, input_count};
    message.run.outputs = (wire_files){&output, expected->makes || expected->writes_stream};
    wire_put(&frame, &message);
    return (wire_text){frame.bytes, frame.length};
}

// The tasks of one submission.
struct part {
    const struct expected_job *job;
    uint32_t number, from, to;
};

static uint32_t edges_make(const struct part *part, struct wire_edge *edges)
{
    const struct expected_job *job = part->job;
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (!(job->tasks[i].reads >> n & 1) && !job->tasks[i].reads_stream)
                edges[count++] = (struct wire_edge){job->tasks[i].needs[n], i + 1};
    return count;
}

static uint32_t uses_make(const struct part *part, struct wire_use *uses)
{
    const struct expected_job *job = part->job;
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        for (uint32_t n = 0; n < job->tasks[i].need_count; n++)
            if (job->tasks[i].reads >> n & 1 || job->tasks[i].reads_stream)
                uses[count++] = (struct wire_use){
                    .task = i + 1,
                    .object = sim_expected_object(part->number, job->tasks[i].needs[n])};
    return count;
}

static uint32_t makes_make(const struct part *part, struct wire_make *makes)
{
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++)
        if (part->job->tasks[i].makes || part->job->tasks[i].writes_stream)
            makes[count++] = (struct wire_make){
                .task = i + 1,
                .flags = part->job->tasks[i].writes_stream ? ROTA_OBJECT_STREAM : 0,
                .object = sim_expected_object(part->number, i + 1)};
    return count;
}

// The conditions; each task records which clauses are its own.
static uint32_t clauses_make(const struct part *part, struct wire_spec *specs,
                             struct wire_clause *clauses)
{
    uint32_t count = 0;
    for (uint32_t i = part->from; i < part->to; i++) {
        const struct expected_task *task = &part->job->tasks[i];
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
        const struct expected_task *task = &part->job->tasks[i];
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

static enum rota_policy policy_of(const struct sim *sim, const struct expected_job *job)
{
    if (job->claims) return ROTA_POLICY_CLAIM;
    return sim->setting.is_plan ? ROTA_POLICY_PLAN : ROTA_POLICY_PULL;
}

void sim_expected_submit(struct sim *sim, uint32_t number, bool is_more, struct request_id id,
                  struct wire_out *out)
{
    const struct expected_job *job = sim->jobs[number];
    struct part part
        = {job, number, is_more ? job->first : 0, is_more ? job->count : job->first};
    static const char *const lane_names[] = {"one", "two", "three"};
    static const char *const group_names[] = {"a", "b", "c", "d"};
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE};
    uint32_t count = part.to - part.from, lane_number = job->tasks[0].lane;
    struct wire_spec *specs = sim_allocate(count, sizeof *specs);
    wire_text *bodies = sim_allocate(count, sizeof *bodies);
    wire_text *commands = sim_allocate(count, sizeof *commands);
    struct wire_edge *edges = sim_allocate((size_t)count * EXPECTED_NEEDS, sizeof *edges);
    struct wire_use *uses = sim_allocate((size_t)count * EXPECTED_NEEDS, sizeof *uses);
    struct wire_make *makes = sim_allocate(count, sizeof *makes);
    struct wire_clause *clauses
        = sim_allocate((size_t)count * EXPECTED_CLAUSES, sizeof *clauses);
    struct wire_lane lane = {.name = wire_text_of(lane_number ? lane_names[lane_number - 1] : "")};
    wire_text groups[EXPECTED_GROUPS];
    for (uint32_t i = 0; i < EXPECTED_GROUPS; i++) groups[i] = wire_text_of(group_names[i]);
    tasks_make(&part, specs, bodies, commands);
    message.submit.high = id.high;
    message.submit.low = id.low;
    message.submit.job = is_more ? job->number : 0;
    message.submit.flags = part.to < job->count ? WIRE_SUBMIT_OPEN : 0;
    message.submit.policy = policy_of(sim, job);
    message.submit.name = wire_text_of("");
    message.submit.lanes = (wire_lanes){&lane, lane.name.length ? 1 : 0};
    message.submit.groups = (wire_texts){groups, EXPECTED_GROUPS};
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
