// quota.h - how much of the server each key uses, and how much it may use.
//
// A share belongs to a role and a key, or to a role and a user of this machine. Its peers count
// what they use. A peer whose share is used up waits or gets the reply that the server is busy;
// peers with other shares are not affected. Admins have no limit of memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cluster_share_kind {
    CLUSTER_SHARE_CONNECTIONS,
    CLUSTER_SHARE_INPUT,        // bytes of messages that are incomplete or wait
    CLUSTER_SHARE_OUTPUT,       // bytes of replies that are not sent
    CLUSTER_SHARE_SUBMISSIONS,  // bytes of incomplete submissions
    CLUSTER_SHARE_QUERIES,      // that are being answered
    CLUSTER_SHARE_READS,        // objects that clients wait for
    CLUSTER_SHARE_COMMANDS,     // bytes of commands of jobs that are not closed
    CLUSTER_SHARE_KEY,          // connections in all roles; of the key, not of a role
    CLUSTER_SHARE_KINDS
};

// How a connection is counted. The last ones are kept for workers, and the very last for admins.
enum cluster_place {
    CLUSTER_PLACE_NONE,
    CLUSTER_PLACE_CLIENT,
    CLUSTER_PLACE_WORKER,  // handlers too
    CLUSTER_PLACE_ADMIN,
    CLUSTER_PLACES
};

// A key of workers has this many times the memory of another key: one key often serves all workers
// of a site. With 128 MiB, 400 of them can send a list of 4,096 objects (300 KB) at once, and the
// others wait until these are complete; a key that floods the server with both messages and unread
// answers takes 256 MiB.
enum { CLUSTER_WORKERS_MEMORY = 4 };

struct cluster_share {
    struct cluster_share *next;
    uint64_t number;      // not 0: a hash of the name
    bool is_of_workers;
    uint32_t peers;
    uint64_t used[CLUSTER_SHARE_KINDS];
    uint32_t used_up;     // kinds, as bits: used up since the last report
    char name[80];        // "client key 3f2a90"
};

struct cluster;
struct cluster_peer;
// Counts as a user of that kind until it leaves.
struct cluster_share *cluster_share_join(struct cluster *cluster, const char *name,
                                         enum cluster_share_kind kind);
void cluster_share_hold(struct cluster_share *share, enum cluster_share_kind kind);  // the same
void cluster_share_leave(struct cluster *cluster, struct cluster_share *share,
                         enum cluster_share_kind kind);
void cluster_peer_share_leave(struct cluster *cluster,
                              const struct cluster_peer *peer);  // with all it uses
// Whether `more` fits into the share. False: the refusal is recorded, to be reported.
bool cluster_share_fits(struct cluster *cluster, struct cluster_share *share,
                        enum cluster_share_kind kind, uint64_t more);
void cluster_share_use(struct cluster_share *share, enum cluster_share_kind kind, uint64_t more);
void cluster_share_return(struct cluster_share *share, enum cluster_share_kind kind, uint64_t less);
// The peer belongs to another user of this machine than assumed; before GREET.
void cluster_peer_own(struct cluster *cluster, struct cluster_peer *peer, const char *owner);
// Before it introduces itself a peer counts as the most privileged role its key allows, then as its
// role. Null: it is accepted; else the reason why not.
const char *cluster_place_take(struct cluster *cluster, struct cluster_peer *peer);
void cluster_place_leave(struct cluster *cluster, struct cluster_peer *peer);
// Sets the number of received bytes of the peer that are not processed; replies count, too.
void cluster_share_count(struct cluster_peer *peer, uint64_t input);
// The peer has introduced itself with a role. False: its share of connections is used up.
bool cluster_share_of_role(struct cluster *cluster, struct cluster_peer *peer);
// The next share or kind of connections that was used up since the last call, as a sentence. False:
// none.
bool cluster_share_report(struct cluster *cluster, char *text, uint32_t size);
