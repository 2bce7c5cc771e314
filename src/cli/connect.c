// connect.c - connects a command to a server: its address, the key, and retries.
#include "cli/connect.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE = 300 * 1000000, FIRST_PATIENCE = 30 * 1000000 };
enum { PAUSE_MIN = 50000, PAUSE_MAX = 2000000 };

void reach_init(struct reach *reach, const char *name)
{
    *reach = (struct reach){.name = name, .key = getenv("ROTA_KEY"), .role = WIRE_CLIENT};
    reach->server = default_address(reach->default_address);
}

int reach_fail(const struct reach *reach, const char *reason, int status)
{
    fprintf(stderr, "rota %s: %s\n", reach->name, reason);
    return status;
}

int reach_lost(const struct reach *reach)
{
    return reach_fail(reach, reach->client.reason, REACH_FAILED);
}

static void address_settle(struct reach *reach)
{
    if (!address_is_relative(reach->server)) return;
    char *path = path_absolute(reach->server);
    if (path) snprintf(reach->default_address, sizeof reach->default_address, "%s", path);
    if (path) reach->server = reach->default_address;
    free(path);
}

int reach_keys(struct reach *reach)
{
    struct link_error error;
    address_settle(reach);
    if (!reach->key || reach->keys.count) return 0;
    if (!link_keys_read(&reach->keys, reach->key, &error)) return reach_fail(reach, error.text, 2);
    if (!reach->keys.items[0].pem || reach->keys.items[0].role) return 0;
    return reach_fail(reach, "the certificate of --key belongs to a server; use one of a client or "
                             "an admin", 2);
}

bool reach_pause(struct reach *reach, struct reach_patience *patience)
{
    if (!patience->until) {
        *patience = (struct reach_patience){os_ticks() + FIRST_PATIENCE, PAUSE_MIN};
        fprintf(stderr, "rota %s: %s; trying again for %d s\n", reach->name, reach->client.reason,
                FIRST_PATIENCE / 1000000);
    }
    if (os_ticks() > patience->until) return false;
    os_sleep_until(os_now() + patience->pause);
    patience->pause = patience->pause * 2 < PAUSE_MAX ? patience->pause * 2 : PAUSE_MAX;
    return true;
}

bool reach_quickly(struct reach *reach, int64_t patience)
{
    return !client_reach(&reach->client, reach->server, reach->keys.items, reach->role,
                         reach->name, client_until(patience));
}

// Tries until it succeeds, the time is up, or another try cannot succeed.
static int first_open(struct reach *reach, bool patient)
{
    const struct rota_client *client = &reach->client;
    struct reach_patience patience = {0};
    int status = reach_keys(reach);
    if (status) return status;
    while (!reach_quickly(reach, CLIENT_OPEN_PATIENCE)) {
        // A server that closed the connection may be restarting: then it is gone for a moment.
        bool again = patient || patience.until || client->was_cut
                     || client->refusal == WIRE_REFUSED_BUSY;
        if (client->is_final || !again || !reach_pause(reach, &patience)) return reach_lost(reach);
    }
    return 0;
}

int reach_open(struct reach *reach)
{
    return first_open(reach, false);
}

int reach_patiently(struct reach *reach)
{
    return first_open(reach, true);
}

// Starts with short pauses, which become longer.
static bool open_in_time(struct reach *reach)
{
    int64_t until = os_ticks() + PATIENCE, pause = PAUSE_MIN;
    do {
        os_sleep_until(os_now() + pause);
        if (reach_quickly(reach, CLIENT_OPEN_PATIENCE)) return true;
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    } while (!reach->client.is_final && os_ticks() < until);
    return false;
}

bool reach_again(struct reach *reach)
{
    uint64_t database = reach->client.server;
    fprintf(stderr, "rota %s: lost the connection to the server; waiting for it\n", reach->name);
    if (!open_in_time(reach)) return false;
    if (reach->client.server == database) return true;
    client_say(&reach->client, ROTA_CLIENT_GONE, "the server is back with another database");
    return false;
}

void reach_close(struct reach *reach)
{
    client_release(&reach->client);
    link_keys_release(&reach->keys);
}
