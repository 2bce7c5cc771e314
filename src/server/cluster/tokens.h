// tokens.h - tokens of attempts: never reused, and known until the attempt has ended.
#pragma once

#include "server/cluster/cluster.h"

// Tokens only grow, whatever the clock does: the upper bits are the epoch, which is incremented
// with each opening of the database, and when the lower bits, a counter, are used up. In a restored
// database the epoch grows by more than the lost one can have used.
enum { CLUSTER_TOKENS = 32 };

// The earliest time for cluster_open(): limiting how often a database is opened limits how many
// tokens a lost one can have issued.
rota_time cluster_opens_at(struct server *server, rota_time now);
void cluster_self_open(struct cluster *cluster,
                       rota_time now);            // server_identity.c: in the first turn
void cluster_self_look(struct cluster *cluster);  // before a turn is written: its epoch is stored
// cluster.c: between turns, at any time. False: stop, the files of the store are gone.
bool cluster_check(struct cluster *cluster, rota_time ticks);
uint64_t cluster_token_next(struct cluster *cluster);  // larger than all before
// The worker was assigned that task with this token.
void cluster_token_give(struct cluster_worker *worker, rota_task_id task, uint64_t token);
// A report with this token is about the attempt that the worker was assigned last.
bool cluster_token_fits(const struct cluster *cluster, const struct cluster_worker *worker,
                        rota_task_id task, uint64_t token);
// The same for attempts that a worker lists when it joins; tokens issued by an earlier server
// process are known from then on.
bool cluster_token_listed(const struct cluster *cluster, struct cluster_worker *worker,
                          rota_task_id task, uint64_t token);
// The same for an attempt that has ended: a valid token is removed.
bool cluster_token_take(const struct cluster *cluster, struct cluster_worker *worker,
                        rota_task_id task, uint64_t token);
// Removes tokens of all other tasks: the worker joined again, and the core has these attempts for
// it.
void cluster_tokens_keep(struct cluster_worker *worker, const rota_task_id *tasks, uint32_t count);
void cluster_tokens_release(struct cluster_worker *worker);

// The worker knows of attempts, or of a start of this server, that the database does not have: the
// database was restored from a backup.
bool cluster_is_outdated(struct cluster *cluster, const struct wire_join *join);
// server_identity.c. False: another copy of the database, unknown to this one, had that epoch.
bool cluster_epoch_is_ours(struct cluster *cluster, uint64_t epoch, uint64_t opened);

// server_identity.c: how long the core waits for a silent worker: `lease`, or longer if an earlier
// server process told workers a longer one, on which they may still rely. Call it before
// server_open().
rota_time cluster_lease(struct store *store, const struct cluster_limits *limits, rota_time lease);

// For one lease after a backup was restored: workers of the lost server may still run commands.
extern const char cluster_quiet_reason[];
bool cluster_is_quiet(const struct cluster *cluster);
