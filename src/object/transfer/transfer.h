// transfer.h - transfers of objects between workers, from one cache directly into the other.
//
// A data server sends its objects to peers that show a ticket for them. A fetcher requests objects
// at one address after the other, and trusts no peer: a file gets its name only after it was
// hashed. Both run in the event loop of their owner, which watches one file each and calls
// ..._work() when that is readable or the time ..._due() has come. Times are ticks. Neither ever
// waits for another process; hashing and syncing are done in a thread of the fetcher. SIGPIPE has
// to be ignored.
//
// A connection transfers one object at a time:
//
//     GREET, GET(object, ticket)  ->  WELCOME, CONTENT(entry)     or REFUSE, and that is the end
//     WANT(file, offset) ...      ->  PIECE(file, offset, bytes), the bytes
//
// Of a tree the list comes first, then the files that are missing. A peer that may upload sends
//
//     OFFER(entries)              ->  WANT(entry, offset) for each that is missing, OFFERED
//     PIECE(entry, offset, bytes), the bytes   ->  STORED(entry)
//     BIND(object, entry)         ->  BOUND(object), when it is on the disk
#pragma once

#include "net/link/link.h"
#include "net/wire/wire.h"
#include "object/cache/cache.h"

enum {
    DATA_TICKETS_MAX = 16384,      // of workers; the oldest is dropped for the next
    DATA_TICKETS_CLIENTS = 16384,  // of all clients; the oldest of the one with the most is dropped
    DATA_TICKETS_CLIENT = 1024,    // of one client; its oldest is dropped
    DATA_TICKET_SHARES = 1024,     // two clients may share one of them
    DATA_TICKET_BYTES = 64,        // of text at most, and DATA_TICKET_LEAST at least
    DATA_TICKET_LEAST = 16,
    DATA_PEERS_MAX = 64,       // connections of a server
    DATA_PEERS_KIND = 48,      // of them for clients, or for workers, where both connect,
    DATA_PEERS_CLIENT = 24,    // and for one client; the others wait
    DATA_QUEUE_MAX = 512,      // connections that wait; more are told to try again
    DATA_QUEUE_KIND = 448,     // of them for clients, or for workers,
    DATA_QUEUE_CLIENT = 256,   // and for one client
    DATA_SENDING_MAX = 16,     // connections that are sent bytes; the others wait,
    DATA_SENDING_OWNER = 4,    // unless their owner has fewer than this
    DATA_FETCHES_MAX = 65536,  // objects that a fetcher may be asked for
    DATA_ACTIVE_MAX = 16,      // of them active,
    DATA_PER_SOURCE_MAX = 4,   // and from one address
    DATA_ADDRESSES_MAX = 16,   // of one object
    DATA_ROUNDS = 3,           // how often all of them are asked
    DATA_LIST_BYTES_MAX = 1 << 28,
    DATA_TURN = 1 << 20,  // bytes to be sent before others have their turn
};
enum {
    // a peer that moves less than DATA_STALL_BYTES in this time is dropped
    DATA_STALL_TICKS = 30 * 1000000,
    DATA_STALL_BYTES = 64 << 10,
    DATA_GREET_TICKS = 10 * 1000000,  // within which a peer has to show its ticket
    DATA_GRACE_TICKS = 1000000,       // for which a peer is served before it makes room
};

// ---- serve_objects.c, serve_peer.c, tickets.c ---------------------------------------------------

struct data_server;

// `keys` may be null for a Unix socket; of the others only keys of peers are accepted. Without an
// address only adopted connections are served.
struct data_server *data_server_open(struct cache *cache, const char *address,
                                     const struct link_keys *keys, struct link_error *error);
// The same for a socket that already listens; the server closes it.
struct data_server *data_server_open_over(struct cache *cache, int file,
                                          const struct link_keys *keys, struct link_error *error);
void data_server_close(struct data_server *server);  // null is allowed
// with the actual port if it was 0
const char *data_server_address(const struct data_server *server);
// Connections that none of these keys allows are told so, and closed. Returns how many.
#define DATA_REVOKED "the key was revoked"
uint32_t data_server_revoke(struct data_server *server, const struct link_keys *keys, int64_t now);
// A connection that was accepted elsewhere, where its GREET was taken. The link belongs to the
// server from now on. It may have to wait until others are served.
enum data_rights { DATA_MAY_GET = 1, DATA_MAY_PUT };
// The owner of the share that a connection uses.
struct data_owner {
    uint64_t number;  // of a key, or of a user of this machine
    bool is_client;   // otherwise a worker or an admin
};
static inline bool data_owner_is(struct data_owner one, struct data_owner other)
{
    return one.number == other.number && one.is_client == other.is_client;
}
struct data_adoption {
    struct link *link;
    enum data_rights rights;
    struct data_owner owner;
    char *who;  // a text of the caller, from malloc; owned by the server from now on
};
void data_server_adopt(struct data_server *server, const struct data_adoption *adoption,
                       int64_t now);
// Called when a peer has a ticket for an object that is not here any more.
typedef void data_gone_fn(void *context, rota_object_id object);
void data_server_on_gone(struct data_server *server, data_gone_fn *call, void *context);
// Called when a peer has bound an object, before it is told so.
typedef void data_bound_fn(void *context, rota_object_id object, const struct cache_entry *entry);
void data_server_on_bound(struct data_server *server, data_bound_fn *call, void *context);
// Called when a peer has uploaded contents, bound an object, or was refused that; with the reason
// DATA_REVOKED and nothing else, when its connection ended with its key. The context is that of
// on_bound.
struct data_upload {
    char *who;                 // null: unknown
    uint32_t contents;         // since the last report,
    uint64_t bytes;            // their size
    rota_object_id object;     // to be bound; zero: none
    struct cache_entry entry;  // to this content
    const char *reason;        // "": it was not refused
};
typedef void data_upload_fn(void *context, const struct data_upload *upload);
void data_server_on_upload(struct data_server *server, data_upload_fn *call);
// From now on the ticket is valid for this object. False: it is too short or too long.
bool data_server_serve(struct data_server *server, const struct wire_serve *serve, int64_t now);

// ---- stream.c: streams, from the FIFO of a command to a reader on another worker ------------

// The first peer with a ticket for the object is sent everything written to this FIFO, as PIECEs
// until one of no bytes. False: out of memory.
bool data_server_flow(struct data_server *server, rota_object_id object, const char *path);
// Nothing more is written to it: its present content is the rest.
void data_server_flow_over(struct data_server *server, rota_object_id object, int64_t now);
void data_server_flow_forget(struct data_server *server, rota_object_id object);
// A stream that has ended, and whose reader has got all or has gone; it is removed. False: none so
// far.
bool data_server_next_flowed(struct data_server *server, rota_object_id *object);
// How many bytes were sent; the next stream after `at`, which begins with null.
const void *data_server_flow_look(const struct data_server *server, const void *at,
                                  rota_object_id *object, uint64_t *bytes);

// The key that had too many connections since the last call, "" for a user of this machine. Null:
// none had.
const char *data_server_crowded_by(struct data_server *server);
uint32_t data_server_connections(const struct data_server *server);  // served, or waiting
int data_server_file(const struct data_server *server);
int64_t data_server_due(const struct data_server *server);
void data_server_work(struct data_server *server, int64_t now);

// ---- fetcher.c, transfer.c, receive.c, hasher.c --------------------------------------------

enum data_fault {
    DATA_FINE,    // it is in the cache, and bound
    DATA_MISSED,  // no source sent it
    DATA_FULL,    // there is no space for it here
    DATA_BROKEN,  // the disk failed, or memory ran out
};

struct data_done {
    rota_object_id object;
    enum data_fault fault;
    struct cache_entry entry;  // if it was fetched
    char reason[300];          // if not
};

struct data_fetcher;

// Greets a peer after connecting, and requests the object.
void data_ask(struct link *link, rota_object_id object, const char *ticket);

// `key` is that of a peer, and may be null if all addresses are Unix sockets. Both belong to the
// caller; the thread of the fetcher uses the cache only for hashes.
struct data_fetcher *data_fetcher_open(struct cache *cache, const struct link_key *key);
// The address DATA_HOME means the rota server, which has its own store. The address is copied, the
// key belongs to the caller.
#define DATA_HOME "server"
bool data_fetcher_home(struct data_fetcher *fetcher, const char *address,
                       const struct link_key *key);
// Uses another key from now on, under the rules of data_fetcher_open. Open connections stay.
void data_fetcher_rekey(struct data_fetcher *fetcher, const struct link_key *key);
void data_fetcher_close(struct data_fetcher *fetcher);  // null is allowed; cancels active transfers
// If the same object is requested twice, it is fetched and reported once; the newer ticket is used.
// False: out of memory, or DATA_FETCHES_MAX are not done.
bool data_fetcher_fetch(struct data_fetcher *fetcher, const struct wire_fetch *fetch, int64_t now);
// Forgets a transfer, so that its end is not reported. The object may be one that was not
// requested.
void data_fetcher_forget(struct data_fetcher *fetcher, rota_object_id object);

int data_fetcher_file(const struct data_fetcher *fetcher);
int64_t data_fetcher_due(const struct data_fetcher *fetcher);  // INT64_MAX: never
void data_fetcher_work(struct data_fetcher *fetcher, int64_t now);
// One that was fetched or cannot be, each once. False: none so far.
bool data_fetcher_next_done(struct data_fetcher *fetcher, struct data_done *done);
// Sends FORGED for each source that sent something that was not requested, or false bytes, once
// each. At most 1,024 wait until this is called. `out` null: they are dropped.
void data_fetcher_report_false(struct data_fetcher *fetcher, struct wire_out *out);

// ---- object_store.c: the object store of a rota server, in a thread of its own --------------

struct object_store;

// The keys are copied: the first of a peer is for fetching from remote workers; without one only
// Unix sockets can be used. `socket` is one end of a pair over which it gets SERVE, DROP and FETCH,
// and sends HELD and MISSED; it begins with HELD for all its objects. Null: `error` has the reason.
struct object_store *object_store_open(const char *folder, uint64_t bytes_max,
                                       const struct link_keys *keys, int *socket,
                                       struct link_error *error);
// Its socket has to be closed before both. The thread ends when it has finished a message; without
// object_store_has_ended() this waits for it. Null is allowed.
bool object_store_has_ended(struct object_store *object_store);
void object_store_close(struct object_store *object_store);
// From any thread: a link on which GREET has been taken. It belongs to the object store from now
// on, and so does `who`, which is returned in BROUGHT.
void object_store_adopt(struct object_store *object_store, const struct data_adoption *adoption);
// How many connections it has, served or waiting. From any thread.
uint32_t object_store_connections(struct object_store *object_store);
// From the thread that calls object_store_adopt: these keys, which are copied, replace the previous
// ones. Connections that none of them allows are told so, and closed. False: out of memory; the old
// keys stay.
bool object_store_rekey(struct object_store *object_store, const struct link_keys *keys);
