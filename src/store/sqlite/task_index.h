// task_index.h - the state of each task in memory, so that a change needs no query.
#pragma once

#include "base/base.h"
#include "rota.h"

enum place {
    PLACE_LAST,    // not active: idle, finished or frozen
    PLACE_ACTIVE,  // not assigned
    PLACE_EXEC,    // assigned to a worker or handler
    PLACE_BUNDLE   // an active bundle
};

enum { ATTEMPT_MAX = (1 << 22) - 1 };
// The state of a task between two turns, in 4 bytes.
struct spot {
    uint32_t attempt : 22, place : 2, bundle : 1;
    uint32_t moved : 1;  // it has a row in sched_state, because it changed since its submission
    uint32_t unused : 6;
};
_Static_assert(sizeof(struct spot) == 4, "4 bytes per task");

struct job_index {
    uint32_t link;  // for the pool
    uint32_t job, count, capacity;
    struct spot *spots;  // by task number - 1
};

struct task_index {
    struct pool jobs;
    struct map by_id;  // by job number
};

// Null: no such task.
struct spot *task_index_find(const struct task_index *task_index, rota_task_id task);
struct spot *task_index_add(struct task_index *task_index, uint32_t job, uint32_t first,
                            uint32_t count);
void task_index_drop_job(struct task_index *task_index, uint32_t job);
void task_index_release(struct task_index *task_index);
enum place place_of(enum rota_task_state state, bool bundle);
