// connect.h - the server that a command talks to.
#pragma once

#include "cli/cli.h"
#include "client/connection/connection.h"
#include "client/files/files.h"

enum { CONNECT_FAILED = 4 };  // exit status: the server cannot be reached

struct connection {
    const char *name;         // of the command
    const char *server, *key; // key: a file, or null
    enum wire_role role;      // as what it connects; a client, unless changed
    struct link_keys keys;
    struct rota_client client;
    char default_address[OS_PATH_BYTES];
};

// --server and --key of a command whose options are a structure with a `connection`.
#define CONNECT_ROWS(type)                                                                         \
    {0, "server", "ADDRESS", "the server: a Unix socket or HOST:PORT", OPTION_PATH,                \
     .at = offsetof(type, connection.server), .needs = NEEDS_ADDRESS,                              \
     .preset = "$ROTA_SERVER, or the server of this user"},                                        \
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,                        \
     .at = offsetof(type, connection.key), .preset = "$ROTA_KEY"}

// Sets the defaults: $ROTA_SERVER and $ROTA_KEY.
void connect_init(struct connection *connection, const char *name);
// Reads the key and makes the address absolute, for a command that connects in another way first.
// 0, or the exit status.
int connect_keys(struct connection *connection);
// 0, or the exit status after an error message. Close it in either case. Tries again for a while
// if the server is busy, or closes the connection while it is being opened.
int connect_open(struct connection *connection);
// Tries again also if the server cannot be reached: it may be starting.
int connect_patiently(struct connection *connection);
void connect_close(struct connection *connection);
// Writes "--server HOST:PORT --key FILE " as words of a shell, without what $ROTA_KEY says.
void connect_words_write(const struct connection *connection, FILE *out);
// Waits before the next try to reach a busy server, longer each time. False: the time is up.
// Starts with zeros.
struct connect_patience {
    int64_t until, pause;
};
bool connect_pause(struct connection *connection, struct connect_patience *patience);
// Opens a new connection after the old one broke, as soon as the server is back. The caller sends
// its requests again. False: the server did not come back, refuses, or has another database;
// `client` has the reason.
bool connect_reopen(struct connection *connection);
// Tries once, for at most `patience` microseconds.
bool connect_quickly(struct connection *connection, int64_t patience);
// submit.c: prints the end of a job, and returns the exit status.
int over_print(const struct wire_over *over, bool is_json);
// Prints the reason, and returns the status.
int connect_fail(const struct connection *connection, const char *reason, int status);
// The same for the last error of the client.
int connect_lost(const struct connection *connection);
