// submission.c - a submission that is whole becomes a job.
#include "server/cluster/planning.h"
#include "server/cluster/submission_pieces.h"
#include "server/cluster/request.h"
#include "server/cluster/waits.h"

#include <stdio.h>
#include <string.h>

enum {
    NEEDS_MAX = 100000,   // of one task
    CLAUSES_MAX = 10000,  // of one condition, which is looked at anew for each of them
    RETRIES_MAX = 1000 - HUB_LOSSES,
    LANE_FLAGS = ROTA_LANE_STRICT | ROTA_LANE_SUBMIT_ORDER
};

// ---- From the pieces to the core ----------------------------------------------------------------

struct making {
    struct hub *hub;
    const struct hub_draft *draft;
    struct rota_job_spec spec;
    struct rota_task_spec *tasks;
    struct store_text *texts;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    uint32_t *lanes, *groups, *machines, *bodies;  // numbers, by index
    uint32_t *body_flags;  // enum wire_run_flag
    const char **body_faults;  // null: none
    uint32_t *needs, *reads;   // by task: how many others, how many objects
    const char **commands;
    wire_text *frames;
    uint32_t lane_count, group_count, machine_count, body_count;
    uint32_t bodies_before;  // of the job that grows
    bool has_kept;
    const char *fault;  // the first; null: none
    uint32_t fault_task;  // its number; 0: none in particular
    enum rota_error fault_error;  // OK: what was sent makes no sense
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

// Zeroed, until the turn is over. Null: there is none.
static void *room(struct making *making, size_t count, size_t size)
{
    void *memory = server_keep(making->hub->server, count ? count : 1, size);
    if (!memory) fail(making, hub_no_room);
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
    uint32_t number = hub_name_try(making->hub, kind, name);
    if (!number) fail(making, hub_no_room);
    return number;
}

static void lanes_add(struct making *making, const wire_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count && !making->fault; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = name_add(making, CATALOG_LANE, lanes->items[i].name.bytes);
        event.lane.flags = lanes->items[i].flags;
        event.lane.patience = ROTA_NEVER;
        if (lanes->items[i].flags & ~(uint32_t)LANE_FLAGS) fail(making, "a lane has no such flag");
        if (making->fault) return;
        making->lanes[making->lane_count++] = event.lane.lane;
        making->fault_error = server_step(making->hub->server, &event);
        if (making->fault_error) fail(making, making->hub->server->reason);
    }
}

// What was refused is not to leave a lane behind; one that others use stays by itself.
static void lanes_forget(struct making *making)
{
    for (uint32_t i = 0; i < making->lane_count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = making->lanes[i];
        event.lane.flags = ROTA_LANE_GONE;
        server_step(making->hub->server, &event);
    }
}

static void names_add(struct making *making, enum catalog_kind kind, const wire_texts *names,
                      uint32_t *numbers, uint32_t *count)
{
    for (uint32_t i = 0; i < names->count && !making->fault; i++)
        numbers[(*count)++] = name_add(making, kind, names->items[i].bytes);
}

// Their numbers are known before they are kept, which they are when the job is. What is wrong with
// one is told for the first task that it is for.
static void bodies_add(struct making *making, const struct wire_submit *submit)
{
    for (uint32_t i = 0; i < submit->bodies.count && !making->fault; i++) {
        wire_text body = submit->bodies.items[i];
        uint32_t at = making->body_count++;
        making->body_faults[at] = hub_body_fault(body, &making->body_flags[at]);
        if (making->body_faults[at] == hub_no_room) fail(making, hub_no_room);
        making->commands[at] = keep(making, submit->commands.items[i]);
        making->frames[at] = (wire_text){keep(making, body), body.length};
        making->bodies[at] = making->bodies_before + at + 1;
    }
}

// The number behind an index from 1; 0 is none.
static uint32_t number_at(struct making *making, const uint32_t *numbers, uint32_t count,
                          uint32_t index)
{
    if (index <= count) return index ? numbers[index - 1] : 0;
    fail_task(making, first_of(making) + making->spec.task_count - 1,
              "a task names a lane, group, machine or body that was not given");
    return 0;
}

static const char *task_fault_of(const struct making *making, const struct wire_spec *task)
{
    if (task->retries > RETRIES_MAX) return "a server repeats a task at most 995 times";
    if (task->priority < -128 || task->priority > 127) return "priorities are -128 to 127";
    if (task->access > ROTA_ACCESS_WRITE) return "there is no such access";
    if (task->clause_count > CLAUSES_MAX) return "a condition has at most 10,000 clauses";
    if (!task->body) return NULL;
    bool outlives = !(making->body_flags[task->body - 1] & WIRE_RUN_EXCLUSIVE);
    if (making->body_faults[task->body - 1]) return making->body_faults[task->body - 1];
    return task->lane && outlives ? "a command of a lane must end with its lease" : NULL;
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
    spec->retries_max = task->retries + HUB_LOSSES;
    spec->priority = (int16_t)task->priority;
    spec->estimate = task->estimate;
    spec->clause_first = task->clause_first;
    spec->clause_count = task->clause_count;
    spec->key = task->key;
    const char *fault = making->fault ? making->fault : task_fault_of(making, task);
    if (fault) fail_task(making, first_of(making) + at, fault);
    if (fault) return;
    text->command = task->body ? making->commands[task->body - 1] : NULL;
}

// One more that it waits for, or reads.
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
        need_add(making, making->needs, edge->after, "a task waits for at most 100,000 others");
    }
    for (uint32_t i = 0; i < submit->clauses.count; i++)
        making->clauses[spec->clause_count++] = (struct rota_clause){
            (enum rota_clause_kind)submit->clauses.items[i].kind, submit->clauses.items[i].task};
    for (uint32_t i = 0; i < submit->inputs.count; i++) {
        const struct wire_use *input = &submit->inputs.items[i];
        making->inputs[spec->input_count++] = (struct rota_input){
            .task = input->task, .flags = input->flags, .object = input->object};
        need_add(making, making->reads, input->task, "a task has at most 100,000 inputs");
    }
    for (uint32_t i = 0; i < submit->outputs.count; i++) {
        const struct wire_make *output = &submit->outputs.items[i];
        bool is_brought = wire_is_upload(output->object) || wire_is_named(output->object);
        const struct hub_stored *stored
            = output->task ? NULL : hub_stored_find(making->hub, output->object);
        if (output->task && is_brought)
            fail_task(making, output->task, "the id of an output is one for uploads");
        if (!output->task && !is_brought) fail(making, "the id of an upload is one for outputs");
        if (!output->task && !stored) fail(making, "an upload is not in the store of this server");
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
    const struct hub_draft *draft = making->draft;
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
    making->body_flags = room(making, draft->bodies, sizeof *making->body_flags);
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

// All pieces, one after the other, through the decoder again, where they lie.
static void pieces_add(struct making *making)
{
    const struct wire_out *frames = &making->draft->frames;
    struct wire_in in = {.bytes = frames->bytes, .length = frames->length};
    struct wire_message message;
    while (!making->fault && wire_take(&in, &message) == WIRE_GOT)
        piece_add(making, &message.submit);
    in.bytes = NULL;  // they are the draft's
    wire_in_release(&in);
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
    return server_submit(making->hub->server, spec, making->texts);
}

static enum rota_error making_make(struct making *making, const struct wire_submit *submit)
{
    making_reserve(making);
    if (!making->fault) pieces_add(making);
    for (uint32_t i = 0; i < making->spec.output_count && submit->policy == ROTA_POLICY_CLAIM; i++)
        if (making->outputs[i].task)
            fail_task(making, making->outputs[i].task,
                      "handlers keep no files: with the policy claim tasks have no outputs");
    for (uint32_t i = 0; i < making->body_count; i++)  // of no task
        if (making->body_faults[i]) fail(making, making->body_faults[i]);
    if (making->fault == hub_no_room) return ROTA_NO_MEMORY;
    if (making->fault) return making->fault_error ? making->fault_error : ROTA_BAD_EVENT;
    return making_submit(making, submit);
}

static void making_refuse(struct making *making, struct hub_peer *peer,
                          const struct hub_request *request, enum rota_error error)
{
    struct server *server = making->hub->server;
    struct hub_called called = {making->texts, first_of(making), making->spec.task_count};
    struct rota_fault fault = {.task.task = making->fault_task};
    if (making->fault && making->fault != server->reason)
        snprintf(server->reason, sizeof server->reason, "%s", making->fault);
    hub_fault_tell(making->hub, making->fault ? &fault : &server->fault, &called);
    hub_request_fail(making->hub, peer, request, error);
    lanes_forget(making);
    hub_names_forget(making->hub);
}

static void job_accept(struct making *making, struct hub_peer *peer,
                       const struct hub_request *request, const struct wire_submit *submit)
{
    struct hub *hub = making->hub;
    bool grows = making->spec.job.number;
    rota_job_id id = grows ? making->spec.job : (rota_job_id){hub->server->next_job.number - 1};
    struct hub_job *job = hub_job_get(hub, id);
    hub_names_keep(hub);
    hub_ahead_submitted(hub, id, &making->spec, making->texts);
    for (uint32_t i = 0; i < making->body_count; i++)
        hub_body_add(hub, job, making->frames[i].bytes, making->frames[i].length);
    char answer[64];
    uint32_t first = making->spec.first ? making->spec.first : 1;
    snprintf(answer, sizeof answer, "job %u from %u", job->id.number, first);
    hub_request_note(hub, request, answer);
    hub_accepted_put(hub_later(hub, peer), request, job->id.number, first);
    peer->verdict.job = job->id.number;
    // Nobody will fetch what it made, or add to it: it can be forgotten when all went well.
    job->makes |= making->has_kept;
    job->closes = making->spec.last && !job->makes;
    if (submit->flags & WIRE_SUBMIT_WATCH) hub_watch_begin(hub, peer, job->id.number);
}

void hub_job_make(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    struct making making = {.hub = hub, .draft = peer->draft};
    struct hub_request request = {submit->high, submit->low, 0};
    request.hash = hub_hash(peer->draft->frames.bytes, peer->draft->frames.length);
    if (hub_request_is_old(hub, peer, &request)) return;
    rota_job_id grows = making.spec.job = (rota_job_id){submit->job};
    if (submit->job && !rota_job_status(hub->server->rota, grows)[0]) {
        hub_request_refuse(hub, peer, &request, WIRE_REFUSED_NOT_FOUND, "there is no such job");
        return;
    }
    if (submit->job) making.bodies_before = hub_body_count(hub, grows);
    if (submit->job) making.spec.first = hub_next_task(hub, submit->job);
    enum rota_error error = making_make(&making, submit);
    if (error)
        making_refuse(&making, peer, &request, error);
    else
        job_accept(&making, peer, &request, submit);
}
