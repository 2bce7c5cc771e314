// tokens.h - tokens of attempts: always new, and known until the attempt has ended.
#pragma once

#include "server/cluster/cluster.h"

// Tokens grow for ever, whatever the clock does: the upper bits are the epoch, which grows with
// each opening of the database, and when the lower ones, which count, are used up. In a restored
// database it grows by more than the lost one can have had.
enum { HUB_TOKENS = 32 };

// The earliest time for hub_open(): how often a database is opened bounds how many tokens a lost
// one can have given out.
rota_time hub_opens_at(struct server *server, rota_time now);
void hub_self_open(struct hub *hub, rota_time now);  // server_identity.c: in the first turn
void hub_self_look(struct hub *hub);  // before a turn is written: its epoch is kept
// cluster.c: between turns, as often as you like. False: stop, the files of the store are gone.
bool hub_check(struct hub *hub, rota_time ticks);
uint64_t hub_token_next(struct hub *hub);  // larger than all before
// This worker has been given that task with this token.
void hub_token_give(struct hub_worker *worker, rota_task_id task, uint64_t token);
// A report with this token is one of the attempt that this worker was given last.
bool hub_token_fits(const struct hub *hub, const struct hub_worker *worker, rota_task_id task,
                    uint64_t token);
// The same for what a worker lists when it joins; what it was given by an earlier life of the
// server is known from then on.
bool hub_token_listed(const struct hub *hub, struct hub_worker *worker, rota_task_id task,
                      uint64_t token);
void hub_token_drop(struct hub_worker *worker, rota_task_id task);  // its attempt has ended
// Those of other tasks are forgotten: the worker has come anew, and the core gives it these.
void hub_tokens_keep(struct hub_worker *worker, const rota_task_id *tasks, uint32_t count);
void hub_tokens_release(struct hub_worker *worker);

// The worker knows of attempts, or of a life of this server, that the database has not had yet: it
// was restored from a backup.
bool hub_is_behind(struct hub *hub, const struct wire_join *join);
// server_identity.c. False: another life of the database, which this one does not know of, had
// that epoch.
bool hub_epoch_is_ours(struct hub *hub, uint64_t epoch, uint64_t opened);

// server_identity.c: how long the core waits for a silent worker: `lease`, or longer if workers
// were told a longer one by an earlier life of the server, and may still believe in it. Before
// server_open().
rota_time hub_lease(struct store *store, const struct hub_limits *limits, rota_time lease);

// For one lease after a backup was restored: workers of the lost server may still run commands.
extern const char hub_quiet_reason[];
bool hub_is_quiet(const struct hub *hub);
