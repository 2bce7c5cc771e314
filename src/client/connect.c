// connect.c - connects a program to a server, and to peers that hold objects.
//
// A client owns its link, its keys and its texts. Files go over a second connection, to the server
// or to a worker's Unix socket, which exists for the time of one call.
#include "client/internal.h"
#include "net/link/link.h"

#include <stdlib.h>
#include <string.h>

struct rota_client *rota_client_open(void)
{
    return calloc(1, sizeof(struct rota_client));
}

static void leave(struct rota_client *client)
{
    client_leave(client);
    link_keys_release(&client->keys);
    free(client->address);
    client->keys = (struct link_keys){0};
    client->address = NULL;
}

void rota_client_close(struct rota_client *client)
{
    if (!client) return;
    leave(client);
    client_release(client);
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

enum rota_client_code rota_client_connect(struct rota_client *client,
                                          const struct rota_client_options *options)
{
    static const uint8_t roles[] = {[ROTA_CLIENT_ROLE_CLIENT] = WIRE_CLIENT,
                                    [ROTA_CLIENT_ROLE_HANDLER] = WIRE_HANDLER,
                                    [ROTA_CLIENT_ROLE_ADMIN] = WIRE_ADMIN};
    struct link_error error = {.text = ""};
    leave(client);
    if (!options->address || !options->address[0])
        return client_say(client, ROTA_CLIENT_WRONG, "the address is missing");
    if ((unsigned)options->role > ROTA_CLIENT_ROLE_ADMIN || options->patience < 0)
        return client_say(client, ROTA_CLIENT_WRONG, "invalid role or patience");
    client->patience = options->patience ? options->patience : CLIENT_OPEN_PATIENCE;
    client->role = options->role;
    client->address = strdup(options->address);
    if (!client->address) return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory");
    if (options->key_file && !link_keys_read(&client->keys, options->key_file, &error)) {
        client->keys = (struct link_keys){0};
        return client_say(client, ROTA_CLIENT_WRONG, "%s", error.text);
    }
    return client_reach(client, client->address, client->keys.items,
                        (enum wire_role)roles[options->role],
                        options->name ? options->name : "program",
                        client_until(client->patience));
}

static enum rota_client_code connection_check(struct rota_client *client)
{
    if (!client_is_open(client))
        return client_say(client, ROTA_CLIENT_GONE, "not connected");
    if (client->follows)
        return client_say(client, ROTA_CLIENT_WRONG, "this connection is for events only");
    return ROTA_CLIENT_OK;
}

enum rota_client_code client_ready(struct rota_client *client)
{
    enum rota_client_code code = connection_check(client);
    if (code || client->role != ROTA_CLIENT_ROLE_HANDLER) return code;
    return client_say(client, ROTA_CLIENT_DENIED, "a handler can only fetch and end tasks");
}

enum rota_client_code handler_ready(struct rota_client *client)
{
    enum rota_client_code code = connection_check(client);
    if (code || client->role != ROTA_CLIENT_ROLE_CLIENT) return code;
    return client_say(client, ROTA_CLIENT_DENIED, "only a handler or an admin may fetch tasks");
}

// ---- Peers that hold objects ---------------------------------------------------------------

enum rota_client_code peer_open(struct rota_client *client, const char *address,
                                struct rota_client *peer)
{
    bool is_home = strcmp(address, PEER_HOME) == 0;
    *peer = (struct rota_client){.patience = client->patience};
    enum rota_client_code code
        = client_reach(peer, is_home ? client->address : address,
                       is_home ? client->keys.items : NULL, WIRE_PEER, "program",
                       client_until(peer->patience));
    return code ? peer_fail(client, peer, code) : code;
}

enum rota_client_code peer_fail(struct rota_client *client, const struct rota_client *peer,
                                enum rota_client_code code)
{
    return client_say(client, code, "%s", peer->reason);
}

void peer_close(struct rota_client *peer)
{
    client_leave(peer);
}
