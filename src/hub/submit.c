// submit.c - pieces of a submission become one that is whole, and then a job.
#include "hub/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 1000000, EDGES_MAX = 10000000 };

// The pieces, as they came: a copy of each frame, decoded again when all are there. `tasks` and so
// on are counts over all of them.
struct hub_draft {
    struct wire_out frames;
    uint64_t high, low;
    uint32_t tasks, edges, clauses, inputs, outputs, bodies, lanes, groups, machines;
};

void hub_draft_drop(struct hub_peer *peer)
{
    if (!peer->draft) return;
    wire_out_release(&peer->draft->frames);
    free(peer->draft);
    peer->draft = NULL;
}

static const char *draft_add(struct hub_peer *peer, const struct wire_submit *submit)
{
    if (!peer->draft) peer->draft = hub_allocate(1, sizeof *peer->draft);
    struct hub_draft *draft = peer->draft;
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    if (draft->high | draft->low && (draft->high != submit->high || draft->low != submit->low))
        return "the submission before it is not whole";
    if (submit->bodies.count != submit->commands.count) return "each body has a command";
    draft->high = submit->high;
    draft->low = submit->low;
    draft->tasks += submit->tasks.count;
    draft->edges += submit->edges.count;
    draft->clauses += submit->clauses.count;
    draft->inputs += submit->inputs.count;
    draft->outputs += submit->outputs.count;
    draft->bodies += submit->bodies.count;
    draft->lanes += submit->lanes.count;
    draft->groups += submit->groups.count;
    draft->machines += submit->machines.count;
    if (draft->tasks > TASKS_MAX) return "a job has at most 1,000,000 tasks";
    if (draft->edges > EDGES_MAX) return "a job has at most 10,000,000 edges";
    wire_put(&draft->frames, &message);
    return draft->frames.failed ? "no memory for the submission" : NULL;
}

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
    const char **commands;
    wire_text *frames;
    uint32_t lane_count, group_count, machine_count, body_count;
    const char *fault;
};

static const char *keep(struct making *making, wire_text text)
{
    if (!text.length) return NULL;
    char *kept = hub_keep(making->hub, (size_t)text.length + 1, 1);
    memcpy(kept, text.bytes, text.length);
    return kept;
}

static void lanes_add(struct making *making, const wire_lanes *lanes)
{
    for (uint32_t i = 0; i < lanes->count; i++) {
        struct rota_event event = {.kind = ROTA_EVENT_LANE};
        event.lane.lane = hub_name(making->hub, CATALOG_LANE, lanes->items[i].name.bytes);
        event.lane.flags = lanes->items[i].flags;
        event.lane.patience = ROTA_NEVER;
        if (server_step(making->hub->server, &event)) making->fault = making->hub->server->reason;
        making->lanes[making->lane_count++] = event.lane.lane;
    }
}

static void names_add(struct making *making, enum catalog_kind kind, const wire_texts *names,
                      uint32_t *numbers, uint32_t *count)
{
    for (uint32_t i = 0; i < names->count; i++)
        numbers[(*count)++] = hub_name(making->hub, kind, names->items[i].bytes);
}

// A body is the frame of a RUN, and nothing else.
static bool body_is_sound(wire_text body)
{
    struct wire_in in = {0};
    struct wire_message message;
    if (!body.length) return false;
    char *room = wire_in_room(&in, body.length);
    if (!room) hub_no_memory();
    memcpy(room, body.bytes, body.length);
    wire_in_came(&in, body.length);
    bool sound = wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE
                 && in.taken == in.length && message.run.argv.count;
    wire_in_release(&in);
    return sound;
}

// Their numbers are known before they are kept, which they are when the job is.
static void bodies_add(struct making *making, const struct wire_submit *submit)
{
    uint32_t before = hub_job_get(making->hub, making->spec.job)->count;
    for (uint32_t i = 0; i < submit->bodies.count; i++) {
        wire_text body = submit->bodies.items[i];
        if (!body_is_sound(body)) {
            making->fault = "a body is not the frame of a command";
            return;
        }
        uint32_t at = making->body_count++;
        making->commands[at] = keep(making, submit->commands.items[i]);
        making->frames[at] = (wire_text){keep(making, body), body.length};
        making->bodies[at] = before + at + 1;
    }
}

// The number behind an index from 1; 0 is none.
static uint32_t number_at(struct making *making, const uint32_t *numbers, uint32_t count,
                          uint32_t index)
{
    if (index <= count) return index ? numbers[index - 1] : 0;
    making->fault = "a task names a lane, group, machine or body that was not given";
    return 0;
}

static void task_add(struct making *making, const struct wire_spec *task)
{
    uint32_t at = making->spec.task_count++;
    struct rota_task_spec *spec = &making->tasks[at];
    struct store_text *text = &making->texts[at];
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
    if (task->retries > 1000000) making->fault = "a task is repeated at most 1,000,000 times";
    if (task->priority < -128 || task->priority > 127) making->fault = "priorities are -128 to 127";
    if (task->access > ROTA_ACCESS_WRITE) making->fault = "there is no such access";
    if (making->fault) return;
    text->name = keep(making, task->name);
    text->details = keep(making, task->details);
    text->command = task->body ? making->commands[task->body - 1] : NULL;
}

static void lists_add(struct making *making, const struct wire_submit *submit)
{
    struct rota_job_spec *spec = &making->spec;
    for (uint32_t i = 0; i < submit->edges.count; i++)
        making->edges[spec->edge_count++]
            = (struct rota_edge){submit->edges.items[i].before, submit->edges.items[i].after};
    for (uint32_t i = 0; i < submit->clauses.count; i++)
        making->clauses[spec->clause_count++] = (struct rota_clause){
            (enum rota_clause_kind)submit->clauses.items[i].kind, submit->clauses.items[i].task};
    for (uint32_t i = 0; i < submit->inputs.count; i++)
        making->inputs[spec->input_count++]
            = (struct rota_input){.task = submit->inputs.items[i].task,
                                  .flags = submit->inputs.items[i].flags,
                                  .object = submit->inputs.items[i].object};
    for (uint32_t i = 0; i < submit->outputs.count; i++)
        making->outputs[spec->output_count++]
            = (struct rota_output){.task = submit->outputs.items[i].task,
                                   .flags = submit->outputs.items[i].flags,
                                   .bytes = submit->outputs.items[i].bytes,
                                   .object = submit->outputs.items[i].object};
}

static void making_reserve(struct making *making)
{
    const struct hub_draft *draft = making->draft;
    making->tasks = hub_keep(making->hub, draft->tasks, sizeof *making->tasks);
    making->texts = hub_keep(making->hub, draft->tasks, sizeof *making->texts);
    making->edges = hub_keep(making->hub, draft->edges, sizeof *making->edges);
    making->clauses = hub_keep(making->hub, draft->clauses, sizeof *making->clauses);
    making->inputs = hub_keep(making->hub, draft->inputs, sizeof *making->inputs);
    making->outputs = hub_keep(making->hub, draft->outputs, sizeof *making->outputs);
    making->lanes = hub_keep(making->hub, draft->lanes, sizeof *making->lanes);
    making->groups = hub_keep(making->hub, draft->groups, sizeof *making->groups);
    making->machines = hub_keep(making->hub, draft->machines, sizeof *making->machines);
    making->bodies = hub_keep(making->hub, draft->bodies, sizeof *making->bodies);
    making->commands = hub_keep(making->hub, draft->bodies, sizeof *making->commands);
    making->frames = hub_keep(making->hub, draft->bodies, sizeof *making->frames);
}

static void piece_add(struct making *making, const struct wire_submit *submit)
{
    lanes_add(making, &submit->lanes);
    names_add(making, CATALOG_GROUP, &submit->groups, making->groups, &making->group_count);
    names_add(making, CATALOG_MACHINE, &submit->machines, making->machines, &making->machine_count);
    if (!making->fault) bodies_add(making, submit);
    for (uint32_t i = 0; i < submit->tasks.count && !making->fault; i++)
        task_add(making, &submit->tasks.items[i]);
    lists_add(making, submit);
}

// All pieces, one after the other, through the decoder again.
static void pieces_add(struct making *making)
{
    const struct wire_out *frames = &making->draft->frames;
    struct wire_in in = {0};
    struct wire_message message;
    char *room = wire_in_room(&in, frames->length);
    if (!room) hub_no_memory();
    memcpy(room, frames->bytes, frames->length);
    wire_in_came(&in, frames->length);
    while (!making->fault && wire_take(&in, &message) == WIRE_GOT)
        piece_add(making, &message.submit);
    wire_in_release(&in);
}

static enum rota_error making_submit(struct making *making, const struct wire_submit *submit)
{
    struct rota_job_spec *spec = &making->spec;
    spec->job.number = submit->job;
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

static void job_make(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    struct making making = {.hub = hub, .draft = peer->draft};
    uint64_t hash = hub_hash(peer->draft->frames.bytes, peer->draft->frames.length);
    if (hub_request_is_old(hub, peer, submit->high, submit->low, hash)) return;
    rota_job_id id = {submit->job ? submit->job : hub->server->next_job.number};
    making.spec.job = id;
    making_reserve(&making);
    pieces_add(&making);
    enum rota_error error = making.fault ? ROTA_BAD_EVENT : making_submit(&making, submit);
    if (error) {
        if (making.fault)
            hub_refuse(peer, submit->high, submit->low, WIRE_REFUSED_REQUEST, making.fault);
        else
            hub_refuse_error(hub, peer, submit->high, submit->low, error);
        if (!submit->job) hub_job_drop(hub, id);
        return;
    }
    struct hub_job *job = hub_job_get(hub, id);
    for (uint32_t i = 0; i < making.body_count; i++)
        hub_body_add(hub, job, making.frames[i].bytes, making.frames[i].length);
    char answer[64];
    uint32_t first = making.spec.first ? making.spec.first : 1;
    snprintf(answer, sizeof answer, "job %u from %u", id.number, first);
    hub_request_note(hub, submit->high, submit->low, hash, answer);
    hub_accepted_put(hub_later(hub, peer), submit->high, submit->low, id.number, first);
    // Nobody will fetch what it made, or add to it: it can be forgotten when all went well.
    job->closes = making.spec.last && !making.spec.output_count;
    if (submit->flags & WIRE_SUBMIT_WATCH) hub_watch_begin(peer, id.number);
}

void hub_submit(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    const char *fault = draft_add(peer, submit);
    if (fault) {
        hub_refuse(peer, submit->high, submit->low, WIRE_REFUSED_REQUEST, fault);
        hub_draft_drop(peer);
        return;
    }
    if (submit->flags & WIRE_SUBMIT_MORE) return;
    job_make(hub, peer, submit);
    hub_draft_drop(peer);
}
