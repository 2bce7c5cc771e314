// watch.c - `rota wait` and `rota events`: a server tells what ends.
#include "cli/cli.h"
#include "client/client.h"

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

enum { UNREACHABLE = 4 };

struct watcher {
    const char *name, *server, *key;
    uint32_t job;  // 0: all
    bool json, waits;
    char default_address[PLACE_MAX];
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
    watcher->server = default_address(watcher->default_address);
    watcher->key = getenv("ROTA_KEY");
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--json") == 0)
            watcher->json = true;
        else if (strcmp(word, "--server") == 0 && i + 1 < count)
            watcher->server = words[++i];
        else if (strcmp(word, "--key") == 0 && i + 1 < count)
            watcher->key = words[++i];
        else if (!watcher->waits || watcher->job || !job_read(word, &watcher->job)) {
            fprintf(stderr, "rota %s: '%s' is not understood here\n%s", watcher->name, word, usage);
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

static int watch(struct client *client, const struct watcher *watcher)
{
    struct wire_message message = {.kind = WIRE_WATCH_MESSAGE};
    message.watch.job = watcher->job;
    wire_put(&client->link->out, &message);
    while (client_send(client) && client_next(client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE) {
            client_fail(client, message.refuse.reason.bytes);
            return 2;
        }
        if (message.kind == WIRE_ENDED_MESSAGE && !watcher->waits)
            ended_print(watcher, &message.ended);
        if (message.kind == WIRE_OVER_MESSAGE) over_print(watcher, &message.over);
        fflush(stdout);
        bool over = message.kind == WIRE_OVER_MESSAGE && watcher->waits;
        if (over)
            return message.over.succeeded == message.over.tasks || !message.over.tasks ? 0 : 1;
    }
    return UNREACHABLE;
}

static int watcher_run(const struct watcher *watcher)
{
    struct client client = {0};
    struct link_keys keys = {0};
    struct link_error error;
    if (watcher->key && !link_keys_read(&keys, watcher->key, &error)) {
        fprintf(stderr, "rota %s: %s\n", watcher->name, error.text);
        return 2;
    }
    bool open = client_open(&client, watcher->server, keys.items, WIRE_CLIENT, watcher->name);
    int status = open ? watch(&client, watcher) : UNREACHABLE;
    if (status > 1) fprintf(stderr, "rota %s: %s\n", watcher->name, client.error);
    client_close(&client);
    link_keys_release(&keys);
    return status;
}

int command_wait(int count, char **words)
{
    struct watcher watcher = {.name = "wait", .waits = true};
    int status = words_read(&watcher, count, words, wait_usage);
    return status >= 0 ? status : watcher_run(&watcher);
}

int command_events(int count, char **words)
{
    struct watcher watcher = {.name = "events"};
    int status = words_read(&watcher, count, words, events_usage);
    return status >= 0 ? status : watcher_run(&watcher);
}
