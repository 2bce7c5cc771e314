// serve.h - `rota server`: what its parts share.
#pragma once

#include "cli/cli.h"
#include "data/data.h"
#include "hub/ahead.h"
#include "link/link.h"
#include "os/os.h"

enum { SERVE_LISTENERS = 8 };

struct serve_options {
    const char *database;  // null: nothing is kept
    bool forgets;
    bool no_plan;          // tasks are placed when they are ready, and not before
    bool by_rank;          // pull: the highest rank first
    const char *data;      // the folder of what clients bring; null: nowhere
    uint64_t data_max;     // bytes that may lie there and are needed by nobody
    const char *addresses[SERVE_LISTENERS];
    uint32_t address_count;
    const char *keys;      // null: none
    const char *audit;     // a file for what peers ask for; null: none
    rota_time lease;       // of the server; a worker's is shorter
    uint32_t ahead;        // tasks a worker is given beyond its room
    uint32_t ahead_cores;  // or so many for each of its cores, of tasks that read nothing
    rota_time pull_cache;  // pull: how long a task waits for who has its result,
    rota_time pull_inputs; // and then for who has an input
    uint32_t connections;  // at a time
    uint32_t tasks;        // that are not forgotten
    char default_address[PLACE_MAX], default_database[PLACE_MAX], default_data[PLACE_MAX];
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
    bool is_given;             // to the depot
    char from[72];             // os_socket_peer, for the audit log
};

struct serve_question {
    enum serve_kind kind;
    struct serve_question *next;
    struct serve_peer *peer;
    uint64_t request;
    int output, child;
    bool rests;  // the peer takes nothing just now, so nothing is read
};

struct serve_audit {
    int file;             // -1: none
    bool has_failed;      // it was told
    char *due[2];         // lines for it by the slot of their turn, until that is durable
    size_t due_size[2];
    int64_t second;       // the last in which a stranger was noted
    uint32_t strangers;   // so many in it
    uint32_t unnamed;     // and not noted since
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
    struct depot *depot;            // null: none
    struct serve_peer *depot_peer;  // what it says and is told
    struct serve_question *questions;
    uint32_t question_count;
    int64_t feed_at;  // ticks: who follows is to be told more
    int64_t strangers_at;  // ticks: when to see who has not said who it is
    uint32_t peer_count, turned_away;
    struct serve_audit audit;
    struct os_service service;
    char status[100];      // as the supervisor was told
    int64_t status_at, beat_at;  // ticks: it is to be told again
    uint32_t ending;       // how often somebody asked for it
};

// The depot is a peer, and came in by no door.
static inline uint32_t serve_connections(const struct serve *serve)
{
    return serve->peer_count - (serve->depot_peer != NULL);
}

// ---- serve_loop.c, serve_drain.c ---------------------------------------------------------------

int serve_loop(struct serve *serve);  // until somebody wants it to end; the exit status
int serve_drain(struct serve *serve);  // finishes what has come; the exit status
bool serve_turn(struct serve *serve);  // false: the server or the store says why
void serve_settle(struct serve *serve);  // what became durable leaves
// Somebody who is heard from now on.
struct serve_peer *serve_peer_add(struct serve *serve, struct link *link);
void serve_ready(struct serve *serve, const struct os_ready *ready);

// ---- serve_service.c: under a supervisor -------------------------------------------------------

void serve_say_ready(struct serve *serve);
int64_t serve_beat(struct serve *serve, int64_t ticks);  // returns when it wants to be called again
void serve_signals(struct serve *serve);

// ---- serve_data.c: the store of the server, and who is sent there ----------------------------

int serve_data_open(struct serve *serve);  // the exit status, or 0
void serve_data_close(struct serve *serve);  // after all peers
// True: this is the first word of somebody who wants to get or put something, and is given away.
bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message);
void serve_data_give(struct serve *serve, struct serve_peer *peer);  // its link is the depot's

// ---- serve_audit.c: who has asked for what -----------------------------------------------------

int serve_audit_open(struct serve *serve);  // the exit status, or 0
void serve_audit_again(struct serve *serve);  // under its name, wherever the old one is now
void serve_audit_close(struct serve *serve);
// What was just decided, if it changes something or was refused.
void serve_audit_request(struct serve *serve, const struct serve_peer *peer,
                         const struct wire_message *message);
void serve_audit_settled(struct serve *serve);  // what has become durable goes into the file
void serve_audit_stranger(struct serve *serve, const struct serve_peer *peer);  // was not let in

// ---- serve_ask.c: questions ------------------------------------------------------------------

void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask);
void serve_answer(struct serve *serve, struct serve_question *question);  // some has come
void serve_questions_go_on(struct serve *serve, const struct serve_peer *peer);  // it takes again
void serve_questions_drop(struct serve *serve, const struct serve_peer *peer);  // null: all
