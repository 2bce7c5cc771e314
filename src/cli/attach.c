// attach.c - `rota submit --attach`: shows a job of a server as `rota run` shows a local one.
//
// The command follows the server's journal (FOLLOW) from a position before the job, and watches the
// job (WATCH) for reasons of failures and its end. So it misses no event; after a lost connection
// it reconnects within five minutes and resumes after the last event. Logs come over a second
// connection. The job belongs to the server: the command may leave at any time.
#include "cli/attach.h"
#include "run/loop.h"
#include "turn/attempt_end.h"
#include "os/os.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE = 90000, TWICE_WITHIN = 2000000, LOG_PATIENCE = 30000000, AWAY_MAX = 300000000 };

struct attached {
    struct attach *attach;
    struct run run;
    struct run_options options;
    struct progress progress;
    int signals;
    int64_t leave_at;   // ticks: after one Ctrl-C, unless a second one follows; INT64_MAX: none
    bool is_cancelled, is_over, is_told;  // told: all events up to the end are shown
    bool is_fine;       // all tasks have succeeded
};

// ---- Requests to the server --------------------------------------------------------------------

static void follow_put(struct attach *attach, uint32_t flags)
{
    struct wire_message message = {.kind = WIRE_FOLLOW_MESSAGE};
    char topic[32];
    snprintf(topic, sizeof topic, "job=%u", attach->job);
    wire_text topics[] = {wire_text_of(topic)};
    message.follow.sequence = attach->sequence;
    message.follow.place = attach->place;
    message.follow.flags = flags;
    message.follow.topics = (wire_texts){topics, 1};
    wire_put(&attach->connection->client.link->out, &message);
}

bool attach_begin(struct attach *attach)
{
    struct rota_client *client = &attach->connection->client;
    struct wire_message message;
    follow_put(attach, WIRE_FOLLOW_FROM_NOW);
    enum rota_client_code code = client_send(client, ROTA_NEVER);
    while (!code && !client_next(client, &message, ROTA_NEVER)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return connect_fail(attach->connection, message.refuse.reason.bytes, 0);
        if (message.kind != WIRE_EVENT_MESSAGE) continue;
        attach->sequence = message.event.sequence;
        attach->place = message.event.place;
        return true;
    }
    connect_lost(attach->connection);
    return false;
}

static bool watch_begin(struct attach *attach)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = attach->job}};
    wire_put(&attach->connection->client.link->out, &message);
    follow_put(attach, 0);
    return !client_send(&attach->connection->client, ROTA_NEVER);
}

static void cancel_put(struct attach *attach)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    struct request_id request = {0};
    if (request_make(&attach->connection->client, &request)) return;
    message.change.high = request.high;
    message.change.low = request.low;
    message.change.verb = WIRE_CANCEL;
    message.change.task.job = attach->job;
    wire_put(&attach->connection->client.link->out, &message);
}

// Over a second connection, because events come between the pieces on the first.
static void log_show(void *context, rota_task_id task, uint32_t attempt)
{
    struct attached *attached = context;
    struct connection *connection = attached->attach->connection;
    struct rota_client client = {0};
    struct plain_log lines = {0};
    struct wire_message piece;
    struct wire_log log = {.task = task, .attempt = attempt};
    enum rota_client_code code
        = client_reach(&client, connection->server, connection->keys.items, WIRE_CLIENT, "attach",
                       client_until(CLIENT_OPEN_PATIENCE));
    while (!code && !client_log(&client, &log, client_until(LOG_PATIENCE), &piece)
           && piece.logged.bytes.length) {
        plain_log_add(&lines, piece.logged.bytes.bytes, piece.logged.bytes.length);
        log.offset += piece.logged.bytes.length;
    }
    plain_log_end(&lines);
    client_release(&client);
}

// ---- Events ------------------------------------------------------------------------------------

static void task_ends(struct attached *attached, uint32_t at, const struct wire_event *event,
                      enum run_phase phase)
{
    struct run *run = &attached->run;
    struct run_task *task = &run->tasks[at];
    task->end = ends_status_read(event->status, &task->status);
    if (phase == RUN_ABORTED) task->end = WIRE_STOPPED;
    task->ended = event->at;
    if (!task->began) task->began = event->at;
    if (phase == RUN_ABORTED && task->reason) {  // it was lost, not stopped, as the reason shows
        phase = RUN_FAILED;
        task->end = 0;
    }
    run_phase_set(run, at, phase);
    attached->attach->told[at] = 1 + (phase == RUN_OK ? ROTA_OUTCOME_OK : ROTA_OUTCOME_EXIT);
    struct run_end end = {at, event->attempt, phase, *task};
    progress_ended(&attached->progress, &end);
}

// A task that had ended is retried, and will be counted again.
static void end_forget(struct attached *attached, uint32_t at)
{
    uint8_t phase = attached->run.tasks[at].phase;
    bool ended = phase == RUN_OK || phase == RUN_FAILED || phase == RUN_ABORTED;
    if (ended && attached->progress.shown) attached->progress.shown--;
}

static void task_changes(struct attached *attached, const struct wire_event *event)
{
    static const struct {
        const char *state;
        enum run_phase phase;
    } phases[] = {{"ASSIGNED", RUN_GIVEN}, {"RUNNING", RUN_RUNNING}, {"SUCCESS", RUN_OK},
                  {"FAILED", RUN_FAILED},  {"ABORTED", RUN_ABORTED}};
    uint32_t at = event->task.task - 1;
    struct run *run = &attached->run;
    if (at >= run->file->task_count || run->file->tasks[at].is_bundle) return;
    enum run_phase phase = RUN_WAITING;
    end_forget(attached, at);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(event->state.bytes, phases[i].state) == 0) phase = phases[i].phase;
    if (phase == RUN_OK || phase == RUN_FAILED || phase == RUN_ABORTED) {
        task_ends(attached, at, event, phase);
        return;
    }
    // A task that is being stopped is told as RUNNING again.
    if (phase == RUN_GIVEN) run->tasks[at].began = 0;
    if (phase == RUN_RUNNING && !run->tasks[at].began) run->tasks[at].began = event->at;
    run->tasks[at].attempt = event->attempt;
    run_phase_set(run, at, phase);
    if (phase == RUN_RUNNING && attached->options.json) progress_started(&attached->progress, at);
}

// ENDED comes before the event of the same end, which has no reason.
static void reason_note(struct attached *attached, const struct wire_ended *ended)
{
    struct run *run = &attached->run;
    uint32_t at = ended->task.task - 1;
    if (ended->task.job != attached->attach->job || at >= run->file->task_count) return;
    free(run->tasks[at].reason);
    run->tasks[at].reason = NULL;
    if (!ended->reason.length) return;
    run->tasks[at].reason = strdup(ended->reason.bytes);
    if (!run->tasks[at].reason) os_out_of_memory();
}

// Returns -1, or the exit status.
static int message_take(struct attached *attached, const struct wire_message *message)
{
    struct attach *attach = attached->attach;
    if (message->kind == WIRE_REFUSE_MESSAGE && !attached->is_cancelled)
        return connect_fail(attach->connection, message->refuse.reason.bytes, CONNECT_FAILED);
    if (message->kind == WIRE_OVER_MESSAGE && !attached->is_over) {
        attached->is_over = true;
        attached->is_fine = message->over.succeeded == message->over.tasks;
        follow_put(attach, WIRE_FOLLOW_ENDS);  // stop after the events so far
        client_send(&attach->connection->client, ROTA_NEVER);
    }
    if (message->kind == WIRE_ENDED_MESSAGE) reason_note(attached, &message->ended);
    if (message->kind != WIRE_EVENT_MESSAGE) return -1;
    const struct wire_event *event = &message->event;
    attached->is_told |= event->kind == WIRE_EVENT_END;
    bool is_new = event->kind == WIRE_EVENT_TASK
                  && (event->sequence > attach->sequence
                      || (event->sequence == attach->sequence && event->place > attach->place));
    if (!is_new) return -1;
    attach->sequence = event->sequence;
    attach->place = event->place;
    task_changes(attached, event);
    return -1;
}

// ---- Leaving -----------------------------------------------------------------------------------

static int leave(struct attached *attached, int number)
{
    const struct attach *attach = attached->attach;
    const char *words = attached->progress.server;
    progress_say(&attached->progress,
                 "detached from job %u, which continues on the server: rota wait %s%u, rota cancel"
                 " %s%u\n",
                 attach->job, words, attach->job, words, attach->job);
    return number == SIGINT ? ATTACH_LEFT : 128 + number;
}

// Returns -1, or the exit status.
static int signals_take(struct attached *attached)
{
    int number = os_signal_next(attached->signals);
    if (!number && os_ticks() >= attached->leave_at) return leave(attached, SIGINT);
    if (!number || attached->is_cancelled) return number ? leave(attached, number) : -1;
    if (number != SIGINT) return leave(attached, number);
    if (attached->leave_at == INT64_MAX) {
        attached->leave_at = os_ticks() + TWICE_WITHIN;
        progress_say(&attached->progress, "press Ctrl-C again to cancel job %u; otherwise it"
                     " continues\n", attached->attach->job);
        return -1;
    }
    attached->leave_at = INT64_MAX;
    attached->is_cancelled = true;
    progress_say(&attached->progress, "cancelling job %u\n", attached->attach->job);
    cancel_put(attached->attach);
    client_send(&attached->attach->connection->client, ROTA_NEVER);
    return -1;
}

// ---- The loop ----------------------------------------------------------------------------------

// Reconnects as soon as the server is back. Returns -1, or the exit status.
static int come_back(struct attached *attached)
{
    struct connection *connection = attached->attach->connection;
    uint64_t database = connection->client.server;
    int64_t until = os_ticks() + AWAY_MAX;
    int status = -1;
    progress_say(&attached->progress, "lost the connection to the server; waiting for it\n");
    for (bool open = false; !open && status < 0; status = signals_take(attached)) {
        if (os_ticks() >= until) return connect_lost(connection);
        os_wait(NULL, 0, os_ticks() + SLICE * 3);
        open = connect_quickly(connection, CLIENT_OPEN_PATIENCE);
    }
    if (status < 0 && connection->client.server != database)
        return connect_fail(connection, "the server is back with another database", CONNECT_FAILED);
    attached->is_over = false;
    return status;
}

static uint64_t stamp_none(const char *folder, const char *path)
{
    (void)folder, (void)path;
    return 0;
}

static int watch(struct attached *attached)
{
    struct connection *connection = attached->attach->connection;
    struct wire_message message;
    int status = -1;
    bool open = watch_begin(attached->attach);
    while (status < 0 && !attached->is_told) {
        if (open && !client_next(&connection->client, &message, client_until(SLICE))) {
            status = message_take(attached, &message);
        } else if (!open || !client_is_open(&connection->client)) {
            status = come_back(attached);
            open = status < 0 && watch_begin(attached->attach);
        }
        if (status < 0) status = signals_take(attached);
        progress_draw(&attached->progress, os_now());
    }
    return status;
}

// The exit status is that of `rota run`. A task whose attempts were lost too often is ABORTED on
// the server, but it is shown and counted here as failed.
static int end_status(const struct attached *attached)
{
    const uint32_t *count = attached->run.count;
    if (attached->is_fine) return 0;
    return count[RUN_ABORTED] && !count[RUN_FAILED] ? ATTACH_STOPPED : 1;
}

int attach_run(struct attach *attach)
{
    struct attached attached = {.attach = attach, .leave_at = INT64_MAX};
    attached.options = (struct run_options){.path = attach->path, .json = attach->json};
    attached.signals = os_signals_open();
    run_open(&attached.run, attach->file, attach->folder);
    attached.run.job.number = attach->job;
    run_sign(&attached.run, stamp_none);  // sorts the tasks
    progress_open(&attached.progress, &attached.options, &attached.run, NULL);
    char *server = NULL;
    size_t size;
    FILE *words = open_memstream(&server, &size);
    if (!words) os_out_of_memory();
    connect_words_write(attach->connection, words);
    if (fclose(words)) os_out_of_memory();
    attached.progress.server = server;
    attached.progress.log = log_show;
    attached.progress.log_context = &attached;
    int status = watch(&attached);
    progress_clear(&attached.progress);
    if (status < 0) {
        status = end_status(&attached);
        summary_print(&attached.progress, os_now(), status);
    }
    progress_release(&attached.progress);
    run_release(&attached.run);
    if (attached.signals >= 0) close(attached.signals);
    free(server);
    return status;
}
