// reach.h - the server that a command talks to.
#pragma once

#include "cli/cli.h"
#include "client/client.h"

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
// 0, or the exit status; says why. Close it in either case.
int reach_open(struct reach *reach);
void reach_close(struct reach *reach);
// The connection is gone: a new one, as soon as the server is back. What was asked for has to be
// asked again. False: it did not come back, refuses, or has another database; `client` says why.
bool reach_again(struct reach *reach);
// One try, with so many microseconds of patience.
bool reach_quickly(struct reach *reach, int64_t patience);
// Says why, and returns the status.
int reach_fail(const struct reach *reach, const char *reason, int status);
// The same for what the client has met.
int reach_lost(const struct reach *reach);
