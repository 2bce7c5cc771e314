// internal.h - what the files of this folder share.
#pragma once

#include "object/transfer/upload.h"
#include "object/transfer/tickets.h"

static inline bool object_is(rota_object_id one, rota_object_id other)
{
    return one.high == other.high && one.low == other.low;
}

// Who moves too little in a time is as good as gone, however regularly it says something.
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

struct guest;

struct flow {
    struct flow *next;
    rota_object_id object;
    bool is_over;   // nothing more is written
    bool is_taken;  // somebody reads, or has read
    bool is_left;   // its reader has gone before it was over
    bool is_done;   // its reader has all of it, or nobody will have more of it
    uint64_t bytes;
    char path[];
};

struct flow *flow_find(const struct data_server *server, rota_object_id object);
bool flow_begin(struct guest *guest, struct flow *flow);  // false: it cannot be read
bool flow_go_on(struct guest *guest);  // true: there is nothing to be sent now
void flow_watch(struct guest *guest);
void flow_end(struct guest *guest);
void flows_release(struct data_server *server);

// ---- serve_peer.c: one who asks -----------------------------------------------------------------

enum guest_state {
    GUEST_NEW,      // has not shown a ticket
    GUEST_KNOWN,    // has, for `object`
    GUEST_LEAVING,  // is told no; what it still sends is not looked at until it goes
    GUEST_GONE,
};

struct guest {
    struct data_server *server;
    struct link *link;
    enum guest_state state;
    bool is_local, is_greeted;
    bool may_put;
    struct data_owner owner;
    struct put put;
    struct data_brought brought;  // not told yet
    struct flow *flow;  // null: it reads no stream
    int flow_file;
    bool is_flow_watched;
    bool is_watched;  // for writing too
    bool is_waiting;  // for others to be sent less
    bool is_behind;   // has said something, and waits for its turn,
    uint64_t behind_since;  // which others have waited for longer
    bool is_turn_new;       // one message is taken in any case
    int64_t turn_until;     // ticks; 0: it has none
    struct cache_entry entry;  // of the object
    struct cache_reading hold;  // the object, or the list of it
    struct cache_files files;
    struct cache_reading sending;  // fd -1: nothing
    uint64_t offset;  // from where on
    struct pace pace;
    int64_t since;  // it came
};

enum { TURN_OWNERS = 256 };  // two owners may have to do with one place

// The time that turns took, as if each owner had been served alone.
struct turns {
    int64_t used[TURN_OWNERS], now;
    uint64_t count;
};

struct data_server {
    struct cache *cache;
    struct link_listener listener;
    struct tickets tickets;
    int loop;
    struct guest *guests[DATA_GUESTS_MAX];
    uint32_t guest_count, sending;
    struct data_adoption queue[DATA_QUEUE_MAX];  // that wait, the oldest first
    uint32_t queue_count;
    int64_t worked;  // when it last did
    bool is_crowded;  // since that was last asked,
    char crowder[LINK_ID_MAX + 1];  // by this key
    struct turns turns;
    struct parts parts;
    struct trees trees;
    struct flow *flows;
    data_bound_fn *on_bound;
    data_brought_fn *on_brought;
    data_gone_fn *on_gone;
    void *context;
};

void guest_init(struct guest *guest, struct data_server *server, struct link *link, int64_t now);
void guest_release(struct guest *guest);
// Its socket can be read or written.
void guest_work(struct guest *guest, bool can_read, int64_t now);
void guest_go_on(struct guest *guest, int64_t now);  // others are sent less
bool guest_has_to_wait(const struct guest *guest);  // for others to be sent less
int64_t guest_due(const struct guest *guest);
// It is told why, and leaves.
void guest_deny(struct guest *guest, enum wire_code code, const char *reason);

// ---- fair_turns.c: whose messages are taken next ------------------------------------------------

// Whether its messages may be taken now. If not, it waits for its turn if it has said something.
bool turn_is_on(struct guest *guest);
void turns_give(struct data_server *server, int64_t now);
bool turns_are_due(const struct data_server *server);

// ---- connection_queue.c: connections that wait --------------------------------------------------

// Whether there is a place for a guest of this owner. `*leaves` is the guest that has to go for it,
// or null.
bool queue_may_enter(const struct data_server *server, struct data_owner owner, int64_t now,
                     struct guest **leaves);
// False: it does not even wait, but was told to try again.
bool queue_add(struct data_server *server, const struct data_adoption *adoption);
// The next that may enter; it waits no longer. False: none.
bool queue_next(struct data_server *server, int64_t now, struct data_adoption *adoption,
                struct guest **leaves);
void crowder_note(struct data_server *server, const struct link *link);
uint32_t queue_revoke(struct data_server *server, const struct link_keys *keys);  // how many
void revoked_note(struct data_server *server, char *who);  // for the audit log
void data_adoption_drop(const struct data_adoption *adoption);  // its link and its word
void queue_release(struct data_server *server);

// ---- hasher.c: a thread that hashes files while they are written, and syncs them --------------

enum hasher_sync { HASHER_NO_SYNC, HASHER_SYNC_FILE, HASHER_SYNC_WHOLE };  // the file system

struct hasher;
struct hasher_job;

struct hasher *hasher_open(void);
void hasher_close(struct hasher *hasher);
int hasher_file(const struct hasher *hasher);  // an eventfd: some job is done
// The file will have so many bytes; so far none. It may be closed by the caller at any time.
// `cache` null: there is nothing to hash. Null: no memory, no file, no thread.
struct hasher_job *hasher_begin(struct cache *cache, int fd, uint64_t bytes,
                                enum hasher_sync sync);
// The same; but its bytes are handed over, too.
struct hasher_job *hasher_begin_arrival(struct cache *cache, int fd, uint64_t bytes,
                                        enum hasher_sync sync);
// Where the next bytes of it are to be put before hasher_more() counts them, and how many there is
// room for. 0: the eventfd tells when there is.
char *hasher_room(struct hasher *hasher, struct hasher_job *job, uint32_t *room);
void hasher_more(struct hasher *hasher, struct hasher_job *job, uint64_t available);
// True: it is over. `reason` is an errno, or 0: then the hash is that of the file.
bool hasher_is_done(struct hasher *hasher, struct hasher_job *job, uint8_t hash[CACHE_HASH],
                    int *reason);
void hasher_drop(struct hasher *hasher, struct hasher_job *job);  // null is fine

// ---- receive_direct.c: from a socket into a file ------------------------------------------------

struct transfer;
// Takes what has come of a piece. False: there is no piece, it is not that simple, or the socket
// has an end: then the link has to be asked.
bool straight_receive(struct transfer *transfer, int64_t now);

// ---- transfer.c, receive.c: an object on its way ----------------------------------------------

enum transfer_state {
    TRANSFER_WAITING,    // for its turn, or for a while
    TRANSFER_ASKING,     // what the object is
    TRANSFER_RECEIVING,
    TRANSFER_CHECKING,   // the thread is at it; nothing is read
    TRANSFER_SYNCING,    // all is there; the thread is at it, and nobody is asked any more
    TRANSFER_OVER,
    TRANSFER_STATES
};

struct source {
    char *address;
    bool has_lied;
    bool is_tried;  // in this round
};

struct transfer {
    struct data_fetcher *fetcher;
    struct transfer *next;  // of those that are over
    rota_object_id object;
    uint64_t bytes;  // that the object has; 0: not known
    wire_content content;  // that its maker made; others are refused
    char ticket[DATA_TICKET_BYTES + 1];
    enum transfer_state state;
    int64_t due;  // when it may go on, if it waits

    struct source sources[DATA_ADDRESSES_MAX];
    uint32_t source_count, source;  // the one that is asked
    uint32_t round;
    uint32_t again;  // how often all that had come was for nothing
    struct link *link;
    bool is_free;      // it could go on, but for the time
    bool is_full;      // the thread has to get on first
    bool is_read;      // its link is watched,
    bool is_watched;   // for writing too
    struct pace pace;
    uint64_t progress;  // bytes and contents on this connection

    // What is known of the object stays when the connection goes.
    bool is_known;
    struct cache_entry entry;
    uint64_t list_bytes;
    struct cache_reading list;  // fd -1: none; held, and with it the files of the tree
    struct cache_files wanted;  // in this order
    uint32_t received, asked;   // of them
    struct cache_arrival arrival;  // of the next of them
    uint64_t written, piece;    // bytes of it that are there; that are to come before a message
    uint32_t arrival_source;
    bool is_mixed;         // it has bytes of several sources
    bool distrusts_mixed;  // and never again
    struct os_sum *sum;      // of a small file
    struct hasher_job *job;     // of a large one, of what was there already, or of the sync
    struct cache_reading found;  // fd -1: none; it was there already, and is being hashed

    struct data_done done;
};

struct data_fetcher {
    struct cache *cache;
    const struct link_key *key, *home_key;
    char *home;             // null: there is none
    struct hasher *hasher;  // null until there is something to hash
    int loop;
    struct memory memory;
    struct transfer **transfers;  // not over; the oldest first
    uint32_t transfer_count, transfer_capacity;
    uint32_t active;  // not waiting
    struct transfer *over_first, *over_last;
    struct lie *lies;  // fetcher.c
    uint32_t lie_count;
};

// transfer.c
struct transfer *transfer_open(struct data_fetcher *fetcher, const struct wire_fetch *fetch);
void transfer_close(struct transfer *transfer);
bool transfer_join(struct transfer *transfer, const struct wire_fetch *fetch);
void transfer_move(struct transfer *transfer, enum transfer_state state);
bool transfer_start(struct transfer *transfer, int64_t now);  // false: not its turn
void transfer_work(struct transfer *transfer, int64_t now);
void transfer_checked(struct transfer *transfer, int64_t now);  // perhaps: the thread did something
int64_t transfer_due(const struct transfer *transfer);
void transfer_hurry(struct transfer *transfer, int64_t now);  // that time may have come
void transfer_part(struct transfer *transfer);  // closes its connection
// It did what no honest peer does. / It is gone, slow or does not have it.
void transfer_lied(struct transfer *transfer, int64_t now, const char *reason);
void transfer_broken(struct transfer *transfer, int64_t now, const char *reason);
// fetcher.c: to be told; without memory it is not.
void lie_note(struct data_fetcher *fetcher, rota_object_id object, const char *address,
              const char *reason);
void transfer_end(struct transfer *transfer, enum data_fault fault, const char *reason);
void transfer_end_system(struct transfer *transfer, int reason, const char *text);

// receive.c: all of these may end it, or part it from its source
void receive_content(struct transfer *transfer, const struct wire_content *content, int64_t now);
void receive_piece(struct transfer *transfer, const struct wire_piece *piece, int64_t now);
// How many bytes of the piece can be taken now, and where they are to be put, unless that is null.
// 0: it is full.
uint32_t receive_room(struct transfer *transfer, char **room);
// They are there, if they were to be.
void receive_bytes(struct transfer *transfer, const char *bytes, uint32_t count, int64_t now);
void receive_checked(struct transfer *transfer, const uint8_t hash[CACHE_HASH], int64_t now);
void receive_forget(struct transfer *transfer);  // all that is known of the object
void receive_drop(struct transfer *transfer);    // what has come of the next file
