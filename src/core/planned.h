// planned.h - tasks whose worker is planned before they are ready (place_planned.c).
#pragma once

enum { PLANNED_ORDER_MAX = (1 << 30) - 1 };

// The worker that a plan chose for a task; an array parallel to the tasks, if there was a plan.
struct planned {
    uint32_t worker;      // its id; 0: not planned
    uint32_t order : 30;  // smaller orders run first on a worker
    uint32_t is_due : 1;  // ready, and to be handed out at the end of the turn
    uint32_t is_asking : 1;  // its inputs that exist already have to be fetched
    task_row next;           // in the list of those that ask
};

bool planned_reserve(struct rota *rota);
void planned_forget(struct rota *rota, task_row first, uint32_t count);
worker_row planned_worker(const struct rota *rota, task_row row);  // 0: none that can take it
uint32_t planned_order(const struct rota *rota, task_row row);
// although the worker is full
bool planned_may_wait(const struct rota *rota, task_row row, worker_row at);
bool planned_add(struct rota *rota, task_row row);   // false: it is not bound
bool planned_remove(struct rota *rota, task_row row);  // false: it was not due
void planned_object_made(struct rota *rota, object_row row);
void planned_object_gone(struct rota *rota, object_row row);
void planned_put(struct rota *rota, task_row row, rota_worker_id worker, uint32_t order);
void planned_turn(struct rota *rota);
