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

// What can become ready: the first member of each says what it is.
enum serve_kind { SERVE_PEER = 1, SERVE_QUESTION };

struct serve_peer {
    enum serve_kind kind;
    struct serve_peer *next, *previous;
    struct link *link;
    struct hub_peer *peer;     // null: it has not opened yet
    struct serve_peer *next_input;
    bool has_input, is_gone, writes;
};

struct serve_question {
    enum serve_kind kind;
    struct serve_question *next;
    struct serve_peer *peer;
    uint64_t request;
    int output, child;
    bool rests;  // the peer takes nothing just now, so nothing is read
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
    struct serve_question *questions;
    uint32_t question_count;
    int64_t feed_at;  // ticks: who follows is to be told more
    bool ending;
};

// serve_loop.c: until somebody wants it to end. Returns the exit status.
int serve_loop(struct serve *serve);

// ---- serve_ask.c: questions ------------------------------------------------------------------

void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask);
void serve_answer(struct serve *serve, struct serve_question *question);  // some has come
void serve_questions_go_on(struct serve *serve, const struct serve_peer *peer);  // it takes again
void serve_questions_drop(struct serve *serve, const struct serve_peer *peer);  // null: all
