// handler.c - a client that runs tasks by hand: fetches one, keeps it, says how it ended.
#include "client/files/client.h"

#include <stdlib.h>
#include <string.h>

// The next message that is an answer to this request, or a refusal: of it, or of the connection.
static bool answer_wait(struct client *client, uint64_t high, uint64_t low, int64_t patience,
                        struct wire_message *message)
{
    client->code = 0;
    if (!client_send(client)) return false;
    while (client_next(client, message, patience)) {
        // All answers begin with the id of their request.
        bool answer = message->kind == WIRE_GRANTED_MESSAGE || message->kind == WIRE_DONE_MESSAGE
                      || message->kind == WIRE_RENEWED_MESSAGE;
        if (answer && message->done.high == high && message->done.low == low) return true;
        if (message->kind != WIRE_REFUSE_MESSAGE) continue;
        bool ours = message->refuse.high == high && message->refuse.low == low;
        if (!ours && (message->refuse.high || message->refuse.low)) continue;
        client->code = (enum wire_code)message->refuse.code;
        return client_fail(client, message->refuse.reason.bytes);
    }
    return false;
}

// The frame is kept as long as the grant, because the words of the command lie in it.
static bool grant_read(struct client *client, const struct wire_granted *granted,
                       struct client_grant *grant)
{
    struct wire_message message;
    grant->task = granted->task;
    grant->attempt = granted->attempt;
    grant->token = granted->token;
    grant->lease = granted->lease;
    if (!granted->body.length) return true;
    char *room = wire_in_room(&grant->body, granted->body.length);
    if (!room) return client_fail(client, "no memory for the task");
    memcpy(room, granted->body.bytes, granted->body.length);
    wire_in_came(&grant->body, granted->body.length);
    if (wire_take(&grant->body, &message) != WIRE_GOT || message.kind != WIRE_RUN_MESSAGE)
        return client_fail(client, "the server sent a task that is none");
    grant->run = message.run;
    return true;
}

bool client_fetch(struct client *client, const struct client_wish *wish, struct client_grant *grant)
{
    struct wire_message message = {.kind = WIRE_CLAIM_MESSAGE};
    *grant = (struct client_grant){.token = 0};
    message.claim.high = wish->high;
    message.claim.low = wish->low;
    message.claim.task = wish->task;
    message.claim.flags = wish->flags;
    message.claim.lease = wish->lease;
    message.claim.wait = wish->wait;
    wire_put(&client->link->out, &message);
    if (!answer_wait(client, wish->high, wish->low, 0, &message)) return false;
    return message.kind != WIRE_GRANTED_MESSAGE || grant_read(client, &message.granted, grant);
}

void client_grant_release(struct client_grant *grant)
{
    wire_in_release(&grant->body);
    *grant = (struct client_grant){.token = 0};
}

bool client_renew(struct client *client, rota_task_id task, uint64_t token, rota_time *lease,
                  int64_t patience)
{
    struct wire_message message = {.kind = WIRE_RENEW_MESSAGE};
    uint64_t high, low;
    client_request_id(&high, &low);
    message.renew.high = high;
    message.renew.low = low;
    message.renew.task = task;
    message.renew.token = token;
    wire_put(&client->link->out, &message);
    if (!answer_wait(client, high, low, patience, &message)) return false;
    *lease = message.kind == WIRE_RENEWED_MESSAGE ? message.renewed.lease : 0;
    return true;
}

bool client_deliver(struct client *client, const struct client_end *end)
{
    struct wire_message message = {.kind = WIRE_DELIVER_MESSAGE};
    message.deliver.high = end->high;
    message.deliver.low = end->low;
    message.deliver.task = end->task;
    message.deliver.token = end->token;
    message.deliver.flags = end->flags;
    message.deliver.reason = wire_text_of(end->reason);
    wire_put(&client->link->out, &message);
    return answer_wait(client, end->high, end->low, 0, &message);
}

bool client_fail_task(struct client *client, const struct client_end *end)
{
    struct wire_message message = {.kind = WIRE_FAIL_MESSAGE};
    message.fail.high = end->high;
    message.fail.low = end->low;
    message.fail.task = end->task;
    message.fail.token = end->token;
    message.fail.flags = end->flags;
    message.fail.status = end->status;
    message.fail.reason = wire_text_of(end->reason);
    wire_put(&client->link->out, &message);
    return answer_wait(client, end->high, end->low, 0, &message);
}
