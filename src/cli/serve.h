// serve.h - `rota server`: what its parts share.
#pragma once

#include "cli/cli.h"
#include "hub/hub.h"
#include "link/link.h"

enum { SERVE_LISTENERS = 8 };

struct serve_options {
    const char *database;  // null: nothing is kept
    bool forgets;
    const char *addresses[SERVE_LISTENERS];
    uint32_t address_count;
    const char *keys;      // null: none
    rota_time lease;       // of the server; a worker's is shorter
    uint32_t ahead;        // tasks a worker is given beyond its room
    char default_address[PLACE_MAX], default_database[PLACE_MAX];
};

// -1: go on; else the exit status.
int serve_options_read(struct serve_options *options, int count, char **words);

struct serve_peer {
    struct serve_peer *next, *previous;
    struct link *link;
    struct hub_peer *peer;     // null: it has not opened yet
    struct serve_peer *next_input;
    bool has_input, is_gone, writes;
};

struct serve {
    struct serve_options options;
    struct link_keys keys;
    struct link_listener listeners[SERVE_LISTENERS];
    uint32_t listener_count;
    struct store *store;
    struct server server;
    struct hub hub;
    int loop, signals, settled;
    struct serve_peer *peers, *inputs, **last_input;
    bool was_opened, ending;
};

// serve_loop.c: until somebody wants it to end. Returns the exit status.
int serve_loop(struct serve *serve);
