// remote.c - commands that a server answers: `--server ADDRESS` behind any of them.
#include "cli/connect.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, LOG_PAUSE = 200000, LOG_PATIENCE = 1500 };

struct remote {
    struct reach reach;
    char *words[WORDS_MAX];
    uint32_t count;
};

// Takes --server and --key out of the words. False: a value is missing, or there are too many.
static bool words_read(struct remote *remote, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        taken = reach_take(&remote->reach, count - i, words + i);
        if (taken < 0 || (!taken && remote->count == WORDS_MAX)) return false;
        if (!taken) remote->words[remote->count++] = words[i];
    }
    return true;
}

static int fail(const struct remote *remote, const char *reason)
{
    return reach_fail(&remote->reach, reason, 2);
}

static int remote_open(struct remote *remote, const char *name, int count, char **words)
{
    *remote = (struct remote){.count = 0};
    reach_init(&remote->reach, name);
    if (!words_read(remote, count, words)) return fail(remote, "'--server' needs an address");
    return reach_open(&remote->reach);
}

// ---- Questions ---------------------------------------------------------------------------------

static int ask(struct remote *remote)
{
    struct wire_message message = {.kind = WIRE_ASK_MESSAGE};
    wire_text texts[WORDS_MAX + 1] = {wire_text_of(remote->reach.name)};
    for (uint32_t i = 0; i < remote->count; i++) texts[i + 1] = wire_text_of(remote->words[i]);
    message.ask.request = 1;
    message.ask.words = (wire_texts){texts, remote->count + 1};
    wire_put(&remote->reach.client.link->out, &message);
    if (!client_send(&remote->reach.client)) return reach_lost(&remote->reach);
    while (client_next(&remote->reach.client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&remote->reach, message.refuse.reason.bytes,
                              message.refuse.code == WIRE_REFUSED_BUSY ? REACH_FAILED : 2);
        if (message.kind == WIRE_ANSWER_MESSAGE)
            fwrite(message.answer.bytes.bytes, 1, message.answer.bytes.length, stdout);
        if (message.kind == WIRE_ANSWERED_MESSAGE) return (int)message.answered.status;
    }
    return reach_lost(&remote->reach);
}

int remote_ask(const char *name, int count, char **words)
{
    struct remote remote;
    int status = remote_open(&remote, name, count, words);
    if (!status) status = ask(&remote);
    reach_close(&remote.reach);
    return status;
}

// ---- Logs --------------------------------------------------------------------------------------

struct log_wish {
    rota_task_id task;
    uint32_t attempt;
    bool follow, raw;
    bool is_told;  // whose it is, if it is not its own
};

// "7.3", or "7" for a whole job.
static bool task_read(const char *text, rota_task_id *task)
{
    char rest;
    int count = sscanf(text, "%u.%u%c", &task->job, &task->task, &rest);
    if (count == 1) task->task = 0;
    return (count == 1 && !strchr(text, '.')) || count == 2;
}

static bool wish_read(struct log_wish *wish, struct remote *remote)
{
    for (uint32_t i = 0; i < remote->count; i++) {
        const char *word = remote->words[i];
        if (strcmp(word, "-f") == 0 || strcmp(word, "--follow") == 0)
            wish->follow = true;
        else if (strcmp(word, "--raw") == 0)
            wish->raw = true;
        else if (strcmp(word, "--attempt") == 0 && i + 1 < remote->count)
            wish->attempt = (uint32_t)strtoul(remote->words[++i], NULL, 10);
        else if (!task_read(word, &wish->task) || !wish->task.task)
            return false;
    }
    return wish->task.job != 0;
}

static bool log_ask(struct remote *remote, const struct log_wish *wish, uint64_t offset)
{
    struct wire_message message = {.kind = WIRE_LOG_MESSAGE};
    message.log.request = 1;
    message.log.task = wish->task;
    message.log.attempt = wish->attempt;
    message.log.offset = offset;
    wire_put(&remote->reach.client.link->out, &message);
    return client_send(&remote->reach.client);
}

// Whether to ask again: the server may come back, and the worker that has the log.
static bool log_goes_on(struct remote *remote, const struct log_wish *wish, int *patience)
{
    struct client *client = &remote->reach.client;
    if (!wish->follow || !*patience) return false;
    if (client->link->state == LINK_CLOSED) return reach_again(&remote->reach);
    --*patience;
    os_sleep_until(os_now() + LOG_PAUSE);
    return client->code == WIRE_REFUSED_STATE;
}

static void log_print(struct plain_log *log, const struct log_wish *wish, wire_text bytes)
{
    if (wish->raw)
        fwrite(bytes.bytes, 1, bytes.length, stdout);
    else
        plain_log_add(log, bytes.bytes, bytes.length);
    fflush(stdout);
}

// The next piece. False: there is none, and the client says why.
static bool log_next(struct remote *remote, const struct log_wish *wish, uint64_t offset,
                     struct wire_message *message)
{
    struct client *client = &remote->reach.client;
    client->code = 0;
    if (!log_ask(remote, wish, offset)) return false;
    while (client_next(client, message, 0)) {
        if (message->kind == WIRE_LOGGED_MESSAGE) return true;
        if (message->kind != WIRE_REFUSE_MESSAGE) continue;
        client->code = (enum wire_code)message->refuse.code;
        return client_fail(client, message->refuse.reason.bytes);
    }
    return false;
}

static void maker_say(struct log_wish *wish, const struct wire_logged *piece)
{
    bool is_its = piece->task.job == wish->task.job && piece->task.task == wish->task.task;
    if (is_its || wish->is_told) return;
    fflush(stdout);
    fprintf(stderr, "rota logs: %u.%u shares the execution of %u.%u: this is its log\n",
            wish->task.job, wish->task.task, piece->task.job, piece->task.task);
    wish->is_told = true;
}

// Piece by piece; what is not whole is asked for again, after a while when nothing was new.
static int log_print_all(struct remote *remote, struct log_wish *wish)
{
    struct wire_message message;
    struct plain_log log = {.cut_length = 0};
    uint64_t offset = 0;
    int patience = LOG_PATIENCE;
    for (;;) {
        if (!log_next(remote, wish, offset, &message)) {
            if (log_goes_on(remote, wish, &patience)) continue;
            const struct client *client = &remote->reach.client;
            return client->code ? fail(remote, client->error) : reach_lost(&remote->reach);
        }
        const struct wire_logged *piece = &message.logged;
        if (!offset) maker_say(wish, piece);
        log_print(&log, wish, piece->bytes);
        patience = LOG_PATIENCE;
        offset += piece->bytes.length;
        wish->attempt = piece->attempt;
        bool more = piece->bytes.length || (wish->follow && !piece->whole);
        if (!more) return plain_log_end(&log), 0;
        if (!piece->bytes.length) os_sleep_until(os_now() + LOG_PAUSE);
    }
}

int remote_logs(const char *name, int count, char **words)
{
    struct remote remote;
    struct log_wish wish = {.attempt = 0};
    int status = remote_open(&remote, name, count, words);
    if (!status && !wish_read(&wish, &remote))
        status = fail(&remote, "usage: rota logs --server ADDRESS [-f] [--attempt N] JOB.TASK");
    if (!status) status = log_print_all(&remote, &wish);
    reach_close(&remote.reach);
    return status;
}

// ---- Changes -----------------------------------------------------------------------------------

static enum wire_verb verb_of(const char *name)
{
    static const char *const verbs[WIRE_VERBS]
        = {[WIRE_CANCEL] = "cancel", [WIRE_RETRY] = "retry",  [WIRE_STAGE] = "stage",
           [WIRE_START] = "start",   [WIRE_GREEN] = "green",  [WIRE_RED] = "red",
           [WIRE_RESET] = "reset",   [WIRE_FREEZE] = "freeze", [WIRE_CLOSE] = "close"};
    for (int i = 1; i < WIRE_VERBS; i++)
        if (verbs[i] && strcmp(verbs[i], name) == 0) return (enum wire_verb)i;
    return WIRE_CANCEL;
}

// 0: done. -1: the connection is gone. Else the exit status.
static int change_ask(struct remote *remote, const struct wire_message *change)
{
    struct client *client = &remote->reach.client;
    struct wire_message message;
    wire_put(&client->link->out, change);
    while (client_send(client) && client_next(client, &message, 0)) {
        if (message.kind == WIRE_DONE_MESSAGE) return 0;
        if (message.kind == WIRE_REFUSE_MESSAGE) return fail(remote, message.refuse.reason.bytes);
    }
    return -1;
}

static int change(struct remote *remote, const char *word)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    client_request_id(&message.change.high, &message.change.low);
    message.change.verb = verb_of(remote->reach.name);
    if (!task_read(word, &message.change.task))
        return fail(remote, "a task of a server is named by its numbers, such as 7.3");
    int status = change_ask(remote, &message);
    while (status < 0) {  // the same request twice is carried out once
        bool there = reach_again(&remote->reach);
        status = there ? change_ask(remote, &message) : reach_lost(&remote->reach);
    }
    if (!status) printf("%s: done\n", word);
    return status;
}

int remote_change(const char *name, int count, char **words)
{
    struct remote remote;
    int status = remote_open(&remote, name, count, words);
    if (!status && !remote.count) status = fail(&remote, "which task?");
    for (uint32_t i = 0; i < remote.count && !status; i++)
        status = change(&remote, remote.words[i]);
    reach_close(&remote.reach);
    return status;
}

int command_close(int count, char **words)
{
    static const char usage[]
        = "usage: rota close [--server ADDRESS] [--key FILE] JOB...\n\n"
          "    rota close 7            the server forgets job 7, and what it made\n\n"
          "What of it has not ended is stopped. Its history stays, and how it ended.\n"
          "Exit status: 0 done, 2 there is no such job, 4 the server cannot be reached.\n";
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], "--help") == 0) return fputs(usage, stdout), 0;
    return remote_change("close", count, words);
}
