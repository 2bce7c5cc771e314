// orders.c - what the server says, and what becomes of it.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD_MAX = 16 << 20,  // bytes that may wait for a slow server
    KILL_AFTER = 2500000,  // behind a grace, for a process that does not end
};

// ---- RUNs that wait for the end of an older attempt --------------------------------------------

bool waiting_add(struct waiting **list, const struct wire_message *message)
{
    struct wire_out out = {0};
    struct waiting *waiting = calloc(1, sizeof *waiting);
    wire_put(&out, message);
    char *room = waiting && !out.failed ? wire_in_room(&waiting->frame, out.length) : NULL;
    if (room) {
        memcpy(room, out.bytes, out.length);
        wire_in_came(&waiting->frame, out.length);
        waiting->task = message->run.task;
        waiting->attempt = message->run.attempt;
        waiting->next = *list;
        *list = waiting;
    } else {
        free(waiting);
    }
    wire_out_release(&out);
    return room;
}

void waiting_remove(struct waiting **at)
{
    struct waiting *waiting = *at;
    *at = waiting->next;
    wire_in_release(&waiting->frame);
    free(waiting);
}

struct waiting **waiting_find(struct waiting **list, const struct attempt *attempt)
{
    struct waiting **at = list;
    while (*at
           && ((*at)->attempt != attempt->number || (*at)->task.job != attempt->task.job
               || (*at)->task.task != attempt->task.task))
        at = &(*at)->next;
    return at;
}

void waiting_go_on(struct agent *agent, rota_task_id task)
{
    struct wire_message message;
    struct attempt *attempt = attempts_newest(&agent->decide.attempts, task);
    if (!attempt || attempt->state != ATTEMPT_HELD) return;
    struct waiting **at = waiting_find(&agent->waiting, attempt);
    assert(*at);
    struct decide_answer answer = decide_go_on(&agent->decide, attempt, os_boottime());
    if (answer.verdict == DECIDE_IGNORE) return;
    if (answer.verdict == DECIDE_REFUSE)
        report_refused(agent, attempt, WIRE_NOT_STARTED, answer.error, answer.reason);
    else if (wire_take(&(*at)->frame, &message) == WIRE_GOT)
        carry_give(agent, &message);
    else
        report_refused(agent, attempt, WIRE_NOT_STARTED, ENOMEM, "no memory for it");
    waiting_remove(at);
}

void waiting_release(struct agent *agent)
{
    while (agent->waiting) waiting_remove(&agent->waiting);
}

// ---- Ends --------------------------------------------------------------------------------------

void attempt_end(struct agent *agent, struct attempt *attempt, int64_t grace)
{
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    attempt_stop(&agent->decide.attempts, attempt);
    if (attempt->state == ATTEMPT_HELD) {
        waiting_remove(waiting_find(&agent->waiting, attempt));
        attempt_move(&agent->decide.attempts, attempt, ATTEMPT_ENDED);
        return report_refused(agent, attempt, WIRE_STOPPED, 0, "");
    }
    if (carry_take_back(agent, attempt)) return report_refused(agent, attempt, WIRE_STOPPED, 0, "");
    message.stop.task = attempt->task;
    message.stop.attempt = attempt->number;
    message.stop.grace = grace;
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

// What waits for its inputs never reaches the process that runs commands, which refuses the rest.
void agent_drain(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    agent->decide.is_draining = true;
    carry_refuse(agent, ECANCELED, "the worker starts nothing more");
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

void agent_leave(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_DRAIN_MESSAGE};
    service_stopping(agent, "starts nothing more, and ends with what runs");
    agent->is_leaving = true;
    agent_drain(agent);
    if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

void agent_quit(struct agent *agent, int64_t grace)
{
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    struct attempts *attempts = &agent->decide.attempts;
    if (!agent->is_ending) service_stopping(agent, "ends: commands are stopped");
    agent->is_ending = agent->decide.is_draining = true;
    for (struct attempt *attempt = NULL; (attempt = attempts_next(attempts, attempt));)
        if (attempt->state == ATTEMPT_HELD) attempt_end(agent, attempt, 0);
    grace = grace < 0 ? 0 : grace > DECIDE_LEASE_MAX ? DECIDE_LEASE_MAX : grace;
    int64_t kill_at = os_boottime();
    if (agent->has_hello) kill_at += grace + KILL_AFTER;  // else it waits for an earlier worker
    if (kill_at < agent->kill_at) agent->kill_at = kill_at;
    message.quit.grace = grace;
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

// ---- Messages ----------------------------------------------------------------------------------

static void older_end(struct agent *agent, const struct attempt *attempt)
{
    struct attempts *attempts = &agent->decide.attempts;
    for (struct attempt *at = attempts_older(attempts, attempt); at;
         at = attempts_older(attempts, at))
        if (attempt_is_alive(at)) attempt_end(agent, at, 0);
}

static void on_run(struct agent *agent, const struct wire_message *message)
{
    const struct wire_run *run = &message->run;
    struct decide *decide = &agent->decide;
    struct decide_answer answer = decide_run(decide, decide->connection, run, os_boottime());
    switch (answer.verdict) {
    case DECIDE_IGNORE: return;
    case DECIDE_BREAK: return server_drop(agent, "it gives more than can be kept, or nonsense");
    case DECIDE_GIVE: carry_give(agent, message); return;
    case DECIDE_REFUSE:
        return report_refused(agent, answer.attempt, WIRE_NOT_STARTED, answer.error, answer.reason);
    case DECIDE_HOLD: break;
    }
    if (waiting_add(&agent->waiting, message)) return older_end(agent, answer.attempt);
    attempt_move(&decide->attempts, answer.attempt, ATTEMPT_ENDED);
    report_refused(agent, answer.attempt, WIRE_NOT_STARTED, ENOMEM, "no memory for it");
}

static void on_stop(struct agent *agent, const struct wire_stop *stop)
{
    struct attempt *attempt = attempts_find(&agent->decide.attempts, stop->task, stop->attempt);
    if (attempt && attempt_is_alive(attempt)) attempt_end(agent, attempt, stop->grace);
}

static void on_recorded(struct agent *agent, const struct wire_recorded *recorded)
{
    struct attempts *attempts = &agent->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, recorded->task, recorded->attempt);
    if (!attempt || attempt->state != ATTEMPT_SPOOLED) return;
    flows_recorded(agent, recorded);
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
    bool is_other = !agent->is_welcome && refuse->code == WIRE_REFUSED_FRAME;  // cannot read GREET
    const char *said = length ? reason : "it refuses this worker";
    server_drop(agent, is_other ? WIRE_OTHER_VERSION : said);
    if (refuse->code == WIRE_REFUSED_NAME) agent->status = 2;  // waiting would not help
}

// False: it says what no server says.
static bool order_take(struct agent *agent, const struct wire_message *message)
{
    if (message->kind == WIRE_WELCOME_MESSAGE) return on_welcome(agent, &message->welcome), true;
    if (message->kind == WIRE_REFUSE_MESSAGE) return on_refuse(agent, &message->refuse), true;
    if (!agent->is_welcome) return false;
    switch (message->kind) {
    case WIRE_BEATEN_MESSAGE: on_beaten(agent, &message->beaten); return true;
    case WIRE_PROBE_MESSAGE: server_beat(agent); return true;
    case WIRE_RUN_MESSAGE: on_run(agent, message); return true;
    case WIRE_STOP_MESSAGE: on_stop(agent, &message->stop); return true;
    case WIRE_RECORDED_MESSAGE: on_recorded(agent, &message->recorded); return true;
    case WIRE_LOG_MESSAGE: on_log(agent, &message->log); return true;
    case WIRE_FETCH_MESSAGE: carry_fetch(agent, &message->fetch); return true;
    case WIRE_FLOW_MESSAGE: flows_meet(agent, &message->flow); return true;
    case WIRE_SERVE_MESSAGE: carry_serve(agent, &message->serve); return true;
    case WIRE_SHOW_MESSAGE: show_all(agent, &message->show.objects); return true;
    case WIRE_ALIAS_MESSAGE: alias_take(agent, &message->alias); return true;
    case WIRE_KNOWN_MESSAGE: known_take(agent, &message->known); return true;
    case WIRE_QUIT_MESSAGE: agent_quit(agent, message->quit.grace); return true;
    case WIRE_DROP_MESSAGE: carry_drop(agent, &message->drop.objects); break;
    case WIRE_DRAIN_MESSAGE: agent_drain(agent); return true;
    default: return false;
    }
    if (agent->worker) wire_put(&agent->worker->out, message);
    return true;
}

// All that came, also when the other side has gone since.
void orders_take(struct agent *agent)
{
    struct wire_message message;
    bool is_open = link_work(agent->server);
    while (agent->server) {
        enum wire_result result = wire_take(&agent->server->in, &message);
        if (result == WIRE_GOT && order_take(agent, &message)) continue;
        if (result != WIRE_MORE)
            server_drop(agent, result == WIRE_NO_MEMORY ? "no memory for a message"
                                                        : "it sent what no server says");
        break;
    }
    if (agent->server && !is_open) server_drop(agent, agent->server->reason);
}
