// reach.c - the server that a command talks to: where it is, with which key, and the way there.
#include "cli/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reach_init(struct reach *reach, const char *name)
{
    *reach = (struct reach){.name = name, .key = getenv("ROTA_KEY")};
    reach->server = default_address(reach->default_address);
}

int reach_take(struct reach *reach, int count, char **words)
{
    bool server = strcmp(words[0], "--server") == 0, key = strcmp(words[0], "--key") == 0;
    if (!server && !key) return 0;
    if (count < 2) return -1;
    *(server ? &reach->server : &reach->key) = words[1];
    return 2;
}

int reach_fail(const struct reach *reach, const char *reason, int status)
{
    fprintf(stderr, "rota %s: %s\n", reach->name, reason);
    return status;
}

int reach_lost(const struct reach *reach)
{
    return reach_fail(reach, reach->client.error, REACH_FAILED);
}

int reach_open(struct reach *reach)
{
    struct link_error error;
    if (reach->key && !link_keys_read(&reach->keys, reach->key, &error))
        return reach_fail(reach, error.text, 2);
    if (client_open(&reach->client, reach->server, reach->keys.items, WIRE_CLIENT, reach->name))
        return 0;
    return reach_lost(reach);
}

void reach_close(struct reach *reach)
{
    client_close(&reach->client);
    link_keys_release(&reach->keys);
}
