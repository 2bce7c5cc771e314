// replica_surplus.h - copies that go.
#pragma once

void surplus_drop_all(struct rota *rota, object_row row);
void surplus_drop_others(struct rota *rota, object_row row, worker_row stays);
void surplus_ask(struct rota *rota, object_row row);  // whoever is to keep it whether it has it
void surplus_drop(struct rota *rota, object_row row, worker_row worker);  // that one says so

// ---- object.c

// A worker says that it has a copy; 0: another one that it has none.
void object_shown(struct rota *rota, object_row row, worker_row worker);
