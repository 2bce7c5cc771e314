// requests.c - what else clients ask for: that something rests and goes on, and graphs that make no
// sense and must leave no trace.
#include "sim/cluster/internal.h"

static const char *const lane_names[] = {"one", "two", "three"};

// ---- Rests --------------------------------------------------------------------------------------

static void rest_add(struct world *world, struct caller *caller, enum wire_rest_how how,
                     uint32_t part, uint32_t number)
{
    struct request *request = request_add(caller, 0, 0);
    request->kind = REQUEST_REST;
    request->verb = how;
    request->part = part;
    request->number = number;
    if (how == WIRE_RESUME) rest_void(world, part, number);
    request->is_void = rest_may_end(world, part, number);
}

void rest_make(struct world *world, uint32_t who)
{
    static const enum wire_rest_how hows[] = {WIRE_PAUSE, WIRE_RESUME, WIRE_PAUSE};
    uint32_t part = WIRE_PART_LANE + choose(world, OF_WISHES, 3), number = 0;
    enum wire_rest_how how = hows[choose(world, OF_WISHES, 3)];
    if (part == WIRE_PART_LANE) number = 1 + choose(world, OF_WISHES, GHOST_LANES);
    if (part == WIRE_PART_WORKER) number = 1 + choose(world, OF_WISHES, world->swarm.hands);
    if (part == WIRE_PART_WORKER && choose(world, OF_WISHES, 2)) how = WIRE_DRAIN_AND_QUIT;
    if (part == WIRE_PART_JOB && world->job_count)
        number = world->jobs[choose(world, OF_WISHES, world->job_count)]->number;
    if (number) rest_add(world, &world->callers[who], how, part, number);
}

// Whoever made something rest lets it go on when the weather clears and all else was answered.
void rests_end(struct world *world, struct caller *caller)
{
    uint32_t count = caller->request_count;
    for (uint32_t i = 0; !caller->has_ended_rests && i < count; i++) {
        struct request request = caller->requests[i];
        bool rests = request.kind == REQUEST_REST && request.verb != WIRE_RESUME;
        if (rests) rest_add(world, caller, WIRE_RESUME, request.part, request.number);
    }
    caller->has_ended_rests = true;
}

void rest_put(struct wire_out *out, const struct request *request, struct request_id id)
{
    struct wire_message message = {.kind = WIRE_REST_MESSAGE};
    char name[24];
    snprintf(name, sizeof name, request->part == WIRE_PART_JOB ? "%u" : "worker-%u",
             request->number);
    message.rest.high = id.high;
    message.rest.low = id.low;
    message.rest.how = request->verb;
    message.rest.part = request->part;
    message.rest.name = wire_text_of(
        request->part == WIRE_PART_LANE ? lane_names[request->number - 1] : name);
    wire_put(out, &message);
}

// ---- Graphs that make no sense ------------------------------------------------------------------

enum nonsense { CYCLE, ITSELF, NOBODYS_EDGE, NO_BODY, NO_LANE, NONSENSES };

void bad_make(struct world *world, uint32_t who)
{
    uint32_t nonsense = choose(world, OF_WISHES, NONSENSES);
    struct request *request = request_add(&world->callers[who], 0, 0);
    request->kind = REQUEST_BAD;
    request->number = nonsense;
}

void bad_put(struct wire_out *out, const struct request *request, struct request_id id)
{
    static const struct wire_edge edges[NONSENSES][2]
        = {[CYCLE] = {{1, 2}, {2, 1}},
           [ITSELF] = {{1, 2}, {2, 2}},
           [NOBODYS_EDGE] = {{1, 2}, {7, 2}},
           [NO_BODY] = {{1, 2}, {1, 2}},
           [NO_LANE] = {{1, 2}, {1, 2}}};
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE}, message = {.kind = WIRE_SUBMIT_MESSAGE};
    struct wire_edge own[2] = {edges[request->number][0], edges[request->number][1]};
    struct wire_out frame = {0};
    wire_text word = wire_text_of("true");
    run.run.name = word;
    run.run.cwd = run.run.stdin_path = wire_text_of("");
    run.run.argv = (wire_texts){&word, 1};
    run.run.flags = WIRE_RUN_EXCLUSIVE;  // as in every lane: that is not what is wrong with it
    wire_put(&frame, &run);
    wire_text body = {frame.bytes, frame.length};
    struct wire_lane lane = {.name = wire_text_of("nowhere")};
    struct wire_spec specs[2] = {{.body = 1, .cores = 1}, {.body = 1, .cores = 1}};
    specs[0].lane = 1;
    specs[0].access = ROTA_ACCESS_WRITE;
    if (request->number == NO_BODY) specs[1].body = 5;
    if (request->number == NO_LANE) specs[1].lane = 9;
    for (int i = 0; i < 2; i++) specs[i].name = specs[i].details = wire_text_of("");
    message.submit.high = id.high;
    message.submit.low = id.low;
    message.submit.policy = ROTA_POLICY_PULL;
    message.submit.name = wire_text_of("");
    message.submit.lanes = (wire_lanes){&lane, 1};
    message.submit.bodies = (wire_texts){&body, 1};
    message.submit.commands = (wire_texts){&word, 1};
    message.submit.tasks = (wire_specs){specs, 2};
    message.submit.edges = (wire_edges){own, request->number < NO_BODY ? 2 : 1};
    wire_put(out, &message);
    wire_out_release(&frame);
}

bool bad_is_meant(const struct world *world, const struct wire_message *message)
{
    uint64_t high = message->submit.high, low = message->submit.low;
    if (message->kind != WIRE_SUBMIT_MESSAGE || !high || high > world->swarm.callers) return false;
    const struct caller *caller = &world->callers[high - 1];
    return low && low <= caller->request_count
           && caller->requests[low - 1].kind == REQUEST_BAD;
}
