// open.c - connects to a server, introduces the client to it, and leaves.
#include "client/connection/connection.h"

#include <errno.h>
#include <stdlib.h>

void client_leave(struct rota_client *client)
{
    link_close(client->link);
    client->link = NULL;
    client->follows = false;
    client->server = 0;
}

void client_release(struct rota_client *client)
{
    client_leave(client);
    free(client->text);
    client->text = NULL;
    client->text_length = client->text_capacity = 0;
}

// The address is named because a caller may try several.
static enum rota_client_code fail(struct rota_client *client, enum rota_client_code code,
                                  const char *address, const char *reason)
{
    const struct link *link = client->link;
    client->is_final
        = link->is_denied || (client->refusal && client->refusal != WIRE_REFUSED_BUSY);
    client->was_cut = link->state == LINK_CLOSED && !link->search && !client->is_final;
    client_say(client, code, "%.200s: %.250s", address, reason);
    client_leave(client);
    return code;
}

static enum rota_client_code unreachable(struct rota_client *client, const char *address)
{
    const char *reason = client->link->reason;
    return fail(client, ROTA_CLIENT_UNREACHABLE, address,
                reason ? reason : "the server does not answer");
}

static enum rota_client_code welcome_take(struct rota_client *client, const char *address,
                                          const struct wire_message *message)
{
    enum rota_client_code code = client_refusal(client, (struct request_id){0}, message);
    bool is_other = client->refusal == WIRE_REFUSED_FRAME;  // the server cannot decode GREET
    if (code)
        return fail(client, code, address,
                    is_other ? WIRE_OTHER_VERSION : message->refuse.reason.bytes);
    if (message->kind != WIRE_WELCOME_MESSAGE)
        return fail(client, ROTA_CLIENT_UNREACHABLE, address, "this is not a rota server");
    if (message->welcome.version != WIRE_VERSION)
        return fail(client, ROTA_CLIENT_UNREACHABLE, address, WIRE_OTHER_VERSION);
    client->server = message->welcome.server;
    return ROTA_CLIENT_OK;
}

static enum rota_client_code greet(struct rota_client *client, const char *address,
                                   enum wire_role role, const char *name, int64_t until)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = role;
    message.greet.name = wire_text_of(name);
    wire_put(&client->link->out, &message);
    enum rota_client_code code = client_send(client, until);
    if (!code) code = client_next(client, &message, until);
    if (!code) return welcome_take(client, address, &message);
    return code == ROTA_CLIENT_NO_MEMORY ? code : unreachable(client, address);
}

enum rota_client_code client_reach(struct rota_client *client, const char *address,
                                   const struct link_key *key, enum wire_role role,
                                   const char *name, int64_t until)
{
    struct link_error error = {.text = ""};
    client_leave(client);
    client->refusal = 0;
    client->is_final = client->was_cut = false;
    errno = 0;
    client->link = link_connect(address, key, &error);
    if (!client->link) {
        client->is_final = errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN;
        return client_say(client, ROTA_CLIENT_UNREACHABLE, "%s", error.text);
    }
    while (client->link->state == LINK_OPENING && client_wait(client, until)) continue;
    if (client->link->state == LINK_OPEN) return greet(client, address, role, name, until);
    return unreachable(client, address);
}
