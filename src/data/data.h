// data.h - objects that go from worker to worker, straight from one cache into the other.
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
// A tree is its list first, then those of its files that are not there yet.
#pragma once

#include "link/link.h"
#include "wire/wire.h"
#include "worker/cache.h"

enum {
    DATA_TICKETS_MAX = 4096,   // the one that ends first makes room for the next
    DATA_TICKET_BYTES = 64,    // of text at most, and DATA_TICKET_LEAST at least
    DATA_TICKET_LEAST = 16,
    DATA_GUESTS_MAX = 64,      // connections of a server
    DATA_SENDING_MAX = 16,     // of them are sent bytes; the others wait
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
};

// ---- server.c, guest.c, tickets.c ----------------------------------------------------------

struct data_server;

// `keys` may be null for a Unix socket; of the others only those of peers get anything.
struct data_server *data_server_open(struct cache *cache, const char *address,
                                     const struct link_keys *keys, struct link_error *error);
// At a socket that listens already, and becomes the server's.
struct data_server *data_server_open_over(struct cache *cache, int file,
                                          const struct link_keys *keys, struct link_error *error);
void data_server_close(struct data_server *server);  // null is fine
const char *data_server_address(const struct data_server *server);  // with the port that 0 got
// From now on the ticket is good for this object. False: it is too short or too long.
bool data_server_serve(struct data_server *server, const struct wire_serve *serve, int64_t now);

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

// `key` is that of a peer, and may be null if all addresses are Unix sockets. Both stay the
// caller's, and the cache is used by the thread of the fetcher for nothing but sums.
struct data_fetcher *data_fetcher_open(struct cache *cache, const struct link_key *key);
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
