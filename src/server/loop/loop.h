// loop.h - `rota server`: types and functions shared by the files of the loop.
#pragma once

#include "object/transfer/transfer.h"
#include "server/cluster/planning.h"
#include "net/link/link.h"
#include "net/wire/wire.h"
#include "os/os.h"
#include "store/store.h"
#include "turn/turn.h"

enum { SERVE_LISTENERS = 8 };

// Why these words are not a valid query, possibly in `text`; null: they are valid.
typedef const char *serve_query_fault_fn(const wire_texts *words, char *text, size_t size);

struct serve_options {
    serve_query_fault_fn *query_fault;  // knows the commands and their options
    const char *database;               // null: no database
    bool forgets;
    bool restored;         // the database is a backup
    bool no_plan;          // tasks are placed when they are ready, not planned ahead
    bool by_rank;          // pull: the highest rank first
    const char *data;      // the folder for uploads; null: none
    uint64_t data_max;     // bytes of objects there that no job needs
    const char *addresses[SERVE_LISTENERS];
    uint32_t address_count;
    const char *keys;      // null: none
    struct link_users users;  // permissions of users of this machine at Unix sockets
    const char *audit;        // a file for the audit log; null: none
    rota_time lease;       // of the server; a worker's is shorter
    uint32_t ahead;        // tasks that a worker gets beyond its room
    uint32_t ahead_cores;  // or this many for each of its cores, of tasks without inputs
    rota_time pull_cache;  // pull: how long a task waits for a worker that has its result,
    rota_time pull_inputs;  // and then for one that has an input
    uint32_t connections;  // at a time
    uint32_t tasks;        // that are not removed
    uint32_t commands_mib;  // memory for commands
    uint64_t shares[CLUSTER_SHARE_KINDS];  // of one key; 0 in connections: half of all
    char default_address[OS_PATH_BYTES], default_database[OS_PATH_BYTES];
    char default_data[OS_PATH_BYTES];
};

// ---- socket_role.c --------------------------------------------------------------------------
// Reads "[USER=]ROLE[,ROLE]" into the list. False: no such user or role, or too many; an error was
// printed.
bool serve_role_read(struct link_users *users, const char *text);
// Lets the users of the list connect to the socket. False with errno.
bool serve_role_open(const struct link_listener *listener);

// Kinds of objects in the event loop: their first member.
enum serve_kind { SERVE_PEER = 1, SERVE_QUESTION };

struct serve_peer {
    enum serve_kind kind;
    struct serve_peer *next, *previous;
    struct link *link;
    struct cluster_peer *peer;  // null: it has not introduced itself
    struct serve_peer *next_input;
    struct serve_peer *next_waiting, *previous_waiting;
    bool has_input, is_gone;
    bool is_opening;     // it is not authenticated yet
    bool reads, writes;  // events its socket is watched for
    bool is_waiting;     // in the list of waiting peers
    bool waits;          // with its next message; otherwise only with the rest of one
    uint64_t messages, messages_counted;  // number taken; at the last count of its share
    uint64_t room;             // bytes of its share reserved for its next message; 0: it is small
    bool is_given;             // handed to the object store,
    bool is_fetcher;           // only to fetch something,
    uint64_t owner;            // and the share it counts for
    char from[72];             // os_socket_peer
    // The state at the last check, and since when it has not changed.
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
    bool rests;     // the peer does not read at present, so its answer is not read
    int64_t since;  // ticks: when it began, last progressed, or was paused
};

struct serve_audit {
    int file;             // -1: none
    bool has_failed;      // the failure was reported
    char *due[2];         // lines for it by the slot of their turn, until that is durable
    size_t due_size[2];
    int64_t second;      // the last second in which a stranger was logged
    uint32_t strangers;  // their number in that second
    uint32_t unnamed;    // not logged since
};

struct serve {
    struct serve_options options;
    struct link_keys keys;
    struct link_listener listeners[SERVE_LISTENERS];
    uint32_t listener_count;
    struct store *store;
    struct server server;
    struct cluster cluster;
    int loop, signals, settled;
    struct serve_peer *peers, *waiting;
    struct serve_peer *inputs, **last_first, **last_input;  // workers and admins are in front
    int64_t wait_at;                              // ticks: when to check waiting peers
    int64_t report_at;                            // ticks: when to report used up shares again
    struct object_store *object_store;            // null: none
    struct serve_peer *object_store_peer;         // the connection to it
    struct serve_question *questions;
    uint32_t question_count;
    int64_t feed_at;       // ticks: when to send more events to followers
    int64_t strangers_at;  // ticks: when to check peers that have not introduced themselves
    char ahead_of_us[80];  // the worker that was reported to know more than the database
    uint32_t peer_count, opening, turned_away;
    uint32_t revoked;      // connections that ended with their key
    struct serve_audit audit;
    struct os_service service;
    char status[100];            // as reported to the supervisor
    int64_t status_at, beat_at;  // ticks: when to report again
    uint32_t ending;             // number of requests to end
};

// The object store is a peer without a connection; connections that were handed to it count.
static inline uint32_t serve_connections(const struct serve *serve)
{
    uint32_t handed = serve->object_store ? object_store_connections(serve->object_store) : 0;
    return serve->peer_count - (serve->object_store_peer != NULL) + handed;
}

// The peer is authenticated, or needs no authentication.
static inline void serve_peer_opened(struct serve *serve, struct serve_peer *peer)
{
    serve->opening -= peer->is_opening;
    peer->is_opening = false;
}

// ---- loop.c, drain.c ---------------------------------------------------------------

int serve_loop(struct serve *serve);     // until it is told to end; returns the exit status
int serve_drain(struct serve *serve);    // finishes received requests; returns the exit status
bool serve_turn(struct serve *serve);    // false: the server or the store has the reason
void serve_settle(struct serve *serve);  // sends what has become durable
// A new peer, which is read from now on.
struct serve_peer *serve_peer_add(struct serve *serve, struct link *link);
void serve_ready(struct serve *serve, const struct os_ready *ready);

// Keys were changed: connections that are no longer allowed end in the next turn, and messages they
// sent since are ignored.
void serve_peers_revoke(struct serve *serve);

void serve_input_note(struct serve *serve, struct serve_peer *peer);  // processed in the next turn

// ---- backpressure.c: clients that have to wait -------------------------------------------------

void serve_count(struct serve_peer *peer);               // updates its share
bool serve_comes_first(const struct serve_peer *peer);   // it is a worker or an admin
bool serve_waits_to_ask(const struct serve_peer *peer);  // its next message is a query
bool serve_must_wait(struct serve *serve, struct serve_peer *peer);  // with its next message
void serve_reserve(struct serve *serve, struct serve_peer *peer);  // room for its next message
// more of its message
bool serve_may_read(const struct serve *serve, const struct serve_peer *peer);
void serve_wait(struct serve *serve, struct serve_peer *peer);
void serve_wait_end(struct serve *serve, struct serve_peer *peer);
// watches its socket for the events it needs
void serve_watch(struct serve *serve, struct serve_peer *peer);
int64_t serve_waiting_look(struct serve *serve);  // returns when to check again
// it has to be disconnected
bool serve_is_late(struct serve *serve, struct serve_peer *peer, int64_t now);
void serve_shares_report(struct serve *serve, int64_t now);  // to standard error

// ---- service.c: under a supervisor ----------------------------------------------------------

void serve_say_ready(struct serve *serve);
int64_t serve_beat(struct serve *serve, int64_t ticks);  // returns when to call it again
void serve_signals(struct serve *serve);

// ---- object_store_thread.c: the object store of the server, and connections handed to it -------

int serve_data_open(struct serve *serve);  // the exit status, or 0
void serve_data_close(struct serve *serve, int status);  // after all peers; may exit with `status`
// True: this is the first message of a peer that fetches or uploads, and it was handed over.
bool serve_data_takes(struct serve *serve, struct serve_peer *peer,
                      const struct wire_message *message);
// The link becomes the store's, and so does `who`, for the audit log.
void serve_data_give(struct serve *serve, struct serve_peer *peer, char *who);

// ---- audit.c: the audit log -----------------------------------------------------------------

int serve_audit_open(struct serve *serve);  // the exit status, or 0
void serve_audit_again(struct serve *serve);  // again under its name, after a rotation
void serve_audit_close(struct serve *serve);
// The last message, if it changes something or was refused.
void serve_audit_request(struct serve *serve, const struct serve_peer *peer,
                         const struct wire_message *message);
void serve_audit_settled(struct serve *serve);  // writes lines that have become durable
// was refused at authentication
void serve_audit_stranger(struct serve *serve, const struct serve_peer *peer);
// has to be disconnected
void serve_audit_revoked(struct serve *serve, const struct serve_peer *peer);
// The identity of a peer as JSON fields for the audit log, from malloc. Null: no log is kept.
char *serve_audit_identity(struct serve *serve, const struct serve_peer *peer);

// ---- queries.c: queries to the database -----------------------------------------------------

// Whether another query of this peer can be answered now.
bool serve_query_fits(struct serve *serve, struct cluster_peer *peer);
void serve_questions_look(struct serve *serve, int64_t now);  // ends answers without progress
void serve_ask(struct serve *serve, struct serve_peer *peer, const struct wire_ask *ask);
void serve_answer(struct serve *serve, struct serve_question *question);  // data has arrived
// the peer reads again
void serve_questions_resume(struct serve *serve, const struct serve_peer *peer);
void serve_questions_drop(struct serve *serve, const struct serve_peer *peer);  // null: all
