// fetch.c - `rota fetch`: a task for whoever can run it.
#include "cli/handler.h"

#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota fetch [OPTION...] [JOB | JOB.TASK] [-- COMMAND...]\n\n"
      "    eval \"$(rota fetch)\"            a task that handlers may run, as variables of the "
      "shell\n"
      "    rota fetch --wait --json 7      one of job 7, as soon as there is one\n"
      "    rota fetch --wait -- ./work     runs ./work for it, keeps the lease meanwhile, and\n"
      "                                    delivers it, or fails it when ./work fails\n\n"
      "    --wait            until there is one\n"
      "    --timeout SECONDS wait, but no longer than this\n"
      "    --lease SECONDS   others may have it when it is not renewed for so long\n"
      "    --failed-ok       JOB.TASK may have failed or been aborted: it is tried again\n"
      "    --fetched-ok      JOB.TASK may have been fetched already: nothing happens then\n"
      "    --json            one object on a line\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a worker's or admin's key, for HOST:PORT ($ROTA_KEY)\n\n"
      "COMMAND has the variables in its environment and the object on its standard input.\n"
      "Exit status: 0 fetched, or delivered, 1 nothing is there, 2 an option is wrong or there is\n"
      "no such task, 3 refused, or the task was lost meanwhile, 4 the server cannot be reached,\n"
      "5 COMMAND failed, and so the task has.\n";

struct fetcher {
    struct reach reach;
    struct client_wish wish;
    bool json;
    char **command;  // null: none
};

// How many words it is; 0: it is none.
static int option_take(struct fetcher *fetcher, int count, char **words)
{
    static const struct { const char *word; uint32_t flag; } flags[]
        = {{"--failed-ok", ROTA_FAILED_OK}, {"--fetched-ok", ROTA_FETCHED_OK}};
    const char *word = words[0];
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].word) == 0) return (fetcher->wish.flags |= flags[i].flag), 1;
    if (strcmp(word, "--json") == 0) return (fetcher->json = true), 1;
    if (strcmp(word, "--wait") == 0) return (fetcher->wish.wait = ROTA_NEVER), 1;
    if (strcmp(word, "--timeout") == 0 && count > 1)
        return seconds_read(words[1], &fetcher->wish.wait) ? 2 : 0;
    if (strcmp(word, "--lease") == 0 && count > 1)
        return seconds_read(words[1], &fetcher->wish.lease) ? 2 : 0;
    return !fetcher->wish.task.job && task_name_read(word, &fetcher->wish.task);
}

// -1: go on; else the exit status.
static int words_read(struct fetcher *fetcher, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken) {
        if (strcmp(words[i], "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(words[i], "--") == 0 && i + 1 < count) {
            fetcher->command = words + i + 1;
            break;
        }
        taken = reach_take(&fetcher->reach, count - i, words + i);
        if (!taken) taken = option_take(fetcher, count - i, words + i);
        if (taken > 0) continue;
        fprintf(stderr, "rota fetch: '%s' is not understood here\n%s", words[i], usage);
        return HANDLER_WRONG;
    }
    if (!fetcher->wish.flags || fetcher->wish.task.task) return -1;
    return reach_fail(&fetcher->reach, "--failed-ok and --fetched-ok are about one task: which?",
                      HANDLER_WRONG);
}

static int fetch(struct fetcher *fetcher)
{
    struct client_grant grant;
    struct client *client = &fetcher->reach.client;
    int status = 0;
    bool got = client_fetch(client, &fetcher->wish, &grant);
    while (!got && !client->code && fetcher->wish.wait && reach_again(&fetcher->reach))
        got = client_fetch(client, &fetcher->wish, &grant);
    if (!got)
        status = handler_failed(&fetcher->reach);
    else if (!grant.token)
        fprintf(stderr, "rota fetch: it was fetched already\n");
    else if (fetcher->command)
        status = grant_run(&fetcher->reach, &grant, fetcher->command);
    else if (fetcher->json)
        grant_print_json(stdout, &grant);
    else
        grant_print_shell(stdout, &grant);
    client_grant_release(&grant);
    return status;
}

int command_fetch(int count, char **words)
{
    struct fetcher fetcher = {.command = NULL};
    reach_init(&fetcher.reach, "fetch");
    fetcher.reach.role = WIRE_HANDLER;
    client_request_id(&fetcher.wish.high, &fetcher.wish.low);
    int status = words_read(&fetcher, count, words);
    if (status >= 0) return status;
    status = reach_open(&fetcher.reach);
    if (!status) status = fetch(&fetcher);
    reach_close(&fetcher.reach);
    return status;
}
