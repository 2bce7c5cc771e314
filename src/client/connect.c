// connect.c - the way to a server, and back.
#include "client/internal.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

static const rota_time usual_patience = 10 * 1000000;

struct rota_client *rota_client_open(void)
{
    return calloc(1, sizeof(struct rota_client));
}

static void link_leave(struct rota_client *client)
{
    link_close(client->link);
    client->link = NULL;
    client->follows = false;
    client->server = 0;
}

static void leave(struct rota_client *client)
{
    link_leave(client);
    link_keys_release(&client->keys);
    free(client->address);
    client->keys = (struct link_keys){0};
    client->address = NULL;
}

void rota_client_close(struct rota_client *client)
{
    if (!client) return;
    leave(client);
    free(client->text);
    free(client);
}

const char *rota_client_reason(const struct rota_client *client)
{
    return client->reason;
}

uint64_t rota_client_server(const struct rota_client *client)
{
    return client->server;
}

// The address is named because several may be tried.
static enum rota_client_code unreachable(struct rota_client *client, const char *address,
                                         const char *reason)
{
    enum rota_client_code code = client_say(client, ROTA_CLIENT_UNREACHABLE, "%.200s: %.250s",
                                            address, reason);
    link_leave(client);
    return code;
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
    if (code == ROTA_CLIENT_NO_MEMORY) return code;
    if (code) {
        const char *reason = client->link ? client->link->reason : NULL;
        return unreachable(client, address, reason ? reason : "nobody answers");
    }
    if (message.kind == WIRE_REFUSE_MESSAGE && message.refuse.code == WIRE_REFUSED_FRAME)
        message.refuse.reason = wire_text_of(WIRE_OTHER_VERSION);  // it cannot read GREET
    code = client_refusal(client, (struct request){0}, &message);
    if (code) {
        link_leave(client);
        return code;
    }
    if (message.kind != WIRE_WELCOME_MESSAGE)
        return unreachable(client, address, "this is no server of rota");
    if (message.welcome.version != WIRE_VERSION)
        return unreachable(client, address, WIRE_OTHER_VERSION);
    client->server = message.welcome.server;
    return ROTA_CLIENT_OK;
}

enum rota_client_code client_reach(struct rota_client *client, const char *address,
                                   const struct link_key *key, enum wire_role role,
                                   const char *name)
{
    struct link_error error = {.text = ""};
    int64_t until = client_until(client->patience);
    client->link = link_connect(address, key, &error);
    if (!client->link) return client_say(client, ROTA_CLIENT_UNREACHABLE, "%s", error.text);
    while (client->link->state == LINK_OPENING && client_wait(client, until)) continue;
    if (client->link->state == LINK_OPEN) return greet(client, address, role, name, until);
    const char *reason = client->link->reason;
    return unreachable(client, address, reason ? reason : "nobody answers");
}

enum rota_client_code rota_client_connect(struct rota_client *client,
                                          const struct rota_client_options *options)
{
    static const uint8_t roles[] = {[ROTA_CLIENT_ROLE_CLIENT] = WIRE_CLIENT,
                                    [ROTA_CLIENT_ROLE_HANDLER] = WIRE_HANDLER,
                                    [ROTA_CLIENT_ROLE_ADMIN] = WIRE_ADMIN};
    struct link_error error = {.text = ""};
    leave(client);
    if (!options->address || !options->address[0])
        return client_say(client, ROTA_CLIENT_WRONG, "an address is missing");
    if ((unsigned)options->role > ROTA_CLIENT_ROLE_ADMIN || options->patience < 0)
        return client_say(client, ROTA_CLIENT_WRONG, "there is no such role or patience");
    client->patience = options->patience ? options->patience : usual_patience;
    client->role = options->role;
    client->address = strdup(options->address);
    if (!client->address) return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory");
    if (options->key_file && !link_keys_read(&client->keys, options->key_file, &error)) {
        client->keys = (struct link_keys){0};
        return client_say(client, ROTA_CLIENT_WRONG, "%s", error.text);
    }
    return client_reach(client, client->address, client->keys.items,
                        (enum wire_role)roles[options->role],
                        options->name ? options->name : "program");
}

// ---- Others who have something -------------------------------------------------------------

enum rota_client_code peer_open(struct rota_client *client, const char *address,
                                struct rota_client *peer)
{
    bool is_home = strcmp(address, PEER_HOME) == 0;
    *peer = (struct rota_client){.patience = client->patience};
    enum rota_client_code code
        = is_home ? client_reach(peer, client->address, client->keys.items, WIRE_PEER, "program")
                  : client_reach(peer, address, NULL, WIRE_PEER, "program");
    return code ? peer_fail(client, peer, code) : code;
}

enum rota_client_code peer_fail(struct rota_client *client, const struct rota_client *peer,
                                enum rota_client_code code)
{
    return client_say(client, code, "%s", peer->reason);
}

void peer_close(struct rota_client *peer)
{
    link_leave(peer);
}
