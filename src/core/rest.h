// rest.h - the time between two attempts of a task.
#pragma once

bool rest_reserve(struct rota *rota);
void rest_begin(struct rota *rota, task_row row, rota_time until);
void rest_end(struct rota *rota, task_row row);
void rest_forget(struct rota *rota, task_row row);
rota_time rest_until(const struct rota *rota, task_row row);  // 0: it does not
void rests_end(struct rota *rota);                            // all that are over by now
