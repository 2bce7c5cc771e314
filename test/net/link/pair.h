// pair.h - two links that talk to each other, and a folder for keys and sockets.
#pragma once

#include "net/link/link.h"
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct pair {
    char folder[64], path[128], other[128];
    struct link_keys keys;  // of the listener
    struct link_listener listener;
    struct link *here, *there;  // the side that connected, the side that accepted
    char *pattern;              // the content of messages
};

int pair_open(void **state);   // a fixture: the folder and the keys
int pair_close(void **state);

// Listens, and connects with a key; 0 is a free port. Local: no keys.
void pair_listen(struct pair *pair, const char *address);
void pair_connect(struct pair *pair, const struct link_key *key);
// Works on both links until they are open or closed, or the time has passed.
void pair_open_up(struct pair *pair);
void pair_part(struct pair *pair);  // closes both links
const struct link_key *pair_key(const struct pair *pair, enum wire_role role);

// Each side sends `count` messages of up to `bytes` bytes at the same time; checks that they arrive
// unchanged.
void pair_talk(struct pair *pair, uint32_t count, uint32_t size_max);
// Works on the existing links until one has left the state, or the time has passed.
bool wait_while(struct pair *pair, const struct link *link, enum link_state state);
// Waits for a peer at the listener and accepts it. Null: no acceptable peer came.
struct link *wait_accept(struct pair *pair);

// A file in the folder; its name goes to pair->other.
const char *file_make(struct pair *pair, const char *name, const char *text, unsigned mode);
// A plain connection to the listener, with a timeout of one second.
int plain_connect(const struct pair *pair);
int plain_connect_from(const struct pair *pair, uint32_t address);  // of this machine
