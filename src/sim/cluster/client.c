// client.c - a client: asks for things, once each, until it has an answer.
#include "sim/cluster/internal.h"

enum { RESTS = 300000 };

bool caller_is_done(const struct caller *caller)
{
    if (caller->submissions) return false;
    for (uint32_t i = 0; i < caller->request_count; i++)
        if (!caller->requests[i].answered) return false;
    return true;
}

// ---- Requests ----------------------------------------------------------------------------------

static void request_put(struct world *world, uint32_t who, uint32_t number)
{
    struct caller *caller = &world->callers[who];
    const struct request *request = &caller->requests[number];
    struct wire_out *out = &world->cables[caller->cable]->out[FAR_SIDE];
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    struct request_id id = {who + 1, number + 1};
    if (request->kind == REQUEST_REST) return rest_put(out, request, id);
    if (request->kind == REQUEST_BAD) return bad_put(out, request, id);
    if (!request->task) return ghost_submit(world, request->job, request->is_more, id, out);
    message.change.high = who + 1;
    message.change.low = number + 1;
    message.change.verb = request->verb;
    message.change.task = (rota_task_id){world->jobs[request->job]->number, request->task};
    wire_put(out, &message);
}

static void requests_send(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    if (!caller->welcome) return;
    for (; caller->unsent < caller->request_count; caller->unsent++) {
        if (caller->requests[caller->unsent].answered) continue;
        request_put(world, who, caller->unsent);
        if (!chance(world, OF_CLIENTS, world->swarm.repeat)) continue;
        see(world, SIGHT_REPEAT);
        request_put(world, who, caller->unsent);
    }
    cable_send(world, caller->cable, FAR_SIDE);
}

struct request *request_add(struct caller *caller, uint32_t job, uint32_t task)
{
    world_reserve(&caller->requests, &caller->request_capacity, caller->request_count,
                  sizeof *caller->requests);
    struct request *request = &caller->requests[caller->request_count++];
    *request = (struct request){.job = job, .task = task};
    return request;
}

static void submission_make(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    uint32_t number = world->job_count;
    struct ghost_job *job = ghost_make(world, who);
    job->request = caller->request_count;
    caller->submissions--;
    request_add(caller, number, 0);
}

// The rest of a job of somebody's.
static void more_make(struct world *world, uint32_t who)
{
    for (uint32_t i = 0; i < world->job_count; i++) {
        struct ghost_job *job = world->jobs[i];
        if (!job->told || job->grows || job->first == job->count) continue;
        job->grows = true;
        request_add(&world->callers[who], i, 0)->is_more = true;
        return;
    }
}

static void change_note(struct ghost_task *task, uint32_t verb)
{
    task->asked_off |= verb == WIRE_CANCEL;
    task->asked_again |= verb != WIRE_CANCEL;
    task->is_forced |= verb == WIRE_START;
}

// Some task of some job that was accepted.
static void change_make(struct world *world, uint32_t who)
{
    uint32_t number = world->job_count ? choose(world, OF_CLIENTS, world->job_count) : 0;
    if (number >= world->job_count || !world->jobs[number]->told) return;
    struct ghost_job *job = world->jobs[number];
    struct request *request
        = request_add(&world->callers[who], number, 1 + choose(world, OF_CLIENTS, job->count));
    bool again = choose(world, OF_CLIENTS, 2);
    const struct ghost_task *task = &job->tasks[request->task - 1];
    bool starts = task->when_count && choose(world, OF_WHEN, 2);
    request->verb = starts ? WIRE_START : again ? WIRE_RETRY : WIRE_CANCEL;
    change_note(&job->tasks[request->task - 1], request->verb);
    for (uint32_t i = 0; task->is_bundle && i < job->count; i++)
        if (job->tasks[i].bundle == request->task) change_note(&job->tasks[i], request->verb);
}

// ---- The way to the server ---------------------------------------------------------------------

void caller_cut_off(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    if (caller->cable == NOBODY) return;
    uint32_t cable = caller->cable;
    caller->cable = NOBODY;
    caller->welcome = false;
    caller->unsent = 0;
    cable_close(world, cable, FAR_SIDE, false);
}

static void caller_connect(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    caller->cable = cable_open(world, CABLE_CALLER, who);
    if (caller->cable == NOBODY) return;
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_ADMIN;
    message.greet.name = wire_text_of("caller");
    wire_put(&world->cables[caller->cable]->out[FAR_SIDE], &message);
    cable_send(world, caller->cable, FAR_SIDE);
}

static void answered(struct world *world, uint32_t who, uint64_t low)
{
    struct caller *caller = &world->callers[who];
    if (!low || low > caller->request_count) {
        wrong(world, "a client gets an answer to what it has not asked");
        return;
    }
    caller->requests[low - 1].answered = true;
}

// Later there may be room; nothing else changes by waiting. Some ask again all the same.
static void refused(struct world *world, uint32_t who, const struct wire_refuse *refuse)
{
    struct caller *caller = &world->callers[who];
    uint64_t low = refuse->low;
    see(world, SIGHT_REFUSAL);
    answered(world, who, low);
    if (!low || low > caller->request_count) return;
    struct request *request = &caller->requests[low - 1];
    bool is_full = refuse->code == WIRE_REFUSED_FULL;
    bool asks = !is_full && !request->asks_again
                && chance(world, OF_WISHES, world->swarm.repeat);
    if (asks) see(world, SIGHT_ASKED_AGAIN);
    request->asks_again |= asks;
    request->answered = !is_full && !asks;
    if (!request->answered) caller->unsent = 0;
    if (!is_full && request->is_more) wrong(world, "a job that is open was not allowed to grow");
}

// From where it was, on this connection or another.
static void follow(struct world *world, struct caller *caller)
{
    struct wire_message message = {.kind = WIRE_FOLLOW_MESSAGE};
    see(world, SIGHT_FOLLOW);
    message.follow.sequence = caller->followed.sequence;
    message.follow.place = caller->followed.line;
    wire_put(&world->cables[caller->cable]->out[FAR_SIDE], &message);
}

static void message_take(struct world *world, uint32_t who, const struct wire_message *message)
{
    struct caller *caller = &world->callers[who];
    switch (message->kind) {
    case WIRE_WELCOME_MESSAGE:
        caller->welcome = true;
        if (who < world->swarm.follows) follow(world, caller);
        break;
    case WIRE_EVENT_MESSAGE: judge_followed(world, &caller->followed, &message->event); break;
    case WIRE_ACCEPTED_MESSAGE: answered(world, who, message->accepted.low); break;
    case WIRE_DONE_MESSAGE: answered(world, who, message->done.low); break;
    case WIRE_REFUSE_MESSAGE: refused(world, who, &message->refuse); break;
    default: break;
    }
}

void caller_hears(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    struct wire_message message;
    uint32_t cable = caller->cable;
    while (cable != NOBODY && caller->cable == cable) {
        enum wire_result result = wire_take(&world->cables[cable]->in[FAR_SIDE], &message);
        if (result == WIRE_MORE) break;
        if (result != WIRE_GOT) {
            wrong(world, "a client cannot read what the server says");
            return;
        }
        message_take(world, who, &message);
    }
    requests_send(world, who);
}

void caller_work(struct world *world, uint32_t who)
{
    struct caller *caller = &world->callers[who];
    agenda_add(&world->agenda, world->now + 1000 + choose_time(world, OF_CLIENTS, RESTS),
               DUE_CALLER, who, 0);
    if (caller->submissions) submission_make(world, who);
    more_make(world, who);
    for (int i = 0; i < 4 && !world->is_clear; i++)
        if (chance(world, OF_CLIENTS, world->swarm.cancel)) change_make(world, who);
    if (!world->is_clear && chance(world, OF_WISHES, world->swarm.rests)) rest_make(world, who);
    if (!world->is_clear && chance(world, OF_WISHES, world->swarm.bad)) bad_make(world, who);
    if (world->is_clear && caller_is_done(caller)) rests_end(world, caller);
    if (caller_is_done(caller)) return;
    // Who has waited for long asks again on a new connection.
    caller->mark++;
    if (caller->mark % 8 == 0) caller_cut_off(world, who);
    if (caller->cable == NOBODY)
        caller_connect(world, who);
    else
        requests_send(world, who);
}

void caller_release(struct caller *caller)
{
    free(caller->requests);
}
