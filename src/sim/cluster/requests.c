// requests.c - other requests of clients: to pause and resume something, and invalid graphs, which
// must change nothing.
#include "sim/cluster/internal.h"

static const char *const lane_names[] = {"one", "two", "three"};

// ---- Pauses -------------------------------------------------------------------------------------

static void pause_add(struct sim *sim, struct client *client, enum wire_rest_how how,
                     uint32_t part, uint32_t number)
{
    struct request *request = request_add(client, 0, 0);
    request->kind = REQUEST_PAUSE;
    request->verb = how;
    request->part = part;
    request->number = number;
    if (how == WIRE_RESUME) pause_void(sim, part, number);
    request->is_void = pause_may_end(sim, part, number);
}

void pause_make(struct sim *sim, uint32_t who)
{
    static const enum wire_rest_how hows[] = {WIRE_PAUSE, WIRE_RESUME, WIRE_PAUSE};
    uint32_t part = WIRE_PART_LANE + choose(sim, OF_REQUESTS, 3), number = 0;
    enum wire_rest_how how = hows[choose(sim, OF_REQUESTS, 3)];
    if (part == WIRE_PART_LANE) number = 1 + choose(sim, OF_REQUESTS, EXPECTED_LANES);
    if (part == WIRE_PART_WORKER) number = 1 + choose(sim, OF_REQUESTS, sim->setting.nodes);
    if (part == WIRE_PART_WORKER && choose(sim, OF_REQUESTS, 2)) how = WIRE_DRAIN_AND_QUIT;
    if (part == WIRE_PART_JOB && sim->job_count)
        number = sim->jobs[choose(sim, OF_REQUESTS, sim->job_count)]->number;
    if (number) pause_add(sim, &sim->clients[who], how, part, number);
}

// A client that paused something resumes it when the faults have ended and everything else is
// answered.
void pauses_end(struct sim *sim, struct client *client)
{
    uint32_t count = client->request_count;
    for (uint32_t i = 0; !client->has_ended_pauses && i < count; i++) {
        struct request request = client->requests[i];
        bool is_paused = request.kind == REQUEST_PAUSE && request.verb != WIRE_RESUME;
        if (is_paused) pause_add(sim, client, WIRE_RESUME, request.part, request.number);
    }
    client->has_ended_pauses = true;
}

void pause_put(struct wire_out *out, const struct request *request, struct request_id id)
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

// ---- Invalid graphs -----------------------------------------------------------------------------

enum nonsense { CYCLE, ITSELF, NOBODYS_EDGE, NO_BODY, NO_LANE, NONSENSES };

void bad_make(struct sim *sim, uint32_t who)
{
    uint32_t nonsense = choose(sim, OF_REQUESTS, NONSENSES);
    struct request *request = request_add(&sim->clients[who], 0, 0);
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
    run.run.flags = WIRE_RUN_EXCLUSIVE;  // as in every lane; this is not why it is invalid
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

bool bad_is_meant(const struct sim *sim, const struct wire_message *message)
{
    uint64_t high = message->submit.high, low = message->submit.low;
    if (message->kind != WIRE_SUBMIT_MESSAGE || !high || high > sim->setting.clients) return false;
    const struct client *client = &sim->clients[high - 1];
    return low && low <= client->request_count
           && client->requests[low - 1].kind == REQUEST_BAD;
}
