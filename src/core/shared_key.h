// shared_key.h - one execution for all tasks with the same content key (shared_key.c).
#pragma once

bool share_leads(const struct rota *rota, task_row row);       // it has a follower
bool share_has_heir(const struct rota *rota, task_row row);    // that can have its attempt
task_row share_leader(const struct rota *rota, task_row row);  // of its key; 0: nobody
bool share_attach(struct rota *rota, task_row row);            // true: another one runs for it
void share_detach(struct rota *rota, task_row row);            // a follower goes
bool share_hand_over(struct rota *rota, task_row row);  // true: a follower has its attempt now
void share_release(struct rota *rota, task_row row);    // it leads no longer
void share_settle(struct rota *rota);
uint32_t share_outputs(const struct rota *rota, task_row row);  // of the leader and all followers
void share_end(struct rota *rota, task_row row);                // nobody leads any more
// What the worker of the first makes, or will have made, is what the second one makes, too.
void share_alias(struct rota *rota, task_row from, task_row to, worker_row worker, bool later);
