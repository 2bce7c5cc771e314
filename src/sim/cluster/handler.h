// handler.h - a handler, as clerk.c keeps it.
#pragma once

#include "sim/cluster/base.h"

enum { CLERK_HIGH = 1000 };  // the ids of its requests begin there

enum clerk_state { CLERK_IDLE, CLERK_ASKS, CLERK_GRANTED, CLERK_HOLDS, CLERK_TELLS };

struct clerk {
    uint32_t cable, mark, lives, tries;
    bool welcome;
    enum clerk_state state;
    uint64_t high, low, numbers, renewed_low;  // of its requests
    int64_t asked_at, renewed_at, sent_at, wait;
    rota_task_id task;
    uint32_t attempt, job, index;
    uint64_t token;
    int64_t lease, until, done_at;  // until: it holds the task no longer than that
    bool is_lazy, is_bad;           // it does not renew; its work fails
};

void clerk_work(struct world *world, uint32_t who);
void clerk_hears(struct world *world, uint32_t who);
void clerk_cut_off(struct world *world, uint32_t who);
void clerk_crash(struct world *world, uint32_t who);
