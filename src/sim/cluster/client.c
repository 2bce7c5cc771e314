// client.c - a client: sends each request until it has an answer.
#include "sim/cluster/internal.h"

enum { IDLE_MAX = 300000 };

bool sim_client_is_done(const struct client *client)
{
    if (client->submissions) return false;
    for (uint32_t i = 0; i < client->request_count; i++)
        if (!client->requests[i].answered) return false;
    return true;
}

// ---- Requests ----------------------------------------------------------------------------------

static void request_put(struct sim *sim, uint32_t who, uint32_t number)
{
    struct client *client = &sim->clients[who];
    const struct request *request = &client->requests[number];
    struct wire_out *out = &sim->links[client->link]->out[FAR_SIDE];
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    struct request_id id = {who + 1, number + 1};
    if (request->kind == REQUEST_PAUSE) return pause_put(out, request, id);
    if (request->kind == REQUEST_BAD) return bad_put(out, request, id);
    if (!request->task) return sim_expected_submit(sim, request->job, request->is_more, id, out);
    message.change.high = who + 1;
    message.change.low = number + 1;
    message.change.verb = request->verb;
    message.change.task = (rota_task_id){sim->jobs[request->job]->number, request->task};
    wire_put(out, &message);
}

static void requests_send(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    if (!client->welcome) return;
    for (; client->unsent < client->request_count; client->unsent++) {
        if (client->requests[client->unsent].answered) continue;
        request_put(sim, who, client->unsent);
        if (!chance(sim, OF_CLIENTS, sim->setting.repeat)) continue;
        see(sim, SIGHT_REPEAT);
        request_put(sim, who, client->unsent);
    }
    sim_link_send(sim, client->link, FAR_SIDE);
}

struct request *request_add(struct client *client, uint32_t job, uint32_t task)
{
    struct request *request
        = SIM_NEW(client->requests, client->request_count, client->request_capacity);
    *request = (struct request){.job = job, .task = task};
    return request;
}

static void submission_make(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    uint32_t number = sim->job_count;
    struct expected_job *job = sim_expected_make(sim, who);
    job->request = client->request_count;
    client->submissions--;
    request_add(client, number, 0);
}

// Submits more tasks of a job that was accepted.
static void more_make(struct sim *sim, uint32_t who)
{
    for (uint32_t i = 0; i < sim->job_count; i++) {
        struct expected_job *job = sim->jobs[i];
        if (!job->told || job->grows || job->first == job->count) continue;
        job->grows = true;
        request_add(&sim->clients[who], i, 0)->is_more = true;
        return;
    }
}

static void change_note(struct expected_task *task, uint32_t verb)
{
    task->asked_off |= verb == WIRE_CANCEL;
    task->asked_again |= verb != WIRE_CANCEL;
    task->is_forced |= verb == WIRE_START;
}

// Chooses a task of a job that was accepted.
static void change_make(struct sim *sim, uint32_t who)
{
    uint32_t number = sim->job_count ? choose(sim, OF_CLIENTS, sim->job_count) : 0;
    if (number >= sim->job_count || !sim->jobs[number]->told) return;
    struct expected_job *job = sim->jobs[number];
    struct request *request
        = request_add(&sim->clients[who], number, 1 + choose(sim, OF_CLIENTS, job->count));
    bool again = choose(sim, OF_CLIENTS, 2);
    const struct expected_task *task = &job->tasks[request->task - 1];
    bool starts = task->when_count && choose(sim, OF_CONDITIONS, 2);
    request->verb = starts ? WIRE_START : again ? WIRE_RETRY : WIRE_CANCEL;
    change_note(&job->tasks[request->task - 1], request->verb);
    for (uint32_t i = 0; task->is_bundle && i < job->count; i++)
        if (job->tasks[i].bundle == request->task) change_note(&job->tasks[i], request->verb);
}

// ---- The connection to the server ---------------------------------------------------------------

void sim_client_cut_off(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    if (client->link == NOBODY) return;
    uint32_t link = client->link;
    client->link = NOBODY;
    client->welcome = false;
    client->unsent = 0;
    sim_link_close(sim, link, FAR_SIDE, false);
}

static void client_connect(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    client->link = sim_link_open(sim, LINK_CLIENT, who);
    if (client->link == NOBODY) return;
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_ADMIN;
    message.greet.name = wire_text_of("caller");
    wire_put(&sim->links[client->link]->out[FAR_SIDE], &message);
    sim_link_send(sim, client->link, FAR_SIDE);
}

static void answered(struct sim *sim, uint32_t who, uint64_t low)
{
    struct client *client = &sim->clients[who];
    if (!low || low > client->request_count) {
        wrong(sim, "a client gets an answer without a request");
        return;
    }
    client->requests[low - 1].answered = true;
}

// Only a full server may accept the same request later. Some clients ask again in any case.
static void refused(struct sim *sim, uint32_t who, const struct wire_refuse *refuse)
{
    struct client *client = &sim->clients[who];
    uint64_t low = refuse->low;
    see(sim, SIGHT_REFUSAL);
    answered(sim, who, low);
    if (!low || low > client->request_count) return;
    struct request *request = &client->requests[low - 1];
    bool is_full = refuse->code == WIRE_REFUSED_FULL;
    bool asks = !is_full && !request->asks_again
                && chance(sim, OF_REQUESTS, sim->setting.repeat);
    if (asks) see(sim, SIGHT_ASKED_AGAIN);
    request->asks_again |= asks;
    request->answered = !is_full && !asks;
    if (!request->answered) client->unsent = 0;
    if (!is_full && request->is_more) wrong(sim, "more tasks of an open job are refused");
}

// Follows from the last place, on this connection or a new one.
static void follow(struct sim *sim, struct client *client)
{
    struct wire_message message = {.kind = WIRE_FOLLOW_MESSAGE};
    see(sim, SIGHT_FOLLOW);
    message.follow.sequence = client->followed.sequence;
    message.follow.place = client->followed.line;
    wire_put(&sim->links[client->link]->out[FAR_SIDE], &message);
}

static void message_take(struct sim *sim, uint32_t who, const struct wire_message *message)
{
    struct client *client = &sim->clients[who];
    switch (message->kind) {
    case WIRE_WELCOME_MESSAGE:
        client->welcome = true;
        if (who < sim->setting.follows) follow(sim, client);
        break;
    case WIRE_EVENT_MESSAGE: judge_followed(sim, &client->followed, &message->event); break;
    case WIRE_ACCEPTED_MESSAGE: answered(sim, who, message->accepted.low); break;
    case WIRE_DONE_MESSAGE: answered(sim, who, message->done.low); break;
    case WIRE_REFUSE_MESSAGE: refused(sim, who, &message->refuse); break;
    default: break;
    }
}

void sim_client_hears(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    struct wire_message message;
    uint32_t link = client->link;
    while (client->link == link && sim_link_take(sim, link, &message))
        message_take(sim, who, &message);
    requests_send(sim, who);
}

void sim_client_work(struct sim *sim, uint32_t who)
{
    struct client *client = &sim->clients[who];
    event_queue_add(&sim->queue, sim->now + 1000 + choose_time(sim, OF_CLIENTS, IDLE_MAX),
                     DUE_CLIENT, who, 0);
    if (client->submissions) submission_make(sim, who);
    more_make(sim, who);
    for (int i = 0; i < 4 && !sim->is_clear; i++)
        if (chance(sim, OF_CLIENTS, sim->setting.cancel)) change_make(sim, who);
    if (!sim->is_clear && chance(sim, OF_REQUESTS, sim->setting.pauses)) pause_make(sim, who);
    if (!sim->is_clear && chance(sim, OF_REQUESTS, sim->setting.bad)) bad_make(sim, who);
    if (sim->is_clear && sim_client_is_done(client)) pauses_end(sim, client);
    if (sim_client_is_done(client)) return;
    // A client that has waited for long repeats its request on a new connection.
    client->mark++;
    if (client->mark % 8 == 0) sim_client_cut_off(sim, who);
    if (client->link == NOBODY)
        client_connect(sim, who);
    else
        requests_send(sim, who);
}

void sim_client_release(struct client *client)
{
    free(client->requests);
}
