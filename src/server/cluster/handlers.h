// handlers.h - state of the server for handlers, which claim tasks and run them themselves.
#pragma once

#include "server/cluster/verdict.h"
#include "net/wire/wire.h"

struct cluster;
struct cluster_peer;
struct rota_action;

// A list, in order of arrival.
struct cluster_claim_queue { struct cluster_queued_claim *first, *last; };

struct cluster_handlers {
    struct map claims_by_token;    // index + 1
    struct cluster_claim *claims;
    uint32_t claim_count, claim_capacity;
    rota_time claims_due;              // ticks: no claim expires before
    struct cluster_claim_queue waiting;  // requests for which no task was available
    struct cluster_claim_queue granting;  // in this turn, in the order of their GRANTs
    bool has_begun;                    // the first turn has begun
    bool look_again;                   // something changed that may satisfy a waiting request
};

// ---- claim.c: tasks that handlers hold ------------------------------------------------------

// A claimed task. The token is its id for the core, and unique.
struct cluster_claim {
    uint64_t token;
    rota_task_id task;
    uint32_t attempt, body;
    rota_time lease, until;  // until: ticks
    rota_time began;         // 0: before the server was started
    char key[40];            // the key it was claimed with; "": none, or unknown
};

void cluster_claims_open(
    struct cluster *cluster);  // takes over the claims of the store: all leases start again
void cluster_claims_close(struct cluster *cluster);
void cluster_claims_begin(
    struct cluster *cluster);  // the first turn begins, and with it the leases
void cluster_claims_look(struct cluster *cluster);  // in a turn: ends claims whose lease expired
void cluster_claim_add(struct cluster *cluster, const struct cluster_claim *claim);
// In a turn or between two: keys were revoked. Tasks claimed with one of them are held at most for
// the server's lease, and cannot be delivered with their token.
void cluster_claims_revoke(struct cluster *cluster);
// Its lease and its key are restored after a restart.
void cluster_claim_keep(struct cluster *cluster, const struct cluster_claim *claim);
// Null: another handler holds the task by now.
struct cluster_claim *cluster_claim_find(struct cluster *cluster, rota_task_id task,
                                         uint64_t token);
void cluster_deliver(struct cluster *cluster, struct cluster_peer *peer,
                     const struct wire_deliver *deliver);
void cluster_fail(struct cluster *cluster, struct cluster_peer *peer, const struct wire_fail *fail);
void cluster_renew(struct cluster *cluster, struct cluster_peer *peer,
                   const struct wire_renew *renew);

// ---- claim_queue.c: requests for a task, now or as soon as there is one ---------------------

void cluster_claim_request(struct cluster *cluster, struct cluster_peer *peer,
                           const struct wire_claim *claim);
// in a turn: waiting requests get available tasks
void cluster_claim_queue_look(struct cluster *cluster);
// Null: all.
void cluster_claim_queue_forget(struct cluster *cluster, const struct cluster_peer *peer);
void cluster_grant(struct cluster *cluster, const struct rota_action *action);
// Sends the same answer again, if the claim still exists. False: the text is not that of a grant.
bool cluster_grant_again(struct cluster *cluster, struct cluster_peer *peer, uint64_t high,
                         uint64_t low, const char *text);

// ---- Functions of other files for handlers --------------------------------------------------

// request.c: the id of a request that no client can make, one for each task.
struct store_request cluster_request_own(rota_task_id task);
// run_frames.c: writes the numbers of an attempt into a frame. False: not a RUN frame.
bool cluster_body_number(char *frame, uint32_t length, const struct wire_run *numbers);
