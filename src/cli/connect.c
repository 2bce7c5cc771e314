// connect.c - connects a command to a server: its address, the key, and retries.
#include "cli/connect.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 300 * 1000000, FIRST_PATIENCE = 30 * 1000000 };
enum { PAUSE_MIN = 50000, PAUSE_MAX = 2000000 };

void connect_init(struct connection *connection, const char *name)
{
    *connection = (struct connection){.name = name, .key = getenv("ROTA_KEY"), .role = WIRE_CLIENT};
    connection->server = default_address(connection->default_address);
}

int connect_fail(const struct connection *connection, const char *reason, int status)
{
    fprintf(stderr, "rota %s: %s\n", connection->name, reason);
    return status;
}

int connect_lost(const struct connection *connection)
{
    return connect_fail(connection, connection->client.reason, CONNECT_FAILED);
}

static void address_settle(struct connection *connection)
{
    if (!address_is_relative(connection->server)) return;
    char *path = path_absolute(connection->server);
    if (path) snprintf(connection->default_address, sizeof connection->default_address, "%s", path);
    if (path) connection->server = connection->default_address;
    free(path);
}

int connect_keys(struct connection *connection)
{
    struct link_error error;
    address_settle(connection);
    if (!link_address_check(connection->server, &error))
        return connect_fail(connection, error.text, 2);
    if (!connection->key && !link_address_is_local(connection->server)) {
        snprintf(error.text, sizeof error.text,
                 "%.200s: a key is needed to connect, except to a Unix socket: use --key FILE or "
                 "$ROTA_KEY",
                 connection->server);
        return connect_fail(connection, error.text, 2);
    }
    if (connection->key && !*connection->key)
        return connect_fail(connection, "$ROTA_KEY is empty: set it to a key file, or unset it", 2);
    if (!connection->key || connection->keys.count) return 0;
    if (!link_keys_read(&connection->keys, connection->key, &error))
        return connect_fail(connection, error.text, 2);
    if (connection->keys.count > 1) {
        snprintf(error.text, sizeof error.text,
                 "%.200s has %u keys, as for a server; --key needs a file with one, such as "
                 "client.key",
                 connection->key, connection->keys.count);
        return connect_fail(connection, error.text, 2);
    }
    if (!connection->keys.items[0].pem || connection->keys.items[0].role) return 0;
    return connect_fail(connection,
                        "the certificate of --key belongs to a server; use one of a client or "
                        "an admin",
                        2);
}

bool connect_pause(struct connection *connection, struct connect_patience *patience)
{
    if (!patience->until) {
        *patience = (struct connect_patience){os_ticks() + FIRST_PATIENCE, PAUSE_MIN};
        fprintf(stderr, "rota %s: %s; trying again for %d s\n", connection->name,
                connection->client.reason, FIRST_PATIENCE / 1000000);
    }
    if (os_ticks() > patience->until) return false;
    os_sleep_until(os_now() + patience->pause);
    patience->pause = patience->pause * 2 < PAUSE_MAX ? patience->pause * 2 : PAUSE_MAX;
    return true;
}

bool connect_quickly(struct connection *connection, int64_t patience)
{
    return !client_reach(&connection->client, connection->server, connection->keys.items,
                         connection->role, connection->name, client_until(patience));
}

// Tries until it succeeds, the time is up, or another try cannot succeed.
static int first_open(struct connection *connection, bool patient)
{
    const struct rota_client *client = &connection->client;
    struct connect_patience patience = {0};
    int status = connect_keys(connection);
    if (status) return status;
    while (!connect_quickly(connection, CLIENT_OPEN_PATIENCE)) {
        // A server that closed the connection may be restarting: then it is gone for a moment.
        bool again = patient || patience.until || client->was_cut
                     || client->refusal == WIRE_REFUSED_BUSY;
        if (client->is_final || !again || !connect_pause(connection, &patience))
            return connect_lost(connection);
    }
    return 0;
}

int connect_open(struct connection *connection)
{
    return first_open(connection, false);
}

int connect_patiently(struct connection *connection)
{
    return first_open(connection, true);
}

// Starts with short pauses, which become longer.
static bool open_in_time(struct connection *connection)
{
    int64_t until = os_ticks() + PATIENCE, pause = PAUSE_MIN;
    do {
        os_sleep_until(os_now() + pause);
        if (connect_quickly(connection, CLIENT_OPEN_PATIENCE)) return true;
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    } while (!connection->client.is_final && os_ticks() < until);
    return false;
}

bool connect_reopen(struct connection *connection)
{
    uint64_t database = connection->client.server;
    fprintf(stderr, "rota %s: lost the connection to the server; waiting for it\n",
            connection->name);
    if (!open_in_time(connection)) return false;
    if (connection->client.server == database) return true;
    client_say(&connection->client, ROTA_CLIENT_GONE, "the server is back with another database");
    return false;
}

void connect_words_write(const struct connection *connection, FILE *out)
{
    const char *key = getenv("ROTA_KEY");
    fputs("--server ", out);
    plain_word_write(out, connection->server);
    putc(' ', out);
    if (!connection->key || (key && strcmp(key, connection->key) == 0)) return;
    fputs("--key ", out);
    plain_word_write(out, connection->key);
    putc(' ', out);
}

void connect_close(struct connection *connection)
{
    client_release(&connection->client);
    link_keys_release(&connection->keys);
}
