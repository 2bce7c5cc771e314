// remote.c - commands that a server answers: `--server ADDRESS` behind any of them.
#include "cli/reach.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, LOG_PAUSE = 200000 };

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
            return fail(remote, message.refuse.reason.bytes);
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

// Piece by piece; what is not whole is asked for again, after a while when nothing was new.
static int log_print_all(struct remote *remote, struct log_wish *wish)
{
    struct wire_message message;
    struct plain_log log = {.cut_length = 0};
    uint64_t offset = 0;
    while (log_ask(remote, wish, offset) && client_next(&remote->reach.client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return fail(remote, message.refuse.reason.bytes);
        if (message.kind != WIRE_LOGGED_MESSAGE) continue;
        const struct wire_logged *piece = &message.logged;
        if (wish->raw)
            fwrite(piece->bytes.bytes, 1, piece->bytes.length, stdout);
        else
            plain_log_add(&log, piece->bytes.bytes, piece->bytes.length);
        fflush(stdout);
        offset += piece->bytes.length;
        wish->attempt = piece->attempt;
        bool more = piece->bytes.length || (wish->follow && !piece->whole);
        if (!more) return plain_log_end(&log), 0;
        if (!piece->bytes.length) os_sleep_until(os_now() + LOG_PAUSE);
    }
    return reach_lost(&remote->reach);
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
           [WIRE_RESET] = "reset",   [WIRE_FREEZE] = "freeze"};
    for (int i = 1; i < WIRE_VERBS; i++)
        if (verbs[i] && strcmp(verbs[i], name) == 0) return (enum wire_verb)i;
    return WIRE_CANCEL;
}

static int change(struct remote *remote, const char *word)
{
    struct wire_message message = {.kind = WIRE_CHANGE_MESSAGE};
    client_request_id(&message.change.high, &message.change.low);
    message.change.verb = verb_of(remote->reach.name);
    if (!task_read(word, &message.change.task))
        return fail(remote, "a task of a server is named by its numbers, such as 7.3");
    wire_put(&remote->reach.client.link->out, &message);
    if (!client_send(&remote->reach.client)) return reach_lost(&remote->reach);
    while (client_next(&remote->reach.client, &message, 0)) {
        if (message.kind == WIRE_DONE_MESSAGE) return printf("%s: done\n", word), 0;
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return fail(remote, message.refuse.reason.bytes);
    }
    return reach_lost(&remote->reach);
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
