// handler.c - tasks that are run by hand: fetched, kept, ended.
#include "client/internal.h"

#include <stdlib.h>
#include <string.h>

// ---- Fetching -----------------------------------------------------------------------------

// The frame that a grant's texts lie in, and the lists that point into it.
struct grant_memory {
    struct wire_in body;
    const char *words[];  // of argv and of env, each with a null behind it
};

static const char **words_write(const char **at, const wire_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) *at++ = texts->items[i].bytes;
    *at++ = NULL;
    return at;
}

// What a worker would be told; anything but a RUN is bad.
static enum wire_result frame_read(struct wire_in *in, const wire_text *body,
                                   struct wire_message *message)
{
    char *room = wire_in_room(in, body->length);
    if (!room) return WIRE_NO_MEMORY;
    memcpy(room, body->bytes, body->length);
    wire_in_came(in, body->length);
    enum wire_result result = wire_take(in, message);
    if (result == WIRE_GOT && message->kind != WIRE_RUN_MESSAGE) return WIRE_BAD;
    return result;
}

static enum rota_client_code body_read(struct rota_client *client, const wire_text *body,
                                       struct rota_client_grant *grant)
{
    struct wire_in in = {0};
    struct wire_message message = {.run = {.argv = {NULL, 0}}};
    enum wire_result result = body->length ? frame_read(&in, body, &message) : WIRE_GOT;
    if (result != WIRE_GOT && result != WIRE_NO_MEMORY) {
        wire_in_release(&in);
        return client_say(client, ROTA_CLIENT_GONE, "the server sent a task that is none");
    }
    size_t count = (size_t)message.run.argv.count + message.run.env.count + 2;
    struct grant_memory *memory = NULL;
    if (result == WIRE_GOT) memory = calloc(1, sizeof *memory + count * sizeof *memory->words);
    if (!memory) {
        wire_in_release(&in);
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for the task");
    }
    memory->body = in;
    grant->memory = memory;
    grant->name = message.run.name.bytes ? message.run.name.bytes : "";
    grant->argv = memory->words;
    grant->env = words_write(memory->words, &message.run.argv);
    words_write((const char **)(uintptr_t)grant->env, &message.run.env);
    return ROTA_CLIENT_OK;
}

enum rota_client_code rota_client_fetch(struct rota_client *client, struct rota_client_wish *wish,
                                        struct rota_client_grant *grant)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    *grant = (struct rota_client_grant){.token = 0};
    enum rota_client_code code = handler_ready(client);
    if (!code && (wish->lease < 0 || wish->wait < 0))
        code = client_say(client, ROTA_CLIENT_WRONG, "a time is not below 0");
    if (!code) code = request_make(client, &wish->high, &wish->low);
    if (code) return code;
    message.claim.high = wish->high;
    message.claim.low = wish->low;
    message.claim.task = wish->task;
    message.claim.flags = wish->flags;
    message.claim.lease = wish->lease;
    message.claim.wait = wish->wait;
    rota_time most = ROTA_NEVER - client->patience;
    rota_time patience = wish->wait < most ? wish->wait + client->patience : ROTA_NEVER;
    code = client_ask(client, &message, client_until(patience), &message);
    if (code || message.kind != WIRE_GRANTED_MESSAGE) return code;
    grant->task = message.granted.task;
    grant->attempt = message.granted.attempt;
    grant->token = message.granted.token;
    grant->lease = message.granted.lease;
    return body_read(client, &message.granted.body, grant);
}

void rota_client_grant_release(struct rota_client_grant *grant)
{
    struct grant_memory *memory = grant->memory;
    if (memory) wire_in_release(&memory->body);
    free(memory);
    *grant = (struct rota_client_grant){.token = 0};
}

// ---- Keeping and ending -----------------------------------------------------------------------

enum rota_client_code rota_client_renew(struct rota_client *client, struct rota_client_grant *grant)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    enum rota_client_code code = handler_ready(client);
    if (!code) code = request_make(client, &message.renew.high, &message.renew.low);
    message.renew.task = grant->task;
    message.renew.token = grant->token;
    if (!code) code = client_ask(client, &message, client_until(client->patience), &message);
    if (!code && message.kind == WIRE_RENEWED_MESSAGE) grant->lease = message.renewed.lease;
    return code;
}

enum rota_client_code rota_client_deliver(struct rota_client *client,
                                          struct rota_client_grant *grant, const char *reason)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    enum rota_client_code code = handler_ready(client);
    if (!code) code = request_make(client, &grant->high, &grant->low);
    if (code) return code;
    message.deliver.high = grant->high;
    message.deliver.low = grant->low;
    message.deliver.task = grant->task;
    message.deliver.token = grant->token;
    message.deliver.flags = grant->flags;
    message.deliver.reason = wire_text_of(reason);
    return client_ask(client, &message, client_until(client->patience), &message);
}

enum rota_client_code rota_client_fail(struct rota_client *client, struct rota_client_grant *grant,
                                       const struct rota_client_failure *failure)
{
    struct wire_message message = {.kind = WIRE_FAIL_MESSAGE};
    enum rota_client_code code = handler_ready(client);
    if (!code) code = request_make(client, &grant->high, &grant->low);
    if (code) return code;
    message.fail.high = grant->high;
    message.fail.low = grant->low;
    message.fail.task = grant->task;
    message.fail.token = grant->token;
    message.fail.flags = grant->flags | (failure->give_back ? ROTA_GIVEN_BACK : 0u);
    message.fail.status = failure->status;
    message.fail.reason = wire_text_of(failure->reason);
    return client_ask(client, &message, client_until(client->patience), &message);
}
