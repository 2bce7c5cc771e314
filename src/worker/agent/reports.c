// reports.c - messages of the process that runs commands: noted, made durable, then sent.
#include "worker/agent/internal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

enum { SEND_AHEAD = 1 << 20, TIDY_AFTER = 1000000, FULL_AGAIN = 1000000 };

static const char lease_over[] = "no contact to a server within the lease, and it holds something "
                                 "exclusive";

static void broken(struct agent *agent, const char *what)
{
    agent_say(agent, "%s", what);
    agent->status = 70;
}

// ---- Ends of attempts -----------------------------------------------------------------------

static void report_add(struct agent *agent, struct attempt *attempt,
                       const struct wire_finished *finished)
{
    struct report *report = spool_add(&agent->spool, finished);
    if (!report) return broken(agent, "out of memory for a report");
    attempt->report = report;
    if (!agent->unsafe) agent->unsafe = report;
    if (agent->is_welcome && !agent->unsent) agent->unsent = report;
}

void report_refused(void *context, struct attempt *attempt, enum wire_end end, int error,
                    const char *reason)
{
    struct agent *agent = context;
    struct wire_finished finished
        = attempts_refuse(&agent->decide.attempts, attempt, end, error, reason, os_now());
    report_add(agent, attempt, &finished);
}

// True: a worker that leaves, or the fence of its lease, stopped the command. The server did not.
static bool ended_with_worker(const struct agent *agent, const struct attempt *attempt)
{
    bool is_ordered = attempt->is_stopping && !attempt->is_fenced;
    return agent->is_leaving && !is_ordered;
}

static void on_finished(struct agent *agent, const struct wire_finished *message)
{
    struct wire_finished finished = *message;
    struct attempts *attempts = &agent->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, message->task, message->attempt);
    if (!attempt || !attempt_is_alive(attempt)) return;
    finished.token = attempt->token;
    if (attempt->is_fenced && finished.end == WIRE_STOPPED && !finished.reason.length)
        finished.reason = wire_text_of(lease_over);
    if (finished.end == WIRE_STOPPED && ended_with_worker(agent, attempt)) {
        finished.status = ESHUTDOWN;
        if (!finished.reason.length) finished.reason = wire_text_of("the worker was being ended");
    }
    if (finished.end == WIRE_STOPPED && streams_cut(agent, message->task, message->attempt)) {
        finished.status = ENOLINK;
        finished.reason = wire_text_of("the stream it read broke off");
    }
    attempts_move(attempts, attempt, ATTEMPT_ENDED);
    streams_ended(agent, message);
    if (!inventory_add(&agent->inventory, &finished.outputs))
        return broken(agent, "out of memory for the names of objects");
    shared_results_made(agent, &finished.outputs);
    report_add(agent, attempt, &finished);
    if (agent->worker) run_orders_ended(&agent->orders, message->task, os_boottime());
}

static void on_started(struct agent *agent, const struct wire_message *message)
{
    const struct wire_started *started = &message->started;
    struct attempts *attempts = &agent->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, started->task, started->attempt);
    if (!attempt || attempt->state != ATTEMPT_GIVEN) return;
    attempts_move(attempts, attempt, ATTEMPT_RUNNING);
    streams_started(agent, started->task, started->attempt);
    if (agent->is_welcome) wire_put(&agent->server->out, message);
}

// ---- Messages ----------------------------------------------------------------------------------

static void on_hello(struct agent *agent, const struct wire_hello *hello)
{
    agent->has_hello = true;
    agent->cores = hello->cores;
    agent->memory_mib = hello->memory_mib;
    uint32_t length = hello->limits.length;
    if (length >= sizeof agent->limits) length = sizeof agent->limits - 1;
    memcpy(agent->limits, hello->limits.bytes, length);
}

static bool report_take(struct agent *agent, const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_HELLO_MESSAGE: on_hello(agent, &message->hello); return true;
    case WIRE_FINISHED_MESSAGE: on_finished(agent, &message->finished); return true;
    case WIRE_STARTED_MESSAGE: on_started(agent, message); return true;
    case WIRE_HELD_MESSAGE:
        if (!inventory_add(&agent->inventory, &message->held.objects)) return false;
        break;
    case WIRE_LOST_MESSAGE: inventory_remove(&agent->inventory, &message->lost.objects); break;
    case WIRE_STREAMED_MESSAGE: break;
    default: return false;
    }
    if (agent->is_welcome) wire_put(&agent->server->out, message);
    return true;
}

void reports_take(struct agent *agent)
{
    struct wire_message message;
    enum wire_result result;
    bool is_open = link_work(agent->worker);
    while ((result = wire_take(&agent->worker->in, &message)) == WIRE_GOT)
        if (!report_take(agent, &message)) break;
    if (result != WIRE_MORE)
        broken(agent, "the process that runs commands sent an invalid message");
    if (is_open) return;
    link_close(agent->worker);
    agent->worker = NULL;
    if (!agent->is_ending) broken(agent, "the process that runs commands has ended unexpectedly");
}

// ---- The disk, then the server -----------------------------------------------------------------

static void all_spooled(struct agent *agent)
{
    struct attempts *attempts = &agent->decide.attempts;
    for (struct report *report = agent->unsafe; report; report = report->next)
        attempts_move(attempts, attempts_find(attempts, report->task, report->attempt),
                      ATTEMPT_SPOOLED);
    agent->unsafe = NULL;
}

// One sync for all attempts that ended in this turn. Recorded reports are noted along with it, or
// when there was nothing else for a while.
void reports_sync(struct agent *agent, int64_t now)
{
    struct spool *spool = &agent->spool;
    if (!spool->pending.length) return;
    if (!spool->unsafe && agent->sync_at == INT64_MAX) agent->sync_at = now + TIDY_AFTER;
    if (now < agent->sync_at && (!spool->unsafe || agent->is_full)) return;
    enum spool_result result = spool_sync(spool);
    agent->sync_at = INT64_MAX;
    if (result == SPOOL_BROKEN) return broken(agent, spool->error);
    if (result == SPOOL_FULL && !agent->is_full)
        agent_say(agent, "the disk of %s is full: reports wait", agent->options->folder);
    agent->is_full = result == SPOOL_FULL;
    if (agent->is_full)
        agent->sync_at = now + FULL_AGAIN;
    else
        all_spooled(agent);
}

// A slow server gets the rest when it has read these.
void reports_send(struct agent *agent)
{
    struct wire_message message;
    if (!agent->is_welcome) return;
    while (agent->unsent && agent->unsent->is_safe && agent->server->out.length < SEND_AHEAD) {
        if (!spool_message(agent->unsent, &message)) return;
        wire_put(&agent->server->out, &message);
        agent->unsent = agent->unsent->next;
    }
}
