// events.c - `rota events`: prints the events of a server, from now on or from an earlier one.
#include "cli/connect.h"
#include "cli/show/time_text.h"
#include "cli/show/end_text.h"
#include "os/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOPICS_MAX = 64, TOPIC_MAX = 300 };

struct events {
    struct connection connection;
    uint64_t sequence;
    uint32_t place, flags;
    bool json;
    char topics[TOPICS_MAX][TOPIC_MAX];
    uint32_t topic_count;
};

// ---- Options -----------------------------------------------------------------------------------

// "812.3", or "812" for all of that turn.
static bool sequence_read(struct events *events, const char *text)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9') return false;
    events->sequence = strtoull(text, &end, 10);
    events->place = UINT32_MAX;
    events->flags &= ~(uint32_t)WIRE_FOLLOW_FROM_NOW;
    if (errno || !*end) return !errno;
    if (*end != '.' || end[1] < '0' || end[1] > '9') return false;
    unsigned long long place = strtoull(end + 1, &end, 10);
    events->place = (uint32_t)place;
    return !errno && !*end && place < UINT32_MAX;
}

static bool topic_add(struct events *events, const char *key, const char *value, size_t length)
{
    if (events->topic_count == TOPICS_MAX || !length) return false;
    int size = snprintf(events->topics[events->topic_count++], TOPIC_MAX, "%s=%.*s", key,
                        (int)length, value);
    return size < TOPIC_MAX;
}

static bool kinds_add(struct events *events, const char *value)
{
    for (;;) {
        size_t length = strcspn(value, ",");
        if (!topic_add(events, "kind", value, length)) return false;
        if (!value[length]) return true;
        value += length + 1;
    }
}

enum {
    EVENTS_AFTER,
    EVENTS_ONCE,
    EVENTS_JOB,
    EVENTS_TASK,
    EVENTS_LANE,
    EVENTS_WORKER,
    EVENTS_KIND
};

static bool value_take(void *values, uint32_t number, const char *value)
{
    struct events *events = values;
    size_t length = value ? strlen(value) : 0;
    rota_task_id id;
    switch (number) {
    case EVENTS_AFTER: return sequence_read(events, value);
    case EVENTS_ONCE: return events->flags |= WIRE_FOLLOW_ENDS;
    case EVENTS_KIND: return kinds_add(events, value);
    case EVENTS_LANE: return topic_add(events, "lane", value, length);
    case EVENTS_WORKER: return topic_add(events, "worker", value, length);
    case EVENTS_JOB:
        return word_is_id(ID_JOB, value, &id) && topic_add(events, "job", value, length);
    default: break;
    }
    const char *key = word_is_id(ID_TASK, value, &id) ? "task" : "name";
    return topic_add(events, key, value, length);
}

// ---- Lines -------------------------------------------------------------------------------------

static void text_member(struct json *json, const char *name, const wire_text *text)
{
    if (text->length) json_string(json, name, text->bytes);
}

static void event_json(const struct wire_event *event, const char *sequence)
{
    static const char *const words[]
        = {"", "begin", "task", "job", "worker", "gap", "end"};
    bool is_task = event->kind == WIRE_EVENT_TASK, is_job = event->kind == WIRE_EVENT_JOB;
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "event", event->kind < 7 ? words[event->kind] : "");
    json_string(&json, "sequence", sequence);
    if (event->at) json_time(&json, "at", event->at);
    if (is_task) json_number(&json, "job", "%u", event->task.job);
    if (is_task) json_plain(&json, "task", "%u.%u", event->task.job, event->task.task);
    text_member(&json, "name", &event->name);
    if (is_job) json_number(&json, "job", "%u", event->task.job);
    text_member(&json, "state", &event->state);
    if (is_job && event->task.task) {
        json_number(&json, "first", "%u", event->task.task);
        json_number(&json, "tasks", "%d", event->status);
    }
    if (is_task && strcmp(event->state.bytes, "FAILED") == 0) {
        char text[END_TEXT];
        json_number(&json, "exit", "%d", event->status);
        json_string(&json, "end", end_text(ROTA_OUTCOME_EXIT, event->status, "", text));
    }
    if (event->attempt > 1) json_number(&json, "attempt", "%u", event->attempt);
    text_member(&json, "worker", &event->worker);
    text_member(&json, "lane", &event->lane);
    json_line(&json);
}

static void task_line(const struct wire_event *event)
{
    printf("%u.%u %s ", event->task.job, event->task.task, event->state.bytes);
    plain_write(stdout, event->name.bytes, event->name.length);
    if (event->worker.length) {
        fputs(" on ", stdout);
        plain_write(stdout, event->worker.bytes, event->worker.length);
    }
    if (strcmp(event->state.bytes, "FAILED") == 0) {
        char text[END_TEXT];
        printf(" %s", end_text(ROTA_OUTCOME_EXIT, event->status, "", text));
    }
    if (event->attempt > 1) printf(" attempt %u", event->attempt);
    puts("");
}

static void event_line(const struct wire_event *event, const char *sequence)
{
    char time[TIME_TEXT];
    if (event->kind == WIRE_EVENT_GAP) {
        printf("%s gap: earlier events were deleted\n", sequence);
        return;
    }
    if (event->kind < WIRE_EVENT_TASK || event->kind > WIRE_EVENT_WORKER) return;
    printf("%s %s ", sequence, time_write(event->at, time));
    if (event->kind == WIRE_EVENT_TASK) {
        task_line(event);
    } else if (event->kind == WIRE_EVENT_WORKER) {
        fputs("worker ", stdout);
        plain_write(stdout, event->worker.bytes, event->worker.length);
        printf(" %s\n", event->state.bytes);
    } else {
        printf("job %u %s", event->task.job, event->state.bytes);
        if (event->task.task) printf(" %d task%s", event->status, event->status == 1 ? "" : "s");
        puts("");
    }
}

static void event_print(const struct events *events, const struct wire_event *event,
                        char sequence[48])
{
    if (event->place == UINT32_MAX)
        snprintf(sequence, 48, "%llu", (unsigned long long)event->sequence);
    else
        snprintf(sequence, 48, "%llu.%u", (unsigned long long)event->sequence, event->place);
    if (events->json)
        event_json(event, sequence);
    else
        event_line(event, sequence);
}

// ---- The command -------------------------------------------------------------------------------

static void follow_put(struct rota_client *client, struct events *events)
{
    struct wire_message message = {.kind = WIRE_FOLLOW_MESSAGE};
    wire_text topics[TOPICS_MAX];
    for (uint32_t i = 0; i < events->topic_count; i++) topics[i] = wire_text_of(events->topics[i]);
    message.follow.sequence = events->sequence;
    message.follow.place = events->place;
    message.follow.flags = events->flags;
    message.follow.topics = (wire_texts){topics, events->topic_count};
    wire_put(&client->link->out, &message);
}

static int follow(struct events *events)
{
    struct rota_client *client = &events->connection.client;
    struct wire_message message;
    char sequence[48] = "0";
    follow_put(client, events);
    enum rota_client_code code = client_send(client, ROTA_NEVER);
    while (!code && !client_next(client, &message, ROTA_NEVER)) {
        if (client_refusal(client, (struct request_id){0}, &message))
            return connect_fail(&events->connection, client->reason, 2);
        if (message.kind != WIRE_EVENT_MESSAGE) continue;
        event_print(events, &message.event, sequence);
        if (message.event.kind == WIRE_EVENT_END) return 0;
        if (fflush(stdout)) return 0;  // the reader has closed the pipe
    }
    int status = connect_lost(&events->connection);
    fprintf(stderr, "rota events: use --after %s to resume\n", sequence);
    return status;
}

static int events_run(const struct command *command, int count, char **words)
{
    struct events events = {.flags = WIRE_FOLLOW_FROM_NOW};
    struct arguments arguments;
    connect_init(&events.connection, "events");
    int status = options_read(command, &events, value_take, &arguments, count, words);
    if (status >= 0) return status;
    status = connect_open(&events.connection);
    if (!status) status = follow(&events);
    connect_close(&events.connection);
    return status;
}

static const struct option_row rows[] = {
    {0, "after", "SEQUENCE", "start after this event, or after this turn if SEQUENCE has no dot",
     OPTION_OTHER, .at = EVENTS_AFTER, .preset = "now", .needs = "a sequence such as 812 or 812.3"},
    {0, "once", "", "end after the last event that has happened", OPTION_OTHER, .at = EVENTS_ONCE},
    {0, "job", "N", "only events of this job", OPTION_OTHER, .at = EVENTS_JOB,
     .needs = "a job such as 7"},
    {0, "task", "TASK", "only events of this task: its number, such as 7.3, or its name",
     OPTION_OTHER, .at = EVENTS_TASK, .needs = "a task of at most 290 letters"},
    {0, "lane", "LANE", "only events of tasks in this lane", OPTION_OTHER, .at = EVENTS_LANE,
     .needs = "a lane of at most 290 letters"},
    {0, "worker", "NAME", "only events of this worker", OPTION_OTHER, .at = EVENTS_WORKER,
     .needs = "a worker of at most 290 letters"},
    {0, "kind", "KIND,...", "only events of these kinds: task, job, worker, or states such as "
     "RUNNING or FAILED", OPTION_OTHER, .at = EVENTS_KIND, .needs = "kinds with commas between"},
    JSON_LINES_ROW(struct events),
    CONNECT_ROWS(struct events),
    OPTION_ROWS_END};

const struct command events_command = {
    .name = "events",
    .summary = "print the events of a server as they happen",
    .group = GROUP_CLUSTER,
    .run = events_run,
    .options = rows,
    .usage = "[OPTION...]\n",
    .text
    = "A line has the sequence, the time, the subject, its state and more. --job, --task, "
      "--lane, --worker and --kind can be given several times, 64 in all; an event is printed "
      "if it matches one of each sort that is given. If rows of the journal were "
      "deleted, a gap is reported.\n"
      "If the connection breaks, the last sequence is printed, to resume with --after.\n",
    .examples = "rota events\tprint every change from now on\n"
                "rota events --after 0 --once\tprint all past events\n"
                "rota events --after 812.3 --json\tresume after that event\n"
                "rota events --lane db --kind FAILED,SUCCESS\tprint how tasks of a lane end\n",
    .exits = "0\tdone (--once)\n2\tan option is wrong, or the server refuses\n"
             "4\tthe server cannot be reached, or the connection broke\n",
};
