// handler.c - `rota deliver`, `rota fail` and `rota renew`: about a task that was fetched.
#include "cli/handler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char deliver_usage[]
    = "usage: rota deliver [OPTION...] [TASK TOKEN]\n\n"
      "    rota deliver 7.3 1700000000000001    task 3 of job 7, which was fetched, is done\n\n"
      "    --message TEXT    what is to be said about it\n"
      "    --delivered-ok    it may have been delivered already\n"
      "    --nofetch-ok      nobody has fetched it; there is no token then\n";
static const char fail_usage[]
    = "usage: rota fail [OPTION...] [TASK TOKEN]\n\n"
      "    rota fail 7.3 1700000000000001       it has failed, and what needs it is blocked\n\n"
      "    --status N        what it ended with (1)\n"
      "    --message TEXT    what is to be said about it\n"
      "    --again           it is given back: others may fetch it\n"
      "    --nofetch-ok      nobody has fetched it; there is no token then\n";
static const char renew_usage[]
    = "usage: rota renew [OPTION...] [TASK TOKEN]\n\n"
      "    rota renew 7.3 1700000000000001      its lease begins anew\n\n"
      "    --keep            again and again, until it is ended or the task is in other hands\n";
static const char common_usage[]
    = "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a worker's or admin's key, for HOST:PORT ($ROTA_KEY)\n\n"
      "Without TASK and TOKEN: $ROTA_TASK and $ROTA_TOKEN, as `rota fetch` sets them.\n"
      "Exit status: 0 done, 2 an option is wrong or there is no such task, 3 refused: the token "
      "is\n"
      "stale, or it is not the moment, 4 the server cannot be reached.\n";

// ---- What several share ------------------------------------------------------------------------

bool task_name_read(const char *text, rota_task_id *task)
{
    char rest;
    int count = sscanf(text, "%u.%u%c", &task->job, &task->task, &rest);
    if (count == 1) task->task = 0;
    bool plain = strspn(text, "0123456789.") == strlen(text);
    return plain && task->job && ((count == 1 && !strchr(text, '.')) || (count == 2 && task->task));
}

bool seconds_read(const char *text, rota_time *time)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || *end || !isfinite(value) || value < 0 || value > 1e9) return false;
    *time = (rota_time)(value * 1e6);
    return true;
}

int handler_failed(const struct reach *reach)
{
    if (!reach->client.code) return reach_lost(reach);
    switch (reach->client.code) {
    case WIRE_REFUSED_NOTHING: return HANDLER_NOTHING;
    case WIRE_REFUSED_STATE:
    case WIRE_REFUSED_STALE: return reach_fail(reach, reach->client.error, HANDLER_REFUSED);
    default: return reach_fail(reach, reach->client.error, HANDLER_WRONG);
    }
}

// ---- Their words -------------------------------------------------------------------------------

struct handler {
    struct reach reach;
    const char *usage;
    struct client_end end;
    bool keep, has_task, has_token;
};

static bool number_read(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !errno && *text >= '0' && *text <= '9' && !*end && *number <= most;
}

// How many words it is; 0: it is none of these.
static int option_take(struct handler *handler, int count, char **words)
{
    const char *word = words[0], *name = handler->reach.name;
    bool delivers = strcmp(name, "deliver") == 0, fails = strcmp(name, "fail") == 0;
    uint64_t number;
    if ((delivers || fails) && strcmp(word, "--nofetch-ok") == 0)
        return (handler->end.flags |= ROTA_NOFETCH_OK), 1;
    if (delivers && strcmp(word, "--delivered-ok") == 0)
        return (handler->end.flags |= ROTA_DELIVERED_OK), 1;
    if (fails && strcmp(word, "--again") == 0) return (handler->end.flags |= ROTA_GIVEN_BACK), 1;
    if (strcmp(name, "renew") == 0 && strcmp(word, "--keep") == 0) return (handler->keep = true), 1;
    if (count < 2) return 0;
    if ((delivers || fails) && strcmp(word, "--message") == 0)
        return (handler->end.reason = words[1]), 2;
    if (fails && strcmp(word, "--status") == 0 && number_read(words[1], INT32_MAX, &number))
        return (handler->end.status = (int32_t)number), 2;
    return 0;
}

static bool name_take(struct handler *handler, const char *word)
{
    if (!handler->has_task)
        return handler->has_task
               = task_name_read(word, &handler->end.task) && handler->end.task.task;
    if (!handler->has_token)
        return handler->has_token = number_read(word, UINT64_MAX, &handler->end.token);
    return false;
}

// -1: go on; else the exit status.
static int words_read(struct handler *handler, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken) {
        if (strcmp(words[i], "--help") == 0) {
            fputs(handler->usage, stdout);
            fputs(common_usage, stdout);
            return 0;
        }
        taken = reach_take(&handler->reach, count - i, words + i);
        if (!taken) taken = option_take(handler, count - i, words + i);
        if (!taken) taken = name_take(handler, words[i]);
        if (taken > 0) continue;
        fprintf(stderr, "rota %s: '%s' is not understood here\n%s", handler->reach.name, words[i],
                handler->usage);
        return HANDLER_WRONG;
    }
    const char *task = getenv("ROTA_TASK"), *token = getenv("ROTA_TOKEN");
    bool named = handler->has_task;
    if (!named && task) name_take(handler, task);
    if (!named && handler->has_task && token) name_take(handler, token);
    bool whole = handler->has_task && (handler->has_token || handler->end.flags & ROTA_NOFETCH_OK);
    if (whole) return -1;
    fputs(handler->usage, stderr);
    return HANDLER_WRONG;
}

static int handler_begin(struct handler *handler, const char *name, const char *usage, int count,
                         char **words)
{
    *handler = (struct handler){.usage = usage};
    reach_init(&handler->reach, name);
    handler->reach.role = WIRE_HANDLER;
    client_request_id(&handler->end.high, &handler->end.low);
    int status = words_read(handler, count, words);
    if (status >= 0) return status;
    status = reach_open(&handler->reach);
    return status ? status : -1;
}

static int handler_finish(struct handler *handler, int status)
{
    reach_close(&handler->reach);
    return status;
}

// ---- The commands ------------------------------------------------------------------------------

int command_deliver(int count, char **words)
{
    struct handler handler;
    int status = handler_begin(&handler, "deliver", deliver_usage, count, words);
    if (status < 0)
        status = client_deliver(&handler.reach.client, &handler.end)
                     ? 0
                     : handler_failed(&handler.reach);
    return handler_finish(&handler, status);
}

int command_fail(int count, char **words)
{
    struct handler handler;
    int status = handler_begin(&handler, "fail", fail_usage, count, words);
    if (status < 0)
        status = client_fail_task(&handler.reach.client, &handler.end)
                     ? 0
                     : handler_failed(&handler.reach);
    return handler_finish(&handler, status);
}

int command_renew(int count, char **words)
{
    struct handler handler;
    rota_time lease;
    int status = handler_begin(&handler, "renew", renew_usage, count, words);
    if (status < 0 && handler.keep)
        status = claim_keep(&handler.reach, handler.end.task, handler.end.token);
    else if (status < 0)
        status = client_renew(&handler.reach.client, handler.end.task, handler.end.token, &lease, 0)
                     ? 0
                     : handler_failed(&handler.reach);
    return handler_finish(&handler, status);
}
