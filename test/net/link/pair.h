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
    struct link *here, *there;  // who connected, who was let in
    char *pattern;              // what messages are made of
};

int pair_open(void **state);   // a fixture: the folder and the keys
int pair_close(void **state);

// Listens, and connects with a key; 0 is a free port. Local: no keys.
void pair_listen(struct pair *pair, const char *address);
void pair_connect(struct pair *pair, const struct link_key *key);
// Works on both until they are open or closed, or the time is over.
void pair_open_up(struct pair *pair);
void pair_part(struct pair *pair);  // closes both links
const struct link_key *pair_key(const struct pair *pair, enum wire_role role);

// Each tells the other so many messages of up to so many bytes, at the same time, and what comes is
// what was told.
void pair_talk(struct pair *pair, uint32_t count, uint32_t size_max);
// Works on the links that there are until one is no longer in the state, or the time is over.
bool wait_while(struct pair *pair, const struct link *link, enum link_state state);
// Waits for somebody at the listener and lets him in. Null: nobody came who may.
struct link *wait_accept(struct pair *pair);

// A file in the folder; its name goes to pair->other.
const char *file_make(struct pair *pair, const char *name, const char *text, unsigned mode);
// A plain connection to the listener, which waits for at most a second.
int plain_connect(const struct pair *pair);
int plain_connect_from(const struct pair *pair, uint32_t address);  // of this machine
