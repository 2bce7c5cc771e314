// transfer.h - objects that go from worker to worker, straight from one cache into the other.
//
// A server of data gives what it holds to whoever shows the ticket for it; a fetcher asks for
// objects at one address after the other, and believes nobody: what it has not hashed gets no name.
// Both live in the loop of their owner, who watches one file each and calls ..._work() when that
// can be read or the time ..._due() has come. Times are ticks. Neither ever waits for another
// process; hashing and syncing are done in a thread of the fetcher. SIGPIPE has to be ignored.
//
// One connection is about one object at a time:
//
//     GREET, GET(object, ticket)  ->  WELCOME, CONTENT(entry)     or REFUSE, and that is all
//     WANT(file, offset) ...      ->  PIECE(file, offset, bytes), the bytes
//
// A tree is its list first, then those of its files that are not there yet. Who may put something
// into the cache says
//
//     OFFER(entries)              ->  WANT(entry, offset) for each that is not there, OFFERED
//     PIECE(entry, offset, bytes), the bytes   ->  STORED(entry)
//     BIND(object, entry)         ->  BOUND(object), when it is on the disk
#pragma once

#include "net/link/link.h"
#include "net/wire/wire.h"
#include "object/cache/cache.h"

enum {
    DATA_TICKETS_MAX = 16384,     // of workers; the oldest makes room for the next
    DATA_TICKETS_CLIENTS = 16384, // of all clients; the oldest of the one that has most goes
    DATA_TICKETS_CLIENT = 1024,   // of one client; its oldest goes
    DATA_TICKET_SHARES = 1024,    // two clients may have to do with one of them
    DATA_TICKET_BYTES = 64,    // of text at most, and DATA_TICKET_LEAST at least
    DATA_TICKET_LEAST = 16,
    DATA_GUESTS_MAX = 64,      // connections of a server
    DATA_GUESTS_KIND = 48,     // of them are of clients, or of workers, where both come,
    DATA_GUESTS_CLIENT = 24,   // and so many of one client; the others wait
    DATA_QUEUE_MAX = 512,      // connections that wait; more are told to try again
    DATA_QUEUE_KIND = 448,     // of them are of clients, or of workers,
    DATA_QUEUE_CLIENT = 256,   // and so many of one client
    DATA_SENDING_MAX = 16,     // connections that are sent bytes; the others wait,
    DATA_SENDING_OWNER = 4,    // unless their owner has fewer than that
    DATA_FETCHES_MAX = 65536,  // objects that a fetcher is asked for
    DATA_ACTIVE_MAX = 16,      // of them are on their way,
    DATA_PER_SOURCE_MAX = 4,   // and so many from one address
    DATA_ADDRESSES_MAX = 16,   // of one object
    DATA_ROUNDS = 3,           // how often all of them are asked
    DATA_LIST_BYTES_MAX = 1 << 28,
    DATA_TURN = 1 << 20,       // bytes to be sent before others have their turn
};
enum {
    DATA_STALL_TICKS = 30 * 1000000,  // whoever moves less than DATA_STALL_BYTES in that time goes
    DATA_STALL_BYTES = 64 << 10,
    DATA_GREET_TICKS = 10 * 1000000,  // within which a guest shows its ticket
    DATA_GRACE_TICKS = 1000000,       // for which a guest is served before it makes room
};

// ---- serve_objects.c, serve_peer.c, tickets.c ---------------------------------------------------

struct data_server;

// `keys` may be null for a Unix socket; of the others only those of peers get anything. Without an
// address only those come in who are adopted.
struct data_server *data_server_open(struct cache *cache, const char *address,
                                     const struct link_keys *keys, struct link_error *error);
// At a socket that listens already, and becomes the server's.
struct data_server *data_server_open_over(struct cache *cache, int file,
                                          const struct link_keys *keys, struct link_error *error);
void data_server_close(struct data_server *server);  // null is fine
const char *data_server_address(const struct data_server *server);  // with the port that 0 got
// Connections that none of these keys lets in are told so, and closed. Returns how many.
#define DATA_REVOKED "the key was revoked"
uint32_t data_server_revoke(struct data_server *server, const struct link_keys *keys, int64_t now);
// A connection that came in elsewhere, where its GREET was taken. The link is the server's from now
// on. It may have to wait until others are served.
enum data_rights { DATA_MAY_GET = 1, DATA_MAY_PUT };
// Whose share a connection counts for.
struct data_owner {
    uint64_t number;  // of a key, or of a user of this machine
    bool is_client;   // else a worker or an admin
};
struct data_adoption {
    struct link *link;
    enum data_rights rights;
    struct data_owner owner;
    char *who;  // the caller's word for it, from malloc, and the server's from now on
};
void data_server_adopt(struct data_server *server, const struct data_adoption *adoption,
                       int64_t now);
// What to call when somebody has a ticket for an object that is not here any more.
typedef void data_gone_fn(void *context, rota_object_id object);
void data_server_on_gone(struct data_server *server, data_gone_fn *call, void *context);
// What to call when somebody has bound an object, before it is told so.
typedef void data_bound_fn(void *context, rota_object_id object, const struct cache_entry *entry);
void data_server_on_bound(struct data_server *server, data_bound_fn *call, void *context);
// What to call when somebody has brought contents, bound an object, or was refused that; with the
// reason DATA_REVOKED and nothing else, when its connection ended with its key. The context is that
// of on_bound.
struct data_brought {
    char *who;                 // null: nobody in particular
    uint32_t contents;         // since it was told last,
    uint64_t bytes;            // with so many bytes
    rota_object_id object;     // to be bound; none: nothing
    struct cache_entry entry;  // to that
    const char *reason;        // "": it was not refused
};
typedef void data_brought_fn(void *context, const struct data_brought *brought);
void data_server_on_brought(struct data_server *server, data_brought_fn *call);
// From now on the ticket is good for this object. False: it is too short or too long.
bool data_server_serve(struct data_server *server, const struct wire_serve *serve, int64_t now);

// ---- stream.c: streams, from the FIFO of a command to one who reads it elsewhere ----

// Who has a ticket for the object, and comes first, is sent what is written to this FIFO, as PIECEs
// until one of no bytes. False: no memory.
bool data_server_flow(struct data_server *server, rota_object_id object, const char *path);
// Nothing more is written to it: what is there is the rest.
void data_server_flow_over(struct data_server *server, rota_object_id object, int64_t now);
void data_server_flow_forget(struct data_server *server, rota_object_id object);
// One that is over, and whose reader has got all or has gone; it is forgotten. False: none so far.
bool data_server_next_flowed(struct data_server *server, rota_object_id *object);
// So many bytes have gone; the next of them after `at`, which begins with null.
const void *data_server_flow_look(const struct data_server *server, const void *at,
                                  rota_object_id *object, uint64_t *bytes);

// The key that had too many connections since the last call, "" for a user of this machine. Null:
// none had.
const char *data_server_crowder(struct data_server *server);
uint32_t data_server_connections(const struct data_server *server);  // served, or waiting
int data_server_file(const struct data_server *server);
int64_t data_server_due(const struct data_server *server);
void data_server_work(struct data_server *server, int64_t now);

// ---- fetcher.c, transfer.c, receive.c, hasher.c --------------------------------------------

enum data_fault {
    DATA_FINE,      // it is in the cache, and bound
    DATA_MISSED,    // nobody who was asked gave it
    DATA_FULL,      // there is no room for it here
    DATA_BROKEN,    // the disk failed, or there is no memory
};

struct data_done {
    rota_object_id object;
    enum data_fault fault;
    struct cache_entry entry;  // if it is fine
    char reason[300];          // if not
};

struct data_fetcher;

// Greets who was just connected to, and asks for the object.
void data_ask(struct link *link, rota_object_id object, const char *ticket);

// `key` is that of a peer, and may be null if all addresses are Unix sockets. Both stay the
// caller's, and the cache is used by the thread of the fetcher for nothing but sums.
struct data_fetcher *data_fetcher_open(struct cache *cache, const struct link_key *key);
// Who is meant by the address DATA_HOME: the server of rota, which has a store of its own. The
// address is copied, the key stays the caller's.
#define DATA_HOME "server"
bool data_fetcher_home(struct data_fetcher *fetcher, const char *address,
                       const struct link_key *key);
// Another key from now on, under the rules of data_fetcher_open. Connections that are open stay.
void data_fetcher_rekey(struct data_fetcher *fetcher, const struct link_key *key);
void data_fetcher_close(struct data_fetcher *fetcher);  // null is fine; gives up what is on its way
// Asked twice for the same object, it is fetched and told once; the newer ticket is used. False: no
// memory, or DATA_FETCHES_MAX are not done.
bool data_fetcher_fetch(struct data_fetcher *fetcher, const struct wire_fetch *fetch, int64_t now);
// It is not wanted any more, and will not be told. Fine when nobody asked for it.
void data_fetcher_forget(struct data_fetcher *fetcher, rota_object_id object);

int data_fetcher_file(const struct data_fetcher *fetcher);
int64_t data_fetcher_due(const struct data_fetcher *fetcher);  // INT64_MAX: never
void data_fetcher_work(struct data_fetcher *fetcher, int64_t now);
// One that has come or never will, each once. False: none so far.
bool data_fetcher_next_done(struct data_fetcher *fetcher, struct data_done *done);
// Says FORGED of each source that sent what it was not asked for, or other bytes than it should,
// once each. The first 1,024 wait until this is called. `out` null: they are forgotten.
void data_fetcher_tell_lies(struct data_fetcher *fetcher, struct wire_out *out);

// ---- object_store.c: the store of a server of rota, in a thread of its own ----------------------

struct depot;

// The keys are copied: the first of a peer is for fetching from workers elsewhere; without one only
// Unix sockets can be asked. `socket` is one end of a pair over which it is told SERVE, DROP and
// FETCH, and tells HELD and MISSED; first of all HELD for what is there. Null: `error` says why.
struct depot *depot_open(const char *folder, uint64_t bytes_max, const struct link_keys *keys,
                         int *socket, struct link_error *error);
// Its socket has to be closed before both. The thread ends when it has finished a message; without
// depot_has_ended() that is waited for. Null is fine.
bool depot_has_ended(struct depot *depot);
void depot_close(struct depot *depot);
// From any thread: a link on which GREET has been taken. It is the depot's from now on, and so is
// `who`, which comes back in BROUGHT.
void depot_adopt(struct depot *depot, const struct data_adoption *adoption);
// How many connections it has, served or waiting. From any thread.
uint32_t depot_connections(struct depot *depot);
// From the thread that calls depot_adopt: these keys, which are copied, take the place of the ones
// before. Connections that none of them lets in are told so, and closed. False: no memory; the old
// keys stay.
bool depot_rekey(struct depot *depot, const struct link_keys *keys);
