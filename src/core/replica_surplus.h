// replica_surplus.h - drops copies that are not needed.
#pragma once

void replica_surplus_drop_all(struct rota *rota, object_row row);
void replica_surplus_drop_others(struct rota *rota, object_row row, worker_row stays);
// asks the worker that keeps it to verify its copy
void replica_surplus_ask(struct rota *rota, object_row row);
// That worker confirmed.
void replica_surplus_drop(struct rota *rota, object_row row, worker_row worker);

// ---- object.c

// A worker reports that it has a copy; 0: another one reports that it has none.
void object_shown(struct rota *rota, object_row row, worker_row worker);
