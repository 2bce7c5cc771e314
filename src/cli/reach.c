// reach.c - the server that a command talks to: where it is, with which key, and the way there.
#include "cli/reach.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 300 * 1000000, PAUSE_MIN = 50000, PAUSE_MAX = 2000000 };

void reach_init(struct reach *reach, const char *name)
{
    *reach = (struct reach){.name = name, .key = getenv("ROTA_KEY"), .role = WIRE_CLIENT};
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

int reach_keys(struct reach *reach)
{
    struct link_error error;
    if (!reach->key || reach->keys.count || link_keys_read(&reach->keys, reach->key, &error))
        return 0;
    return reach_fail(reach, error.text, 2);
}

int reach_open(struct reach *reach)
{
    int status = reach_keys(reach);
    if (status) return status;
    if (client_open(&reach->client, reach->server, reach->keys.items, reach->role, reach->name))
        return 0;
    return reach_lost(reach);
}

// The first time is soon, the others come later and later.
static bool open_in_time(struct reach *reach)
{
    int64_t until = os_ticks() + PATIENCE, pause = PAUSE_MIN;
    const struct link_key *key = reach->keys.items;
    do {
        os_sleep_until(os_now() + pause);
        client_close(&reach->client);
        if (client_open(&reach->client, reach->server, key, reach->role, reach->name)) return true;
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    } while (!reach->client.code && os_ticks() < until);
    return false;
}

bool reach_again(struct reach *reach)
{
    uint64_t database = reach->client.welcome.server;
    fprintf(stderr, "rota %s: the server is gone; waiting for it\n", reach->name);
    if (!open_in_time(reach)) return false;
    if (reach->client.welcome.server == database) return true;
    return client_fail(&reach->client, "the server is back with another database");
}

bool reach_quickly(struct reach *reach, int64_t patience)
{
    client_close(&reach->client);
    return client_open_within(&reach->client, reach->server, reach->keys.items, reach->role,
                              reach->name, patience);
}

void reach_close(struct reach *reach)
{
    client_close(&reach->client);
    link_keys_release(&reach->keys);
}
