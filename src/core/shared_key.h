// shared_key.h - one execution for all tasks with the same content key (shared_key.c).
#pragma once

bool shared_key_leads(const struct rota *rota, task_row row);  // it has a follower
bool shared_key_has_heir(const struct rota *rota, task_row row);  // that can take over its attempt
task_row shared_key_leader(const struct rota *rota, task_row row);  // of its key; 0: none
bool shared_key_attach(struct rota *rota, task_row row);       // true: another task runs for it
void shared_key_detach(struct rota *rota, task_row row);       // a follower leaves
// true: a follower has taken over its attempt
bool shared_key_hand_over(struct rota *rota, task_row row);
void shared_key_release(struct rota *rota, task_row row);  // it is no longer the leader
void shared_key_settle(struct rota *rota);
// The outputs of the leader and of all followers.
uint32_t shared_key_outputs(const struct rota *rota, task_row row);
void shared_key_end(struct rota *rota, task_row row);           // no task leads any more
// The outputs of the first task on its worker, present or future, are also the outputs of the
// second.
void shared_key_alias(struct rota *rota, task_row from, task_row to, worker_row worker, bool later);
