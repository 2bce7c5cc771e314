// shared_key.h - one execution for all tasks with the same content key (shared_key.c).
#pragma once

bool share_leads(const struct rota *rota, task_row row);       // it has a follower
bool share_has_heir(const struct rota *rota, task_row row);    // that can take over its attempt
task_row share_leader(const struct rota *rota, task_row row);  // of its key; 0: none
bool share_attach(struct rota *rota, task_row row);            // true: another task runs for it
void share_detach(struct rota *rota, task_row row);            // a follower leaves
// true: a follower has taken over its attempt
bool share_hand_over(struct rota *rota, task_row row);
void share_release(struct rota *rota, task_row row);  // it is no longer the leader
void share_settle(struct rota *rota);
uint32_t share_outputs(const struct rota *rota, task_row row);  // of the leader and all followers
void share_end(struct rota *rota, task_row row);                // no task leads any more
// The outputs of the first task on its worker, present or future, are also the outputs of the
// second.
void share_alias(struct rota *rota, task_row from, task_row to, worker_row worker, bool later);
