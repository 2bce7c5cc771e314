// submission.c - turns a complete submission into a job.
#include "server/cluster/body_objects.h"
#include "server/cluster/objects.h"
#include "server/cluster/planning.h"
#include "server/cluster/submission_pieces.h"
#include "server/cluster/request.h"
#include "server/cluster/job_watchers.h"

#include <stdio.h>
#include <string.h>

enum {
    NEEDS_MAX = 100000,   // of one task
    CLAUSES_MAX = 10000,  // of one condition
    // The sum over the conditions of a job of the squares of their numbers of clauses: a condition
    // is evaluated again for each change of a task that it names.
    CONDITIONS_MAX = 100000000,
    RETRIES_MAX = 1000 - CLUSTER_LOSSES,
    BODY_BYTES_MAX = 1 << 30,  // of one job
    LANE_FLAGS = ROTA_LANE_STRICT | ROTA_LANE_SUBMIT_ORDER
};

// ---- From pieces to a submission to the core ------------------------------------------------

struct making {
    struct cluster *cluster;
    const struct cluster_draft *draft;
    struct rota_job_spec spec;
    struct rota_task_spec *tasks;
    struct store_text *texts;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    uint32_t *lanes, *groups, *machines, *bodies;  // numbers, by index
    struct cluster_body_facts *body_facts;
    const char **body_faults;  // null: none
    uint32_t *needs, *reads;   // by task: number of dependencies, number of inputs
    const char **commands;
    wire_text *frames;
    uint32_t lane_count, group_count, machine_count, body_count;
    uint32_t bodies_before;  // of the job that is extended
    uint64_t body_bytes;     // with those
    uint64_t condition_work;  // of the job; see CONDITIONS_MAX
    bool has_kept;
    const char *fault;  // the first; null: none
    uint32_t fault_task;          // its number; 0: no particular task
    enum rota_error fault_error;  // OK: the message is invalid
};

static void fail(struct making *making, const char *reason)
{
    if (!making->fault) making->fault = reason;
}

static void fail_task(struct making *making, uint32_t number, const char *reason)
{
    if (!making->fault) making->fault_task = number;
    fail(making, reason);
}

static uint32_t first_of(const struct making *making)
{
    return making->spec.first ? making->spec.first : 1;
}

// Zeroed memory, until the turn ends. Null: out of memory.
static void *room(struct making *making, size_t count, size_t size)
{
    void *memory = server_keep(making->cluster->server, count ? count : 1, size);
    if (!memory) fail(making, cluster_no_room);
    return memory;
}

static const char *keep(struct making *making, wire_text text)
{
    char *kept = text.length ? room(making, (size_t)text.length + 1, 1) : NULL;
    if (kept) memcpy(kept, text.bytes, text.length);
    return kept;
}

static uint32_t name_add(struct making *making, enum catalog_kind kind, const char *name)
{
    uint32_t number = cluster_name_try(making->cluster, kind, name);
    if (!number) fail(making, cluster_no_room);
    return number;
}

static void lanes_add(struct making *making, const wire_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count && !making->fault; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = name_add(making, CATALOG_LANE, lanes->items[i].name.bytes);
        event.lane.flags = lanes->items[i].flags;
        event.lane.patience = ROTA_NEVER;
        if (lanes->items[i].flags & ~(uint32_t)LANE_FLAGS) fail(making, "unknown flag of a lane");
        if (making->fault) return;
        making->lanes[making->lane_count++] = event.lane.lane;
        making->fault_error = server_step(making->cluster->server, &event);
        if (making->fault_error) fail(making, making->cluster->server->reason);
    }
}

// A refused submission must not leave a lane; a lane that other tasks use stays.
static void lanes_forget(struct making *making)
{
    for (uint32_t i = 0; i < making->lane_count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = making->lanes[i];
        event.lane.flags = ROTA_LANE_GONE;
        server_step(making->cluster->server, &event);
    }
}

static void names_add(struct making *making, enum catalog_kind kind, const wire_texts *names,
                      uint32_t *numbers, uint32_t *count)
{
    for (uint32_t i = 0; i < names->count && !making->fault; i++)
        numbers[(*count)++] = name_add(making, kind, names->items[i].bytes);
}

// Bodies have numbers before they are stored, which happens together with the job. An error of a
// body is reported for its first task.
static void bodies_add(struct making *making, const struct wire_submit *submit)
{
    for (uint32_t i = 0; i < submit->bodies.count && !making->fault; i++) {
        wire_text body = submit->bodies.items[i];
        uint32_t at = making->body_count++;
        making->body_faults[at] = cluster_body_fault(making->cluster->server, body,
                                                      &making->body_facts[at]);
        if (making->body_faults[at] == cluster_no_room) fail(making, cluster_no_room);
        making->commands[at] = keep(making, submit->commands.items[i]);
        making->frames[at] = (wire_text){keep(making, body), body.length};
        making->bodies[at] = making->bodies_before + at + 1;
        making->body_bytes += body.length;
        if (making->body_bytes > BODY_BYTES_MAX)
            fail(making, "the commands of a job may have at most 1 GiB");
    }
}

// The number of a name, by index from 1; 0 means none.
static uint32_t number_at(struct making *making, const uint32_t *numbers, uint32_t count,
                          uint32_t index)
{
    if (index <= count) return index ? numbers[index - 1] : 0;
    fail_task(making, first_of(making) + making->spec.task_count - 1,
              "a task names a lane, group, machine or body that is not in the submission");
    return 0;
}

static const char *task_fault_of(const struct making *making, const struct wire_spec *task)
{
    if (task->retries > RETRIES_MAX) return "at most 995 retries are allowed";
    if (task->priority < -128 || task->priority > 127)
        return "a priority must be between -128 and 127";
    if (task->access > ROTA_ACCESS_WRITE) return "unknown access";
    if (task->clause_count > CLAUSES_MAX) return "a condition may have at most 10,000 clauses";
    if (making->condition_work > CONDITIONS_MAX)
        return "the conditions of the job are too long: the sum of the squares of their numbers of"
               " clauses may be at most 100,000,000 (name a bundle instead of its tasks)";
    if (!task->body) return NULL;
    bool outlives = !(making->body_facts[task->body - 1].flags & WIRE_RUN_EXCLUSIVE);
    if (making->body_faults[task->body - 1]) return making->body_faults[task->body - 1];
    return task->lane && outlives ? "a command in a lane must be stopped when its lease expires"
                                  : NULL;
}

static void task_add(struct making *making, const struct wire_spec *task)
{
    uint32_t at = making->spec.task_count++;
    struct rota_task_spec *spec = &making->tasks[at];
    struct store_text *text = &making->texts[at];
    text->name = keep(making, task->name);
    text->details = keep(making, task->details);
    spec->body = number_at(making, making->bodies, making->body_count, task->body);
    spec->flags = task->flags;
    spec->bundle = task->bundle;
    spec->lane = number_at(making, making->lanes, making->lane_count, task->lane);
    spec->group = number_at(making, making->groups, making->group_count, task->group);
    spec->machine = number_at(making, making->machines, making->machine_count, task->machine);
    spec->access = (uint8_t)task->access;
    spec->cores = task->cores;
    spec->memory_mib = task->memory_mib;
    spec->retries_max = task->retries + CLUSTER_LOSSES;
    spec->priority = (int16_t)task->priority;
    spec->estimate = task->estimate;
    spec->clause_first = task->clause_first;
    spec->clause_count = task->clause_count;
    spec->key = task->key;
    making->condition_work += (uint64_t)task->clause_count * task->clause_count;
    const char *fault = making->fault ? making->fault : task_fault_of(making, task);
    if (fault) fail_task(making, first_of(making) + at, fault);
    if (fault) return;
    text->command = task->body ? making->commands[task->body - 1] : NULL;
}

// Counts one more dependency, or one more input.
static void need_add(struct making *making, uint32_t *counts, uint32_t task, const char *too_many)
{
    uint32_t at = task - first_of(making);
    if (at < making->draft->tasks && ++counts[at] > NEEDS_MAX) fail_task(making, task, too_many);
}

static void lists_add(struct making *making, const struct wire_submit *submit)
{
    struct rota_job_spec *spec = &making->spec;
    for (uint32_t i = 0; i < submit->edges.count; i++) {
        const struct wire_edge *edge = &submit->edges.items[i];
        making->edges[spec->edge_count++] = (struct rota_edge){edge->before, edge->after};
        need_add(making, making->needs, edge->after,
                 "a task may have at most 100,000 dependencies");
    }
    for (uint32_t i = 0; i < submit->clauses.count; i++)
        making->clauses[spec->clause_count++] = (struct rota_clause){
            (enum rota_clause_kind)submit->clauses.items[i].kind, submit->clauses.items[i].task};
    for (uint32_t i = 0; i < submit->inputs.count; i++) {
        const struct wire_use *input = &submit->inputs.items[i];
        making->inputs[spec->input_count++] = (struct rota_input){
            .task = input->task, .flags = input->flags, .object = input->object};
        need_add(making, making->reads, input->task, "a task may have at most 100,000 inputs");
    }
    for (uint32_t i = 0; i < submit->outputs.count; i++) {
        const struct wire_make *output = &submit->outputs.items[i];
        bool is_brought = wire_is_upload(output->object) || wire_is_named(output->object);
        const struct cluster_stored *stored
            = output->task ? NULL : cluster_stored_find(making->cluster, output->object);
        if (output->task && is_brought)
            fail_task(making, output->task, "the id of an output is in the range of uploads");
        if (!output->task && !is_brought)
            fail(making, "the id of an upload is in the range of outputs");
        if (!output->task && !stored)
            fail(making, "an upload is not in the object store of this server");
        making->has_kept |= output->flags & ROTA_OBJECT_KEEP;
        making->outputs[spec->output_count++]
            = (struct rota_output){.task = output->task,
                                   .flags = output->flags,
                                   .bytes = stored ? stored->bytes : output->bytes,
                                   .object = output->object};
        if (stored) making->outputs[spec->output_count - 1].content = stored->content;
    }
}

static void making_reserve(struct making *making)
{
    const struct cluster_draft *draft = making->draft;
    making->tasks = room(making, draft->tasks, sizeof *making->tasks);
    making->texts = room(making, draft->tasks, sizeof *making->texts);
    making->edges = room(making, draft->edges, sizeof *making->edges);
    making->clauses = room(making, draft->clauses, sizeof *making->clauses);
    making->inputs = room(making, draft->inputs, sizeof *making->inputs);
    making->outputs = room(making, draft->outputs, sizeof *making->outputs);
    making->lanes = room(making, draft->lanes, sizeof *making->lanes);
    making->groups = room(making, draft->groups, sizeof *making->groups);
    making->machines = room(making, draft->machines, sizeof *making->machines);
    making->bodies = room(making, draft->bodies, sizeof *making->bodies);
    making->body_facts = room(making, draft->bodies, sizeof *making->body_facts);
    making->body_faults = room(making, draft->bodies, sizeof *making->body_faults);
    making->needs = room(making, draft->tasks, sizeof *making->needs);
    making->reads = room(making, draft->inputs ? draft->tasks : 1, sizeof *making->reads);
    making->commands = room(making, draft->bodies, sizeof *making->commands);
    making->frames = room(making, draft->bodies, sizeof *making->frames);
}

static void piece_add(struct making *making, const struct wire_submit *submit)
{
    lanes_add(making, &submit->lanes);
    names_add(making, CATALOG_GROUP, &submit->groups, making->groups, &making->group_count);
    names_add(making, CATALOG_MACHINE, &submit->machines, making->machines, &making->machine_count);
    bodies_add(making, submit);
    for (uint32_t i = 0; i < submit->tasks.count && !making->fault; i++)
        task_add(making, &submit->tasks.items[i]);
    lists_add(making, submit);
}

// Decodes all pieces again, one after the other, in place.
static void pieces_add(struct making *making)
{
    const struct wire_out *frames = &making->draft->frames;
    struct wire_in in = {.bytes = frames->bytes, .length = frames->length};
    struct wire_message message;
    while (!making->fault && wire_take(&in, &message) == WIRE_GOT)
        piece_add(making, &message.submit);
    in.bytes = NULL;  // they belong to the draft
    wire_in_release(&in);
}

static struct cluster_declared *declared_reserve(struct making *making, uint32_t count)
{
    struct cluster_declared *declared = room(making, 1, sizeof *declared);
    if (declared) declared->items = room(making, count, sizeof *declared->items);
    return declared && declared->items ? declared : NULL;
}

// A command must not name an object that its task does not declare: it could be of another job.
static void objects_check(struct making *making)
{
    const struct rota_job_spec *spec = &making->spec;
    bool any = false;
    for (uint32_t i = 0; i < making->body_count; i++)
        any |= making->body_facts[i].reads.count || making->body_facts[i].makes.count;
    if (!any) return;
    struct cluster_declared *reads = declared_reserve(making, spec->input_count);
    struct cluster_declared *makes = declared_reserve(making, spec->output_count);
    if (!reads || !makes) return;
    for (uint32_t i = 0; i < spec->input_count; i++)
        cluster_declared_add(reads, making->inputs[i].task, making->inputs[i].object);
    for (uint32_t i = 0; i < spec->output_count; i++)
        cluster_declared_add(makes, making->outputs[i].task, making->outputs[i].object);
    cluster_declared_sort(reads);
    cluster_declared_sort(makes);
    for (uint32_t i = 0; i < spec->task_count && !making->fault; i++) {
        uint32_t body = (uint32_t)making->tasks[i].body, task = first_of(making) + i;
        if (!body) continue;
        const struct cluster_body_facts *facts
            = &making->body_facts[body - making->bodies_before - 1];
        const char *fault = cluster_objects_fault(facts, task, reads, makes);
        if (fault) fail_task(making, task, fault);
    }
}

static enum rota_error making_submit(struct making *making, const struct wire_submit *submit)
{
    struct rota_job_spec *spec = &making->spec;
    spec->client = 1;
    spec->policy = (enum rota_policy)submit->policy;
    spec->on_failure = (enum rota_on_failure)submit->on_failure;
    spec->last = !(submit->flags & WIRE_SUBMIT_OPEN);
    spec->tasks = making->tasks;
    spec->edges = making->edges;
    spec->clauses = making->clauses;
    spec->inputs = making->inputs;
    spec->outputs = making->outputs;
    return server_submit(making->cluster->server, spec, making->texts);
}

static enum rota_error making_make(struct making *making, const struct wire_submit *submit)
{
    making_reserve(making);
    if (!making->fault) pieces_add(making);
    for (uint32_t i = 0; i < making->spec.output_count && submit->policy == ROTA_POLICY_CLAIM; i++)
        if (making->outputs[i].task)
            fail_task(making, making->outputs[i].task,
                      "a task with the policy claim cannot have outputs: handlers store no files");
    for (uint32_t i = 0; i < making->body_count; i++)  // used by no task
        if (making->body_faults[i]) fail(making, making->body_faults[i]);
    if (!making->fault) objects_check(making);
    if (making->fault == cluster_no_room) return ROTA_NO_MEMORY;
    if (making->fault) return making->fault_error ? making->fault_error : ROTA_BAD_EVENT;
    return making_submit(making, submit);
}

static void making_refuse(struct making *making, struct cluster_peer *peer,
                          const struct cluster_request *request, enum rota_error error)
{
    struct server *server = making->cluster->server;
    struct cluster_called called = {making->texts, first_of(making), making->spec.task_count};
    struct rota_fault fault = {.task.task = making->fault_task};
    if (making->fault && making->fault != server->reason)
        snprintf(server->reason, sizeof server->reason, "%s", making->fault);
    cluster_fault_tell(making->cluster, making->fault ? &fault : &server->fault, &called);
    cluster_request_fail(making->cluster, peer, request, error);
    lanes_forget(making);
    cluster_names_forget(making->cluster);
}

static void job_accept(struct making *making, struct cluster_peer *peer,
                       const struct cluster_request *request, const struct wire_submit *submit)
{
    struct cluster *cluster = making->cluster;
    bool grows = making->spec.job.number;
    rota_job_id id = grows ? making->spec.job : (rota_job_id){cluster->server->next_job.number - 1};
    struct cluster_job *job = cluster_job_get(cluster, id);
    cluster_names_keep(cluster);
    cluster_ahead_submitted(cluster, id, &making->spec, making->texts);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < making->body_count; i++) {
        cluster_body_add(cluster, job, making->frames[i].bytes, making->frames[i].length);
        bytes += making->frames[i].length;
    }
    cluster_commands_count(job, peer, bytes);
    char answer[64];
    uint32_t first = making->spec.first ? making->spec.first : 1;
    snprintf(answer, sizeof answer, "job %u from %u", job->id.number, first);
    cluster_request_note(cluster, request, answer);
    cluster_accepted_put(cluster_later(cluster, peer), request, job->id.number, first);
    job->condition_work = making->condition_work;
    peer->verdict.job = job->id.number;
    // No client will fetch its outputs, or extend it: it can be removed when all tasks have
    // succeeded.
    job->makes |= making->has_kept;
    job->closes = making->spec.last && !job->makes;
    if (submit->flags & WIRE_SUBMIT_WATCH) cluster_watch_begin(cluster, peer, job->id.number);
}

// The pieces are a little longer than their commands. One job always fits.
static bool commands_fit(struct cluster *cluster, const struct cluster_peer *peer, uint32_t grows)
{
    struct cluster_share *share = grows ? cluster_job_get(cluster, (rota_job_id){grows})->share
                                        : NULL;
    if (!share) share = peer->share;
    return !peer->draft->bodies || !share->used[CLUSTER_SHARE_COMMANDS]
           || cluster_share_fits(cluster, share, CLUSTER_SHARE_COMMANDS,
                                 peer->draft->frames.length);
}

void cluster_job_make(struct cluster *cluster, struct cluster_peer *peer,
                      const struct wire_submit *submit)
{
    struct making making = {.cluster = cluster, .draft = peer->draft};
    struct cluster_request request = {submit->high, submit->low, 0};
    request.hash = cluster_hash(peer->draft->frames.bytes, peer->draft->frames.length);
    if (cluster_request_is_old(cluster, peer, &request)) return;
    rota_job_id grows = making.spec.job = (rota_job_id){submit->job};
    if (submit->job && !rota_job_status(cluster->server->rota, grows)[0]) {
        cluster_request_refuse(cluster, peer, &request, WIRE_REFUSED_NOT_FOUND, "no such job");
        return;
    }
    if (!commands_fit(cluster, peer, submit->job)) {
        cluster_request_refuse(cluster, peer, &request, WIRE_REFUSED_BUSY,
                               "busy, try again: the commands of your unfinished jobs use all of "
                               "your key's share (close jobs, or see --commands-mib)");
        return;
    }
    if (submit->job) making.bodies_before = cluster_body_count(cluster, grows);
    if (submit->job) making.body_bytes = cluster_job_get(cluster, grows)->length;
    if (submit->job) making.condition_work = cluster_job_get(cluster, grows)->condition_work;
    if (submit->job) making.spec.first = cluster_next_task(cluster, submit->job);
    enum rota_error error = making_make(&making, submit);
    if (error)
        making_refuse(&making, peer, &request, error);
    else
        job_accept(&making, peer, &request, submit);
}
