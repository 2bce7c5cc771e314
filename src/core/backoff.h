// backoff.h - delays of a ready task: backoff between attempts, and a pause of its job.
#pragma once

bool backoff_reserve(struct rota *rota);
void backoff_begin(struct rota *rota, task_row row, rota_time until);
void backoff_end(struct rota *rota, task_row row);
void backoff_forget(struct rota *rota, task_row row);
rota_time backoff_until(const struct rota *rota, task_row row);  // 0: no backoff
void backoffs_end(struct rota *rota);                            // all whose time is up

// place.c: the job of the task is paused, so the task is in no queue. A task whose job is not
// paused may also wait for a task with the same key that runs for it.
bool place_is_paused(const struct rota *rota, task_row row);
bool place_shared(struct rota *rota, task_row row);
