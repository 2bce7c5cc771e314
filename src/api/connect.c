// connect.c - the way to a server, and back.
#include "api/api.h"
#include "os/os.h"

#include <stdlib.h>

static const rota_time usual_patience = 10 * 1000000;

struct rota_client *rota_client_open(void)
{
    return calloc(1, sizeof(struct rota_client));
}

static void leave(struct rota_client *client)
{
    link_close(client->link);
    client->link = NULL;
    client->follows = false;
    client->server = 0;
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
    leave(client);
    return client_say(client, ROTA_CLIENT_UNREACHABLE, "%.200s: %.250s", address, reason);
}

static enum rota_client_code greet(struct rota_client *client,
                                   const struct rota_client_options *options, int64_t until)
{
    static const uint8_t roles[] = {[ROTA_CLIENT_ROLE_CLIENT] = WIRE_CLIENT,
                                    [ROTA_CLIENT_ROLE_HANDLER] = WIRE_HANDLER,
                                    [ROTA_CLIENT_ROLE_ADMIN] = WIRE_ADMIN};
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = roles[options->role];
    message.greet.name = wire_text_of(options->name ? options->name : "program");
    wire_put(&client->link->out, &message);
    enum rota_client_code code = client_send(client, until);
    if (!code) code = client_next(client, &message, until);
    if (code == ROTA_CLIENT_NO_MEMORY) return code;
    if (code) {
        const char *reason = client->link ? client->link->reason : NULL;
        return unreachable(client, options->address, reason ? reason : "nobody answers");
    }
    code = client_refusal(client, (struct request){0}, &message);
    if (code) {
        leave(client);
        return code;
    }
    if (message.kind != WIRE_WELCOME_MESSAGE)
        return unreachable(client, options->address, "this is no server of rota");
    client->server = message.welcome.server;
    client->role = options->role;
    return ROTA_CLIENT_OK;
}

static enum rota_client_code link_up(struct rota_client *client,
                                     const struct rota_client_options *options,
                                     const struct link_key *key)
{
    struct link_error error = {.text = ""};
    int64_t until = client_until(client->patience);
    client->link = link_connect(options->address, key, &error);
    if (!client->link) return client_say(client, ROTA_CLIENT_UNREACHABLE, "%s", error.text);
    while (client->link->state == LINK_OPENING && client_wait(client, until)) continue;
    if (client->link->state == LINK_OPEN) return greet(client, options, until);
    const char *reason = client->link->reason;
    return unreachable(client, options->address, reason ? reason : "nobody answers");
}

enum rota_client_code rota_client_connect(struct rota_client *client,
                                          const struct rota_client_options *options)
{
    struct link_keys keys = {0};
    struct link_error error = {.text = ""};
    leave(client);
    if (!options->address || !options->address[0])
        return client_say(client, ROTA_CLIENT_WRONG, "an address is missing");
    if ((unsigned)options->role > ROTA_CLIENT_ROLE_ADMIN || options->patience < 0)
        return client_say(client, ROTA_CLIENT_WRONG, "there is no such role or patience");
    client->patience = options->patience ? options->patience : usual_patience;
    if (options->key_file && !link_keys_read(&keys, options->key_file, &error))
        return client_say(client, ROTA_CLIENT_WRONG, "%s", error.text);
    enum rota_client_code code = link_up(client, options, keys.items);
    link_keys_release(&keys);
    return code;
}
