// events.c - `rota events`: what happens on a server, from now on or from a place in the past.
#include "cli/connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota events [OPTION...]\n\n"
      "    rota events                        each change from now on, until it is interrupted\n"
      "    rota events --after 0 --once       all that is kept, and no more\n"
      "    rota events --after 812.3 --json   what came behind that event; nothing twice\n"
      "    rota events --lane db --kind FAILED,SUCCESS\n\n"
      "    --after SEQUENCE  behind this event, as it was printed; a number alone: that turn\n"
      "    --once            ends with what there is now\n"
      "    --job N           only this job; this and the next may be said several times: an event\n"
      "                      is told if each kind of them has one that it meets\n"
      "    --task TASK       only this task, by its numbers (7.3) or its name\n"
      "    --lane LANE       only tasks of this lane\n"
      "    --worker NAME     only what this worker does\n"
      "    --kind KIND,...   task, job, worker, or a state such as RUNNING or FAILED\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a key of the server, for HOST:PORT ($ROTA_KEY)\n"
      "    --json            one object a line\n\n"
      "A line is: sequence, time, what, state and more. What is no longer kept is told as a gap.\n"
      "Exit status: 0 that was all (--once), 2 an option is wrong or the server refuses, 4 the\n"
      "server cannot be reached or has ended; then the last sequence is told, to go on with.\n";

enum { TOPICS_MAX = 64, TOPIC_MAX = 300 };

struct events {
    struct reach reach;
    uint64_t sequence;
    uint32_t place, flags;
    bool json;
    char topics[TOPICS_MAX][TOPIC_MAX];
    uint32_t topic_count;
};

static int wrong(const char *what, const char *word)
{
    fprintf(stderr, "rota events: %s: '%s'\n'rota events --help' says more\n", what, word);
    return 2;
}

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

static bool number_is(const char *text, const char *letters)
{
    return *text && strspn(text, letters) == strlen(text);
}

static bool value_take(struct events *events, const char *option, const char *value)
{
    if (strcmp(option, "--after") == 0) return sequence_read(events, value);
    if (strcmp(option, "--kind") == 0) return kinds_add(events, value);
    if (strcmp(option, "--job") == 0)
        return number_is(value, "0123456789") && topic_add(events, "job", value, strlen(value));
    if (strcmp(option, "--lane") == 0) return topic_add(events, "lane", value, strlen(value));
    if (strcmp(option, "--worker") == 0) return topic_add(events, "worker", value, strlen(value));
    if (strcmp(option, "--task") != 0) return false;
    bool by_number = number_is(value, "0123456789.") && strchr(value, '.');
    return topic_add(events, by_number ? "task" : "name", value, strlen(value));
}

// -1: go on; else the exit status.
static int words_read(struct events *events, int count, char **words)
{
    events->flags = WIRE_FOLLOW_FROM_NOW;
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        int taken = reach_take(&events->reach, count - i, words + i);
        if (taken > 0) {
            i += taken - 1;
            continue;
        }
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--json") == 0) {
            events->json = true;
        } else if (strcmp(word, "--once") == 0) {
            events->flags |= WIRE_FOLLOW_ENDS;
        } else {
            if (i + 1 == count) return wrong("is not understood here, or lacks a value", word);
            if (!value_take(events, word, words[i + 1])) return wrong(word, words[i + 1]);
            i++;
        }
    }
    return -1;
}

// ---- Lines -------------------------------------------------------------------------------------

static void text_member(const char *name, const wire_text *text)
{
    if (!text->length) return;
    printf(",\"%s\":", name);
    json_text(stdout, text->bytes);
}

static void event_json(const struct wire_event *event, const char *sequence)
{
    static const char *const words[]
        = {"", "begin", "task", "job", "worker", "gap", "end"};
    printf("{\"event\":\"%s\",\"sequence\":\"%s\"", event->kind < 7 ? words[event->kind] : "",
           sequence);
    if (event->at) printf(",\"at\":%lld", (long long)event->at);
    if (event->kind == WIRE_EVENT_TASK)
        printf(",\"job\":%u,\"task\":\"%u.%u\"", event->task.job, event->task.job,
               event->task.task);
    text_member("name", &event->name);
    if (event->kind == WIRE_EVENT_JOB) printf(",\"job\":%u", event->task.job);
    text_member("state", &event->state);
    if (event->kind == WIRE_EVENT_JOB && event->task.task)
        printf(",\"first\":%u,\"tasks\":%d", event->task.task, event->status);
    if (event->kind == WIRE_EVENT_TASK && strcmp(event->state.bytes, "FAILED") == 0)
        printf(",\"exit\":%d", event->status);
    if (event->attempt > 1) printf(",\"attempt\":%u", event->attempt);
    text_member("worker", &event->worker);
    text_member("lane", &event->lane);
    puts("}");
}

static void task_line(const struct wire_event *event)
{
    printf("%u.%u %s ", event->task.job, event->task.task, event->state.bytes);
    plain_write(stdout, event->name.bytes, event->name.length);
    if (event->worker.length) {
        fputs(" on ", stdout);
        plain_write(stdout, event->worker.bytes, event->worker.length);
    }
    if (strcmp(event->state.bytes, "FAILED") == 0) printf(" exit %d", event->status);
    if (event->attempt > 1) printf(" attempt %u", event->attempt);
    puts("");
}

static void event_line(const struct wire_event *event, const char *sequence)
{
    char time[TIME_TEXT];
    if (event->kind == WIRE_EVENT_GAP) {
        printf("%s gap: what came before is no longer kept\n", sequence);
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
        if (event->task.task) printf(" %d tasks", event->status);
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

static void follow_put(struct client *client, struct events *events)
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
    struct client *client = &events->reach.client;
    struct wire_message message;
    char sequence[48] = "0";
    follow_put(client, events);
    bool open = client_send(client);
    while (open && client_next(client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&events->reach, message.refuse.reason.bytes, 2);
        if (message.kind != WIRE_EVENT_MESSAGE) continue;
        event_print(events, &message.event, sequence);
        if (message.event.kind == WIRE_EVENT_END) return 0;
        if (fflush(stdout)) return 0;  // nobody reads it any more
    }
    int status = reach_lost(&events->reach);
    fprintf(stderr, "rota events: --after %s goes on from here\n", sequence);
    return status;
}

int command_events(int count, char **words)
{
    struct events events = {0};
    reach_init(&events.reach, "events");
    int status = words_read(&events, count, words);
    if (status >= 0) return status;
    status = reach_open(&events.reach);
    if (!status) status = follow(&events);
    reach_close(&events.reach);
    return status;
}
