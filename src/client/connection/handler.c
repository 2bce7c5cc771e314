// handler.c - an external worker's requests: fetch a task, renew its lease, report how it ended.
#include "client/connection/connection.h"

#include <string.h>

// Copies the frame into the grant, because it holds the texts of the command.
static enum rota_client_code body_read(struct rota_client *client, const wire_text *body,
                                       struct client_grant *grant)
{
    struct wire_message message;
    if (!body->length) return ROTA_CLIENT_OK;
    char *room = wire_in_room(&grant->body, body->length);
    if (!room) return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the task");
    memcpy(room, body->bytes, body->length);
    wire_in_came(&grant->body, body->length);
    enum wire_result result = wire_take(&grant->body, &message);
    if (result == WIRE_NO_MEMORY)
        return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for the task");
    if (result != WIRE_GOT || message.kind != WIRE_RUN_MESSAGE)
        return client_say(client, ROTA_CLIENT_GONE, "the server sent an invalid task");
    grant->run = message.run;
    return ROTA_CLIENT_OK;
}

enum rota_client_code client_fetch(struct rota_client *client, const struct client_query *wish,
                                   int64_t until, struct client_grant *grant)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    *grant = (struct client_grant){.token = 0};
    message.claim.task = wish->task;
    message.claim.flags = wish->flags;
    message.claim.lease = wish->lease;
    message.claim.wait = wish->wait;
    enum rota_client_code code = client_ask(client, wish->request, until, &message);
    if (code || message.kind != WIRE_GRANTED_MESSAGE) return code;
    grant->task = message.granted.task;
    grant->attempt = message.granted.attempt;
    grant->token = message.granted.token;
    grant->lease = message.granted.lease;
    return body_read(client, &message.granted.body, grant);
}

void client_grant_release(struct client_grant *grant)
{
    wire_in_release(&grant->body);
    *grant = (struct client_grant){.token = 0};
}

enum rota_client_code client_renew(struct rota_client *client, rota_task_id task, uint64_t token,
                                   int64_t until, rota_time *lease)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    message.renew.task = task;
    message.renew.token = token;
    enum rota_client_code code = client_ask(client, (struct request_id){0}, until, &message);
    if (!code && message.kind == WIRE_RENEWED_MESSAGE) *lease = message.renewed.lease;
    return code;
}

enum rota_client_code client_deliver(struct rota_client *client, const struct client_end *end,
                                     int64_t until)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    message.deliver.task = end->task;
    message.deliver.token = end->token;
    message.deliver.flags = end->flags;
    message.deliver.reason = wire_text_of(end->reason);
    return client_ask(client, end->request, until, &message);
}

enum rota_client_code client_fail(struct rota_client *client, const struct client_end *end,
                                  int64_t until)
{
    struct wire_message message = {.kind = WIRE_FAIL_MESSAGE};
    message.fail.task = end->task;
    message.fail.token = end->token;
    message.fail.flags = end->flags;
    message.fail.status = end->status;
    message.fail.reason = wire_text_of(end->reason);
    return client_ask(client, end->request, until, &message);
}
