// connect.h - the server that a command talks to.
#pragma once

#include "cli/cli.h"
#include "client/connection/connection.h"
#include "client/files/files.h"

enum { REACH_FAILED = 4 };  // exit status: the server cannot be reached

struct reach {
    const char *name;         // of the command
    const char *server, *key; // key: a file, or null
    enum wire_role role;      // as what it connects; a client, unless changed
    struct link_keys keys;
    struct rota_client client;
    char default_address[OS_PATH_BYTES];
};

// --server and --key of a command whose options are a structure with a `reach`.
#define CONNECT_ROWS(type)                                                                         \
    {0, "server", "ADDRESS", "the server: a Unix socket or HOST:PORT", OPTION_PATH,                \
     .at = offsetof(type, reach.server), .preset = "$ROTA_SERVER, or the server of this user"},    \
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,                        \
     .at = offsetof(type, reach.key), .preset = "$ROTA_KEY"}

// Sets the defaults: $ROTA_SERVER and $ROTA_KEY.
void reach_init(struct reach *reach, const char *name);
// Reads the key and makes the address absolute, for a command that connects in another way first.
// 0, or the exit status.
int reach_keys(struct reach *reach);
// 0, or the exit status after an error message. Close it in either case. Tries again for a while
// if the server is busy, or closes the connection while it is being opened.
int reach_open(struct reach *reach);
// Tries again also if the server cannot be reached: it may be starting.
int reach_patiently(struct reach *reach);
void reach_close(struct reach *reach);
// Waits before the next try to reach a busy server, longer each time. False: the time is up.
// Starts with zeros.
struct reach_patience {
    int64_t until, pause;
};
bool reach_pause(struct reach *reach, struct reach_patience *patience);
// Opens a new connection after the old one broke, as soon as the server is back. The caller sends
// its requests again. False: the server did not come back, refuses, or has another database;
// `client` has the reason.
bool reach_again(struct reach *reach);
// Tries once, for at most `patience` microseconds.
bool reach_quickly(struct reach *reach, int64_t patience);
// submit.c: prints the end of a job, and returns the exit status.
int over_print(const struct wire_over *over, bool is_json);
// Prints the reason, and returns the status.
int reach_fail(const struct reach *reach, const char *reason, int status);
// The same for the last error of the client.
int reach_lost(const struct reach *reach);
