// internal.h - internals of this folder, shared by its files.
#pragma once

#include "object/transfer/upload.h"
#include "object/transfer/tickets.h"

// A peer that transfers too little in a given time counts as gone, even if it sends something
// regularly.
struct pace {
    int64_t since;
    uint64_t bytes;
};

static inline void pace_begin(struct pace *pace, int64_t now)
{
    *pace = (struct pace){.since = now};
}

static inline bool pace_is_lost(struct pace *pace, int64_t now)
{
    if (now - pace->since < DATA_STALL_TICKS) return false;
    if (pace->bytes < DATA_STALL_BYTES) return true;
    pace_begin(pace, now);
    return false;
}

// ---- stream.c: streams --------------------------------------------------------------------------

struct peer;

struct flow {
    struct flow *next;
    rota_object_id object;
    bool is_over;   // nothing more is written
    bool is_taken;  // it is being read, or was read
    bool is_left;   // its reader disconnected before the end
    bool is_done;   // its reader has all of it, or it will not be read any further
    uint64_t bytes;
    char path[];
};

struct flow *flow_find(const struct data_server *server, rota_object_id object);
bool flow_begin(struct peer *peer, struct flow *flow);    // false: it cannot be read
bool flow_continue(struct peer *peer);    // true: there is nothing to be sent now
void flow_watch(struct peer *peer);
void flow_end(struct peer *peer);
void flows_release(struct data_server *server);

// ---- serve_peer.c: a connection that fetches ------------------------------------------------

enum peer_state {
    PEER_NEW,       // has not shown a ticket
    PEER_KNOWN,     // has shown one, for `object`
    PEER_LEAVING,   // was refused; further messages are ignored until it disconnects
    PEER_GONE,
};

struct peer {
    struct data_server *server;
    struct link *link;
    enum peer_state state;
    bool is_local, is_greeted;
    bool may_put;
    struct data_owner owner;
    struct put put;
    struct data_upload upload;    // not reported yet
    struct flow *flow;            // null: it does not read a stream
    int flow_file;
    bool is_flow_watched;
    bool is_watched;        // for writing, too
    bool is_waiting;        // until less is sent to others
    bool is_queued;         // has sent a message, and waits for its turn,
    uint64_t queued_since;  // since this number of turns
    bool is_turn_new;       // one message is taken in any case
    int64_t turn_until;     // ticks; 0: not its turn
    struct cache_entry entry;  // of the object
    struct cache_reading hold;  // the object, or its list
    struct cache_files files;
    struct cache_reading sending;  // fd -1: nothing
    uint64_t offset;               // position in the file
    struct pace pace;
    int64_t since;  // when it connected
};

enum { TURN_OWNERS = 256 };  // two owners may share a slot

// The time used by turns, as if each owner had been served alone.
struct turns {
    int64_t used[TURN_OWNERS], now;
    uint64_t count;
};

struct data_server {
    struct cache *cache;
    struct link_listener listener;
    struct tickets tickets;
    int loop;
    struct peer *peers[DATA_PEERS_MAX];
    uint32_t peer_count, sending;
    struct data_adoption queue[DATA_QUEUE_MAX];  // waiting connections, the oldest first
    uint32_t queue_count;
    int64_t worked;                 // when it last worked
    bool is_crowded;                // since the last query,
    char crowded_by[LINK_ID_MAX + 1];  // by this key
    struct turns turns;
    struct parts parts;
    struct trees trees;
    struct flow *flows;
    data_bound_fn *on_bound;
    data_upload_fn *on_upload;
    data_gone_fn *on_gone;
    void *context;
};

void peer_init(struct peer *peer, struct data_server *server, struct link *link, int64_t now);
void peer_release(struct peer *peer);
// Its socket is readable or writable.
void peer_work(struct peer *peer, bool can_read, int64_t now);
void peer_continue(struct peer *peer, int64_t now);     // less is sent to others now
bool peer_has_to_wait(const struct peer *peer);      // until less is sent to others
int64_t peer_due(const struct peer *peer);
// It is told why, and disconnected.
void peer_deny(struct peer *peer, enum wire_code code, const char *reason);

// ---- fair_turns.c: whose messages are processed next ----------------------------------------

// Whether its messages may be processed now. If not, it waits for its turn if it has sent one.
bool turn_is_on(struct peer *peer);
void turns_give(struct data_server *server, int64_t now);
bool turns_are_due(const struct data_server *server);

// ---- connection_queue.c: connections that wait --------------------------------------------------

// Whether there is a place for a peer of this owner. `*leaves` is the peer that has to leave for
// it, or null.
bool connection_queue_may_enter(const struct data_server *server, struct data_owner owner,
                                int64_t now, struct peer **leaves);
// False: it cannot even wait, and was told to try again.
bool connection_queue_add(struct data_server *server, const struct data_adoption *adoption);
// The next connection that may enter; it no longer waits. False: none.
bool connection_queue_next(struct data_server *server, int64_t now, struct data_adoption *adoption,
                           struct peer **leaves);
void crowded_note(struct data_server *server, const struct link *link);
// How many.
uint32_t connection_queue_revoke(struct data_server *server, const struct link_keys *keys);
void revoked_note(struct data_server *server, char *who);  // for the audit log
void data_adoption_drop(const struct data_adoption *adoption);  // its link and its `who`
void connection_queue_release(struct data_server *server);

// ---- hasher.c: a thread that hashes files while they are written, and syncs them --------------

enum hasher_sync { HASHER_NO_SYNC, HASHER_SYNC_FILE, HASHER_SYNC_WHOLE };  // the file system

struct hasher;
struct hasher_job;

struct hasher *hasher_open(void);
void hasher_close(struct hasher *hasher);
int hasher_file(const struct hasher *hasher);  // an eventfd: some job is done
// The file will have this many bytes; so far none. The caller may close it at any time. `cache`
// null: there is nothing to hash. Null: out of memory, files or threads.
struct hasher_job *hasher_begin(struct cache *cache, int fd, uint64_t bytes,
                                enum hasher_sync sync);
// The same, but its bytes are passed in a ring.
struct hasher_job *hasher_begin_arrival(struct cache *cache, int fd, uint64_t bytes,
                                        enum hasher_sync sync);
// Where its next bytes have to be put before hasher_more() counts them, and for how many there is
// room. 0: the eventfd reports when there is.
char *hasher_room(struct hasher *hasher, struct hasher_job *job, uint32_t *room);
void hasher_more(struct hasher *hasher, struct hasher_job *job, uint64_t available);
// True: it has ended. `reason` is an errno, or 0: then the hash is that of the file.
bool hasher_is_done(struct hasher *hasher, struct hasher_job *job, uint8_t hash[CACHE_HASH],
                    int *reason);
void hasher_drop(struct hasher *hasher, struct hasher_job *job);  // null is allowed

// ---- transfer.c, receive.c: a transfer ------------------------------------------------------

enum transfer_state {
    TRANSFER_WAITING,  // for a free slot, or until its retry is due
    TRANSFER_ASKING,   // for the description of the object
    TRANSFER_RECEIVING,
    TRANSFER_CHECKING,  // the thread works on it; nothing is read
    // everything has arrived; the thread syncs it, and no source is used any more
    TRANSFER_SYNCING,
    TRANSFER_OVER,
    TRANSFER_STATES
};

struct source {
    char *address;
    bool is_bad_source;
    bool is_tried;  // in this round
};

struct transfer {
    struct data_fetcher *fetcher;
    struct transfer *next;  // in the list of finished ones
    rota_object_id object;
    uint64_t bytes;        // size of the object; 0: unknown
    wire_content content;  // as its producer made it; other content is refused
    char ticket[DATA_TICKET_BYTES + 1];
    enum transfer_state state;
    int64_t due;  // when it may continue, if it waits

    struct source sources[DATA_ADDRESSES_MAX];
    uint32_t source_count, source;  // the current source
    uint32_t round;
    uint32_t again;  // how often all received data was discarded
    struct link *link;
    bool is_free;      // only waits for its time
    bool is_full;      // the thread has to catch up first
    bool is_read;      // its link is watched,
    bool is_watched;   // for writing, too
    struct pace pace;
    uint64_t progress;  // bytes and contents on this connection

    // The description of the object is kept when the connection ends.
    bool is_known;
    struct cache_entry entry;
    uint64_t list_bytes;
    struct cache_reading list;  // fd -1: none; held, and with it the files of the tree
    struct cache_files wanted;  // in this order
    uint32_t received, asked;   // of them
    struct cache_arrival arrival;  // of the next of them
    uint64_t written, piece;       // bytes received; bytes that come before the next message
    uint32_t arrival_source;
    bool is_mixed;         // its bytes came from several sources
    bool distrusts_mixed;  // such bytes were wrong once: only one source is used
    struct os_hash *sum;      // of a small file
    struct hasher_job *job;  // of a large file, of an existing one, or of the sync
    struct cache_reading found;  // fd -1: none; it existed already, and is being hashed

    struct data_done done;
};

struct data_fetcher {
    struct cache *cache;
    const struct link_key *key, *home_key;
    char *home;             // null: there is none
    struct hasher *hasher;  // null until there is something to hash
    int loop;
    struct memory memory;
    struct transfer **transfers;  // not finished; the oldest first
    uint32_t transfer_count, transfer_capacity;
    uint32_t active;  // not waiting
    struct transfer *over_first, *over_last;
    struct forgery *forgeries;  // fetcher.c
    uint32_t forgery_count;
};

// transfer.c
struct transfer *transfer_open(struct data_fetcher *fetcher, const struct wire_fetch *fetch);
void transfer_close(struct transfer *transfer);
bool transfer_join(struct transfer *transfer, const struct wire_fetch *fetch);
void transfer_move(struct transfer *transfer, enum transfer_state state);
bool transfer_start(struct transfer *transfer, int64_t now);  // false: not its turn
void transfer_work(struct transfer *transfer, int64_t now);
void transfer_checked(struct transfer *transfer, int64_t now);  // perhaps: the thread made progress
int64_t transfer_due(const struct transfer *transfer);
void transfer_hurry(struct transfer *transfer, int64_t now);  // its time may have come
void transfer_part(struct transfer *transfer);  // closes its connection
// The source violated the protocol or sent false bytes. / It is gone, slow or does not have the
// object.
void transfer_bad_source(struct transfer *transfer, int64_t now, const char *reason);
void transfer_broken(struct transfer *transfer, int64_t now, const char *reason);
// fetcher.c: to be reported; if memory runs out it is not.
void forgery_note(struct data_fetcher *fetcher, rota_object_id object, const char *address,
              const char *reason);
void transfer_end(struct transfer *transfer, enum data_fault fault, const char *reason);
void transfer_end_system(struct transfer *transfer, int reason, const char *text);

// receive.c: each of these may end the transfer, or close its connection
void receive_content(struct transfer *transfer, const struct wire_content *content, int64_t now);
void receive_piece(struct transfer *transfer, const struct wire_piece *piece, int64_t now);
// How many bytes of the piece can be taken now, and where they have to be put, unless that is null.
// 0: it is full.
uint32_t receive_room(struct transfer *transfer, char **room);
// The bytes are in their place, if there was one.
void receive_bytes(struct transfer *transfer, const char *bytes, uint32_t count, int64_t now);
// Takes the received bytes of a piece from the socket, without the link. False: there is no piece,
// it cannot be done this way, or the socket is at its end: then the link has to be asked.
bool receive_direct(struct transfer *transfer, int64_t now);
void receive_checked(struct transfer *transfer, const uint8_t hash[CACHE_HASH], int64_t now);
void receive_forget(struct transfer *transfer);  // the description of the object
void receive_drop(struct transfer *transfer);    // received data of the next file
