// backoff.h - what holds a task up that is ready: the time between two attempts, a pause of its
// job.
#pragma once

bool rest_reserve(struct rota *rota);
void rest_begin(struct rota *rota, task_row row, rota_time until);
void rest_end(struct rota *rota, task_row row);
void rest_forget(struct rota *rota, task_row row);
rota_time rest_until(const struct rota *rota, task_row row);  // 0: it does not
void rests_end(struct rota *rota);                            // all that are over by now

// place.c: its job is paused, so that it is in no queue; one that is not may wait for another one
// to run for it too.
bool place_rests(const struct rota *rota, task_row row);
bool place_shared(struct rota *rota, task_row row);
