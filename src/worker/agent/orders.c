// orders.c - handles the messages of the server: RUN, STOP, FETCH, DROP, LOG, DRAIN, QUIT and
// others.
//
// The server sends orders at any time after WELCOME; each is handled at once and answered, if at
// all, by later messages (STARTED, FINISHED, LOGGED, HELD). A RUN is passed to run_orders.c, which
// asks decide.c whether to accept it, holds it until an older attempt of its task has ended, lets
// it wait for its inputs, and finally passes it to the process that runs commands.
//
// The table of attempts belongs to decide.c and attempts.c, the RUNs that wait to run_orders.c. A
// connection may break at any point: orders that were received stay valid, and the server repeats
// the others after the next JOIN. A server that sends an invalid message, more commands than can be
// kept, or requests for logs without reading the answers, is disconnected; the worker tries the
// next one.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

enum {
    AHEAD_MAX = 16 << 20,  // bytes that may wait for a slow server
    KILL_AFTER = 2500000,  // after the grace period, for a process that does not end
};

// ---- Draining and ending --------------------------------------------------------------------

// A command that waits for its inputs never reaches the process that runs commands, which refuses
// the others.
static void agent_drain(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    agent->decide.is_draining = true;
    run_orders_refuse(&agent->orders, ECANCELED, "the worker is draining");
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

void agent_leave(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    service_stopping(agent, "starts no more commands, and ends after the running ones");
    agent->is_leaving = true;
    agent_drain(agent);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

// Commands that have not started are refused, and the server learns that this worker leaves: so the
// end of the worker counts for no task, not even for one whose report never arrives.
void agent_quit(struct agent *agent, int64_t grace)
{
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    if (!agent->is_leaving) agent_leave(agent);
    if (!agent->is_ending) service_stopping(agent, "ending: commands are stopped");
    agent->is_ending = true;
    grace = grace < 0 ? 0 : grace > DECIDE_LEASE_MAX ? DECIDE_LEASE_MAX : grace;
    int64_t kill_at = os_boottime();
    // otherwise it waits for an earlier worker
    if (agent->has_hello) kill_at += grace + KILL_AFTER;
    if (kill_at < agent->kill_at) agent->kill_at = kill_at;
    message.quit.grace = grace;
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

// ---- Messages ----------------------------------------------------------------------------------

static void on_run(struct agent *agent, const struct wire_message *message)
{
    if (!run_orders_take(&agent->orders, message, os_boottime()))
        server_drop(agent, "it sent too many commands, or invalid ones");
}

static void on_recorded(struct agent *agent, const struct wire_recorded *recorded)
{
    struct attempts *attempts = &agent->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, recorded->task, recorded->attempt);
    if (!attempt || attempt->state != ATTEMPT_SPOOLED) return;
    streams_recorded(agent, recorded);
    struct report *report = attempt->report;
    if (agent->unsent == report) agent->unsent = report->next;
    spool_remove(&agent->spool, report);
    attempts_remove(attempts, attempt);
}

static void on_log(struct agent *agent, const struct wire_log *log)
{
    const struct attempt *attempt = attempts_find(&agent->decide.attempts, log->task, log->attempt);
    if (agent->server->out.length > AHEAD_MAX)
        return server_drop(agent, "it asks for logs and does not read them");
    logs_answer(&agent->logs, log, !attempt || !attempt_is_alive(attempt), &agent->server->out);
}

static void on_beaten(struct agent *agent, const struct wire_beaten *beaten)
{
    struct decide *decide = &agent->decide;
    decide_beaten(decide, decide->connection, beaten->sent, os_boottime());
    agent->pause = 0;
}

static void on_refuse(struct agent *agent, const struct wire_refuse *refuse)
{
    char reason[500];
    size_t length = refuse->reason.length < sizeof reason ? refuse->reason.length : 0;
    memcpy(reason, refuse->reason.bytes, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)reason[i] < ' ' || reason[i] == 127) reason[i] = '?';
    reason[length] = 0;
    // the server cannot read GREET
    bool is_other = !agent->is_welcome && refuse->code == WIRE_REFUSED_FRAME;
    const char *said = length ? reason : "it refuses this worker";
    server_drop(agent, is_other ? WIRE_OTHER_VERSION : said);
    if (refuse->code == WIRE_REFUSED_NAME) agent->status = 2;  // waiting would not help
}

// False: not a message of a server.
static bool order_take(struct agent *agent, const struct wire_message *message)
{
    if (message->kind == WIRE_WELCOME_MESSAGE) return on_welcome(agent, &message->welcome), true;
    if (message->kind == WIRE_REFUSE_MESSAGE) return on_refuse(agent, &message->refuse), true;
    if (!agent->is_welcome) return false;
    switch (message->kind) {
    case WIRE_BEATEN_MESSAGE: on_beaten(agent, &message->beaten); return true;
    case WIRE_PROBE_MESSAGE: server_beat(agent); return true;
    case WIRE_RUN_MESSAGE: on_run(agent, message); return true;
    case WIRE_STOP_MESSAGE:
        run_orders_end(&agent->orders, message->stop.task, message->stop.attempt,
                       message->stop.grace);
        return true;
    case WIRE_RECORDED_MESSAGE: on_recorded(agent, &message->recorded); return true;
    case WIRE_LOG_MESSAGE: on_log(agent, &message->log); return true;
    case WIRE_FETCH_MESSAGE: inputs_fetch(agent, &message->fetch); return true;
    case WIRE_FLOW_MESSAGE: streams_meet(agent, &message->flow); return true;
    case WIRE_SERVE_MESSAGE: inputs_serve(agent, &message->serve); return true;
    case WIRE_SHOW_MESSAGE: holdings_show(agent, &message->show.objects); return true;
    case WIRE_ALIAS_MESSAGE: shared_results_take(agent, &message->alias); return true;
    case WIRE_KNOWN_MESSAGE: known_take(agent, &message->known); return true;
    case WIRE_QUIT_MESSAGE: agent_quit(agent, message->quit.grace); return true;
    case WIRE_DROP_MESSAGE: inputs_drop(agent, &message->drop.objects); break;
    case WIRE_DRAIN_MESSAGE: agent_drain(agent); return true;
    default: return false;
    }
    if (agent->worker) wire_put(&agent->worker->out, message);
    return true;
}

// Takes all that arrived, even if the other side has closed since.
void orders_take(struct agent *agent)
{
    struct wire_message message;
    bool is_open = link_work(agent->server);
    while (agent->server) {
        enum wire_result result = wire_take(&agent->server->in, &message);
        if (result == WIRE_GOT && order_take(agent, &message)) continue;
        if (result != WIRE_MORE)
            server_drop(agent, result == WIRE_NO_MEMORY ? "out of memory for a message"
                                                        : "it sent an invalid message");
        break;
    }
    if (agent->server && !is_open) server_drop(agent, agent->server->reason);
}
