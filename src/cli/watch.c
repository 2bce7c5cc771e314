// watch.c - `rota wait`: a server tells when a job is over.
#include "cli/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota wait [--server ADDRESS] [--key FILE] [--json] JOB\n\n"
      "    rota wait 7             until nothing of job 7 can go on\n\n"
      "A server that goes away meanwhile is waited for, up to five minutes.\n"
      "Exit status: 0 all of it succeeded, 1 it did not, 2 there is no such job, 4 the server\n"
      "cannot be reached.\n";

struct watcher {
    struct reach reach;
    uint32_t job;
    bool json;
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
static int words_read(struct watcher *watcher, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        const char *word = words[i];
        taken = reach_take(&watcher->reach, count - i, words + i);
        if (taken > 0) continue;
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--json") == 0)
            watcher->json = true;
        else if (watcher->job || !job_read(word, &watcher->job)) {
            fprintf(stderr, "rota wait: '%s' is not understood here\n%s", word, usage);
            return 2;
        }
    }
    if (watcher->job) return -1;
    fputs(usage, stderr);
    return 2;
}

static void over_print(const struct watcher *watcher, const struct wire_over *over)
{
    printf(watcher->json
               ? "{\"event\":\"over\",\"job\":%u,\"ok\":%u,\"failed\":%u,\"aborted\":%u}\n"
               : "job %u: %u ok, %u failed, %u aborted\n",
           over->job, over->succeeded, over->failed, over->aborted);
}

// -1: the connection is gone; else the exit status.
static int watch(struct watcher *watcher)
{
    struct client *client = &watcher->reach.client;
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
    message.watch.job = watcher->job;
    wire_put(&client->link->out, &message);
    while (client_send(client) && client_next(client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&watcher->reach, message.refuse.reason.bytes, 2);
        if (message.kind != WIRE_OVER_MESSAGE) continue;
        over_print(watcher, &message.over);
        return message.over.succeeded == message.over.tasks ? 0 : 1;
    }
    return -1;
}

int command_wait(int count, char **words)
{
    struct watcher watcher = {0};
    reach_init(&watcher.reach, "wait");
    int status = words_read(&watcher, count, words);
    if (status >= 0) return status;
    status = reach_open(&watcher.reach);
    if (!status) status = watch(&watcher);
    while (status < 0)
        status = reach_again(&watcher.reach) ? watch(&watcher) : reach_lost(&watcher.reach);
    reach_close(&watcher.reach);
    return status;
}
