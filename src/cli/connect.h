// connect.h - the server that a command talks to.
#pragma once

#include "cli/cli.h"
#include "client/files/client.h"

enum { REACH_FAILED = 4 };  // exit status: the server cannot be reached

struct reach {
    const char *name;         // of the command
    const char *server, *key; // key: a file, or null
    enum wire_role role;      // as what it connects; a client, unless changed
    struct link_keys keys;
    struct client client;
    char default_address[PLACE_MAX];
};

// $ROTA_SERVER and $ROTA_KEY, until a word says something else.
void reach_init(struct reach *reach, const char *name);
// How many of the words are `--server ADDRESS` or `--key FILE`: 2, 0 if the first is neither, -1
// if its value is missing.
int reach_take(struct reach *reach, int count, char **words);
// The key alone, for who connects in another way first. 0, or the exit status.
int reach_keys(struct reach *reach);
// 0, or the exit status; says why. Close it in either case. A server that is busy, or cut the
// connection while it was opening, is tried again for a while.
int reach_open(struct reach *reach);
// The same, but a server that cannot be reached is tried again, too: it may be starting.
int reach_patiently(struct reach *reach);
void reach_close(struct reach *reach);
// A server that is busy: waits before the next try, longer each time. False: the time is over.
// Begins with zeros.
struct reach_patience {
    int64_t until, pause;
};
bool reach_pause(struct reach *reach, struct reach_patience *patience);
// The connection is gone: a new one, as soon as the server is back. What was asked for has to be
// asked again. False: it did not come back, refuses, or has another database; `client` says why.
bool reach_again(struct reach *reach);
// One try, with so many microseconds of patience.
bool reach_quickly(struct reach *reach, int64_t patience);
// Says why, and returns the status.
int reach_fail(const struct reach *reach, const char *reason, int status);
// The same for what the client has met.
int reach_lost(const struct reach *reach);
