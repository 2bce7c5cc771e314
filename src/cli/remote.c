// remote.c - commands that a server answers: `--server ADDRESS` behind any of them.
#include "cli/cli.h"
#include "client/client.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, UNREACHABLE = 4, LOG_PAUSE = 200000 };

struct remote {
    const char *name, *server, *key;
    char *words[WORDS_MAX];
    uint32_t count;
    struct link_keys keys;
    struct client client;
};

// Takes --server and --key out of the words. False: a value is missing, or there are too many.
static bool words_read(struct remote *remote, int count, char **words)
{
    for (int i = 0; i < count; i++) {
        bool server = strcmp(words[i], "--server") == 0, key = strcmp(words[i], "--key") == 0;
        if ((server || key) && i + 1 == count) return false;
        if (server)
            remote->server = words[++i];
        else if (key)
            remote->key = words[++i];
        else if (remote->count == WORDS_MAX)
            return false;
        else
            remote->words[remote->count++] = words[i];
    }
    return true;
}

static int fail(const struct remote *remote, const char *reason, int status)
{
    fprintf(stderr, "rota %s: %s\n", remote->name, reason);
    return status;
}

static int remote_open(struct remote *remote, const char *name, int count, char **words)
{
    struct link_error error;
    *remote = (struct remote){.name = name, .key = getenv("ROTA_KEY")};
    if (!words_read(remote, count, words)) return fail(remote, "'--server' needs an address", 2);
    if (remote->key && !link_keys_read(&remote->keys, remote->key, &error))
        return fail(remote, error.text, 2);
    if (client_open(&remote->client, remote->server, remote->keys.items, WIRE_CLIENT, name))
        return 0;
    return fail(remote, remote->client.error, UNREACHABLE);
}

static void remote_close(struct remote *remote)
{
    client_close(&remote->client);
    link_keys_release(&remote->keys);
}

// ---- Questions ---------------------------------------------------------------------------------

static int ask(struct remote *remote)
{
    struct wire_message message = {.kind = WIRE_ASK_MESSAGE};
    wire_text texts[WORDS_MAX + 1] = {wire_text_of(remote->name)};
    for (uint32_t i = 0; i < remote->count; i++) texts[i + 1] = wire_text_of(remote->words[i]);
    message.ask.request = 1;
    message.ask.words = (wire_texts){texts, remote->count + 1};
    wire_put(&remote->client.link->out, &message);
    if (!client_send(&remote->client)) return fail(remote, remote->client.error, UNREACHABLE);
    while (client_next(&remote->client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return fail(remote, message.refuse.reason.bytes, 2);
        if (message.kind == WIRE_ANSWER_MESSAGE)
            fwrite(message.answer.bytes.bytes, 1, message.answer.bytes.length, stdout);
        if (message.kind == WIRE_ANSWERED_MESSAGE) return (int)message.answered.status;
    }
    return fail(remote, remote->client.error, UNREACHABLE);
}

int remote_ask(const char *name, int count, char **words)
{
    struct remote remote;
    int status = remote_open(&remote, name, count, words);
    if (!status) status = ask(&remote);
    remote_close(&remote);
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
    wire_put(&remote->client.link->out, &message);
    return client_send(&remote->client);
}

// Piece by piece; what is not whole is asked for again, after a while when nothing was new.
static int log_print_all(struct remote *remote, struct log_wish *wish)
{
    struct wire_message message;
    struct plain_log log = {.cut_length = 0};
    uint64_t offset = 0;
    while (log_ask(remote, wish, offset) && client_next(&remote->client, &message, 0)) {
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return fail(remote, message.refuse.reason.bytes, 2);
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
    return fail(remote, remote->client.error, UNREACHABLE);
}

int remote_logs(const char *name, int count, char **words)
{
    struct remote remote;
    struct log_wish wish = {.attempt = 0};
    int status = remote_open(&remote, name, count, words);
    if (!status && !wish_read(&wish, &remote))
        status = fail(&remote, "usage: rota logs --server ADDRESS [-f] [--attempt N] JOB.TASK", 2);
    if (!status) status = log_print_all(&remote, &wish);
    remote_close(&remote);
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
    message.change.verb = verb_of(remote->name);
    if (!task_read(word, &message.change.task))
        return fail(remote, "a task of a server is named by its numbers, such as 7.3", 2);
    wire_put(&remote->client.link->out, &message);
    if (!client_send(&remote->client)) return fail(remote, remote->client.error, UNREACHABLE);
    while (client_next(&remote->client, &message, 0)) {
        if (message.kind == WIRE_DONE_MESSAGE) return printf("%s: done\n", word), 0;
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return fail(remote, message.refuse.reason.bytes, 2);
    }
    return fail(remote, remote->client.error, UNREACHABLE);
}

int remote_change(const char *name, int count, char **words)
{
    struct remote remote;
    int status = remote_open(&remote, name, count, words);
    if (!status && !remote.count) status = fail(&remote, "which task?", 2);
    for (uint32_t i = 0; i < remote.count && !status; i++)
        status = change(&remote, remote.words[i]);
    remote_close(&remote);
    return status;
}
