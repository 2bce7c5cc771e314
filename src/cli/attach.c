// attach.c - `rota submit --attach`: a job of a server, shown as `rota run` shows one of its own.
//
// What happens is read from the server's journal, from before the job was there: so nothing is
// missed, and whoever comes back after a restart of the server goes on where he was.
#include "cli/attach.h"
#include "run/loop.h"
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
    int64_t leave_at;   // ticks: unless somebody asks again; INT64_MAX: nobody did
    bool is_cancelled, is_over, is_told;  // told: all that was before it was over
    bool is_fine;       // all of it has succeeded
};

// ---- Questions to the server -------------------------------------------------------------------

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
    wire_put(&attach->reach->client.link->out, &message);
}

bool attach_begin(struct attach *attach)
{
    struct client *client = &attach->reach->client;
    struct wire_message message;
    follow_put(attach, WIRE_FOLLOW_FROM_NOW);
    bool open = client_send(client);
    while (open && client_next(client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(attach->reach, message.refuse.reason.bytes, 0);
        if (message.kind != WIRE_EVENT_MESSAGE) continue;
        attach->sequence = message.event.sequence;
        attach->place = message.event.place;
        return true;
    }
    reach_lost(attach->reach);
    return false;
}

static bool watch_begin(struct attach *attach)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE, .watch = {.job = attach->job}};
    wire_put(&attach->reach->client.link->out, &message);
    follow_put(attach, 0);
    return client_send(&attach->reach->client);
}

static void cancel_put(struct attach *attach)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    client_request_id(&message.change.high, &message.change.low);
    message.change.verb = WIRE_CANCEL;
    message.change.task.job = attach->job;
    wire_put(&attach->reach->client.link->out, &message);
}

// Over a connection of its own: on ours events come between the pieces.
static void log_show(void *context, rota_task_id task, uint32_t attempt)
{
    struct attached *attached = context;
    struct reach *reach = attached->attach->reach;
    struct client client;
    struct plain_log log = {0};
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE};
    message.log.request = 1;
    message.log.task = task;
    message.log.attempt = attempt;
    bool open = client_open(&client, reach->server, reach->keys.items, WIRE_CLIENT, "attach");
    for (uint64_t offset = 0; open;) {
        struct wire_message answer;
        message.log.offset = offset;
        wire_put(&client.link->out, &message);
        open = client_send(&client) && client_next(&client, &answer, LOG_PATIENCE)
               && answer.kind == WIRE_LOGGED_MESSAGE && answer.logged.bytes.length;
        if (!open) break;
        plain_log_add(&log, answer.logged.bytes.bytes, answer.logged.bytes.length);
        offset += answer.logged.bytes.length;
    }
    plain_log_end(&log);
    client_close(&client);
}

// ---- Events ------------------------------------------------------------------------------------

static void task_ends(struct attached *attached, uint32_t at, const struct wire_event *event,
                      enum run_phase phase)
{
    struct run *run = &attached->run;
    struct run_task *task = &run->tasks[at];
    task->end = phase == RUN_ABORTED ? WIRE_STOPPED : WIRE_EXITED;
    task->status = event->status;
    task->ended = event->at;
    if (!task->began) task->began = event->at;
    if (phase == RUN_ABORTED && task->reason) {  // it was lost, not stopped: the reason says how
        phase = RUN_FAILED;
        task->end = 0;
    }
    run_phase_set(run, at, phase);
    attached->attach->told[at] = 1 + (phase == RUN_OK ? ROTA_OUTCOME_OK : ROTA_OUTCOME_EXIT);
    struct run_end end = {at, event->attempt, phase, *task};
    progress_ended(&attached->progress, &end);
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
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(event->state.bytes, phases[i].state) == 0) phase = phases[i].phase;
    if (phase == RUN_OK || phase == RUN_FAILED || phase == RUN_ABORTED) {
        task_ends(attached, at, event, phase);
        return;
    }
    if (phase == RUN_GIVEN || phase == RUN_RUNNING) run->tasks[at].began = event->at;
    run->tasks[at].attempt = event->attempt;
    run_phase_set(run, at, phase);
    if (phase == RUN_RUNNING && attached->options.json) progress_started(&attached->progress, at);
}

// It comes before the event of the same end, which has no reason.
static void reason_note(struct attached *attached, const struct wire_ended *ended)
{
    struct run *run = &attached->run;
    uint32_t at = ended->task.task - 1;
    if (ended->task.job != attached->attach->job || at >= run->file->task_count) return;
    free(run->tasks[at].reason);
    run->tasks[at].reason = NULL;
    if (!ended->reason.length) return;
    run->tasks[at].reason = strdup(ended->reason.bytes);
    if (!run->tasks[at].reason) run_no_memory();
}

// -1: go on; else the exit status.
static int message_take(struct attached *attached, const struct wire_message *message)
{
    struct attach *attach = attached->attach;
    if (message->kind == WIRE_REFUSE_MESSAGE && !attached->is_cancelled)
        return reach_fail(attach->reach, message->refuse.reason.bytes, REACH_FAILED);
    if (message->kind == WIRE_OVER_MESSAGE && !attached->is_over) {
        attached->is_over = true;
        attached->is_fine = message->over.succeeded == message->over.tasks;
        follow_put(attach, WIRE_FOLLOW_ENDS);  // what is told is told to its end
        client_send(&attach->reach->client);
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
    progress_say(&attached->progress, "job %u goes on without you: rota wait %u, rota cancel"
                 " --server %s %u\n", attach->job, attach->job, attach->reach->server, attach->job);
    return number == SIGINT ? ATTACH_LEFT : 128 + number;
}

// -1: go on; else the exit status.
static int signals_take(struct attached *attached)
{
    int number = os_signal_next(attached->signals);
    if (!number && os_ticks() >= attached->leave_at) return leave(attached, SIGINT);
    if (!number || attached->is_cancelled) return number ? leave(attached, number) : -1;
    if (number != SIGINT) return leave(attached, number);
    if (attached->leave_at == INT64_MAX) {
        attached->leave_at = os_ticks() + TWICE_WITHIN;
        progress_say(&attached->progress, "Ctrl-C again stops job %u; else it goes on without"
                     " you\n", attached->attach->job);
        return -1;
    }
    attached->leave_at = INT64_MAX;
    attached->is_cancelled = true;
    progress_say(&attached->progress, "stops job %u\n", attached->attach->job);
    cancel_put(attached->attach);
    client_send(&attached->attach->reach->client);
    return -1;
}

// ---- The loop ----------------------------------------------------------------------------------

// The server is gone: a new connection, as soon as it is back. -1: there is one; else the exit
// status.
static int come_back(struct attached *attached)
{
    struct reach *reach = attached->attach->reach;
    uint64_t database = reach->client.welcome.server;
    int64_t until = os_ticks() + AWAY_MAX;
    int status = -1;
    progress_say(&attached->progress, "the server is gone; waiting for it\n");
    for (bool open = false; !open && status < 0; status = signals_take(attached)) {
        if (os_ticks() >= until) return reach_lost(reach);
        os_wait(NULL, 0, os_ticks() + SLICE * 3);
        client_close(&reach->client);
        open = client_open(&reach->client, reach->server, reach->keys.items, WIRE_CLIENT, "submit");
    }
    if (status < 0 && reach->client.welcome.server != database)
        return reach_fail(reach, "the server is back with another database", REACH_FAILED);
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
    struct reach *reach = attached->attach->reach;
    struct wire_message message;
    int status = -1;
    bool open = watch_begin(attached->attach);
    while (status < 0 && !attached->is_told) {
        if (open && client_next(&reach->client, &message, SLICE)) {
            status = message_take(attached, &message);
        } else if (!open || reach->client.link->state != LINK_OPEN) {
            status = come_back(attached);
            open = status < 0 && watch_begin(attached->attach);
        }
        if (status < 0) status = signals_take(attached);
        progress_draw(&attached->progress, os_now());
    }
    return status;
}

int attach_run(struct attach *attach)
{
    struct attached attached = {.attach = attach, .leave_at = INT64_MAX};
    attached.options = (struct run_options){.path = attach->path, .json = attach->json};
    attached.signals = os_signals_open();
    run_open(&attached.run, attach->file, attach->folder);
    attached.run.job.number = attach->job;
    run_sign(&attached.run, stamp_none);  // for the order of its tasks
    progress_open(&attached.progress, &attached.options, &attached.run, NULL);
    attached.progress.server = attach->reach->server;
    attached.progress.log = log_show;
    attached.progress.log_context = &attached;
    int status = watch(&attached);
    progress_clear(&attached.progress);
    if (status < 0) {
        status = attached.is_fine ? 0 : 1;
        summary_print(&attached.progress, os_now(), status);
    }
    progress_release(&attached.progress);
    run_release(&attached.run);
    if (attached.signals >= 0) close(attached.signals);
    return status;
}
