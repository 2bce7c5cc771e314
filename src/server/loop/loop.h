// loop.h - `rota server`: what its parts share.
#pragma once

#include "cli/cli.h"
#include "object/transfer/transfer.h"
#include "server/cluster/planning.h"
#include "net/link/link.h"
#include "os/os.h"

enum { SERVE_LISTENERS = 8 };

struct serve_options {
    const char *database;  // null: nothing is kept
    bool forgets;
    bool restored;         // the database is a backup
    bool no_plan;          // tasks are placed when they are ready, and not before
    bool by_rank;          // pull: the highest rank first
    const char *data;      // the folder of what clients bring; null: nowhere
    uint64_t data_max;     // bytes that may lie there and are needed by nobody
    const char *addresses[SERVE_LISTENERS];
    uint32_t address_count;
    const char *keys;      // null: none
    struct link_users users;  // what users of this machine may do at Unix sockets
    const char *audit;     // a file for what peers ask for; null: none
    rota_time lease;       // of the server; a worker's is shorter
    uint32_t ahead;        // tasks a worker is given beyond its room
    uint32_t ahead_cores;  // or so many for each of its cores, of tasks that read nothing
    rota_time pull_cache;  // pull: how long a task waits for who has its result,
    rota_time pull_inputs; // and then for who has an input
    uint32_t connections;  // at a time
    uint32_t tasks;        // that are not forgotten
    uint64_t shares[HUB_SHARE_KINDS];  // of one key; 0 in connections: half of all
    char default_address[PLACE_MAX], default_database[PLACE_MAX], default_data[PLACE_MAX];
};

// -1: go on; else the exit status.
int serve_options_read(struct serve_options *options, int count, char **words);

// ---- socket_role.c ----
// Reads "[USER=]ROLE[,ROLE]" into the list. False: no such user or role, or too many, which was
// printed.
bool serve_role_read(struct link_users *users, const char *text);
// Lets other users of the list reach the socket. False with errno.
bool serve_role_open(const struct link_listener *listener);

// What can become ready: the first member of each says what it is.
enum serve_kind { SERVE_PEER = 1, SERVE_QUESTION };

struct serve_peer {
    enum serve_kind kind;
    struct serve_peer *next, *previous;
    struct link *link;
    struct hub_peer *peer;     // null: it has not opened yet
    struct serve_peer *next_input;
    struct serve_peer *next_waiting, *previous_waiting;
    bool has_input, is_gone;
    bool is_opening;           // its key is not known yet
    bool reads, writes;        // what its socket is watched for
    bool is_waiting;           // in the list of those that do
    bool waits;                // with its next message; else only with the rest of one
    uint64_t messages, messages_counted;  // taken of it; when its share was last counted
    uint64_t room;             // bytes of its share that its next message has; 0: it is small
    bool is_given;             // to the object store,
    bool is_fetcher;           // of which it only wants to get something
    uint64_t owner;            // and whose share it counts for
    char from[72];             // os_socket_peer
    // What the last check saw, and since when it has not changed.
    uint64_t messages_seen;
    uint32_t sent_seen, length_seen;
    int64_t message_at, read_at;
};

struct serve_question {
    enum serve_kind kind;
    struct serve_question *next;
    struct serve_peer *peer;
    uint64_t request;
    int output, child;
    bool rests;     // the peer takes nothing just now, so nothing is read
    int64_t since;  // ticks: it began, some of its answer came, or it rests
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
    struct serve_peer *peers, *inputs, **last_input, *waiting;
    int64_t wait_at;    // ticks: when to look at those that wait
    int64_t report_at;  // ticks: when to say again which shares are used up
    struct depot *depot;            // null: none
    struct serve_peer *depot_peer;  // what it says and is told
    struct serve_question *questions;
    uint32_t question_count;
    int64_t feed_at;  // ticks: who follows is to be told more
    int64_t strangers_at;  // ticks: when to see who has not said who it is
    char ahead_of_us[80];  // the worker that was said to know more than the database
    uint32_t peer_count, opening, turned_away;
    uint32_t revoked;      // connections that ended with their key
    struct serve_audit audit;
    struct os_service service;
    char status[100];      // as the supervisor was told
    int64_t status_at, beat_at;  // ticks: it is to be told again
    uint32_t ending;       // how often somebody asked for it
};

// The depot is a peer, and came in by no door; connections that were handed to it count.
static inline uint32_t serve_connections(const struct serve *serve)
{
    uint32_t handed = serve->depot ? depot_connections(serve->depot) : 0;
    return serve->peer_count - (serve->depot_peer != NULL) + handed;
}

// Its key is known, or it is none of those that come in by a door.
static inline void serve_peer_opened(struct serve *serve, struct serve_peer *peer)
{
    serve->opening -= peer->is_opening;
    peer->is_opening = false;
}

// ---- loop.c, drain.c ---------------------------------------------------------------

int serve_loop(struct serve *serve);  // until somebody wants it to end; the exit status
int serve_drain(struct serve *serve);  // finishes what has come; the exit status
bool serve_turn(struct serve *serve);  // false: the server or the store says why
void serve_settle(struct serve *serve);  // what became durable leaves
// Somebody who is heard from now on.
struct serve_peer *serve_peer_add(struct serve *serve, struct link *link);
void serve_ready(struct serve *serve, const struct os_ready *ready);

// Other keys are in force: connections that none of them lets in end in the next turn, without a
// look at what they have said since.
void serve_peers_revoke(struct serve *serve);

void serve_input_note(struct serve *serve, struct serve_peer *peer);  // heard in the next turn

// ---- wait.c: clients that have to wait ---------------------------------------------------

void serve_count(struct serve_peer *peer);  // what it uses now, in its share
bool serve_waits_to_ask(const struct serve_peer *peer);  // its next message is a query
bool serve_must_wait(struct serve *serve, struct serve_peer *peer);  // with its next message
void serve_reserve(struct serve *serve, struct serve_peer *peer);  // room for its next message
bool serve_may_read(const struct serve *serve, const struct serve_peer *peer);  // more of it
void serve_wait(struct serve *serve, struct serve_peer *peer);
void serve_wait_end(struct serve *serve, struct serve_peer *peer);
void serve_watch(struct serve *serve, struct serve_peer *peer);  // its socket, for what it may
int64_t serve_waiting_look(struct serve *serve);  // returns when to look again
bool serve_is_late(struct serve *serve, struct serve_peer *peer, int64_t now);  // it has to go
void serve_shares_report(struct serve *serve, int64_t now);  // to standard error

// ---- service.c: under a supervisor -------------------------------------------------------

void serve_say_ready(struct serve *serve);
int64_t serve_beat(struct serve *serve, int64_t ticks);  // returns when it wants to be called again
void serve_signals(struct serve *serve);

// ---- object_store.c: the store of the server, and who is sent there ----------------------------

int serve_data_open(struct serve *serve);  // the exit status, or 0
void serve_data_close(struct serve *serve, int status);  // after all peers; may exit with that
// True: this is the first word of somebody who wants to get or put something, and is given away.
bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message);
// The link becomes the store's, and so does `who`, for the audit log.
void serve_data_give(struct serve *serve, struct serve_peer *peer, char *who);

// ---- audit.c: who has asked for what -----------------------------------------------------

int serve_audit_open(struct serve *serve);  // the exit status, or 0
void serve_audit_again(struct serve *serve);  // under its name, wherever the old one is now
void serve_audit_close(struct serve *serve);
// What was just decided, if it changes something or was refused.
void serve_audit_request(struct serve *serve, const struct serve_peer *peer,
                         const struct wire_message *message);
void serve_audit_settled(struct serve *serve);  // what has become durable goes into the file
void serve_audit_stranger(struct serve *serve, const struct serve_peer *peer);  // was not let in
void serve_audit_revoked(struct serve *serve, const struct serve_peer *peer);  // has to go
// The identity of a peer as JSON fields for the audit log, from malloc. Null: no log is kept.
char *serve_audit_who(struct serve *serve, const struct serve_peer *peer);

// ---- queries.c: questions ------------------------------------------------------------------

// Whether another query of this peer can be answered now.
bool serve_query_fits(struct serve *serve, struct hub_peer *peer);
// Why these words are no query for a server, maybe in `text`; null: they are one.
const char *serve_query_fault(const wire_texts *words, char *text, size_t size);
void serve_questions_look(struct serve *serve, int64_t now);  // ends answers that do not move
void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask);
void serve_answer(struct serve *serve, struct serve_question *question);  // some has come
void serve_questions_go_on(struct serve *serve, const struct serve_peer *peer);  // it takes again
void serve_questions_drop(struct serve *serve, const struct serve_peer *peer);  // null: all
