// watch.c - `rota wait` and `rota events`: a server tells what ends.
#include "cli/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char wait_usage[] = "usage: rota wait [--server ADDRESS] [--key FILE] [--json] JOB\n\n"
                                 "    rota wait 7             until nothing of job 7 can go on\n\n"
                                 "Exit status: 0 all of it succeeded, 1 it did not, 2 there is no "
                                 "such job or it went well long\n"
                                 "ago and is forgotten, 4 the server cannot be reached.\n";
static const char events_usage[]
    = "usage: rota events [--server ADDRESS] [--key FILE] [--json]\n\n"
      "    rota events             a line for each task that ends from now on, and each job\n\n"
      "Goes on until it is interrupted or the server ends.\n";

struct watcher {
    struct reach reach;
    uint32_t job;  // 0: all
    bool json, waits;
};

static bool job_read(const char *text, uint32_t *job)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || *text < '1' || *text > '9' || value > UINT32_MAX - 1) return false;
    *job = (uint32_t)value;
    return true;
}

// -1: go on; else the exit status.
static int words_read(struct watcher *watcher, int count, char **words, const char *usage)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        const char *word = words[i];
        taken = reach_take(&watcher->reach, count - i, words + i);
        if (taken > 0) continue;
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--json") == 0)
            watcher->json = true;
        else if (!watcher->waits || watcher->job || !job_read(word, &watcher->job)) {
            fprintf(stderr, "rota %s: '%s' is not understood here\n%s", watcher->reach.name, word,
                    usage);
            return 2;
        }
    }
    if (!watcher->waits || watcher->job) return -1;
    fputs(usage, stderr);
    return 2;
}

static void ended_print(const struct watcher *watcher, const struct wire_ended *ended)
{
    static const char *const words[] = {"none", "ok", "failed", "failed", "aborted", "lost"};
    const char *word = ended->outcome < 6 ? words[ended->outcome] : "none";
    if (watcher->json)
        printf("{\"event\":\"ended\",\"task\":\"%u.%u\",\"how\":\"%s\",\"status\":%d}\n",
               ended->task.job, ended->task.task, word, ended->status);
    else
        printf("%u.%u %s %d\n", ended->task.job, ended->task.task, word, ended->status);
}

static void over_print(const struct watcher *watcher, const struct wire_over *over)
{
    printf(watcher->json
               ? "{\"event\":\"over\",\"job\":%u,\"ok\":%u,\"failed\":%u,\"aborted\":%u}\n"
               : "job %u: %u ok, %u failed, %u aborted\n",
           over->job, over->succeeded, over->failed, over->aborted);
}

static int watch(struct watcher *watcher)
{
    struct client *client = &watcher->reach.client;
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
    message.watch.job = watcher->job;
    wire_put(&client->link->out, &message);
    while (client_send(client) && client_next(client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&watcher->reach, message.refuse.reason.bytes, 2);
        if (message.kind == WIRE_ENDED_MESSAGE && !watcher->waits)
            ended_print(watcher, &message.ended);
        if (message.kind == WIRE_OVER_MESSAGE) over_print(watcher, &message.over);
        fflush(stdout);
        bool over = message.kind == WIRE_OVER_MESSAGE && watcher->waits;
        if (over)
            return message.over.succeeded == message.over.tasks || !message.over.tasks ? 0 : 1;
    }
    return reach_lost(&watcher->reach);
}

static int watcher_run(const char *name, bool waits, int count, char **words, const char *usage)
{
    struct watcher watcher = {.waits = waits};
    reach_init(&watcher.reach, name);
    int status = words_read(&watcher, count, words, usage);
    if (status >= 0) return status;
    status = reach_open(&watcher.reach);
    if (!status) status = watch(&watcher);
    reach_close(&watcher.reach);
    return status;
}

int command_wait(int count, char **words)
{
    return watcher_run("wait", true, count, words, wait_usage);
}

int command_events(int count, char **words)
{
    return watcher_run("events", false, count, words, events_usage);
}
