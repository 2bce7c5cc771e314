// submit.c - pieces of a submission become one that is whole, and then a job.
#include "hub/ahead.h"
#include "hub/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASKS_MAX = 1000000,
    EDGES_MAX = 10000000,
    RETRIES_MAX = 1000 - HUB_LOSSES,
    DRAFTS_MAX = 1 << 30,  // bytes, of all submissions that are not whole
    PIECE_WAITS = 60000000,  // for the next one
    LANE_FLAGS = ROTA_LANE_STRICT | ROTA_LANE_SUBMIT_ORDER
};

// The pieces, as they came: a copy of each frame, decoded again when all are there. `tasks` and so
// on are counts over all of them.
struct hub_draft {
    struct wire_out frames;
    uint64_t high, low;
    uint32_t tasks, edges, clauses, inputs, outputs, bodies, lanes, groups, machines;
    rota_time until;  // ticks: when the next piece must have come
    bool is_refused;  // the rest of it is read, and nothing comes of it
};

void hub_draft_drop(struct hub *hub, struct hub_peer *peer)
{
    if (!peer->draft) return;
    hub->draft_bytes -= peer->draft->frames.length;
    wire_out_release(&peer->draft->frames);
    free(peer->draft);
    peer->draft = NULL;
}

// Who has one in its hands that was forgotten would take what still comes for the whole of it.
void hub_drafts_look(struct hub *hub)
{
    if (hub->ticks < hub->drafts_at) return;
    hub->drafts_at = ROTA_NEVER;
    for (struct hub_peer *peer = hub->peers; peer; peer = peer->next) {
        const struct hub_draft *draft = peer->draft;
        if (!draft || draft->is_refused) continue;
        if (draft->until <= hub->ticks) {
            hub_turn_away(peer, WIRE_REFUSED_STATE, "the rest of the submission did not come");
            hub_draft_drop(hub, peer);
        } else if (draft->until < hub->drafts_at) {
            hub->drafts_at = draft->until;
        }
    }
}

static const char no_memory[] = "no memory for the submission";

static const char *piece_keep(struct hub *hub, struct hub_draft *draft,
                              const struct wire_submit *submit)
{
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    uint32_t before = draft->frames.length;
    wire_put(&draft->frames, &message);
    hub->draft_bytes += draft->frames.length - before;
    if (draft->frames.failed) return no_memory;
    return hub->draft_bytes > DRAFTS_MAX ? "too many submissions come at a time" : NULL;
}

static bool is_of(const struct hub_draft *draft, const struct wire_submit *submit)
{
    return draft->high == submit->high && draft->low == submit->low;
}

static const char *draft_add(struct hub *hub, struct hub_peer *peer,
                             const struct wire_submit *submit)
{
    if (!peer->draft) peer->draft = calloc(1, sizeof *peer->draft);
    struct hub_draft *draft = peer->draft;
    if (!draft) return no_memory;
    if (submit->bodies.count != submit->commands.count) return "each body has a command";
    const char *fault = hub_piece_fault(submit);
    if (fault) return fault;
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
    return piece_keep(hub, draft, submit);
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
    uint32_t *body_flags;  // enum wire_run_flag
    const char **commands;
    wire_text *frames;
    uint32_t lane_count, group_count, machine_count, body_count;
    uint32_t bodies_before;  // of the job that grows
    bool has_kept;
    const char *fault;  // the first; null: none
};

static void fail(struct making *making, const char *reason)
{
    if (!making->fault) making->fault = reason;
}

// Zeroed, until the turn is over. Null: there is none.
static void *room(struct making *making, size_t count, size_t size)
{
    void *memory = server_keep(making->hub->server, count ? count : 1, size);
    if (!memory) fail(making, no_memory);
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
    if (!number) fail(making, no_memory);
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
        if (server_step(making->hub->server, &event)) fail(making, making->hub->server->reason);
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

// Behind the RUN of a body.
static bool repeat_is_sound(struct wire_in *in)
{
    struct wire_message message;
    if (in->taken == in->length) return true;
    return wire_take(in, &message) == WIRE_GOT && message.kind == WIRE_REPEAT_MESSAGE
           && hub_repeat_is_sound(&message.repeat) && in->taken == in->length;
}

// A body is the frame of a RUN; behind it there may be a REPEAT, and nothing else.
static const char *body_fault(wire_text body, uint32_t *flags)
{
    struct wire_in in = {0};
    struct wire_message message;
    const char *fault = "a body is not the frame of a command";
    if (!body.length) return fault;
    char *copy = wire_in_room(&in, body.length);
    if (!copy) return no_memory;
    memcpy(copy, body.bytes, body.length);
    wire_in_came(&in, body.length);
    if (wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE) {
        const char *other = hub_command_fault(&message.run);
        *flags = message.run.flags;
        if (repeat_is_sound(&in)) fault = other;
    }
    wire_in_release(&in);
    return fault;
}

// Their numbers are known before they are kept, which they are when the job is.
static void bodies_add(struct making *making, const struct wire_submit *submit)
{
    for (uint32_t i = 0; i < submit->bodies.count && !making->fault; i++) {
        wire_text body = submit->bodies.items[i];
        uint32_t at = making->body_count++;
        const char *fault = body_fault(body, &making->body_flags[at]);
        if (fault) fail(making, fault);
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
    fail(making, "a task names a lane, group, machine or body that was not given");
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
    if (task->retries > RETRIES_MAX) fail(making, "a server repeats a task at most 995 times");
    if (task->priority < -128 || task->priority > 127) fail(making, "priorities are -128 to 127");
    if (task->access > ROTA_ACCESS_WRITE) fail(making, "there is no such access");
    if (making->fault) return;
    bool outlives = task->body && !(making->body_flags[task->body - 1] & WIRE_RUN_EXCLUSIVE);
    if (task->lane && outlives) fail(making, "a command of a lane must end with its lease");
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
    for (uint32_t i = 0; i < submit->outputs.count; i++) {
        const struct wire_make *output = &submit->outputs.items[i];
        if (!output->task && !hub_stored_find(making->hub, output->object))
            fail(making, "an upload is not in the store of this server");
        making->has_kept |= output->flags & ROTA_OBJECT_KEEP;
        making->outputs[spec->output_count++]
            = (struct rota_output){.task = output->task,
                                   .flags = output->flags,
                                   .bytes = output->bytes,
                                   .object = output->object};
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

// All pieces, one after the other, through the decoder again.
static void pieces_add(struct making *making)
{
    const struct wire_out *frames = &making->draft->frames;
    struct wire_in in = {0};
    struct wire_message message;
    char *copy = wire_in_room(&in, frames->length);
    if (!copy) {
        fail(making, no_memory);
        return;
    }
    memcpy(copy, frames->bytes, frames->length);
    wire_in_came(&in, frames->length);
    while (!making->fault && wire_take(&in, &message) == WIRE_GOT)
        piece_add(making, &message.submit);
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

// Tasks are numbered without gaps.
static uint32_t tasks_of(const struct rota *rota, rota_job_id job)
{
    uint32_t there = 0, step = 1u << 31;
    for (; step; step /= 2) {
        rota_task_id task = {job.number, there + step};
        if (rota_task_state(rota, task) != ROTA_TASK_NONE) there += step;
    }
    return there;
}

static enum rota_error making_make(struct making *making, const struct wire_submit *submit)
{
    making_reserve(making);
    if (!making->fault) pieces_add(making);
    for (uint32_t i = 0; i < making->spec.output_count && submit->policy == ROTA_POLICY_CLAIM; i++)
        if (making->outputs[i].task)
            fail(making, "handlers keep no files: with the policy claim tasks have no outputs");
    return making->fault ? ROTA_BAD_EVENT : making_submit(making, submit);
}

static void making_refuse(struct making *making, struct hub_peer *peer,
                          const struct wire_submit *submit, enum rota_error error)
{
    bool memory = making->fault == no_memory;
    enum wire_code code = memory ? WIRE_REFUSED_MEMORY : WIRE_REFUSED_REQUEST;
    if (making->fault)
        hub_refuse(peer, submit->high, submit->low, code, making->fault);
    else
        hub_refuse_error(making->hub, peer, submit->high, submit->low, error);
    lanes_forget(making);
    hub_names_forget(making->hub);
}

static void job_accept(struct making *making, struct hub_peer *peer,
                       const struct wire_submit *submit, uint64_t hash)
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
    hub_request_note(hub, submit->high, submit->low, hash, answer);
    hub_accepted_put(hub_later(hub, peer), submit->high, submit->low, job->id.number, first);
    peer->verdict.job = job->id.number;
    // Nobody will fetch what it made, or add to it: it can be forgotten when all went well.
    job->makes |= making->has_kept;
    job->closes = making->spec.last && !job->makes;
    if (submit->flags & WIRE_SUBMIT_WATCH) hub_watch_begin(hub, peer, job->id.number);
}

static void job_make(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    struct making making = {.hub = hub, .draft = peer->draft};
    uint64_t hash = hub_hash(peer->draft->frames.bytes, peer->draft->frames.length);
    if (hub_request_is_old(hub, peer, submit->high, submit->low, hash)) return;
    rota_job_id grows = making.spec.job = (rota_job_id){submit->job};
    if (submit->job && !rota_job_status(hub->server->rota, grows)[0]) {
        hub_refuse(peer, submit->high, submit->low, WIRE_REFUSED_NOT_FOUND, "there is no such job");
        return;
    }
    if (submit->job) making.bodies_before = hub_body_count(hub, grows);
    if (submit->job) making.spec.first = tasks_of(hub->server->rota, grows) + 1;
    enum rota_error error = making_make(&making, submit);
    if (error)
        making_refuse(&making, peer, submit, error);
    else
        job_accept(&making, peer, submit, hash);
}

// Of the pieces that still come nothing is kept but that they are of this one.
static void draft_refuse(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    struct hub_draft *draft = peer->draft;
    if (!draft) return;
    hub->draft_bytes -= draft->frames.length;
    wire_out_release(&draft->frames);
    draft->high = submit->high;
    draft->low = submit->low;
    draft->is_refused = true;
}

static void draft_wait(struct hub *hub, struct hub_peer *peer)
{
    if (!peer->draft) return;
    peer->draft->until = hub->ticks + PIECE_WAITS;
    if (peer->draft->until < hub->drafts_at) hub->drafts_at = peer->draft->until;
}

void hub_submit(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    bool is_another = peer->draft && !is_of(peer->draft, submit);
    if (is_another && !peer->draft->is_refused) {
        hub_turn_away(peer, WIRE_REFUSED_REQUEST, "the submission before it is not whole");
        hub_draft_drop(hub, peer);
        return;
    }
    if (is_another) hub_draft_drop(hub, peer);
    bool was_refused = peer->draft && peer->draft->is_refused;
    const char *fault = was_refused ? NULL : draft_add(hub, peer, submit);
    if (fault) {
        hub_refuse(peer, submit->high, submit->low, WIRE_REFUSED_REQUEST, fault);
        draft_refuse(hub, peer, submit);
    }
    if (submit->flags & WIRE_SUBMIT_MORE) {
        draft_wait(hub, peer);
        return;
    }
    if (peer->draft && !peer->draft->is_refused) job_make(hub, peer, submit);
    hub_draft_drop(hub, peer);
}
