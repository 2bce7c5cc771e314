// quota.h - how much of the server each key uses, and how much it may use.
//
// A share belongs to a role and a key, or to a role and a user of this machine. Its peers count
// what they use; a peer whose share is used up waits or is told that the server is busy, and
// nobody with another share notices.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hub_share_kind {
    HUB_SHARE_CONNECTIONS,
    HUB_SHARE_INPUT,        // bytes of messages that are not complete, or wait
    HUB_SHARE_OUTPUT,       // bytes of answers that are not sent
    HUB_SHARE_SUBMISSIONS,  // bytes of submissions that are not complete
    HUB_SHARE_QUERIES,      // that are being answered
    HUB_SHARE_READS,        // objects that are waited for
    HUB_SHARE_KEY,          // connections in all roles; of the key, not of a role
    HUB_SHARE_KINDS
};

// What a connection counts as. The last places are kept for workers, and the very last for admins.
enum hub_place {
    HUB_PLACE_NONE,
    HUB_PLACE_CLIENT,
    HUB_PLACE_WORKER,  // handlers too
    HUB_PLACE_ADMIN,
    HUB_PLACES
};

struct hub_share {
    struct hub_share *next;
    uint64_t number;      // not 0: a hash of the name
    uint32_t peers;
    uint64_t used[HUB_SHARE_KINDS];
    uint32_t used_up;     // kinds, as bits: since it was last reported
    char name[80];        // "client key 3f2a90"
};

struct hub;
struct hub_peer;
// Uses one of that kind until it is left.
struct hub_share *hub_share_join(struct hub *hub, const char *name, enum hub_share_kind kind);
void hub_share_leave(struct hub *hub, struct hub_share *share, enum hub_share_kind kind);
void hub_peer_share_leave(struct hub *hub, const struct hub_peer *peer);  // with what it uses
// Whether so much more fits. False: that is noted, to be reported.
bool hub_share_fits(struct hub *hub, struct hub_share *share, enum hub_share_kind kind,
                    uint64_t more);
void hub_share_use(struct hub_share *share, enum hub_share_kind kind, uint64_t more);
void hub_share_return(struct hub_share *share, enum hub_share_kind kind, uint64_t less);
// It belongs to another user of this machine than was said; before GREET.
void hub_peer_own(struct hub *hub, struct hub_peer *peer, const char *owner);
// Before it says its role a peer counts as the most that its key allows, then as that role. Null:
// it has a place; else why not.
const char *hub_place_take(struct hub *hub, struct hub_peer *peer);
void hub_place_leave(struct hub *hub, struct hub_peer *peer);
// So many bytes of what the peer has said are not taken; what it is told is counted, too.
void hub_share_count(struct hub_peer *peer, uint64_t input);
// The peer has said which role it has. False: its share of connections is used up.
bool hub_share_of_role(struct hub *hub, struct hub_peer *peer);
// The next share or sort of places that was used up since the last call, as a sentence. False:
// none.
bool hub_share_report(struct hub *hub, char *text, uint32_t size);
