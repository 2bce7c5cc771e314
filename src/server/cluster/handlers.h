// handlers.h - those who run tasks by hand, as the hub has them.
#pragma once

#include "server/cluster/verdict.h"
#include "net/wire/wire.h"

struct hub;
struct hub_peer;
struct rota_action;

// A list, in order of arrival.
struct hub_wishes { struct hub_wish *first, *last; };

struct hub_handlers {
    struct map claims_by_token;    // index + 1
    struct hub_claim *claims;
    uint32_t claim_count, claim_capacity;
    rota_time claims_due;          // ticks: none of them ends before
    struct hub_wishes waiting;     // claims that nothing was there for
    struct hub_wishes granting;    // in this turn, in the order of their GRANTs
    bool has_begun;                // the first turn has
    bool look_again;               // something has changed that may be what one waits for
};

// ---- claim.c: handlers, who run tasks by hand -------------------------------------------------

// What a handler holds. The token is its name for the core: nobody else has it.
struct hub_claim {
    uint64_t token;
    rota_task_id task;
    uint32_t attempt, body;
    rota_time lease, until;  // until: ticks
    rota_time began;         // 0: before the server was started
    char key[40];            // that it was claimed with; "": none, or not known
};

void hub_claims_open(struct hub *hub);   // takes over what the store has: all leases begin anew
void hub_claims_close(struct hub *hub);
void hub_claims_begin(struct hub *hub);  // the first turn begins, and with it the leases
void hub_claims_look(struct hub *hub);   // in a turn: whose lease is over
void hub_claim_add(struct hub *hub, const struct hub_claim *claim);
// In a turn or between two: keys were revoked. What was claimed with one of them is held for the
// server's lease at most, and cannot be delivered with its token.
void hub_claims_revoke(struct hub *hub);
// Its lease and its key are found again after a restart.
void hub_claim_keep(struct hub *hub, const struct hub_claim *claim);
// Null: the task is in other hands by now.
struct hub_claim *hub_claim_find(struct hub *hub, rota_task_id task, uint64_t token);
void hub_deliver(struct hub *hub, struct hub_peer *peer, const struct wire_deliver *deliver);
void hub_fail(struct hub *hub, struct hub_peer *peer, const struct wire_fail *fail);
void hub_renew(struct hub *hub, struct hub_peer *peer, const struct wire_renew *renew);

// ---- claim_queue.c: who wants a task, now or as soon as there is one ----------------------------

void hub_wish(struct hub *hub, struct hub_peer *peer, const struct wire_claim *claim);
void hub_wishes_look(struct hub *hub);   // in a turn: who waits gets what is there
void hub_wishes_forget(struct hub *hub, const struct hub_peer *peer);  // null: all
void hub_grant(struct hub *hub, const struct rota_action *action);
// The same answer once more, if the claim is still held. False: the text is not that of a grant.
bool hub_grant_again(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                     const char *text);

// ---- What others do for them ------------------------------------------------------------------

// request.c: the id of a request that no client can make, one for each task.
struct store_request hub_request_own(rota_task_id task);
// run_frames.c: writes the numbers of an attempt into a frame. False: it is none.
bool hub_body_number(char *frame, uint32_t length, const struct wire_run *numbers);
