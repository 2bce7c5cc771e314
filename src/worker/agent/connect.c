// connect.c - the connection to a server: which one is tried next, the handshake, and timeouts.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSE_MIN = 100000, PAUSE_MAX = 5000000, WELCOME_WITHIN = 10000000 };

void agent_say(const struct agent *agent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rota worker %s: ", agent->options->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static const char *address_of(const struct agent *agent)
{
    return agent->options->servers[agent->turn];
}

// A server that is down would fill the screen.
static void say_once(struct agent *agent, const char *text)
{
    char line[sizeof agent->said];
    snprintf(line, sizeof line, "%s", text);
    if (strcmp(line, agent->said) == 0) return;
    memcpy(agent->said, line, sizeof line);
    agent_say(agent, "%s", line);
}

// All servers are tried in turn; after a complete round there is a pause, which grows. Workers that
// lost their server together must not return together.
static void next_turn(struct agent *agent)
{
    agent->turn = (agent->turn + 1) % agent->options->server_count;
    int64_t pause = 0;
    if (agent->turn == 0) {
        agent->pause = agent->pause ? agent->pause * 2 : PAUSE_MIN;
        if (agent->pause > PAUSE_MAX) agent->pause = PAUSE_MAX;
        pause = agent->pause / 2 + random_below(&agent->seed, (uint32_t)agent->pause / 2 + 1);
    }
    agent->connect_at = os_boottime() + pause;
}

// A key that no server accepts will not be accepted the next time. But a key that was accepted
// before may have been revoked by mistake, and another connection could save the running commands.
static void denial_count(struct agent *agent)
{
    if (!agent->server->is_denied) agent->denials = 0;
    if (!agent->server->is_denied || agent->was_welcome) return;
    if (++agent->denials < agent->options->server_count) return;
    agent_say(agent, "no server accepts its key or certificate; ask an admin for a key of the role "
                     "worker, or for a certificate if the server has one, and start with --key");
    agent->status = 2;
}

void server_drop(struct agent *agent, const char *reason)
{
    char text[sizeof agent->said];
    if (!agent->server) return;
    snprintf(text, sizeof text, "%s: %s", address_of(agent), reason);
    if (!agent->is_ending) say_once(agent, text);
    if (agent->is_welcome && !agent->is_ending)
        service_status(agent, "has lost", address_of(agent));
    denial_count(agent);
    link_close(agent->server);
    agent->server = NULL;
    agent->is_welcome = false;
    agent->unsent = NULL;
    decide_disconnect(&agent->decide);
    next_turn(agent);
}

static void greet(struct agent *agent, int64_t now)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = WIRE_WORKER;
    message.greet.name = wire_text_of(agent->options->name);
    message.greet.boot = agent->boot;
    message.greet.connection = decide_connect(&agent->decide, now);
    message.greet.folder = agent->folder_id;
    message.greet.place = agent->place;
    wire_put(&agent->server->out, &message);
}

// To the next of them.
static void server_connect(struct agent *agent, int64_t now)
{
    struct link_error error = {0};
    agent->server = link_connect(address_of(agent), agent->options->key, &error);
    if (!agent->server) {
        say_once(agent, error.text);
        agent->denials = 0;
        next_turn(agent);
        return;
    }
    agent->welcome_by = now + WELCOME_WITHIN;
    greet(agent, now);
}

// ---- After WELCOME -----------------------------------------------------------------------------

static bool join(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    uint32_t count = attempts_count(&agent->decide.attempts);
    struct wire_attempt *items = calloc(count + 1, sizeof *items);
    if (!items) return false;
    message.join.cores = agent->cores;
    message.join.memory_mib = agent->memory_mib;
    message.join.machine = wire_text_of(agent->options->machine);
    message.join.address = wire_text_of(inputs_address(agent));
    message.join.limits = wire_text_of(agent->limits);
    message.join.user = wire_text_of(agent->options->user);
    message.join.epoch = agent->epoch;
    message.join.opened = agent->opened;
    message.join.attempts = decide_join(&agent->decide, items);
    wire_put(&agent->server->out, &message);
    free(items);
    message = (struct wire_message){.kind = WIRE_DRAIN_MESSAGE};
    if (agent->is_leaving) wire_put(&agent->server->out, &message);
    return true;
}

void server_beat(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_BEAT_MESSAGE};
    int64_t now = os_boottime();
    decide_beat(&agent->decide, now);
    message.beat.sent = (uint64_t)now;
    wire_put(&agent->server->out, &message);
}

// A task of one database is not the task with the same number of another. Commands for the other
// one continue: its server may return, and this one may be a mistake.
static bool is_ours(struct agent *agent, uint64_t server)
{
    struct spool *spool = &agent->spool;
    if (!spool->server || spool->server == server) return spool_belongs(spool, server);
    streams_abandon(agent);
    if (agent->decide.attempts.alive || spool->unsafe) {
        server_drop(agent, "it has another database than the server whose commands run here");
        return false;
    }
    if (spool->count)
        agent_say(agent, "%u reports for another server are moved to %s", spool->count,
                  agent->options->folder);
    attempts_forget_spooled(&agent->decide.attempts);
    agent->epoch = 0;
    return spool_belongs(spool, server);
}

void on_welcome(struct agent *agent, const struct wire_welcome *welcome)
{
    int64_t heard = agent->decide.heard;
    if (welcome->version != WIRE_VERSION) return server_drop(agent, WIRE_OTHER_VERSION);
    if (agent->is_welcome || !decide_welcome(&agent->decide, welcome, os_boottime()))
        return server_drop(agent, "its welcome is invalid: the lease is not four heartbeats long");
    if (!is_ours(agent, welcome->server)) {
        agent->decide.heard = heard;  // its own server is still disconnected
        if (agent->server) agent_say(agent, "%s", agent->spool.error), agent->status = 70;
        return;
    }
    if (!join(agent)) return server_drop(agent, "out of memory for a message");
    if (welcome->epoch > agent->epoch) {
        agent->epoch = welcome->epoch;
        agent->opened = welcome->opened;
    }
    if (!data_fetcher_home(agent->inputs.fetcher, address_of(agent), agent->options->key))
        return server_drop(agent, "out of memory for its address");
    agent->is_welcome = agent->was_welcome = true;
    agent->said[0] = 0;
    agent_say(agent, "connected to %s", address_of(agent));
    service_status(agent, "connected to", address_of(agent));
    server_beat(agent);
    inventory_tell(&agent->inventory, &agent->inputs.cache, &agent->server->out);
    inputs_report_false(agent);
    agent->unsent = agent->spool.first;
}

static bool wants_server(const struct agent *agent)
{
    return agent->has_hello && (!agent->is_ending || agent->spool.count);
}

void server_timers(struct agent *agent, int64_t now)
{
    if (!agent->server) {
        if (wants_server(agent) && now >= agent->connect_at) server_connect(agent, now);
    } else if (link_overdue(agent->server, os_ticks())) {
        server_drop(agent, agent->server->reason);
    } else if (!agent->is_welcome) {
        if (now >= agent->welcome_by) server_drop(agent, "timeout: no answer");
    } else if (decide_is_cut_off(&agent->decide, now)) {
        server_drop(agent, "timeout: no answer for half a lease");
    } else if (decide_is_worn(&agent->decide)) {
        server_drop(agent, "another connection, after a million commands");
    } else if (decide_beat_is_due(&agent->decide, now)) {
        server_beat(agent);
    }
}

int64_t server_due(const struct agent *agent)
{
    if (!agent->server) return wants_server(agent) ? agent->connect_at : INT64_MAX;
    return agent->is_welcome ? INT64_MAX : agent->welcome_by;
}
